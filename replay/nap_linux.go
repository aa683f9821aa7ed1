package replay

import (
	"syscall"
	"time"
)

// napTime is below what a timer of the runtime can keep: it sleeps in whole milliseconds when nothing else is to do.
const napTime = time.Millisecond

// nap sleeps for less than napTime. A connection over a socket lets the kernel wake it, to about 60 µs; others, which
// tests run on a clock of their own, use that.
func (c *conn) nap(d time.Duration) {
	if _, ok := c.nc.(syscall.Conn); !ok {
		time.Sleep(d)
		return
	}
	t := syscall.NsecToTimespec(int64(d))
	syscall.Nanosleep(&t, nil)
}
