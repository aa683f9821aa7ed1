package replay

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// odd are answers that libraries change, and endings that they hide (docs/design.md, laws 1 and 4).
var odd = []struct {
	name     string
	request  string // post of a call if empty
	end      har.Ending
	response []string
}{
	{"plain", "", har.EndKeep, []string{ok(result("1", "{}"))}},
	{"header order and case", "", har.EndKeep, []string{"HTTP/1.1 200 OK\r\nx-Zeta: 1\r\nCONTENT-LENGTH: 2\r\nAccept: b\r\nx-zeta: 2\r\n\r\n{}"}},
	{"reason phrase", "", har.EndKeep, []string{"HTTP/1.1 200 Fine By Me\r\nContent-Length: 0\r\n\r\n"}},
	{"no reason phrase", "", har.EndKeep, []string{"HTTP/1.1 202\r\nContent-Length: 0\r\n\r\n"}},
	{"HTTP/1.0", "", har.EndFIN, []string{"HTTP/1.0 200 OK\r\n\r\nbody"}},
	{"chunk extensions and leading zeros", "", har.EndKeep, []string{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0002;a=b\r\n{}\r\n", "000\r\n\r\n"}},
	{"trailers", "", har.EndKeep, []string{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX-Sum: 1\r\n\r\n"}},
	{"103 and 102", "", har.EndKeep, []string{"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", "HTTP/1.1 102 Processing\r\n\r\n", ok("{}")}},
	{"100 that nobody asked for", "", har.EndKeep, []string{"HTTP/1.1 100 Continue\r\n\r\n" + ok("{}")}},
	{"gzip", "", har.EndKeep, []string{"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x00"}},
	{"obs-fold, bare LF, space before the colon", "", har.EndKeep, []string{"HTTP/1.1 200 OK\nX-A: 1\r\n  2\r\nX-B : 3\nContent-Length: 2\r\n\n{}"}},
	{"Content-Length and Transfer-Encoding", "", har.EndKeep, []string{"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"}},
	{"204 with a Content-Length", "", har.EndKeep, []string{"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n"}},
	{"bytes behind the answer", "", har.EndFIN, []string{ok("{}"), "garbage behind the body"}},
	{"HEAD", "HEAD /mcp HTTP/1.1\r\nHost: a\r\n\r\n", har.EndKeep, []string{"HTTP/1.1 200 OK\r\nContent-Length: 70\r\n\r\n"}},
	{"304", "GET /mcp HTTP/1.1\r\nHost: a\r\n\r\n", har.EndKeep, []string{"HTTP/1.1 304 Not Modified\r\nContent-Length: 70\r\n\r\n"}},
	{"FIN mid chunked", "", har.EndFIN, []string{sse, "8\r\nab"}},
	{"RST mid chunked", "", har.EndRST, []string{sse, "8\r\nab"}},
	{"RST mid stream, close-delimited", "", har.EndRST, []string{"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", "data: 1\n\n"}},
	{"FIN, close-delimited", "", har.EndFIN, []string{"HTTP/1.1 200 OK\r\n\r\nhe", "llo"}},
	{"RST, close-delimited", "", har.EndRST, []string{"HTTP/1.1 200 OK\r\n\r\nhe"}},
	{"FIN short of Content-Length", "", har.EndFIN, []string{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhe"}},
	{"RST short of Content-Length", "", har.EndRST, []string{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhe"}},
	{"FIN before the head", "", har.EndFIN, nil},
	{"RST before the head", "", har.EndRST, nil},
	{"FIN inside the head", "", har.EndFIN, []string{"HTTP/1.1 200 OK\r\nContent-"}},
	{"RST inside the head", "", har.EndRST, []string{"HTTP/1.1 200 OK\r\nContent-"}},
	{"complete answer, then RST", "", har.EndRST, []string{ok("{}")}},
	{"complete answer, then FIN", "", har.EndFIN, []string{ok("{}")}},
	{"FIN without close_notify over plain TCP", "", har.EndNoCloseNotify, []string{ok("{}")}},
	{"no answer, the client left", "", har.EndClientFIN, nil},
	{"no answer, the client reset", "", har.EndClientRST, nil},
	{"hang inside the head", "", har.EndHang, []string{"HTTP/1.1 200"}},
	{"hang mid body", "", har.EndStopped, []string{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhe"}},
	{"ending unknown", "", har.EndUnknown, []string{ok("{}")}},
	{"not HTTP", "", har.EndFIN, []string{"SSH-2.0-OpenSSH_9.9\r\n"}},
	{"invalid UTF-8 and NUL", "", har.EndKeep, []string{"HTTP/1.1 200 OK\r\nX: \xff\xfe\r\nContent-Length: 3\r\n\r\n\x00\xff\xc3"}},
	{"1 MiB", "", har.EndRST, []string{"HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n", strings.Repeat("0123456789abcdef", 1<<16)}},
}

// Every odd answer arrives byte for byte, with its ending; and the log of the replay says the same.
func TestOddExchanges(t *testing.T) {
	for _, tt := range odd {
		t.Run(tt.name, func(t *testing.T) {
			request := tt.request
			if request == "" {
				request = post(call("1", "tools/list", ""))
			}
			p := &Player{Exchanges: []*har.Exchange{taped(1, request, tt.end, tt.response...)}}
			addr, log := play(t, p)
			c := dial(t, addr)
			c.send(request)
			want := strings.Join(tt.response, "")
			serverEnds := tt.end == har.EndFIN || tt.end == har.EndRST || tt.end == har.EndNoCloseNotify
			if !serverEnds {
				c.expect(want)
				want = ""
				c.Conn.(interface{ CloseWrite() error }).CloseWrite()
			}
			got, end := c.rest()
			if got != want {
				t.Errorf("got %q\nwant %q", got, want)
			}
			c.Close()
			p.Close()
			sent, by, dir := log.side(1, wire.ToClient)
			if string(sent) != strings.Join(tt.response, "") {
				t.Errorf("log has %q as response", sent)
			}
			if asked, _, _ := log.side(1, wire.ToServer); string(asked) != request {
				t.Errorf("log has %q as request", asked)
			}
			switch {
			case !serverEnds && dir != wire.ToServer:
				t.Errorf("the server ended it first, by %s; recorded is %s", by, tt.end)
			case serverEnds && dir != wire.ToClient:
				t.Errorf("the client ended it first, by %s", by)
			case tt.end == har.EndRST && (end != har.EndRST || by != har.EndRST):
				t.Errorf("ended by %s, logged as %s, want rst", end, by)
			case serverEnds && tt.end != har.EndRST && (end != har.EndFIN || by != har.EndFIN):
				t.Errorf("ended by %s, logged as %s, want fin", end, by)
			}
			if r := p.Result(); r.Served != 1 || len(r.Misses)+len(r.Unserved)+len(r.Patches) != 0 {
				t.Errorf("result: %+v", r)
			}
		})
	}
}

// A client that has its answer may leave before the last bytes that are on their way; a replay sends these. What came
// because the client left, or long after, it does not send. One that has stayed has the whole answer then, and asks on.
func TestBytesBehindTheClientsLeaving(t *testing.T) {
	reply, end := chunk(event(result("1", "{}"))), "0\r\n\r\n"
	list, late := post(call("1", "tools/list", "")), post(call("1", "prompts/list", ""))
	for _, tt := range []struct {
		name, request string
		before, late  string
		after         time.Duration
		sent          bool
	}{
		{"the last chunk behind the reply", list, sse + reply, end, ms, true},
		{"the last chunk behind an answer under another id", list, sse + chunk(event(result(`"other"`, "{}"))), end, ms, true},
		{"behind a notification", list, sse + chunk(event(`{"jsonrpc":"2.0","method":"n"}`)), end, ms, false},
		{"long after", list, sse + reply, end, time.Second, false},
		{"a stream without a reply", list, sse + chunk(": hi\n\n"), end, ms, false},
		{"a stream that was opened", openStream, sse + reply, end, ms, false},
		{"the body of a refusal", list, "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\n", "nope", ms, true},
		{"an answer to a client that did not wait", list, "", ok("{}"), ms, true},
		{"a stream for a client that did not wait", openStream, "", sse + end, ms, false},
		{"an answer to a client that had given up", late, "", ok("{}"), ms, false},
		{"a head that was cut by a client that had given up", late, "HTTP/1.1 200 OK\r\n", "Content-Length: 0\r\n\r\n", ms, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := taped(1, tt.request, har.EndClientFIN, tt.before, tt.late)
			x.EndOff, x.EndAt = len(tt.before), 2*ms
			if tt.request == late {
				x.EndAt = 1500 * ms
			}
			x.Response.Writes[1].At = x.EndAt + tt.after
			next := post(call("2", "resources/list", ""))
			p := &Player{Exchanges: []*har.Exchange{x, taped(2, next, har.EndKeep, ok("2"))}}
			addr, _ := play(t, p)
			c := dial(t, addr)
			c.send(tt.request)
			c.expect(tt.before)
			if tt.sent {
				c.expect(tt.late)
				c.send(next)
				c.expect(ok("2"))
			}
			c.Conn.(*net.TCPConn).CloseWrite()
			if got, _ := c.rest(); got != "" {
				t.Errorf("got %q too", got)
			}
		})
	}
}
