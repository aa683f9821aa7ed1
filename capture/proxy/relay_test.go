package proxy

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

const ask = "POST /mcp HTTP/1.1\r\nHost: here\r\nContent-Length: 2\r\n\r\n{}"

// A response is never recorded before the request that caused it, whichever goroutine is faster.
func TestOrder(t *testing.T) {
	o := newOrigin(t, "http", false)
	var w witness
	addr, stop := openDoor(t, &Reverse{To: o.url(), Record: w.record})
	const conns, rounds = 8, 200
	go func() {
		for range conns {
			c, err := o.Accept()
			if err != nil {
				return
			}
			go io.Copy(c, c)
		}
	}()
	var wg sync.WaitGroup
	for range conns {
		c := dial(t, addr)
		wg.Go(func() {
			buf := make([]byte, 8)
			for i := range rounds {
				fmt.Fprintf(c, "%08d", i)
				if _, err := io.ReadFull(c, buf); err != nil || string(buf) != fmt.Sprintf("%08d", i) {
					t.Errorf("round %d: %q, %v", i, buf, err)
				}
			}
			c.Close()
		})
	}
	wg.Wait()
	stop()
	for conn := range uint64(conns) {
		var got [2]string
		for _, e := range w.events {
			if e.Conn != conn+1 {
				continue
			}
			if got[e.Dir] += string(e.Bytes); len(got[wire.ToClient]) > len(got[wire.ToServer]) {
				t.Fatalf("connection %d: %q is recorded before its request", e.Conn, e.Bytes)
			}
		}
		if len(got[wire.ToClient]) != 8*rounds || got[wire.ToClient] != got[wire.ToServer] {
			t.Errorf("connection %d: %d and %d bytes recorded", conn+1, len(got[0]), len(got[1]))
		}
	}
}

// When a server has a request, the recorder has it too: what the client does because of the answer, on whatever connection,
// stands behind it.
func TestRequestsInOrderAcrossConnections(t *testing.T) {
	o := newOrigin(t, "http", false)
	var w witness
	addr, stop := openDoor(t, &Reverse{To: o.url(), Record: w.record, Offer: func(e har.Event) bool { w.record(e); return true }})
	for i := range 200 {
		c := dial(t, addr)
		up, err := o.Accept()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "%08d", i)
		if _, err := io.ReadFull(up, make([]byte, 8)); err != nil {
			t.Fatal(err)
		}
		if got := w.joined(uint64(i+1), wire.ToServer, false); got != fmt.Sprintf("%08d", i) {
			t.Fatalf("request %d reached the server before the recorder", i)
		}
		c.Close()
		up.Close()
	}
	stop()
}

// Bytes are passed on though nobody takes the record of them.
func TestForwardFirst(t *testing.T) {
	o := newOrigin(t, "http", false)
	release := make(chan struct{})
	addr, stop := openDoor(t, &Reverse{To: o.url(), Record: func(har.Event) { <-release }})
	client := newSide(t, newLeg(dial(t, addr)), false)
	server := o.accept(t)
	client.send([]byte("GET / HTTP/1.1\r\n\r\n"))
	server.await("request", func() bool { return len(server.got) == 18 })
	server.send([]byte("HTTP/1.1 200 OK\r\n\r\n"))
	client.await("response", func() bool { return len(client.got) == 19 })
	close(release)
	stop()
}

// A reset by the server destroys nothing that it had written before, however slowly the client reads.
func TestResetLosesNothing(t *testing.T) {
	answer := bytes.Repeat([]byte("0123456789abcdef"), 4<<20/16)
	for _, scheme := range []string{"http", "https"} {
		t.Run(scheme, func(t *testing.T) {
			o := newOrigin(t, scheme, false)
			addr, _ := openDoor(t, &Reverse{To: o.url(), TLS: o.trust(), Record: func(har.Event) {}})
			for i := range 20 {
				c := dial(t, addr)
				server := o.accept(t)
				go func() {
					server.send(answer)
					server.end("rst")
				}()
				var got []byte
				var err error
				for buf := make([]byte, 32<<10); err == nil; {
					var n int
					n, err = c.Read(buf)
					got = append(got, buf[:n]...)
					for range 10 * i {
						runtime.Gosched()
					}
				}
				if !bytes.Equal(got, answer) || har.ReadEnding(err) != har.EndRST {
					t.Fatalf("try %d: read %d of %d bytes, then %v", i, len(got), len(answer), err)
				}
			}
		})
	}
}

// A client's reset gets through though its request does not: the server reads nothing.
func TestClientResetsWhileTheServerDoesNotRead(t *testing.T) {
	o := newOrigin(t, "http", false)
	var w witness
	addr, stop := openDoor(t, &Reverse{To: o.url(), Record: w.record})
	c := dial(t, addr)
	server, err := o.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	c.SetWriteDeadline(time.Now().Add(500 * time.Millisecond))
	if _, err := c.Write(make([]byte, 64<<20)); err == nil {
		t.Fatal("64 MiB were taken though the server reads nothing")
	}
	har.Reset(c, 0)
	for deadline := time.Now().Add(patience); !har.Gone(server) && time.Now().Before(deadline); {
		runtime.Gosched()
	}
	if _, err := io.Copy(io.Discard, server); har.ReadEnding(err) != har.EndRST {
		t.Errorf("the server reads %v, want a reset", err)
	}
	stop()
	if got := w.endings(1); !slices.Equal(got, []string{"request rst", "capture-stopped"}) {
		t.Errorf("endings %q", got)
	}
}

