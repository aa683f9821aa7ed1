package analyze

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
)

// dated is an answer with a Date this long before it arrives; its step begins at second at of the scene.
func dated(resp string, at time.Duration) string {
	date := time.Date(2026, 10, 5, 9, 0, 0, 0, time.UTC).Add(at)
	return strings.Replace(resp, "\r\n", "\r\nDate: "+date.Format("Mon, 02 Jan 2006 15:04:05 GMT")+"\r\n", 1)
}

func fields(resp string, lines ...string) string {
	return strings.Replace(resp, "\r\n", "\r\n"+strings.Join(lines, "\r\n")+"\r\n", 1)
}

// asking changes the request of a step.
func (s step) asking(old, now string) step {
	if !strings.Contains(s.req, old) {
		panic("no " + old)
	}
	s.req = strings.Replace(s.req, old, now, 1)
	return s
}

// chunked frames the request with chunks, beside its length or instead of it.
func (s step) chunked(both bool) step {
	head, body, _ := strings.Cut(s.req, "\r\n\r\n")
	if !both {
		head = head[:strings.LastIndex(head, "\r\n")]
	}
	s.req = head + "\r\ntransfer-encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	return s
}

// repeating is a modern call with the header fields that repeat its body.
func repeating(method, name, body string) step {
	return step{
		req:  post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+body+`",`+meta+`}}`, v2026, "mcp-method: "+method+"\r\n", "mcp-name: "+name+"\r\n"),
		resp: js("200 OK", success("1", `{"content":[]}`)),
	}
}

const (
	pageOrigin = "origin: https://app.example.test\r\nsec-fetch-site: cross-site\r\n"
	preflights = "OPTIONS /mcp HTTP/1.1\r\nhost: mcp.example.test\r\norigin: https://app.example.test\r\naccess-control-request-method: POST\r\naccess-control-request-headers: content-type,mcp-protocol-version,mcp-session-id\r\n\r\n"
)

func cancelling(id string) step {
	return notifying(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`}}`, answer("202 Accepted", "", ""))
}

