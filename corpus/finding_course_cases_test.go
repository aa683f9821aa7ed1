package corpus

import (
	"strings"
	"time"

	"github.com/mcptap/mcptap/har"
)

const cancelling25 = "MCP 2025-11-25 basic/utilities/cancellation"

func cancelled(id string) turn {
	return turn{ask: noticing(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"the user pressed stop"}}`), say: acceptedAnswer}
}

// dated gives an answer the date of the moment at which its request came.
func dated(say string) string { return strings.Replace(say, "\r\n", "\r\ndate: $DATE\r\n", 1) }

func slow(id string, d time.Duration) turn { return calling(id).taking(d) }

func refusedGET(behind time.Duration) turn {
	return turn{ask: getting(ownFields), say: saidEmpty("405 Method Not Allowed", "allow: POST")}.after(behind)
}

func cutGET(age time.Duration) turn {
	return turn{ask: getting(ownFields), say: openStreamed(": open\n\n")}.ends(har.EndRST, age)
}

func pings(n int) string { return strings.Repeat(": ping\n\n", n) }

const otherSession = "mcp-session-id: 5b1f0c6a9d3e4f7288a1c0de5eed0002\r\n"

// remoteAs makes it a request of mcp-remote under this name.
func remoteAs(name string, t turn) turn {
	head, body, _ := strings.Cut(t.ask, "\r\n\r\n")
	long := strings.Replace(body, "example-host", name, 1)
	t.ask = strings.Replace(posting("", long), "user-agent: node", "user-agent: undici", 1)
	_ = head
	return t
}

// courseFindings are those that only several exchanges, or their times, show.
var courseFindings = []findingCase{
	{"bridge-two-sessions", "A bridge tests the server in a session of its own, never closes it, and opens another for its host.", "mcp-remote 0.15.1, read from its traffic", 1, "delivered initialize/delivered legacy",
		[]turn{remoteAs("mcp-remote-fallback-test", turn{ask: starting("{}"), say: saidJSON(replied("0", initializedAs(`{"tools":{}}`)), strings.TrimSuffix(sessionField, "\r\n"))}),
			{ask: noticing(initializedNote), say: acceptedAnswer},
			remoteAs("example-host (via mcp-remote 0.15.1)", turn{ask: starting("{}"), say: saidJSON(replied("0", initializedAs(`{"tools":{}}`)), strings.TrimSuffix(otherSession, "\r\n"))}).on(2),
			{ask: strings.Replace(noticing(initializedNote), sessionField, otherSession, 1), say: acceptedAnswer}}},
	{"cancel-unknown", "The client cancels an id in another type than it sent.", cancelling25, 4, "delivered notification/accepted legacy", inSession(calling("1"), cancelled(`"1"`))},
	{"cancelled-after-reply", "The client cancels a call that has been answered.", cancelling25, 4, "delivered notification/accepted legacy", inSession(calling("1"), cancelled("1"))},
	{"cancelled-call", "The client waits ten seconds, gives up and cancels.", cancelling25, 4, "delivered notification/accepted legacy",
		inSession(callingFor("").ends(har.EndClientFIN, 10*time.Second), cancelled("1"))},
	{"connection-reused-late", "The server gave the idle connection up just as the client used it again.", rfc9112 + " section 9.5", 4, "disconnect request/transport-failure legacy",
		inSession(calling("1"), turn{ask: requesting("2", "tools/call", toolCall)}.after(65*time.Second).ends(har.EndRST, 3*time.Millisecond))},
	{"constant-delay", "Every reply takes three minutes: a timer in the gateway.", "Azure/MCP #96", 3, "delivered request/delivered legacy",
		inSession(slow("1", 180*time.Second), slow("2", 180200*time.Millisecond), slow("3", 179900*time.Millisecond))},
	{"fallback-hides-cause", "initialize fails, the client tries HTTP+SSE, and its user sees the 405 of that.", "typescript-sdk, Client README, backwards compatibility", 1, "negotiation-error initialize/http-error failed",
		[]turn{{ask: starting("{}"), say: said("500 Internal Server Error", "text/plain", "TRACKER_TOKEN is not set")},
			turn{ask: headed("GET", "/mcp", "", "Accept: text/event-stream\r\n"+nodeFields), say: saidEmpty("405 Method Not Allowed", "allow: POST")}}},
	{"gateway-timeout", "The gateway gives up after a minute.", "RFC 9110 section 15.6.5", 3, "disconnect request/http-5xx legacy",
		inSession(callingFor(said("504 Gateway Timeout", "text/html", "<html><body><center><h1>504 Gateway Time-out</h1></center><hr><center>nginx</center></body></html>", "server: nginx")).taking(60 * time.Second))},
	{"get-stream-loop", "The client asks for the GET stream every second, and is told each time that there is none.", "mcp-proxy #62", 3, "post-only get-stream/unsupported legacy",
		inSession(refusedGET(time.Second), refusedGET(time.Second), refusedGET(time.Second), refusedGET(time.Second))},
	{"id-in-use", "Two calls of one session are under way with one id.", jsonrpc + " section 4", 4, "delivered request/delivered legacy",
		inSession(turn{ask: requesting("1", "tools/call", toolCall), say: saidJSON(replied("1", toolResult)), took: 2 * time.Second, beside: true},
			turn{ask: requesting("1", "tools/list", ""), say: saidJSON(replied("1", toolList))}.on(2))},
	{"nothing-offered", "All lists fail, in band, and the client leaves.", "qwen-code 0.24.4 and gemini-cli 0.61.0, read from their traffic", 3, "keep-connected optional/missing-method-in-band legacy",
		inSession(turn{ask: requesting("1", "tools/list", ""), say: saidJSON(failing("1", -32601, "Method not found"))},
			turn{ask: requesting("2", "prompts/list", ""), say: saidJSON(failing("2", -32601, "Method not found"))},
			turn{ask: requesting("3", "resources/list", ""), say: saidJSON(failing("3", -32601, "Method not found"))})},
	{"notification-answered", "A notification is answered with a JSON-RPC error.", jsonrpc + " section 4.1", 2, "delivered initialized/accepted legacy",
		append(inSession()[:1], turn{ask: noticing(initializedNote), say: saidJSON(failing("null", -32601, "Method not found"))}, calling("1"))},
	{"notification-with-id", "A notification is sent with an id.", jsonrpc + " section 4.1", 3, "keep-connected optional/missing-method-in-band legacy",
		inSession(turn{ask: noticing(`{"jsonrpc":"2.0","id":9,"method":"notifications/roots/list_changed"}`), say: saidJSON(failing("9", -32601, "Method not found"))})},
	{"policy-differs", "The probe is answered 503, and the client gives up where recommended has it fall back.", "typescript-sdk #2571", 1, "legacy-fallback probe/http-5xx legacy",
		[]turn{probing(said("503 Service Unavailable", "text/plain", "warming up")).closed()}},
	{"policy-unexpected", "The client falls back after a 503 to its probe, which npm client 2.4.0 does not do.", "typescript-sdk #2571", 1, "legacy-fallback probe/http-5xx legacy",
		append([]turn{probing(said("503 Service Unavailable", "text/plain", "warming up"))}, inSession()...)},
	{"reply-held-back", "Something between held the reply back: it is dated eight seconds before it came.", "RFC 9110 section 6.6.1", 4, "delivered request/delivered legacy",
		inSession(turn{ask: requesting("1", "tools/list", ""), say: dated(saidJSON(replied("1", toolList)))}, turn{ask: requesting("2", "tools/call", toolCall), say: dated(saidJSON(replied("2", toolResult))), took: 8 * time.Second})},
	{"reply-id-type", "The reply has the id of the call as a string.", jsonrpc + " section 5", 3, "timeout request/no-reply-in-body legacy", inSession(callingFor(saidJSON(replied(`"1"`, toolResult))).closed())},
	{"reply-in-202-body", "The reply stands in the body of a 202.", streamable25 + ", Sending Messages", 3, "delivered request/delivered legacy",
		inSession(callingFor(said("202 Accepted", "application/json", replied("1", toolResult))))},
	{"reply-slow", "The reply takes two minutes.", "typescript-sdk, DEFAULT_REQUEST_TIMEOUT_MSEC", 3, "delivered request/delivered legacy", inSession(slow("1", 120*time.Second))},
	{"reply-to-nobody", "The GET stream carries a reply to an id that the client has not used.", jsonrpc + " section 5", 3, "delivered get-stream/opened legacy",
		inSession(onStream(replied("77", "{}")), calling("1").on(1))},
	{"reply-twice", "The stream carries the reply twice.", jsonrpc + " section 5", 3, "delivered request/delivered legacy", inSession(callingFor(streamed(dataOf(replied("1", toolResult)), dataOf(replied("1", toolResult)))))},
	{"request-without-id", "A call is sent without an id, as if it were a notification.", jsonrpc + " section 4.1", 3, "delivered notification/accepted legacy",
		inSession(turn{ask: noticing(`{"jsonrpc":"2.0","method":"tools/call","params":{` + toolCall + `}}`), say: acceptedAnswer})},
	{"server-request-unanswered", "The server asks for the roots and gets no answer.", "MCP 2025-11-25 client/roots", 3, "delivered get-stream/opened legacy",
		append([]turn{{ask: starting(`{"roots":{}}`), say: saidJSON(replied("0", initializedAs(`{"tools":{}}`)), strings.TrimSuffix(sessionField, "\r\n"))}, {ask: noticing(initializedNote), say: acceptedAnswer}},
			onStream(`{"jsonrpc":"2.0","id":"r1","method":"roots/list"}`), calling("1").on(1).after(20*time.Second), calling("2").after(10*time.Second))},
	{"server-restarted", "The server is gone for a while and has lost the session when it is back.", streamable25 + ", Session Management", 5, "reinitialize+retry-once session/expired legacy",
		inSession(calling("1"), turn{ask: requesting("2", "tools/call", toolCall)}.on(2).after(time.Minute).noted("upstream: refused"), turn{ask: requesting("3", "tools/call", toolCall), say: said("404 Not Found", "application/json", failing("null", -32001, "Session not found"))}.after(5*time.Second))},
	{"session-id-invented", "The client sends a session id that the server never gave out.", streamable25 + ", Session Management", 3, "delivered request/delivered legacy", sessionless(calling("1"))},
	{"session-id-lost", "A proxy drops Mcp-Session-Id on the way: the server asks for it.", streamable25 + ", Session Management", 3, "pass-through request/http-4xx legacy",
		inSession(callingFor(said("400 Bad Request", "application/json", failing("null", -32000, "Bad Request: Mcp-Session-Id header is required"))).without(strings.TrimSuffix(sessionField, "\r\n")))},
	{"session-id-stale", "A part of the client goes on with the old session after another has begun a new one.", "mcp-remote #106", 8, "reinitialize+retry-once session/expired legacy",
		inSession(calling("1"), turn{ask: requesting("2", "tools/call", toolCall), say: said("404 Not Found", "application/json", failing("null", -32001, "Session not found"))}.after(time.Minute),
			turn{ask: starting("{}"), say: saidJSON(replied("0", initializedAs(`{"tools":{}}`)), strings.TrimSuffix(otherSession, "\r\n"))},
			turn{ask: strings.Replace(noticing(initializedNote), sessionField, otherSession, 1), say: acceptedAnswer},
			turn{ask: strings.Replace(requesting("1", "tools/call", toolCall), sessionField, otherSession, 1), say: saidJSON(replied("1", toolResult))},
			turn{ask: requesting("3", "tools/list", ""), say: said("404 Not Found", "application/json", failing("null", -32001, "Session not found"))}.after(3*time.Second))},
	{"stream-age-limit", "Each GET stream is cut after a minute.", "agentdeals #1098", 3, "delivered get-stream/opened legacy",
		inSession(cutGET(60*time.Second), cutGET(60100*time.Millisecond), cutGET(59900*time.Millisecond))},
	{"stream-held-back", "A proxy keeps the stream's events until the last one has come.", "api-platform #2968", 3, "delivered request/delivered legacy",
		inSession(callingFor(strings.Replace(openStreamed(), "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nserver: nginx\r\n", 1)).then(45*time.Second, chunk(pings(3)+dataOf(replied("1", toolResult)))+"0\r\n\r\n"))},
}
