package proxy

import (
	"bytes"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// What a server has sent is in the recording, also if nobody had read it when the client left or the door closed: here the
// relay does not get to the body before, for the record of the head is not taken.
func TestLastBytesAreKept(t *testing.T) {
	ca := authority(t)
	quick := usualTimes
	quick.lateQuiet = 50 * time.Millisecond
	for _, door := range []struct {
		name, scheme string
		connect      bool
	}{{"reverse", "http", false}, {"reverse, TLS", "https", false}, {"CONNECT", "http", true}, {"CONNECT, TLS", "https", true}} {
		for _, tt := range []struct {
			name   string
			leaves string // how the client does, before the body
			closes bool   // the door, while the client's ending or the body waits to be read
			silent bool   // the body comes when the door closes, and not before
			want   []string
		}{
			{"the client closes", "close", false, false, []string{"request fin", "request rst"}},
			{"the client resets", "rst", false, false, []string{"request rst"}},
			{"the client closes, then the door", "close", true, false, []string{"request fin", "request rst"}},
			{"the client closes, then the door, then the body comes", "close", true, true, []string{"request fin", "request rst"}},
			{"the client resets, then the door closes", "rst", true, false, []string{"request rst"}},
			{"the client half-closes, then the door closes", "fin", true, false, []string{"request fin"}},
			{"the door closes", "", true, false, nil},
		} {
			t.Run(door.name+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				o := newOrigin(t, door.scheme, false)
				h := newHalt()
				r, f := &Reverse{To: o.url(), TLS: o.trust(), Record: h.record, times: quick},
					&Forward{CA: ca, TLS: o.trust(), Record: h.record, times: quick}
				var client *side
				var stop func()
				hall := &r.hall
				if door.connect {
					addr, s := openDoor(t, f)
					client, stop, hall = newSide(t, o.through(t, ca, addr), false), s, &f.hall
				} else {
					addr, s := openDoor(t, r)
					client, stop = newSide(t, newLeg(dial(t, addr)), false), s
				}
				server := o.accept(t)
				const head, body = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 4\r\n\r\n", "nope"
				client.send([]byte(ask))
				await(t, "the request is not recorded", func() bool { return h.joined(1, wire.ToServer, false) == ask })
				server.send([]byte(head))
				client.await("head", func() bool { return len(client.got) == len(head) })
				<-h.halted
				x := theRelay(hall)
				if tt.leaves != "" {
					client.end(tt.leaves)
					d := wire.ToServer
					await(t, "the client's ending is not seen", func() bool {
						x.mu.Lock()
						defer x.mu.Unlock()
						return x.fin[d] || x.reset[d]
					})
				}
				if !tt.silent {
					server.send([]byte(body))
					await(t, "the body does not arrive", func() bool { return har.Unread(x.server.sock) })
				}
				if tt.closes {
					go func() {
						<-hall.ctx.Done()
						await(t, "the relay is not told to end", func() bool {
							x.mu.Lock()
							defer x.mu.Unlock()
							return x.closed
						})
						close(h.goOn)
						if tt.silent {
							server.send([]byte(body))
						}
					}()
				} else {
					close(h.goOn)
					server.await("the client's reset", func() bool { return strings.HasSuffix(server.sees, "rst") })
				}
				stop()
				if got := h.joined(1, wire.ToClient, false); got != head+body {
					t.Errorf("recorded %q, want head and body", got)
				}
				if got, want := h.endings(1), append(tt.want, "capture-stopped"); !slices.Equal(got, want) {
					t.Errorf("endings %q, want %q", got, want)
				}
				if tt.leaves == "" {
					client.await("body, which is in the recording", func() bool { return bytes.HasSuffix(client.got, []byte(body)) })
				}
			})
		}
	}
}

// A halt is a witness that holds up whoever brings the first bytes of a response.
type halt struct {
	witness
	once         sync.Once
	halted, goOn chan struct{}
}

func newHalt() *halt { return &halt{halted: make(chan struct{}), goOn: make(chan struct{})} }

func (h *halt) record(e har.Event) {
	if e.Dir == wire.ToClient && len(e.Bytes) > 0 {
		h.once.Do(func() {
			close(h.halted)
			<-h.goOn
		})
	}
	h.witness.record(e)
}

// theRelay is the only one there is.
func theRelay(h *hall) (x *relay) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for x = range h.live {
	}
	return x
}

func await(t testing.TB, not string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Error(not)
			return
		}
	}
}

// A client that takes nothing resets: what the server had sent until then is in the recording.
func TestResetOfAClientThatDoesNotRead(t *testing.T) {
	answer := "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("0123456789abcdef", 48<<10/16)
	for _, scheme := range []string{"http", "https"} {
		o := newOrigin(t, scheme, false)
		var w witness
		r := &Reverse{To: o.url(), TLS: o.trust(), Record: w.record}
		addr, stop := openDoor(t, r)
		narrow := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
			return c.Control(func(fd uintptr) { syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<10) })
		}}
		client, err := narrow.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		server := o.accept(t)
		client.Write([]byte(ask))
		server.await("request", func() bool { return len(server.got) > 40 })
		x := theRelay(&r.hall)
		x.client.sock.(*net.TCPConn).SetWriteBuffer(4 << 10)
		server.send([]byte(answer))
		await(t, "the answer does not pile up", func() bool { return har.Unread(x.server.sock) })
		har.Reset(client, 0)
		server.await("reset", func() bool { return server.sees == "rst" })
		stop()
		if got := w.joined(1, wire.ToClient, false); got != answer {
			t.Errorf("%s: %d bytes are recorded, %d were sent", scheme, len(got), len(answer))
		}
	}
}

// What has arrived when a client resets is read before the server is sent the reset, also where its reader is late.
func TestResetBeforeTheServerIsRead(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	pair := func() (near, far net.Conn) {
		far = dial(t, l.Addr().String())
		near, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		return near, far
	}
	toClient, client := pair()
	toServer, server := pair()
	var w witness
	d := &door{record: w.record, now: time.Now, times: usualTimes}
	late := &lateConn{toServer, make(chan struct{})}
	x := newRelay(d, 1, newLeg(toClient), &leg{conn: late, sock: toServer}, d.tape(), headEditor{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		x.run()
	}()
	const words = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 4\r\n\r\nnope"
	server.Write([]byte(words))
	await(t, "the answer does not arrive", func() bool { return har.Unread(toServer) })
	har.Reset(client, 0)
	await(t, "the reset is not seen", func() bool { return slices.Contains(w.endings(1), "request rst") })
	<-time.After(50 * time.Millisecond) // within which the reset is passed on, if the reader is not waited for
	close(late.goOn)
	<-done
	server.Close()
	if got := w.joined(1, wire.ToClient, false); got != words {
		t.Errorf("recorded %q, want what the server sent", got)
	}
}

// A lateConn is read when it is told to.
type lateConn struct {
	net.Conn
	goOn chan struct{}
}

func (c *lateConn) Read(b []byte) (int, error) {
	<-c.goOn
	return c.Conn.Read(b)
}
