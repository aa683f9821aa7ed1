package corpus

import (
	"strings"
	"time"

	"github.com/mcptap/mcptap/har"
)

const (
	rfc9112    = "RFC 9112"
	lifecycle  = "MCP 2025-11-25 basic/lifecycle"
	authorized = "MCP 2025-11-25 basic/authorization"
	jsonrpc    = "JSON-RPC 2.0"
)

const (
	bearerField = "authorization: Bearer ABCDEFGHIJKLMNOPQRSTUVWX\r\n"
	metadataURL = `resource_metadata="http://mcp.example.test:8080/.well-known/oauth-protected-resource"`
	missingPage = "<html><head><title>404 Not Found</title></head><body>404 Not Found</body></html>"
)

func bearing(t turn) turn { return t.asking(sessionField, sessionField+bearerField) }

func wellKnown(name, say string) turn {
	return turn{ask: headed("GET", "/.well-known/"+name, "", "accept: application/json\r\n"+nodeFields), say: say}
}

func walled() []turn {
	return starts(said("401 Unauthorized", "application/json", `{"error":"invalid_token"}`, "www-authenticate: Bearer "+metadataURL))
}

func probing(say string) turn {
	return turn{ask: requestingModern(`"server-discover-probe-1"`, "server/discover", "", ""), say: say}
}

// sseEndpoint opens the stream of HTTP+SSE with these events.
func sseEndpoint(say string) turn {
	return turn{ask: headed("GET", "/sse", "", "Accept: text/event-stream\r\n"+nodeFields), say: say, end: har.EndClientFIN, left: time.Minute, lost: true}
}

func toSSE(body string) string {
	return strings.Replace(posting("", body), "POST /mcp ", "POST /sse ", 1)
}

