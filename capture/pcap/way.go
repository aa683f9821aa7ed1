package pcap

import (
	"bytes"
	"slices"
	"time"

	"github.com/mcptap/mcptap/har"
)

// A way is one direction of a connection: what one end sent. Sequence numbers wrap, so they are compared by the sign of
// their difference (RFC 9293 section 3.4).
type way struct {
	seen    bool // a packet was
	syn     bool
	started bool // it is known where the bytes begin
	absent  bool // nothing was seen of it, and it is waited for no longer
	isn     uint32
	first   uint32 // the first byte; valid iff started
	next    uint32 // the next byte to deliver; valid iff started

	queue []part // what waits, in order and without overlap

	acked    uint32 // what the receiver has acknowledged; valid iff hasAcked
	lowest   uint32 // the first that it did
	hasAcked bool
	atFirst  uint32 // what it had acknowledged when it had sent nothing but its SYN: no byte of a server's that waits to be asked
	hasFirst bool

	fin, rst   bool // one was seen
	finSeq     uint32
	rstSeq     uint32
	finAck     uint32
	rstAck     uint32
	finHas     bool
	rstHas     bool
	finAt      time.Time
	rstAt      time.Time
	ended      bool // the FIN or the RST was delivered
	resetAfter bool // an RST was delivered

	kept []byte // the last delivered bytes, up to next
}

// A part is a run of bytes that waits, or of bytes that the capture left out.
type part struct {
	seq  uint32
	at   time.Time
	ack  uint32 // what its sender had received
	has  bool   // ack is valid
	data []byte
	cut  int // length of what the capture left out; data is nil then
}

func (p *part) len() int32    { return int32(len(p.data) + p.cut) }
func (p *part) after() uint32 { return p.seq + uint32(p.len()) }

// synced takes a SYN: the bytes begin behind it.
func (w *way) synced(isn uint32) {
	if w.syn {
		return
	}
	w.syn, w.isn = true, isn
	if !w.started {
		w.begin(isn + 1)
	}
}

func (w *way) begin(seq uint32) {
	w.started, w.first, w.next = true, seq, seq
}

func (w *way) acknowledged(ack uint32) {
	if !w.hasAcked {
		w.hasAcked, w.acked, w.lowest = true, ack, ack
		return
	}
	if int32(ack-w.acked) > 0 {
		w.acked = ack
	}
	if int32(ack-w.lowest) < 0 {
		w.lowest = ack
	}
}

func (w *way) finish(s *segment) {
	if w.fin || w.ended {
		return
	}
	w.fin, w.finSeq, w.finAt = true, s.seq+uint32(len(s.data)+s.cut), s.at
	if s.syn {
		w.finSeq++
	}
	w.finAck, w.finHas = s.ack, s.has
}

// reset takes an RST. One below the next byte is stale: no receiver takes it (RFC 9293 section 3.5.2).
func (a *assembler) reset(c *conn, from int, s *segment) {
	w := &c.ways[from]
	if w.resetAfter {
		return
	}
	if w.started {
		if d := int32(s.seq - w.next); d < 0 && !(d == -1 && w.ended) || d > 1<<30 {
			a.stale++
			return
		}
	}
	if !w.rst || int32(s.seq-w.rstSeq) < 0 {
		w.rst, w.rstSeq, w.rstAt = true, s.seq, s.at
		w.rstAck, w.rstHas = s.ack, s.has && s.ack != 0
	}
	if w.started && int32(w.rstSeq-w.next) < 0 {
		w.rstSeq = w.next
	}
}

