package corpus

import (
	"fmt"

	"github.com/mcptap/mcptap/har"
)

// An entry is one case: what a file is made from.
type entry struct {
	name, row, story, source string
	expect                   []har.Expect
	play                     func(*scene)
}

const (
	ts2571   = "typescript-sdk #2571"
	opencode = "typescript-sdk #2571, opencode #39354"
)

// discovered is a good answer to server/discover with these versions, a JSON list.
func discovered(versions string) string {
	return result(`{"resultType":"complete","supportedVersions":` + versions + `,"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private",` +
		`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"tracker","version":"1.2.0"}}}`)
}

func result(value string) string { return `{"jsonrpc":"2.0","id":$ID,"result":` + value + `}` }

func rpcError(code int, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":$ID,"error":{"code":%d,"message":%q}}`, code, text)
}

// unsupported is error -32022 with this value of data.supported.
func unsupported(list string) string {
	return `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":` + list + `,"requested":"2026-07-28"}}}`
}

// parseError is what opencode #39354 saw on the wire, byte for byte.
const parseError = `{"error":{"code":-32700,"message":"Parse Error"},"id":null,"jsonrpc":"2.0"}`

const (
	initResult = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":false}},"serverInfo":{"name":"tracker","version":"1.2.0"}}`
	tools      = `"tools":[{"name":"find_tickets","description":"Find tickets by text","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}]`
	found      = `"content":[{"type":"text","text":"2 tickets: #41, #57"}],"isError":false`

	toolList   = `{` + tools + `}`
	toolCall   = `"name":"find_tickets","arguments":{"text":"login"}`
	toolResult = `{` + found + `}`

	newToolList   = `{"resultType":"complete","ttlMs":0,"cacheScope":"private",` + tools + `}`
	newToolResult = `{"resultType":"complete",` + found + `}`
)

// legacy goes on as a client does that takes the server for a 2025 one.
func (s *scene) legacy() {
	s.initialize(ok(result(initResult)))
	s.initialized()
	s.get(empty("405 Method Not Allowed").with("allow: POST, DELETE\r\n"))
	s.ask("tools/list", "", ok(result(toolList)))
}

// modern goes on in revision 2026-07-28.
func (s *scene) modern() {
	s.version, s.ids = modern, 0
	s.ask("tools/list", "", ok(result(newToolList)))
}

func thenLegacy(a answer) func(*scene)  { return func(s *scene) { s.probe(a); s.legacy() } }
func thenModern(a answer) func(*scene)  { return func(s *scene) { s.probe(a); s.modern() } }
func thenNothing(a answer) func(*scene) { return func(s *scene) { s.probe(a) } }

// probed is what recommended and ts-2.4.0 say of the first probe, each as verdict and rule.
func probed(recommended, rule, ts, tsRule string) []har.Expect {
	return []har.Expect{
		{Policy: "recommended", Exchange: 1, Verdict: recommended, Rule: rule, Outcome: outcomes[recommended]},
		{Policy: "ts-2.4.0", Exchange: 1, Verdict: ts, Rule: tsRule, Outcome: outcomes[ts]},
	}
}

// outcomes is how connecting ends when the probe has this verdict and all later answers are good.
var outcomes = map[string]string{
	"modern@2026-07-28": "modern", "corrective-retry@2026-07-28": "modern", "legacy-fallback": "legacy", "auth-error": "failed",
	"network-error": "failed", "timeout": "failed", "negotiation-error": "failed",
}

