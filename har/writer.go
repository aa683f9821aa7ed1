package har

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync/atomic"
)

const (
	frameLines  = 128     // exchange lines of one zstd frame
	frameBytes  = 1 << 20 // bytes of lines behind which a frame is ended
	plainBuffer = 64 << 10
	writeRatio  = 1000     // bytes of lines to bytes of the file; half of what readers take
	writeFrom   = 32 << 20 // bytes of lines up to which the ratio does not matter
)

// A Writer appends to a cassette. What was flushed is readable whatever happens next. It is not safe for concurrent use.
// Lines are packed while the next ones are written: at most two chunks, each up to packAt and one line long, are in memory,
// and a failure may be reported by the call after the next one, at the latest by Flush or Close.
type Writer struct {
	out    *packedWriter
	packer *packer // nil: plain lines
	buf    []byte  // lines that are not yet passed on
	line   int     // where the last of them begins

	lines, bytes int   // of the frame so far
	total        int64 // bytes of all lines
	filler       rand.ChaCha8
	open         map[place]*progress
	spare        []*progress
	last         map[uint64]int // of each connection that goes on, the Seq of its last exchange
	end          End            // counts
	err          error          // the first failure; nothing is written behind it
	closed       bool
}

// progress is how much of an exchange that goes on has been written.
type progress struct {
	extent
	method, status bool // whether the copied members have been written
	end            Ending
}

// NewWriter writes the header and flushes it. plain: JSON lines as they are, else checksummed zstd frames.
func NewWriter(w io.Writer, h Header, plain bool) (*Writer, error) {
	c := &Writer{out: &packedWriter{w: w}, open: map[place]*progress{}, last: map[uint64]int{}}
	if !plain {
		var err error
		if c.packer, err = newPacker(c.out); err != nil {
			return nil, err
		}
	}
	c.buf = appendHeader(c.room(), &h)
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
		part := part{x: x, more: more}
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
		w.buf = appendPart(w.room(), &part)
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
		p := part{x: &x, more: l.kind == moreLine, request: x.Request, response: x.Response, method: x.Method != "" || x.URL != "",
			status: x.Status != 0 || x.MediaType != "", off: true, last: true, allBytes: len(x.Response.Raw)}
		if l.kind == moreLine && l.endOffOK {
			p.allBytes = -1
		} else if l.kind == moreLine {
			p.allBytes = x.EndOff
		}
		w.buf = appendPart(w.room(), &p)
	} else {
		w.buf = append(append(w.room(), raw...), '\n')
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

// room is where the next line is appended.
func (w *Writer) room() []byte {
	w.line = len(w.buf)
	return w.buf
}

// emit passes the line in buf on. exchanges: how many lines of exchanges it is.
func (w *Writer) emit(exchanges int) {
	if w.packer == nil {
		if len(w.buf) >= plainBuffer {
			w.drain()
		}
		return
	}
	w.keepRatio()
	n := len(w.buf) - w.line
	w.lines += exchanges
	w.bytes += n
	w.total += int64(n)
	switch end := w.lines >= frameLines || w.bytes >= frameBytes; {
	case w.err != nil:
		w.buf = w.buf[:0]
	case end || len(w.buf) >= packAt:
		w.pack(end)
	}
}

// pack lets the lines in buf be packed while the next ones are written.
func (w *Writer) pack(end bool) {
	next, err := w.packer.start(w.buf, end)
	w.buf = next
	w.fail(err)
	if end {
		w.lines, w.bytes = 0, 0
	}
}

// keepRatio makes the file long enough for the line in buf: readers refuse a file that is short for its lines.
func (w *Writer) keepRatio() {
	total := w.total + int64(len(w.buf)-w.line)
	if total <= writeFrom || w.out.n.Load() >= total/writeRatio {
		return
	}
	w.fail(w.packer.flush(w.buf[:w.line], true))
	w.buf = append(w.buf[:0], w.buf[w.line:]...)
	w.line, w.lines, w.bytes = 0, 0, 0
	size := (total+frameBytes)/writeRatio - w.out.n.Load()
	if size <= 0 || w.err != nil {
		return
	}
	_, err := w.out.Write(w.fillerFrame(size))
	w.fail(err)
}

// fillerFrame is a skippable frame (RFC 8878 section 3.1.2) of size bytes that gzip cannot make shorter.
func (w *Writer) fillerFrame(size int64) []byte {
	frame := make([]byte, 8+size)
	binary.LittleEndian.PutUint32(frame, skippableMagic)
	binary.LittleEndian.PutUint32(frame[4:], uint32(size))
	w.filler.Read(frame[8:]) // it never fails
	return frame
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

func (w *Writer) drain() {
	if w.err == nil && len(w.buf) > 0 {
		_, err := w.out.Write(w.buf)
		w.fail(err)
	}
	w.buf = w.buf[:0]
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

// settle writes what is in buf. end: it is the end of a frame.
func (w *Writer) settle(end bool) {
	if w.packer == nil {
		w.drain()
		return
	}
	if w.err == nil {
		w.fail(w.packer.flush(w.buf, end))
	}
	w.buf = w.buf[:0]
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
	w.buf = appendEnd(w.room(), &e)
	w.emit(0)
	w.settle(true)
	return w.err
}
