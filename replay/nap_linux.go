package replay

import (
	"net"
	"syscall"
	"time"
)

// napTime is below what a timer of the runtime can keep: it sleeps in whole milliseconds when nothing else is to do.
const napTime = time.Millisecond

// maxNaps is how many connections may sleep in the kernel at once, each holding a thread.
const maxNaps = 16

// nap sleeps for less than napTime. A connection over a socket lets the kernel wake it, to about 60 µs; others, which
// tests run on a clock of their own, use that.
func (c *conn) nap(d time.Duration) {
	n := c.p.naps.Add(1)
	defer c.p.naps.Add(-1)
	if n > maxNaps || c.socket() == nil {
		time.Sleep(d)
		return
	}
	t := syscall.NsecToTimespec(int64(d))
	syscall.Nanosleep(&t, nil)
}

// arrived tells whether bytes or an ending have come that were not read.
func (c *conn) arrived() (some bool) {
	s := c.socket()
	if s == nil {
		return false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	raw.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		some = err != syscall.EAGAIN && err != syscall.EINTR
	})
	return some
}

// socket is what lies below the connection, nil if that is none.
func (c *conn) socket() syscall.Conn {
	nc := c.nc
	if t, ok := nc.(interface{ NetConn() net.Conn }); ok {
		nc = t.NetConn()
	}
	s, _ := nc.(syscall.Conn)
	return s
}
