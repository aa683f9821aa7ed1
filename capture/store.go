package capture

import (
	"slices"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// dropAt is from how many stored bytes on an unfinished exchange's buffer is shortened.
const dropAt = 64 << 10

// store writes what there is of x and was not written, as far as the redactor lets go of it. final: nothing more will come.
// end is "" while x goes on.
func (b *book) store(x *exchange, final bool, end har.Ending) {
	if b.err != nil {
		return
	}
	if x.elsewhere {
		if x.unstored() == 0 {
			return
		}
		b.conns[x.Conn].place(x)
	}
	if final {
		x.noteUnkept()
	}
	if final && !x.counted && x.whole == [2]bool{true, true} {
		x.counted = true
		b.whole++
	}
	upTo := b.redacted(x, final)
	line := &b.line
	x.prepare(line, upTo)
	line.End, line.EndAt, line.EndOff = end, x.EndAt, max(0, x.EndOff-x.before[wire.ToClient])
	if b.w == nil {
		x.wrote(line, upTo)
		b.shorten(x, final)
		return
	}
	more := x.written
	if !more {
		b.err = b.w.Write(line)
	} else if len(line.Request.Raw)+len(line.Response.Raw) > 0 || end != "" || len(line.Notes) > 0 {
		b.err = b.w.Append(line)
	}
	if b.wrote != nil && b.err == nil {
		b.wrote(line, more)
	}
	x.written, b.unflushed = true, true
	x.wrote(line, upTo)
	b.shorten(x, final)
}

// redacted redacts x and returns up to which offsets in Raw it may be written.
func (b *book) redacted(x *exchange, final bool) (upTo [2]int) {
	if b.redact == nil || x.unstored() == 0 && !(final && x.passed) {
		return [2]int{len(x.Request.Raw), len(x.Response.Raw)}
	}
	from := [2]int{x.stored[0] - x.cut[0], x.stored[1] - x.cut[1]}
	had := len(x.Redacted)
	upTo = b.redact.Pass(&x.Exchange, from, final)
	b.replaced += len(x.Redacted) - had
	x.passed = !final
	for i := range x.Redacted {
		d := x.Redacted[i].Dir
		x.Redacted[i].Off += x.cut[d] - x.before[d]
	}
	return upTo
}

// prepare fills line with what of x is to be written.
func (x *exchange) prepare(line *har.Exchange, upTo [2]int) {
	request, response := line.Request.Writes, line.Response.Writes
	*line = x.Exchange
	line.Seq = x.placed
	line.Request = x.part(wire.ToServer, upTo, request)
	line.Response = x.part(wire.ToClient, upTo, response)
	n, most := 0, x.cut[wire.ToServer]+upTo[wire.ToServer]
	for n < len(x.Edits) && x.Edits[n].Off+x.Edits[n].Len <= most {
		n++
	}
	line.Edits = x.editsHere(n)
}

// editsHere gives the first n edits, their offsets as the cassette at hand has them.
func (x *exchange) editsHere(n int) []har.Edit {
	before := x.before[wire.ToServer]
	if before == 0 {
		return x.Edits[:n]
	}
	list := slices.Clone(x.Edits[:n])
	for i := range list {
		e := &list[i]
		if e.Off -= before; e.Off < 0 { // the file before has the beginning of what was replaced
			e.Off, e.Len = 0, max(0, e.Len+e.Off)
		}
	}
	return list
}

// part gives the bytes of one side from the first one that was not written up to upTo, with their cuts, for which it uses
// the room of writes.
func (x *exchange) part(d wire.Dir, upTo [2]int, writes []har.Write) har.Side {
	s := x.side(d)
	raw := s.Raw[x.stored[d]-x.cut[d] : upTo[d]]
	writes = writes[:0]
	for rest, i := len(raw), 0; rest > 0; i++ {
		w := s.Writes[i]
		w.Len = min(w.Len, rest)
		writes = append(writes, w)
		rest -= w.Len
	}
	return har.Side{Raw: raw, Writes: writes}
}

// wrote takes off x what was written with line.
func (x *exchange) wrote(line *har.Exchange, upTo [2]int) {
	for d := range upTo {
		s := x.side(wire.Dir(d))
		n := upTo[d] + x.cut[d] - x.stored[d]
		x.stored[d] += n
		k := 0
		for n > 0 && n >= s.Writes[k].Len {
			n -= s.Writes[k].Len
			k++
		}
		if n > 0 {
			s.Writes[k].Len -= n
		}
		s.Writes = append(s.Writes[:0], s.Writes[k:]...)
	}
	x.Edits = append(x.Edits[:0], x.Edits[len(line.Edits):]...)
	x.Redacted, x.Notes = x.Redacted[:0], x.Notes[:0]
}

// shorten cuts off the written bytes that are not needed any more.
func (b *book) shorten(x *exchange, final bool) {
	n := [2]int{len(x.Request.Raw), len(x.Response.Raw)}
	switch {
	case final:
	case n[0]+n[1] < dropAt:
		return
	case b.redact != nil:
		n = b.redact.Drop(&x.Exchange)
	default:
		n = [2]int{x.stored[0] - x.cut[0], x.stored[1] - x.cut[1]}
	}
	for d := range n {
		s := x.side(wire.Dir(d))
		if s.Raw = append(s.Raw[:0], s.Raw[n[d]:]...); len(s.Raw) == 0 && cap(s.Raw) > keptRaw {
			s.Raw = nil
		}
		x.cut[d] += n[d]
	}
}
