package corpus

import (
	"strings"
	"time"

	"github.com/mcptap/mcptap/har"
)

const qwen12500 = "qwen-code #12500"

// asked is what recommended and ts-2.4.0 say of one exchange after a 2025 handshake; ts "": it was not measured.
func asked(n int, recommended, rule, ts, tsRule string) []har.Expect {
	expect := []har.Expect{{Policy: "recommended", Exchange: n, Verdict: recommended, Rule: rule, Outcome: "legacy"}}
	if ts != "" {
		expect = append(expect, har.Expect{Policy: "ts-2.4.0", Exchange: n, Verdict: ts, Rule: tsRule, Outcome: "legacy"})
	}
	return expect
}

// connectQwen connects qwen-code to a tracker that has tools alone, and sessions or not.
func (s *scene) connectQwen(session bool) {
	s.client, s.server = qwen, nginx
	if !session {
		s.sessions = nil
	}
	s.initialize(ok(result(initResult)))
	s.initialized()
	s.get(empty("405 Method Not Allowed").with("allow: POST, DELETE\r\n"))
}

// The optional request is exchange 4: initialize, initialized and GET come before it.

// stays asks for the prompts, gets this answer, and works on.
func stays(session bool, a answer) func(*scene) {
	return func(s *scene) {
		s.connectQwen(session)
		s.ask("prompts/list", "", a)
		s.ask("tools/list", "", ok(result(toolList)))
		s.ask("tools/call", toolCall, ok(result(toolResult)))
	}
}

// leaves asks for the prompts, gets this answer, and takes the server for dead.
func leaves(session bool, a answer) func(*scene) {
	return func(s *scene) {
		s.connectQwen(session)
		s.ask("prompts/list", "", a)
		if session {
			s.del(empty("200 OK"))
		}
	}
}

// The same over HTTP+SSE: GET, initialize and initialized come before exchange 4.
func staysSSE(a answer, event string) func(*scene) {
	return func(s *scene) {
		s.connectQwenSSE()
		s.askSSE("prompts/list", "", a, event)
		s.askSSE("tools/list", "", acceptedText(), result(toolList))
	}
}

func leavesSSE(a answer) func(*scene) {
	return func(s *scene) {
		s.connectQwenSSE()
		s.askSSE("prompts/list", "", a, "")
	}
}

func (s *scene) connectQwenSSE() {
	s.client = qwen
	s.openStream()
	s.initializeSSE()
}

// gets opens the GET stream with this answer, which is exchange 3, and stays if asked to.
func gets(stay bool, a answer) func(*scene) {
	return func(s *scene) {
		s.client, s.server = qwen, nginx
		s.initialize(ok(result(initResult)))
		s.initialized()
		s.get(a)
		if stay {
			s.ask("tools/list", "", ok(result(toolList)))
		}
	}
}

func notFound() string { return rpcError(-32601, "Method not found") }

// reconnects is a host without the rule of qwen-code #12500: it calls the server disconnected and connects anew, each
// time with the whole handshake and the same two questions.
func reconnects(s *scene) {
	s.sessions = []string{sessionID(1), sessionID(2), sessionID(3)}
	for _, at := range []time.Duration{0, 95400 * time.Millisecond, 190500 * time.Millisecond} {
		s.now = at
		s.connectQwen(true)
		s.ask("prompts/list", "", rpc("404 Not Found", notFound()))
		s.ask("resources/list", "", rpc("404 Not Found", notFound()))
		s.ask("tools/list", "", ok(result(toolList)))
	}
}

