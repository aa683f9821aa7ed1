package corpus

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// A change puts other bytes in the place of some.
type change struct {
	off, len int
	new      string
}

// cutOut leaves units out of the exchanges they are of. ok is false where that would not leave sound framing.
func cutOut(all []*har.Exchange, units []unit, gone []bool) (xs []*har.Exchange, ok bool) {
	xs = slices.Clone(all)
	for from := 0; from < len(units); {
		to := from
		for to < len(units) && units[to].x == units[from].x {
			to++
		}
		if slices.Contains(gone[from:to], true) {
			x := all[units[from].x]
			y := without(x, units[from:to], gone[from:to])
			if y == nil || !sameFraming(x, y) {
				return nil, false
			}
			xs[units[from].x] = y
		}
		from = to
	}
	return xs, true
}

// without makes a copy of an exchange without the units that are gone.
func without(x *har.Exchange, units []unit, gone []bool) *har.Exchange {
	var heads [2][]change
	var cuts []wire.Span
	joined := map[int]bool{}
	for from := 0; from < len(units); {
		g, to := units[from].group, from
		for to < len(units) && units[to].group == g {
			to++
		}
		for _, span := range g.cuts(gone[from:to]) {
			switch {
			case g.joins:
				joined[span.Off] = true
			case g.head:
				heads[g.dir] = append(heads[g.dir], change{off: span.Off, len: span.Len})
			default:
				cuts = append(cuts, span)
			}
		}
		from = to
	}
	y := *x
	y.Redacted, y.Edits = slices.Clone(x.Redacted), slices.Clone(x.Edits)
	down := heads[wire.ToClient]
	v := x.View()
	switch {
	case len(cuts) == 0 && len(joined) == 0:
	case v.Stdio:
		for _, c := range cuts {
			down = append(down, change{off: c.Off, len: c.Len})
		}
	default:
		down = append(down, reframed(x.Response.Raw, v.Response, cuts, joined)...)
	}
	alter(&y, wire.ToServer, heads[wire.ToServer])
	alter(&y, wire.ToClient, down)
	return &y
}

// cuts are the bytes to leave out with these spans. In a list a comma goes along.
func (g *group) cuts(gone []bool) (cuts []wire.Span) {
	before := -1 // the last span that stays
	for i, s := range g.spans[:len(gone)] {
		last := i+1 == len(g.spans)
		switch {
		case !gone[i]:
			before = i
		case !g.list:
			cuts = append(cuts, s)
		case before >= 0:
			from := g.spans[i-1].End()
			cuts = append(cuts, wire.Span{Off: from, Len: s.End() - from})
		case last:
			cuts = append(cuts, s)
		default:
			cuts = append(cuts, wire.Span{Off: s.Off, Len: g.spans[i+1].Off - s.Off})
		}
	}
	return cuts
}

