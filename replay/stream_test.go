package replay

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcptap/mcptap/har"
)

const (
	openStream = "GET /sse HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n"
	endpoint   = "event: endpoint\ndata: /message?sessionId=abc\n\n"
)

// older is a session of HTTP+SSE (2024-11-05): a stream from 0 s on, an initialize at 1 s answered on it at 1.5 s, a
// notification at 3 s, a call at 4 s answered at 4.2 s, before the 202.
func older() []*har.Exchange {
	at := func(x *har.Exchange, s time.Duration) *har.Exchange { x.Started = epoch.Add(s); return x }
	stream := at(taped(1, openStream, har.EndClientFIN, sse, chunk(endpoint), chunk(event(result("0", `"init"`))),
		chunk(event(`{"jsonrpc":"2.0","method":"notifications/x"}`)), chunk(event(result("1", `"call"`)))), 0)
	for i, t := range []time.Duration{10 * ms, 20 * ms, 1500 * ms, 3000 * ms, 4200 * ms} {
		stream.Response.Writes[i].At = t
	}
	stream.EndAt = 10 * time.Second
	init := at(taped(2, postTo("/message?sessionId=abc", call("0", "initialize", "{}")), har.EndKeep, accepted), time.Second)
	tool := at(taped(3, postTo("/message?sessionId=abc", call("1", "tools/call", "{}")), har.EndKeep, accepted), 4*time.Second)
	tool.Response.Writes[0].At = 300 * ms
	return []*har.Exchange{stream, init, tool}
}

// On HTTP+SSE a reply comes on the stream after its request, whatever the clock says, at the recorded distance.
func TestStreamWaitsForRequests(t *testing.T) {
	note := chunk(event(`{"jsonrpc":"2.0","method":"notifications/x"}`))
	begin := []read{{10 * ms, sse}, {20 * ms, chunk(endpoint)}}
	for _, tt := range []struct {
		name       string
		pace       float64
		init, tool time.Duration // when these are sent
		ids        [2]string
		want       []read
	}{
		{"as recorded", 1, 1000 * ms, 4000 * ms, [2]string{"0", "1"}, []read{{1500 * ms, chunk(event(result("0", `"init"`)))}, {3000 * ms, note}, {4200 * ms, chunk(event(result("1", `"call"`)))}}},
		{"a slow client", 1, 60000 * ms, 70000 * ms, [2]string{"0", "1"}, []read{{60500 * ms, chunk(event(result("0", `"init"`)))}, {62000 * ms, note}, {70200 * ms, chunk(event(result("1", `"call"`)))}}},
		{"a quick client", 1, 100 * ms, 700 * ms, [2]string{"0", "1"}, []read{{600 * ms, chunk(event(result("0", `"init"`)))}, {2100 * ms, note}, {2100 * ms, chunk(event(result("1", `"call"`)))}}},
		{"fast", 0, 1000 * ms, 4000 * ms, [2]string{"0", "1"}, []read{{1000 * ms, chunk(event(result("0", `"init"`)))}, {1000 * ms, note}, {4000 * ms, chunk(event(result("1", `"call"`)))}}},
		{"other ids", 1, 1000 * ms, 4000 * ms, [2]string{"77", `"x"`}, []read{{1500 * ms, chunk(event(result("77", `"init"`)))}, {3000 * ms, note}, {4200 * ms, chunk(event(result(`"x"`, `"call"`)))}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &Player{Exchanges: older(), Pace: tt.pace}
			within(t, p, func(t *testing.T, l *pipes) {
				s := l.dial()
				io.WriteString(s, openStream)
				time.Sleep(tt.init)
				a := l.dial()
				io.WriteString(a, postTo("/message?sessionId=abc", call(tt.ids[0], "initialize", "{}")))
				time.Sleep(tt.tool - tt.init)
				io.WriteString(a, postTo("/message?sessionId=abc", call(tt.ids[1], "tools/call", "{}")))
				time.Sleep(time.Hour)
				first, second := ms, tt.tool-tt.init+300*ms
				want := append([]read(nil), begin...)
				if tt.pace == 0 {
					want[0].at, want[1].at = 0, 0
					first, second = 0, tt.tool-tt.init
				}
				expectReads(t, a, read{first, accepted}, read{second, accepted})
				expectReads(t, s, append(want, tt.want...)...)
			})
			if r := p.Result(); len(r.Misses)+len(r.Unserved) != 0 || (len(r.Patches) > 0) != (tt.ids[0] != "0") {
				t.Errorf("result: %+v", r)
			}
		})
	}
}

