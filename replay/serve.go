package replay

import (
	"encoding/json"
	"fmt"
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
}

// answer answers a whole request.
func (c *conn) answer(f *found) {
	q := c.request(f)
	r, patch, miss := c.p.take(q, f.at)
	if miss != nil {
		c.refuse(q, miss)
	} else {
		c.anchor, c.recorded = f.at, r.wholeAt
		c.serve(r, patch, c.sent)
		c.after(r)
	}
	if len(c.found) > 0 {
		c.consume()
	}
}

// request makes a request of what was found.
func (c *conn) request(f *found) *request {
	q := &request{head: f.head, raw: c.buf[:f.n], affinity: affinity(f.head), begun: c.begun, sent: c.sent}
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
	if a := c.p.ix.like(f.head.Method, origin(f.head.Target), q.body); a != nil && a.group != nil {
		q.like = a
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
	c.patch, c.upTo, c.behind, c.left = patch, from, 0, false
	gates := []gate(nil)
	if r.stream != nil {
		gates = r.stream.gates
	}
	c.p.warn(r)
	off := 0
	for _, w := range r.x.Response.Writes {
		end := min(off+max(w.Len, 0), r.end)
		begin := max(off, from)
		if off = end; begin >= end {
			continue
		}
		if begin = c.throughGates(r, &gates, begin, end, w.At); begin < 0 || !c.tunnelled(r, w.At) || !c.wait(c.due(w.At)) {
			break
		}
		c.emit(r, begin, end)
	}
	if off < r.end && !c.dead {
		c.emit(r, max(off, from), r.end) // writes that do not add up
	}
	if r.gates {
		c.p.answered(r)
	}
}

// throughGates takes the bytes [begin, end), written at that time, through the gates that stand before them. It returns
// what is left to send, -1 if the connection is over.
func (c *conn) throughGates(r *recording, gates *[]gate, begin, end int, at time.Duration) int {
	for len(*gates) > 0 && (*gates)[0].off < end {
		g := &(*gates)[0]
		due, patch, open := c.p.passes(g, c)
		if g.off > begin && (!open || due.After(c.due(at))) {
			if !c.wait(c.due(at)) {
				return -1
			}
			c.emit(r, begin, g.off)
			begin = g.off
		}
		for !open {
			if c.read(time.Time{}); c.dead || c.eof {
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
	return begin
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
	n := c.found[0].n
	c.behind += len(c.buf) - n
	c.buf, c.fed, c.found = c.buf[:n], n, c.found[:1]
}

// wait reads on until the time has come. It returns false if the connection is over.
func (c *conn) wait(due time.Time) bool {
	if c.p.Pace <= 0 {
		return !c.dead
	}
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
	m := r.x.View().Response
	c.deaf = m != nil && m.Framing == wire.Tunnel
	c.silent = c.deaf || m == nil || !m.Complete || m.Framing == wire.ByClose
}

// adopt deals with a request behind a response that never becomes whole. It cannot be answered; one whose recording has
// no response either, but perhaps an ending, is as recorded.
func (c *conn) adopt(f *found) {
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

// unfinished deals with a request that is not whole: recordings may have an answer to its head or to a part of it. more:
// there is nothing to do until more has come.
func (c *conn) unfinished(f *found) (more bool) {
	ix := c.p.ix
	if f.head == nil {
		if !f.opaque {
			return true
		}
		c.p.mu.Lock()
		r, more := ix.findRaw(c.buf[:f.n])
		if r != nil {
			c.p.takes(r, values{}, f.at)
		}
		c.p.mu.Unlock()
		switch {
		case r != nil:
			c.serveRest(r)
		case more:
			return true
		default:
			c.p.miss(Miss{Request: fmt.Sprintf("%d bytes that are no request", f.n), Differs: "nothing like it was recorded"},
				fmt.Sprintf("miss: connection %d: bytes that are no HTTP request, and nothing recorded begins like them: %q", c.id, clip(string(c.buf[:min(f.n, 80)]))))
			c.refuse(nil, nil)
		}
		return false
	}
	if ix.byHead != nil {
		a := &ask{method: f.head.Method, target: origin(f.head.Target)}
		c.p.mu.Lock()
		r := ix.byHeadOf(a, length(f.head))
		if r != nil && (!r.whole && !r.agrees(c.buf[:f.n], f.headLen) || c.begun != nil && c.begun != r) {
			r = nil
		}
		serve := r != nil && (!r.whole && (r.end > 0 || r.serverEnds()) && r.covers(c.buf[:f.n], f.headLen) || r.cut && c.sent == r.end)
		if serve {
			c.p.takes(r, r.ask.values, f.at)
		}
		c.p.mu.Unlock()
		switch {
		case serve:
			c.serveRest(r)
			return false
		case r != nil && r.early > c.sent:
			was := c.sent
			c.begin(r, f)
			return c.sent == was
		case r != nil && !r.whole && !r.covers(c.buf[:f.n], f.headLen):
			return true
		}
	}
	if !f.opaque {
		return true
	}
	q := &request{head: f.head, raw: c.buf[:f.n], affinity: affinity(f.head)}
	miss := c.p.missed(q, nil, "where the request ends cannot be known: nothing recorded is cut or malformed like it")
	c.refuse(q, miss)
	return false
}

// serveRest answers a request that never becomes whole.
func (c *conn) serveRest(r *recording) {
	if c.begun != r {
		c.anchor, c.recorded = c.readAt, r.wholeAt
	}
	c.deaf = true
	c.serve(r, nil, c.sent)
	c.after(r)
	c.silent = true
}

// abandoned takes note of a request that the client left unfinished, if that was recorded so.
func (c *conn) abandoned(f *found) {
	ix := c.p.ix
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	var r *recording
	if f.head == nil {
		r, _ = ix.findRaw(c.buf[:f.n])
	} else if r = ix.byHeadOf(&ask{method: f.head.Method, target: origin(f.head.Target)}, length(f.head)); r != nil && (r.whole || !r.covers(c.buf[:f.n], f.headLen)) {
		r = nil
	}
	if r != nil {
		c.p.takes(r, values{}, c.readAt)
	}
}

// begin sends what the recording had answered before the request was whole, such as 100 Continue (RFC 9110 section
// 15.2.1), as far as the client has sent what came before that.
func (c *conn) begin(r *recording, f *found) {
	off := 0
	for _, w := range r.x.Response.Writes {
		if off += max(w.Len, 0); off > r.early {
			return
		}
		if off <= c.sent {
			continue
		}
		came, last := 0, time.Duration(0)
		for _, q := range r.x.Request.Writes {
			if q.At > w.At {
				break
			}
			came, last = came+q.Len, q.At
		}
		if body := came - r.headLen; came > 0 && (f == nil || body > 0 && f.n-f.headLen < body) {
			return
		}
		c.anchor, c.recorded = c.readAt, last
		if !c.wait(c.due(w.At)) {
			return
		}
		c.write(r.x.Response.Raw[off-w.Len : off])
		c.begun, c.sent = r, off
	}
}

// greetTime is how long a client that says nothing is waited for before a server speaks first that was never asked.
const greetTime = 100 * time.Millisecond

// greet sends what the recorded server sent before the client did, if the next recorded connection began so.
func (c *conn) greet() bool {
	if !c.p.ix.speaks {
		return true
	}
	r := c.p.greeting()
	if r == nil {
		return true
	}
	if len(r.x.Request.Raw) > 0 {
		c.begin(r, nil)
		return true
	}
	c.read(time.Now().Add(greetTime))
	c.parse()
	if len(c.buf) > 0 || c.dead || c.eof {
		c.p.mu.Lock()
		r.greeted = false
		c.p.mu.Unlock()
		return true
	}
	c.p.mu.Lock()
	c.p.takes(r, values{}, time.Now())
	c.p.mu.Unlock()
	c.anchor, c.recorded = time.Now(), 0
	c.serve(r, nil, 0)
	c.after(r)
	return true
}

// greeting picks the recording whose server spoke first on the connection that was opened next when it was recorded.
func (p *Player) greeting() *recording {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.ix.first {
		if r.taken || r.greeted {
			continue
		}
		if !r.speaksFirst() {
			return nil
		}
		r.greeted = true
		return r
	}
	return nil
}

// refuse answers a request that nothing recorded answers. Where its end is not known the connection is closed.
func (c *conn) refuse(q *request, miss *Miss) {
	id, text := json.RawMessage("null"), "nothing recorded answers these bytes"
	var data any
	if miss != nil {
		text = "nothing recorded is left for " + miss.Request + ": " + miss.Differs
		if miss.Nearest != nil {
			data = map[string]any{"nearest": miss.Nearest.N, "differs": miss.Differs}
		}
		if ids := q.values().ids; len(ids) > 0 {
			id = json.RawMessage(ids[0])
		}
	}
	whole := q != nil && len(c.found) > 0 && c.found[0].done
	body, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id,
		"error": map[string]any{"code": -32603, "message": "mcptap replay: " + text, "data": data}})
	head := fmt.Sprintf("HTTP/1.1 501 Not Implemented\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	if !whole {
		head += "Connection: close\r\n"
		c.deaf, c.silent = true, true
		c.ending = ending{har.EndFIN, time.Now()}
	}
	out := append([]byte(head), "\r\n"...)
	if q == nil || q.head.Method != "HEAD" {
		out = append(out, body...)
	}
	c.write(out)
}
