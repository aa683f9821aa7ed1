package replay

import (
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcptap/mcptap/har"
)

// A pipes listener hands out connections that have no socket below them and run on the test's clock.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *pipes) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }

// dial connects a client that keeps note of when it read what.
func (l *pipes) dial() *reads {
	ours, theirs := net.Pipe()
	l.conns <- theirs
	r := &reads{Conn: ours, start: time.Now(), done: make(chan struct{})}
	go r.run()
	return r
}

type reads struct {
	net.Conn
	start time.Time
	mu    sync.Mutex
	got   []read
	done  chan struct{} // closed at the end of what the server sends
}

type read struct {
	at   time.Duration // since start
	text string        // "" for the end
}

func (r *reads) run() {
	defer close(r.done)
	buf := make([]byte, 1<<16)
	for {
		n, err := r.Read(buf)
		r.mu.Lock()
		if n > 0 || err == io.EOF {
			r.got = append(r.got, read{time.Since(r.start), string(buf[:n])})
		}
		r.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (r *reads) all() []read {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]read(nil), r.got...)
}

// within runs f with a player of the exchanges, on a clock of its own.
func within(t *testing.T, p *Player, f func(t *testing.T, l *pipes)) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		served := make(chan error, 1)
		go func() { served <- p.Serve(l) }()
		defer func() {
			if err := p.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			if err := <-served; err != nil {
				t.Errorf("Serve: %v", err)
			}
		}()
		f(t, l)
	})
}

func expectReads(t *testing.T, r *reads, want ...read) {
	t.Helper()
	synctest.Wait()
	got := r.all()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Fatalf("read %d is missing: want %q at %v", i+1, want[i].text, want[i].at)
		case i >= len(want):
			t.Fatalf("read %d is too much: %q at %v", i+1, got[i].text, got[i].at)
		case got[i] != want[i]:
			t.Fatalf("read %d: got %q at %v\nwant %q at %v", i+1, got[i].text, got[i].at, want[i].text, want[i].at)
		}
	}
}

const ms = time.Millisecond