// TestFieldFindings holds which findings scenes from the field have, and that those which look like them and are sound
// have none.
func TestFieldFindings(t *testing.T) {
	result := success("3", `{"content":[]}`)
	call := calling("tools/call", 3, js("200 OK", result))
	browser := initializing(fields(js("200 OK", success("0", initResult), session), "access-control-allow-origin: *")).asking("content-type", pageOrigin+"content-type")
	refusedGET := step{req: get(), resp: answer("405 Method Not Allowed", "", "")}
	slowly := func(d time.Duration) step { return call.after(d) }
	unauthorized := answer("401 Unauthorized", "", "", "www-authenticate: Bearer resource_metadata=\"http://mcp.example.test/.well-known/oauth-protected-resource\"\r\n")
	wellKnown := func(path, resp string) step {
		return step{req: "GET " + path + " HTTP/1.1\r\nhost: mcp.example.test\r\n\r\n", resp: resp, url: "http://mcp.example.test" + path}
	}
	cutStream := func(d time.Duration) step {
		return step{req: get(session), resp: open(": hi\n\n"), end: har.EndRST, wait: d}
	}
	pings := strings.Repeat(": ping\n\n", 4)
	for _, c := range []struct {
		name  string
		scene []step
		want  string
	}{
		{"fields agree", one(repeating("tools/call", "echo", "echo")), ""},
		{"a name in base64", one(repeating("tools/call", "=?base64?ZcOpY2hv?=", "eécho")), ""},
		{"another name in the field", one(repeating("tools/call", "other", "echo")), "error client header-body-disagree"},
		{"another method in the field", one(repeating("tools/list", "echo", "echo")), "error client header-body-disagree"},
		{"-32020 without a reason", one(callingModern("tools/list", 1, js("400 Bad Request", failure("1", -32020, "Header mismatch")))), "warning server header-mismatch-unfounded"},
		{"Content-Type text/plain", in(handshake(), call.asking("content-type: application/json", "content-type: text/plain")), "warning client request-media-type"},
		{"Content-Type with a charset", in(handshake(), call.asking("content-type: application/json", "content-type: application/json; charset=utf-8")), ""},
		{"415 to JSON", one(initializing(answer("415 Unsupported Media Type", "", ""))), "error server media-type-refused"},

		{"request with length and chunked", in(handshake(), call.chunked(true)), "error client smuggling-shape"},
		{"request with chunks", in(handshake(), call.chunked(false)), ""},
		{"request with a space before a colon", in(handshake(), call.asking("host: ", "host : ")), "warning client http-framing-request"},
		{"answer with bare LF", in(handshake(), calling("tools/call", 3, strings.Replace(js("200 OK", result), "application/json\r\n", "application/json\n", 1))), "warning server http-framing"},
		{"answer with two lengths", in(handshake(), calling("tools/call", 3, fields(js("200 OK", result), "content-length: 2")).ends(har.EndFIN)), "error server smuggling-shape"},

		{"stream compressed", in(handshake(), calling("tools/call", 3, fields(sse(event(result)), "content-encoding: br"))), "error server body-undecodable, warning server sse-compressed"},
		{"stream with a length", in(handshake(), calling("tools/call", 3, answer("200 OK", "text/event-stream", event(result)))), "note server sse-length-declared"},
		{"JSON called a stream", in(handshake(), calling("tools/call", 3, answer("200 OK", "text/event-stream", result))), "error server sse-body-is-json"},
		{"a stream called JSON", in(handshake(), calling("tools/call", 3, js("200 OK", event(result)))), "error server json-body-is-sse"},

		{"413", in(handshake(), calling("tools/call", 3, answer("413 Content Too Large", "", ""))), "error server payload-too-large"},
		{"429", in(handshake(), calling("tools/call", 3, answer("429 Too Many Requests", "", "", "retry-after: 7\r\n"))), "warning server rate-limited"},
		{"the Host is refused", one(initializing(js("403 Forbidden", failure("null", -32000, "Invalid Host header: mcp.example.test")))), "error server host-refused"},
		{"403 by a check for robots", one(initializing(answer("403 Forbidden", "text/html", "<title>Just a moment...</title>", "server: cloudflare\r\ncf-mitigated: challenge\r\n"))), "error intermediary edge-refused"},
		{"403 with the page of what stands before", in(handshake(), calling("tools/call", 3, answer("403 Forbidden", "text/html", "<html><title>403 Forbidden</title><center>nginx</center></html>", "server: nginx\r\n"))), "error intermediary edge-refused"},
		{"403 with a page of the server's own", one(initializing(answer("403 Forbidden", "text/html", "<html>Sign in</html>", "server: nginx\r\n"))), "error unknown auth-required"},
		{"401 with a challenge through Cloudflare", one(initializing(answer("401 Unauthorized", "text/html", "<html>cloudflare</html>", "server: cloudflare\r\nwww-authenticate: Bearer\r\n"))), "error unknown auth-required, note server auth-resource-metadata-missing"},
		{"403 of another kind", one(initializing(js("403 Forbidden", failure("null", -32000, "no access from this host")))), "error unknown auth-required"},

		{"preflight refused", in(nil, step{req: preflights, resp: answer("405 Method Not Allowed", "", "")}), "error server cors-preflight-failed"},
		{"preflight without a field", in(nil, step{req: preflights, resp: answer("204 No Content", "", "", "access-control-allow-origin: *\r\naccess-control-allow-methods: POST\r\naccess-control-allow-headers: content-type, mcp-protocol-version\r\n")}), "error server cors-preflight-failed"},
		{"preflight granted", in(nil, step{req: preflights, resp: answer("200 OK", "", "", "access-control-allow-origin: https://app.example.test\r\naccess-control-allow-methods: GET, POST\r\naccess-control-allow-headers: *\r\n")}), ""},
		{"answer hidden by the browser", one(initializing(js("200 OK", success("0", initResult))).asking("content-type", pageOrigin+"content-type").ends(har.EndClientFIN)), "error server cors-origin-missing"},
		{"session id hidden by the browser", in(nil, browser, callingBare("tools/call", 3, fields(js("400 Bad Request", failure("null", -32000, "Bad Request: Mcp-Session-Id header is required")), "access-control-allow-origin: *")).asking("content-type", pageOrigin+"content-type")), "error server session-header-not-exposed"},

		{"session id dropped", in(handshake(), callingBare("tools/call", 3, js("400 Bad Request", failure("null", -32000, "Bad Request: Mcp-Session-Id header is required")))), "error client session-id-lost"},
		{"no session at all", in(stateless(), callingBare("tools/call", 3, js("200 OK", result))), ""},
		{"session id made up", in(stateless(), call), "warning client session-id-invented"},
		{"old session used on", in(in(renewed(js("200 OK", success("4", "{}"))), inSecond(toolList).after(2*time.Second)), calling("tools/call", 4, answer("404 Not Found", "", ""))), "note server session-expired, error client session-id-stale"},

		{"notification answered", in(handshake()[:1], initialized1(js("200 OK", `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}`))), "warning server notification-answered"},
		{"request without id", in(handshake(), notifying(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}`, answer("202 Accepted", "", ""))), "error client request-without-id"},
		{"notification with id", in(handshake(), notifying(`{"jsonrpc":"2.0","id":9,"method":"notifications/roots/list_changed"}`, js("200 OK", success("9", "{}")))), "warning client notification-with-id"},
		{"the reply in a 202", in(handshake(), calling("tools/call", 3, js("202 Accepted", result))), "error server reply-in-202-body"},
		{"a redirect without Location", in(handshake(), calling("tools/call", 3, answer("302 Found", "", ""))), "error server redirect-not-followed"},
		{"a notification led nowhere", in(handshake(), notifying(`{"jsonrpc":"2.0","method":"notifications/cancelled"}`, answer("302 Found", "", ""))), "warning server notification-refused"},
		{"a word of its own before the reply's event", in(handshake(), calling("tools/call", 3, sse("data: working\n\n"+event(success("3", "{}"))))), "warning server sse-event-not-rpc"},
		{"an object of its own before the reply's event", in(handshake(), calling("tools/call", 3, sse("data: {\"status\":\"working\"}\n\n"+event(success("3", `{"content":[]}`))))), "warning server sse-event-not-rpc"},
		{"a word of its own on the GET stream", in(handshake(), step{req: get(session), resp: open("data: hello\n\n"), end: har.EndClientFIN}), "warning server sse-event-not-rpc"},
		{"a BOM before JSON", in(handshake(), calling("tools/call", 3, js("200 OK", "\uFEFF"+success("3", "{}")))), "warning server byte-order-mark"},
		{"a BOM before an event stream", in(handshake(), calling("tools/call", 3, sse("\uFEFF"+event(success("3", "{}"))))), "note server byte-order-mark"},
		{"the id's number written otherwise", in(handshake(), calling("tools/call", 3, js("200 OK", success("3.0", "{}")))), "error server reply-id-type"},
		{"id in another type on a stream", in(handshake(), calling("tools/call", 3, sse(event(success(`"3"`, "{}"))))), "error server reply-id-type"},
		{"a good head and no good chunk", in(handshake(), calling("tools/call", 3, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n").ends(har.EndFIN)), "warning server http-framing, error server request-failed"},
		{"an outage with a page", one(initializing(answer("500 Internal Server Error", "text/html", "<html>oops</html>"))), "error server initialize-http-error"},
		{"id in another type", in(handshake(), calling("tools/call", 3, js("200 OK", success(`"3"`, "{}")))), "error server reply-id-type"},
		{"replied twice", in(handshake(), calling("tools/call", 3, sse(event(result)+event(result)))), "warning server reply-twice"},
		{"cancelled too late", in(handshake(), call, cancelling("3")), "note client cancelled-after-reply"},
		{"cancelled in time", in(handshake(), calling("tools/call", 3, "").ends(har.EndClientFIN).after(time.Second), cancelling("3")), "note client cancelled-call"},
		{"cancelled, an id of another type", in(handshake(), call, cancelling(`"3"`)), "note client cancel-unknown"},
		{"the server asks in vain", in(handshake(), step{req: get(session), resp: open(event(`{"jsonrpc":"2.0","id":"s1","method":"roots/list"}`)), end: har.EndStopped, wait: 10 * time.Millisecond}, call.after(20*time.Second)), ""},

		{"credentials refused", in(handshake(), calling("tools/call", 3, answer("401 Unauthorized", "", "", "www-authenticate: Bearer error=\"invalid_token\", error_description=\"expired\", resource_metadata=\"http://x\"\r\n")).asking("content-type", "authorization: Bearer abcdefgh\r\ncontent-type")), "warning client auth-credentials-refused"},
		{"scope", in(handshake(), calling("tools/call", 3, answer("403 Forbidden", "", "", "www-authenticate: Bearer error=\"insufficient_scope\", scope=\"mcp\"\r\n"))), "warning client auth-scope-insufficient"},
		{"no OAuth metadata", in(nil, initializing(unauthorized), wellKnown("/.well-known/oauth-protected-resource", answer("404 Not Found", "text/html", htmlPage)), wellKnown("/.well-known/oauth-authorization-server", answer("404 Not Found", "text/html", htmlPage))), "error unknown auth-required, error server oauth-metadata-missing"},
		{"OAuth metadata", in(nil, initializing(unauthorized), wellKnown("/.well-known/oauth-protected-resource", js("200 OK", `{"resource":"http://mcp.example.test/mcp","authorization_servers":["http://as.example.test"]}`))), "error unknown auth-required"},
		{"OAuth metadata is a page", in(nil, initializing(unauthorized), wellKnown("/.well-known/oauth-protected-resource", answer("200 OK", "text/html", htmlPage))), "error unknown auth-required, error server oauth-metadata-invalid"},

		{"redirect, then GET", in(nil, initializing(answer("301 Moved Permanently", "", "", "location: /mcp/\r\n")), step{req: "GET /mcp/ HTTP/1.1\r\nhost: mcp.example.test\r\n\r\n", resp: answer("405 Method Not Allowed", "", ""), url: endpointURL + "/"}), "error server redirect-drops-body"},
		{"redirect not followed", one(initializing(answer("307 Temporary Redirect", "", "", "location: /mcp/\r\n"))), "error server redirect-not-followed"},
		{"redirect followed", in(nil, initializing(answer("307 Temporary Redirect", "", "", "location: /mcp/\r\n")), initializing(js("200 OK", success("0", initResult))).to(endpointURL+"/"), step{req: strings.Replace(stateless()[1].req, "/mcp", "/mcp/", 1), resp: answer("202 Accepted", "", ""), url: endpointURL + "/"}), "note server redirect"},
		{"redirect to another origin", one(initializing(answer("308 Permanent Redirect", "", "", "location: https://other.example.test/mcp\r\n"))), "error server redirect-leaves-origin"},

		{"a reset behind a 405", in(nil, initializing("").ends(har.EndRST), refusedGET), "error server fallback-hides-cause, error server initialize-failed"},
		{"a healthy 405", in(stateless(), refusedGET), ""},
		{"GET every second", in(stateless(), refusedGET.after(time.Second), refusedGET.after(time.Second), refusedGET), "warning client get-stream-loop"},
		{"nothing offered", in(handshake(), calling("tools/list", 1, js("200 OK", failure("1", -32601, "no"))), calling("prompts/list", 2, js("200 OK", failure("2", -32601, "no"))), calling("resources/list", 3, js("200 OK", failure("3", -32601, "no")))), "warning server nothing-offered"},
		{"tools alone", in(handshake(), calling("tools/list", 1, js("200 OK", success("1", `{"tools":[]}`))), calling("prompts/list", 2, js("200 OK", failure("2", -32601, "no")))), ""},
		{"a POST to the stream's URL", in(nil, httpSSE(""), initializing(answer("405 Method Not Allowed", "", "")).to("http://mcp.example.test/sse")), "error server transport-mismatch-post"},
		{"GET twice", in(stateless(), refusedGET.after(time.Second), refusedGET), ""},

		{"dated long ago", in(in(nil, initializing(dated(js("200 OK", success("0", initResult), session), 0)), handshake()[1]), calling("tools/call", 3, dated(sse(event(result)), 0)).after(30*time.Second)), "warning intermediary stream-held-back"},
		{"a clock that is slow", in(in(nil, initializing(dated(js("200 OK", success("0", initResult), session), -time.Hour)), handshake()[1]), calling("tools/call", 3, dated(sse(event(result)), -time.Hour))), ""},
		{"pings at once", in(handshake(), calling("tools/call", 3, sse(pings+event(result))).after(40*time.Second)), "warning unknown stream-held-back"},
		{"a reply after silence", in(handshake(), calling("tools/call", 3, sse(": ping\n\n"+event(result))).after(40*time.Second)), ""},
		{"replies that take the same long time", in(handshake(), slowly(30*time.Second), slowly(30100*time.Millisecond), slowly(29900*time.Millisecond)), "warning intermediary constant-delay"},
		{"replies that take long", in(handshake(), slowly(30*time.Second), slowly(12*time.Second), slowly(7*time.Second)), ""},
		{"a reply after three minutes", in(handshake(), slowly(180*time.Second)), "note server reply-slow"},
		{"a gateway gives up", in(handshake(), calling("tools/call", 3, answer("504 Gateway Timeout", "text/html", htmlPage)).after(60*time.Second)), "error intermediary gateway-timeout"},
		{"streams of one age", in(handshake(), cutStream(60*time.Second), cutStream(60100*time.Millisecond), cutStream(59900*time.Millisecond)), "warning intermediary stream-age-limit"},
		{"streams of any age", in(handshake(), cutStream(60*time.Second), cutStream(20*time.Second), cutStream(7*time.Second)), ""},
		{"an old connection", in(handshake(), call.after(10*time.Second), calling("tools/call", 4, "").ends(har.EndRST)), "error server request-failed"},
		{"started anew", in(handshake(), call, calling("tools/call", 4, "").noted("upstream: refused"), calling("tools/call", 5, answer("404 Not Found", "", ""))), "note server server-restarted, error unknown server-unreachable, note server session-expired"},
	} {
		t.Run(c.name, func(t *testing.T) {
			checkScene(t, c.scene, c.want)
		})
	}
}

func checkScene(t *testing.T, scene []step, want string) {
	t.Helper()
	var got []string
	for _, f := range beyondConformance(analyzed(t, scene).Findings) {
		got = append(got, f.Severity+" "+f.Fault+" "+f.ID)
		checkFinding(t, &f, scene)
	}
	slices.SortFunc(got, func(a, b string) int {
		return strings.Compare(a[strings.LastIndex(a, " "):], b[strings.LastIndex(b, " "):])
	})
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}

// TestEvidenceIsExact holds the very bytes that some findings quote.
func TestEvidenceIsExact(t *testing.T) {
	result := success("3", `{"content":[]}`)
	for _, c := range []struct {
		id    string
		scene []step
		want  string
	}{
		{"header-body-disagree", one(repeating("tools/call", "other", "echo")), `"mcp-name: other" "\"echo\""`},
		{"http-framing", in(handshake(), calling("tools/call", 3, strings.Replace(js("200 OK", result), "application/json\r\n", "application/json\n", 1))), `"\n"`},
		{"smuggling-shape", in(handshake(), calling("tools/call", 3, fields(js("200 OK", result), "Content-Length: 2")).ends(har.EndFIN)), `"Content-Length: 2" "content-length: 48"`},
		{"session-id-invented", in(stateless(), calling("tools/call", 3, js("200 OK", result))), `"mcp-session-id: 0123456789abcdef"`},
		{"redirect-not-followed", one(initializing(answer("307 Temporary Redirect", "", "", "location: /mcp/\r\n"))), `"HTTP/1.1 307 Temporary Redirect\r\n" "location: /mcp/"`},
		{"reply-twice", in(handshake(), calling("tools/call", 3, sse(event(result)+event(result)))), fmt.Sprintf("%q %q", event(result), event(result))},
	} {
		r := analyzed(t, c.scene)
		i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.ID == c.id })
		if i < 0 {
			t.Errorf("no %s", c.id)
			continue
		}
		var got []string
		for _, e := range r.Findings[i].Evidence {
			raw := c.scene[e.Exchange-1].resp
			if e.Side == "request" {
				raw = c.scene[e.Exchange-1].req
			}
			got = append(got, fmt.Sprintf("%q", raw[e.Offset:e.Offset+e.Length]))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: got %s\nwant %s", c.id, s, c.want)
		}
	}
}

// TestIDWrittenOtherwise: 3 and 3.0 are of one type.
func TestIDWrittenOtherwise(t *testing.T) {
	for id, want := range map[string]string{"3.0": "the same number written otherwise", `"3"`: "another type"} {
		r := analyzed(t, in(handshake(), calling("tools/call", 3, js("200 OK", success(id, "{}")))))
		i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.ID == "reply-id-type" })
		if i < 0 || !strings.Contains(r.Findings[i].Message, want) {
			t.Errorf("id %s: want a message with %q, got %+v", id, want, r.Findings)
		}
	}
}