// What a server goes on sending to a client that has left is read and recorded for a bounded time only.
func TestLateBytesAreBounded(t *testing.T) {
	o := newOrigin(t, "http", false)
	var w witness
	quick := usualTimes
	quick.lateMost = 200 * time.Millisecond
	addr, stop := openDoor(t, &Reverse{To: o.url(), Record: w.record, times: quick})
	client := newSide(t, newLeg(dial(t, addr)), false)
	server := o.accept(t)
	client.send([]byte(ask))
	server.await("request", func() bool { return len(server.got) > 0 })
	client.end("close")
	server.await("FIN", func() bool { return server.sees == "fin" })
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		<-tick.C
		if _, err := fmt.Fprintf(server.leg.conn, "late %d\n", n); err != nil {
			if har.ReadEnding(err) != har.EndRST {
				t.Errorf("the server's write fails with %v", err)
			}
			break
		}
		if n == 1000 {
			t.Fatal("the server can write for ever")
		}
	}
	stop()
	if got := w.joined(1, wire.ToClient, false); !strings.HasPrefix(got, "late 0\nlate 1\nlate 2\n") {
		t.Errorf("recorded late bytes %q", got)
	}
	if got := w.endings(1); !slices.Equal(got, []string{"request fin", "request rst", "capture-stopped"}) {
		t.Errorf("endings %q", got)
	}
}

// Half-closed connections do not stay for ever.
func TestHalfClosedIsBounded(t *testing.T) {
	for _, first := range []string{"client", "server"} {
		o := newOrigin(t, "http", false)
		quick := usualTimes
		quick.halfClient, quick.halfServer = 50*time.Millisecond, 50*time.Millisecond
		addr, _ := openDoor(t, &Reverse{To: o.url(), Record: func(har.Event) {}, times: quick})
		client := newSide(t, newLeg(dial(t, addr)), false)
		server := o.accept(t)
		ends, other := client, server
		if first == "server" {
			ends, other = server, client
		}
		ends.end("fin")
		other.await("FIN", func() bool { return other.sees != "open" })
		ends.await("the answer to a FIN that nobody answers", func() bool { return ends.sees != "open" })
	}
}