// slow is an exchange whose request took 5 ms to come, and which was answered 2 s later in three parts.
func slow(end har.Ending) *har.Exchange {
	x := taped(1, post(call("1", "tools/list", "")), end, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n", "abc", "def")
	x.Request.Writes = []har.Write{{At: 0, Len: 40}, {At: 5 * ms, Len: len(x.Request.Raw) - 40}}
	for i, at := range []time.Duration{2005 * ms, 2006 * ms, 32005 * ms} {
		x.Response.Writes[i].At = at
	}
	x.EndAt = 32045 * ms
	return x
}

func TestPace(t *testing.T) {
	head := "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n"
	for _, tt := range []struct {
		name string
		pace float64
		end  har.Ending
		want []read
	}{
		{"recorded", 1, har.EndFIN, []read{{2000 * ms, head}, {2001 * ms, "abc"}, {32000 * ms, "def"}, {32040 * ms, ""}}},
		{"twice as fast", 2, har.EndFIN, []read{{1000 * ms, head}, {1000*ms + ms/2, "abc"}, {16000 * ms, "def"}, {16020 * ms, ""}}},
		{"half as fast", 0.5, har.EndFIN, []read{{4000 * ms, head}, {4002 * ms, "abc"}, {64000 * ms, "def"}, {64080 * ms, ""}}},
		{"fast", 0, har.EndFIN, []read{{0, head}, {0, "abc"}, {0, "def"}, {0, ""}}},
		{"fast, kept open", 0, har.EndKeep, []read{{0, head}, {0, "abc"}, {0, "def"}}},
		{"the client had left", 1, har.EndClientFIN, []read{{2000 * ms, head}, {2001 * ms, "abc"}, {32000 * ms, "def"}}},
		{"silence", 1, har.EndHang, []read{{2000 * ms, head}, {2001 * ms, "abc"}, {32000 * ms, "def"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := slow(tt.end)
			within(t, &Player{Exchanges: []*har.Exchange{x}, Pace: tt.pace}, func(t *testing.T, l *pipes) {
				c := l.dial()
				c.Write(x.Request.Raw)
				time.Sleep(10 * time.Minute)
				expectReads(t, c, tt.want...)
			})
		})
	}
}

// What came after the client had left is not sent, but it is waited for.
func TestPaceUpToWhereTheClientLeft(t *testing.T) {
	x := slow(har.EndClientFIN)
	x.EndAt, x.EndOff = 3*time.Second, len(x.Response.Raw)-3
	within(t, &Player{Exchanges: []*har.Exchange{x}, Pace: 1}, func(t *testing.T, l *pipes) {
		c := l.dial()
		c.Write(x.Request.Raw)
		time.Sleep(time.Hour)
		expectReads(t, c, read{2000 * ms, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n"}, read{2001 * ms, "abc"})
	})
}

// Gaps count from the last byte of the live request, however slowly that came.
func TestPaceCountsFromTheRequest(t *testing.T) {
	x := slow(har.EndKeep)
	within(t, &Player{Exchanges: []*har.Exchange{x}, Pace: 1}, func(t *testing.T, l *pipes) {
		c := l.dial()
		for _, b := range x.Request.Raw {
			c.Write([]byte{b})
			time.Sleep(10 * ms)
		}
		time.Sleep(time.Hour)
		from := time.Duration(len(x.Request.Raw)-1) * 10 * ms
		head := "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n"
		expectReads(t, c, read{from + 2000*ms, head}, read{from + 2001*ms, "abc"}, read{from + 32000*ms, "def"})
	})
}

// A connection that the server closed 40 ms after its answer is closed then; a request that comes before is answered, and
// the ending waits for that answer.
func TestEndingBehindAnAnswer(t *testing.T) {
	first := taped(1, post(call("1", "tools/list", "")), har.EndFIN, ok("1"))
	first.EndAt = 41 * ms
	second := taped(2, post(call("2", "prompts/list", "")), har.EndKeep, ok("2"))
	second.Response.Writes[0].At = 100 * ms
	for _, tt := range []struct {
		name string
		next time.Duration // when the second request is sent, 0 for never
		want []read
	}{
		{"alone", 0, []read{{ms, ok("1")}, {41 * ms, ""}}},
		{"a request before", 20 * ms, []read{{ms, ok("1")}, {120 * ms, ok("2")}, {120 * ms, ""}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			within(t, &Player{Exchanges: []*har.Exchange{first, second}, Pace: 1}, func(t *testing.T, l *pipes) {
				c := l.dial()
				c.Write(first.Request.Raw)
				if tt.next > 0 {
					time.Sleep(tt.next)
					c.Write(second.Request.Raw)
				}
				time.Sleep(time.Minute)
				expectReads(t, c, tt.want...)
			})
		})
	}
}

// 100 Continue comes when the head has come, as recorded; the answer when the body has.
func TestExpectContinue(t *testing.T) {
	body := call("1", "tools/call", `{"name":"big"}`)
	request := post(body, "Expect: 100-continue")
	head := len(request) - len(body)
	x := taped(1, request, har.EndKeep, "HTTP/1.1 100 Continue\r\n\r\n", ok("{}"))
	x.Request.Writes = []har.Write{{At: 0, Len: head}, {At: 50 * ms, Len: len(body)}}
	x.Response.Writes[0].At, x.Response.Writes[1].At = 10*ms, 80*ms
	// The live Host line is longer: it is the head that counts, not its length.
	live := request[:6] + request[6:]
	for _, pace := range []float64{0, 1} {
		within(t, &Player{Exchanges: []*har.Exchange{x}, Pace: pace}, func(t *testing.T, l *pipes) {
			c := l.dial()
			io.WriteString(c, live[:head])
			time.Sleep(time.Second)
			io.WriteString(c, body[:10])
			time.Sleep(time.Second)
			io.WriteString(c, body[10:])
			time.Sleep(time.Second)
			want := []read{{10 * ms, "HTTP/1.1 100 Continue\r\n\r\n"}, {2030 * ms, ok("{}")}}
			if pace == 0 {
				want[0].at, want[1].at = 0, 2000*ms
			}
			expectReads(t, c, want...)
		})
	}
}

// A request that was refused before its body had come is refused at the same point.
func TestAnswerBeforeTheBody(t *testing.T) {
	body := call("1", "tools/call", `{"name":"big"}`)
	request := post(body)
	sent := len(request) - len(body) + 7
	x := taped(1, request[:sent], har.EndFIN, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	x.EndAt = 3 * ms
	for _, tt := range []struct {
		name  string
		parts []string
		at    time.Duration
	}{
		{"as recorded", []string{request[:sent]}, 0},
		{"in pieces", []string{request[:30], request[30 : sent-1], request[sent-1 : sent]}, 200 * ms},
		{"all at once", []string{request}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &Player{Exchanges: []*har.Exchange{x}, Pace: 1}
			within(t, p, func(t *testing.T, l *pipes) {
				c := l.dial()
				for i, part := range tt.parts {
					if i > 0 {
						time.Sleep(100 * ms)
					}
					io.WriteString(c, part)
				}
				time.Sleep(time.Minute)
				expectReads(t, c, read{tt.at + ms, string(x.Response.Raw)}, read{tt.at + 3*ms, ""})
			})
			if r := p.Result(); len(r.Unserved)+len(r.Misses) != 0 {
				t.Errorf("result: %+v", r)
			}
		})
	}
}

// The server may have refused a request that is larger than the player would take.
func TestAnswerToARequestThatIsTooLarge(t *testing.T) {
	request := "POST /mcp HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n{"
	x := taped(1, request, har.EndFIN, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
	within(t, &Player{Exchanges: []*har.Exchange{x}}, func(t *testing.T, l *pipes) {
		c := l.dial()
		io.WriteString(c, request)
		expectReads(t, c, read{0, string(x.Response.Raw)}, read{0, ""})
	})
}

// An upgraded connection goes on as recorded: the server's bytes wait for the client's that came before them.
func TestTunnel(t *testing.T) {
	request := "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
	x := taped(1, request, har.EndFIN, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", "hello", "bye")
	x.Request = side(0, request)
	x.Request.Raw = append(x.Request.Raw, "pingpong"...)
	x.Request.Writes = append(x.Request.Writes, har.Write{At: 100 * ms, Len: 4}, har.Write{At: 200 * ms, Len: 4})
	x.Response.Writes[1].At, x.Response.Writes[2].At = 110*ms, 230*ms
	x.EndAt = 240 * ms
	within(t, &Player{Exchanges: []*har.Exchange{x}, Pace: 1}, func(t *testing.T, l *pipes) {
		c := l.dial()
		io.WriteString(c, request)
		time.Sleep(5 * time.Second)
		io.WriteString(c, "pi")
		time.Sleep(5 * time.Second)
		io.WriteString(c, "ngpo")
		time.Sleep(5 * time.Second)
		io.WriteString(c, "ng")
		time.Sleep(5 * time.Second)
		expectReads(t, c, read{ms, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"},
			read{10010 * ms, "hello"}, read{15030 * ms, "bye"}, read{15040 * ms, ""})
	})
}

// A server that speaks before it is asked does so again, on the connection that was opened in that place.
func TestServerSpeaksFirst(t *testing.T) {
	timeout := "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n"
	first := taped(1, post(call("1", "tools/list", "")), har.EndKeep, ok("{}"))
	second := taped(2, "", har.EndFIN, timeout)
	second.Response.Writes[0].At, second.EndAt = 0, 2*ms
	p := &Player{Exchanges: []*har.Exchange{first, second}, Pace: 1}
	within(t, p, func(t *testing.T, l *pipes) {
		a := l.dial()
		time.Sleep(time.Second)
		a.Write(first.Request.Raw)
		time.Sleep(time.Second)
		expectReads(t, a, read{1001 * ms, ok("{}")})
		b := l.dial()
		time.Sleep(time.Second)
		expectReads(t, b, read{greetTime, timeout}, read{greetTime + 2*ms, ""})
	})
	if r := p.Result(); r.Served != 2 || len(r.Unserved) != 0 {
		t.Errorf("result: %+v", r)
	}
}

// A client that leaves ends a wait for something that will not come.
func TestClientLeavesWhileItWaits(t *testing.T) {
	x := slow(har.EndHang)
	within(t, &Player{Exchanges: []*har.Exchange{x}, Pace: 1}, func(t *testing.T, l *pipes) {
		c := l.dial()
		c.Write(x.Request.Raw)
		time.Sleep(time.Hour)
		c.Close()
		synctest.Wait()
		expectReads(t, c, read{2000 * ms, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n"}, read{2001 * ms, "abc"}, read{32000 * ms, "def"})
	})
}

// A request that stands still is given up.
func TestUnfinishedRequest(t *testing.T) {
	p := &Player{Exchanges: []*har.Exchange{slow(har.EndKeep)}}
	within(t, p, func(t *testing.T, l *pipes) {
		c := l.dial()
		io.WriteString(c, "POST /mcp HTTP/1.1\r\nHost:")
		time.Sleep(time.Hour)
		expectReads(t, c, read{requestTime, ""})
	})
	if r := p.Result(); r.Served != 0 || len(r.Unserved) != 1 {
		t.Errorf("result: %+v", r)
	}
}
