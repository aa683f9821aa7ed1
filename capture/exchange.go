package capture

import (
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// An exchange is one that is under way. Of the embedded one, Raw holds what was not written yet and what the redactor needs
// before it; Writes tell how the former was cut; Edits, Redacted and Notes are what was not written yet.
type exchange struct {
	har.Exchange
	at    time.Time // the first byte
	began time.Time // when the recorder saw that

	whole   [2]bool // by wire.Dir
	written bool    // its first line is
	done    bool    // it was written as whole
	passed  bool    // the redactor knows it as unfinished
	cut     [2]int  // bytes that are no longer in Raw
	stored  [2]int  // bytes that were written
	held    int     // bytes that the redactor kept back when it was last asked because there were many
	endOff  [2]int  // response bytes that had come when each side ended
	noted   noted   // words that were
	gaps    int     // notes of gaps
	counted bool    // among the whole ones

	placed    int      // its Seq in the cassette at hand
	elsewhere bool     // it is whole and stands in the cassette before
	before    [2]int   // bytes that the cassette before has
	most      int      // bytes that are kept, both directions
	headed    [2]bool  // by wire.Dir: the head is whole
	inHead    [2]int   // bytes of the head at hand
	unkept    [2]int64 // bytes that are not kept
	said      [2]int64 // of these, how many notes have counted
}

// edit adds a change to bytes of the request that are kept, whose offset counts from base.
func (x *exchange) edit(e har.Edit, base int) {
	e.Off += base
	if most := x.size(wire.ToServer); e.Off+e.Len > most {
		if e.Len = most - e.Off; e.Len <= 0 {
			return
		}
	}
	x.Edits = append(x.Edits, e)
}

// keptRaw is how large a buffer is kept for the next exchange, keptSpare how many of them.
const (
	keptRaw   = 64 << 10
	keptSpare = 256
)

func (b *book) newExchange() *exchange {
	n := len(b.spare)
	if n == 0 {
		return new(exchange)
	}
	x := b.spare[n-1]
	b.spare = b.spare[:n-1]
	return x
}

func (b *book) recycle(x *exchange) {
	if len(b.spare) == keptSpare {
		return
	}
	was := x.Exchange
	*x = exchange{}
	x.Request, x.Response = emptied(was.Request), emptied(was.Response)
	x.Edits, x.Redacted, x.Notes = was.Edits[:0], was.Redacted[:0], was.Notes[:0]
	b.spare = append(b.spare, x)
}

func emptied(s har.Side) har.Side {
	if cap(s.Raw) > keptRaw || cap(s.Writes) > keptRaw/16 {
		return har.Side{}
	}
	return har.Side{Raw: s.Raw[:0], Writes: s.Writes[:0]}
}

func (x *exchange) start(at time.Time) {
	x.at = at
	x.Started = at.UTC().Truncate(time.Microsecond)
}

// since is the time from Started to at, in microseconds and never negative.
func (x *exchange) since(at time.Time) time.Duration {
	d := at.Sub(x.at) + time.Duration(x.at.Nanosecond()%1000)
	return max(0, d.Truncate(time.Microsecond))
}

func (x *exchange) side(d wire.Dir) *har.Side {
	if d == wire.ToServer {
		return &x.Request
	}
	return &x.Response
}

// size is how many bytes of a direction have come.
func (x *exchange) size(d wire.Dir) int { return x.cut[d] + len(x.side(d).Raw) }

// unstored is how many bytes have come and were not written.
func (x *exchange) unstored() int {
	return x.size(wire.ToServer) - x.stored[wire.ToServer] + x.size(wire.ToClient) - x.stored[wire.ToClient]
}

// add adds bytes, of which the first head ones are kept whatever the limit. joined: they were seen together with those before.
func (x *exchange) add(d wire.Dir, at time.Time, p []byte, head int, joined bool) {
	if p = x.kept(d, p, head); len(p) == 0 {
		return
	}
	s := x.side(d)
	s.Raw = append(s.Raw, p...)
	if n := len(s.Writes); joined && n > 0 {
		s.Writes[n-1].Len += len(p)
		return
	}
	s.Writes = append(s.Writes, har.Write{At: x.since(at), Len: len(p)})
}
