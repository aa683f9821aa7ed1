package analyze

import (
	"encoding/hex"
	"time"

	"github.com/mcptap/mcptap/har"
)

// zstdText is a -32601 for the first probe, compressed.
var zstdText = func() string {
	b, err := hex.DecodeString("28b52ffd0068c5020012061417806dc66abed569cd0d1a0a1b73c8739b01c7078231023455f583922a40a41078ca4479dcce0589319fd7201844c1daf9d44db55777f3f5c032d185d4c5e6b1cd6933de7ecd6b21206e3b68a146672a010063509e")
	if err != nil {
		panic(err)
	}
	return string(b)
}()

const stalledText = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{"

// initRows judge the handshake.
var initRows = []row{
	{"initialize/ok", handshake(), 1, "delivered initialize/delivered", "delivered initialize/delivered"},
	{"initialize/sse", one(initializing(sse(event(success("0", initResult))))), 0, "delivered initialize/delivered", "delivered initialize/delivered"},
	{"initialize/old version", one(initializing(js("200 OK", success("0", `{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`)))), 0,
		"negotiation-error initialize/unsupported-version", "negotiation-error initialize/unsupported-version"},
	{"initialize/modern version", one(initializing(js("200 OK", success("0", `{"protocolVersion":"2026-07-28","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`)))), 0,
		"negotiation-error initialize/unsupported-version", "negotiation-error initialize/unsupported-version"},
	{"initialize/no serverInfo", one(initializing(js("200 OK", success("0", `{"protocolVersion":"2025-11-25","capabilities":{}}`)))), 0,
		"negotiation-error initialize/invalid-result", "negotiation-error initialize/invalid-result"},
	{"initialize/error", one(initializing(js("200 OK", failure("0", -32602, "no")))), 0, "negotiation-error initialize/rpc-error", "negotiation-error initialize/rpc-error"},
	{"initialize/401", one(initializing(answer("401 Unauthorized", "", ""))), 0, "auth-error initialize/auth", "auth-error initialize/auth"},
	{"initialize/404", one(initializing(answer("404 Not Found", "text/plain", "no"))), 0, "negotiation-error initialize/http-error", "negotiation-error initialize/http-error"},
	{"initialize/503", one(initializing(answer("503 Service Unavailable", "", ""))), 0, "negotiation-error initialize/http-error", "negotiation-error initialize/http-error"},
	{"initialize/redirect followed", in(nil, initializing(answer("308 Permanent Redirect", "", "", "location: /other\r\n")), initializing(js("200 OK", success("0", initResult))).to("http://mcp.example.test/other")), 1,
		"unspecified initialize/redirect-followed", "unspecified initialize/redirect-followed"},
	{"initialize/reset", one(initializing("").ends(har.EndRST)), 0, "network-error initialize/transport-failure", "network-error initialize/transport-failure"},
	{"initialize/silence", one(initializing("").ends(har.EndClientFIN)), 0, "timeout initialize/silence", "timeout initialize/silence"},
	{"initialize/cut", one(initializing(stalledText).ends(har.EndRST)), 0, "network-error initialize/cut-body", "network-error initialize/cut-body"},
	{"initialize/stalled", one(initializing(stalledText).ends(har.EndClientFIN)), 0, "timeout initialize/stalled-body", "timeout initialize/stalled-body"},
	{"initialize/stalled error", one(initializing("HTTP/1.1 404 Not Found\r\ncontent-length: 50\r\n\r\nx").ends(har.EndClientFIN)), 0, "negotiation-error initialize/http-error", "timeout initialize/stalled-error"},
	{"initialize/202", one(initializing(answer("202 Accepted", "", ""))), 0, "timeout initialize/accepted-202", "timeout initialize/accepted-202"},
	{"initialize/html", one(initializing(answer("200 OK", "text/html", htmlPage))), 0, "negotiation-error initialize/not-mcp-media-type", "negotiation-error initialize/not-mcp-media-type"},
	{"initialize/id null", one(initializing(js("200 OK", errIDNull))), 0, "negotiation-error initialize/unusable-reply", "negotiation-error initialize/unusable-reply"},
	{"initialize/another id", one(initializing(js("200 OK", success("9", initResult)))), 0, "timeout initialize/no-reply", "timeout initialize/no-reply"},
	{"initialize/sse ends", one(initializing(sse(""))), 0, "timeout initialize/no-reply", "timeout initialize/no-reply"},
	{"initialize/sse lone CR", one(initializing(sse("data: " + success("0", initResult) + "\r\r"))), 0, "delivered initialize/delivered", "timeout sse/lone-cr-at-end"},
	{"initialize/does not decode", one(initializing(js("200 OK", "not gzip", "content-encoding: gzip\r\n"))), 0, "negotiation-error initialize/unusable-reply", "network-error initialize/undecodable"},
	{"initialize/length twice", one(initializing("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\n{}")), 0, "negotiation-error initialize/unusable-reply", "network-error initialize/refused-framing"},
	{"initialize/large head", one(initializing(js("200 OK", success("0", initResult), "x-big: "+string(make20k())+"\r\n"))), 0, "delivered initialize/delivered", "network-error initialize/large-head"},
	{"initialize/100 unasked", one(initializing("HTTP/1.1 100 Continue\r\n\r\n" + js("200 OK", success("0", initResult)))), 0, "delivered initialize/delivered", "network-error initialize/unasked-continue"},
	{"initialize/http+sse", in(nil, httpSSE(event(success("0", initResult))), overMessages(initializing(answer("202 Accepted", "text/plain", "Accepted")))), 0, "delivered initialize/delivered", "delivered initialize/delivered"},
	{"initialize/http+sse, reply in the body", in(nil, httpSSE(""), overMessages(initializing(js("200 OK", success("0", initResult))))), 0, "negotiation-error initialize/unusable-reply", "negotiation-error initialize/unusable-reply"},

	{"initialized/202", handshake(), 2, "delivered initialized/accepted", "delivered initialized/accepted"},
	{"initialized/200 null", in(handshake()[:1], initialized1(js("200 OK", "null"))), 0, "delivered initialized/accepted", "delivered initialized/accepted"},
	{"initialized/401", in(handshake()[:1], initialized1(answer("401 Unauthorized", "", ""))), 0, "auth-error initialized/auth", "auth-error initialized/auth"},
	{"initialized/500", in(handshake()[:1], initialized1(answer("500 Internal Server Error", "", ""))), 0, "negotiation-error initialized/http-error", "negotiation-error initialized/http-error"},
	{"initialized/reset", in(handshake()[:1], initialized1("").ends(har.EndRST)), 0, "network-error initialized/transport-failure", "network-error initialized/transport-failure"},
	{"initialized/silence", in(handshake()[:1], initialized1("").ends(har.EndClientFIN)), 0, "timeout initialized/silence", "timeout initialized/silence"},
	{"initialized/stalled", in(handshake()[:1], initialized1(stalledText).ends(har.EndClientFIN)), 0, "delivered initialized/accepted", "timeout initialized/stalled-body"},
	{"initialized/bare LF", in(handshake()[:1], initialized1("HTTP/1.1 202 Accepted\ncontent-length: 0\n\n")), 0, "delivered initialized/accepted", "network-error initialized/refused-framing"},
	{"initialized/large head", in(handshake()[:1], initialized1(answer("202 Accepted", "", "", "x-big: "+string(make20k())+"\r\n"))), 0, "delivered initialized/accepted", "network-error initialized/large-head"},
	{"initialized/100 unasked", in(handshake()[:1], initialized1("HTTP/1.1 100 Continue\r\n\r\n"+answer("202 Accepted", "", ""))), 0, "delivered initialized/accepted", "network-error initialized/unasked-continue"},
}

const quoted = `upstream said: {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found"}} and gave up`

// overSSE1 is an optional method over HTTP+SSE, answered in the POST itself.
func overSSE1(resp string) []step {
	return in(nil, httpSSE(event(success("0", initResult))), overMessages(initializing(answer("202 Accepted", "text/plain", "Accepted"))), overMessages(calling("prompts/list", 2, resp)))
}

func list(resp string) []step { return in(handshake(), calling("prompts/list", 2, resp)) }

var missing = failure("2", -32601, noMethod)

// optionalRows are the rows of qwen-code #12500.
var optionalRows = []row{
	{"B1", list(js("400 Bad Request", missing)), 0, "keep-connected optional/missing-method", "keep-connected optional/missing-method"},
	{"B2", list(js("404 Not Found", missing)), 0, "keep-connected optional/missing-method", "keep-connected optional/missing-method"},
	{"B3", list(js("405 Method Not Allowed", missing)), 0, "keep-connected optional/missing-method", "keep-connected optional/missing-method"},
	{"B4", list(js("422 Unprocessable Content", missing)), 0, "keep-connected optional/missing-method", "keep-connected optional/missing-method"},
	{"B5", list(js("501 Not Implemented", missing)), 0, "keep-connected optional/missing-method", "keep-connected optional/missing-method"},
	{"B6", list(js("404 Not Found", failure("2", -32601, "Unknown method"))), 0, "keep-connected optional/missing-method", "keep-connected optional/missing-method"},
	{"B6/id null", list(js("404 Not Found", failure("null", -32601, noMethod))), 0, "keep-connected optional/missing-method", "keep-connected optional/missing-method"},
	{"B7", overSSE1(js("400 Bad Request", missing)), 0, "keep-connected optional/missing-method", "keep-connected optional/missing-method"},
	{"B8", overSSE1(js("404 Not Found", missing)), 0, "keep-connected optional/missing-method", "keep-connected optional/missing-method"},
	{"B9", overSSE1(js("405 Method Not Allowed", missing)), 0, "keep-connected optional/missing-method", "keep-connected optional/missing-method"},
	{"B10", overSSE1(js("422 Unprocessable Content", missing)), 0, "keep-connected optional/missing-method", "keep-connected optional/missing-method"},
	{"B11", overSSE1(js("501 Not Implemented", missing)), 0, "keep-connected optional/missing-method", "keep-connected optional/missing-method"},
	{"B12", list(js("401 Unauthorized", missing)), 0, "disconnect optional/auth", "keep-connected optional/missing-method"},
	{"B12/empty", list(answer("401 Unauthorized", "", "")), 0, "disconnect optional/auth", "pass-through optional/auth"},
	{"B13", list(js("403 Forbidden", missing)), 0, "disconnect optional/auth", "keep-connected optional/missing-method"},
	{"B14", list(js("500 Internal Server Error", missing)), 0, "disconnect optional/outage", "keep-connected optional/missing-method"},
	{"B15", list(js("502 Bad Gateway", missing)), 0, "disconnect optional/outage", "keep-connected optional/missing-method"},
	{"B16", list(js("503 Service Unavailable", missing)), 0, "disconnect optional/outage", "keep-connected optional/missing-method"},
	{"B17", list(js("404 Not Found", failure("2", -32001, "Session not found"))), 0, "reinitialize+retry-once session/expired", "pass-through session/expired"},
	{"B17/no session", in(handshake(), callingBare("prompts/list", 2, js("404 Not Found", failure("2", -32001, "Session not found")))), 0, "disconnect optional/unrecognised", "pass-through optional/unrecognised"},
	{"B18", list(js("400 Bad Request", failure("2", -32603, "boom"))), 0, "disconnect optional/unrecognised", "pass-through optional/unrecognised"},
	{"B19", in(handshake(), callingBare("prompts/list", 2, js("404 Not Found", `{"error":{"code":-32601,"message":"x"},"id":2}`))), 0, "disconnect optional/unrecognised", "pass-through optional/unrecognised"},
	{"B20", in(handshake(), callingBare("prompts/list", 2, answer("404 Not Found", "text/html", htmlPage))), 0, "disconnect optional/unrecognised", "pass-through optional/unrecognised"},
	{"B21", in(handshake(), callingBare("prompts/list", 2, answer("404 Not Found", "text/plain", quoted))), 0, "disconnect optional/unrecognised", "pass-through optional/unrecognised"},
	{"B22", in(handshake(), callingBare("prompts/list", 2, answer("404 Not Found", "text/plain", noMethod))), 0, "disconnect optional/unrecognised", "pass-through optional/unrecognised"},
	{"B23", overSSE1(js("401 Unauthorized", missing)), 0, "disconnect optional/auth", "keep-connected optional/missing-method"},
	{"B24", overSSE1(js("403 Forbidden", missing)), 0, "disconnect optional/auth", "keep-connected optional/missing-method"},
	{"B25", overSSE1(js("503 Service Unavailable", missing)), 0, "disconnect optional/outage", "keep-connected optional/missing-method"},
	{"B26", overSSE1(answer("404 Not Found", "text/plain", quoted)), 0, "disconnect optional/unrecognised", "pass-through optional/unrecognised"},
	{"B27", overSSE1(answer("404 Not Found", "", "")), 0, "disconnect optional/unrecognised", "pass-through optional/unrecognised"},
	{"B28", list(js("200 OK", missing)), 0, "keep-connected optional/missing-method-in-band", "keep-connected optional/missing-method-in-band"},
	{"B28/sse", list(sse(event(missing))), 0, "keep-connected optional/missing-method-in-band", "keep-connected optional/missing-method-in-band"},
	{"B29", in(nil, httpSSE(event(success("0", initResult))+event(missing)), overMessages(initializing(answer("202 Accepted", "text/plain", "Accepted"))), overMessages(calling("prompts/list", 2, answer("202 Accepted", "text/plain", "Accepted")))), 0,
		"keep-connected optional/missing-method-in-band", "keep-connected optional/missing-method-in-band"},
	{"B30", in(handshake(), step{req: get(session), resp: answer("422 Unprocessable Content", "", "")}), 0, "post-only get-stream/unsupported", "post-only get-stream/unsupported"},
	{"B31", in(handshake(), step{req: get(session), resp: answer("501 Not Implemented", "", "")}), 0, "post-only get-stream/unsupported", "post-only get-stream/unsupported"},
	{"B32", in(handshake(), step{req: get(session), resp: answer("400 Bad Request", "", "")}), 0, "post-only get-stream/unsupported", "post-only get-stream/unsupported"},
	{"B33", in(handshake(), step{req: get(session), resp: answer("404 Not Found", "text/html", htmlPage)}), 0, "post-only get-stream/unsupported", "post-only get-stream/unsupported"},
	{"B34", in(handshake(), step{req: get(session), resp: answer("405 Method Not Allowed", "", "")}), 0, "post-only get-stream/unsupported", "post-only get-stream/unsupported"},
	{"B35", in(handshake(), step{req: get(session), resp: answer("403 Forbidden", "", "")}), 0, "disconnect get-stream/refused", "post-only get-stream/refused"},
	{"B36", in(handshake(), step{req: get(session), resp: answer("500 Internal Server Error", "", "")}), 0, "disconnect get-stream/refused", "post-only get-stream/refused"},
	{"B37", in(handshake(), step{req: get(session), resp: answer("503 Service Unavailable", "", "")}), 0, "disconnect get-stream/refused", "post-only get-stream/refused"},
	{"B38/optional", in(handshake(), calling("tools/list", 1, js("200 OK", success("1", `{"tools":[]}`))), calling("prompts/list", 2, answer("502 Bad Gateway", "text/html", htmlPage))), 0, "disconnect optional/outage", "pass-through optional/outage"},
	{"B38/quoted", in(handshake(), calling("prompts/list", 2, answer("502 Bad Gateway", "text/plain", quoted))), 0, "disconnect optional/outage", "pass-through optional/outage"},
	{"B38/call", in(handshake(), calling("tools/call", 2, answer("502 Bad Gateway", "text/html", htmlPage))), 0, "disconnect request/http-5xx", "pass-through request/http-5xx"},
	{"B39/optional reset", in(handshake(), calling("prompts/list", 2, "").ends(har.EndRST)), 0, "disconnect optional/transport-failure", "pass-through optional/transport-failure"},
	{"B39/call reset", in(handshake(), calling("tools/call", 2, "").ends(har.EndRST)), 0, "disconnect request/transport-failure", "pass-through request/transport-failure"},
	{"B39/optional cut", in(handshake(), calling("prompts/list", 2, stalledText).ends(har.EndRST)), 0, "disconnect optional/cut-body", "pass-through optional/cut-body"},
	{"B39/call cut", in(handshake(), calling("tools/call", 2, stalledText).ends(har.EndRST)), 0, "disconnect request/cut-body", "pass-through request/cut-body"},
}

// renewed is a call that meets a lost session, the handshake anew, and the call once more.
func renewed(again string) []step {
	return in(handshake(), calling("tools/call", 3, answer("404 Not Found", "application/json", `{"error":"`+gone+`"}`)),
		initializing(js("200 OK", success("0", initResult), "mcp-session-id: fedcba9876543210\r\n")),
		step{req: post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "mcp-session-id: fedcba9876543210\r\n", v2025), resp: answer("202 Accepted", "", "")},
		step{req: post(`{"method":"tools/call","params":{},"jsonrpc":"2.0","id":4}`, "mcp-session-id: fedcba9876543210\r\n", v2025), resp: again})
}

