package har

import (
	"net"
	"time"
)

// ReadEnding names what a failed read or write says of the peer in direction-neutral words: EndFIN for io.EOF,
// EndNoCloseNotify for a TLS stream that broke off at the FIN, EndRST for a reset or a broken pipe, EndStopped for a
// connection closed by ourselves, else EndUnknown.
func ReadEnding(err error) Ending { panic("stub") }

// Drain waits until the peer's kernel has acknowledged all that was written to c (SIOCOUTQ is 0 on Linux), at most for
// the given time. Other systems, and connections without a socket below them, return at once.
func Drain(c net.Conn, atMost time.Duration) { panic("stub") }

// Reset drains c and then closes it with a TCP reset. c may be a *tls.Conn: the reset is sent below it. A connection
// that cannot reset (net.Pipe) is closed.
func Reset(c net.Conn, atMost time.Duration) error { panic("stub") }
