package caller

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// A recorded exchange: what was asked and answered, when it began, and how long it was under way.
type recorded struct {
	request, response string
	at, took          time.Duration
	end               har.Ending
	hidden, kind      string // in the request, what redaction has put there
}

func recording(list []recorded) (xs []*har.Exchange) {
	for i, r := range list {
		x := &har.Exchange{N: i + 1, Conn: uint64(i + 1), Seq: 1, Started: time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC).Add(r.at), End: har.EndKeep}
		x.Request = har.Side{Raw: []byte(r.request), Writes: []har.Write{{Len: len(r.request)}}}
		x.Response = har.Side{Raw: []byte(r.response), Writes: []har.Write{{Len: len(r.response)}}}
		if r.end != "" {
			x.End, x.EndAt, x.EndOff = r.end, r.took, len(r.response)
		}
		if r.hidden != "" {
			x.Redacted = []har.Redaction{{Dir: wire.ToServer, Off: strings.Index(r.request, r.hidden), Len: len(r.hidden), Kind: r.kind}}
		}
		har.FillDerived(x, "http://recorded.test")
		xs = append(xs, x)
	}
	return xs
}

func posted(target, body string, fields ...string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: recorded.test\r\n%sContent-Length: %d\r\n\r\n%s", target, strings.Join(fields, ""), len(body), body)
}

func answered200(body string, fields ...string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s", strings.Join(fields, ""), len(body), body)
}

const streaming = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