// reframed are the changes that leave cuts out of a payload, and join chunks: with them go Content-Length and the sizes of
// chunks. A chunk of which nothing is left goes, and one that was not whole misses as much as before.
func reframed(raw []byte, m *wire.Message, cuts []wire.Span, joined map[int]bool) (changes []change) {
	slices.SortFunc(cuts, func(a, b wire.Span) int { return cmp.Compare(a.Off, b.Off) })
	removed := 0
	first, grown := -1, int64(0) // the chunk that others are joined to, and its size
	size := func(k int) (at wire.Span, n int64, ext bool) {
		from := m.Off + m.Len
		if k > 0 {
			from = m.Body[k-1].End() + 2
		}
		text, _, _ := bytes.Cut(raw[from:m.Body[k].Off], []byte("\r\n"))
		text, _, ext = bytes.Cut(text, []byte(";"))
		n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 16, 64)
		if err != nil {
			n = -1
		}
		return wire.Span{Off: from, Len: m.Body[k].Off - from}, n, ext
	}
	var pending []change
	settle := func() {
		if first < 0 {
			return
		}
		at, _, _ := size(first)
		changes = append(changes, change{at.Off, at.Len, strconv.FormatInt(grown, 16) + "\r\n"})
		changes = append(changes, pending...)
		first, pending = -1, nil
	}
	text := 0 // where the chunk begins in the payload
	for k, b := range m.Body {
		var own []change
		lost := 0
		for _, c := range cuts {
			from, to := max(c.Off, text), min(c.End(), text+b.Len)
			if from < to {
				own = append(own, change{off: b.Off + from - text, len: to - from})
				lost += to - from
			}
		}
		text += b.Len
		removed += lost
		if m.Framing != wire.ByChunks {
			changes = append(changes, own...)
			continue
		}
		at, n, _ := size(k)
		whole := int64(b.Len) == n
		switch {
		case lost == b.Len && whole && bytes.HasPrefix(raw[b.End():], []byte("\r\n")) && (first < 0 || !joined[k]):
			settle()
			changes = append(changes, change{off: at.Off, len: b.End() + 2 - at.Off})
		case joined[k] && first >= 0:
			pending = append(pending, change{off: m.Body[k-1].End(), len: b.Off - m.Body[k-1].End()})
			pending = append(pending, own...)
			grown += n - int64(lost)
		case lost > 0 || joined[k+1]:
			settle()
			first, grown, pending = k, n-int64(lost), own
		default:
			settle()
		}
	}
	settle()
	if m.Framing == wire.ByLength && removed > 0 {
		for _, f := range m.Fields {
			if len(f.Name) == len("content-length") && bytes.EqualFold([]byte(f.Name), []byte("content-length")) {
				changes = append(changes, change{m.Off + f.At.Off, f.At.Len, strconv.FormatInt(m.Length-int64(removed), 10)})
			}
		}
	}
	return changes
}

// alter makes changes to one side, and to all that points into it.
func alter(x *har.Exchange, d wire.Dir, changes []change) {
	if len(changes) == 0 {
		return
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(a.off, b.off) })
	side := &x.Request
	if d == wire.ToClient {
		side = &x.Response
	}
	var raw []byte
	at := 0
	for _, c := range changes {
		raw = append(append(raw, side.Raw[at:c.off]...), c.new...)
		at = c.off + c.len
	}
	raw = append(raw, side.Raw[at:]...)
	moved := func(off int) int {
		shift := 0
		for _, c := range changes {
			if c.off >= off {
				break
			}
			shift += len(c.new) - c.len + max(0, c.off+c.len-off)
		}
		return off + shift
	}
	var writes []har.Write
	off := 0
	for _, w := range side.Writes {
		if n := moved(off+w.Len) - moved(off); n > 0 {
			writes = append(writes, har.Write{At: w.At, Len: n})
		}
		off += w.Len
	}
	*side = har.Side{Raw: raw, Writes: writes}
	redacted := x.Redacted[:0]
	for _, r := range x.Redacted {
		if r.Dir == d {
			from := moved(r.Off)
			r.Off, r.Len = from, moved(r.Off+r.Len)-from
		}
		if r.Len > 0 {
			redacted = append(redacted, r)
		}
	}
	x.Redacted = redacted
	if d == wire.ToServer {
		for i := range x.Edits {
			e := &x.Edits[i]
			from := moved(e.Off)
			e.Off, e.Len = from, moved(e.Off+e.Len)-from
		}
		return
	}
	x.EndOff = moved(x.EndOff)
	if r := x.View().Response; r != nil {
		x.SetResponse(&r.Head)
	}
}

// sameFraming tells whether both are as whole, and depart from RFC 9112 in the same ways.
func sameFraming(x, y *har.Exchange) bool {
	a, b := x.View(), y.View()
	return a.Complete == b.Complete && a.RequestTail.Len == b.RequestTail.Len && a.ResponseTail.Len == b.ResponseTail.Len &&
		(a.Late > 0) == (b.Late > 0) && sameMessage(a.Request, b.Request) && sameMessage(a.Response, b.Response)
}

func sameMessage(a, b *wire.Message) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Framing == b.Framing && a.Complete == b.Complete && slices.Equal(a.Faults, b.Faults)
}
