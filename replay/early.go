package replay

import (
	"fmt"
	"time"

	"github.com/mcptap/mcptap/har/wire"
)

// unfinished deals with a request that is not whole: recordings may have an answer to its head or to a part of it. more:
// there is nothing to do until more has come.
func (c *conn) unfinished(f *found) (more bool) {
	if !c.p.whole.Load() && c.p.awaits(c) {
		return true
	}
	if f.head == nil {
		return !f.opaque || c.notHTTP(f)
	}
	if acted, more := c.byHead(f); acted || more {
		return more
	}
	if f.head.Framing == wire.ByLength && f.head.Length > maxRequest {
		c.tooLarge()
		return false
	}
	if !f.opaque && f.head.Framing != wire.Unframable {
		return true
	}
	q := &request{match: c.p.Match, head: f.head, raw: c.buf[:f.n], affinity: affinity(f.head)}
	c.refuse(q, c.p.missed(q, nil, "where the request ends cannot be known: nothing recorded is cut or malformed like it"))
	return false
}

// notHTTP answers bytes that are no HTTP request by what was recorded for such bytes.
func (c *conn) notHTTP(f *found) (more bool) {
	c.p.mu.Lock()
	r, more := c.p.ix.findRaw(c.buf[:f.n])
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
		label := fmt.Sprintf("%d bytes that are no request", f.n)
		c.p.miss(Miss{Request: label, Differs: "nothing like it was recorded"},
			fmt.Sprintf(missWord+"%s, and nothing recorded begins like them: %q", label, clip(string(c.buf[:min(f.n, 80)]))))
		c.refuse(nil, nil)
	}
	return false
}

// byHead looks for a recording that has something to send before the request is whole, and sends it. more: one has, but not
// yet.
func (c *conn) byHead(f *found) (acted, more bool) {
	ix := c.p.ix
	if ix.byHead == nil {
		return false, false
	}
	c.p.mu.Lock()
	r := ix.byHeadOf(f.ask(), length(f.head))
	if r == nil || !r.whole && !r.agrees(c.buf[:f.n], f.headLen) || c.begun != nil && c.begun != r {
		c.p.mu.Unlock()
		return false, false
	}
	cut := !r.whole && r.covers(c.buf[:f.n], f.headLen)
	serve := cut && (r.end > 0 || r.serverEnds()) || r.cut && c.sent == r.end
	if serve {
		c.p.takes(r, r.ask.values, f.at)
	}
	c.p.mu.Unlock()
	switch {
	case serve:
		c.serveRest(r)
		return true, false
	case r.early > c.sent:
		was := c.sent
		c.begin(r, f)
		return c.sent > was, c.sent == was
	}
	return false, !r.whole && !cut
}

// ask is what is known of a request by its head.
func (f *found) ask() *ask { return &ask{method: f.head.Method, target: origin(f.head.Target)} }

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
	if !c.loaded() {
		return
	}
	ix := c.p.ix
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	var r *recording
	if f.head == nil {
		r, _ = ix.findRaw(c.buf[:f.n])
	} else if r = ix.byHeadOf(f.ask(), length(f.head)); r != nil && (r.whole || !r.covers(c.buf[:f.n], f.headLen)) {
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
func (c *conn) greet() {
	if c.ungreeted = !c.p.whole.Load() && c.p.awaits(c); c.ungreeted {
		return
	}
	if !c.p.ix.speaks {
		return
	}
	r := c.p.greeting()
	if r == nil {
		return
	}
	if len(r.x.Request.Raw) > 0 {
		c.begin(r, nil)
		return
	}
	c.read(time.Now().Add(greetTime))
	c.parse()
	if len(c.buf) > 0 || c.dead || c.eof {
		c.p.mu.Lock()
		r.greeted = false
		c.p.mu.Unlock()
		return
	}
	c.p.mu.Lock()
	c.p.takes(r, values{}, time.Now())
	c.p.mu.Unlock()
	c.anchor, c.recorded = time.Now(), 0
	c.serve(r, nil, 0)
	c.after(r)
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
