package har

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
)

const (
	frameLines = 128      // exchange lines of one zstd frame
	frameBytes = 1 << 20  // bytes of lines behind which a frame is ended
	writeRatio = 1000     // bytes of lines to bytes of the file; half of what readers take
	writeFrom  = 32 << 20 // bytes of lines up to which the ratio does not matter
)

// A Writer appends to a cassette. What was flushed is readable whatever happens next. It is not safe for concurrent use.
// Lines are written out and packed while the next ones come. In memory are at most two chunks of them, each up to packAt and one
// line long, and what is written out and not passed on, up to passAt and one line. A failure may be reported by the call after the
// next one, at the latest by Flush or Close.
type Writer struct {
	out    *packedWriter
	packer *packer
	chunk  *chunk // lines that are not yet passed on

	open   map[place]*progress
	spare  []*progress
	last   map[uint64]int // of each connection that goes on, the Seq of its last exchange
	end    End            // counts
	err    error          // the first failure; nothing is written behind it
	closed bool
}

// progress is how much of an exchange that goes on has been written.
type progress struct {
	extent
	method, status bool // whether the copied members have been written
	end            Ending
}

// NewWriter writes the header and flushes it. plain: JSON lines as they are, else checksummed zstd frames.
func NewWriter(w io.Writer, h Header, plain bool) (*Writer, error) {
	c := &Writer{out: &packedWriter{w: w}, chunk: new(chunk), open: map[place]*progress{}, last: map[uint64]int{}}
	var err error
	if c.packer, err = newPacker(c.out, plain); err != nil {
		return nil, err
	}
	c.chunk.text = appendHeader(c.chunk.text, &h)
	c.emit(0)
	return c, c.Flush()
}

// Size is how many bytes of the file have been written. It may be asked while lines are packed.
func (w *Writer) Size() int64 { return w.out.n.Load() }

// Write writes an exchange's first line, and continuations if it is long. An exchange whose End is "" goes on: Append
// continues it. A side without Writes is taken as one write at time 0. What the format forbids within one exchange is
// refused, and nothing is written; that Seq grows by 1 on each connection, and N with it, is left to the caller.
func (w *Writer) Write(x *Exchange) error {
	at := place{x.Conn, x.Seq}
	switch {
	case w.err != nil:
		return w.err
	case w.closed:
		return errClosed
	case x.N < 1 || x.Conn < 1 || x.Seq < 1 || max(uint64(x.N), x.Conn, uint64(x.Seq)) > maxNumber:
		return fmt.Errorf("exchange %d on connection %d, place %d: want numbers from 1 to 2^53-1", x.N, x.Conn, x.Seq)
	case w.open[at] != nil:
		return fmt.Errorf("exchange %d: place %d of connection %d has been written", x.N, x.Seq, x.Conn)
	}
	so, err := check(x, extent{})
	if err != nil {
		return err
	}
	p := w.progress()
	p.extent = so
	w.advance(at)
	w.end.Exchanges++
	if x.Seq == 1 {
		w.end.Conns++
	}
	return w.write(x, at, p, extent{}, false)
}

// Append continues an exchange that Write began: x has the same Conn and Seq, and in Request.Raw and Response.Raw only the
// bytes that are new. Redacted, Edits, Notes hold only what is new; all offsets count from the exchange's first byte. A
// non-empty End replaces an earlier one. Method, URL, Status and MediaType are written when they are there for the first time.
func (w *Writer) Append(x *Exchange) error {
	at := place{x.Conn, x.Seq}
	p := w.open[at]
	switch {
	case w.err != nil:
		return w.err
	case w.closed:
		return errClosed
	case p == nil:
		return fmt.Errorf("place %d of connection %d: nothing that goes on has been written", x.Seq, x.Conn)
	}
	before := p.extent
	so, err := check(x, before)
	if err != nil {
		return err
	}
	p.extent = so
	return w.write(x, at, p, before, true)
}

var errClosed = errors.New("the cassette has been closed")

// check refuses what a reader would refuse, and returns the extent with x.
func check(x *Exchange, so extent) (extent, error) {
	so, err := so.plus(x)
	for _, s := range []*Side{&x.Request, &x.Response} {
		if err == nil {
			err = s.check()
		}
	}
	switch {
	case err != nil:
	case x.End != "" && !x.End.known():
		err = fmt.Errorf("%q is no ending", x.End)
	case x.End.timed() && x.EndAt < 0:
		err = fmt.Errorf("an ending at %v", x.EndAt)
	case x.Off < 0 || x.Off > maxNumber:
		err = fmt.Errorf("an offset of %d", x.Off)
	case x.Status < 0 || x.Status > 999:
		err = fmt.Errorf("status %d", x.Status)
	case slices.Contains(x.Notes, ""):
		err = errors.New("an empty note")
	case !writable(x.Started):
		err = fmt.Errorf("started in the year %d", x.Started.Year())
	}
	if err != nil {
		err = fmt.Errorf("exchange %d of connection %d: %w", x.Seq, x.Conn, err)
	}
	return so, err
}

