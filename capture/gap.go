package capture

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// lost takes note of bytes that the source did not see. Inside a body the slicer goes on behind them. Else the direction
// is adrift: what follows is kept with the exchange at hand, until bytes begin with a request line; from there on
// exchanges are told anew.
func (c *connection) lost(e *entry) {
	seq, done, ok := c.slicer.Skip(e.dir, e.lost)
	x := c.at(c.base + seq)
	switch {
	case seq == 0 && !c.adrift[e.dir] && e.dir == wire.ToServer && c.begun > c.base:
		c.restart(e.at)
		x = nil
	case seq == 0:
		x = nil
	}
	note := lossNote(x, e)
	if x == nil {
		c.pending = append(c.pending, note...)
	} else {
		for _, n := range note {
			x.note(n)
		}
	}
	if !ok {
		c.adrift[e.dir] = true
	}
	if done && x != nil {
		c.read(x, e.dir, &wire.Piece{Done: true})
	}
}

// at returns the live exchange with that number, nil if there is none.
func (c *connection) at(seq int) *exchange {
	for _, x := range c.live {
		if x.Seq == seq {
			return x
		}
	}
	return nil
}

// lossNote says what is missing. That a connection was met in its middle is said once bytes without a beginning come.
func lossNote(x *exchange, e *entry) []string {
	switch {
	case e.note == har.NoteStart:
		return nil
	case e.note == har.NoteSnaplen:
		return []string{har.NoteSnaplen}
	}
	at := 0
	if x != nil {
		at = x.size(e.dir)
	}
	n := "unknown number of bytes"
	if e.lost > 0 {
		n = fmt.Sprintf("%d bytes", e.lost)
	}
	return []string{fmt.Sprintf("%s: %s before byte %d of the %s", har.NoteGap, n, at, e.dir)}
}

// found tells whether p can be given to the slicer though bytes are missing before it, and if it begins with a request,
// sees to it that the slicer takes it for the first of a connection.
func (c *connection) found(d wire.Dir, p []byte, at time.Time) bool {
	switch {
	case d == wire.ToClient && !c.adrift[d]:
		return true
	case d == wire.ToClient:
		if c.slicer.Idle(d) && wire.BeginsResponse(p) == wire.Yes {
			c.adrift[d] = false
			return true
		}
		return false
	case wire.BeginsRequest(p) == wire.Yes && (c.adrift[d] || c.slicer.Idle(d)):
		c.restart(at)
		c.adrift[d] = false
		return true
	}
	return !c.adrift[d]
}

// restart lets the exchanges so far be, and begins to tell them anew. A response that is under way stays with none.
func (c *connection) restart(at time.Time) {
	if c.begun == c.base {
		return
	}
	for _, x := range c.live {
		x.EndAt, x.EndOff = 0, x.size(wire.ToClient)
		switch end := har.EndUnknown; {
		case x.done && x.unstored() == 0 && len(x.Notes) == 0:
		case x.whole[wire.ToClient]:
			end = har.EndKeep
			fallthrough
		default:
			c.book.store(x, true, end)
		}
		c.book.recycle(x)
	}
	c.adrift[wire.ToClient] = c.adrift[wire.ToClient] || !c.slicer.Idle(wire.ToClient)
	c.live, c.slicer, c.base = c.live[:0], wire.Slicer{}, c.begun
}

// drifting keeps bytes of which it is not known where in a message they are.
func (c *connection) drifting(e *entry, p []byte) {
	if c.begun == c.base {
		c.exchange(c.base+1, e.at)
	}
	x := c.live[len(c.live)-1]
	if x.noted&(gapNote|snaplenNote) == 0 {
		x.note(har.NoteStart)
	}
	x.add(e.dir, e.at, p, 0, false)
	c.limit(x)
}

// noted tells which of the words that stand once on an exchange do already.
type noted uint8

const (
	gapNote noted = 1 << iota
	snaplenNote
	startNote
	conflictNote
	inferredNote
)

var onceNotes = []string{har.NoteGap, har.NoteSnaplen, har.NoteStart, har.NoteConflict, har.NoteInferred}

// maxGaps is how many gaps of one exchange are listed.
const maxGaps = 32

// note adds a note, one that says no more than that something is so only once.
func (x *exchange) note(words string) {
	word, _, _ := strings.Cut(words, ":")
	if i := slices.Index(onceNotes, word); i >= 0 {
		bit := noted(1) << i
		switch {
		case word == har.NoteGap && x.gaps > maxGaps, word != har.NoteGap && x.noted&bit != 0:
			return
		case word == har.NoteGap && x.gaps == maxGaps:
			words = har.NoteGap + ": and more"
		}
		if x.noted |= bit; word == har.NoteGap {
			x.gaps++
		}
	}
	x.Notes = append(x.Notes, words)
}
