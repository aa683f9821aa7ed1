package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// epoch is when all recordings of these tests began.
var epoch = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// taped is the n-th exchange of a recording: its request came at once, each part of its response a millisecond after what
// came before, and so did its end.
func taped(n int, request string, end har.Ending, response ...string) *har.Exchange {
	x := &har.Exchange{N: n, Conn: uint64(n), Seq: 1, Started: epoch.Add(time.Duration(n) * 100 * time.Millisecond), End: end}
	x.Request = side(0, request)
	at := time.Millisecond
	for _, part := range response {
		x.Response.Raw = append(x.Response.Raw, part...)
		x.Response.Writes = append(x.Response.Writes, har.Write{At: at, Len: len(part)})
		at += time.Millisecond
	}
	x.EndAt, x.EndOff = at, len(x.Response.Raw)
	if v := x.View(); v.Response != nil {
		x.Status, x.MediaType = v.Response.Status, v.Response.Get("Content-Type")
	}
	if v := x.View(); v.Request != nil {
		x.Method, x.URL = v.Request.Method, "http://server.example"+v.Request.Target
	}
	return x
}

// side is bytes that came at one instant.
func side(at time.Duration, parts ...string) (s har.Side) {
	for _, p := range parts {
		s.Raw = append(s.Raw, p...)
		if len(p) > 0 {
			s.Writes = append(s.Writes, har.Write{At: at, Len: len(p)})
		}
	}
	return s
}

// post is a POST of a JSON body to /mcp.
func post(body string, fields ...string) string { return postTo("/mcp", body, fields...) }

func postTo(target, body string, fields ...string) string {
	head := "POST " + target + " HTTP/1.1\r\nHost: server.example\r\nContent-Type: application/json\r\n"
	for _, f := range fields {
		head += f + "\r\n"
	}
	return fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(body), body)
}

// call is a JSON-RPC request.
func call(id, method, params string) string {
	if params != "" {
		params = `,"params":` + params
	}
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `"` + params + `}`
}

// ok is a 200 answer with a JSON body.
func ok(body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

func result(id, value string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":` + value + `}`
}

// sse is the head of an event stream in chunks.
const sse = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

const accepted = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"

func chunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

// A tape keeps what a player logs.
type tape struct {
	mu     sync.Mutex
	events []har.Event
}

func (t *tape) log(e har.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.Bytes = bytes.Clone(e.Bytes)
	t.events = append(t.events, e)
}

// side gives the bytes of one direction of a connection, how it was ended first, and by whom.
func (t *tape) side(conn uint64, d wire.Dir) (got []byte, end har.Ending, by wire.Dir) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.events {
		if e.Conn != conn {
			continue
		}
		if e.Dir == d {
			got = append(got, e.Bytes...)
		}
		if e.End != "" && end == "" {
			end, by = e.End, e.Dir
		}
	}
	return got, end, by
}

// play serves exchanges over TCP until the test ends.
func play(t testing.TB, p *Player) (addr string, tp *tape) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tp = &tape{}
	if p.Log == nil {
		p.Log = tp.log
	}
	served := make(chan error, 1)
	go func() { served <- p.Serve(l) }()
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return l.Addr().String(), tp
}

// A client is a plain socket with a bound on how long it waits.
type client struct {
	t testing.TB
	net.Conn
}

func dial(t testing.TB, addr string) *client {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	nc.SetDeadline(time.Now().Add(time.Minute))
	t.Cleanup(func() { nc.Close() })
	return &client{t, nc}
}

func (c *client) send(s string) {
	c.t.Helper()
	if _, err := io.WriteString(c, s); err != nil {
		c.t.Fatalf("sending: %v", err)
	}
}

// expect reads exactly those bytes.
func (c *client) expect(want string) {
	c.t.Helper()
	got := make([]byte, len(want))
	n, err := io.ReadFull(c, got)
	if string(got[:n]) != want {
		c.t.Fatalf("got %q (%v)\nwant %q", got[:n], err, want)
	}
}

// rest reads to the end of what the server sends, and names the ending.
func (c *client) rest() (string, har.Ending) {
	c.t.Helper()
	got, err := io.ReadAll(c)
	switch {
	case err == nil:
		return string(got), har.EndFIN
	case errors.Is(err, syscall.ECONNRESET):
		return string(got), har.EndRST
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.t.Fatalf("no end within the test's time; got %q", got)
	}
	c.t.Fatalf("reading: %v; got %q", err, got)
	return "", ""
}

// answer reads one response with a Content-Length or none.
func (c *client) answer() string {
	c.t.Helper()
	var got []byte
	buf := make([]byte, 4096)
	for {
		n, err := c.Read(buf)
		got = append(got, buf[:n]...)
		if _, m, _ := wire.ParseResponse(got, "", false); m != nil && m.Complete {
			return string(got)
		}
		if err != nil {
			c.t.Fatalf("reading an answer: %v; got %q", err, got)
		}
	}
}
