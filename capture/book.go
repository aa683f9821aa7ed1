package capture

import (
	"cmp"
	"slices"
	"time"

	"github.com/mcptap/mcptap/har"
)

// A book keeps the connections and exchanges of a recording. It belongs to one goroutine.
type book struct {
	w      *har.Writer   // nil: exchanges are only counted
	redact *har.Redactor // nil: secrets are kept
	err    error         // the first failure; nothing is written behind it

	now       time.Time
	conns     map[uint64]*connection
	n         int       // exchanges begun
	whole     int       // of which request and response are
	replaced  int       // ranges of them, by redact
	unflushed bool      // something was written since flushed
	flushed   time.Time // the last flush
	growing   bool      // some exchange has bytes that were not written
	looked    time.Time // when growing exchanges were last written

	limits Limits
	full   bool // the cassette has reached its bound: no more bodies
	wrote  func(line *har.Exchange, more bool)

	line  har.Exchange // what is being written
	spare []*exchange
}

func (b *book) init(w *har.Writer, redact *har.Redactor) {
	b.w, b.redact, b.conns = w, redact, map[uint64]*connection{}
}

// takeAll takes note of all events of q.
func (b *book) takeAll(q *queue) {
	bytes, edits := 0, 0
	for i := range q.entries {
		if b.err != nil {
			return
		}
		e := &q.entries[i]
		b.take(e, q.bytes[bytes:e.bytes], q.edits[edits:e.edits])
		bytes, edits = e.bytes, e.edits
	}
}

func (b *book) take(e *entry, p []byte, edits []har.Edit) {
	c := b.conns[e.conn]
	if c == nil {
		c = &connection{book: b, id: e.conn}
		b.conns[e.conn] = c
	}
	if e.open != nil {
		c.between = *e.open
		if c.between.Command != nil {
			b.process(c, e.at)
		}
	}
	if c.pipes != nil && b.pipe(c, e, p) {
		return
	}
	if e.lost != 0 {
		c.lost(e)
	}
	if len(p) > 0 {
		c.bytes(e, p, edits)
	}
	if e.note != "" && e.lost == 0 {
		c.note(e.note)
	}
	switch e.end {
	case "":
	case har.EndStopped, har.EndUnknown:
		c.finish(e.end, e.at)
		delete(b.conns, e.conn)
	default:
		c.ended(e.dir, e.end, e.at)
	}
}

// busy tells whether something will have to be written, or flushed, though nothing more may come.
func (b *book) busy() bool { return b.err == nil && (b.unflushed || b.growing) }

// due tells when that is.
func (b *book) due(now func() time.Time) time.Duration {
	if !b.busy() {
		return forever
	}
	at := b.flushed
	if b.growing {
		at = b.looked
	}
	return max(0, at.Add(flushEvery).Sub(now()))
}

// keepUp writes and flushes what is due.
func (b *book) keepUp() {
	if b.growing && b.now.Sub(b.looked) >= flushEvery {
		b.storeGrowing()
	}
	if b.unflushed && b.now.Sub(b.flushed) >= flushEvery {
		b.flush()
		b.holdSize()
	}
}

func (b *book) flush() {
	if b.err == nil && b.w != nil {
		b.err = b.w.Flush()
		b.unflushed, b.flushed = false, b.now
	}
}

// storeGrowing writes what has come of the exchanges that have been under way for a while.
func (b *book) storeGrowing() {
	b.looked, b.growing = b.now, false
	var due []*exchange
	for _, c := range b.conns {
		if c.pipes != nil {
			c.pipes.keepUp(b)
		}
		for _, x := range c.live {
			switch {
			case x.written && x.unstored() == 0 && len(x.Notes) == 0 || x.elsewhere && x.unstored() == 0:
			case b.now.Sub(x.began) < flushEvery:
				b.growing = true
			default:
				due = append(due, x)
			}
		}
	}
	slices.SortFunc(due, func(x, y *exchange) int { return cmp.Compare(x.N, y.N) })
	for _, x := range due {
		b.store(x, false, "")
	}
}

// close ends all connections as the recording does.
func (b *book) close() {
	open := make([]*connection, 0, len(b.conns))
	for _, c := range b.conns {
		open = append(open, c)
	}
	slices.SortFunc(open, func(x, y *connection) int { return cmp.Compare(x.id, y.id) })
	for _, c := range open {
		c.finish(har.EndStopped, b.now)
	}
	if b.w == nil {
		return
	}
	end := har.End{At: b.now.UTC().Truncate(time.Microsecond)}
	if b.err != nil {
		end.Error = b.err.Error()
	}
	if err := b.w.Close(end); b.err == nil {
		b.err = err
	}
}
