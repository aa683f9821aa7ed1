// Holds HAR files against the JSON schema of HAR 1.2 in @har-sdk/validator. File names come in on stdin, one a line; for each a line
// goes out: {"file", "entries", "faults": [{"at", "what", "value"}]}.
import fs from 'node:fs';
import readline from 'node:readline';
import sdk from '@har-sdk/validator';

const validator = new sdk.HarValidator();
const valueAt = (doc, pointer) => pointer.split('/').slice(1).reduce((v, k) => v?.[k.replaceAll('~1', '/').replaceAll('~0', '~')], doc);

for await (const file of readline.createInterface({ input: process.stdin })) {
  const har = JSON.parse(fs.readFileSync(file));
  const faults = await validator.verify(har);
  process.stdout.write(`${JSON.stringify({ file, entries: har.log.entries.length,
    faults: faults.map(f => ({ at: f.instancePath, what: f.message, value: JSON.stringify(valueAt(har, f.instancePath)) })) })}\n`);
}
