package replay

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A lobby is a listener without sockets: who dials it gets a connection in memory that can end in all the ways in which a
// TCP connection can.
type lobby struct {
	waiting chan net.Conn
	done    chan struct{}
	once    sync.Once
}

func newLobby() *lobby { return &lobby{waiting: make(chan net.Conn), done: make(chan struct{})} }

func (l *lobby) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := newPipe()
	select {
	case l.waiting <- server:
		return client, nil
	case <-l.done:
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: syscall.ECONNREFUSED}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *lobby) Accept() (net.Conn, error) {
	select {
	case c := <-l.waiting:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *lobby) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *lobby) Addr() net.Addr { return memory{} }

type memory struct{}

func (memory) Network() string { return "pipe" }
func (memory) String() string  { return "pipe" }

// A pipe is one end of a connection in memory. Each direction is a net.Pipe of its own, so that one may end before the
// other.
type pipe struct {
	in, out net.Conn
	reset   *atomic.Bool // shared by both ends: one of them has reset the connection
}

func newPipe() (a, b *pipe) {
	a2b, fromA := net.Pipe()
	b2a, fromB := net.Pipe()
	reset := new(atomic.Bool)
	return &pipe{fromB, a2b, reset}, &pipe{fromA, b2a, reset}
}

func (p *pipe) Read(b []byte) (int, error) {
	n, err := p.in.Read(b)
	if errors.Is(err, io.EOF) && p.reset.Load() {
		err = &net.OpError{Op: "read", Net: "pipe", Err: syscall.ECONNRESET}
	} else if errors.Is(err, io.ErrClosedPipe) {
		err = net.ErrClosed
	}
	return n, err
}

func (p *pipe) Write(b []byte) (int, error) {
	n, err := p.out.Write(b)
	if errors.Is(err, io.ErrClosedPipe) {
		err = &net.OpError{Op: "write", Net: "pipe", Err: syscall.EPIPE}
	}
	return n, err
}

// CloseWrite ends this side as a FIN does.
func (p *pipe) CloseWrite() error { return p.out.Close() }

// SetLinger of 0 makes Close a reset, as of a *net.TCPConn.
func (p *pipe) SetLinger(sec int) error {
	p.reset.Store(sec == 0)
	return nil
}

func (p *pipe) Close() error { return errors.Join(p.out.Close(), p.in.Close()) }

func (p *pipe) LocalAddr() net.Addr                { return memory{} }
func (p *pipe) RemoteAddr() net.Addr               { return memory{} }
func (p *pipe) SetReadDeadline(t time.Time) error  { return p.in.SetReadDeadline(t) }
func (p *pipe) SetWriteDeadline(t time.Time) error { return p.out.SetWriteDeadline(t) }
func (p *pipe) SetDeadline(t time.Time) error {
	return errors.Join(p.SetReadDeadline(t), p.SetWriteDeadline(t))
}
