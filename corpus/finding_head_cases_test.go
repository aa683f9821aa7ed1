package corpus

import (
	"encoding/hex"
	"strings"
	"time"

	"github.com/mcptap/mcptap/har"
)

// zipped is the event of a good reply to a call with id 1, compressed with gzip.
var zipped = func() string {
	b, err := hex.DecodeString("1f8b08000000000002031d8c410ac2301045f73d45f8dd06b1a208b3f714e222a423544b5266a6a084dcddc1d5fb8bf7df9c2c516878692db265104e8723229619344508ebbe1aa821d7625c7cde1becbbb19bc61f73f50fff055bf29b4d298ce72986f172457f78496f225540cfb42af73e0c3fc341500f74000000")
	if err != nil {
		panic(err)
	}
	return string(b)
}()

const fetchStandard = "Fetch standard, CORS protocol"

func preflight(say string) turn {
	return turn{ask: headed("OPTIONS", "/mcp", "origin: https://app.example.test\r\n", "access-control-request-method: POST\r\naccess-control-request-headers: content-type, mcp-protocol-version\r\nuser-agent: Mozilla/5.0\r\n"), say: say}
}

// fromPage makes it a request of a browser's page.
func fromPage(t turn) turn {
	return t.asking("sec-fetch-mode: cors\r\nuser-agent: node", pageField+"sec-fetch-mode: cors\r\nsec-fetch-site: cross-site\r\nuser-agent: Mozilla/5.0")
}

