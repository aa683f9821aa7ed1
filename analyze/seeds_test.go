package analyze

import (
	"slices"
	"time"

	"github.com/mcptap/mcptap/har"
)

// A row is one case: a scene, the exchange that is judged (0: the last), and what two policies must say of it, as verdict
// and rule. name begins with the row of the seed tables, where there is one.
type row struct {
	name    string
	scene   []step
	n       int
	rec, ts string
}

func one(s step) []step { return []step{s} }

func in(before []step, s ...step) []step { return append(slices.Clone(before), s...) }

const htmlPage = "<!doctype html><html><body>Not here</body></html>"

const (
	errIDNull   = `{"error":{"code":-32700,"message":"Parse Error"},"id":null,"jsonrpc":"2.0"}`
	common      = `,"data":{"supported":["2026-07-28"],"requested":"2026-07-28"}`
	disjoint    = `,"data":{"supported":["2099-01-01"],"requested":"2026-07-28"}`
	legacyOnly  = `,"data":{"supported":["2025-11-25"],"requested":"2026-07-28"}`
	noMethod    = "Method not found"
	gone        = "Unknown or expired MCP session. Re-initialize to continue."
	overTimeout = 60 * time.Second
)

// probeRows are the rows of typescript-sdk #2571.
var probeRows = []row{
	{"A1/json", one(probing(1, js("200 OK", discovered(probe1, `["2026-07-28"]`)))), 0, "modern@2026-07-28 probe/modern", "modern@2026-07-28 probe/modern"},
	{"A1/several versions", one(probing(1, js("200 OK", discovered(probe1, `["2099-01-01","2026-07-28","2025-11-25"]`)))), 0, "modern@2026-07-28 probe/modern", "modern@2026-07-28 probe/modern"},
	{"A1/201", one(probing(1, js("201 Created", discovered(probe1, `["2026-07-28"]`)))), 0, "modern@2026-07-28 probe/modern", "modern@2026-07-28 probe/modern"},
	{"A1/bom", one(probing(1, js("200 OK", "\uFEFF"+discovered(probe1, `["2026-07-28"]`)))), 0, "modern@2026-07-28 probe/modern", "modern@2026-07-28 probe/modern"},
	{"A1/batch", one(probing(1, js("200 OK", "["+discovered(probe1, `["2026-07-28"]`)+"]"))), 0, "modern@2026-07-28 probe/modern", "modern@2026-07-28 probe/modern"},
	{"A2/future", one(probing(1, js("200 OK", discovered(probe1, `["2099-01-01"]`)))), 0, "legacy-fallback probe/no-common-version", "legacy-fallback probe/no-common-version"},
	{"A2/legacy", one(probing(1, js("200 OK", discovered(probe1, `["2025-11-25"]`)))), 0, "legacy-fallback probe/no-common-version", "legacy-fallback probe/no-common-version"},
	{"A2/no discover result", one(probing(1, js("200 OK", success(probe1, `{"tools":[]}`)))), 0, "legacy-fallback probe/invalid-discover-result", "legacy-fallback probe/invalid-discover-result"},
	{"A3/-32601", one(probing(1, js("200 OK", failure(probe1, -32601, noMethod)))), 0, "legacy-fallback probe/rpc-error", "legacy-fallback probe/rpc-error"},
	{"A3/-32000", one(probing(1, js("200 OK", failure(probe1, -32000, "x")))), 0, "legacy-fallback probe/rpc-error", "legacy-fallback probe/rpc-error"},
	{"A3/-32001", one(probing(1, js("200 OK", failure(probe1, -32001, "x")))), 0, "legacy-fallback probe/rpc-error", "legacy-fallback probe/rpc-error"},
	{"A3/-32020", one(probing(1, js("200 OK", failure(probe1, -32020, "x")))), 0, "legacy-fallback probe/rpc-error", "legacy-fallback probe/rpc-error"},
	{"A3/-32021", one(probing(1, js("200 OK", failure(probe1, -32021, "x")))), 0, "legacy-fallback probe/rpc-error", "legacy-fallback probe/rpc-error"},
	{"A3/0", one(probing(1, js("200 OK", failure(probe1, 0, "x")))), 0, "legacy-fallback probe/rpc-error", "legacy-fallback probe/rpc-error"},
	{"A4/first", in(nil, probing(1, js("400 Bad Request", unsupported(probe1, common))), probing(2, js("200 OK", discovered(`"server-discover-probe-2"`, `["2026-07-28"]`)))), 1,
		"corrective-retry@2026-07-28 probe/unsupported-version-common", "corrective-retry@2026-07-28 probe/unsupported-version-common"},
	{"A4/again", in(nil, probing(1, js("400 Bad Request", unsupported(probe1, common))), probing(2, js("400 Bad Request", unsupported(`"server-discover-probe-2"`, common)))), 2,
		"negotiation-error probe/unsupported-version-again", "negotiation-error probe/unsupported-version-again"},
	{"A4/id null at 400", one(probing(1, js("400 Bad Request", unsupported("null", common)))), 0, "corrective-retry@2026-07-28 probe/unsupported-version-common", "corrective-retry@2026-07-28 probe/unsupported-version-common"},
	{"A4/id null at 200", one(probing(1, js("200 OK", unsupported("null", common)))), 0, "corrective-retry@2026-07-28 probe/unsupported-version-common", "negotiation-error probe/invalid-reply"},
	{"A5", one(probing(1, js("400 Bad Request", unsupported(probe1, disjoint)))), 0, "negotiation-error probe/unsupported-version-disjoint", "negotiation-error probe/unsupported-version-disjoint"},
	{"A6", one(probing(1, js("400 Bad Request", unsupported(probe1, legacyOnly)))), 0, "legacy-fallback probe/unsupported-version-legacy", "legacy-fallback probe/unsupported-version-legacy"},
	{"A7/missing", one(probing(1, js("400 Bad Request", unsupported(probe1, "")))), 0, "legacy-fallback probe/unsupported-version-unusable", "legacy-fallback probe/unsupported-version-unusable"},
	{"A7/empty", one(probing(1, js("200 OK", unsupported(probe1, `,"data":{"supported":[]}`)))), 0, "legacy-fallback probe/unsupported-version-unusable", "legacy-fallback probe/unsupported-version-unusable"},
	{"A7/number among them", one(probing(1, js("200 OK", unsupported(probe1, `,"data":{"supported":["2026-07-28",5]}`)))), 0, "legacy-fallback probe/unsupported-version-unusable", "legacy-fallback probe/unsupported-version-unusable"},
	{"A8/id null", one(probing(1, js("200 OK", errIDNull))), 0, "legacy-fallback probe/invalid-reply", "negotiation-error probe/invalid-reply"},
	{"A8/jsonrpc missing", one(probing(1, js("200 OK", `{"id":`+probe1+`,"error":{"code":-32601,"message":"x"}}`))), 0, "legacy-fallback probe/invalid-reply", "negotiation-error probe/invalid-reply"},
	{"A8/message missing", one(probing(1, js("200 OK", `{"jsonrpc":"2.0","id":`+probe1+`,"error":{"code":-32601}}`))), 0, "legacy-fallback probe/invalid-reply", "negotiation-error probe/invalid-reply"},
	{"A8/code a string", one(probing(1, js("200 OK", `{"jsonrpc":"2.0","id":`+probe1+`,"error":{"code":"-32601","message":"x"}}`))), 0, "legacy-fallback probe/invalid-reply", "negotiation-error probe/invalid-reply"},
	{"A8/result null", one(probing(1, js("200 OK", success(probe1, "null")))), 0, "legacy-fallback probe/invalid-reply", "negotiation-error probe/invalid-reply"},
	{"A8/scalar", one(probing(1, js("200 OK", `"ok"`))), 0, "legacy-fallback probe/invalid-reply", "negotiation-error probe/invalid-reply"},
	{"A8/batch with an invalid element", one(probing(1, js("200 OK", "["+discovered(probe1, `["2026-07-28"]`)+`,{"x":1}]`))), 0, "legacy-fallback probe/invalid-reply", "negotiation-error probe/invalid-reply"},
	{"A9", one(probing(1, js("200 OK", `{"jsonrpc":"2.0","id":`+probe1+`,"error":{"code":-32601,"message":"x"},"trace":"t"}`))), 0, "legacy-fallback probe/invalid-reply", "negotiation-error probe/invalid-reply"},
	{"A10", one(probing(1, js("200 OK", ""))), 0, "legacy-fallback probe/empty-body", "negotiation-error probe/empty-body"},
	{"A11/text", one(probing(1, js("200 OK", "nope"))), 0, "legacy-fallback probe/not-json", "negotiation-error probe/not-json"},
	{"A11/html", one(probing(1, js("200 OK", htmlPage))), 0, "legacy-fallback probe/not-json", "negotiation-error probe/not-json"},
	{"A12/html", one(probing(1, answer("200 OK", "text/html", htmlPage))), 0, "legacy-fallback probe/not-mcp-media-type", "negotiation-error probe/not-mcp-media-type"},
	{"A12/text", one(probing(1, answer("200 OK", "text/plain", discovered(probe1, `["2026-07-28"]`)))), 0, "legacy-fallback probe/not-mcp-media-type", "negotiation-error probe/not-mcp-media-type"},
	{"A12/missing", one(probing(1, answer("200 OK", "", discovered(probe1, `["2026-07-28"]`)))), 0, "legacy-fallback probe/not-mcp-media-type", "negotiation-error probe/not-mcp-media-type"},
	{"A12/204", one(probing(1, "HTTP/1.1 204 No Content\r\n\r\n")), 0, "legacy-fallback probe/not-mcp-media-type", "negotiation-error probe/not-mcp-media-type"},
	{"A13", one(probing(1, answer("202 Accepted", "", ""))), 0, "legacy-fallback probe/accepted-202", "timeout probe/accepted-202"},
	{"A13/with the reply", one(probing(1, js("202 Accepted", discovered(probe1, `["2026-07-28"]`)))), 0, "legacy-fallback probe/accepted-202", "timeout probe/accepted-202"},
	{"A13/another client's probe", one(probingAs("1", answer("202 Accepted", "", ""))), 0, "timeout probe/accepted-202-ordinary-id", "timeout probe/accepted-202-ordinary-id"},
	{"A14", in(one(probing(1, js("200 OK", discovered(probe1, `["2026-07-28"]`)))), callingModern("tools/list", 1, js("200 OK", success("1", `{"tools":[]}`))), probingAs("7", answer("202 Accepted", "", ""))), 0,
		"timeout discover/accepted-202", "timeout discover/accepted-202"},
	{"A15/500", one(probing(1, answer("500 Internal Server Error", "", ""))), 0, "legacy-fallback probe/http-5xx", "negotiation-error probe/http-5xx"},
	{"A15/500 with -32601", one(probing(1, js("500 Internal Server Error", failure(probe1, -32601, noMethod)))), 0, "legacy-fallback probe/http-5xx", "negotiation-error probe/http-5xx"},
	{"A15/502 html", one(probing(1, answer("502 Bad Gateway", "text/html", htmlPage))), 0, "legacy-fallback probe/http-5xx", "negotiation-error probe/http-5xx"},
	{"A15/503", one(probing(1, answer("503 Service Unavailable", "text/html", htmlPage))), 0, "legacy-fallback probe/http-5xx", "negotiation-error probe/http-5xx"},
	{"A15/503 with -32022", one(probing(1, js("503 Service Unavailable", unsupported(probe1, disjoint)))), 0, "negotiation-error probe/unsupported-version-disjoint", "negotiation-error probe/http-5xx"},
	{"A16/404 id null", one(probing(1, js("404 Not Found", errIDNull))), 0, "legacy-fallback probe/http-4xx", "legacy-fallback probe/http-4xx"},
	{"A16/400 html", one(probing(1, answer("400 Bad Request", "text/html", htmlPage))), 0, "legacy-fallback probe/http-4xx", "legacy-fallback probe/http-4xx"},
	{"A16/405", one(probing(1, answer("405 Method Not Allowed", "", ""))), 0, "legacy-fallback probe/http-4xx", "legacy-fallback probe/http-4xx"},
	{"A16/429", one(probing(1, answer("429 Too Many Requests", "text/plain", "slow down"))), 0, "legacy-fallback probe/http-4xx", "legacy-fallback probe/http-4xx"},
	{"A16/another id at 404", one(probing(1, js("404 Not Found", failure(`"x"`, -32601, noMethod)))), 0, "legacy-fallback probe/http-4xx", "legacy-fallback probe/http-4xx"},
	{"A16/407", one(probing(1, answer("407 Proxy Authentication Required", "", ""))), 0, "legacy-fallback probe/http-4xx", "network-error probe/proxy-auth"},
	{"A17/401", one(probing(1, answer("401 Unauthorized", "", ""))), 0, "auth-error probe/auth", "auth-error probe/auth"},
	{"A17/403", one(probing(1, answer("403 Forbidden", "text/html", htmlPage))), 0, "auth-error probe/auth", "auth-error probe/auth"},
	{"A17/401 with -32022", one(probing(1, js("401 Unauthorized", unsupported(probe1, common)))), 0, "auth-error probe/auth", "auth-error probe/auth"},
	{"A17/401 stalled", one(probing(1, "HTTP/1.1 401 Unauthorized\r\ncontent-length: 50\r\n\r\nx").ends(har.EndClientFIN)), 0, "auth-error probe/auth", "timeout probe/stalled-body"},
	{"A18/reset", one(probing(1, js("200 OK", discovered(probe1, `["2026-07-28"]`))[:140]).ends(har.EndRST)), 0, "network-error probe/cut-body", "network-error probe/cut-body"},
	{"A18/closed early", one(probing(1, js("200 OK", discovered(probe1, `["2026-07-28"]`))[:140]).ends(har.EndFIN)), 0, "network-error probe/cut-body", "network-error probe/cut-body"},
	{"A18/404 cut", one(probing(1, "HTTP/1.1 404 Not Found\r\ncontent-length: 50\r\n\r\nx").ends(har.EndRST)), 0, "network-error probe/cut-body", "legacy-fallback probe/http-4xx"},
	{"A18/until the end, reset", one(probing(1, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n"+discovered(probe1, `["2026-07-28"]`)).ends(har.EndRST)), 0, "network-error probe/cut-body", "modern@2026-07-28 probe/modern"},
	{"A18/does not decode", one(probing(1, js("200 OK", "not gzip", "content-encoding: gzip\r\n"))), 0, "network-error probe/undecodable", "network-error probe/undecodable"},
	{"A19/reset", one(probing(1, "").ends(har.EndRST)), 0, "network-error probe/reset-before-answer", "network-error probe/reset-before-answer"},
	{"A19/reset in the head", one(probing(1, "HTTP/1.1 200 OK\r\nconte").ends(har.EndRST)), 0, "network-error probe/reset-before-answer", "network-error probe/reset-before-answer"},
	{"A19/refused", one(probing(1, "").noted("upstream: refused")), 0, "network-error probe/unreachable", "network-error probe/unreachable"},
	{"A19/tls", one(probing(1, "").noted("upstream: tls")), 0, "network-error probe/unreachable", "network-error probe/unreachable"},
	{"A19/not http", one(probing(1, "garbage\r\n\r\n").ends(har.EndClientRST)), 0, "network-error probe/malformed-http", "network-error probe/malformed-http"},
	{"A19/bad chunk", one(probing(1, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n").ends(har.EndClientRST)), 0, "network-error probe/malformed-http", "network-error probe/refused-framing"},
	{"A20/nothing", one(probing(1, "").ends(har.EndClientFIN).after(overTimeout)), 0, "timeout probe/silence", "timeout probe/silence"},
	{"A20/hang", one(probing(1, "").ends(har.EndHang).after(overTimeout)), 0, "timeout probe/silence", "timeout probe/silence"},
	{"A20/half a body", one(probing(1, js("200 OK", discovered(probe1, `["2026-07-28"]`))[:140]).ends(har.EndClientFIN)), 0, "timeout probe/stalled-body", "timeout probe/stalled-reply"},
	{"A20/half a body of an error", one(probing(1, "HTTP/1.1 404 Not Found\r\ncontent-length: 50\r\n\r\nx").ends(har.EndClientFIN)), 0, "timeout probe/stalled-body", "timeout probe/stalled-body"},
	{"A20/too late", one(probing(1, js("200 OK", discovered(probe1, `["2026-07-28"]`))).tooLate()), 0, "timeout probe/silence", "timeout probe/silence"},
	{"A21/result", one(probing(1, sse(event(discovered(probe1, `["2026-07-28"]`))))), 0, "modern@2026-07-28 probe/modern", "modern@2026-07-28 probe/modern"},
	{"A21/error", one(probing(1, sse(event(failure(probe1, -32601, noMethod))))), 0, "legacy-fallback probe/rpc-error", "legacy-fallback probe/rpc-error"},
	{"A21/after others", one(probing(1, sse(": ping\n\n"+event(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`)+event("nope")+event(discovered(probe1, `["2026-07-28"]`))))), 0, "modern@2026-07-28 probe/modern", "modern@2026-07-28 probe/modern"},
	{"A21/lone CR at the end", one(probing(1, sse("data: "+discovered(probe1, `["2026-07-28"]`)+"\r\r"))), 0, "modern@2026-07-28 probe/modern", "timeout sse/lone-cr-at-end"},
	{"A21/-32022", one(probing(1, sse(event(unsupported(probe1, disjoint))))), 0, "negotiation-error probe/unsupported-version-disjoint", "negotiation-error probe/unsupported-version-disjoint"},
	{"A22", one(probing(1, sse(event(errIDNull)))), 0, "timeout probe/sse-invalid-reply", "timeout probe/sse-invalid-reply"},
	{"A22/-32022", one(probing(1, sse(event(unsupported("null", disjoint))))), 0, "timeout probe/sse-invalid-reply", "timeout probe/sse-invalid-reply"},
	{"A22/array", one(probing(1, sse(event("["+discovered(probe1, `["2026-07-28"]`)+"]")))), 0, "timeout probe/sse-invalid-reply", "timeout probe/sse-invalid-reply"},
	{"A23/ends", one(probing(1, sse(""))), 0, "timeout probe/sse-no-reply", "timeout probe/sse-no-reply"},
	{"A23/comments", one(probing(1, sse(": ping\n\n"))), 0, "timeout probe/sse-no-reply", "timeout probe/sse-no-reply"},
	{"A23/reset", one(probing(1, open(": ping\n\n")).ends(har.EndRST)), 0, "timeout probe/sse-no-reply", "timeout probe/sse-no-reply"},
	{"A23/another type", one(probing(1, sse("event: other\ndata: "+discovered(probe1, `["2026-07-28"]`)+"\n\n"))), 0, "timeout probe/sse-no-reply", "timeout probe/sse-no-reply"},
	{"A23/no blank line", one(probing(1, sse("data: "+discovered(probe1, `["2026-07-28"]`)+"\n"))), 0, "timeout probe/sse-no-reply", "timeout probe/sse-no-reply"},
	{"A23/stays open", one(probing(1, open(": ping\n\n")).ends(har.EndClientFIN)), 0, "timeout probe/sse-silence", "timeout probe/sse-silence"},
	{"A24/empty array", one(probing(1, js("200 OK", "[]"))), 0, "timeout probe/no-reply-in-body", "timeout probe/no-reply-in-body"},
	{"A24/another id", one(probing(1, js("200 OK", discovered(`"x"`, `["2026-07-28"]`)))), 0, "timeout probe/no-reply-in-body", "timeout probe/no-reply-in-body"},
	{"A24/notification", one(probing(1, js("200 OK", `{"jsonrpc":"2.0","method":"notifications/message","params":{}}`))), 0, "timeout probe/no-reply-in-body", "timeout probe/no-reply-in-body"},
	{"A24/id absent", one(probing(1, js("200 OK", `{"jsonrpc":"2.0","error":{"code":-32601,"message":"x"}}`))), 0, "timeout probe/no-reply-in-body", "timeout probe/no-reply-in-body"},

	{"probe/redirect not followed", one(probing(1, answer("302 Found", "", "", "location: /other\r\n"))), 0, "legacy-fallback probe/redirect", "legacy-fallback probe/redirect"},
	{"probe/redirect followed", in(nil, probing(1, answer("307 Temporary Redirect", "", "", "location: /other\r\n")), probing(1, js("200 OK", discovered(probe1, `["2026-07-28"]`))).to("http://mcp.example.test/other")), 1,
		"unspecified probe/redirect-followed", "unspecified probe/redirect-followed"},
	{"probe/upgrade", one(probing(1, "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n").ends(har.EndClientRST)), 0, "network-error probe/upgrade", "network-error probe/upgrade"},
	{"probe/length and chunked", one(probing(1, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")), 0, "legacy-fallback probe/invalid-reply", "network-error probe/refused-framing"},
	{"probe/large head", one(probing(1, js("200 OK", failure(probe1, -32601, noMethod), "x-big: "+string(make20k())+"\r\n"))), 0, "legacy-fallback probe/rpc-error", "network-error probe/large-head"},
	{"probe/100 unasked", one(probing(1, "HTTP/1.1 100 Continue\r\n\r\n"+js("200 OK", failure(probe1, -32601, noMethod)))), 0, "legacy-fallback probe/rpc-error", "network-error probe/unasked-continue"},
	{"probe/103", one(probing(1, "HTTP/1.1 103 Early Hints\r\n\r\n"+js("200 OK", failure(probe1, -32601, noMethod)))), 0, "legacy-fallback probe/rpc-error", "legacy-fallback probe/rpc-error"},
	{"probe/zstd", one(probing(1, js("200 OK", zstdText, "content-encoding: zstd\r\n"))), 0, "legacy-fallback probe/rpc-error", "negotiation-error probe/unread-encoding"},
	{"probe/unknown encoding, plain body", one(probing(1, js("200 OK", failure(probe1, -32601, noMethod), "content-encoding: zstd\r\n"))), 0, "legacy-fallback probe/rpc-error", "legacy-fallback probe/rpc-error"},
	{"probe/space before the colon", one(probing(1, "HTTP/1.1 200 OK\r\nContent-Type : application/json\r\ncontent-length: 2\r\n\r\n{}")), 0, "legacy-fallback probe/invalid-reply", "negotiation-error probe/space-before-colon"},
	{"probe/http+sse", in(nil, httpSSE(event(failure("1", -32601, noMethod))), overMessages(probingAs("1", answer("202 Accepted", "text/plain", "Accepted")))), 0, "legacy-fallback probe/rpc-error", "legacy-fallback probe/rpc-error"},
	{"probe/http+sse refused", in(nil, httpSSE(""), overMessages(probingAs("1", answer("404 Not Found", "text/plain", "no")))), 0, "legacy-fallback probe/http-4xx", "network-error probe/http-error-over-sse"},
	{"probe/capture stopped", one(probing(1, "").ends(har.EndStopped)), 0, "inconclusive ", "inconclusive "},
	{"probe/gap in the body", one(probing(1, js("200 OK", discovered(probe1, `["2026-07-28"]`))[:140]).noted("gap: 9 bytes before byte 140 of the response")), 0, "inconclusive ", "inconclusive "},
	{"probe/gap in a chunked body", one(probing(1, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n80\r\n{\"json\r\n0\r\n\r\n").noted("gap: 122 bytes before byte 90 of the response")), 0, "inconclusive ", "inconclusive "},
	{"probe/gap before the head", one(probing(1, "ent-length: 2\r\n\r\n{}").noted("gap: 20 bytes before byte 0 of the response")), 0, "inconclusive ", "inconclusive "},
	{"probe/short snaplen", one(probing(1, "HTTP/1.1 200 OK\r\ncontent-ty").noted("snaplen").ends(har.EndClientFIN)), 0, "inconclusive ", "inconclusive "},
	{"probe/gap in a stream", one(probing(1, sse("data: {\"jsonrpc\":\"2.0\",\"id\":1}\n\n")).noted("gap: 99 bytes before byte 90 of the response")), 0, "inconclusive ", "inconclusive "},
}

func make20k() []byte {
	b := make([]byte, 20<<10)
	for i := range b {
		b[i] = 'a'
	}
	return b
}
