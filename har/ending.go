package har

import (
	"errors"
	"io"
	"net"
	"syscall"
	"time"
)

// ReadEnding names what a failed read or write says of the peer in direction-neutral words: EndFIN for io.EOF,
// EndNoCloseNotify for a TLS stream that broke off at the FIN, EndRST for a reset or a broken pipe, EndStopped for a
// connection closed by ourselves, else EndUnknown.
//
// A TLS stream that broke off between two records reads as io.EOF too: only who watches the connection below crypto/tls can
// tell. And a reset is reported once per socket, by the first read or write to meet it; a later read gives io.EOF.
func ReadEnding(err error) Ending {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return EndNoCloseNotify
	case errors.Is(err, io.EOF):
		return EndFIN
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), isSystemReset(err):
		return EndRST
	case errors.Is(err, net.ErrClosed), errors.Is(err, io.ErrClosedPipe):
		return EndStopped
	}
	return EndUnknown
}

// Drain waits until the peer's kernel has acknowledged all that was written to c (SIOCOUTQ is 0 on Linux), or until the
// connection is gone, at most for the given time. Other systems, and connections without a socket below them, return at once.
func Drain(c net.Conn, atMost time.Duration) {
	if s, ok := socket(c).(syscall.Conn); ok {
		poll(atMost, func() bool { return unacknowledged(s) })
	}
}

// AwaitEnd waits until the peer of c has ended the connection below c, be it by a FIN or a reset, or c is closed, at most for the
// given time. Over TLS that may come some time behind the close_notify. Other systems than Linux return at once.
func AwaitEnd(c net.Conn, atMost time.Duration) {
	if s, ok := socket(c).(syscall.Conn); ok {
		poll(atMost, func() bool { return peerGoesOn(s) })
	}
}

// poll waits while wait is true, at most for the given time.
func poll(atMost time.Duration, wait func() bool) {
	deadline, nap := time.Now().Add(atMost), 50*time.Microsecond
	for wait() {
		left := time.Until(deadline)
		if left <= 0 {
			return
		}
		time.Sleep(min(nap, left))
		nap = min(2*nap, 5*time.Millisecond)
	}
}

// Reset drains c and then closes it with a TCP reset. c may be a *tls.Conn, or anything else with a NetConn method: the
// reset is sent below it. A connection that cannot reset (net.Pipe) is closed.
func Reset(c net.Conn, atMost time.Duration) error {
	Drain(c, atMost)
	c = socket(c)
	if l, ok := c.(interface{ SetLinger(sec int) error }); ok {
		if err := l.SetLinger(0); err != nil {
			return errors.Join(err, c.Close())
		}
	}
	return c.Close()
}

// Gone tells whether there is no connection any more below c: it was reset, or both sides have ended it. Only Linux can
// tell without reading.
func Gone(c net.Conn) bool {
	s, ok := socket(c).(syscall.Conn)
	return ok && gone(s)
}

// Ended tells whether the peer of c has ended its side, by a FIN or a reset, read or not. Only Linux can tell without
// reading.
func Ended(c net.Conn) bool {
	s, ok := socket(c).(syscall.Conn)
	return ok && ended(s)
}

// Unread tells whether bytes have arrived below c that nobody has read. Only Linux can tell.
func Unread(c net.Conn) bool {
	s, ok := socket(c).(syscall.Conn)
	return ok && unread(s)
}

// socket is what lies at the bottom of c.
func socket(c net.Conn) net.Conn {
	for {
		above, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return c
		}
		c = above.NetConn()
	}
}
