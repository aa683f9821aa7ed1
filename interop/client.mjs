// Drives one of the npm clients against one server after another: it connects, lists tools, prompts and resources, calls
// the tool "echo" and closes. argv: KIND. Servers come in on stdin, one per line: a URL, or a command line as a JSON array for a
// server over stdio. One JSON object for each goes out: what became of each step, without texts that hold addresses.
import readline from 'node:readline';

// Milliseconds: more than a healthy server needs on a busy machine, and little to wait for where one is silent.
const PROBE = 4000, STEP = 8000, CALL = 4000;
const kind = process.argv[2];
const overSSE = kind === 'v1-sse'; // HTTP+SSE, revision 2024-11-05
const modern = kind.startsWith('v2');
const lib = modern
  ? { ...(await import('@modelcontextprotocol/client')), ...(await import('@modelcontextprotocol/client/stdio')) }
  : { ...(await import('@modelcontextprotocol/sdk/client/index.js')), ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')), ...(await import('@modelcontextprotocol/sdk/client/stdio.js')), ...(await import('@modelcontextprotocol/sdk/client/sse.js')) };
const probe = { timeoutMs: PROBE };
const options = {
  'v2-auto': { versionNegotiation: { mode: 'auto', probe } },
  'v2-pin': { versionNegotiation: { mode: { pin: '2026-07-28' }, probe } },
  'v2-legacy': {},
  v1: {},
  'v1-sse': {},
}[kind];
if (!options) throw new Error(`unknown kind of client: ${kind}`);

/** Class or code of an error and of its causes, with HTTP statuses. */
function name(error) {
  const chain = [];
  for (let e = error; e && typeof e === 'object' && chain.length < 4; e = e.cause) {
    const status = e.status ?? e.data?.status;
    chain.push(`${e.code ?? e.constructor?.name}${status === undefined ? '' : `:${status}`}`);
  }
  return chain.join(' < ');
}

/** A promise that is not settled in time counts as a timeout of ours. */
function within(ms, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(Object.assign(new Error('no outcome'), { code: 'NO_OUTCOME' })), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function visit(url) {
  const outcome = { era: 'failed', version: '', steps: [] };
  const step = async (stepName, f) => {
    try {
      const got = await within(3 * STEP, f());
      outcome.steps.push({ step: stepName, ok: true, ...(got === undefined ? {} : { got: String(got) }) });
      return true;
    } catch (e) {
      outcome.steps.push({ step: stepName, ok: false, error: name(e) });
      return false;
    }
  };
  const timeout = { timeout: url.startsWith('[') ? 4 * STEP : STEP }; // a process must start first
  const client = new lib.Client({ name: `mcptap-${kind}`, version: '1.0.0' }, options);
  client.onerror = () => {};
  const [command, ...args] = url.startsWith('[') ? JSON.parse(url) : [];
  const transport = command
    ? new lib.StdioClientTransport({ command, args, stderr: 'ignore' })
    : new (overSSE ? lib.SSEClientTransport : lib.StreamableHTTPClientTransport)(new URL(url));
  if (await step('connect', () => client.connect(transport, timeout).then(() => undefined))) {
    outcome.era = client.getProtocolEra?.() ?? 'legacy';
    outcome.version = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion ?? '';
    const call = { name: 'echo', arguments: { message: 'ping' } };
    await step('tools/list', () => client.listTools({}, timeout).then(r => r.tools.length));
    await step('prompts/list', () => client.listPrompts({}, timeout).then(r => r.prompts.length));
    await step('resources/list', () => client.listResources({}, timeout).then(r => r.resources.length));
    await step('tools/call', () => (modern ? client.callTool(call, { timeout: CALL }) : client.callTool(call, undefined, { timeout: CALL })).then(r => r.content?.[0]?.text));
  }
  // What a client sends beside a failed call (its cancellation) goes out before the client closes, in every run.
  if (outcome.steps.some(s => !s.ok)) await new Promise(resolve => setTimeout(resolve, 150));
  await step('close', () => client.close());
  return outcome;
}

for (const level of ['debug', 'info', 'warn']) console[level] = () => {};
for await (const url of readline.createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await visit(url))}\n`);
}
process.exit(0);