// Where ids may not be patched, a request that a stream answers under another id is a miss.
func TestStreamExact(t *testing.T) {
	p := &Player{Exchanges: older(), Exact: true}
	got := each(t, p, postTo("/message?sessionId=abc", call("5", "initialize", "{}")))
	if got[0] != "501" || p.Result().Misses[0].Differs != "id: recorded 0, sent 5, and ids are not patched when bytes are to be exact" {
		t.Errorf("got %q, result %+v", got, p.Result())
	}
}

// Events that one chunk or one write holds together wait one by one where they can: at the chunk.
func TestStreamGates(t *testing.T) {
	first, second := event(result("0", "1")), event(result("1", "2"))
	for _, tt := range []struct {
		name           string
		parts          []string // of the stream, behind its head
		before, middle string   // what comes before any request, and after the first
	}{
		{"one write of two chunks", []string{chunk(endpoint) + chunk(first) + chunk(second)}, chunk(endpoint), chunk(first)},
		{"one chunk", []string{chunk(endpoint + first + second)}, "", ""},
		{"an event in two chunks", []string{chunk(endpoint), chunk(first[:9]), chunk(first[9:] + second)}, chunk(endpoint), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			xs := older()
			xs[0] = taped(1, openStream, har.EndClientFIN, append([]string{sse}, tt.parts...)...)
			xs[0].Started = epoch
			for i := 1; i < len(xs[0].Response.Writes); i++ {
				xs[0].Response.Writes[i].At = 5 * time.Second
			}
			within(t, &Player{Exchanges: xs}, func(t *testing.T, l *pipes) {
				s, a := l.dial(), l.dial()
				all := func() (got string) {
					synctest.Wait()
					for _, r := range s.all() {
						got += r.text
					}
					return got
				}
				io.WriteString(s, openStream)
				if got, want := all(), sse+tt.before; got != want {
					t.Fatalf("at first: got %q, want %q", got, want)
				}
				a.Write(xs[1].Request.Raw)
				if got, want := all(), sse+tt.before+tt.middle; got != want {
					t.Fatalf("after one request: got %q, want %q", got, want)
				}
				a.Write(xs[2].Request.Raw)
				if got, want := all(), sse+strings.Join(tt.parts, ""); got != want {
					t.Fatalf("after two: got %q, want %q", got, want)
				}
			})
		})
	}
}

// A client that closes its stream while that waits for a request is let go.
func TestStreamLeftWaiting(t *testing.T) {
	p := &Player{Exchanges: older(), Pace: 1}
	within(t, p, func(t *testing.T, l *pipes) {
		s := l.dial()
		io.WriteString(s, openStream)
		time.Sleep(time.Hour)
		s.Close()
		synctest.Wait()
		p.mu.Lock()
		open := len(p.conns)
		p.mu.Unlock()
		if open != 0 {
			t.Errorf("%d connections are still served", open)
		}
	})
}

// Streamable HTTP: a resumed stream brings the answer to a call under the id that the live client gave it.
func TestResumedStream(t *testing.T) {
	x := taped(1, post(call("3", "tools/call", "{}"), "Mcp-Session-Id: s"), har.EndKeep, sse, chunk("id: c-1\nretry: 100\ndata:\n\n"), "0\r\n\r\n")
	resume := "GET /mcp HTTP/1.1\r\nMcp-Session-Id: s\r\nLast-Event-ID: c-1\r\nAccept: text/event-stream\r\n\r\n"
	y := taped(2, resume, har.EndFIN, sse, chunk("id: c-2\ndata: "+result("3", "{}")+"\n\n"), "0\r\n\r\n")
	p := &Player{Exchanges: []*har.Exchange{x, y}}
	addr, _ := play(t, p)
	c := dial(t, addr)
	c.send(post(call("44", "tools/call", "{}"), "Mcp-Session-Id: s"))
	c.expect(string(x.Response.Raw))
	c.send(resume)
	if got, _ := c.rest(); got != sse+chunk("id: c-2\ndata: "+result("44", "{}")+"\n\n")+"0\r\n\r\n" {
		t.Errorf("got %q", got)
	}
	if r := p.Result(); r.Served != 2 || len(r.Patches) != 2 || r.Patches[0].N != 2 {
		t.Errorf("result: %+v", r)
	}
}

