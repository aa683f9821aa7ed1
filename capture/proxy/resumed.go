package proxy

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// A resumed connection gives out what was read of it before, and how that ended, and then goes on.
type resumed struct {
	net.Conn
	first []byte
	err   error // behind first, nil if nothing ended
}

func (r *resumed) Read(p []byte) (int, error) {
	if len(r.first) > 0 {
		n := copy(p, r.first)
		r.first = r.first[n:]
		return n, nil
	}
	if r.err != nil {
		return 0, r.err
	}
	return r.Conn.Read(p)
}

// NetConn is the connection below.
func (r *resumed) NetConn() net.Conn { return r.Conn }

// A trial is a connection on which TLS is tried: until it is said that it goes on, nothing is sent and all that is read is
// kept, so that the connection can be used as if nobody had read it. crypto/tls takes 64 KiB of a ClientHello at most.
type trial struct {
	net.Conn

	mu   sync.Mutex // guards what follows
	on   bool
	read []byte // while not on
	err  error
}

func (t *trial) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.on {
		t.read = append(t.read, p[:n]...)
		t.err = err
	}
	return n, err
}

func (t *trial) Write(p []byte) (int, error) {
	t.mu.Lock()
	on := t.on
	t.mu.Unlock()
	if !on {
		return len(p), nil
	}
	return t.Conn.Write(p)
}

// goOn ends the trial: TLS it is.
func (t *trial) goOn() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.on, t.read = true, nil
}

func (t *trial) isOn() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.on
}

// rewound is the connection as if nobody had read it.
func (t *trial) rewound() net.Conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	return &resumed{Conn: t.Conn, first: t.read, err: t.err}
}

// NetConn is the connection below.
func (t *trial) NetConn() net.Conn { return t.Conn }

// past is a deadline that stops a read.
var past = time.Unix(1, 0)

// firstWords waits until the client or the server says something or ends, and returns both connections as if nobody had read
// them, with what the client has said. What the client said before counts.
func firstWords(client *resumed, server net.Conn) (*resumed, []byte) {
	back := &resumed{Conn: server}
	if len(client.first) > 0 {
		return back, client.first
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		back.first, back.err = readOnce(server)
		client.SetReadDeadline(past)
	}()
	client.first, client.err = readOnce(client.Conn)
	server.SetReadDeadline(past)
	<-done
	client.SetReadDeadline(time.Time{})
	server.SetReadDeadline(time.Time{})
	if len(back.first) > 0 || back.err != nil {
		return back, nil
	}
	return back, client.first
}

// readOnce reads what there is. That a deadline has passed is no error.
func readOnce(c net.Conn) ([]byte, error) {
	buf := make([]byte, smallRead)
	n, err := c.Read(buf)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil
	}
	return buf[:n], err
}
