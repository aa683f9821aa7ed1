package corpus

import (
	"time"

	"github.com/mcptap/mcptap/har"
)

const gateway20 = "gateway #20"

// sessionID is the n-th session that a server gives out: made up, of the length that Python servers use.
func sessionID(n byte) string { return "5b1f0c6a9d3e4f7288a1c0de5eed000" + string('0'+n) }

// expired is the body that the gateway saw.
const expired = `{"error":"Unknown or expired MCP session. Re-initialize to continue."}`

// connectGateway connects a pooled client, as the gateway does once for each server.
func (s *scene) connectGateway() {
	s.client, s.server = gateway, node
	s.initialize(ok(result(initResult)))
	s.initialized()
	s.get(empty("405 Method Not Allowed").with("allow: POST, DELETE\r\n"))
}

// gatewaySSE connects over HTTP+SSE and makes a call.
func (s *scene) gatewaySSE() {
	s.client = gateway
	s.openStream()
	s.initializeSSE()
	s.askSSE("tools/call", toolCall, acceptedText(), result(toolResult))
}

// spawnBridge starts a process that passes lines on to a server over HTTP.
func (s *scene) spawnBridge() {
	s.spawn("tracker-bridge", "https://mcp.example.test/mcp")
	s.handshake()
}

// recovers calls, loses the session by this answer (exchange 5), connects anew and calls once more (exchange 9).
func recovers(lost, again answer) func(*scene) {
	return func(s *scene) {
		s.connectGateway()
		s.ask("tools/call", toolCall, ok(result(toolResult)))
		s.wait(30 * time.Minute)
		s.ask("tools/call", toolCall, lost)
		s.connectGateway()
		s.ask("tools/call", toolCall, again)
	}
}

// calls makes one call that fails (exchange 4) and one that does not.
func calls(session bool, a answer) func(*scene) {
	return func(s *scene) {
		if !session {
			s.sessions = nil
		}
		s.connectGateway()
		s.ask("tools/call", toolCall, a)
		s.ask("tools/call", toolCall, ok(result(toolResult)))
	}
}

// closes ends the session; exchange 5 is the DELETE.
func closes(a answer) func(*scene) {
	return func(s *scene) {
		s.connectGateway()
		s.ask("tools/call", toolCall, ok(result(toolResult)))
		s.del(a)
	}
}

// inModern asks a modern server; exchange 3 is the request.
func inModern(method, params string, a answer) func(*scene) {
	return func(s *scene) {
		thenModern(ok(discovered(`["2026-07-28"]`)))(s)
		s.ask(method, params, a)
		s.ask("tools/call", toolCall, ok(result(newToolResult)))
	}
}

func modernOutcome(expect []har.Expect) []har.Expect {
	for i := range expect {
		expect[i].Outcome = "modern"
	}
	return expect
}

