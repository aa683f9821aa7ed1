package replay

import (
	"slices"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// A turn is a recorded response on its way to the client.
type turn struct {
	anchor   time.Time     // the live time from which gaps count
	recorded time.Duration // the recorded time that it stands for, since Exchange.Started
	patch    []edit        // what is changed, from the next byte on
	upTo     int           // how many recorded bytes were sent or replaced
	behind   int           // how many bytes the client has sent behind its request, where a tunnel has made them part of it
	left     bool          // the client closed its side while a gate was shut
	passed   []*gate       // those whose part was sent before that of one that was shut
}

// answer answers a whole request.
func (c *conn) answer(f *found) {
	q := c.request(f)
	if !c.p.whole.Load() {
		r, ok := c.sure(q, f.at)
		if !ok {
			return
		}
		if r != nil {
			c.serveFrom(r, nil, f.at)
			c.consume()
			return
		}
	}
	if len(c.p.Faults) > 0 {
		c.answerFaulty(q, f.at)
	} else if !c.resume(q, f.at) {
		if r, patch, miss := c.p.take(q, f.at); miss != nil {
			c.refuse(q, miss)
		} else {
			c.serveFrom(r, patch, f.at)
		}
	}
	if len(c.found) > 0 {
		c.consume()
	}
}

// serveFrom answers a request that was whole at that time with all of r that has not been sent.
func (c *conn) serveFrom(r *recording, patch []edit, at time.Time) {
	c.anchor, c.recorded = at, r.wholeAt
	c.serve(r, patch, c.sent)
	c.after(r)
}

// request makes a request of what was found. It is valid until the next call.
func (c *conn) request(f *found) *request {
	c.asking = request{match: c.p.Match, head: f.head, raw: c.buf[:f.n], affinity: affinity(f.head), begun: c.begun, sent: c.sent}
	q := &c.asking
	switch f.head.Framing {
	case wire.ByLength:
		q.body = c.buf[f.headLen:f.n]
	case wire.ByChunks:
		if m, _ := wire.ParseRequest(q.raw); m != nil {
			q.body = m.Payload(q.raw)
		}
	}
	if _, encoded := f.head.Lookup("Content-Encoding"); encoded {
		if m, _ := wire.ParseRequest(q.raw); m != nil {
			q.body = bodyOf(m, q.raw)
		}
	}
	if c.p.whole.Load() {
		if a := c.p.ix.like(f.head.Method, origin(f.head.Target), q.body); a != nil && a.group != nil {
			q.like = a
		}
	}
	return q
}

// scale is a recorded gap at the player's pace.
func (c *conn) scale(d time.Duration) time.Duration {
	d = min(max(d, 0), maxGap)
	if p := c.p.Pace; p > 0 && p != 1 {
		return time.Duration(min(float64(d)/p, float64(maxGap)))
	} else if p <= 0 {
		return 0
	}
	return d
}

// due is the live time of a recorded one.
func (c *conn) due(at time.Duration) time.Time { return c.anchor.Add(c.scale(at - c.recorded)) }

// serve sends r's response from the byte at from on, with its cuts and gaps.
func (c *conn) serve(r *recording, patch []edit, from int) {
	c.patch, c.upTo, c.behind, c.left, c.passed = patch, from, 0, false, nil
	c.p.warn(r)
	gates := []gate(nil)
	if r.stream != nil {
		gates = r.stream.gates
	}
	off, on := 0, true
	for _, w := range r.x.Response.Writes {
		begin, end := max(off, from), min(off+max(w.Len, 0), r.end)
		if off = end; begin >= end {
			continue
		}
		if on = c.serveWrite(r, &gates, begin, end, w.At); !on {
			break
		}
	}
	if on && off < r.end {
		c.emit(r, max(off, from), r.end) // writes that do not add up
	}
	if c.p.load != nil || r.gates { // which gates wait is not known before all is loaded
		c.p.answered(r)
	}
}

// serveWrite sends the recorded bytes [begin, end), which were one write, when they are due. It returns false if they
// cannot be sent any more.
func (c *conn) serveWrite(r *recording, gates *[]gate, begin, end int, at time.Duration) bool {
	begin = c.throughGates(r, gates, begin, end, at)
	if begin >= end {
		return true
	}
	if begin < 0 || !c.tunnelled(r, at) || !c.wait(c.due(at)) {
		return false
	}
	if c.eof && begin >= r.seen && r.seen < r.end {
		return false
	}
	c.emit(r, begin, end)
	return true
}

// throughGates takes the bytes [begin, end), written at that time, through the gates that stand before them. It returns
// where what is left to send begins, -1 if the connection is over.
func (c *conn) throughGates(r *recording, gates *[]gate, begin, end int, at time.Duration) int {
	for len(*gates) > 0 && (*gates)[0].off < end {
		g := &(*gates)[0]
		if slices.Contains(c.passed, g) {
			if g.off > begin {
				if !c.wait(c.due(at)) {
					return -1
				}
				c.emit(r, begin, g.off)
			}
			*gates = (*gates)[1:]
			c.upTo = r.stream.part(r, *gates)
			begin = max(begin, c.upTo)
			continue
		}
		due, patch, open := c.p.passes(g, c)
		if g.off > begin && (!open || due.After(c.due(at))) {
			if !c.wait(c.due(at)) {
				return -1
			}
			c.emit(r, begin, g.off)
			begin = g.off
		}
		for !open {
			if c.read(c.overtake(r, *gates)); c.dead || c.eof {
				c.left = true
				return -1
			}
			due, patch, open = c.p.passes(g, c)
		}
		if begin >= g.off && !due.IsZero() {
			c.anchor, c.recorded = due, at
		}
		c.patch = append(c.patch, patch...)
		c.p.patched(r, patch)
		*gates = (*gates)[1:]
	}
	return max(begin, c.upTo)
}

// tunnelled waits until the client has sent as many bytes behind its request as had come before that time. Then gaps
// count from there.
func (c *conn) tunnelled(r *recording, at time.Duration) bool {
	if !r.whole || r.reqEnd == len(r.x.Request.Raw) {
		return true
	}
	need, last := -r.reqEnd, time.Duration(0)
	for _, w := range r.x.Request.Writes {
		if w.At > at {
			break
		}
		need, last = need+w.Len, w.At
	}
	if need <= c.behind {
		return true
	}
	c.collect()
	for c.behind < need {
		if c.read(time.Time{}); c.dead || c.eof {
			return false
		}
		c.collect()
	}
	c.anchor, c.recorded = c.readAt, last
	return true
}

// collect counts and drops what came behind the request at hand, which the tunnel has made part of its exchange.
func (c *conn) collect() {
	n := min(c.held(), len(c.buf))
	c.behind += len(c.buf) - n
	c.buf, c.fed, c.found = c.buf[:n], n, c.found[:min(len(c.found), 1)]
}

// wait reads on until the time has come. It returns false if the connection is over.
func (c *conn) wait(due time.Time) bool {
	if c.p.Pace <= 0 {
		return !c.dead
	}
	return c.waitUntil(due)
}

// waitUntil is wait at any pace.
func (c *conn) waitUntil(due time.Time) bool {
	for !c.dead {
		left := time.Until(due)
		switch {
		case left <= 0:
			return true
		case left < napTime:
			if c.nap(left); !c.eof && len(c.buf) < maxAhead+c.held() && c.arrived() {
				c.read(time.Now().Add(napTime))
			}
		case c.eof || len(c.buf) >= maxAhead+c.held():
			c.sleep(due.Add(-napTime / 2))
		default:
			c.read(due.Add(-napTime / 2))
		}
	}
	return false
}

// held is the size of the request at hand.
func (c *conn) held() int {
	if len(c.found) == 0 {
		return 0
	}
	return c.found[0].n
}

// emit sends the recorded bytes [a, b) with what is changed in them.
func (c *conn) emit(r *recording, a, b int) {
	raw := r.x.Response.Raw
	a = max(a, c.upTo)
	if len(c.patch) == 0 || c.patch[0].off >= b {
		if a < b {
			c.write(raw[a:b])
			c.upTo = b
		}
		return
	}
	var out []byte
	for len(c.patch) > 0 && c.patch[0].off < b {
		e := c.patch[0]
		if c.patch = c.patch[1:]; e.off < a {
			continue // cannot be: patches come before their bytes
		}
		out = append(append(out, raw[a:e.off]...), e.new...)
		a = e.off + e.len
	}
	if a < b {
		out = append(out, raw[a:b]...)
	}
	c.upTo = max(a, b)
	c.write(out)
}

// after does what the recording says of the connection behind r's response.
func (c *conn) after(r *recording) {
	end := r.x.End
	switch {
	case c.left:
		c.silent = true
		return
	case r.refused:
		c.ending = ending{har.EndRST, c.anchor}
		c.silent = true
		return
	case end == har.EndKeep:
		return
	case r.serverEnds():
		c.ending = ending{end, c.due(r.x.EndAt)}
	}
	// Only behind a response whose end the client can see can the connection carry another.
	m := r.answer()
	c.deaf = m != nil && m.Framing == wire.Tunnel
	c.silent = c.deaf || r.short || m == nil || !m.Complete || m.Framing == wire.ByClose
}

// adopt deals with a request behind a response that never becomes whole. It cannot be answered; one whose recording has
// no response either, but perhaps an ending, is as recorded.
func (c *conn) adopt(f *found) {
	if !c.loaded() {
		return
	}
	c.deaf = true
	q := c.request(f)
	c.p.mu.Lock()
	r, _ := c.p.ix.find(q, c.p.Exact)
	if r != nil && r.end == 0 {
		c.p.takes(r, q.values(), f.at)
		c.deaf = false
	}
	c.p.mu.Unlock()
	if c.deaf {
		return
	}
	c.anchor, c.recorded = f.at, r.wholeAt
	c.after(r)
	c.consume()
}
