package analyze

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
)

var (
	modernOK = probing(1, js("200 OK", discovered(probe1, `["2026-07-28"]`)))
	fellBack = probing(1, js("200 OK", failure(probe1, -32601, noMethod)))
	toolList = calling("tools/list", 1, js("200 OK", success("1", `{"tools":[]}`)))
)

// TestOutcomes holds what was observed of a first connect, and what policies predict of it, as
// "observed | recommended | ts-2.4.0", each an outcome; predictions with the rule, and "assumed" where they assume.
func TestOutcomes(t *testing.T) {
	stream := step{req: get(session), resp: answer("405 Method Not Allowed", "", "")}
	for _, c := range []struct {
		name  string
		scene []step
		want  string
	}{
		{"modern", in(one(modernOK), callingModern("tools/list", 1, js("200 OK", success("1", `{"tools":[]}`)))),
			"modern | modern probe/modern | modern probe/modern"},
		{"modern, nothing more", one(modernOK), "modern | modern probe/modern | modern probe/modern"},
		{"fallback", in(one(fellBack), in(handshake(), toolList)...), "legacy | legacy probe/rpc-error | legacy probe/rpc-error"},
		{"fallback without a request", in(one(fellBack), handshake()...), "legacy | legacy probe/rpc-error | legacy probe/rpc-error"},
		{"invalid reply, client of 2.4.0", one(probing(1, js("200 OK", errIDNull))), "failed | legacy probe/invalid-reply assumed | failed probe/invalid-reply"},
		{"invalid reply, client falls back", in(one(probing(1, js("200 OK", errIDNull))), in(handshake(), toolList)...), "legacy | legacy probe/invalid-reply | failed probe/invalid-reply"},
		{"silence", one(probing(1, "").ends(har.EndClientFIN).after(time.Second)), "failed | failed probe/silence | failed probe/silence"},
		{"401", one(probing(1, answer("401 Unauthorized", "", ""))), "failed | failed probe/auth | failed probe/auth"},
		{"401, then authorized", in(one(probing(1, answer("401 Unauthorized", "", ""))), authorized(modernOK)), "modern | modern probe/modern | modern probe/modern"},
		{"421, sent again by the HTTP library", in(in(nil, probing(1, answer("421 Misdirected Request", "", "")), probing(1, answer("421 Misdirected Request", "", ""))), in(handshake(), toolList)...),
			"legacy | legacy probe/http-4xx | legacy probe/http-4xx"},
		{"corrective retry", in(nil, probing(1, js("400 Bad Request", unsupported(probe1, common))), probing(2, js("200 OK", discovered(`"server-discover-probe-2"`, `["2026-07-28"]`)))),
			"modern | modern probe/modern | modern probe/modern"},
		{"corrective retry refused", in(nil, probing(1, js("400 Bad Request", unsupported(probe1, common))), probing(2, js("400 Bad Request", unsupported(`"server-discover-probe-2"`, common)))),
			"failed | failed probe/unsupported-version-again | failed probe/unsupported-version-again"},
		{"the same version refused and offered, no retry", one(probing(1, js("503 Service Unavailable", unsupported(probe1, common)))),
			"failed | failed probe/unsupported-version-again assumed | failed probe/http-5xx"},
		{"redirect followed", in(nil, probing(1, answer("307 Temporary Redirect", "", "", "location: /other\r\n")), modernOK.to("http://mcp.example.test/other")),
			"modern | modern probe/modern | modern probe/modern"},
		{"fallback, initialize fails", in(one(fellBack), initializing(answer("500 Internal Server Error", "", ""))), "failed | failed initialize/http-error | failed initialize/http-error"},
		{"fallback, initialized fails", in(one(fellBack), handshake()[0], initialized1(answer("500 Internal Server Error", "", ""))), "failed | failed initialized/http-error | failed initialized/http-error"},
		{"fallback, initialized fails, DELETE", in(one(fellBack), handshake()[0], initialized1(answer("400 Bad Request", "", "")), step{req: del(), resp: answer("200 OK", "", "")}),
			"failed | failed initialized/http-error | failed initialized/http-error"},
		{"no probe", in(handshake(), stream, toolList), "legacy | legacy initialize/delivered | legacy initialize/delivered"},
		{"no probe, stream before initialized", in(handshake()[:1], stream, handshake()[1], toolList), "legacy | legacy initialize/delivered | legacy initialize/delivered"},
		{"no probe, unsupported version", one(initializing(js("200 OK", success("0", `{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`)))),
			"failed | failed initialize/unsupported-version | failed initialize/unsupported-version"},
		{"no probe, a modern version accepted", in(one(initializing(js("200 OK", success("0", `{"protocolVersion":"2026-07-28","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`)))), handshake()[1], toolList),
			"modern | failed initialize/unsupported-version | failed initialize/unsupported-version"},
		{"stream hangs, initialized never sent", in(handshake()[:1], step{req: get(session), end: har.EndClientFIN, wait: time.Second}), "failed | legacy initialize/delivered assumed | legacy initialize/delivered assumed"},
		{"recording begins too late", one(toolList), "legacy | legacy request/delivered assumed | legacy request/delivered assumed"},
		{"modern without a probe", one(callingModern("tools/list", 1, js("200 OK", success("1", `{}`)))), "modern | modern request/delivered assumed | modern request/delivered assumed"},
		{"capture stopped", one(probing(1, "").ends(har.EndStopped)), "unknown | unknown  | unknown "},
		{"http+sse", in(nil, httpSSE(event(success("0", initResult))+event(success("1", `{"tools":[]}`))), overMessages(initializing(answer("202 Accepted", "", ""))), overMessages(initialized1(answer("202 Accepted", "", ""))), overMessages(calling("tools/list", 1, answer("202 Accepted", "", "")))),
			"legacy | legacy initialize/delivered | legacy initialize/delivered"},
		{"http+sse refused", one(step{req: get(), resp: answer("404 Not Found", "", "")}), "failed | failed sse-stream/refused | failed sse-stream/refused"},
		{"modern, the client resets behind the answer", one(modernOK.ends(har.EndClientRST)), "unknown | modern probe/modern | modern probe/modern"},
		{"a BOM before the reply, taken, nothing more", one(probing(1, js("200 OK", "\uFEFF"+discovered(probe1, `["2026-07-28"]`)))), "unknown | modern probe/modern | modern probe/modern"},
		{"an array of one, taken, nothing more", one(probing(1, js("200 OK", "["+discovered(probe1, `["2026-07-28"]`)+"]"))), "unknown | modern probe/modern | modern probe/modern"},
		{"junk before the reply's event, taken, nothing more", one(probing(1, sse("data: hello\n\n"+event(discovered(probe1, `["2026-07-28"]`))))), "unknown | modern probe/modern | modern probe/modern"},
		{"202 with the reply, which nobody reads", one(probing(1, js("202 Accepted", discovered(probe1, `["2026-07-28"]`)))), "failed | legacy probe/accepted-202 assumed | failed probe/accepted-202"},
		{"initialize, nothing more", handshake()[:1], "unknown | legacy initialize/delivered assumed | legacy initialize/delivered assumed"},
		{"fallback, initialize, nothing more", in(one(fellBack), handshake()[:1]...), "unknown | legacy probe/rpc-error assumed | legacy probe/rpc-error assumed"},
		{"http+sse, an endpoint of another origin, nothing more", in(nil, step{req: get(), resp: open("event: endpoint\ndata: http://other.example.test/messages\n\n"), end: har.EndClientFIN}.to(sseURL)),
			"failed | failed sse-stream/foreign-endpoint | failed sse-stream/foreign-endpoint"},
		{"http+sse, the endpoint, nothing more", in(nil, httpSSE("")), "unknown | legacy sse-stream/opened assumed | legacy sse-stream/opened assumed"},
		{"http+sse, initialize never answered", in(nil, httpSSE(""), overMessages(initializing(answer("202 Accepted", "", "")))), "failed | failed initialize/accepted-202 | failed initialize/accepted-202"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := analyzed(t, c.scene, Recommended, "ts-2.4.0").Conversations[0]
			got := string(v.Observed.Outcome)
			for _, name := range []string{Recommended, "ts-2.4.0"} {
				p := v.Predicted[name]
				got += fmt.Sprintf(" | %s %s", p.Outcome, p.Rule)
				if p.Assumed {
					got += " assumed"
				}
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestStreamFirst: go-sdk waits for the head of its stream's answer before notifications/initialized. What is wrong with the
// stream itself breaks the connection afterwards.
func TestStreamFirst(t *testing.T) {
	for _, c := range []struct {
		name   string
		stream step
		want   string
	}{
		{"reset", step{req: get(session), end: har.EndRST}, "failed get-stream/transport-failure"},
		{"silence", step{req: get(session), end: har.EndClientFIN, wait: time.Second}, "failed get-stream/silence"},
		{"503 in the media type of a stream", step{req: get(session), resp: answer("503 Service Unavailable", "text/event-stream", "")}, "legacy initialize/delivered"},
		{"500", step{req: get(session), resp: answer("500 Internal Server Error", "text/plain", "no")}, "legacy initialize/delivered"},
		{"broken off", step{req: get(session), resp: open(": hi\n\n"), end: har.EndRST}, "legacy initialize/delivered"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := analyzed(t, in(handshake()[:1], c.stream, handshake()[1], toolList), "go-1.8.0").Conversations[0].Predicted["go-1.8.0"]
			if got := string(d.Outcome) + " " + d.Rule; got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func authorized(s step) step {
	s.req = message1("POST", `{"jsonrpc":"2.0","id":`+probe1+`,"method":"server/discover","params":{`+meta+`}}`, []string{v2026, "authorization: Bearer x\r\n"})
	return s
}

// TestOddAnswerOfAnotherClient: what a client makes of an odd answer, where the recording ends with it, is that which it
// is known to; of a client that nothing tells, it is left open as long as any known one takes the answer.
func TestOddAnswerOfAnotherClient(t *testing.T) {
	bom := "\uFEFF" + discovered(`"probe"`, `["2026-07-28"]`)
	for _, c := range []struct {
		name, client string
		want         Outcome
	}{{"takes it", "ts-2.4.0", Unknown}, {"refuses it", "go-1.8.0", Failed}, {"not recognised", "", Unknown}} {
		t.Run(c.name, func(t *testing.T) {
			r, err := Analyze(sequence(exchanges(one(probingAs(`"probe"`, js("200 OK", bom))))), Options{Client: c.client})
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Conversations[0].Observed.Outcome; got != c.want {
				t.Errorf("observed %s, want %s", got, c.want)
			}
			if c.want == Unknown && len(r.Findings) > 0 && slices.ContainsFunc(r.Findings, func(x Finding) bool { return x.ID == "policy-differs" }) {
				t.Errorf("the client is accused: %+v", r.Findings)
			}
		})
	}
}

func TestObserved(t *testing.T) {
	got := analyzed(t, in(one(fellBack.after(time.Second)), in(handshake(), toolList)...)).Conversations[0]
	want := Observed{Outcome: Legacy, Version: "2025-11-25", InitializeSent: true, WaitMS: 1020}
	if got.Observed != want {
		t.Errorf("observed %+v, want %+v", got.Observed, want)
	}
	if got.Server.Name != "example-server" || got.Server.Version != "1.2.0" || got.Client.Name != "example-host" {
		t.Errorf("server %+v, client %+v", got.Server, got.Client)
	}
}

// TestConversations holds how exchanges are put together: conversations, and the connects of each.
func TestConversations(t *testing.T) {
	other := `{"name":"second-host","version":"1"}`
	second := initializing(js("200 OK", success("0", initResult)))
	second.req = post(`{"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":` + other + `},"jsonrpc":"2.0","id":0}`)
	reconnect := in(in(one(fellBack), in(handshake(), toolList)...), in(one(fellBack), in(handshake(), toolList)...)...)
	sessionB := "mcp-session-id: fedcba9876543210\r\n"
	for _, c := range []struct {
		name  string
		scene []step
		want  []int // connects of each conversation
	}{
		{"one", in(handshake(), toolList), []int{1}},
		{"a client connects again", reconnect, []int{2}},
		{"probe ids begin anew", in(nil, probing(1, "").ends(har.EndRST), probing(1, "").ends(har.EndRST)), []int{2}},
		{"probe ids go on", in(nil, probing(1, "").ends(har.EndRST), probing(2, js("200 OK", discovered(`"server-discover-probe-2"`, `["2026-07-28"]`)))), []int{1}},
		{"two names", in(handshake(), second), []int{1, 1}},
		{"two addresses", in(handshake(), handshake()[0].from("10.0.0.2")), []int{1, 1}},
		{"two endpoints", in(handshake(), handshake()[0].to("http://mcp.example.test/second")), []int{1, 1}},
		{"two instances of one client", in(handshake(), initializing(js("200 OK", success("0", initResult), sessionB)),
			step{req: post(`{"method":"tools/list","params":{},"jsonrpc":"2.0","id":1}`, sessionB, v2025), resp: js("200 OK", success("1", `{}`))}, toolList), []int{1, 1}},
		{"a straggler of a dead session", in(handshake(), initializing(js("200 OK", success("0", initResult), sessionB)), calling("tools/call", 9, answer("404 Not Found", "", ""))), []int{2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []int
			for i, v := range analyzed(t, c.scene).Conversations {
				got = append(got, v.Connects)
				if v.ID != i+1 {
					t.Errorf("conversation %d has id %d", i+1, v.ID)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("connects %v, want %v", got, c.want)
			}
		})
	}
}

func TestForeignTrafficIsLeftOut(t *testing.T) {
	page := step{req: "GET /mcp HTTP/1.1\r\nhost: www.example.test\r\naccept: text/html\r\n\r\n", resp: answer("200 OK", "text/html", htmlPage), url: "http://www.example.test/"}
	scene := in(handshake(), page)
	if r := analyzed(t, scene); len(r.Exchanges) != 2 {
		t.Errorf("%d exchanges, want the 2 of MCP", len(r.Exchanges))
	}
	r, err := Analyze(sequence(exchanges(scene)), Options{AllHTTP: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Exchanges) != 3 || r.Exchanges[2].Class != "other" || r.Exchanges[2].Conversation != 0 || len(r.Exchanges[2].Verdicts) != 0 {
		t.Errorf("with all HTTP: %+v", r.Exchanges[len(r.Exchanges)-1])
	}
}

func TestUnknownPolicy(t *testing.T) {
	if _, err := Analyze(sequence(nil), Options{Policies: []string{"nobody"}}); err == nil {
		t.Error("a policy that does not exist was accepted")
	}
	if _, err := Analyze(func(yield func(*har.Exchange, error) bool) { yield(nil, fmt.Errorf("torn")) }, Options{}); err == nil {
		t.Error("an error of the sequence was lost")
	}
}
