package analyze

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
)

// TestFindings holds which findings a scene has, as "severity fault id", sorted by id.
func TestFindings(t *testing.T) {
	accepting := func(s step, accept string) step {
		s.req = strings.Replace(s.req, "application/json, text/event-stream", accept, 1)
		return s
	}
	resumed := step{req: get(session, "last-event-id: 7\r\n"), resp: sse(""), wait: time.Second}
	for _, c := range []struct {
		name  string
		scene []step
		want  string
	}{
		{"nothing wrong, modern", in(one(modernOK), callingModern("tools/list", 1, js("200 OK", success("1", `{"tools":[]}`)))), ""},
		{"nothing wrong, fallback", in(one(fellBack), in(handshake(), toolList)...), ""},
		{"nothing wrong, no stream", in(handshake(), step{req: get(session), resp: answer("405 Method Not Allowed", "", "")}, step{req: del(), resp: answer("405 Method Not Allowed", "", "")}), ""},
		{"A2", in(one(probing(1, js("200 OK", discovered(probe1, `["2025-11-25"]`)))), in(handshake(), toolList)...), "note unknown probe-no-common-version"},
		{"A4 again", in(nil, probing(1, js("400 Bad Request", unsupported(probe1, common))), probing(2, js("400 Bad Request", unsupported(`"server-discover-probe-2"`, common)))), "error server probe-version-refused-twice"},
		{"A5", one(probing(1, js("400 Bad Request", unsupported(probe1, disjoint)))), "error unknown probe-versions-disjoint"},
		{"A7", in(one(probing(1, js("400 Bad Request", unsupported(probe1, "")))), in(handshake(), toolList)...), "warning server probe-unsupported-list-unusable"},
		{"A8, client fails", one(probing(1, js("200 OK", errIDNull))), "error client policy-differs, error server probe-reply-id-null"},
		{"A8, client falls back", in(one(probing(1, js("200 OK", errIDNull))), in(handshake(), toolList)...), "note unknown policy-unexpected, warning server probe-reply-id-null"},
		{"A6", in(one(probing(1, js("400 Bad Request", unsupported(probe1, legacyOnly)))), in(handshake(), toolList)...), "warning server probe-versions-legacy-only"},
		{"A4 with id null", in(nil, probing(1, js("400 Bad Request", unsupported("null", common))), probing(2, js("200 OK", discovered(`"server-discover-probe-2"`, `["2026-07-28"]`)))), "warning server probe-reply-id-null"},
		{"A16 with id null", in(one(probing(1, js("404 Not Found", errIDNull))), in(handshake(), toolList)...), "warning server probe-reply-id-null"},
		{"A9", one(probing(1, js("200 OK", `{"jsonrpc":"2.0","id":`+probe1+`,"error":{"code":-32601,"message":"x"},"trace":"t"}`))), "error client policy-differs, error server probe-reply-invalid"},
		{"A10", one(probing(1, js("200 OK", ""))), "error client policy-differs, error server probe-reply-empty"},
		{"A11", one(probing(1, js("200 OK", "nope"))), "error client policy-differs, error server probe-reply-not-json"},
		{"A12", one(probing(1, answer("200 OK", "text/html", htmlPage))), "error client policy-differs, error server probe-media-type"},
		{"A13", one(probing(1, answer("202 Accepted", "", "")).ends(har.EndClientFIN)), "error client policy-differs, error server probe-accepted-202"},
		{"A15", one(probing(1, answer("503 Service Unavailable", "", ""))), "error client policy-differs, error server probe-http-5xx"},
		{"A17", one(probing(1, answer("401 Unauthorized", "", "", "www-authenticate: Bearer resource_metadata=\"http://x\"\r\n"))), "error unknown probe-auth"},
		{"A17 without a challenge", one(probing(1, answer("401 Unauthorized", "", ""))), "warning server auth-challenge-missing, error unknown probe-auth"},
		{"A17 but initialize accepted", in(one(probing(1, answer("403 Forbidden", "", ""))), in(handshake(), toolList)...), "note client policy-differs, note unknown policy-unexpected, note unknown probe-auth, error server probe-auth-inconsistent"},
		{"A18", one(probing(1, js("200 OK", discovered(probe1, `["2026-07-28"]`))[:140]).ends(har.EndRST)), "error server probe-reset-mid-body"},
		{"A19 refused", one(probing(1, "").noted("upstream: refused")), "error unknown server-unreachable"},
		{"A19 reset", one(probing(1, "").ends(har.EndRST)), "error server probe-reset"},
		{"A20", one(probing(1, "").ends(har.EndClientFIN).after(overTimeout)), "error server probe-silence"},
		{"A20 too late", one(probing(1, js("200 OK", discovered(probe1, `["2026-07-28"]`))).tooLate()), "note server answer-too-late, error server probe-silence"},
		{"A22", one(probing(1, sse(event(errIDNull)))), "error server probe-sse-reply-invalid"},
		{"A23", one(probing(1, sse(""))), "error server probe-sse-no-reply"},
		{"A24", one(probing(1, js("200 OK", "[]"))), "error server probe-reply-uncorrelated"},
		{"lone CR", one(probing(1, sse("data: "+discovered(probe1, `["2026-07-28"]`)+"\r\r"))), "error client policy-differs, warning server sse-event-odd"},

		{"B2 in a session", list(js("404 Not Found", missing)), "note server optional-method-missing, warning server session-or-method"},
		{"B2 without a session", in(stateless(), callingBare("prompts/list", 2, js("404 Not Found", missing))), "note server optional-method-missing"},
		{"B1", list(js("400 Bad Request", missing)), "note server optional-method-missing, warning server session-or-method"},
		{"B5", list(js("501 Not Implemented", missing)), "note server optional-method-missing, warning server session-or-method"},
		{"B8, the session in the URL", in(overSSEConnected(), overMessages(callingBare("prompts/list", 2, js("404 Not Found", missing)))), "note server optional-method-missing, warning server session-or-method"},
		{"C6, revision without sessions", in(one(modernOK), callingModern("prompts/list", 1, js("404 Not Found", missing))), ""},
		{"HTTP+SSE's usual acknowledgement", overSSEConnected(), ""},
		{"B16", list(js("503 Service Unavailable", missing)), "error server optional-method-outage"},
		{"B20", in(stateless(), callingBare("prompts/list", 2, answer("404 Not Found", "text/html", htmlPage))), "warning server optional-method-refused"},
		{"B28", list(js("200 OK", missing)), ""},
		{"B32", in(handshake(), step{req: get(session), resp: answer("400 Bad Request", "", "")}), "note server get-stream-unsupported"},
		{"B36", in(handshake(), step{req: get(session), resp: answer("500 Internal Server Error", "", "")}), "warning server get-stream-refused"},
		{"B39", in(handshake(), calling("tools/call", 2, "").ends(har.EndRST)), "error server request-failed"},
		{"reconnect loop", in(in(reconnecting(), reconnecting()...), reconnecting()...), "note server optional-method-missing, error client reconnect-loop"},
		{"one pause and quick connects are no loop", in(in(failing(30*time.Minute), failing(0)...), handshake()...), "error server request-http-5xx"},
		{"quick connects are a loop", in(in(failing(0), failing(0)...), handshake()...), "error server reconnect-loop, error server request-http-5xx"},
		{"a growing back-off is a loop", in(in(in(failing(time.Second), failing(2*time.Second)...), failing(4*time.Second)...), in(failing(8*time.Second), handshake()...)...), "error server reconnect-loop, error server request-http-5xx"},
		{"two connects are no loop", in(reconnecting(), reconnecting()...), "note server optional-method-missing"},

		{"C1, renewed and repeated once", renewed(js("200 OK", success("4", `{"content":[]}`))), "note server session-expired"},
		{"C1, the recording ends there", in(handshake(), calling("tools/call", 3, answer("404 Not Found", "", ""))), "note server session-expired"},
		{"C1, another connect begins there", in(in(handshake(), calling("tools/call", 3, answer("404 Not Found", "", ""))), modernOK), "note server session-expired"},
		{"C1, left at that", in(handshake(), calling("tools/call", 3, answer("404 Not Found", "", "")), step{req: del(), resp: answer("404 Not Found", "", "")}), "warning client session-not-renewed"},
		{"C1, the dead session used on", in(handshake(), calling("tools/call", 3, answer("404 Not Found", "", "")), calling("tools/call", 4, answer("404 Not Found", "", ""))), "error client session-not-renewed"},
		{"C1, renewed with the old id", in(handshake(), calling("tools/call", 3, answer("404 Not Found", "", "")), withSession(handshake()[0])), "note server session-expired, error client session-renewed-with-old-id"},
		{"C3", renewed(answer("404 Not Found", "", "")), "note server session-expired, warning server session-retry-failed"},
		{"C3, again and again", in(renewed(answer("404 Not Found", "", "")), again()...), "note server session-expired, warning client session-repeated-more-than-once, warning server session-retry-failed"},
		{"C1, not repeated", in(renewed("")[:5], inSecond(toolList)), "warning client session-call-not-repeated, note server session-expired"},
		{"C2 over HTTP+SSE, renewed", in(in(overSSEConnected(), overMessages(callingBare("tools/call", 3, answer("404 Not Found", "text/plain", "Session not found")))), in(overSSEConnected(event(success("3", `{}`))), overMessages(callingBare("tools/call", 3, answer("202 Accepted", "", ""))))...), "note server session-expired"},
		{"C2 over HTTP+SSE, the recording ends there", in(overSSEConnected(), overMessages(callingBare("tools/call", 3, answer("404 Not Found", "text/plain", "Session not found")))), "note server session-expired"},
		{"session on one replica of two", in(handshake(), calling("tools/call", 3, answer("404 Not Found", "", "")), toolList), "error server session-inconsistent"},
		{"session loss as 400", in(handshake(), calling("tools/call", 3, js("400 Bad Request", failure("null", -32000, "Bad Request: No valid session ID provided")))), "warning server request-http-4xx, warning server session-loss-misreported"},

		{"initialize is a page", one(initializing(answer("200 OK", "text/html", htmlPage))), "error server initialize-not-mcp-endpoint"},
		{"406, Accept too narrow", one(accepting(initializing(answer("406 Not Acceptable", "", "")), "text/event-stream")), "error client accept-rejected"},
		{"406, Accept right", one(initializing(answer("406 Not Acceptable", "", ""))), "error server accept-rejected"},
		{"redirect to a sign-in page", in(nil, initializing(answer("307 Temporary Redirect", "", "", "location: /signin\r\n")), initializing(answer("403 Forbidden", "text/html", htmlPage)).to("http://mcp.example.test/signin")),
			"error unknown auth-required, error server redirect-not-mcp"},
		{"the reply to a server's request refused", in(handshake(), notifying(`{"jsonrpc":"2.0","id":"srv-1","result":{}}`, answer("400 Bad Request", "", ""))), "error server reply-rejected"},
		{"resume loop", in(handshake(), resumed, resumed, resumed), "error server resume-loop"},
		{"the message endpoint's path lost", in(nil, httpSSE(""), overMessages(initializing(answer("404 Not Found", "text/plain", "no")))), "error server endpoint-path-mismatch"},
		{"an endpoint past the proxy", one(pastDoor("127.0.0.1:4242")), "error capture endpoint-past-proxy"},
		{"OAuth past the proxy", one(oauthPast("127.0.0.1:4242")), "error unknown auth-required, warning capture oauth-past-proxy"},
		{"OAuth without a proxy", one(oauthPast("mcp.example.test")), "error unknown auth-required"},
		{"an absolute endpoint without a proxy", one(pastDoor("mcp.example.test")), ""},
		{"POST refused, then HTTP+SSE", in(nil, initializing(answer("405 Method Not Allowed", "", "")).to(sseURL), httpSSE("")), "note unknown http-sse-fallback"},
		{"HTTP+SSE client at a POST-only server", one(step{req: get(), resp: answer("405 Method Not Allowed", "", "")}), "error unknown transport-mismatch"},
		{"stream ends without the reply", in(handshake(), calling("tools/call", 3, sse(""))), "error server sse-ended-without-reply"},
		{"stream open without the reply", in(handshake(), calling("tools/call", 3, open(": ping\n\n")).ends(har.EndClientFIN)), "error server sse-open-without-reply"},
		{"idle stream cut", in(handshake(), step{req: get(session), resp: open(""), end: har.EndRST, wait: 2 * time.Minute}), "warning intermediary stream-idle-cut"},
		{"ack with a body", in(handshake()[:1], initialized1(js("200 OK", "null"))), "note server notification-ack-nonconforming"},

		{"bytes after the end", in(handshake(), calling("tools/call", 3, js("200 OK", success("3", `{}`))+"stray").ends(har.EndFIN)), "warning server bytes-after-end"},
		{"length and chunked", in(handshake(), calling("tools/call", 3, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n26\r\n"+`{"jsonrpc":"2.0","id":3,"result":{  }}`+"\r\n0\r\n\r\n")), "error server smuggling-shape"},
		{"a key twice", in(handshake(), calling("tools/call", 3, js("200 OK", `{"jsonrpc":"2.0","id":9,"id":3,"result":{}}`))), "warning server duplicate-key"},
		{"does not decode", in(handshake(), calling("tools/call", 3, js("200 OK", "plain", "content-encoding: gzip\r\n"))), "error server body-undecodable"},
		{"a request, refused", in(handshake(), calling("tools/call", 2, "").noted("upstream: refused")), "error unknown server-unreachable"},
		{"an optional method, TLS failed", in(handshake(), calling("tools/list", 2, "").noted("upstream: tls")), "error unknown server-unreachable"},
		{"initialize, name not found", one(initializing("").noted("upstream: dns")), "error unknown server-unreachable"},
		{"a notification, unreachable", in(handshake(), notifying(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}`, "").noted("upstream: unreachable")), "error unknown server-unreachable"},
		{"answered by a TLS alert", one(initializing("\x15\x03\x01\x00\x02\x02\x16").ends(har.EndFIN)), "error client answer-not-http"},
		{"answered by HTTP/2", one(initializing("\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64").ends(har.EndClientFIN)), "error server answer-not-http"},
		{"answered by a banner", in(handshake(), calling("tools/call", 2, "SSH-2.0-OpenSSH_9.6\r\n").ends(har.EndClientFIN)), "error server answer-not-http"},
		{"a client that begins TLS", one(step{req: "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", end: har.EndClientFIN}), "error client request-not-http"},
		{"a client that begins HTTP/2", one(step{req: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", end: har.EndClientFIN}), "error client request-not-http"},
		{"TLS elsewhere is nobody's concern", in(handshake(), step{req: "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", url: "http://other.example.test/", server: "other.example.test:443", end: har.EndClientFIN}), ""},
		{"a head without an end", one(initializing("HTTP/1.1 200 OK\r\nx-filler: " + strings.Repeat("x", 9000)).ends(har.EndClientFIN).after(overTimeout)), "error server answer-head-unfinished"},
		{"a head broken off", one(initializing("HTTP/1.1 200 OK\r\ncontent-ty").ends(har.EndRST)), "error server answer-head-unfinished"},
		{"not UTF-8", in(handshake(), calling("tools/call", 2, js("200 OK", success("2", "{\"content\":[{\"type\":\"text\",\"text\":\"caf\xe9\"}]}")))), "warning server reply-not-utf8"},
		{"nested too deep to be read", in(handshake(), calling("tools/call", 2, js("200 OK", success("2", `{"a":`+strings.Repeat("[", 300)+strings.Repeat("]", 300)+"}")))), "note capture beyond-limit"},
		{"capture stopped", one(probing(1, "").ends(har.EndStopped)), "note capture capture-incomplete"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, f := range beyondConformance(analyzed(t, c.scene).Findings) {
				got = append(got, f.Severity+" "+f.Fault+" "+f.ID)
				checkFinding(t, &f, c.scene)
			}
			slices.SortFunc(got, func(a, b string) int {
				return strings.Compare(a[strings.LastIndex(a, " "):], b[strings.LastIndex(b, " "):])
			})
			if s := strings.Join(got, ", "); s != c.want {
				t.Errorf("got  %s\nwant %s", s, c.want)
			}
		})
	}
}

// checkFinding holds what every finding must have: words, an ID that is listed, evidence inside the bytes.
func checkFinding(t *testing.T, f *Finding, scene []step) {
	t.Helper()
	if f.Message == "" || f.Fix == "" || strings.ContainsAny(f.Message+f.Fix, "{}") || len(f.Exchanges) == 0 || f.Evidence == nil {
		t.Errorf("%s is not whole: %+v", f.ID, f)
	}
	if !slices.Contains(FindingIDs(), f.ID) {
		t.Errorf("%s is not among FindingIDs", f.ID)
	}
	for _, e := range f.Evidence {
		raw := scene[e.Exchange-1].resp
		if e.Side == "request" {
			raw = scene[e.Exchange-1].req
		}
		if e.Offset < 0 || e.Length <= 0 || e.Offset+e.Length > len(raw) {
			t.Errorf("%s: evidence %+v lies outside %d bytes", f.ID, e, len(raw))
		}
	}
}

// overSSEConnected connects over HTTP+SSE, to a server that acknowledges with a body.
func overSSEConnected(events ...string) []step {
	taken := answer("202 Accepted", "text/plain", "Accepted")
	return in(nil, httpSSE(event(success("0", initResult))+strings.Join(events, "")), overMessages(initializing(taken)), overMessages(initialized1(taken)))
}

// failing is a connect whose first call ends in an outage after this time.
func failing(d time.Duration) []step {
	return in(handshake(), calling("tools/call", 2, answer("503 Service Unavailable", "", "")).after(d))
}

// again is a client that renews its session once more, and calls once more in vain.
func again() []step {
	third := func(s step) step {
		s.req = strings.Replace(s.req, "fedcba9876543210", "aaaaaaaa76543210", 1)
		s.resp = strings.Replace(s.resp, "fedcba9876543210", "aaaaaaaa76543210", 1)
		return s
	}
	turn := renewed(answer("404 Not Found", "", ""))[3:]
	return in(nil, third(turn[0]), third(turn[1]), third(turn[2]))
}

// inSecond sends a step in the session that renewed began.
func inSecond(s step) step {
	s.req = strings.Replace(s.req, "0123456789abcdef", "fedcba9876543210", 1)
	return s
}

// reconnecting is one turn of a host that takes a missing method for a dead server.
func reconnecting() []step {
	gone := callingBare("prompts/list", 2, js("404 Not Found", missing)).after(95400 * time.Millisecond)
	return in(stateless(), callingBare("tools/list", 1, js("200 OK", success("1", `{"tools":[]}`))), gone)
}

func withSession(s step) step {
	s.req = strings.Replace(s.req, "content-length", session+"content-length", 1)
	return s
}

func TestLoopIsMeasured(t *testing.T) {
	r := analyzed(t, in(in(reconnecting(), reconnecting()...), reconnecting()...))
	i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.ID == "reconnect-loop" })
	f := r.Findings[i]
	if want := "the client connected 3 times, about every 95.4 s; each time after prompts/list was answered HTTP 404 with JSON-RPC error -32601, which is no reason to disconnect"; f.Message != want {
		t.Errorf("got  %s\nwant %s", f.Message, want)
	}
	if f.Cost.Requests != 4 || len(f.Evidence) != 2 {
		t.Errorf("cost %+v, evidence %+v", f.Cost, f.Evidence)
	}
}

func TestDifferenceIsPriced(t *testing.T) {
	r := analyzed(t, one(probing(1, answer("202 Accepted", "", "")).ends(har.EndClientFIN).after(overTimeout)))
	i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.ID == "policy-differs" })
	if want := "the probe burned 60.0 s, then failed; under recommended, rule probe/accepted-202, it would have fallen back to initialize at once"; r.Findings[i].Message != want {
		t.Errorf("got  %s\nwant %s", r.Findings[i].Message, want)
	}
	if r.Findings[i].Cost != (Cost{MS: 60000, Requests: 1}) {
		t.Errorf("cost %+v", r.Findings[i].Cost)
	}
}

// TestMessagesQuoteOneLine holds that a page does not spread over a message.
func TestMessagesQuoteOneLine(t *testing.T) {
	page := "<html>\r\n<head><title>404 Not\r\nFound</title></head>\r\n<body>" + strings.Repeat("<p>no</p>\r\n", 50) + "</body></html>"
	r := analyzed(t, in(stateless(), callingBare("prompts/list", 2, answer("404 Not Found", "text/html", page))))
	want := `prompts/list was answered HTTP 404 without a JSON-RPC 2.0 error -32601 (an HTML page, "404 Not Found"): nothing says that the method is missing, and hosts disconnect`
	if found := beyondConformance(r.Findings); len(found) != 1 || found[0].Message != want {
		t.Errorf("got %+v\nwant %s", found, want)
	}
	long := analyzed(t, in(handshake(), calling("tools/call", 2, answer("500 Internal Server Error", "text/plain", strings.Repeat("no\n", 500)))))
	if m := beyondConformance(long.Findings)[0].Message; len(m) > 200 || strings.ContainsAny(m, "\r\n") {
		t.Errorf("message of %d bytes: %q", len(m), m)
	}
}

// TestWaitsEndWithTheAnswer holds that a client's idle connection is no part of an exchange, and that a stream and an
// unanswered request last until the exchange ends.
func TestWaitsEndWithTheAnswer(t *testing.T) {
	const left = 4 * time.Second
	for _, c := range []struct {
		name string
		step step
		want time.Duration
	}{
		{"whole", probing(1, answer("503 Service Unavailable", "", "")), 10 * time.Millisecond},
		{"until the server closes", probing(1, "HTTP/1.1 503 Service Unavailable\r\n\r\nno").ends(har.EndFIN), left},
		{"cut", probing(1, stalledText).ends(har.EndRST), left},
		{"stalled", probing(1, stalledText).ends(har.EndClientFIN), left},
		{"stream", step{req: get(session), resp: open("")}.ends(har.EndClientFIN), left},
		{"hang", probing(1, "").ends(har.EndHang), left},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := exchanges(one(c.step))[0]
			if x.End == har.EndKeep {
				x.End = har.EndClientFIN
			}
			x.EndAt, x.EndOff = left, len(x.Response.Raw)
			if f := observe(x); f.finished.Sub(f.started) != c.want {
				t.Errorf("lasted %v, want %v", f.finished.Sub(f.started), c.want)
			}
		})
	}
}

// TestRefusalsNameTheirCause holds what a pinned client's error says beside the rule's text.
func TestRefusalsNameTheirCause(t *testing.T) {
	for _, c := range []struct {
		name, resp, want string
	}{
		{"A15", answer("503 Service Unavailable", "", ""), "HTTP 503 Service Unavailable"},
		{"A8", js("200 OK", errIDNull), `HTTP 200 OK; not a valid JSON-RPC message: id is null; JSON-RPC error -32700, "Parse Error"`},
		{"A3", js("200 OK", failure(probe1, -32601, "Method not found")), `HTTP 200 OK; JSON-RPC error -32601, "Method not found"`},
		{"A10", js("200 OK", ""), "HTTP 200 OK; the body is empty"},
		{"A11", js("200 OK", "nope"), `HTTP 200 OK; the body is no JSON: "nope"`},
		{"A12", answer("200 OK", "text/html", htmlPage), "HTTP 200 OK; media type text/html; an HTML page"},
		{"A5", js("400 Bad Request", unsupported(probe1, disjoint)), `HTTP 400 Bad Request; JSON-RPC error -32022, "Unsupported protocol version"; versions 2099-01-01`},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := analyzed(t, one(probing(1, c.resp)), "recommended-pin").Exchanges[0].Verdicts["recommended-pin"]
			if v.Verdict != "negotiation-error" || !strings.HasSuffix(v.Why, ": "+c.want) {
				t.Errorf("%s: %s\nwant it to end in %s", v.Verdict, v.Why, c.want)
			}
		})
	}
}

// TestSayingsExist holds that every finding that the code names is listed once.
func TestSayingsExist(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range otherFindings {
		if seen[s.id] {
			t.Errorf("%s stands twice", s.id)
		}
		seen[s.id] = true
	}
	nobody := &facts{head: noHead}
	for _, x := range slices.Concat(otherFindings, stdioFindings, notHTTPBy[:], requestNotHTTPBy[alienTLS:]) {
		nobody.say(x.message + x.fix)
	}
	p := policies().byName[Recommended]
	for _, x := range ruleFindings {
		nobody.say(x.message + x.fix)
		if !slices.ContainsFunc(p.Rules, func(r Rule) bool { return r.ID == x.rule }) {
			t.Errorf("finding %s stands for rule %s, which does not exist", x.id, x.rule)
		}
	}
}