// Two sessions of HTTP+SSE with the same ids do not open one another's gates.
func TestStreamsOfTwoSessions(t *testing.T) {
	xs := older()
	for i, x := range older() {
		x.N += 3
		x.Conn += 3
		raw := strings.ReplaceAll(string(x.Request.Raw), "abc", "xyz")
		x.Request.Raw = []byte(raw)
		x.Response.Raw = []byte(strings.ReplaceAll(string(x.Response.Raw), "abc", "xyz"))
		x.Started = x.Started.Add(time.Duration(i) * ms)
		xs = append(xs, x)
	}
	within(t, &Player{Exchanges: xs}, func(t *testing.T, l *pipes) {
		a, b, c := l.dial(), l.dial(), l.dial()
		io.WriteString(a, openStream)
		synctest.Wait()
		io.WriteString(b, openStream)
		synctest.Wait()
		c.Write(xs[4].Request.Raw)
		synctest.Wait()
		if n := len(a.all()); n != 2 {
			t.Errorf("the first stream has %d parts, want 2", n)
		}
		if n := len(b.all()); n != 4 {
			t.Errorf("the second stream has %d parts, want 4", n)
		}
	})
}

// A stream that is resumed after its call had come keeps its own clock.
func TestResumedStreamKeepsItsClock(t *testing.T) {
	x := taped(1, post(call("3", "tools/call", "{}")), har.EndKeep, sse, chunk("id: c-1\ndata:\n\n"), "0\r\n\r\n")
	resume := "GET /mcp HTTP/1.1\r\nLast-Event-ID: c-1\r\nAccept: text/event-stream\r\n\r\n"
	y := taped(2, resume, har.EndHang, sse, chunk(event(result("3", "{}"))))
	y.Response.Writes[1].At = 3 * time.Second
	within(t, &Player{Exchanges: []*har.Exchange{x, y}, Pace: 1}, func(t *testing.T, l *pipes) {
		a := l.dial()
		a.Write(x.Request.Raw)
		time.Sleep(time.Hour)
		b := l.dial()
		io.WriteString(b, resume)
		time.Sleep(time.Hour)
		expectReads(t, b, read{ms, sse}, read{3 * time.Second, chunk(event(result("3", "{}")))})
	})
}

// A server that asked the client something and needed the answer waits for it; one that pinged does not.
func TestStreamWaitsForResponses(t *testing.T) {
	for _, tt := range []struct {
		method string
		want   time.Duration
	}{{"elicitation/create", 60*time.Second + 500*ms}, {"sampling/createMessage", 60*time.Second + 500*ms}, {"ping", 2 * time.Second}} {
		t.Run(tt.method, func(t *testing.T) {
			ask, reply := chunk(event(call(`"s-1"`, tt.method, "{}"))), chunk(event(result("3", "{}")))
			x := taped(1, post(call("3", "tools/call", "{}")), har.EndKeep, sse, ask, reply)
			x.Started = epoch
			for i, at := range []time.Duration{10 * ms, 20 * ms, 2000 * ms} {
				x.Response.Writes[i].At = at
			}
			y := taped(2, post(result(`"s-1"`, "{}")), har.EndKeep, accepted)
			y.Started = epoch.Add(1500 * ms)
			p := &Player{Exchanges: []*har.Exchange{x, y}, Pace: 1}
			within(t, p, func(t *testing.T, l *pipes) {
				a, b := l.dial(), l.dial()
				io.WriteString(a, post(call("4", "tools/call", "{}")))
				time.Sleep(time.Minute)
				b.Write(y.Request.Raw)
				time.Sleep(time.Minute)
				expectReads(t, a, read{10 * ms, sse}, read{20 * ms, ask}, read{tt.want, chunk(event(result("4", "{}")))})
			})
			if r := p.Result(); len(r.Misses)+len(r.Unserved) != 0 || len(r.Patches) != 1 {
				t.Errorf("result: %+v", r)
			}
		})
	}
}
