package pcap

import (
	"time"

	"github.com/mcptap/mcptap/har"
)

// A mark is what a way delivers next: bytes, or what the capture left out of them, a FIN or an RST.
type mark struct {
	what kind
	seq  uint32
	at   time.Time
	ack  uint32
	has  bool
}

// head gives what of w has come and was not delivered.
func (w *way) head() (m mark, ok bool) {
	fin := w.fin && !w.ended
	rst := w.rst && !w.resetAfter
	switch {
	case len(w.queue) > 0 && !(fin && w.started && w.finSeq == w.next) && !(rst && w.started && w.rstSeq == w.next && w.queue[0].seq != w.next):
		q := &w.queue[0]
		return mark{gotBytes, q.seq, q.at, q.ack, q.has}, true
	case fin:
		return mark{gotFIN, w.finSeq, w.finAt, w.finAck, w.finHas}, true
	case rst:
		return mark{gotRST, w.rstSeq, w.rstAt, w.rstAck, w.rstHas}, true
	}
	return mark{}, false
}

// waits tells whether something has come and was not delivered: whether a way has a head.
func (c *conn) waits() bool { return c.ways[0].waits() || c.ways[1].waits() }

func (w *way) waits() bool { return len(w.queue) > 0 || w.fin && !w.ended || w.rst && !w.resetAfter }

// ended tells whether the connection is over: reset, or closed from both ends.
func (c *conn) ended() bool {
	a, b := &c.ways[0], &c.ways[1]
	return a.resetAfter || b.resetAfter || a.ended && b.ended
}

// ready tells whether all that an end had acknowledged was delivered.
func (c *conn) ready(from int, ack uint32, has bool) bool {
	p := &c.ways[1-from]
	switch {
	case !has || p.absent:
		return true
	case !p.started:
		return false
	}
	return int32(p.next-ack) >= 0
}

// pump delivers what can be.
func (a *assembler) pump(c *conn) {
	for {
		from, best := -1, mark{}
		for i := range c.ways {
			w := &c.ways[i]
			m, ok := w.head()
			if !ok || !w.started || int32(m.seq-w.next) > 0 || !c.ready(i, m.ack, m.has) {
				continue
			}
			if from < 0 || m.at.Before(best.at) {
				from, best = i, m
			}
		}
		if from < 0 {
			return
		}
		a.take(c, from, best)
	}
}

// take delivers the head of a way.
func (a *assembler) take(c *conn, from int, m mark) {
	w := &c.ways[from]
	switch m.what {
	case gotBytes:
		p := w.queue[0]
		w.queue = append(w.queue[:0], w.queue[1:]...)
		a.dropped(c, &p)
		if old := int32(w.next - p.seq); old > 0 { // the way began behind it
			if old >= p.len() {
				return
			}
			p = p.from(old)
		}
		if p.data == nil {
			a.gap(c, from, p.at, int64(p.cut), har.NoteSnaplen)
			return
		}
		a.bytes(c, from, p.at, p.data)
	case gotFIN:
		w.ended = true
		w.next++
		a.keepNot(w)
		for i := range w.queue {
			a.late += int64(len(w.queue[i].data))
			a.dropped(c, &w.queue[i])
		}
		w.queue = nil
		a.deliver(c, occurrence{kind: gotFIN, from: from, at: m.at})
	case gotRST:
		w.resetAfter = true
		a.deliver(c, occurrence{kind: gotRST, from: from, at: m.at})
	}
}

// dropped says that p waits no longer.
func (a *assembler) dropped(c *conn, p *part) {
	c.held -= len(p.data)
	a.held -= len(p.data)
	c.parts--
}

// bytes delivers bytes that are next.
func (a *assembler) bytes(c *conn, from int, at time.Time, b []byte) {
	w := &c.ways[from]
	w.next += uint32(len(b))
	a.deliver(c, occurrence{kind: gotBytes, from: from, at: at, bytes: b})
	a.keep(w, b)
}

