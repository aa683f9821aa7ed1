// One run of npm @modelcontextprotocol/sdk against one server, for `mcptap corpus run -- node ts-sdk.mjs {url}`. What it does
// and how long it waits is in steps.mjs.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { run } from './steps.mjs';

const url = process.argv[2] ?? process.env.MCPTAP_URL;
if (!url) {
  console.error('usage: ts-sdk.mjs URL');
  process.exit(2);
}
const client = new Client({ name: 'mcptap-matrix-sdk', version: '1.0.0' });
await run(client, new StreamableHTTPClientTransport(new URL(url)), {
  callTool: (call, wait) => client.callTool(call, undefined, wait),
  ask: (method, wait) => (method === 'prompts/list' ? client.listPrompts({}, wait) : client.listResources({}, wait)),
});