// sessionRows are the rows of gateway #20.
var sessionRows = []row{
	{"C1", in(handshake(), calling("tools/call", 3, js("404 Not Found", `{"error":"`+gone+`"}`))), 0, "reinitialize+retry-once session/expired", "pass-through session/expired"},
	{"C1/any body", in(handshake(), calling("tools/call", 3, answer("404 Not Found", "", ""))), 0, "reinitialize+retry-once session/expired", "pass-through session/expired"},
	{"C2/200", in(handshake(), calling("tools/call", 3, js("200 OK", failure("3", -32001, "Session not found")))), 0, "reinitialize+retry-once session/expired-in-band", "pass-through session/expired-in-band"},
	{"C2/any case", in(handshake(), calling("tools/call", 3, js("200 OK", failure("3", -32000, "UNKNOWN OR EXPIRED MCP SESSION")))), 0, "reinitialize+retry-once session/expired-in-band", "pass-through session/expired-in-band"},
	{"C2/sse, no JSON-RPC", in(handshake(), calling("tools/call", 3, sse(event(`{"error":"Session not found"}`)))), 0, "reinitialize+retry-once session/expired-in-band", "pass-through session/expired-in-band"},
	{"C2/http+sse", in(nil, httpSSE(event(success("0", initResult))), overMessages(initializing(answer("202 Accepted", "text/plain", "Accepted"))), overMessages(calling("tools/call", 3, answer("404 Not Found", "text/plain", "Session not found")))), 0,
		"reinitialize+retry-once session/expired-sse", "pass-through session/expired-sse"},
	{"C3", renewed(answer("404 Not Found", "", "")), 0, "pass-through session/expired-again", "pass-through session/expired-again"},
	{"C3/in band", renewed(js("200 OK", failure("4", -32001, "Session not found"))), 0, "pass-through session/failed-again-in-band", "pass-through session/failed-again-in-band"},
	{"C3/success", renewed(js("200 OK", success("4", `{"content":[]}`))), 0, "delivered request/delivered", "delivered request/delivered"},
	{"C4/error", in(handshake(), calling("tools/call", 3, js("200 OK", failure("3", -32602, "unknown tool")))), 0, "pass-through request/error-in-band", "pass-through request/error-in-band"},
	{"C4/result", in(handshake(), calling("tools/call", 3, js("200 OK", success("3", `{"content":[{"type":"text","text":"session not found"}],"isError":true}`)))), 0, "pass-through request/tool-error", "pass-through request/tool-error"},
	{"C5", in(handshake(), callingBare("tools/call", 3, js("404 Not Found", failure("3", -32001, "Session not found")))), 0, "pass-through request/http-4xx", "pass-through request/http-4xx"},
	{"C6/optional", in(one(probing(1, js("200 OK", discovered(probe1, `["2026-07-28"]`)))), callingModern("prompts/list", 1, js("404 Not Found", failure("1", -32601, noMethod)))), 0, "keep-connected optional/missing-method", "keep-connected optional/missing-method"},
	{"C6/call", in(one(probing(1, js("200 OK", discovered(probe1, `["2026-07-28"]`)))), callingModern("tools/call", 1, js("404 Not Found", failure("1", -32601, noMethod)))), 0, "pass-through request/http-4xx", "pass-through request/http-4xx"},
	{"C7/404", in(handshake(), step{req: del(), resp: answer("404 Not Found", "", "")}), 0, "clean-close session/close-declined", "pass-through session/close-failed"},
	{"C7/405", in(handshake(), step{req: del(), resp: answer("405 Method Not Allowed", "", "")}), 0, "clean-close session/close-declined", "clean-close session/close-declined"},
}

