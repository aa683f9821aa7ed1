package proxy

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/mcptap/mcptap/har"
)

// A leg is one of a relay's two connections.
type leg struct {
	conn  net.Conn // what is read and written: a *tls.Conn or sock
	sock  net.Conn // the connection at the bottom
	floor *floor   // between the two, nil without TLS

	// A reset shows once, to the first call on the socket that meets it; a read behind that sees the end of the stream.
	// Whoever meets the reset elsewhere than in a read holds mu from before the call until it has noted it.
	mu    sync.Mutex
	reset resetKind
}

// A resetKind tells whether and when the peer reset.
type resetKind uint8

const (
	noReset     resetKind = iota
	plainReset            // in place of a FIN
	resetBehind           // behind the peer's FIN
)

func newLeg(c net.Conn) *leg { return &leg{conn: c, sock: c} }

// A floor is what lies between crypto/tls and a socket. It notes the FIN: tls.Conn reads io.EOF both behind a
// close_notify and where the stream breaks off between two records.
type floor struct {
	net.Conn
	fin atomic.Bool
}

func (f *floor) Read(p []byte) (int, error) {
	n, err := f.Conn.Read(p)
	if err == io.EOF {
		f.fin.Store(true)
	}
	return n, err
}

// NetConn is the socket, which har.Reset closes.
func (f *floor) NetConn() net.Conn { return f.Conn }

// write writes all of p. gone tells that the peer has reset the connection.
func (l *leg) write(p []byte) (gone bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err = l.conn.Write(p)
	if err != nil && har.ReadEnding(err) != har.EndStopped {
		l.met(err)
	}
	return l.reset != noReset, err
}

// met notes the reset that a write has met. mu is held.
func (l *leg) met(err error) {
	switch {
	case l.reset != noReset:
	case errors.Is(err, syscall.EPIPE):
		l.reset = resetBehind
	default:
		l.reset = plainReset
	}
}

// ending names what a failed read says of the peer.
func (l *leg) ending(err error) har.Ending {
	end := har.ReadEnding(err)
	if end != har.EndFIN && end != har.EndNoCloseNotify {
		return end
	}
	switch {
	case har.Gone(l.sock) && l.takeReset() == plainReset:
		return har.EndRST
	case l.floor == nil:
		return har.EndFIN
	case l.floor.fin.Load():
		return har.EndNoCloseNotify
	}
	return end
}

// closeWrite ends what we send: over TLS with a close_notify unless the side whose ending this mirrors sent none.
func (l *leg) closeWrite(mirrors har.Ending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t, ok := l.conn.(*tls.Conn); ok && mirrors != har.EndNoCloseNotify {
		if err := t.CloseWrite(); errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
			l.met(err)
		}
	}
	if half, ok := l.sock.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	} else {
		l.sock.Close()
	}
}

// takeReset tells whether the peer has reset the connection, as far as that can be told without reading. While a write
// goes on, it waits for its end.
func (l *leg) takeReset() resetKind {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reset == noReset {
		l.reset = pendingReset(l.sock)
	}
	return l.reset
}

func (l *leg) wasReset() bool { return l.takeReset() != noReset }

// awaitReset waits, behind the peer's FIN, until the peer resets (true), or until the connection is closed here or its
// read deadline passes (false). Nobody else may read meanwhile.
func (l *leg) awaitReset() bool {
	onEvent(l.sock, l.wasReset)
	return l.wasReset()
}
