package analyze

import (
	"testing"

	"github.com/mcptap/mcptap/har"
)

// A hostRow is an answer and the verdict that a host's policy must give.
type hostRow struct {
	policy, name string
	scene        []step
	n            int
	want         string
}

func (r *hostRow) facts() *facts {
	f := observe(exchanges(r.scene)[r.n])
	if f.req.method == "server/discover" {
		f.class = probe
	}
	return f
}

// hostRows are answers beside those of testdata/hosts.json, and what the host was seen to do about them.
var hostRows = []hostRow{
	{aiSDK, "result", probed(js("200 OK", discovered("0", `["2026-07-28"]`))), 0, "modern@2026-07-28 probe/modern"},
	{aiSDK, "result over SSE", probed(sse(event(discovered("0", `["2026-07-28"]`)))), 0, "modern@2026-07-28 probe/modern"},
	{aiSDK, "SSE, lone CR at the end", probed(sse("data: " + discovered("0", `["2026-07-28"]`) + "\r\r")), 0, "timeout sse/lone-cr-at-end"},
	{aiSDK, "other versions", probed(js("200 OK", discovered("0", `["2099-01-01"]`))), 0, "legacy-fallback probe/other-result"},
	{aiSDK, "no resultType", probed(js("200 OK", success("0", `{"supportedVersions":["2026-07-28"],"capabilities":{}}`))), 0, "legacy-fallback probe/other-result"},
	{aiSDK, "input_required", probed(js("200 OK", success("0", `{"resultType":"input_required","supportedVersions":["2026-07-28"],"capabilities":{}}`))), 0, "legacy-fallback probe/other-result"},
	{aiSDK, "ttlMs a string", probed(js("200 OK", success("0", `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":"0"}`))), 0, "legacy-fallback probe/other-result"},
	{aiSDK, "ttlMs absent", probed(js("200 OK", success("0", `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}`))), 0, "modern@2026-07-28 probe/modern"},
	{aiSDK, "cacheScope unknown", probed(js("200 OK", success("0", `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"cacheScope":"all"}`))), 0, "legacy-fallback probe/other-result"},
	{aiSDK, "no capabilities", probed(js("200 OK", success("0", `{"resultType":"complete","supportedVersions":["2026-07-28"]}`))), 0, "legacy-fallback probe/other-result"},
	{aiSDK, "application/json-rpc", probed(answer("200 OK", "application/json-rpc", discovered("0", `["2026-07-28"]`))), 0, "modern@2026-07-28 probe/modern"},
	{aiSDK, "two media types", probed(answer("200 OK", "application/json, text/event-stream", failure("0", -32022, "x"))), 0, "negotiation-error probe/modern-error"},
	{aiSDK, "application/vnd.mcp+json", probed(answer("200 OK", "application/vnd.mcp+json", discovered("0", `["2026-07-28"]`))), 0, "legacy-fallback probe/not-mcp-media-type"},
	{aiSDK, "a call, application/json-rpc", in(handshake(), calling("tools/call", 5, answer("200 OK", "application/json-rpc", success("5", `{"content":[]}`)))), 2, "delivered request/delivered"},
	{aiSDK, "its id as a string", probed(js("200 OK", discovered(`"0"`, `["2026-07-28"]`))), 0, "modern@2026-07-28 probe/modern"},
	{aiSDK, "another id", probed(js("200 OK", failure("9", -32601, noMethod))), 0, "legacy-fallback probe/other-id"},
	{aiSDK, "another id over SSE", probed(sse(event(failure("9", -32601, noMethod)))), 0, "timeout probe/sse-no-reply"},
	{aiSDK, "no id", probed(js("200 OK", `{"jsonrpc":"2.0","error":{"code":-32601,"message":"x"}}`)), 0, "timeout probe/no-reply"},
	{aiSDK, "-32022 with a version in common", probed(js("200 OK", unsupported("0", common))), 0, "negotiation-error probe/modern-error"},
	{aiSDK, "503, -32022 with a version in common", probed(js("503 Service Unavailable", unsupported("0", common))), 0, "negotiation-error probe/modern-error-at-status"},
	{aiSDK, "400, -32022 of another id", probed(js("400 Bad Request", unsupported("9", common))), 0, "legacy-fallback probe/http-error"},
	{aiSDK, "400, -32022 of id null", probed(js("400 Bad Request", unsupported("null", common))), 0, "legacy-fallback probe/http-error"},
	{aiSDK, "400, -32022 without id", probed(js("400 Bad Request", `{"jsonrpc":"2.0","error":{"code":-32022,"message":"x"}}`)), 0, "negotiation-error probe/modern-error-at-status"},
	{aiSDK, "length twice", probed("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"), 0, "network-error probe/refused-framing"},
	{aiSDK, "421", probed(answer("421 Misdirected Request", "text/html", htmlPage)), 0, "network-error probe/misdirected"},
	{aiSDK, "100 unasked", probed("HTTP/1.1 100 Continue\r\n\r\n" + js("200 OK", discovered("0", `["2026-07-28"]`))), 0, "network-error probe/unasked-continue"},
	{aiSDK, "a folded field", probed(js("200 OK", discovered("0", `["2026-07-28"]`), "x-a: b\r\n c\r\n")), 0, "network-error probe/refused-by-node-24"},
	{"inspector-2.12.0-auto", "a folded field", one(probing(1, js("200 OK", discovered(probe1, `["2026-07-28"]`), "x-a: b\r\n c\r\n"))), 0, "network-error probe/refused-by-node-24"},
	{aiSDK, "error cut", one(probingAs("0", "HTTP/1.1 500 X\r\ncontent-length: 50\r\n\r\nx").ends(har.EndRST)), 0, "legacy-fallback probe/http-error"},
	{aiSDK, "initialize at 2026-07-28", one(initializing(js("200 OK", success("0", `{"protocolVersion":"2026-07-28","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`)))), 0, "delivered initialize/delivered"},
	{aiSDK, "initialize of another id", one(initializing(js("200 OK", success("9", initResult)))), 0, "negotiation-error initialize/other-id"},
	{aiSDK, "stream with an event id ends", in(handshake(), calling("tools/call", 5, sse("id: 1\ndata:\n\n"))), 2, "timeout request/resume"},
	{aiSDK, "call answered with another id", in(handshake(), calling("tools/call", 5, js("200 OK", success("9", `{"content":[]}`)))), 2, "pass-through request/other-id"},
	{mcporter, "initialize of another id", one(initializing(js("200 OK", success("9", initResult)))), 0, "timeout initialize/no-reply-in-json"},
	{mcporter, "initialize, an error on a stream that stays open", one(initializing(open(event(failure("0", -32603, "x")))).ends(har.EndClientFIN)), 0, "legacy-fallback initialize/try-http-sse-refused"},
	{mcporter, "initialize, an error at 202", one(initializing(js("202 Accepted", failure("0", -32603, "x")))), 0, "timeout initialize/accepted-202"},
	{mcporter, "initialize, a page that the client did not wait for", one(initializing(openPage).ends(har.EndClientRST)), 0, "legacy-fallback initialize/try-http-sse-unread"},
	{"langchain-mcp-adapters-1.1.4", "initialize, a page that the client did not wait for", one(initializing(openPage).ends(har.EndClientFIN)), 0, "negotiation-error initialize/unread-media"},
	{"supergateway-4.0.0", "a call, a page that the client did not wait for", in(handshake(), calling("tools/call", 5, openPage).ends(har.EndClientFIN)), 2, "pass-through request/unread-media"},
	{"langchain-mcp-adapters-1.1.4", "initialize, 404 whose body does not end", one(initializing(stalledPage).ends(har.EndClientFIN)), 0, "timeout initialize/stalled-error"},
	{"langchain-mcp-adapters-1.1.4", "initialized, 404 whose body does not end", in(handshake()[:1], initialized1(stalledPage).ends(har.EndClientFIN)), 1, "timeout initialized/stalled-body"},
	{"mcp-remote-0.15.1", "initialize, 404 whose body does not end", one(initializing(stalledPage).ends(har.EndClientFIN)), 0, "timeout initialize/stalled-error"},
	{"mcp-remote-0.15.1", "initialized, 404 whose body does not end", in(handshake()[:1], initialized1(stalledPage).ends(har.EndClientFIN)), 1, "timeout initialized/stalled-body"},
	{mcporter, "initialized, 404 whose body does not end", in(handshake()[:1], initialized1(stalledPage).ends(har.EndClientFIN)), 1, "timeout initialized/stalled-body"},
	{aiSDK, "initialize, a page that the client did not wait for", one(initializing(openPage).ends(har.EndClientFIN)), 0, "negotiation-error initialize/unread-media"},
	{aiSDK, "initialized, a page that the client did not wait for", in(handshake()[:1], initialized1(openPage).ends(har.EndClientFIN)), 1, "delivered initialized/accepted"},
	{aiSDK, "initialized, 404 whose body does not end", in(handshake()[:1], initialized1(stalledPage).ends(har.EndClientFIN)), 1, "timeout initialized/stalled-body"},
	{aiSDK, "a call, a page that the client did not wait for", in(handshake(), calling("tools/call", 5, openPage).ends(har.EndClientFIN)), 2, "pass-through request/unread-media"},
	{mcporter, "initialized, reset", in(handshake()[:1], initialized1("").ends(har.EndRST)), 1, "legacy-fallback initialized/try-http-sse-unanswered"},
}

const (
	aiSDK, mcporter = "ai-sdk-2.0.99", "mcporter-0.12.3"

	// Heads of answers whose bodies do not come.
	openPage    = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 500\r\n\r\n"
	stalledPage = "HTTP/1.1 404 Not Found\r\ncontent-type: text/html\r\ncontent-length: 500\r\n\r\n"
)

// probed is a probe with the id that clients other than TypeScript's begin with.
func probed(resp string) []step { return one(probingAs("0", resp)) }

func TestHostRows(t *testing.T) {
	for _, r := range hostRows {
		if v := policies().byName[r.policy].judge(r.facts()); v.Verdict+" "+v.Rule != r.want {
			t.Errorf("%s, %s: %s %s, want %s", r.policy, r.name, v.Verdict, v.Rule, r.want)
		}
	}
}