var laterRows = []row{
	{"request/ok", in(handshake(), calling("tools/call", 3, js("200 OK", success("3", `{"content":[]}`)))), 0, "delivered request/delivered", "delivered request/delivered"},
	{"request/401", in(handshake(), calling("tools/call", 3, answer("401 Unauthorized", "", ""))), 0, "auth-error request/auth", "pass-through request/auth"},
	{"request/307", in(handshake(), calling("tools/call", 3, answer("307 Temporary Redirect", "", "", "location: https://login.example.test/mcp\r\n"))), 0, "pass-through request/redirect", "pass-through request/redirect"},
	{"request/307 followed", in(handshake(), calling("tools/call", 3, answer("307 Temporary Redirect", "", "", "location: /other\r\n")), calling("tools/call", 3, js("200 OK", success("3", `{"content":[]}`))).to("http://mcp.example.test/other")), 3,
		"unspecified request/redirect-followed", "unspecified request/redirect-followed"},
	{"optional/307 followed", in(handshake(), calling("tools/list", 3, answer("307 Temporary Redirect", "", "", "location: /other\r\n")), calling("tools/list", 3, js("200 OK", success("3", `{"tools":[]}`))).to("http://mcp.example.test/other")), 3,
		"unspecified request/redirect-followed", "unspecified request/redirect-followed"},
	{"request/silence", in(handshake(), calling("tools/call", 3, "").ends(har.EndClientFIN)), 0, "timeout request/silence", "timeout request/silence"},
	{"request/stalled", in(handshake(), calling("tools/call", 3, stalledText).ends(har.EndClientFIN)), 0, "timeout request/stalled-body", "timeout request/stalled-body"},
	{"request/202", in(handshake(), calling("tools/call", 3, answer("202 Accepted", "", ""))), 0, "timeout request/accepted-202", "timeout request/accepted-202"},
	{"request/html", in(handshake(), calling("tools/call", 3, answer("200 OK", "text/html", htmlPage))), 0, "pass-through request/not-mcp-media-type", "pass-through request/not-mcp-media-type"},
	{"request/not json", in(handshake(), calling("tools/call", 3, js("200 OK", "nope"))), 0, "pass-through request/unusable-reply", "pass-through request/unusable-reply"},
	{"request/another id", in(handshake(), calling("tools/call", 3, js("200 OK", success("9", `{}`)))), 0, "timeout request/no-reply-in-body", "timeout request/no-reply-in-body"},
	{"request/stream cut after an id", in(handshake(), calling("tools/call", 3, sse("id: 1\ndata:\n\n"))), 0, "resume request/resume", "resume request/resume"},
	{"request/stream cut", in(handshake(), calling("tools/call", 3, sse(""))), 0, "timeout request/sse-no-reply", "timeout request/sse-no-reply"},
	{"request/stream silent", in(handshake(), calling("tools/call", 3, open(": ping\n\n")).ends(har.EndClientFIN)), 0, "timeout request/sse-silence", "timeout request/sse-silence"},
	{"request/reply on the resumed stream", in(handshake(), calling("tools/call", 3, sse("id: 1\ndata:\n\n")), step{req: get(session, "last-event-id: 1\r\n"), resp: sse("id: 2\n" + event(success("3", `{"content":[]}`)))}), 3,
		"delivered request/delivered", "delivered request/delivered"},
	{"request/length and chunked", in(handshake(), calling("tools/call", 3, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")), 0,
		"pass-through request/unusable-reply", "pass-through request/refused-framing"},
	{"request/large head", in(handshake(), calling("tools/call", 3, js("200 OK", success("3", `{}`), "x-big: "+string(make20k())+"\r\n"))), 0, "delivered request/delivered", "pass-through request/large-head"},
	{"request/100 unasked", in(handshake(), calling("tools/call", 3, "HTTP/1.1 100 Continue\r\n\r\n"+js("200 OK", success("3", `{}`)))), 0, "delivered request/delivered", "pass-through request/unasked-continue"},

	{"notification/202", in(handshake(), notifying(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, answer("202 Accepted", "", ""))), 0, "delivered notification/accepted", "delivered notification/accepted"},
	{"notification/401", in(handshake(), notifying(`{"jsonrpc":"2.0","method":"notifications/cancelled"}`, answer("401 Unauthorized", "", ""))), 0, "auth-error notification/auth", "pass-through notification/auth"},
	{"notification/404", in(handshake(), notifying(`{"jsonrpc":"2.0","method":"notifications/cancelled"}`, answer("404 Not Found", "", ""))), 0, "reinitialize notification/session-expired", "pass-through notification/session-expired"},
	{"notification/500", in(handshake(), notifying(`{"jsonrpc":"2.0","method":"notifications/cancelled"}`, answer("500 Internal Server Error", "", ""))), 0, "disconnect notification/http-5xx", "pass-through notification/http-5xx"},
	{"notification/307", in(handshake(), notifying(`{"jsonrpc":"2.0","method":"notifications/cancelled"}`, answer("307 Temporary Redirect", "", "", "location: https://login.example.test/mcp\r\n"))), 0, "pass-through notification/redirect", "pass-through notification/redirect"},
	{"initialized/307 followed", in(handshake()[:1], initialized1(answer("307 Temporary Redirect", "", "", "location: /other\r\n")), initialized1(answer("202 Accepted", "", "")).to("http://mcp.example.test/other")), 2, "unspecified initialized/redirect-followed", "unspecified initialized/redirect-followed"},
	{"notification/reset", in(handshake(), notifying(`{"jsonrpc":"2.0","method":"notifications/cancelled"}`, "").ends(har.EndRST)), 0, "disconnect notification/transport-failure", "pass-through notification/transport-failure"},
	{"notification/silence", in(handshake(), notifying(`{"jsonrpc":"2.0","method":"notifications/cancelled"}`, "").ends(har.EndClientFIN)), 0, "timeout notification/silence", "timeout notification/silence"},
	{"response/400", in(handshake(), notifying(`{"jsonrpc":"2.0","id":"srv-1","result":{}}`, js("400 Bad Request", failure(`"srv-1"`, -32600, "Invalid Request")))), 0, "pass-through notification/http-4xx", "pass-through notification/http-4xx"},

	{"get-stream/opened", in(handshake(), step{req: get(session), resp: open(": hello\n\n"), end: har.EndClientFIN}), 0, "delivered get-stream/opened", "delivered get-stream/opened"},
	{"get-stream/401", in(handshake(), step{req: get(session), resp: answer("401 Unauthorized", "", "")}), 0, "auth-error get-stream/auth", "post-only get-stream/auth"},
	{"get-stream/json", in(handshake(), step{req: get(session), resp: js("200 OK", "{}")}), 0, "post-only get-stream/not-event-stream", "post-only get-stream/not-event-stream"},
	{"get-stream/reset", in(handshake(), step{req: get(session), end: har.EndRST}), 0, "disconnect get-stream/transport-failure", "post-only get-stream/transport-failure"},
	{"get-stream/silence", in(handshake(), step{req: get(session), end: har.EndClientFIN}), 0, "post-only get-stream/silence", "post-only get-stream/silence"},
	{"get-stream/before initialize", in(one(step{req: get(), resp: answer("405 Method Not Allowed", "", "")}), handshake()...), 1, "post-only get-stream/unsupported", "post-only get-stream/unsupported"},

	{"sse-stream/401", one(step{req: get(), resp: answer("401 Unauthorized", "", "")}), 0, "auth-error sse-stream/auth", "auth-error sse-stream/auth"},
	{"sse-stream/reset", one(step{req: get(), end: har.EndRST}), 0, "network-error sse-stream/transport-failure", "network-error sse-stream/transport-failure"},
	{"sse-stream/silence", one(step{req: get(), end: har.EndClientFIN, wait: time.Second}), 0, "timeout sse-stream/silence", "timeout sse-stream/silence"},
	{"sse-stream/404", one(step{req: get(), resp: answer("404 Not Found", "", "")}), 0, "negotiation-error sse-stream/refused", "negotiation-error sse-stream/refused"},
	{"sse-stream/json", one(step{req: get(), resp: js("200 OK", "{}")}), 0, "negotiation-error sse-stream/not-event-stream", "negotiation-error sse-stream/not-event-stream"},
	{"sse-stream/opened", one(httpSSE("")), 0, "delivered sse-stream/opened", "delivered sse-stream/opened"},
	{"sse-stream/foreign endpoint", one(step{req: get(), resp: open("event: endpoint\ndata: http://elsewhere.test/x\n\n"), end: har.EndClientFIN}), 0, "negotiation-error sse-stream/foreign-endpoint", "negotiation-error sse-stream/foreign-endpoint"},
	{"sse-stream/no endpoint", one(step{req: get(), resp: open(": hi\n\n"), end: har.EndClientFIN}), 0, "timeout sse-stream/no-endpoint", "timeout sse-stream/no-endpoint"},

	{"resume/opened", in(handshake(), step{req: get(session, "last-event-id: 1\r\n"), resp: sse("")}), 0, "delivered resume/opened", "delivered resume/opened"},
	{"resume/404", in(handshake(), step{req: get(session, "last-event-id: 1\r\n"), resp: answer("404 Not Found", "", "")}), 0, "pass-through resume/refused", "pass-through resume/refused"},
	{"resume/reset", in(handshake(), step{req: get(session, "last-event-id: 1\r\n"), end: har.EndRST}), 0, "pass-through resume/failed", "pass-through resume/failed"},
	{"delete/200", in(handshake(), step{req: del(), resp: answer("200 OK", "", "")}), 0, "clean-close session/closed", "clean-close session/closed"},
	{"delete/500", in(handshake(), step{req: del(), resp: answer("500 Internal Server Error", "", "")}), 0, "pass-through session/close-failed", "pass-through session/close-failed"},
	{"delete/reset", in(handshake(), step{req: del(), end: har.EndRST}), 0, "pass-through session/close-unanswered", "pass-through session/close-unanswered"},
	{"oauth/metadata", in(handshake(), wellKnown(js("200 OK", "{}"))), 0, "delivered oauth/answered", "delivered oauth/answered"},
	{"oauth/404", in(handshake(), wellKnown(answer("404 Not Found", "", ""))), 0, "pass-through oauth/refused", "pass-through oauth/refused"},
	{"oauth/reset", in(handshake(), wellKnown("").ends(har.EndRST)), 0, "pass-through oauth/failed", "pass-through oauth/failed"},
}

func wellKnown(resp string) step {
	s := step{req: "GET /mcp HTTP/1.1\r\nhost: mcp.example.test\r\naccept: application/json\r\n\r\n", resp: resp}
	return s.to("http://mcp.example.test/.well-known/oauth-protected-resource")
}
