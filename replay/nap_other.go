//go:build !linux

package replay

import "time"

// napTime is the shortest sleep that is interrupted by what the client sends.
const napTime = time.Millisecond

func (c *conn) nap(d time.Duration) { time.Sleep(d) }

// arrived is not known here.
func (c *conn) arrived() bool { return false }
