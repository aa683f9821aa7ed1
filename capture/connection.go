package capture

import (
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// A connection is what must be known of one to tell its exchanges and how it ended.
type connection struct {
	book    *book
	id      uint64
	between har.Conn
	slicer  wire.Slicer
	begun   int         // exchanges
	places  int         // those of them that the cassette at hand has
	live    []*exchange // in order; the last one begun, and those before it that are not whole
	target  string      // of the last request
	url     string      // that belongs to it

	end   [2]har.Ending // by wire.Dir: how each side ended first
	endAt [2]time.Time
	first wire.Dir  // which side ended first, if any has
	again time.Time // when the server reset behind its FIN
	gone  bool      // the client has reset, be it behind its FIN

	base    int      // exchanges begun before the slicer at hand
	adrift  [2]bool  // by wire.Dir: where its messages begin is not known, for bytes are missing
	pending []string // notes for the next exchange
	late    bool     // response bytes came behind the client's FIN

	pipes *pipes // those of a process, which carry lines; nil over TCP
}

// bytes takes the next bytes of one direction.
func (c *connection) bytes(e *entry, p []byte, edits []har.Edit) {
	if left := c.end[wire.ToServer]; e.dir == wire.ToClient && (left == har.EndFIN || left == har.EndNoCloseNotify) {
		c.late = true
	}
	if c.adrift != [2]bool{} && !c.found(e.dir, p, e.at) {
		c.drifting(e, p)
		return
	}
	off := 0
	for _, piece := range c.slicer.Feed(e.dir, p) {
		x := c.exchange(c.base+piece.Seq, e.at)
		base := x.size(e.dir) + int(x.unkept[e.dir]) - off
		x.add(e.dir, e.at, p[off:off+piece.N], x.headIn(e.dir, &piece), off > 0)
		off += piece.N
		for len(edits) > 0 && edits[0].Off < off {
			x.edit(edits[0], base)
			edits = edits[1:]
		}
		c.read(x, e.dir, &piece)
		c.limit(x)
	}
}

// exchange returns the exchange with that number on the connection, the last one if it is closed.
func (c *connection) exchange(seq int, at time.Time) *exchange {
	for c.begun < seq {
		c.begin(at)
	}
	i := len(c.live) - 1
	for i > 0 && c.live[i].Seq > seq {
		i--
	}
	return c.live[i]
}

// begin begins the next exchange.
func (c *connection) begin(at time.Time) {
	b := c.book
	if n := len(c.live); n > 0 && c.live[n-1].done {
		c.drop(n-1, at) // from now on nothing more belongs to it
	}
	c.begun++
	b.n++
	x := b.newExchange()
	x.N, x.Conn, x.Seq, x.most = b.n, c.id, c.begun, b.most()
	c.place(x)
	x.Client, x.Server, x.Name = c.between.Client, c.between.Server, c.between.Name
	if c.pipes != nil {
		x.URL = c.pipes.url
	}
	x.start(at)
	x.began = b.now
	if c.between.Note != "" {
		x.note(c.between.Note)
	}
	for _, n := range c.pending {
		x.note(n)
	}
	c.pending = nil
	c.live = append(c.live, x)
	b.growing = true
}

// read takes note of what a piece says about its exchange.
func (c *connection) read(x *exchange, d wire.Dir, piece *wire.Piece) {
	if h := piece.Head; h != nil && d == wire.ToServer {
		x.Method, x.URL = h.Method, c.absolute(h)
	} else if h != nil && !h.Interim() {
		x.Status, x.MediaType = h.Status, har.MediaTypeOf(h)
	}
	if piece.Done {
		x.whole[d] = true
		c.settle(x)
	}
}

// absolute is the URL that the bytes went to. Most requests of a connection go to one.
func (c *connection) absolute(h *wire.Head) string {
	if c.between.Base == "" || h.Method == "CONNECT" {
		return har.TargetURL(c.between.Base, h)
	}
	if h.Target != c.target {
		c.target, c.url = h.Target, har.TargetURL(c.between.Base, h)
	}
	return c.url
}

// settle writes an exchange that has become whole, unless the connection's ending is about to be known.
func (c *connection) settle(x *exchange) {
	if x.done || !x.whole[wire.ToServer] || !x.whole[wire.ToClient] || c.ending() {
		return
	}
	c.storeBefore(x)
	c.book.store(x, true, har.EndKeep)
	x.done = true
	if i := len(c.live) - 1; c.live[i] != x {
		for c.live[i] != x {
			i--
		}
		c.drop(i, x.at)
	}
}

// ending tells whether a side has ended so that no further exchange is expected. A host that has closed a process's stdin may
// still be answered.
func (c *connection) ending() bool {
	if c.pipes != nil {
		return c.end[wire.ToClient] != ""
	}
	return c.end != [2]har.Ending{}
}

// drop forgets the i-th live exchange, which is done, at that time. Written first are bytes that came behind its end, and
// how the connection had ended before it was used again.
func (c *connection) drop(i int, at time.Time) {
	x := c.live[i]
	if c.ending() && c.pipes == nil {
		x.ending(c, har.EndKeep, at)
		c.book.store(x, true, x.End)
	} else if x.unstored() > 0 {
		c.book.store(x, true, "")
	}
	c.live = append(c.live[:i], c.live[i+1:]...)
	c.book.recycle(x)
}

// storeBefore begins, in the cassette, the exchanges before x: their order there is that of the connection.
func (c *connection) storeBefore(x *exchange) {
	for _, before := range c.live {
		if before == x {
			return
		}
		if !before.written {
			c.book.store(before, false, "")
		}
	}
}

// limit writes what has come of x if that is much; else the next look at what grows will.
func (c *connection) limit(x *exchange) {
	n := x.unstored()
	if n-x.held < MaxUnstored {
		c.book.growing = c.book.growing || n > 0 || len(x.Notes) > 0
		return
	}
	c.storeBefore(x)
	c.book.store(x, false, "")
	x.held = x.unstored()
}

// note adds words to the last exchange.
func (c *connection) note(words string) {
	if n := len(c.live); n > 0 {
		c.live[n-1].note(words)
	}
}

// ended takes note of how one side ended.
func (c *connection) ended(d wire.Dir, how har.Ending, at time.Time) {
	switch {
	case how == har.EndRST && d == wire.ToServer:
		c.gone = true
	case how == har.EndRST && c.end[d] != "":
		c.again = at
	case c.pipes != nil:
	case how != har.EndRST && !c.adrift[d]:
		for _, piece := range c.slicer.Close(d) {
			c.read(c.exchange(c.base+piece.Seq, at), d, &piece)
		}
	}
	if c.end[d] != "" {
		return
	}
	if c.end[1-d] == "" {
		c.first = d
	}
	c.end[d], c.endAt[d] = how, at
	for _, x := range c.live {
		x.endOff[d] = x.size(wire.ToClient)
	}
}
