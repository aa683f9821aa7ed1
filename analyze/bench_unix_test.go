//go:build unix

package analyze

import (
	"syscall"
	"time"
)

// cpuTime gives the time that the process has computed, which other load on the machine changes less than the clock's.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
