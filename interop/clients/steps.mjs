// What the TypeScript drivers do with a client, and how long they wait for each step, in milliseconds.
export const PROBE = 1500, STEP = 2500, GUARD = 6000;

/** A promise that is not settled in time counts as failed. */
function within(promise) {
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`no outcome in ${GUARD} ms`)), GUARD); });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

export async function run(client, transport, callTool) {
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
    await step('prompts/list', () => client.listPrompts({}, wait));
    await step('resources/list', () => client.listResources({}, wait));
    await step('tools/call', () => callTool(call, wait));
    await step('tools/call again', () => callTool(call, wait));
  }
  await step('close', () => client.close());
  process.exit(connected ? 0 : 1);
}
