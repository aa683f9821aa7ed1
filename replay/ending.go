package replay

import (
	"crypto/tls"
	"time"

	"github.com/mcptap/mcptap/har"
)

// end ends the connection as the recording says.
func (c *conn) end() {
	if c.dead {
		return
	}
	if c.ending.kind == har.EndRST {
		c.reset()
		return
	}
	c.ended(fromServer, c.closeWrite(c.ending.kind))
	c.linger()
	c.dead = true
}

// reset ends the connection by a reset, when the client's system has all that was sent.
func (c *conn) reset() {
	c.dead = true
	har.Drain(c.nc, drainTime)
	c.ended(fromServer, har.EndRST)
	har.Reset(c.nc, 0)
}

// closeWrite ends what the server sends: by a FIN, over TLS behind a close_notify unless the recording had none. It
// returns what the client sees.
func (c *conn) closeWrite(kind har.Ending) har.Ending {
	below := c.nc
	if t, ok := c.nc.(*tls.Conn); ok {
		if kind != har.EndNoCloseNotify {
			t.CloseWrite()
			kind = har.EndFIN
		}
		below = t.NetConn()
	} else {
		kind = har.EndFIN
	}
	if w, ok := below.(interface{ CloseWrite() error }); ok {
		w.CloseWrite()
	} else {
		c.nc.Close()
	}
	return kind
}

// linger reads on until the client closes too: closing with unread bytes would reset the connection. A request that the
// server reset, having closed before, is reset again.
func (c *conn) linger() {
	until := time.Now().Add(lingerTime)
	c.ending, c.silent = ending{}, true
	for !c.eof && !c.dead && time.Now().Before(until) {
		for !c.next() {
			if c.ending.kind == har.EndRST && c.wait(c.ending.at) {
				c.reset()
				return
			}
		}
		c.read(until)
		c.parse()
	}
}

// release closes the connection for good.
func (c *conn) release() {
	c.nc.Close()
	c.ended(fromServer, har.EndStopped)
	c.p.held.Add(-int64(cap(c.buf)))
}