func TestCarriedOver(t *testing.T) {
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	tests := []struct {
		name  string
		was   []recorded
		now   []string // live answers
		sent  string   // must stand in the second request
		notes string
	}{
		{"session", []recorded{{request: posted("/mcp", list), response: answered200("{}", "Mcp-Session-Id: old\r\n")}, {request: posted("/mcp", list, "mcp-session-id: old\r\n"), response: answered200("{}"), at: 1}},
			[]string{answered200("{}", "mcp-session-id: a-longer-one\r\n"), answered200("{}")}, "\r\nmcp-session-id: a-longer-one\r\n", ""},
		{"cursor", []recorded{{request: posted("/mcp", list), response: answered200(`{"jsonrpc":"2.0","id":1,"result":{"nextCursor":"old"}}`)},
			{request: posted("/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"old","old":"old"}}`), response: answered200("{}"), at: 1}},
			[]string{answered200(`{"jsonrpc":"2.0","id":1,"result":{"nextCursor":"a-longer-one"}}`), answered200("{}")}, `"params":{"cursor":"a-longer-one","old":"old"}}`, ""},
		{"id of the server's request", []recorded{{request: posted("/mcp", list), response: streaming + "data: {\"jsonrpc\":\"2.0\",\"id\":\"old\",\"method\":\"roots/list\"}\n\n", end: har.EndClientFIN, took: time.Hour},
			{request: posted("/mcp", `{"jsonrpc":"2.0","id":"old","result":{"roots":[]}}`), response: answered200(""), at: 1}},
			[]string{streaming + "data: {\"jsonrpc\":\"2.0\",\"id\":12345678,\"method\":\"roots/list\"}\n\n", answered200("")}, `{"jsonrpc":"2.0","id":12345678,"result":{"roots":[]}}`, ""},
		{"endpoint", []recorded{{request: "GET /mcp HTTP/1.1\r\nHost: a\r\n\r\n", response: streaming + "event: endpoint\ndata: /messages?id=old\n\n", end: har.EndClientFIN, took: time.Hour},
			{request: posted("/messages?id=old", list), response: answered200("{}"), at: 1}},
			[]string{streaming + "event: endpoint\ndata: /other?id=new\n\n", answered200("{}")}, "POST /other?id=new HTTP/1.1\r\n", ""},
		{"event id", []recorded{{request: "GET /mcp HTTP/1.1\r\nHost: a\r\n\r\n", response: streaming + "id: old\ndata: {}\n\n", end: har.EndClientFIN, took: time.Hour},
			{request: "GET /mcp HTTP/1.1\r\nHost: a\r\nLast-Event-ID: old\r\n\r\n", response: answered200("{}"), at: 1}},
			[]string{streaming + "id: new\ndata: {}\n\n", answered200("{}")}, "\r\nLast-Event-ID: new\r\n", ""},
		{"token", []recorded{{request: posted("/token", "grant_type=x"), response: answered200(`{"access_token":"old"}`)}, {request: posted("/mcp", list, "Authorization: Bearer old\r\n"), response: answered200("{}"), at: 1, hidden: "old", kind: "authorization"}},
			[]string{answered200(`{"access_token":"of-the-test"}`), answered200("{}")}, "\r\nAuthorization: Bearer of-the-test\r\n", ""},
		{"a secret that is lost", []recorded{{request: posted("/mcp", list), response: answered200("{}")}, {request: posted("/mcp", list, "X-Api-Key: xxxx\r\n"), response: answered200("{}"), at: 1, hidden: "xxxx", kind: "key"}},
			[]string{answered200("{}"), answered200("{}")}, "\r\nX-Api-Key: xxxx\r\n", "sent without its secret (key), which the recording does not hold"},
		{"a chunked body", []recorded{{request: posted("/mcp", list), response: answered200(`{"jsonrpc":"2.0","id":1,"result":{"nextCursor":"old"}}`)},
			{request: "POST /mcp HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n43\r\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{\"cursor\":\"o\r\n6\r\nld\"}  \r\n1\r\n}\r\n0\r\n\r\n", response: answered200("{}"), at: 1}},
			[]string{answered200(`{"jsonrpc":"2.0","id":1,"result":{"nextCursor":"new"}}`), answered200("{}")}, `"params":{"cursor":"new"}  }`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStub(t, func(n int, c net.Conn, _ *http.Request, _ []byte) bool {
				fmt.Fprint(c, tt.now[n-1])
				return true
			})
			pairs, err := resend(t, s).Run(recording(tt.was))
			if err != nil || len(pairs) != 2 || len(s.raw) != 2 {
				t.Fatalf("%d pairs, %d requests, %v", len(pairs), len(s.raw), err)
			}
			if !strings.Contains(string(s.raw[1]), tt.sent) {
				t.Errorf("sent %q\nwant in it %q", s.raw[1], tt.sent)
			}
			if got := strings.Join(pairs[1].Notes, "; "); got != tt.notes {
				t.Errorf("notes %q, want %q", got, tt.notes)
			}
		})
	}
}

func resend(t *testing.T, s *stub) *Resend {
	t.Helper()
	u, err := url.Parse("http://" + s.Addr().String() + "/mcp")
	if err != nil {
		t.Fatal(err)
	}
	return &Resend{Caller: s.caller(t), URL: u, Wait: 20 * time.Second}
}

// What is recorded goes out as it was, but for the endpoint and the user's header lines.
func TestResendLeavesBytesAlone(t *testing.T) {
	odd := "POST  /mcp?a=b HTTP/1.1\r\nHOST:recorded.test\r\nx-odd:\t 1 \r\nContent-length: 002\r\n\r\n{}"
	odd = strings.Replace(odd, "POST  ", "POST ", 1)
	s := newStub(t, good)
	r := resend(t, s)
	r.URL.Path = "/api/mcp"
	r.Header = []string{"X-Odd: 2", "Authorization: Bearer of-the-test"}
	xs := recording([]recorded{{request: posted("/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`), response: answered200("")}, {request: odd, response: answered200("{}"), at: 1}})
	if _, err := r.Run(xs); err != nil {
		t.Fatal(err)
	}
	want := "POST /api/mcp?a=b HTTP/1.1\r\nHOST:recorded.test\r\nx-odd:\t 2 \r\nContent-length: 002\r\nAuthorization: Bearer of-the-test\r\n\r\n{}"
	if string(s.raw[1]) != want {
		t.Errorf("sent %q\nwant %q", s.raw[1], want)
	}
}

// What the server sends on account of a notification goes to the stream that had opened by then, though the recorded client
// asked for both at once.
func TestStreamOpensFirst(t *testing.T) {
	note := posted("/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	release := make(chan struct{})
	var opened atomic.Bool
	s := newStub(t, func(n int, c net.Conn, req *http.Request, _ []byte) bool {
		if req.Method == http.MethodGet {
			select {
			case <-release:
				t.Error("the notification overtook the stream")
			case <-time.After(100 * time.Millisecond): // in which a hasty notification would come
			}
			opened.Store(true)
			fmt.Fprint(c, streaming)
			<-release
			fmt.Fprint(c, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n")
			return true
		}
		close(release)
		fmt.Fprint(c, answered200(""))
		return true
	})
	pairs, err := resend(t, s).Run(recording([]recorded{
		{request: "GET /mcp HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n", response: streaming + "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n", end: har.EndClientFIN, took: time.Hour},
		{request: note, response: answered200("")},
	}))
	if err != nil || !opened.Load() || len(pairs) != 2 || events(pairs[0].Now, time.Time{}) != 1 {
		t.Errorf("%v, %+v", err, pairs)
	}
}

func TestNotSent(t *testing.T) {
	first := recorded{request: posted("/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`), response: answered200("")}
	tests := []struct {
		name string
		x    recorded
		why  string
	}{
		{"cut", recorded{request: first.request[:len(first.request)-3]}, "not sent: the recorded request is not whole"},
		{"tunnel", recorded{request: "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n"}, "not sent: it opens a tunnel"},
		{"nothing", recorded{}, "not sent: the recorded request is not whole"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStub(t, good)
			pairs, err := resend(t, s).Run(recording([]recorded{first, tt.x}))
			if err != nil || len(pairs) != 2 || pairs[1].Now != nil || strings.Join(pairs[1].Notes, "") != tt.why || len(s.raw) != 1 {
				t.Errorf("got %+v, %v, %d requests", pairs[1], err, len(s.raw))
			}
		})
	}
}