var optionalCases = []entry{
	{"optional-400-method-not-found", "B1", "A server with tools alone says so under status 400: the connection is good.", qwen12500,
		asked(4, "keep-connected", "optional/missing-method", "keep-connected", "optional/missing-method"), stays(true, rpc("400 Bad Request", notFound()))},
	{"optional-404-method-not-found", "B2", "A server with tools alone says so under status 404, which is also how a lost session looks.", qwen12500,
		asked(4, "keep-connected", "optional/missing-method", "keep-connected", "optional/missing-method"), stays(true, rpc("404 Not Found", notFound()))},
	{"optional-404-method-not-found-no-session", "B2", "The same from a server without sessions.", qwen12500,
		asked(4, "keep-connected", "optional/missing-method", "keep-connected", "optional/missing-method"), stays(false, rpc("404 Not Found", notFound()))},
	{"optional-404-reconnect-loop", "B2", "A host without the rule takes the server for dead and connects anew every 95 seconds.", qwen12500,
		asked(4, "keep-connected", "optional/missing-method", "keep-connected", "optional/missing-method"), reconnects},
	{"optional-405-method-not-found", "B3", "A server with tools alone says so under status 405.", qwen12500,
		asked(4, "keep-connected", "optional/missing-method", "keep-connected", "optional/missing-method"), stays(true, rpc("405 Method Not Allowed", notFound()))},
	{"optional-422-method-not-found", "B4", "A server with tools alone says so under status 422.", qwen12500,
		asked(4, "keep-connected", "optional/missing-method", "keep-connected", "optional/missing-method"), stays(true, rpc("422 Unprocessable Entity", notFound()))},
	{"optional-501-method-not-found", "B5", "A server with tools alone says so under status 501.", qwen12500,
		asked(4, "keep-connected", "optional/missing-method", "keep-connected", "optional/missing-method"), stays(true, rpc("501 Not Implemented", notFound()))},
	{"optional-404-unknown-method", "B6", "The same in other words: the code decides, not the text.", qwen12500,
		asked(4, "keep-connected", "optional/missing-method", "keep-connected", "optional/missing-method"), stays(true, rpc("404 Not Found", rpcError(-32601, "Unknown method")))},

	{"http-sse-optional-400-method-not-found", "B7", "Over HTTP+SSE the POST itself is answered 400 with the error.", qwen12500,
		asked(4, "keep-connected", "optional/missing-method", "keep-connected", "optional/missing-method"), staysSSE(rpc("400 Bad Request", notFound()), "")},
	{"http-sse-optional-404-method-not-found", "B8", "Over HTTP+SSE the POST itself is answered 404 with the error.", qwen12500,
		asked(4, "keep-connected", "optional/missing-method", "keep-connected", "optional/missing-method"), staysSSE(rpc("404 Not Found", notFound()), "")},
	{"http-sse-optional-405-method-not-found", "B9", "Over HTTP+SSE the POST itself is answered 405 with the error.", qwen12500,
		asked(4, "keep-connected", "optional/missing-method", "keep-connected", "optional/missing-method"), staysSSE(rpc("405 Method Not Allowed", notFound()), "")},
	{"http-sse-optional-422-method-not-found", "B10", "Over HTTP+SSE the POST itself is answered 422 with the error.", qwen12500,
		asked(4, "keep-connected", "optional/missing-method", "keep-connected", "optional/missing-method"), staysSSE(rpc("422 Unprocessable Entity", notFound()), "")},
	{"http-sse-optional-501-method-not-found", "B11", "Over HTTP+SSE the POST itself is answered 501 with the error.", qwen12500,
		asked(4, "keep-connected", "optional/missing-method", "keep-connected", "optional/missing-method"), staysSSE(rpc("501 Not Implemented", notFound()), "")},

	{"optional-401-method-not-found", "B12", "Unauthorized is about the client, whatever the body says.", qwen12500,
		asked(4, "disconnect", "optional/auth", "keep-connected", "optional/missing-method"), leaves(true, rpc("401 Unauthorized", notFound()))},
	{"optional-403-method-not-found", "B13", "Forbidden is about the client, whatever the body says.", qwen12500,
		asked(4, "disconnect", "optional/auth", "keep-connected", "optional/missing-method"), leaves(true, rpc("403 Forbidden", notFound()))},
	{"optional-500-method-not-found", "B14", "A server error is a server error, whatever the body says.", qwen12500,
		asked(4, "disconnect", "optional/outage", "keep-connected", "optional/missing-method"), leaves(true, rpc("500 Internal Server Error", notFound()))},
	{"optional-502-method-not-found", "B15", "A gateway's error is one, whatever the body says.", qwen12500,
		asked(4, "disconnect", "optional/outage", "keep-connected", "optional/missing-method"), leaves(true, rpc("502 Bad Gateway", notFound()))},
	{"optional-503-method-not-found", "B16", "Unavailable is unavailable, whatever the body says.", qwen12500,
		asked(4, "disconnect", "optional/outage", "keep-connected", "optional/missing-method"), leaves(true, rpc("503 Service Unavailable", notFound()))},
	{"optional-404-session-not-found", "B17", "Error -32001 under 404 to a request with a session: not a missing method, but a lost session (without gateway #20: disconnect).", qwen12500 + ", gateway #20",
		asked(4, "reinitialize+retry-once", "session/expired", "pass-through", "session/expired"),
		func(s *scene) {
			s.connectQwen(true)
			s.ask("prompts/list", "", rpc("404 Not Found", rpcError(-32001, "Session not found")))
			s.connectQwen(true)
			s.ask("prompts/list", "", ok(result(`{"prompts":[]}`)))
			s.ask("tools/list", "", ok(result(toolList)))
		}},
	{"optional-404-session-not-found-no-session", "B17", "The same words, but the client has no session that could be lost.", qwen12500,
		asked(4, "disconnect", "optional/unrecognised", "pass-through", "optional/unrecognised"), leaves(false, rpc("404 Not Found", rpcError(-32001, "Session not found")))},
	{"optional-400-internal-error", "B18", "Another code is not a missing method.", qwen12500,
		asked(4, "disconnect", "optional/unrecognised", "pass-through", "optional/unrecognised"), leaves(true, rpc("400 Bad Request", rpcError(-32603, "Internal error")))},
	{"optional-404-no-jsonrpc", "B19", "The right code in an object that does not say it is JSON-RPC 2.0.", qwen12500,
		asked(4, "disconnect", "optional/unrecognised", "pass-through", "optional/unrecognised"), leaves(false, rpc("404 Not Found", `{"id":$ID,"error":{"code":-32601,"message":"Method not found"}}`))},
	{"optional-404-html", "B20", "A web server's page.", qwen12500,
		asked(4, "disconnect", "optional/unrecognised", "pass-through", "optional/unrecognised"), leaves(false, page("404 Not Found"))},
	{"optional-404-quoted", "B21", "A text that quotes the error is not the error.", qwen12500,
		asked(4, "disconnect", "optional/unrecognised", "pass-through", "optional/unrecognised"), leaves(false, plain("404 Not Found", "upstream said: "+notFound()))},
	{"optional-404-text", "B22", "The words alone are not the error.", qwen12500,
		asked(4, "disconnect", "optional/unrecognised", "pass-through", "optional/unrecognised"), leaves(false, plain("404 Not Found", "Method not found"))},

	{"http-sse-optional-401-method-not-found", "B23", "HTTP+SSE: unauthorized is about the client, whatever the body says.", qwen12500,
		asked(4, "disconnect", "optional/auth", "keep-connected", "optional/missing-method"), leavesSSE(rpc("401 Unauthorized", notFound()))},
	{"http-sse-optional-403-method-not-found", "B24", "HTTP+SSE: forbidden is about the client, whatever the body says.", qwen12500,
		asked(4, "disconnect", "optional/auth", "keep-connected", "optional/missing-method"), leavesSSE(rpc("403 Forbidden", notFound()))},
	{"http-sse-optional-503-method-not-found", "B25", "HTTP+SSE: unavailable is unavailable, whatever the body says.", qwen12500,
		asked(4, "disconnect", "optional/outage", "keep-connected", "optional/missing-method"), leavesSSE(rpc("503 Service Unavailable", notFound()))},
	{"http-sse-optional-404-quoted", "B26", "HTTP+SSE: a text that quotes the error is not the error.", qwen12500,
		asked(4, "disconnect", "optional/unrecognised", "pass-through", "optional/unrecognised"), leavesSSE(plain("404 Not Found", "upstream said: "+notFound()))},
	{"http-sse-optional-404-empty", "B27", "HTTP+SSE: a status without a body names no method.", qwen12500,
		asked(4, "disconnect", "optional/unrecognised", "pass-through", "optional/unrecognised"), leavesSSE(empty("404 Not Found"))},

	{"optional-200-method-not-found", "B28", "The error in band, as most servers send it.", qwen12500,
		asked(4, "keep-connected", "optional/missing-method-in-band", "keep-connected", "optional/missing-method-in-band"), stays(true, ok(notFound()))},
	{"http-sse-optional-method-not-found", "B29", "HTTP+SSE: the error comes on the stream.", qwen12500,
		asked(4, "keep-connected", "optional/missing-method-in-band", "keep-connected", "optional/missing-method-in-band"), staysSSE(acceptedText(), notFound())},

	{"get-stream-422", "B30", "No GET stream here, says the server with 422.", qwen12500,
		asked(3, "post-only", "get-stream/unsupported", "post-only", "get-stream/unsupported"), gets(true, empty("422 Unprocessable Entity"))},
	{"get-stream-501", "B31", "No GET stream here, says the server with 501.", qwen12500,
		asked(3, "post-only", "get-stream/unsupported", "post-only", "get-stream/unsupported"), gets(true, empty("501 Not Implemented"))},
	{"get-stream-400", "B32", "No GET stream here, says the server with 400.", qwen12500,
		asked(3, "post-only", "get-stream/unsupported", "post-only", "get-stream/unsupported"), gets(true, plain("400 Bad Request", "GET is not supported"))},
	{"get-stream-404", "B33", "No GET stream here, says the server with 404: a session's request that is no session loss.", qwen12500,
		asked(3, "post-only", "get-stream/unsupported", "post-only", "get-stream/unsupported"), gets(true, page("404 Not Found"))},
	{"get-stream-405", "B34", "No GET stream here, says the server as the specification wants it.", qwen12500,
		asked(3, "post-only", "get-stream/unsupported", "post-only", "get-stream/unsupported"), gets(true, empty("405 Method Not Allowed").with("allow: POST, DELETE\r\n"))},
	{"get-stream-403", "B35", "The GET stream is forbidden.", qwen12500,
		asked(3, "disconnect", "get-stream/refused", "post-only", "get-stream/refused"), gets(false, empty("403 Forbidden"))},
	{"get-stream-500", "B36", "The server fails on the GET stream.", qwen12500,
		asked(3, "disconnect", "get-stream/refused", "post-only", "get-stream/refused"), gets(false, empty("500 Internal Server Error"))},
	{"get-stream-503", "B37", "The server is not available for the GET stream.", qwen12500,
		asked(3, "disconnect", "get-stream/refused", "post-only", "get-stream/refused"), gets(false, empty("503 Service Unavailable"))},

	{"outage-502-html", "B38", "A healthy session, then a real outage: a gateway's page.", qwen12500,
		asked(5, "disconnect", "request/http-5xx", "pass-through", "request/http-5xx"),
		func(s *scene) {
			s.connectQwen(true)
			s.ask("tools/list", "", ok(result(toolList)))
			s.ask("tools/call", toolCall, page("502 Bad Gateway"))
		}},
	{"outage-502-quoted", "B38", "A healthy session, then a real outage whose text quotes a method-not-found.", qwen12500,
		asked(5, "disconnect", "optional/outage", "pass-through", "optional/outage"),
		func(s *scene) {
			s.connectQwen(true)
			s.ask("tools/list", "", ok(result(toolList)))
			s.ask("resources/list", "", plain("502 Bad Gateway", "upstream said: "+strings.ReplaceAll(notFound(), "$ID", "2")))
		}},
	{"call-reset", "B39", "The connection is reset during a call.", qwen12500,
		asked(5, "disconnect", "request/transport-failure", "pass-through", "request/transport-failure"),
		func(s *scene) {
			s.connectQwen(true)
			s.ask("tools/list", "", ok(result(toolList)))
			s.ask("tools/call", toolCall, nothing(har.EndRST))
		}},
	{"optional-json-reset", "B39", "The connection is reset in the middle of an answer that began well.", qwen12500,
		asked(4, "disconnect", "optional/cut-body", "pass-through", "optional/cut-body"),
		func(s *scene) {
			s.connectQwen(true)
			s.ask("prompts/list", "", ok(result(`{"prompts":[]}`)).cut(24, har.EndRST))
		}},
	{"optional-reset", "B39", "The connection is reset before an answer to an optional method.", qwen12500,
		asked(4, "disconnect", "optional/transport-failure", "pass-through", "optional/transport-failure"),
		func(s *scene) {
			s.connectQwen(true)
			s.ask("prompts/list", "", nothing(har.EndRST))
		}},
}
