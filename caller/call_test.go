package caller

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
)

// A stub is a server that hands each request to answer, which may do to the connection what it likes. It goes on with the
// connection while answer returns true.
type stub struct {
	net.Listener
	answer func(n int, c net.Conn, r *http.Request, body []byte) bool

	mu   sync.Mutex
	n    int
	seen []string // "POST initialize", "GET"
	raw  [][]byte
}

func newStub(t *testing.T, answer func(n int, c net.Conn, r *http.Request, body []byte) bool) *stub {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &stub{Listener: l, answer: answer}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() {
				defer c.Close()
				s.serve(c)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		open.Wait()
	})
	return s
}

func (s *stub) serve(c net.Conn) {
	var raw bytes.Buffer
	in := bufio.NewReader(io.TeeReader(c, &raw))
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.n++
		n := s.n
		s.seen = append(s.seen, strings.TrimSpace(r.Method+" "+methodOf(body)))
		s.raw = append(s.raw, bytes.Clone(raw.Next(raw.Len()-in.Buffered())))
		s.mu.Unlock()
		if !s.answer(n, c, r, body) {
			return
		}
	}
}

func methodOf(body []byte) string {
	_, rest, _ := strings.Cut(string(body), `"method":"`)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}

func (s *stub) caller(t *testing.T) *Caller {
	c := &Caller{Base: "http://" + s.Addr().String(), Dial: func() (net.Conn, error) { return net.Dial("tcp", s.Addr().String()) }}
	t.Cleanup(func() {
		c.Stop()
		c.Close()
	})
	return c
}

const ask = "POST /mcp HTTP/1.1\r\nhost: example.test\r\ncontent-length: 2\r\n\r\n{}"

func send(t *testing.T, c *Caller, request string) *Call {
	t.Helper()
	call, err := c.Send([]byte(request))
	if err != nil {
		t.Fatal(err)
	}
	return call
}

func TestCall(t *testing.T) {
	const patience = 200 * time.Millisecond
	write := func(text string) func(int, net.Conn, *http.Request, []byte) bool {
		return func(_ int, c net.Conn, _ *http.Request, _ []byte) bool {
			_, err := io.WriteString(c, text)
			return err == nil
		}
	}
	tests := []struct {
		name    string
		answer  func(n int, c net.Conn, r *http.Request, body []byte) bool
		end     har.Ending
		status  int
		whole   bool // the call ended by itself
		trouble string
	}{
		{"whole", write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), har.EndKeep, 200, true, ""},
		{"empty", write("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"), har.EndKeep, 202, true, ""},
		{"interim first", write("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), har.EndKeep, 200, true, ""},
		{"redirect", write("HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"), har.EndKeep, 307, true, ""},
		{"until the end", func(n int, c net.Conn, r *http.Request, b []byte) bool {
			write("HTTP/1.1 200 OK\r\n\r\nok")(n, c, r, b)
			return false
		}, har.EndFIN, 200, true, ""},
		{"announced end that does not come", write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"), har.EndClientFIN, 200, false, ""},
		{"cut body", func(n int, c net.Conn, r *http.Request, b []byte) bool {
			write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok")(n, c, r, b)
			return false
		}, har.EndFIN, 200, true, ""},
		{"reset", func(_ int, c net.Conn, _ *http.Request, _ []byte) bool {
			har.Reset(c, time.Second)
			return false
		}, har.EndRST, 0, true, ""},
		{"silence", func(int, net.Conn, *http.Request, []byte) bool { return true }, har.EndClientFIN, 0, false, ""},
		{"slow body", write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok"), har.EndClientFIN, 200, false, ""},
		{"endless body", func(_ int, c net.Conn, _ *http.Request, _ []byte) bool {
			io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
			for err := error(nil); err == nil; {
				_, err = c.Write(bytes.Repeat([]byte("x"), 4096))
			}
			return false
		}, har.EndClientFIN, 200, true, "the answer is larger than 65536 bytes"},
		{"endless head", func(_ int, c net.Conn, _ *http.Request, _ []byte) bool {
			io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			for err := error(nil); err == nil; {
				_, err = c.Write([]byte("x-filler: " + strings.Repeat("x", 1000) + "\r\n"))
			}
			return false
		}, har.EndClientFIN, 0, true, "the answer is larger than 65536 bytes"},
		{"no HTTP", write("SSH-2.0-OpenSSH_9.6\r\n"), har.EndClientFIN, 0, false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newStub(t, tt.answer).caller(t)
			c.Answer = 64 << 10
			call := send(t, c, ask)
			wait := patience
			if tt.whole {
				wait = 20 * time.Second
			}
			whole := call.Whole(wait)
			x := call.Exchange()
			if whole != tt.whole || x.End != tt.end || x.Status != tt.status || call.Trouble() != tt.trouble {
				t.Errorf("got whole %v, end %s, status %d, trouble %q; want %v, %s, %d, %q", whole, x.End, x.Status, call.Trouble(), tt.whole, tt.end, tt.status, tt.trouble)
			}
			if len(x.Response.Raw) > c.Answer+32<<10 {
				t.Errorf("%d bytes are kept", len(x.Response.Raw))
			}
			if string(x.Request.Raw) != ask || x.N != 1 || x.URL != c.Base+"/mcp" {
				t.Errorf("the exchange is %d, %s, %q", x.N, x.URL, x.Request.Raw)
			}
		})
	}
}

// A server that closes behind each answer, without saying so, is asked on.
func TestClosedBehindAnswers(t *testing.T) {
	s := newStub(t, func(n int, c net.Conn, _ *http.Request, _ []byte) bool {
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%d", n)
		return false
	})
	c := s.caller(t)
	for n := 1; n <= 3; n++ {
		call := send(t, c, ask)
		if !call.Whole(20*time.Second) || !strings.HasSuffix(string(call.Exchange().Response.Raw), fmt.Sprint(n)) || call.Exchange().N != n {
			t.Errorf("call %d: %+v", n, call.Exchange())
		}
	}
}

func TestStop(t *testing.T) {
	came := make(chan bool, 1)
	c := newStub(t, func(int, net.Conn, *http.Request, []byte) bool { came <- true; return true }).caller(t)
	call := send(t, c, ask)
	<-came
	c.Stop()
	if !call.Whole(20*time.Second) || call.Exchange().End != har.EndClientFIN {
		t.Errorf("a call that was under way: %+v", call.Exchange())
	}
	if _, err := c.Send([]byte(ask)); err != ErrStopped {
		t.Errorf("got %v, want %v", err, ErrStopped)
	}
}

func TestUnreachable(t *testing.T) {
	c := &Caller{Base: "http://gone.test", Dial: func() (net.Conn, error) { return nil, io.ErrUnexpectedEOF }}
	call := send(t, c, ask)
	if call.Whole(20 * time.Second); call.Exchange().End != har.EndRST || len(call.Exchange().Notes) != 1 {
		t.Errorf("got %+v", call.Exchange())
	}
	c.Close()
}
