package corpus

import (
	"strings"
	"time"

	"github.com/mcptap/mcptap/har"
)

const (
	streamable25 = "MCP 2025-11-25 basic/transports"
	streamable26 = "MCP 2026-07-28 basic/transports/streamable-http"
)

// askedOnStream is a GET stream on which the server asks.
func onStream(message string) turn {
	return turn{ask: getting(ownFields), say: openStreamed("data: " + message + "\n\n"), end: har.EndClientFIN, left: time.Minute, beside: true, lost: true, conn: 2}
}

func logs() string {
	return `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"looking"}}`
}

func progress(token, at string) string {
	return `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,"progress":` + at + "}}\n\n"
}

func dataOf(message string) string { return "data: " + message + "\n\n" }

// conformFindings break one sentence of the specification each.
var conformFindings = []findingCase{
	{"conform-accept-get", "The client asks for the GET stream and accepts JSON alone.", streamable25 + ", Listening for Messages", 3, "post-only get-stream/unsupported legacy",
		inSession(turn{ask: getting(ownFields), say: saidEmpty("405 Method Not Allowed")}.asking("accept: text/event-stream", "accept: application/json"))},
	{"conform-accept-post", "The client accepts JSON alone, and this server does not mind.", streamable25 + ", Sending Messages", 3, "delivered request/delivered legacy",
		inSession(calling("1").asking("accept: application/json, text/event-stream", "accept: application/json"))},
	{"conform-batch", "The client sends two calls in one array, which revision 2025-06-18 took out.", "MCP 2025-06-18 changelog", 3, "delivered request/delivered legacy",
		inSession(turn{ask: posting(ownFields, `[{"method":"tools/call","params":{`+toolCall+`},"jsonrpc":"2.0","id":1},{"method":"tools/call","params":{`+toolCall+`},"jsonrpc":"2.0","id":2}]`),
			say: saidJSON("[" + replied("1", toolResult) + "," + replied("2", toolResult) + "]")})},
	{"conform-batch-answer", "The server answers one call with an array of one reply.", "MCP 2025-06-18 changelog", 3, "delivered request/delivered legacy",
		inSession(callingFor(saidJSON("[" + replied("1", toolResult) + "]")))},
	{"conform-cancel-initialize", "The client cancels its initialize.", "MCP 2025-11-25 basic/utilities/cancellation", 2, "delivered notification/accepted legacy",
		append(starts(saidJSON(replied("0", initializedAs(`{"tools":{}}`)), strings.TrimSuffix(sessionField, "\r\n"))),
			turn{ask: noticing(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}`), say: acceptedAnswer},
			turn{ask: noticing(initializedNote), say: acceptedAnswer})},
	{"conform-client-capability", "The server asks the client to sample, which the client did not say it could.", "MCP 2025-11-25 client/sampling", 3, "delivered get-stream/opened legacy",
		inSession(onStream(`{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"summarise"}}],"maxTokens":100}}`),
			turn{ask: noticing(`{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"Method not found"}}`), say: acceptedAnswer, conn: 1}, calling("1"))},
	{"conform-client-response", "A client of revision 2026-07-28 posts a response.", streamable26, 2, "delivered notification/accepted modern",
		inModern2026(turn{ask: posting(modernField, `{"jsonrpc":"2.0","id":7,"result":{}}`), say: acceptedAnswer})},
	{"conform-completion-values", "The server completes an argument with 101 values.", "MCP 2025-11-25 server/utilities/completion", 3, "delivered request/delivered legacy",
		inSessionWith(`{"prompts":{},"completions":{}}`, turn{ask: requesting("1", "completion/complete", `"ref":{"type":"ref/prompt","name":"triage"},"argument":{"name":"label","value":"b"}`),
			say: saidJSON(replied("1", `{"completion":{"values":[`+strings.TrimSuffix(strings.Repeat(`"bug",`, 101), ",")+`]}}`))})},
	{"conform-error-code", "A server of revision 2026-07-28 still says -32002 of a resource that is not there.", "MCP 2026-07-28 basic, Error Codes", 2, "pass-through request/error-in-band modern",
		inModern2026(turn{ask: requestingModern("0", "resources/read", "file:///x", `"uri":"file:///x"`), say: saidJSON(failing("0", -32002, "Resource not found"))})},
	{"conform-error-status", "A missing capability is answered 200.", streamable26 + ", Server Validation", 2, "pass-through request/error-in-band modern",
		inModern2026(callingModern(saidJSON(`{"jsonrpc":"2.0","id":0,"error":{"code":-32021,"message":"Missing required client capability","data":{"requiredCapabilities":{"sampling":{}}}}}`)))},
	{"conform-event-id", "The server counts events from 1 on each stream, so that an id names two.", streamable25 + ", Resumability and Redelivery", 4, "delivered request/delivered legacy",
		inSession(callingFor(streamed("id: 1\n"+dataOf(replied("1", toolResult)))), turn{ask: requesting("2", "tools/list", ""), say: streamed("id: 1\n" + dataOf(replied("2", toolList)))})},
	{"conform-initialized", "The client calls without having sent notifications/initialized.", "MCP 2025-11-25 basic/lifecycle", 2, "delivered request/delivered legacy",
		append(inSession()[:1], calling("1"))},
	{"conform-log-level", "A server of revision 2026-07-28 sends log messages that nobody asked for.", "MCP 2026-07-28 server/utilities/logging", 2, "delivered request/delivered modern",
		inModern2026(callingModern(streamed(dataOf(logs()), dataOf(replied("0", newToolResult)))))},
	{"conform-logging-capability", "The server sends log messages and did not declare logging.", "MCP 2025-11-25 server/utilities/logging", 3, "delivered request/delivered legacy",
		inSession(callingFor(streamed(dataOf(logs()), dataOf(replied("1", toolResult)))))},
	{"conform-method-header", "A request of revision 2026-07-28 without Mcp-Method.", streamable26 + ", Request Metadata", 2, "delivered request/delivered modern",
		inModern2026(callingModern(saidJSON(replied("0", newToolResult))).without("mcp-method: tools/call"))},
	{"conform-method-not-found", "A server of revision 2026-07-28 answers an unknown method 200.", streamable26, 2, "keep-connected optional/missing-method-in-band modern",
		inModern2026(turn{ask: requestingModern("0", "prompts/list", "", ""), say: saidJSON(failing("0", -32601, "Method not found"))})},
	{"conform-name-header", "A call of revision 2026-07-28 without Mcp-Name.", streamable26 + ", Request Metadata", 2, "delivered request/delivered modern",
		inModern2026(callingModern(saidJSON(replied("0", newToolResult))).without("mcp-name: find_tickets"))},
	{"conform-origin", "A page of another site reaches a server on this machine.", streamable25 + ", Security Warning", 3, "delivered request/delivered legacy",
		inSession(calling("1").asking("user-agent: node", "origin: https://evil.example.net\r\nuser-agent: node"))},
	{"conform-progress-increases", "Progress goes backwards.", "MCP 2025-11-25 basic/utilities/progress", 3, "delivered request/delivered legacy",
		inSession(turn{ask: requesting("1", "tools/call", toolCall+`,"_meta":{"progressToken":5}`), say: streamed(progress("5", "2"), progress("5", "1"), dataOf(replied("1", toolResult)))})},
	{"conform-progress-token", "The server reports progress that nobody asked for.", "MCP 2025-11-25 basic/utilities/progress", 3, "delivered request/delivered legacy",
		inSession(callingFor(streamed(progress("9", "1"), dataOf(replied("1", toolResult)))))},
	{"conform-request-id", "The client uses an id twice in one session.", "MCP 2025-11-25 basic, Requests", 4, "delivered request/delivered legacy",
		inSession(calling("1"), turn{ask: requesting("1", "tools/list", ""), say: saidJSON(replied("1", toolList))})},
	{"conform-request-too-soon", "The client calls while initialize is still under way.", "MCP 2025-11-25 basic/lifecycle", 2, "delivered request/delivered legacy",
		[]turn{{ask: starting("{}"), say: saidJSON(replied("0", initializedAs(`{"tools":{}}`))), took: 50 * time.Millisecond, beside: true},
			{ask: strings.Replace(requesting("1", "tools/list", ""), ownFields, "", 1), say: saidJSON(replied("1", toolList)), took: 60 * time.Millisecond, conn: 2},
			{ask: strings.Replace(noticing(initializedNote), sessionField, "", 1), say: acceptedAnswer, conn: 1}}},
	{"conform-response-on-stream", "The server sends the reply to a call on the GET stream, and 202 to the POST.", streamable25 + ", Listening for Messages", 3, "delivered get-stream/opened legacy",
		inSession(turn{ask: getting(ownFields), say: openStreamed(": open\n\n"), conn: 2, beside: true, lost: true, end: har.EndClientFIN, left: time.Minute,
			rest: []later{{30 * time.Millisecond, chunk(dataOf(replied("1", toolResult)))}}}, callingFor(acceptedAnswer).on(1))},
	{"conform-root-uri", "A root's URI is no file.", "MCP 2025-11-25 client/roots", 4, "delivered notification/accepted legacy",
		append([]turn{{ask: starting(`{"roots":{}}`), say: saidJSON(replied("0", initializedAs(`{"tools":{}}`)), strings.TrimSuffix(sessionField, "\r\n"))}, {ask: noticing(initializedNote), say: acceptedAnswer}},
			onStream(`{"jsonrpc":"2.0","id":"r1","method":"roots/list"}`),
			turn{ask: noticing(`{"jsonrpc":"2.0","id":"r1","result":{"roots":[{"uri":"https://example.test/repo","name":"repo"}]}}`), say: acceptedAnswer, conn: 1})},
	{"conform-server-request", "A server of revision 2026-07-28 sends a request of its own.", "MCP 2026-07-28 basic/patterns/mrtr", 2, "delivered request/delivered modern",
		inModern2026(callingModern(streamed(dataOf(`{"jsonrpc":"2.0","id":7,"method":"ping"}`), dataOf(replied("0", newToolResult)))))},
	{"conform-session-header", "A second connection of the client does not carry the session's id.", streamable25 + ", Session Management", 3, "delivered request/delivered legacy",
		inSession(calling("1").without("mcp-session-id: 5b1f0c6a9d3e4f7288a1c0de5eed0001").on(2))},
	{"conform-session-id", "A session id with a space in it.", streamable25 + ", Session Management", 1, "delivered initialize/delivered legacy",
		[]turn{{ask: starting("{}"), say: saidJSON(replied("0", initializedAs(`{"tools":{}}`)), "mcp-session-id: tracker session 5b1f0c6a")},
			{ask: strings.Replace(noticing(initializedNote), "5b1f0c6a9d3e4f7288a1c0de5eed0001", "tracker session 5b1f0c6a", 1), say: acceptedAnswer}}},
	{"conform-structured-content", "A tool that declares an outputSchema gives a result without structuredContent.", "MCP 2025-11-25 server/tools, Output Schema", 4, "delivered request/delivered legacy",
		inSession(turn{ask: requesting("1", "tools/list", ""), say: saidJSON(replied("1", `{"tools":[{"name":"find_tickets","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}]}`))}, calling("2"))},
	{"conform-structured-text", "A result has structuredContent and no text beside it.", "MCP 2025-11-25 server/tools, Structured Content", 3, "delivered request/delivered legacy",
		inSession(callingFor(saidJSON(replied("1", `{"content":[],"structuredContent":{"n":2}}`))))},
	{"conform-subscription-acknowledged", "A subscription's stream begins with a change instead of the acknowledgement.", "MCP 2026-07-28 server/subscriptions", 2, "delivered request/subscribed modern",
		inModern2026(turn{ask: requestingModern("0", "subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`), say: openStreamed(dataOf(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))}.ends(har.EndClientFIN, time.Minute))},
	{"conform-tool-name", "A tool's name has a space and an exclamation mark.", "MCP 2025-11-25 server/tools, Tool Names", 3, "delivered request/delivered legacy",
		inSession(turn{ask: requesting("1", "tools/list", ""), say: saidJSON(replied("1", `{"tools":[{"name":"find tickets!","inputSchema":{"type":"object"}}]}`))})},
	{"conform-version-header", "The client leaves MCP-Protocol-Version out.", streamable25 + ", Protocol Version Header", 3, "delivered request/delivered legacy",
		inSession(calling("1").without("mcp-protocol-version: 2025-11-25"))},
	{"conform-version-header-body", "A request of revision 2026-07-28 without MCP-Protocol-Version.", streamable26 + ", Request Metadata", 2, "delivered request/delivered modern",
		inModern2026(callingModern(saidJSON(replied("0", newToolResult))).without("mcp-protocol-version: 2026-07-28"))},
	{"conform-version-header-negotiated", "The client names another version in its header than was negotiated.", streamable25 + ", Protocol Version Header", 3, "delivered request/delivered legacy",
		inSession(calling("1").asking("mcp-protocol-version: 2025-11-25", "mcp-protocol-version: 2025-06-18"))},
	{"nonconforming-message", "A tool comes without its inputSchema.", "MCP 2025-11-25 schema, Tool", 3, "delivered request/delivered legacy",
		inSession(turn{ask: requesting("1", "tools/list", ""), say: saidJSON(replied("1", `{"tools":[{"name":"find_tickets"}]}`))})},
}