// wireFindings are those of a rule of recommended, or of one exchange's bytes.
var wireFindings = []findingCase{
	{"answer-head-unfinished", "The server sends half a head and falls silent.", rfc9112 + " section 2.1", 3, "timeout request/silence legacy",
		inSession(callingFor("HTTP/1.1 200 OK\r\ncontent-type: applica").ends(har.EndClientFIN, time.Minute))},
	{"answer-not-http", "The port speaks TLS, and the client was given an http:// URL.", "RFC 8446 section 5.1", 1, "network-error initialize/transport-failure failed",
		[]turn{turn{ask: starting("{}"), say: "\x15\x03\x01\x00\x02\x02\x46"}.ends(har.EndFIN, 40*time.Millisecond)}},
	{"auth-challenge-missing", "401 without WWW-Authenticate: the client cannot know where to authorize.", authorized, 3, "auth-error request/auth legacy",
		inSession(callingFor(saidEmpty("401 Unauthorized")))},
	{"auth-credentials-refused", "The token has expired, and the server says so.", "RFC 6750 section 3.1", 3, "auth-error request/auth legacy",
		inSession(bearing(callingFor(saidEmpty("401 Unauthorized", `www-authenticate: Bearer error="invalid_token", error_description="The access token expired", `+metadataURL))))},
	{"auth-scope-insufficient", "The token lacks a scope.", "RFC 6750 section 3.1", 3, "auth-error request/auth legacy",
		inSession(bearing(callingFor(saidEmpty("403 Forbidden", `www-authenticate: Bearer error="insufficient_scope", scope="tickets:read", `+metadataURL))))},
	{"body-mislabelled", "Content-Encoding says utf-8, which is none, and the body is plain JSON.", "RFC 9110 section 8.4", 3, "delivered request/delivered legacy",
		inSession(callingFor(saidJSON(replied("1", toolResult), "content-encoding: utf-8")))},
	{"body-undecodable", "The body says gzip, begins like gzip, and does not decode.", "RFC 9110 section 8.4", 3, "pass-through request/unusable-reply legacy",
		inSession(callingFor(saidJSON("\x1f\x8b\x08\x00damaged on the way", "content-encoding: gzip")))},
	{"byte-order-mark", "The probe's answer begins with a byte order mark; TypeScript skips it, Go and others do not read the answer.", "RFC 8259 section 8.1", 1, "modern@2026-07-28 probe/modern modern",
		[]turn{probing(saidJSON("\uFEFF" + replied(`"server-discover-probe-1"`, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`))).closed()}},
	{"bytes-after-end", "Content-Length is too short by one: a byte is left over.", rfc9112 + " section 6.3", 3, "delivered request/delivered legacy",
		inSession(callingFor(saidJSON(replied("1", toolResult)) + "\n").closed())},
	{"capture-incomplete", "The recording stops before the answer comes.", "docs/format.md, endings", 3, "inconclusive - legacy",
		inSession(callingFor("").ends(har.EndStopped, time.Second))},
	{"duplicate-key", "The reply has result twice; Go takes the last, and so does JavaScript, but not every parser.", "RFC 8259 section 4", 3, "delivered request/delivered legacy",
		inSession(callingFor(saidJSON(`{"jsonrpc":"2.0","id":1,"result":{"content":[]},"result":` + toolResult + `}`)))},
	{"duplicate-key-request", "The client writes params twice.", "RFC 8259 section 4", 3, "delivered request/delivered legacy",
		inSession(turn{ask: noticing(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"other"},"params":{` + toolCall + `}}`), say: saidJSON(replied("1", toolResult))})},
	{"endpoint-foreign", "The endpoint event names another origin.", "MCP 2024-11-05 basic/transports, HTTP with SSE", 1, "negotiation-error sse-stream/foreign-endpoint failed",
		[]turn{sseEndpoint(openStreamed("event: endpoint\ndata: http://10.0.0.7:8080/messages?sessionId=5b1f0c6a9d3e4f72\n\n"))}},
	{"endpoint-missing", "The stream of HTTP+SSE opens and never names the endpoint.", "MCP 2024-11-05 basic/transports, HTTP with SSE", 1, "timeout sse-stream/no-endpoint failed",
		[]turn{sseEndpoint(openStreamed(": ping\n\n"))}},
	{"get-stream-failed", "The server resets the connection at the GET.", streamable25 + ", Listening for Messages", 3, "disconnect get-stream/transport-failure legacy",
		inSession(turn{ask: getting(ownFields), conn: 2}.ends(har.EndRST, 20*time.Millisecond), calling("1").on(1))},
	{"get-stream-media-type", "The GET is answered 200 with JSON.", streamable25 + ", Listening for Messages", 3, "post-only get-stream/not-event-stream legacy",
		inSession(turn{ask: getting(ownFields), say: saidJSON(`{"status":"ok"}`)}, calling("1"))},
	{"get-stream-silence", "The GET is not answered until there is something to send.", streamable25 + ", Listening for Messages", 3, "post-only get-stream/silence legacy",
		inSession(turn{ask: getting(ownFields), conn: 2, beside: true}.ends(har.EndClientFIN, 20*time.Second), calling("1").on(1))},
	{"initialize-error", "The server refuses initialize with a JSON-RPC error.", lifecycle + ", Error Handling", 1, "negotiation-error initialize/rpc-error failed",
		starts(saidJSON(failing("0", -32603, "Internal error: database is locked")))},
	{"initialize-failed", "The server resets the connection at initialize.", "RFC 9293 section 3.10.7", 1, "network-error initialize/transport-failure failed",
		[]turn{turn{ask: starting("{}")}.ends(har.EndRST, 30*time.Millisecond)}},
	{"initialize-http-error", "initialize is answered 503.", streamable25, 1, "negotiation-error initialize/http-error failed", starts(said("503 Service Unavailable", "text/plain", "no workers"))},
	{"initialize-reply-invalid", "The answer to initialize has no jsonrpc member.", jsonrpc + " section 5", 1, "negotiation-error initialize/unusable-reply failed",
		starts(saidJSON(`{"id":0,"result":` + initializedAs(`{"tools":{}}`) + `}`))},
	{"initialize-result-invalid", "The result of initialize has no serverInfo.", lifecycle, 1, "negotiation-error initialize/invalid-result failed",
		starts(saidJSON(replied("0", `{"protocolVersion":"2025-11-25","capabilities":{}}`)))},
	{"initialize-silence", "Nobody answers initialize.", lifecycle + ", Timeouts", 1, "timeout initialize/silence failed", []turn{turn{ask: starting("{}")}.ends(har.EndClientFIN, time.Minute)}},
	{"initialize-unsupported-version", "The server answers with a version that no client speaks.", lifecycle + ", Version Negotiation", 1, "negotiation-error initialize/unsupported-version failed",
		starts(saidJSON(replied("0", strings.Replace(initializedAs(`{"tools":{}}`), "2025-11-25", "1.0", 1))))},
	{"initialize-without-reply", "initialize is answered 202, as a notification would be.", streamable25 + ", Sending Messages", 1, "timeout initialize/accepted-202 failed", starts(acceptedAnswer)},
	{"initialized-refused", "The last step of the handshake is answered 500.", lifecycle, 2, "negotiation-error initialized/http-error failed",
		append(inSession()[:1], turn{ask: noticing(initializedNote), say: said("500 Internal Server Error", "text/plain", "boom")})},
	{"notification-refused", "A notification is answered 400.", streamable25 + ", Sending Messages", 3, "pass-through notification/http-4xx legacy",
		inSession(turn{ask: noticing(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`), say: said("400 Bad Request", "text/plain", "unknown notification")}, calling("1"))},
	{"oauth-metadata-invalid", "The well-known place serves the site's page for everything.", "RFC 9728 section 3.2", 2, "delivered oauth/answered failed",
		append(walled(), wellKnown("oauth-protected-resource", said("200 OK", "text/html", missingPage)))},
	{"oauth-metadata-missing", "401, and no metadata at either place.", "RFC 9728 section 3, RFC 8414 section 3", 1, "auth-error initialize/auth failed",
		append(walled(), wellKnown("oauth-protected-resource", said("404 Not Found", "text/html", missingPage)), wellKnown("oauth-authorization-server", said("404 Not Found", "text/html", missingPage)))},
	{"oauth-resource-differs", "The metadata names another resource than the URL that the client was given.", "RFC 9728 section 3.3", 2, "delivered oauth/answered failed",
		append(walled(), wellKnown("oauth-protected-resource", saidJSON(`{"resource":"https://tracker.example.test/api/mcp","authorization_servers":["http://mcp.example.test:8080"]}`)))},
	{"oauth-step-refused", "The authorization server does not let clients register.", "RFC 7591 section 3.2.2", 4, "pass-through oauth/refused failed",
		append(walled(), wellKnown("oauth-protected-resource", saidJSON(`{"resource":"http://mcp.example.test:8080/mcp","authorization_servers":["http://mcp.example.test:8080"]}`)),
			wellKnown("oauth-authorization-server", saidJSON(`{"issuer":"http://mcp.example.test:8080","authorization_endpoint":"http://mcp.example.test:8080/authorize","token_endpoint":"http://mcp.example.test:8080/token","registration_endpoint":"http://mcp.example.test:8080/register","response_types_supported":["code"]}`)),
			turn{ask: strings.NewReplacer("POST /mcp", "POST /register", "accept: application/json, text/event-stream", "accept: */*").Replace(posting("", `{"client_name":"example-host","redirect_uris":["http://127.0.0.1:3334/callback"]}`)),
				say: said("403 Forbidden", "application/json", `{"error":"access_denied","error_description":"dynamic registration is off"}`)})},
	{"probe-redirect", "The probe is redirected to another origin, and the client does not follow.", "RFC 9110 section 15.4", 1, "legacy-fallback probe/redirect legacy",
		[]turn{probing(saidEmpty("307 Temporary Redirect", "location: https://login.example.test/mcp"))}},
	{"redirect", "The endpoint has a slash at its end: 307, and the client follows.", "RFC 9110 section 15.4.8", 1, "unspecified initialize/redirect-followed legacy",
		[]turn{{ask: starting("{}"), say: saidEmpty("307 Temporary Redirect", "location: /mcp/")},
			{ask: strings.Replace(starting("{}"), "/mcp ", "/mcp/ ", 1), say: saidJSON(replied("0", initializedAs(`{"tools":{}}`)))},
			{ask: strings.NewReplacer("/mcp ", "/mcp/ ", sessionField, "").Replace(noticing(initializedNote)), say: acceptedAnswer}}},
	{"redirect-drops-body", "301: the client goes on with GET, and initialize is lost.", "RFC 9110 section 15.4.2", 1, "negotiation-error initialize/http-error failed",
		[]turn{{ask: starting("{}"), say: saidEmpty("301 Moved Permanently", "location: /mcp/")},
			{ask: headed("GET", "/mcp/", "", "accept: application/json, text/event-stream\r\n"+nodeFields), say: saidEmpty("405 Method Not Allowed")}}},
	{"redirect-leaves-origin", "initialize is redirected to another origin.", "RFC 9110 section 15.4.9", 1, "negotiation-error initialize/http-error failed",
		starts(saidEmpty("308 Permanent Redirect", "location: https://mcp2.example.test/mcp"))},
	{"redirect-not-followed", "initialize is redirected, and the client does not follow.", "RFC 9110 section 15.4.8", 1, "negotiation-error initialize/http-error failed",
		starts(saidEmpty("307 Temporary Redirect", "location: /mcp/"))},
	{"reply-invalid", "The reply has neither result nor error.", jsonrpc + " section 5", 3, "pass-through request/unusable-reply legacy", inSession(callingFor(saidJSON(`{"jsonrpc":"2.0","id":1}`)))},
	{"reply-media-type", "A call is answered 200 with a page.", streamable25 + ", Sending Messages", 3, "pass-through request/not-mcp-media-type legacy",
		inSession(callingFor(said("200 OK", "text/html", "<html><body>Tracker</body></html>")))},
	{"reply-not-utf8", "The reply is JSON in Latin-1.", "RFC 8259 section 8.1", 3, "delivered request/delivered legacy",
		inSession(callingFor(saidJSON(replied("1", "{\"content\":[{\"type\":\"text\",\"text\":\"2 Vorg\xe4nge\"}]}"))))},
	{"reply-uncorrelated", "The reply carries the id of another call.", jsonrpc + " section 5", 3, "timeout request/no-reply-in-body legacy",
		inSession(callingFor(saidJSON(replied("41", toolResult))).closed())},
	{"session-close-failed", "DELETE is answered 500.", streamable25 + ", Session Management", 4, "pass-through session/close-failed legacy",
		inSession(calling("1"), turn{ask: headed("DELETE", "/mcp", ownFields, "accept: */*\r\n"+nodeFields), say: saidEmpty("500 Internal Server Error")})},
	{"sse-event-not-rpc", "The server writes a word of its own into the stream before the reply.", streamable25 + ", Sending Messages", 3, "delivered request/delivered legacy",
		inSession(callingFor(streamed("data: working\n\n", dataOf(replied("1", toolResult)))))},
	{"sse-event-odd", "The reply's event ends with the stream, without a blank line.", "WHATWG HTML 9.2.6", 3, "timeout request/sse-no-reply legacy",
		inSession(callingFor(streamed("data: " + replied("1", toolResult) + "\n")))},
	{"sse-stream-silence", "The stream of HTTP+SSE is not answered.", "MCP 2024-11-05 basic/transports, HTTP with SSE", 1, "timeout sse-stream/silence failed", []turn{sseEndpoint("")}},
	{"stream-cut-before-reply", "The stream breaks off after an event with an id: the client may resume.", streamable25 + ", Resumability and Redelivery", 3, "resume request/resume legacy",
		inSession(callingFor(openStreamed("id: 7\ndata:\n\n")).ends(har.EndRST, time.Second))},
	{"transport-mismatch-post", "The client posts to the URL of an SSE stream.", "MCP 2024-11-05 basic/transports, HTTP with SSE", 2, "negotiation-error initialize/http-error failed",
		[]turn{{ask: headed("GET", "/sse", "", "Accept: text/event-stream\r\n"+nodeFields), say: openStreamed("event: endpoint\ndata: /messages?sessionId=5b1f0c6a9d3e4f72\n\n"), end: har.EndClientFIN, left: time.Minute, lost: true, beside: true},
			turn{ask: toSSE(`{"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":` + info + `},"jsonrpc":"2.0","id":0}`), say: saidEmpty("405 Method Not Allowed", "allow: GET")}.on(2)}},
}
