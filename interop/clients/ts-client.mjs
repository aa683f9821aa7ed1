// One run of npm @modelcontextprotocol/client against one server, for `mcptap corpus run -- node ts-client.mjs MODE {url}`.
// MODE is auto, pin or legacy. It connects, lists tools, prompts and resources, calls a tool twice, ends its session and
// closes. Waits are short, so that a silent server costs seconds. Exit code 1: it did not connect.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { run, PROBE } from './steps.mjs';

const [mode, url = process.env.MCPTAP_URL] = process.argv.slice(2);
const probe = { timeoutMs: PROBE };
const options = {
  auto: { versionNegotiation: { mode: 'auto', probe } },
  pin: { versionNegotiation: { mode: { pin: '2026-07-28' }, probe } },
  legacy: {},
}[mode];
if (!options || !url) {
  console.error('usage: ts-client.mjs auto|pin|legacy URL');
  process.exit(2);
}
const client = new Client({ name: `mcptap-matrix-${mode}`, version: '1.0.0' }, options);
await run(client, new StreamableHTTPClientTransport(new URL(url)), {
  callTool: (call, wait) => client.callTool(call, wait),
  ask: (method, wait) => client.request({ method }, wait), // listPrompts would not ask a server that has not declared prompts
});