// data takes the payload of a segment: at once if it is next, else it waits.
func (a *assembler) data(c *conn, from int, s *segment) {
	w := &c.ways[from]
	seq := s.seq
	if s.syn {
		seq++
	}
	if w.ended {
		if int32(seq-w.next) >= 0 {
			a.late += int64(len(s.data))
		}
		return
	}
	if w.started && seq == w.next && len(w.queue) == 0 && c.ready(from, s.ack, s.has) {
		if len(s.data) > 0 {
			a.bytes(c, from, s.at, s.data)
		}
		if s.cut > 0 {
			a.gap(c, from, s.at, int64(s.cut), har.NoteSnaplen)
		}
		return
	}
	if w.started {
		if d := int32(seq - w.next); d > 1<<30 || d < -(1<<30) {
			a.strays++
			return
		}
		if w.probe(s) {
			return
		}
	}
	p := part{seq: seq, at: s.at, ack: s.ack, has: s.has, data: s.data}
	if len(s.data) > 0 {
		a.hold(c, from, p)
	}
	if s.cut > 0 {
		p.seq, p.data, p.cut = seq+uint32(len(s.data)), nil, s.cut
		a.hold(c, from, p)
	}
}

// probe tells whether a segment is a keep-alive probe, which repeats one byte, of any value (RFC 9293 section 3.8.4).
func (w *way) probe(s *segment) bool {
	return len(s.data)+s.cut == 1 && !s.fin && s.seq == w.next-1
}

// hold puts what is new of p into the queue, and compares what is not.
func (a *assembler) hold(c *conn, from int, p part) {
	w := &c.ways[from]
	if w.started {
		if old := int32(w.next - p.seq); old > 0 {
			a.compareKept(c, from, &p, old)
			if old >= p.len() {
				return
			}
			p = p.from(old)
		}
	}
	i, _ := slices.BinarySearchFunc(w.queue, p.seq, func(q part, seq uint32) int { return int(int32(q.after() - seq - 1)) })
	for p.len() > 0 {
		if i == len(w.queue) || int32(w.queue[i].seq-p.after()) >= 0 {
			a.insert(c, from, i, p)
			return
		}
		q := &w.queue[i]
		if before := int32(q.seq - p.seq); before > 0 {
			head := p.upTo(before)
			a.insert(c, from, i, head)
			p = p.from(before)
			i++
			continue
		}
		same := min(int32(q.after()-p.seq), p.len())
		a.compare(c, from, p.at, q.slice(int32(p.seq-q.seq), same), p.slice(0, same))
		p = p.from(same)
		i++
	}
}

func (p part) from(n int32) part {
	p.seq += uint32(n)
	if p.data != nil {
		p.data = p.data[n:]
	} else {
		p.cut -= int(n)
	}
	return p
}

func (p part) upTo(n int32) part {
	if p.data != nil {
		p.data = p.data[:n]
	} else {
		p.cut = int(n)
	}
	return p
}

// slice gives n bytes of p, nil if the capture left them out.
func (p *part) slice(off, n int32) []byte {
	if p.data == nil {
		return nil
	}
	return p.data[off : off+n]
}

func (a *assembler) insert(c *conn, from, i int, p part) {
	w := &c.ways[from]
	p.data = bytes.Clone(p.data)
	w.queue = slices.Insert(w.queue, i, p)
	c.held += len(p.data)
	a.held += len(p.data)
	c.parts++
}

// compareKept compares the first n bytes of p, which were delivered before, with what was delivered.
func (a *assembler) compareKept(c *conn, from int, p *part, n int32) {
	w := &c.ways[from]
	have := min(int32(len(w.kept)), n)
	upTo := min(n, p.len())
	if low := n - have; low < upTo && p.data != nil {
		off := int32(len(w.kept)) - have
		a.compare(c, from, p.at, w.kept[off:off+upTo-low], p.data[low:upTo])
	}
}

// compare notes once that two copies of the same bytes differ.
func (a *assembler) compare(c *conn, from int, at time.Time, first, later []byte) {
	if first == nil || later == nil || c.conflict || bytes.Equal(first, later) {
		return
	}
	c.conflict = true
	a.deliver(c, occurrence{kind: gotNote, from: from, at: at, why: har.NoteConflict})
}
