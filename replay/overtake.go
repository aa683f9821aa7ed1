package replay

import (
	"slices"
	"time"

	"github.com/mcptap/mcptap/har/wire"
)

// overtake sends, while the first of the gates of r is shut, those behind it that have been open for turnTime: the client may
// never ask for what the first one waits for. They keep their order among themselves; what stands between two gates stays with
// the one before it. It returns when the next one may pass, zero if that depends on the client.
func (c *conn) overtake(r *recording, gates []gate) (next time.Time) {
	for i := 1; i < min(len(gates), lookConcurrent); i++ {
		g := &gates[i]
		end := r.stream.part(r, gates[i+1:])
		if slices.Contains(c.passed, g) || end < g.end {
			continue
		}
		due, patch, open := c.p.passes(g, c)
		if !open {
			continue
		}
		at := atOffset(r.x.Response.Writes, g.off)
		if due.IsZero() {
			due = c.due(at)
		}
		if due = due.Add(turnTime); time.Now().Before(due) {
			return due
		}
		c.p.notice("exchange %d: what answers exchange %d is sent before what answers exchange %d, which has not been asked for", r.x.N, g.causes[0].r.x.N, gates[0].causes[0].r.x.N)
		c.p.patched(r, patch)
		c.passed = append(c.passed, g)
		if !c.serveApart(r, g.off, end, at, patch) {
			break
		}
	}
	return time.Time{}
}

// serveApart sends the recorded bytes [from, end), the first of which had come at that time, before others that stand before
// them. It returns false if they cannot be sent any more.
func (c *conn) serveApart(r *recording, from, end int, at time.Duration, patch []edit) bool {
	was := c.turn
	defer func() { c.turn = was }()
	for _, e := range was.patch {
		if e.off >= from && e.off < end {
			patch = append(patch, e)
		}
	}
	slices.SortFunc(patch, func(a, b edit) int { return a.off - b.off })
	c.turn = turn{anchor: time.Now(), recorded: at, patch: patch, upTo: from}
	off := 0
	for _, w := range r.x.Response.Writes {
		begin := max(off, from)
		if off += max(w.Len, 0); min(off, end) <= begin {
			continue
		}
		if !c.wait(c.due(w.At)) {
			return false
		}
		c.emit(r, begin, min(off, end))
	}
	return !c.dead
}

// part is where the part of the stream ends that stands behind g, which those gates follow.
func (s *stream) part(r *recording, next []gate) int {
	if len(next) > 0 {
		return next[0].off
	}
	return s.whole(r.end)
}

// whole is up to where, of the first end bytes of the stream, one part may be sent before another: what is behind belongs to a
// chunk that is cut, or ends the body.
func (s *stream) whole(end int) int {
	m := s.view.Response
	if m.Framing != wire.ByChunks || len(m.Body) == 0 {
		return end
	}
	raw := s.view.X.Response.Raw
	for _, data := range slices.Backward(m.Body) {
		if at := behindChunk(raw[:end], data.End()); at > 0 {
			return at
		}
	}
	return 0
}