var probeCases = []entry{
	{"probe-modern", "A1", "The server answers the probe as revision 2026-07-28 asks.", ts2571,
		probed("modern@2026-07-28", "probe/modern", "modern@2026-07-28", "probe/modern"),
		thenModern(ok(discovered(`["2026-07-28"]`)))},

	{"probe-no-common-version", "A2", "A valid answer, but the server speaks only a revision that the client does not know.", ts2571,
		probed("legacy-fallback", "probe/no-common-version", "legacy-fallback", "probe/no-common-version"),
		thenLegacy(ok(discovered(`["2027-01-01"]`)))},

	{"probe-result-not-discover", "A2", "The server answers any method with its list of tools.", ts2571,
		probed("legacy-fallback", "probe/invalid-discover-result", "legacy-fallback", "probe/invalid-discover-result"),
		thenLegacy(ok(result(toolList)))},

	{"probe-error-method-not-found", "A3", "A 2025 server says properly that it does not know server/discover.", ts2571,
		probed("legacy-fallback", "probe/rpc-error", "legacy-fallback", "probe/rpc-error"),
		thenLegacy(ok(rpcError(-32601, "Method not found")))},
	{"probe-error-not-initialized", "A3", "The server wants to be initialized first and says so with -32000.", ts2571,
		probed("legacy-fallback", "probe/rpc-error", "legacy-fallback", "probe/rpc-error"),
		thenLegacy(ok(rpcError(-32000, "Server not initialized")))},
	{"probe-error-no-session", "A3", "The server looks for a session before it looks at the method: -32001.", ts2571,
		probed("legacy-fallback", "probe/rpc-error", "legacy-fallback", "probe/rpc-error"),
		thenLegacy(ok(rpcError(-32001, "Session not found")))},
	{"probe-error-header-mismatch", "A3", "A code of revision 2026-07-28, -32020, that is still not the one that proves a modern server.", ts2571,
		probed("legacy-fallback", "probe/rpc-error", "legacy-fallback", "probe/rpc-error"),
		thenLegacy(ok(rpcError(-32020, "Header mismatch: Mcp-Method")))},
	{"probe-error-missing-capability", "A3", "A code of revision 2026-07-28, -32021, that is still not the one that proves a modern server.", ts2571,
		probed("legacy-fallback", "probe/rpc-error", "legacy-fallback", "probe/rpc-error"),
		thenLegacy(ok(rpcError(-32021, "Missing required client capability")))},
	{"probe-error-code-zero", "A3", "An error whose code means nothing in JSON-RPC: 0.", ts2571,
		probed("legacy-fallback", "probe/rpc-error", "legacy-fallback", "probe/rpc-error"),
		thenLegacy(ok(rpcError(0, "unknown method server/discover")))},

	{"probe-unsupported-corrected", "A4", "The server refuses once, names 2026-07-28, and takes the second probe.", ts2571,
		probed("corrective-retry@2026-07-28", "probe/unsupported-version-common", "corrective-retry@2026-07-28", "probe/unsupported-version-common"),
		func(s *scene) {
			s.probe(ok(unsupported(`["2026-07-28"]`)))
			thenModern(ok(discovered(`["2026-07-28"]`)))(s)
		}},
	{"probe-unsupported-corrected-http-400", "A4", "The same refusal with the HTTP status that the specification asks for.", ts2571,
		probed("corrective-retry@2026-07-28", "probe/unsupported-version-common", "corrective-retry@2026-07-28", "probe/unsupported-version-common"),
		func(s *scene) {
			s.probe(rpc("400 Bad Request", unsupported(`["2026-07-28"]`)))
			thenModern(ok(discovered(`["2026-07-28"]`)))(s)
		}},
	{"probe-unsupported-refused-twice", "A4", "The server names 2026-07-28 and refuses it again when it is tried: an error, never initialize.", ts2571,
		[]har.Expect{
			{Policy: "recommended", Exchange: 1, Verdict: "corrective-retry@2026-07-28", Rule: "probe/unsupported-version-common", Outcome: "failed"},
			{Policy: "recommended", Exchange: 2, Verdict: "negotiation-error", Rule: "probe/unsupported-version-again", Outcome: "failed"},
			{Policy: "ts-2.4.0", Exchange: 2, Verdict: "negotiation-error", Rule: "probe/unsupported-version-again", Outcome: "failed"},
		},
		func(s *scene) { s.probe(ok(unsupported(`["2026-07-28"]`))); s.probe(ok(unsupported(`["2026-07-28"]`))) }},
	{"probe-unsupported-disjoint", "A5", "A modern server that has no revision in common with the client.", ts2571,
		probed("negotiation-error", "probe/unsupported-version-disjoint", "negotiation-error", "probe/unsupported-version-disjoint"),
		thenNothing(ok(unsupported(`["2027-01-01"]`)))},
	{"probe-unsupported-legacy-only", "A6", "A modern error that names only revisions from before 2026.", ts2571,
		probed("legacy-fallback", "probe/unsupported-version-legacy", "legacy-fallback", "probe/unsupported-version-legacy"),
		thenLegacy(ok(unsupported(`["2025-11-25","2025-06-18"]`)))},
	{"probe-unsupported-list-missing", "A7", "Error -32022 that does not say what is supported.", ts2571,
		probed("legacy-fallback", "probe/unsupported-version-unusable", "legacy-fallback", "probe/unsupported-version-unusable"),
		thenLegacy(ok(rpcError(-32022, "Unsupported protocol version")))},
	{"probe-unsupported-list-empty", "A7", "Error -32022 with an empty list.", ts2571,
		probed("legacy-fallback", "probe/unsupported-version-unusable", "legacy-fallback", "probe/unsupported-version-unusable"),
		thenLegacy(ok(unsupported(`[]`)))},
	{"probe-unsupported-list-not-strings", "A7", "Error -32022 whose list holds a number beside the version.", ts2571,
		probed("legacy-fallback", "probe/unsupported-version-unusable", "legacy-fallback", "probe/unsupported-version-unusable"),
		thenLegacy(ok(unsupported(`["2026-07-28",5]`)))},

	{"probe-error-id-null", "A8", "A parse error with a null id, which strict JSON-RPC readers reject: the connection need not fail.", opencode,
		probed("legacy-fallback", "probe/invalid-reply", "negotiation-error", "probe/invalid-reply"),
		thenLegacy(ok(parseError))},
	{"probe-unsupported-id-null", "A8", "The error member of a malformed reply is judged first: -32022 under a null id still corrects.", ts2571,
		probed("corrective-retry@2026-07-28", "probe/unsupported-version-common", "negotiation-error", "probe/invalid-reply"),
		func(s *scene) {
			s.probe(ok(`{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28"],"requested":"2026-07-28"}}}`))
			thenModern(ok(discovered(`["2026-07-28"]`)))(s)
		}},
	{"probe-error-extra-member", "A9", "A method-not-found error with a member beside it that JSON-RPC does not know.", ts2571,
		probed("legacy-fallback", "probe/invalid-reply", "negotiation-error", "probe/invalid-reply"),
		thenLegacy(ok(`{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"Method not found"},"trace":"b3f1"}`))},
	{"probe-json-empty", "A10", "Status 200, application/json, and not one byte of it.", ts2571,
		probed("legacy-fallback", "probe/empty-body", "negotiation-error", "probe/empty-body"),
		thenLegacy(ok(""))},
	{"probe-json-broken", "A11", "A body that says it is JSON, came whole, and is not.", ts2571,
		probed("legacy-fallback", "probe/not-json", "negotiation-error", "probe/not-json"),
		thenLegacy(ok(`{"jsonrpc":"2.0","id":"server-discover-probe-1","error":`))},
	{"probe-html-page", "A12", "A web application answers every path with its start page.", ts2571,
		probed("legacy-fallback", "probe/not-mcp-media-type", "negotiation-error", "probe/not-mcp-media-type"),
		thenLegacy(reply("200 OK", "text/html; charset=utf-8", "<!doctype html>\n<title>Tracker</title>\n<div id=\"root\"></div>\n"))},
	{"probe-text-plain", "A12", "A health check's answer in text/plain.", ts2571,
		probed("legacy-fallback", "probe/not-mcp-media-type", "negotiation-error", "probe/not-mcp-media-type"),
		thenLegacy(plain("200 OK", "OK"))},
	{"probe-no-media-type", "A12", "A JSON object without a Content-Type.", ts2571,
		probed("legacy-fallback", "probe/not-mcp-media-type", "negotiation-error", "probe/not-mcp-media-type"),
		thenLegacy(reply("200 OK", "", "{}"))},

	{"probe-202", "A13", "The server takes the probe for a notification: no answer will come, and none is waited for.", ts2571,
		probed("legacy-fallback", "probe/accepted-202", "timeout", "probe/accepted-202"),
		thenLegacy(accepted())},
	{"discover-202-mid-session", "A14", "The same 202 to a server/discover in mid-session: that request times out, the session lives.", ts2571,
		[]har.Expect{{Policy: "recommended", Exchange: 3, Verdict: "timeout", Rule: "discover/accepted-202", Outcome: "modern"}},
		func(s *scene) {
			thenModern(ok(discovered(`["2026-07-28"]`)))(s)
			s.ask("server/discover", "", accepted())
			s.wait(patience)
			s.ask("tools/call", toolCall, ok(result(newToolResult)))
		}},

	{"probe-500-empty", "A15", "The server fails on the unknown method and says nothing.", ts2571,
		probed("legacy-fallback", "probe/http-5xx", "negotiation-error", "probe/http-5xx"),
		thenLegacy(empty("500 Internal Server Error"))},
	{"probe-500-method-not-found", "A15", "A server error that carries a proper method-not-found.", ts2571,
		probed("legacy-fallback", "probe/http-5xx", "negotiation-error", "probe/http-5xx"),
		thenLegacy(rpc("500 Internal Server Error", rpcError(-32601, "Method not found")))},
	{"probe-502-html", "A15", "A gateway's page: the server behind it fell over on the probe.", ts2571,
		probed("legacy-fallback", "probe/http-5xx", "negotiation-error", "probe/http-5xx"),
		thenLegacy(page("502 Bad Gateway"))},
	{"probe-503-empty", "A15", "The server is busy for a moment: a verdict taken from this must not be kept for long.", ts2571,
		probed("legacy-fallback", "probe/http-5xx", "negotiation-error", "probe/http-5xx"),
		thenLegacy(empty("503 Service Unavailable").with("retry-after: 2\r\n"))},

	{"probe-404-error-id-null", "A16", "The parse error with a null id again, now under status 404.", opencode,
		probed("legacy-fallback", "probe/http-4xx", "legacy-fallback", "probe/http-4xx"),
		thenLegacy(rpc("404 Not Found", parseError))},
	{"probe-404-html", "A16", "A web server's page for a path that only knows POST with a session.", ts2571,
		probed("legacy-fallback", "probe/http-4xx", "legacy-fallback", "probe/http-4xx"),
		thenLegacy(page("404 Not Found"))},
	{"probe-404-empty", "A16", "Not found, and nothing else.", ts2571,
		probed("legacy-fallback", "probe/http-4xx", "legacy-fallback", "probe/http-4xx"),
		thenLegacy(empty("404 Not Found"))},
	{"probe-400-no-session", "A16", "A 2025 server asks for the session that only initialize would give.", ts2571,
		probed("legacy-fallback", "probe/http-4xx", "legacy-fallback", "probe/http-4xx"),
		thenLegacy(plain("400 Bad Request", "Bad Request: Mcp-Session-Id header is required"))},
	{"probe-405-empty", "A16", "POST is not allowed before a session exists.", ts2571,
		probed("legacy-fallback", "probe/http-4xx", "legacy-fallback", "probe/http-4xx"),
		thenLegacy(empty("405 Method Not Allowed").with("allow: GET\r\n"))},
	{"probe-406-text", "A16", "A server that is particular about Accept.", ts2571,
		probed("legacy-fallback", "probe/http-4xx", "legacy-fallback", "probe/http-4xx"),
		thenLegacy(plain("406 Not Acceptable", "Not Acceptable"))},
	{"probe-415-empty", "A16", "Unsupported media type, and nothing else.", ts2571,
		probed("legacy-fallback", "probe/http-4xx", "legacy-fallback", "probe/http-4xx"),
		thenLegacy(empty("415 Unsupported Media Type"))},
	{"probe-422-json", "A16", "A framework's validation error, which is JSON and no JSON-RPC.", ts2571,
		probed("legacy-fallback", "probe/http-4xx", "legacy-fallback", "probe/http-4xx"),
		thenLegacy(rpc("422 Unprocessable Entity", `{"detail":[{"type":"literal_error","loc":["body","method"],"msg":"Input should be 'initialize'"}]}`))},
	{"probe-429-text", "A16", "A rate limit on unknown methods.", ts2571,
		probed("legacy-fallback", "probe/http-4xx", "legacy-fallback", "probe/http-4xx"),
		thenLegacy(plain("429 Too Many Requests", "Too Many Requests").with("retry-after: 1\r\n"))},

	{"probe-401-bearer", "A17", "The server asks for a token and says where to get one.", ts2571,
		probed("auth-error", "probe/auth", "auth-error", "probe/auth"),
		thenNothing(rpc("401 Unauthorized", `{"error":"invalid_token"}`).with("www-authenticate: Bearer resource_metadata=\"http://mcp.example.test:8080/.well-known/oauth-protected-resource\"\r\n"))},
	{"probe-401-method-not-found", "A17", "Unauthorized with a method-not-found body: the status ranks above the body.", ts2571,
		probed("auth-error", "probe/auth", "auth-error", "probe/auth"),
		thenNothing(rpc("401 Unauthorized", rpcError(-32601, "Method not found")))},
	{"probe-401-unsupported", "A17", "Unauthorized with a -32022 body: the status ranks above the body.", ts2571,
		probed("auth-error", "probe/auth", "auth-error", "probe/auth"),
		thenNothing(rpc("401 Unauthorized", unsupported(`["2026-07-28"]`)))},
	{"probe-403-html", "A17", "A firewall's page.", ts2571,
		probed("auth-error", "probe/auth", "auth-error", "probe/auth"),
		thenNothing(page("403 Forbidden"))},
	{"probe-403-method-not-found", "A17", "Forbidden with a method-not-found body: the status ranks above the body.", ts2571,
		probed("auth-error", "probe/auth", "auth-error", "probe/auth"),
		thenNothing(rpc("403 Forbidden", rpcError(-32601, "Method not found")))},
	{"probe-403-empty", "A17", "Forbidden, and nothing else.", ts2571,
		probed("auth-error", "probe/auth", "auth-error", "probe/auth"),
		thenNothing(empty("403 Forbidden"))},

	{"probe-json-reset", "A18", "The connection is reset in the middle of the body: a broken network proves nothing about the server.", ts2571,
		probed("network-error", "probe/cut-body", "network-error", "probe/cut-body"),
		thenNothing(ok(discovered(`["2026-07-28"]`)).cut(61, har.EndRST))},
	{"probe-json-short", "A18", "The server closes in the middle of the body that it announced.", ts2571,
		probed("network-error", "probe/cut-body", "network-error", "probe/cut-body"),
		thenNothing(ok(discovered(`["2026-07-28"]`)).cut(61, har.EndFIN))},
	{"probe-reset", "A19", "A reset before the first byte of an answer.", ts2571,
		probed("network-error", "probe/reset-before-answer", "network-error", "probe/reset-before-answer"),
		thenNothing(nothing(har.EndRST))},
	{"probe-not-http", "A19", "What answers on the port does not speak HTTP.", ts2571,
		probed("network-error", "probe/malformed-http", "network-error", "probe/malformed-http"),
		thenNothing(answer{raw: "SSH-2.0-OpenSSH_9.9\r\n", end: har.EndFIN})},
	{"probe-refused", "A19", "Nobody listens on the port.", ts2571,
		probed("network-error", "probe/unreachable", "network-error", "probe/unreachable"),
		thenNothing(unreached("upstream: refused"))},
	{"probe-tls-failed", "A19", "The server's certificate is not trusted.", ts2571,
		probed("network-error", "probe/unreachable", "network-error", "probe/unreachable"),
		func(s *scene) { s.origin = "https://mcp.example.test"; s.probe(unreached("upstream: tls")) }},
	{"probe-name-not-found", "A19", "The host's name has no address.", ts2571,
		probed("network-error", "probe/unreachable", "network-error", "probe/unreachable"),
		thenNothing(unreached("upstream: dns"))},

	{"probe-silence", "A20", "The server takes the probe and never answers: after a minute the client gives up.", ts2571,
		probed("timeout", "probe/silence", "timeout", "probe/silence"),
		thenNothing(silence())},
	{"probe-body-stalls", "A20", "The answer begins and never ends: after a minute the client gives up.", ts2571,
		probed("timeout", "probe/stalled-body", "timeout", "probe/stalled-reply"),
		thenNothing(ok(discovered(`["2026-07-28"]`)).cut(61, har.EndClientFIN))},
	{"probe-sse-silence", "A20", "An event stream opens and stays silent.", ts2571,
		probed("timeout", "probe/sse-silence", "timeout", "probe/sse-silence"),
		thenNothing(stream(": ping\n\n").staysOpen())},
	{"probe-answered-too-late", "A20", "The answer comes when the client has left: it is recorded and is no evidence.", ts2571,
		probed("timeout", "probe/silence", "timeout", "probe/silence"),
		thenNothing(ok(discovered(`["2026-07-28"]`)).tooLate())},

	{"probe-sse-modern", "A21", "The good answer comes as an event.", ts2571,
		probed("modern@2026-07-28", "probe/modern", "modern@2026-07-28", "probe/modern"),
		thenModern(stream(message(discovered(`["2026-07-28"]`))))},
	{"probe-sse-notification-first", "A21", "A log message comes before the good answer on the stream.", ts2571,
		probed("modern@2026-07-28", "probe/modern", "modern@2026-07-28", "probe/modern"),
		thenModern(stream(message(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"starting"}}`), message(discovered(`["2026-07-28"]`))))},
	{"probe-sse-method-not-found", "A21", "A proper method-not-found comes as an event.", ts2571,
		probed("legacy-fallback", "probe/rpc-error", "legacy-fallback", "probe/rpc-error"),
		thenLegacy(stream(message(rpcError(-32601, "Method not found"))))},
	{"probe-sse-error-id-null", "A22", "The parse error with a null id as an event: a valid answer may still come, so the client waits.", ts2571,
		probed("timeout", "probe/sse-invalid-reply", "timeout", "probe/sse-invalid-reply"),
		thenNothing(stream(message(parseError)).staysOpen())},
	{"probe-sse-ends", "A23", "The stream ends in good order without an answer.", ts2571,
		probed("timeout", "probe/sse-no-reply", "timeout", "probe/sse-no-reply"),
		thenNothing(stream(message(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"bye"}}`)))},
	{"probe-sse-reset", "A23", "The stream is reset before an answer.", ts2571,
		probed("timeout", "probe/sse-no-reply", "timeout", "probe/sse-no-reply"),
		thenNothing(stream(": ping\n\n").ends(har.EndRST))},
	{"probe-sse-comments", "A23", "The stream holds comments and no event.", ts2571,
		probed("timeout", "probe/sse-no-reply", "timeout", "probe/sse-no-reply"),
		thenNothing(stream(": ping\n\n", ": ping\n\n"))},
	{"probe-batch-empty", "A24", "An empty array: nothing in it answers the probe.", ts2571,
		probed("timeout", "probe/no-reply-in-body", "timeout", "probe/no-reply-in-body"),
		thenNothing(ok("[]"))},
	{"probe-foreign-id", "A24", "A good answer to a request that nobody sent.", ts2571,
		probed("timeout", "probe/no-reply-in-body", "timeout", "probe/no-reply-in-body"),
		thenNothing(ok(`{"jsonrpc":"2.0","id":"server-discover-probe-9"` + discovered(`["2026-07-28"]`)[len(`{"jsonrpc":"2.0","id":$ID`):]))},
	{"probe-notification-body", "A24", "The body is a notification.", ts2571,
		probed("timeout", "probe/no-reply-in-body", "timeout", "probe/no-reply-in-body"),
		thenNothing(ok(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"ready"}}`))},
	{"probe-error-id-absent", "A24", "An error without an id member, which is valid and answers nothing; with a null id it would be another case.", ts2571,
		probed("timeout", "probe/no-reply-in-body", "timeout", "probe/no-reply-in-body"),
		thenNothing(ok(`{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request"}}`))},
}

// pinned is what is said of the probe of a client that may not fall back.
func pinned(rule, tsRule string) []har.Expect {
	return []har.Expect{
		{Policy: "recommended-pin", Exchange: 1, Verdict: "negotiation-error", Rule: rule, Outcome: "failed"},
		{Policy: "ts-2.4.0-pin", Exchange: 1, Verdict: "negotiation-error", Rule: tsRule, Outcome: "failed"},
	}
}

// pinnedCases are probes of a client that may not fall back: pinned to 2026-07-28, or knowing no other revision. Its probe
// is written as any other; that it never sends initialize shows.
var pinnedCases = []entry{
	{"pinned-probe-method-not-found", "A25", "A proper method-not-found, but the client may not fall back.", ts2571,
		pinned("probe/rpc-error", "probe/rpc-error"), thenNothing(ok(notFound()))},
	{"pinned-probe-no-common-version", "A25", "No revision in common, and the client may not fall back.", ts2571,
		pinned("probe/no-common-version", "probe/no-common-version"), thenNothing(ok(discovered(`["2025-11-25"]`)))},
	{"pinned-probe-error-id-null", "A25", "The parse error with a null id: the client may not fall back and says that it is no valid JSON-RPC message.", opencode,
		pinned("probe/invalid-reply", "probe/invalid-reply"), thenNothing(ok(parseError))},
	{"pinned-probe-html-page", "A25", "A web page, and the client may not fall back.", ts2571,
		pinned("probe/not-mcp-media-type", "probe/not-mcp-media-type"), thenNothing(reply("200 OK", "text/html; charset=utf-8", "<!doctype html>\n<title>Tracker</title>\n"))},
	{"pinned-probe-503", "A25", "The server is busy: the client may not fall back and names the status.", ts2571,
		pinned("probe/http-5xx", "probe/http-5xx"), thenNothing(empty("503 Service Unavailable").with("retry-after: 2\r\n"))},
}
