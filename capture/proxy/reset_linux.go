package proxy

import (
	"net"
	"syscall"
)

// pendingReset tells whether a reset has arrived that no read or write has met yet, and takes it off the socket (SO_ERROR,
// socket(7)). Behind the peer's FIN no read ever meets it: Linux goes on to say that the stream has ended, and the
// error is EPIPE.
func pendingReset(c net.Conn) (reset resetKind) {
	raw := rawConn(c)
	if raw == nil {
		return noReset
	}
	raw.Control(func(fd uintptr) {
		e, err := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_ERROR)
		switch {
		case err == nil && syscall.Errno(e) == syscall.ECONNRESET:
			reset = plainReset
		case err == nil && syscall.Errno(e) == syscall.EPIPE:
			reset = resetBehind
		}
	})
	return reset
}

// onEvent calls done now and whenever something happens on the socket that concerns readers, until it is true, the
// connection is closed or its read deadline passes.
func onEvent(c net.Conn, done func() bool) {
	if raw := rawConn(c); raw != nil {
		raw.Read(func(uintptr) bool { return done() })
	}
}

func rawConn(c net.Conn) syscall.RawConn {
	s, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}
