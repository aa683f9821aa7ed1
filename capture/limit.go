package capture

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// Limits bound what a Recorder keeps. Heads are always kept. What is left out is counted, and said by a note (har.NoteLimit).
type Limits struct {
	Exchange int64 // bytes of one exchange, both directions; 0: all
	Size     int64 // bytes of the cassette, looked at when it is flushed; 0: no bound

	// Next is called when the cassette has reached Size and its end line is written. It gives the one to go on with. Without it,
	// bodies are kept no more from there on, and Full is called once.
	Next func() (*har.Writer, error)
	Full func()
}

// most is how many bytes of one exchange are kept.
func (b *book) most() int {
	switch {
	case b.full:
		return 0
	case b.limits.Exchange > 0:
		return int(b.limits.Exchange)
	}
	return math.MaxInt
}

// kept gives the part of p that is kept: the first head bytes, and as much as there is room for. The first time something is
// left out, that is noted; how much it was is when the exchange ends.
func (x *exchange) kept(d wire.Dir, p []byte, head int) []byte {
	room := x.most - x.size(wire.ToServer) - x.size(wire.ToClient)
	if room = max(room, head, 0); room >= len(p) {
		return p
	}
	if x.unkept[d] == 0 {
		x.note(fmt.Sprintf("%s: the %s is kept up to byte %d", har.NoteLimit, d, x.size(d)+room-x.before[d]))
	}
	x.unkept[d] += int64(len(p) - room)
	return p[:room]
}

// noteUnkept says how much was left out.
func (x *exchange) noteUnkept() {
	for d, n := range x.unkept {
		if n > x.said[d] {
			x.note(fmt.Sprintf("%s: %d bytes of the %s were not kept", har.NoteLimit, n-x.said[d], wire.Dir(d)))
			x.said[d] = n
		}
	}
}

// headIn tells how many bytes at the beginning of a piece are of a head.
func (x *exchange) headIn(d wire.Dir, piece *wire.Piece) int {
	switch h := piece.Head; {
	case h != nil:
		n := min(piece.N, h.Len-x.inHead[d])
		if d == wire.ToClient && h.Interim() { // what follows is the next head
			n, x.inHead[d] = piece.N, piece.N-n
			return n
		}
		x.headed[d], x.inHead[d] = true, 0
		return n
	case x.headed[d] || piece.Opaque:
		return 0
	}
	x.inHead[d] += piece.N
	return piece.N
}

// holdSize does what is to be done when the cassette has grown to its bound.
func (b *book) holdSize() {
	if b.err != nil || b.w == nil || b.limits.Size <= 0 || b.full || b.w.Size() < b.limits.Size {
		return
	}
	if b.limits.Next != nil {
		b.rotate()
		return
	}
	b.full = true
	for _, c := range b.conns {
		for _, x := range c.live {
			x.most = 0
		}
	}
	if b.limits.Full != nil {
		b.limits.Full()
	}
}

// rotate ends the cassette and goes on in the next one. An exchange that is under way stands in both, with the same N: in the
// first it ends EndStopped with the note har.NoteRotated, in the next one it has the note har.NoteStart and the bytes that the first
// has not. The places of exchanges on their connections count from 1 again.
func (b *book) rotate() {
	conns := make([]*connection, 0, len(b.conns))
	for _, c := range b.conns {
		conns = append(conns, c)
	}
	slices.SortFunc(conns, func(x, y *connection) int { return cmp.Compare(x.id, y.id) })
	for _, c := range conns {
		for _, x := range c.live {
			b.partWith(x)
		}
	}
	end := har.End{At: b.now.UTC().Truncate(time.Microsecond), Next: true}
	if b.err == nil {
		b.err = b.w.Close(end)
	}
	if b.err != nil {
		return
	}
	if b.w, b.err = b.limits.Next(); b.err != nil {
		b.w = nil
		return
	}
	b.unflushed = false
	for _, c := range conns {
		c.places = 0
		for _, x := range c.live {
			if x.elsewhere = x.done; !x.done {
				c.place(x)
			}
			b.growing = b.growing || !x.done
		}
	}
}

// partWith writes the last of x that the cassette gets.
func (b *book) partWith(x *exchange) {
	if b.err != nil || !x.written {
		return
	}
	if x.done {
		if x.unstored() > 0 {
			b.store(x, false, "")
		}
		return
	}
	b.store(x, false, "")
	if b.err != nil {
		return
	}
	line := har.Exchange{
		N: x.N, Conn: x.Conn, Seq: x.placed, End: har.EndStopped, EndAt: x.since(b.now),
		EndOff: x.stored[wire.ToClient] - x.before[wire.ToClient],
		Notes:  []string{har.NoteRotated + ": it goes on in the next file"},
	}
	b.err = b.w.Append(&line)
}

// place gives x the next place on its connection in the cassette at hand. What another one has of it is not counted here.
func (c *connection) place(x *exchange) {
	c.places++
	x.placed = c.places
	if x.elsewhere = false; !x.written {
		return
	}
	x.written, x.before = false, x.stored
	x.Notes = append([]string{har.NoteStart + ": the file before has what came before"}, x.Notes...)
	x.noted |= startNote
}