// keep keeps the last bytes of a way for comparison.
func (a *assembler) keep(w *way, b []byte) {
	if a.kept > maxKept {
		a.keepNot(w)
		return
	}
	was := len(w.kept)
	if len(b) >= keptBytes {
		w.kept = append(w.kept[:0], b[len(b)-keptBytes:]...)
	} else {
		w.kept = append(w.kept, b...)
		if n := len(w.kept); n > 2*keptBytes {
			w.kept = append(w.kept[:0], w.kept[n-keptBytes:]...)
		}
	}
	a.kept += len(w.kept) - was
}

func (a *assembler) keepNot(w *way) {
	a.kept -= len(w.kept)
	w.kept = nil
}

// gap delivers that the next n bytes are not there.
func (a *assembler) gap(c *conn, from int, at time.Time, n int64, why string) {
	w := &c.ways[from]
	w.next += uint32(n)
	a.keepNot(w)
	a.deliver(c, occurrence{kind: gotLost, from: from, at: at, lost: n, why: why})
}

// blocked gives the way whose head is waited with until the earliest time, which is zero if nothing waits.
func (c *conn) blocked() (from int, due time.Time) {
	for i := range c.ways {
		w, peer := &c.ways[i], &c.ways[1-i]
		m, ok := w.head()
		if !ok {
			continue
		}
		patience := holdFor
		if w.started && int32(m.seq-w.next) > 0 && peer.seen && !(w.hasAcked && int32(w.acked-m.seq) >= 0) {
			patience = holdUnseen
		}
		if at := m.at.Add(patience); due.IsZero() || at.Before(due) {
			from, due = i, at
		}
	}
	return from, due
}

// resolve takes away what blocks the head that is waited with no longer.
func (a *assembler) resolve(c *conn) {
	from, due := c.blocked()
	if due.IsZero() {
		return
	}
	w := &c.ways[from]
	m, _ := w.head()
	switch d := int32(m.seq - w.next); {
	case !w.started:
		a.start(c, from, m)
	case d > 0:
		a.gap(c, from, m.at, int64(d), har.NoteGap)
	default:
		a.catchUp(c, from, m)
	}
}

// start begins a way whose SYN was not seen: with the first byte that was, or that the other end says it was missing.
func (a *assembler) start(c *conn, from int, m mark) {
	w := &c.ways[from]
	seq := m.seq
	if d := int32(seq - w.lowest); w.hasAcked && d > 0 && d < farthest {
		seq = w.lowest
	}
	w.absent = false
	w.begin(seq)
	if !w.hasFirst || w.atFirst != seq {
		a.deliver(c, occurrence{kind: gotLost, from: from, at: m.at, lost: -1, why: har.NoteStart})
	}
}

// farthest is how many bytes are believed to be missing for no better reason than an acknowledgment.
const farthest = 1 << 28

// catchUp gives up what the head of a way says that its sender had received from the other end.
func (a *assembler) catchUp(c *conn, from int, m mark) {
	p := &c.ways[1-from]
	if !p.started {
		if head, ok := p.head(); ok {
			a.start(c, 1-from, head)
		} else {
			p.absent = true
		}
		return
	}
	n := int32(m.ack - p.next)
	head, waits := p.head()
	switch d := int32(head.seq - p.next); {
	case waits && d > 0:
		a.gap(c, 1-from, head.at, int64(min(n, d)), har.NoteGap)
	case waits || n > farthest: // each waits for the other, or it never was: this is not what happened
		c.ways[from].headless()
	case n == 1: // most likely a FIN that is not in the capture
		p.next++
		a.keepNot(p)
	default:
		a.gap(c, 1-from, m.at, int64(n), har.NoteGap)
	}
}

// headless makes the head depend on nothing.
func (w *way) headless() {
	switch m, _ := w.head(); m.what {
	case gotBytes:
		w.queue[0].has = false
	case gotFIN:
		w.finHas = false
	case gotRST:
		w.rstHas = false
	}
}

// force delivers all that waits, with what is missing before it.
func (a *assembler) force(c *conn) {
	for c.waits() {
		a.resolve(c)
		a.pump(c)
	}
}
