package analyze

import (
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
)

// together lets clients of one host run their scenes at the same time, each on its own connection: in turns, the k-th step
// of each begins before the k+1-th of any.
func together(scenes ...[]step) []*har.Exchange {
	var laid [][]*har.Exchange
	for i, scene := range scenes {
		xs := exchanges(scene)
		for _, x := range xs {
			x.Conn += uint64(100 * i)
		}
		laid = append(laid, xs)
	}
	var out []*har.Exchange
	for k := 0; ; k++ {
		left := false
		for i, xs := range laid {
			if k < len(xs) {
				x := xs[k]
				x.N, x.Started = len(out)+1, xs[0].Started.Truncate(time.Second).Add(time.Duration(k)*20*time.Millisecond+time.Duration(i)*time.Millisecond)
				out, left = append(out, x), true
			}
		}
		if !left {
			return out
		}
	}
}

// TestClientsOfOneNameAtOnce: two clients with one name, address and endpoint are two conversations, whether the server
// gives no session, one to each, or the same to both.
func TestClientsOfOneNameAtOnce(t *testing.T) {
	bare := func(scene []step) (out []step) {
		for _, s := range scene {
			s.req, s.resp = strings.Replace(s.req, session, "", 1), strings.Replace(s.resp, session, "", 1)
			out = append(out, s)
		}
		return out
	}
	second := func(scene []step) (out []step) {
		for _, s := range scene {
			s.req = strings.Replace(s.req, "0123456789abcdef", "fedcba9876543210", 1)
			s.resp = strings.Replace(s.resp, "0123456789abcdef", "fedcba9876543210", 1)
			out = append(out, s)
		}
		return out
	}
	calls := in(handshake(), toolList, calling("tools/call", 2, js("200 OK", success("2", `{}`))), calling("tools/call", 3, js("200 OK", success("3", `{}`))))
	probed := in(one(fellBack), calls...)
	now := in(one(modernOK), callingModern("tools/list", 1, js("200 OK", success("1", `{"tools":[]}`))), callingModern("tools/call", 2, js("200 OK", success("2", `{}`))))
	for _, c := range []struct {
		name          string
		first, second []step
		outcome       Outcome
	}{
		{"no session", bare(calls), bare(calls), Legacy},
		{"a session each", calls, second(calls), Legacy},
		{"one session for both", calls, calls, Legacy},
		{"after a probe, no session", bare(probed), bare(probed), Legacy},
		{"after a probe, one session for both", probed, probed, Legacy},
		{"modern", now, now, Modern},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := Analyze(sequence(together(c.first, c.second)), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Conversations) != 2 {
				t.Fatalf("%d conversations, want 2", len(r.Conversations))
			}
			for _, v := range r.Conversations {
				if v.Observed.Outcome != c.outcome || v.Connects != 1 {
					t.Errorf("conversation %d: %d connects, observed %s, want %s", v.ID, v.Connects, v.Observed.Outcome, c.outcome)
				}
			}
			for i, x := range r.Exchanges {
				if x.Conversation != i%2+1 {
					t.Errorf("exchange %d (%s) is in conversation %d", x.N, x.Class, x.Conversation)
				}
			}
			if found := beyondConformance(r.Findings); len(found) != 0 {
				t.Errorf("findings %+v", found)
			}
		})
	}
}

// TestOneClientAgain: a client that begins anew after a failure is one conversation, also where it uses an old connection.
func TestOneClientAgain(t *testing.T) {
	bare := func(s step) step {
		s.req, s.resp = strings.Replace(s.req, session, "", 1), strings.Replace(s.resp, session, "", 1)
		return s
	}
	turn := in(nil, bare(handshake()[0]), bare(handshake()[1]), callingBare("tools/call", 2, answer("503 Service Unavailable", "", "")))
	r := analyzed(t, in(in(nil, turn...), in(nil, turn...)...))
	if len(r.Conversations) != 1 || r.Conversations[0].Connects != 2 {
		t.Errorf("%+v, want one conversation with two connects", r.Conversations)
	}
}

// TestLeavesLate: a client that has its answer goes on at once, and only later closes the connection on which the rest of the
// answer would come.
func TestLeavesLate(t *testing.T) {
	for _, c := range []struct{ name, answer string }{
		{"an error on a stream that stays open", open(event(failure(probe1, -32000, "err")))},
		{"a page that never ends", "HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 500\r\n\r\n<html>"},
		{"a text at 200 that never ends", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 500\r\n\r\nabc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			xs := exchanges(in(one(probing(1, c.answer).ends(har.EndClientFIN)), in(handshake(), toolList)...))
			xs[0].EndAt = time.Minute
			r, err := Analyze(sequence(xs), Options{})
			if err != nil {
				t.Fatal(err)
			}
			v := r.Conversations[0]
			if len(r.Conversations) != 1 || v.Connects != 1 || v.Observed.Outcome != Legacy {
				t.Errorf("%d conversations, %d connects, observed %s", len(r.Conversations), v.Connects, v.Observed.Outcome)
			}
		})
	}
}

// A bridge looks at what a GET is answered before it begins: that is no HTTP+SSE client, whatever comes.
func TestLooksAround(t *testing.T) {
	look := step{req: strings.Replace(get(), "accept: ", "accept: application/json, ", 1), resp: answer("200 OK", "text/html", htmlPage)}
	scene := in(in(nil, look, look), handshake()...)
	r := analyzed(t, scene)
	if len(r.Conversations) != 1 || r.Conversations[0].Connects != 1 || r.Conversations[0].Transport != "streamable-http" || r.Exchanges[0].Class != "get-stream" {
		t.Errorf("%d conversations, %+v", len(r.Conversations), r.Conversations[0])
	}
	if r := analyzed(t, in(nil, step{req: get(), resp: look.resp}, look)); len(r.Conversations) != 1 || r.Conversations[0].Connects != 2 {
		t.Errorf("HTTP+SSE: %d conversations, %d connects", len(r.Conversations), r.Conversations[0].Connects)
	}
}