func (s *Side) check() error {
	for _, w := range s.Writes {
		if w.At < 0 {
			return fmt.Errorf("a write at %v", w.At)
		}
	}
	if len(s.Writes) > 0 && !s.adds() {
		return fmt.Errorf("the lengths of %d writes are 0 or do not add up to %d bytes", len(s.Writes), len(s.Raw))
	}
	return nil
}

// write writes x, of which before had been written, in as many lines as it takes, and keeps or drops its progress.
func (w *Writer) write(x *Exchange, at place, p *progress, before extent, more bool) error {
	rest := newRemains(x)
	response := before.response
	for last := false; !last; more = true {
		part := part{x: x, more: more, later: w.chunk}
		part.request, part.response, last = rest.next()
		response += len(part.response.Raw)
		part.last, part.allBytes = last, response
		part.off = response == len(part.response.Raw)
		if (x.Method != "" || x.URL != "") && !p.method {
			p.method, part.method = true, true
		}
		if (x.Status != 0 || x.MediaType != "") && !p.status {
			p.status, part.status = true, true
		}
		w.chunk.text = appendPart(w.chunk.text, &part)
		w.emit(1)
	}
	w.end.Redacted += len(x.Redacted)
	if x.End != "" {
		p.end = x.End
	}
	if p.end.ends() || p.end == EndKeep && x.Seq < w.last[x.Conn] {
		w.forget(at, p)
	} else {
		w.open[at] = p
	}
	return w.err
}

// copyLine writes a line as it stands in another cassette, but for its place where that is another.
func (w *Writer) copyLine(raw []byte, l *line, m moved) {
	x := *l.x
	if m.note != "" {
		x.Notes = append(slices.Clip(x.Notes), m.note)
	}
	if m.seq || m.note != "" {
		p := part{later: w.chunk, x: &x, more: l.kind == moreLine, request: x.Request, response: x.Response, method: x.Method != "" || x.URL != "",
			status: x.Status != 0 || x.MediaType != "", off: true, last: true, allBytes: len(x.Response.Raw)}
		if l.kind == moreLine && l.endOffOK {
			p.allBytes = -1
		} else if l.kind == moreLine {
			p.allBytes = x.EndOff
		}
		w.chunk.text = appendPart(w.chunk.text, &p)
	} else {
		w.chunk.text = append(append(w.chunk.text, raw...), '\n')
	}
	if l.kind == firstLine {
		w.end.Exchanges++
		if l.x.Seq == 1 {
			w.end.Conns++
		}
	}
	w.end.Redacted += len(l.x.Redacted)
	w.emit(1)
}

// advance drops the exchange before x on its connection if it ended keep: it is final now.
func (w *Writer) advance(at place) {
	before := place{at.conn, w.last[at.conn]}
	if p := w.open[before]; p != nil && p.end == EndKeep {
		w.forget(before, p)
	}
	w.last[at.conn] = at.seq
}

func (w *Writer) progress() *progress {
	if n := len(w.spare); n > 0 {
		p := w.spare[n-1]
		w.spare = w.spare[:n-1]
		*p = progress{}
		return p
	}
	return new(progress)
}

// forget drops an exchange that is final, and with the last exchange its connection.
func (w *Writer) forget(at place, p *progress) {
	delete(w.open, at)
	w.spare = append(w.spare, p)
	if p.end.ends() && w.last[at.conn] == at.seq {
		delete(w.last, at.conn)
	}
}

// emit ends the line in the chunk, and lets what is there be packed once it is much. exchanges: how many lines of exchanges it is.
func (w *Writer) emit(exchanges int) {
	w.chunk.end(exchanges)
	switch {
	case w.err != nil:
		w.chunk.reset()
	case w.chunk.size() >= packAt:
		var err error
		w.chunk, err = w.packer.start(w.chunk)
		w.fail(err)
	}
}

// A packedWriter counts the bytes of the file.
type packedWriter struct {
	w io.Writer
	n atomic.Int64
}

func (c *packedWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n.Add(int64(n))
	return n, err
}

func (w *Writer) fail(err error) {
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("write cassette: %w", err)
	}
}

// Flush makes everything written so far readable.
func (w *Writer) Flush() error {
	w.settle(false)
	return w.err
}

// settle writes what is in the chunk. end: it is the end of a frame.
func (w *Writer) settle(end bool) {
	if w.err == nil {
		w.fail(w.packer.flush(w.chunk, end))
	}
	w.chunk.reset()
}

// Close writes the end line and flushes. It does not close the underlying writer. Exchanges and Conns of e are counted by
// the Writer, Redacted where it is 0.
func (w *Writer) Close(e End) error {
	if w.closed || w.err != nil {
		return w.err
	}
	w.closed = true
	e.Exchanges, e.Conns = w.end.Exchanges, w.end.Conns
	if e.Redacted == 0 {
		e.Redacted = w.end.Redacted
	}
	w.chunk.text = appendEnd(w.chunk.text, &e)
	w.emit(0)
	w.settle(true)
	return w.err
}