func TestCloseEndsEverything(t *testing.T) {
	o := newOrigin(t, "http", false)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and no TLS handshake comes about
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	var w witness
	shared := new(atomic.Uint64)
	addr, stop := openDoor(t, &Reverse{To: o.url(), Record: w.record, Conns: shared})
	stuckTo := (&origin{Listener: silent, scheme: "https"}).url()
	stuckAddr, stopStuck := openDoor(t, &Reverse{To: stuckTo, Record: w.record, Conns: shared})
	client := newSide(t, newLeg(dial(t, addr)), false)
	server := o.accept(t)
	client.send([]byte(ask))
	server.await("request", func() bool { return len(server.got) > 0 })
	server.send([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n"))
	client.await("event", func() bool { return bytes.HasSuffix(client.got, []byte("1\n\n")) })
	waiting := dial(t, stuckAddr)
	if c, err := silent.Accept(); err != nil {
		t.Fatal(err)
	} else {
		defer c.Close()
	}
	began := time.Now()
	stop()
	stopStuck()
	if d := time.Since(began); d > time.Second {
		t.Errorf("closing took %v", d)
	}
	client.await("end", func() bool { return client.sees == "rst" })
	server.await("end", func() bool { return server.sees != "open" })
	waiting.SetReadDeadline(time.Now().Add(patience))
	if _, err := waiting.Read(make([]byte, 1)); err == nil || errors.Is(err, errTimeout(err)) {
		t.Errorf("a client whose server is being dialled reads %v", err)
	}
	if got := w.endings(1); !slices.Equal(got, []string{"capture-stopped"}) {
		t.Errorf("endings %q", got)
	}
	if n := shared.Load(); n != 2 {
		t.Errorf("%d connections were counted by both doors, want 2", n)
	}
}

// What a client sees when the door closes: a FIN would say that the response is whole.
func TestCloseBreaksOffResponses(t *testing.T) {
	large := strings.Repeat("data: 0123456789\n\n", 1<<14)
	for _, tt := range []struct{ name, answer, sees string }{
		{"no answer", "", "fin"},
		{"a whole answer", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "fin"},
		{"an interim answer", "HTTP/1.1 100 Continue\r\n\r\n", "fin"},
		{"a part of a head", "HTTP/1.1 200 OK\r\nContent-", "rst"},
		{"a part of a length", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok", "rst"},
		{"no last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", "rst"},
		{"a body that the end delimits", "HTTP/1.1 200 OK\r\n\r\n" + large, "rst"},
		{"a tunnel", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nhello", "rst"},
		{"no HTTP", "220 smtp.example\r\n", "rst"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newOrigin(t, "http", false)
			var w witness
			addr, stop := openDoor(t, &Reverse{To: o.url(), Record: w.record})
			client := newSide(t, newLeg(dial(t, addr)), false)
			server := o.accept(t)
			client.send([]byte(ask))
			server.await("request", func() bool { return len(server.got) > 0 })
			server.send([]byte(tt.answer))
			client.await("answer", func() bool { return len(client.got) == len(tt.answer) })
			stop()
			client.await("end", func() bool { return client.sees != "open" })
			if client.sees != tt.sees || string(client.got) != tt.answer {
				t.Errorf("the client sees %s behind %d bytes, want %s behind %d", client.sees, len(client.got), tt.sees, len(tt.answer))
			}
			if got := w.endings(1); !slices.Equal(got, []string{"capture-stopped"}) {
				t.Errorf("endings %q", got)
			}
		})
	}
}

// A client that takes nothing does not keep the door open.
func TestCloseDoesNotWaitForReaders(t *testing.T) {
	o := newOrigin(t, "http", false)
	addr, stop := openDoor(t, &Reverse{To: o.url(), Record: func(har.Event) {}})
	client := dial(t, addr)
	if _, err := client.Write([]byte(ask)); err != nil {
		t.Fatal(err)
	}
	server := o.accept(t)
	server.await("request", func() bool { return len(server.got) > 0 })
	flood := make(chan error, 1)
	go func() {
		_, err := server.leg.conn.Write(append([]byte("HTTP/1.1 200 OK\r\n\r\n"), make([]byte, 64<<20)...))
		flood <- err
	}()
	if _, err := io.ReadFull(client, make([]byte, 1<<10)); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := <-flood; err == nil {
		t.Error("the server could send all of its answer")
	}
	client.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.Copy(io.Discard, client); har.ReadEnding(err) != har.EndRST {
		t.Errorf("the client reads %v, want a reset", err)
	}
}

// A client that has left before the door closes has left, also where nobody has read its FIN yet.
func TestCloseSeesWhoHasLeft(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can tell without reading")
	}
	o := newOrigin(t, "http", false)
	var w witness
	begun, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	patient := usualTimes
	patient.settle = patience
	r := &Reverse{To: o.url(), times: patient, Record: func(e har.Event) {
		if e.Dir == wire.ToServer && len(e.Bytes) > 0 {
			once.Do(func() { close(begun) })
			<-goOn
		}
		w.record(e)
	}}
	addr, stop := openDoor(t, r)
	client := dial(t, addr)
	if _, err := client.Write([]byte(ask)); err != nil {
		t.Fatal(err)
	}
	<-begun
	client.Close()
	r.hall.mu.Lock()
	var x *relay
	for x = range r.hall.live {
	}
	r.hall.mu.Unlock()
	for deadline := time.Now().Add(patience); !x.unseen(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("the client's FIN does not arrive")
		}
	}
	go func() {
		<-r.hall.ctx.Done()
		close(goOn)
	}()
	stop()
	if got := w.endings(1); !slices.Equal(got, []string{"request fin", "capture-stopped"}) {
		t.Errorf("endings %q", got)
	}
}

// errTimeout is err if it is a timeout.
func errTimeout(err error) error {
	var e net.Error
	if errors.As(err, &e) && e.Timeout() {
		return err
	}
	return nil
}

func TestServeBehindClose(t *testing.T) {
	o := newOrigin(t, "http", false)
	r := &Reverse{To: o.url(), Record: func(har.Event) {}}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Serve(l); err != nil {
		t.Errorf("serving a closed door: %v", err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener is open: %v", err)
	}
}

// What the server sees of the TLS client: http/1.1 alone, the name if it is one.
func TestClientHello(t *testing.T) {
	for host, want := range map[string]string{"127.0.0.1": "", "localhost": "localhost"} {
		o := newOrigin(t, "https", false)
		hello := make(chan *tls.ClientHelloInfo, 1)
		to := o.url()
		_, port, _ := net.SplitHostPort(to.Host)
		to.Host = net.JoinHostPort(host, port)
		addr, _ := openDoor(t, &Reverse{To: to, TLS: o.trust(), Record: func(har.Event) {}, Dial: dialer(o.Addr().String())})
		dial(t, addr)
		c, err := o.Accept()
		if err != nil {
			t.Fatal(err)
		}
		s := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{o.cert}, GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			hello <- h
			return nil, nil
		}})
		if err := s.Handshake(); err != nil {
			t.Fatal(err)
		}
		if h := <-hello; !slices.Equal(h.SupportedProtos, []string{"http/1.1"}) || h.ServerName != want {
			t.Errorf("%s: offered %q to %q, want http/1.1 to %q", host, h.SupportedProtos, h.ServerName, want)
		}
		c.Close()
	}
}