var sessionCases = []entry{
	{"session-404-expired", "C1", "The server has forgotten the session: initialize again without the old id and call once more.", gateway20,
		asked(5, "reinitialize+retry-once", "session/expired", "pass-through", "session/expired"),
		recovers(rpc("404 Not Found", expired), ok(result(toolResult)))},
	{"session-404-rpc-error", "C1", "The same, said in JSON-RPC.", gateway20,
		asked(5, "reinitialize+retry-once", "session/expired", "pass-through", "session/expired"),
		recovers(rpc("404 Not Found", `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`), ok(result(toolResult)))},
	{"session-404-empty", "C1", "The same, said by the status alone: the body is no part of the rule.", gateway20,
		asked(5, "reinitialize+retry-once", "session/expired", "pass-through", "session/expired"),
		recovers(empty("404 Not Found"), ok(result(toolResult)))},
	{"session-404-kept", "C1", "The client goes on with the dead session, and every call fails.", gateway20 + ", typescript-sdk 2.4.0",
		asked(5, "reinitialize+retry-once", "session/expired", "pass-through", "session/expired"),
		func(s *scene) {
			s.connectGateway()
			s.ask("tools/call", toolCall, ok(result(toolResult)))
			s.wait(30 * time.Minute)
			for range 3 {
				s.ask("tools/call", toolCall, rpc("404 Not Found", expired))
				s.wait(2 * time.Second)
			}
		}},
	{"session-404-not-repeated", "C1", "The client begins a new session, but the call that failed is lost.", gateway20,
		asked(5, "reinitialize+retry-once", "session/expired", "pass-through", "session/expired"),
		func(s *scene) {
			s.connectGateway()
			s.ask("tools/call", toolCall, ok(result(toolResult)))
			s.wait(30 * time.Minute)
			s.ask("tools/call", toolCall, rpc("404 Not Found", expired))
			s.connectGateway()
			s.ask("tools/list", "", ok(result(toolList)))
		}},
	{"session-404-old-id-sent", "C1", "The client initializes again, but still sends the id of the dead session, and is refused again.", gateway20,
		asked(5, "reinitialize+retry-once", "session/expired", "pass-through", "session/expired"),
		func(s *scene) {
			s.connectGateway()
			s.ask("tools/call", toolCall, ok(result(toolResult)))
			s.wait(30 * time.Minute)
			s.ask("tools/call", toolCall, rpc("404 Not Found", expired))
			s.post([]string{"mcp-session-id: " + s.session}, s.initializeBody(), rpc("404 Not Found", expired))
		}},
	{"session-expired-in-band", "C2", "The session is gone, but the status is 200.", gateway20,
		asked(5, "reinitialize+retry-once", "session/expired-in-band", "pass-through", "session/expired-in-band"),
		recovers(ok(rpcError(-32001, "Session not found")), ok(result(toolResult)))},
	{"session-expired-in-band-text", "C2", "The session is gone, in other words and letters, under status 200.", gateway20,
		asked(5, "reinitialize+retry-once", "session/expired-in-band", "pass-through", "session/expired-in-band"),
		recovers(ok(rpcError(-32000, "UNKNOWN OR EXPIRED MCP SESSION")), ok(result(toolResult)))},
	{"http-sse-session-expired", "C2", "HTTP+SSE: the stream says that the session is gone.", gateway20,
		asked(5, "reinitialize+retry-once", "session/expired-in-band", "pass-through", "session/expired-in-band"),
		func(s *scene) {
			s.gatewaySSE()
			s.askSSE("tools/call", toolCall, acceptedText(), rpcError(-32001, "Session not found"))
			s.closeStream()
			s.gatewaySSE()
		}},
	{"http-sse-session-404", "C2", "HTTP+SSE: the POST is answered 404, and its text says that the session is gone.", gateway20,
		asked(5, "reinitialize+retry-once", "session/expired-sse", "pass-through", "session/expired-sse"),
		func(s *scene) {
			s.gatewaySSE()
			s.askSSE("tools/call", toolCall, plain("404 Not Found", "Session not found"), "")
			s.closeStream()
			s.gatewaySSE()
		}},
	{"stdio-session-expired", "C2", "A bridge to a server over HTTP says that its session is gone: the client starts the bridge anew and calls once more.", gateway20,
		asked(4, "reinitialize+retry-once", "session/expired-stdio", "pass-through", "session/expired-stdio"),
		func(s *scene) {
			s.client = gateway
			s.spawnBridge()
			s.tell(s.request("tools/call", toolCall), result(toolResult))
			s.wait(30 * time.Minute)
			s.tell(s.request("tools/call", toolCall), rpcError(-32000, "Unknown or expired MCP session"))
			s.spawnBridge()
			s.tell(s.request("tools/call", toolCall), result(toolResult))
		}},
	{"session-404-twice", "C3", "The repeated call meets a lost session again: that is passed on, not tried a third time.", gateway20,
		[]har.Expect{
			{Policy: "recommended", Exchange: 5, Verdict: "reinitialize+retry-once", Rule: "session/expired", Outcome: "legacy"},
			{Policy: "recommended", Exchange: 9, Verdict: "pass-through", Rule: "session/expired-again", Outcome: "legacy"},
			{Policy: "ts-2.4.0", Exchange: 9, Verdict: "pass-through", Rule: "session/expired-again", Outcome: "legacy"},
		},
		recovers(rpc("404 Not Found", expired), rpc("404 Not Found", expired))},
	{"session-404-retried-again", "C3", "A client that begins a new session and calls again each time that it is told so, without end.", gateway20,
		[]har.Expect{
			{Policy: "recommended", Exchange: 9, Verdict: "pass-through", Rule: "session/expired-again", Outcome: "legacy"},
			{Policy: "ts-2.4.0", Exchange: 9, Verdict: "pass-through", Rule: "session/expired-again", Outcome: "legacy"},
		},
		func(s *scene) {
			s.sessions = []string{sessionID(1), sessionID(2), sessionID(3)}
			recovers(rpc("404 Not Found", expired), rpc("404 Not Found", expired))(s)
			s.connectGateway()
			s.ask("tools/call", toolCall, rpc("404 Not Found", expired))
		}},
	{"session-expired-in-band-twice", "C3", "The repeated call is told in band that its session is gone again: that is passed on, not tried a third time.", gateway20,
		[]har.Expect{
			{Policy: "recommended", Exchange: 5, Verdict: "reinitialize+retry-once", Rule: "session/expired-in-band", Outcome: "legacy"},
			{Policy: "recommended", Exchange: 9, Verdict: "pass-through", Rule: "session/failed-again-in-band", Outcome: "legacy"},
		},
		recovers(ok(rpcError(-32001, "Session not found")), ok(rpcError(-32001, "Session not found")))},
	{"tool-error-rpc", "C4", "The tool fails with a JSON-RPC error: no reason for a new session.", gateway20,
		asked(4, "pass-through", "request/error-in-band", "pass-through", "request/error-in-band"),
		calls(true, ok(rpcError(-32602, "Invalid arguments: text is required")))},
	{"tool-error-result", "C4", "The tool fails with an isError result: no reason for a new session.", gateway20,
		asked(4, "pass-through", "request/tool-error", "pass-through", "request/tool-error"),
		calls(true, ok(result(`{"content":[{"type":"text","text":"the tracker is not reachable"}],"isError":true}`)))},
	{"call-404-no-session", "C5", "A 404 to a request without a session id cannot be about a session.", gateway20,
		asked(4, "pass-through", "request/http-4xx", "pass-through", "request/http-4xx"),
		calls(false, rpc("404 Not Found", expired))},
	{"modern-optional-404-method-not-found", "C6", "Revision 2026-07-28 has no sessions: this is its answer for a method it does not have.", gateway20 + ", specification 2026-07-28 streamable-http",
		modernOutcome(asked(3, "keep-connected", "optional/missing-method", "keep-connected", "optional/missing-method")),
		inModern("prompts/list", "", rpc("404 Not Found", notFound()))},
	{"modern-call-404-method-not-found", "C6", "The same to a request that is not optional: an error for the caller.", gateway20 + ", specification 2026-07-28 streamable-http",
		modernOutcome(asked(3, "pass-through", "request/http-4xx", "pass-through", "request/http-4xx")),
		inModern("tools/call", toolCall, rpc("404 Not Found", notFound()))},
	{"delete-404", "C7", "The session that the client ends was gone already.", gateway20,
		asked(5, "clean-close", "session/close-declined", "", ""), closes(empty("404 Not Found"))},
	{"delete-405", "C7", "The server does not let clients end sessions.", gateway20,
		asked(5, "clean-close", "session/close-declined", "", ""), closes(empty("405 Method Not Allowed").with("allow: GET, POST\r\n"))},
}
