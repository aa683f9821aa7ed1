// Holds JSON-RPC messages against the schemas of the two npm SDKs. Lines come in on stdin: {"as", "method", "message"};
// one line per message goes out: {"sdk": BOOL, "core": BOOL}, null where the package has no schema for it.
import readline from 'node:readline';

const sdk = await import('@modelcontextprotocol/sdk/types.js');
const core = await import('@modelcontextprotocol/core');

const names = {
  initialize: 'Initialize', ping: 'Ping', 'server/discover': 'Discover', 'tools/list': 'ListTools', 'tools/call': 'CallTool',
  'prompts/list': 'ListPrompts', 'prompts/get': 'GetPrompt', 'resources/list': 'ListResources', 'resources/templates/list': 'ListResourceTemplates',
  'resources/read': 'ReadResource', 'resources/subscribe': 'Subscribe', 'resources/unsubscribe': 'Unsubscribe', 'subscriptions/listen': 'SubscriptionsListen',
  'completion/complete': 'Complete', 'logging/setLevel': 'SetLevel', 'tasks/get': 'GetTask', 'tasks/result': 'GetTaskPayload', 'tasks/cancel': 'CancelTask',
  'tasks/list': 'ListTasks', 'sampling/createMessage': 'CreateMessage', 'roots/list': 'ListRoots', 'elicitation/create': 'Elicit',
  'notifications/initialized': 'Initialized', 'notifications/cancelled': 'Cancelled', 'notifications/progress': 'Progress',
  'notifications/roots/list_changed': 'RootsListChanged', 'notifications/message': 'LoggingMessage', 'notifications/resources/updated': 'ResourceUpdated',
  'notifications/resources/list_changed': 'ResourceListChanged', 'notifications/tools/list_changed': 'ToolListChanged',
  'notifications/prompts/list_changed': 'PromptListChanged', 'notifications/elicitation/complete': 'ElicitationComplete',
  'notifications/subscriptions/acknowledged': 'SubscriptionsAcknowledged', 'notifications/tasks/status': 'TaskStatus',
};
const empty = new Set(['ping', 'resources/subscribe', 'resources/unsubscribe', 'logging/setLevel']);

/** Tells whether a package takes the message: the envelope, and what is inside. */
function takes(lib, { as, method, message }) {
  const envelope = { request: 'JSONRPCRequestSchema', notification: 'JSONRPCNotificationSchema', failure: 'JSONRPCErrorResponseSchema', result: 'JSONRPCResultResponseSchema' }[as];
  if (!lib[envelope]) throw new Error(`no ${envelope}`);
  if (as === 'failure') return lib[envelope].safeParse(message).success;
  let inner = `${names[method]}${{ request: 'Request', notification: 'Notification', result: 'Result' }[as]}Schema`;
  if (as === 'result' && empty.has(method)) inner = 'ResultSchema';
  if (as === 'result' && method === 'sampling/createMessage' && lib.CreateMessageResultWithToolsSchema) inner = 'CreateMessageResultWithToolsSchema';
  if (!lib[inner]) return null;
  return lib[envelope].safeParse(message).success && lib[inner].safeParse(as === 'result' ? message.result : message).success;
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const x = JSON.parse(line);
  process.stdout.write(`${JSON.stringify({ sdk: takes(sdk, x), core: takes(core, x) })}\n`);
}
