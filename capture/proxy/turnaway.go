package proxy

import (
	"net"
	"time"

	"github.com/mcptap/mcptap/capture"
	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// How much is read of a client whose server cannot be reached, so that the request can be told.
const (
	turnAwayAfter = 250 * time.Millisecond
	turnAwayBytes = 1 << 20
)

// turnAway ends a client's connection as nearly as possible as an unreachable server does: without a byte, by a reset. It
// waits for the client's first request, which no byte of leaves.
func (d *door) turnAway(c net.Conn, id uint64, t *capture.Tape, f failure) {
	c.SetReadDeadline(time.Now().Add(turnAwayAfter))
	var slicer wire.Slicer
	buf := getBuffer(smallRead)
	defer putBuffer(buf)
	for total, whole := 0, false; !whole && total < turnAwayBytes; {
		n, err := c.Read(*buf)
		if n > 0 {
			t.Saw(har.Event{Conn: id, Dir: wire.ToServer, At: d.now(), Bytes: (*buf)[:n]})
			t.Hand()
		}
		for _, piece := range slicer.Feed(wire.ToServer, (*buf)[:n]) {
			whole = whole || piece.Done || piece.Opaque
		}
		if total += n; err != nil {
			break
		}
	}
	t.Last(har.Event{Conn: id, Dir: wire.ToClient, At: d.now(), End: har.EndUnknown, Note: f.note})
	har.Reset(c, 0)
	t.Hand()
}
