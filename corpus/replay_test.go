package corpus

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/replay"
)

// Every case can be served: its requests, sent anew, bring the recorded bytes and endings and leave nothing over.
func TestCasesReplay(t *testing.T) {
	for _, k := range listed(t) {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			replays(t, opened(t, k.Name))
		})
	}
}

// replays serves a cassette to its own requests.
func replays(t *testing.T, c *har.Cassette) {
	t.Helper()
	xs := c.Exchanges
	if len(xs) > 0 && xs[0].Stdio() {
		for _, p := range c.Processes {
			playProcess(t, p, xs)
		}
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &replay.Player{Exchanges: xs, Now: time.Now}
	served := make(chan error, 1)
	go func() { served <- p.Serve(l) }()
	play(t, l.Addr().String(), xs)
	if err := errors.Join(p.Close(), <-served); err != nil {
		t.Error(err)
	}
	r := p.Result()
	if len(r.Misses) != 0 || len(r.Unserved) != 0 || len(r.Patches) != 0 {
		t.Errorf("misses %v, %d unserved, patches %v: want none", r.Misses, len(r.Unserved), r.Patches)
	}
}

// playProcess writes the client's lines of one process, each when what came before it in the recording has come again.
func playProcess(t *testing.T, p *har.Process, xs []*har.Exchange) {
	t.Helper()
	xs = slices.DeleteFunc(slices.Clone(xs), func(x *har.Exchange) bool { return x.Conn != p.Conn })
	in, client := io.Pipe()
	back, out := io.Pipe()
	s := &replay.Stdio{Exchanges: xs, Process: p}
	served := make(chan error, 1)
	go func() {
		_, err := s.Serve(in, out, io.Discard)
		out.Close()
		served <- err
	}()
	for _, x := range xs {
		if _, err := client.Write(x.Request.Raw); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(x.Response.Raw))
		if n, err := io.ReadFull(back, got); err != nil || !bytes.Equal(got, x.Response.Raw) {
			t.Fatalf("exchange %d: %v after %q, want %q", x.N, err, got[:n], x.Response.Raw)
		}
	}
	client.Close()
	if rest, err := io.ReadAll(back); err != nil || len(rest) > 0 {
		t.Errorf("%v after %q, want the end", err, rest)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if r := s.Result(); len(r.Misses) != 0 || len(r.Unserved) != 0 || len(r.Patches) != 0 {
		t.Errorf("misses %v, %d unserved, patches %v: want none", r.Misses, len(r.Unserved), r.Patches)
	}
}

// An ear is a connection of the client, and what it has been sent.
type ear struct {
	net.Conn
	heard []byte
}

// play sends each request when the bytes that came before it in the recording have come again.
func play(t *testing.T, addr string, xs []*har.Exchange) {
	t.Helper()
	ears := map[uint64]*ear{}
	for i, x := range xs {
		c := ears[x.Conn]
		if c == nil {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			c = &ear{Conn: conn}
			ears[x.Conn] = c
		}
		if _, err := c.Write(x.Request.Raw); err != nil {
			t.Fatal(err)
		}
		for conn, c := range ears {
			until := start.Add(24 * time.Hour)
			if i+1 < len(xs) {
				until = xs[i+1].Started
			}
			c.hear(t, sent(xs[:i+1], conn, until))
		}
		if nobodyThere(x) && last(xs, x.Conn) == x { // no byte tells that it was served: a request like it would be taken for it
			c.ends(t, x)
			delete(ears, x.Conn)
		}
	}
	for conn, c := range ears {
		c.ends(t, last(xs, conn))
	}
}

// nobodyThere tells whether the server was never reached.
func nobodyThere(x *har.Exchange) bool {
	return slices.ContainsFunc(x.Notes, func(n string) bool { return strings.HasPrefix(n, har.NoteUpstream) })
}

func last(xs []*har.Exchange, conn uint64) (x *har.Exchange) {
	for i := range xs {
		if xs[i].Conn == conn {
			x = xs[i]
		}
	}
	return x
}

// sent is what the server had sent on a connection by then, as far as the client was still there.
func sent(xs []*har.Exchange, conn uint64, until time.Time) (b []byte) {
	for _, x := range xs {
		if x.Conn != conn {
			continue
		}
		n := 0
		for _, w := range x.Response.Writes {
			if x.Started.Add(w.At).Before(until) {
				n += w.Len
			}
		}
		b = append(b, x.Response.Raw[:min(n, x.EndOff)]...)
	}
	return b
}

// hear reads until all of want has come.
func (c *ear) hear(t *testing.T, want []byte) {
	t.Helper()
	more := make([]byte, len(want)-len(c.heard))
	if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	n, err := io.ReadFull(c, more)
	c.heard = append(c.heard, more[:n]...)
	if err != nil || !bytes.Equal(c.heard, want) {
		t.Fatalf("%v after\n%s\nwant\n%s", err, printable(c.heard), printable(want))
	}
}

// ends takes the connection's ending. Where the recording has none of the server's, the client leaves, and the server then;
// a server that could not be reached is a reset.
func (c *ear) ends(t *testing.T, x *har.Exchange) {
	t.Helper()
	want := io.EOF
	switch {
	case x.End == har.EndFIN:
	case x.End == har.EndRST, nobodyThere(x):
		want = syscall.ECONNRESET
	default:
		if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, want) {
		t.Errorf("%d more bytes and %v, want %v", n, err, want)
	}
}

func printable(b []byte) string { return strings.ReplaceAll(string(b), "\r", "") }
