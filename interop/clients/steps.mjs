// What the TypeScript drivers do with a client, and how long they wait for each step, in milliseconds.
export const PROBE = 4000, STEP = 5000, GUARD = 12000;

/** A promise that is not settled in time counts as failed. */
function within(promise) {
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`no outcome in ${GUARD} ms`)), GUARD); });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** callTool and ask are how this version of the client calls a tool, and asks for a list that the server may not have. */
export async function run(client, transport, { callTool, ask }) {
  const wait = { timeout: STEP };
  const step = async (name, f) => {
    try {
      await within(f());
      console.log(`${name}: ok`);
      return true;
    } catch (e) {
      console.log(`${name}: ${e.code ?? e.name}: ${e.message}`);
      return false;
    }
  };
  client.onerror = () => {};
  for (const level of ['debug', 'info', 'warn']) console[level] = () => {};
  const connected = await step('connect', () => client.connect(transport, wait));
  if (connected) {
    const call = { name: 'echo', arguments: { message: 'ping' } };
    await step('tools/list', () => client.listTools({}, wait));
    await step('prompts/list', () => ask('prompts/list', wait));
    await step('resources/list', () => ask('resources/list', wait));
    await step('tools/call', () => callTool(call, wait));
    await step('tools/call again', () => callTool(call, wait));
  }
  if (connected) await step('end the session', () => transport.terminateSession());
  await step('close', () => client.close());
  process.exit(connected ? 0 : 1);
}