// headFindings are those of header fields.
var headFindings = []findingCase{
	{"cors-origin-missing", "The answer to initialize does not name the page's origin, so the browser hides it.", fetchStandard, 2, "delivered initialize/delivered legacy",
		[]turn{preflight(saidEmpty("200 OK", "access-control-allow-origin: https://app.example.test", "access-control-allow-methods: POST", "access-control-allow-headers: content-type, mcp-protocol-version")),
			fromPage(turn{ask: starting("{}"), say: saidJSON(replied("0", initializedAs(`{"tools":{}}`)))}).closed()}},
	{"cors-preflight-failed", "A client of the command line connects; for a page the server answers OPTIONS 405, so the browser never sends initialize.", fetchStandard, 1, "delivered initialize/delivered legacy",
		append(sessionless(), preflight(saidEmpty("405 Method Not Allowed", "allow: GET, POST")))},
	{"edge-refused", "A check for robots that stands before the server answers the client with a page for browsers.", "Cloudflare, Challenge detection", 1, "auth-error initialize/auth failed",
		starts(said("403 Forbidden", "text/html; charset=UTF-8", "<!DOCTYPE html><html><head><title>Just a moment...</title></head></html>", "server: cloudflare", "cf-mitigated: challenge"))},
	{"head-too-large", "A cookie has grown larger than the server's limit.", "RFC 6585 section 5", 3, "pass-through request/http-4xx legacy",
		inSession(callingFor(saidEmpty("431 Request Header Fields Too Large")).asking("accept-language: *", "cookie: theme="+strings.Repeat("dark", 300)+"\r\naccept-language: *"))},
	{"header-body-disagree", "Mcp-Name names another tool than the body.", streamable26 + ", Request Metadata", 2, "pass-through request/http-4xx modern",
		inModern2026(callingModern(said("400 Bad Request", "application/json", failing("0", -32020, "Mcp-Name does not match the body"))).asking("mcp-name: find_tickets", "mcp-name: close_ticket"))},
	{"header-mismatch-unfounded", "A proxy rewrote a header behind the client: -32020, though what the client sent agrees.", streamable26 + ", Request Metadata", 2, "pass-through request/http-4xx modern",
		inModern2026(callingModern(said("400 Bad Request", "application/json", failing("0", -32020, "Mcp-Name does not match the body"))))},
	{"host-refused", "The guard against DNS rebinding does not know the proxy's host name.", "python-sdk #1798", 1, "negotiation-error initialize/http-error failed",
		starts(said("421 Misdirected Request", "text/plain", "Invalid Host header"))},
	{"http-framing", "A line of the answer's head ends with a bare LF.", rfc9112 + " section 2.2", 3, "delivered request/delivered legacy",
		inSession(callingFor(strings.Replace(saidJSON(replied("1", toolResult)), "application/json\r\n", "application/json\n", 1)))},
	{"http-framing-request", "A space stands before the colon of a field.", rfc9112 + " section 5.1", 3, "delivered request/delivered legacy",
		inSession(calling("1").asking("accept-language: *", "accept-language : *"))},
	{"json-body-is-sse", "The answer calls itself JSON and is an event.", streamable25 + ", Sending Messages", 3, "pass-through request/unusable-reply legacy",
		inSession(callingFor(saidJSON("event: message\ndata: " + replied("1", toolResult) + "\n\n")))},
	{"media-type-refused", "415 to a POST whose Content-Type is application/json.", "RFC 9110 section 15.5.16", 1, "negotiation-error initialize/http-error failed", starts(saidEmpty("415 Unsupported Media Type"))},
	{"payload-too-large", "The request is larger than the proxy before the server takes.", "RFC 9110 section 15.5.14", 3, "pass-through request/http-4xx legacy",
		inSession(turn{ask: requesting("1", "tools/call", `"name":"add_note","arguments":{"text":"`+strings.Repeat("lorem ipsum ", 120)+`"}`), say: said("413 Request Entity Too Large", "text/html", "<html><body>413 Request Entity Too Large</body></html>", "server: nginx")}.closed())},
	{"proxy-auth-required", "A proxy on the way wants credentials.", "RFC 9110 section 15.5.8", 1, "negotiation-error initialize/http-error failed", starts(saidEmpty("407 Proxy Authentication Required", `proxy-authenticate: Basic realm="office"`))},
	{"rate-limited", "Too many calls in a short time.", "RFC 6585 section 4", 3, "pass-through request/http-4xx legacy", inSession(callingFor(saidEmpty("429 Too Many Requests", "retry-after: 30")))},
	{"request-media-type", "The client sends JSON as text/plain, and the server refuses it.", streamable25 + ", Sending Messages", 3, "pass-through request/http-4xx legacy",
		inSession(callingFor(saidEmpty("415 Unsupported Media Type")).asking("content-type: application/json", "content-type: text/plain;charset=UTF-8"))},
	{"session-header-not-exposed", "A page cannot read the session id that it was given, and goes on without.", fetchStandard, 1, "delivered initialize/delivered failed",
		[]turn{fromPage(turn{ask: starting("{}"), say: saidJSON(replied("0", initializedAs(`{"tools":{}}`)), strings.TrimSuffix(sessionField, "\r\n"), "access-control-allow-origin: https://app.example.test")}),
			fromPage(turn{ask: noticing(initializedNote), say: said("400 Bad Request", "application/json", failing("null", -32000, "Bad Request: Mcp-Session-Id header is required"), "access-control-allow-origin: https://app.example.test")}).without(strings.TrimSuffix(sessionField, "\r\n"))}},
	{"smuggling-shape", "Two lengths: two parsers find two different ends of the answer.", rfc9112 + " section 6.3", 3, "disconnect request/transport-failure legacy",
		inSession(callingFor(saidJSON(replied("1", toolResult), "content-length: 2")).ends(har.EndFIN, 100*time.Millisecond))},
	{"sse-body-is-json", "The answer calls itself an event stream and is plain JSON.", streamable25 + ", Sending Messages", 3, "timeout request/sse-no-reply legacy",
		inSession(callingFor(said("200 OK", "text/event-stream", replied("1", toolResult))))},
	{"sse-compressed", "An event stream is compressed, and the compressor holds events back.", "WHATWG HTML 9.2.7", 3, "delivered request/delivered legacy",
		inSession(callingFor(strings.Replace(openStreamed(zipped), "cache-control", "content-encoding: gzip\r\ncache-control", 1) + "0\r\n\r\n"))},
	{"sse-length-declared", "An event stream declares its length: it was made whole before it was sent.", streamable25 + ", Sending Messages", 3, "delivered request/delivered legacy",
		inSession(callingFor(said("200 OK", "text/event-stream", ": working\n\n"+dataOf(replied("1", toolResult)))))},
}
