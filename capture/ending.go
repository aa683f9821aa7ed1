package capture

import (
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// finish writes how the connection ended, for its last exchange and for all that are not whole. stop is EndStopped or
// EndUnknown, for what had not ended before.
func (c *connection) finish(stop har.Ending, at time.Time) {
	if c.pipes != nil {
		c.pipes.finish(c.book)
	}
	for i, x := range c.live {
		x.ending(c, stop, at)
		if i+1 < len(c.live) && x.whole[wire.ToClient] && (c.pipes != nil || !c.live[i+1].at.After(c.endAt[c.first])) {
			x.End = har.EndKeep
		}
		if x.done && x.End == har.EndKeep && x.unstored() == 0 && len(x.Notes) == 0 {
			continue
		}
		c.book.store(x, true, x.End)
	}
	for _, x := range c.live {
		c.book.recycle(x)
	}
	c.live = nil
}

// ending sets End, EndAt and EndOff from what happened to the connection.
func (x *exchange) ending(c *connection, stop har.Ending, at time.Time) {
	server, client := c.end[wire.ToClient], c.end[wire.ToServer]
	halfClosed := (client == har.EndFIN || client == har.EndNoCloseNotify) && !c.gone && c.late && !(c.pipes.obeyed() && x.size(wire.ToClient) == 0)
	x.EndAt, x.EndOff = x.since(at), x.size(wire.ToClient)
	switch {
	case stop == har.EndUnknown:
		x.End = har.EndUnknown
	case client != "" && !halfClosed && (server == "" || c.first == wire.ToServer):
		x.End = har.EndClientFIN
		if client == har.EndRST {
			x.End = har.EndClientRST
		}
		x.EndAt, x.EndOff = x.since(c.endAt[wire.ToServer]), x.endOff[wire.ToServer]
	case server != "":
		x.End = server
		x.EndAt, x.EndOff = x.since(c.endAt[wire.ToClient]), x.endOff[wire.ToClient]
		if !c.again.IsZero() && x.at.After(c.endAt[wire.ToClient]) { // asked of a server that had left
			x.End, x.EndAt, x.EndOff = har.EndRST, x.since(c.again), x.size(wire.ToClient)
		}
	case x.whole[wire.ToServer] && x.whole[wire.ToClient]:
		x.End = har.EndKeep
	default:
		x.End = stop
	}
}
