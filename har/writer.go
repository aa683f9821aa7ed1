package har

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"github.com/mcptap/mcptap/har/wire"
)

const (
	frameLines  = 128     // exchange lines of one zstd frame
	frameBytes  = 1 << 20 // bytes of lines behind which a frame is ended
	lineBytes   = 4 << 20 // bytes of an exchange that one line takes; longer ones are continued
	lineWrites  = 1 << 16 // write cuts that one line takes
	plainBuffer = 64 << 10
)

// A Writer appends to a cassette. What was flushed is readable whatever happens next. It is not safe for concurrent use.
type Writer struct {
	out   io.Writer
	zstd  *zstd.Encoder // nil: plain lines
	fresh bool          // the encoder is between two frames
	buf   []byte        // a line; of a plain file, all lines that are not yet written

	lines, bytes int // of the frame so far
	open         map[place]*progress
	spare        []*progress
	last         map[uint64]int // of each connection that goes on, the Seq of its last exchange
	end          End            // counts
	err          error          // the first failure; nothing is written behind it
	closed       bool
}

// progress is how much of an exchange that goes on has been written.
type progress struct {
	request, response int // bytes
	edited            int // up to where in the request
	method, status    bool
	end               Ending
}

// NewWriter writes the header and flushes it. plain: JSON lines as they are, else checksummed zstd frames.
func NewWriter(w io.Writer, h Header, plain bool) (*Writer, error) {
	c := &Writer{out: w, open: map[place]*progress{}, last: map[uint64]int{}, fresh: true}
	if !plain {
		var err error
		c.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithWindowSize(frameBytes), zstd.WithEncoderCRC(true))
		if err != nil {
			return nil, err
		}
	}
	c.buf = appendHeader(c.buf, &h)
	c.emit(0)
	return c, c.Flush()
}

// Write writes an exchange's first line. An exchange whose End is "" goes on: Append continues it. A side without Writes
// is taken as one write at time 0.
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
	p := w.progress()
	if err := check(x, p); err != nil {
		w.spare = append(w.spare, p)
		return err
	}
	w.advance(at)
	w.end.Exchanges++
	if x.Seq == 1 {
		w.end.Conns++
	}
	return w.write(x, at, p, false)
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
	if err := check(x, p); err != nil {
		return err
	}
	return w.write(x, at, p, true)
}

var errClosed = errors.New("the cassette has been closed")

// check refuses what a reader would refuse.
func check(x *Exchange, p *progress) error {
	request, response := p.request+len(x.Request.Raw), p.response+len(x.Response.Raw)
	for _, s := range []*Side{&x.Request, &x.Response} {
		if err := s.check(); err != nil {
			return fmt.Errorf("exchange %d: %w", x.N, err)
		}
	}
	for _, e := range x.Edits {
		if e.Off < p.edited || !within(e.Off, e.Len, request) {
			return fmt.Errorf("exchange %d: the edit of %d bytes at %d is not in order within the request's %d", x.N, e.Len, e.Off, request)
		}
		p.edited = e.Off + e.Len
	}
	for _, r := range x.Redacted {
		have := request
		if r.Dir == wire.ToClient {
			have = response
		}
		if !within(r.Off, r.Len, have) {
			return fmt.Errorf("exchange %d: the redaction of %d bytes at %d is not within the %s's %d", x.N, r.Len, r.Off, r.Dir, have)
		}
	}
	switch {
	case x.End != "" && !x.End.known():
		return fmt.Errorf("exchange %d: %q is no ending", x.N, x.End)
	case x.End.timed() && (x.EndAt < 0 || x.EndOff < 0 || x.EndOff > response):
		return fmt.Errorf("exchange %d: an ending at %v and byte %d of %d", x.N, x.EndAt, x.EndOff, response)
	case x.Status < 0 || x.Status > 999:
		return fmt.Errorf("exchange %d: status %d", x.N, x.Status)
	case slices.Contains(x.Notes, ""):
		return fmt.Errorf("exchange %d: an empty note", x.N)
	case !writable(x.Started):
		return fmt.Errorf("exchange %d: started in the year %d", x.N, x.Started.Year())
	}
	return nil
}

func (s *Side) check() error {
	if len(s.Writes) == 0 {
		return nil
	}
	for _, w := range s.Writes {
		if w.At < 0 {
			return fmt.Errorf("a write at %v", w.At)
		}
	}
	if !s.adds() {
		return fmt.Errorf("the lengths of %d writes are 0 or do not add up to %d bytes", len(s.Writes), len(s.Raw))
	}
	return nil
}

// write writes x in as many lines as it takes, and keeps or drops its progress.
func (w *Writer) write(x *Exchange, at place, p *progress, more bool) error {
	rest := [2]Side{x.Request, x.Response}
	for last := false; !last; more = true {
		part := part{x: x, more: more}
		part.request, part.response, last = split(&rest)
		part.last = last
		if (x.Method != "" || x.URL != "") && !p.method {
			p.method, part.method = true, true
		}
		if (x.Status != 0 || x.MediaType != "") && !p.status {
			p.status, part.status = true, true
		}
		p.request += len(part.request.Raw)
		p.response += len(part.response.Raw)
		part.allBytes = p.response
		if w.zstd != nil {
			w.buf = w.buf[:0]
		}
		w.buf = appendPart(w.buf, &part)
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

// copyLine writes a line as it stands in another cassette.
func (w *Writer) copyLine(raw []byte, l *line) {
	if w.zstd != nil {
		w.buf = w.buf[:0]
	}
	w.buf = append(append(w.buf, raw...), '\n')
	if l.kind == firstLine {
		w.end.Exchanges++
		if l.x.Seq == 1 {
			w.end.Conns++
		}
	}
	w.end.Redacted += len(l.x.Redacted)
	w.emit(1)
}

// split takes off both sides what the next line holds. last: nothing is left.
func split(rest *[2]Side) (request, response Side, last bool) {
	if fits(&rest[0]) && fits(&rest[1]) && len(rest[0].Raw)+len(rest[1].Raw) <= lineBytes {
		return rest[0], rest[1], true
	}
	request = rest[0].takeOff(lineBytes / 2)
	response = rest[1].takeOff(lineBytes - len(request.Raw))
	return request, response, len(rest[0].Raw)+len(rest[1].Raw) == 0
}

func fits(s *Side) bool { return len(s.Writes) <= lineWrites }

// takeOff removes at most n bytes from the front, not within a character, and returns them.
func (s *Side) takeOff(n int) Side {
	if len(s.Writes) > lineWrites {
		total := 0
		for _, c := range s.Writes[:lineWrites] {
			total += c.Len
		}
		n = min(n, total)
	}
	if n >= len(s.Raw) {
		whole := *s
		*s = Side{}
		return whole
	}
	for back := 0; back < utf8.UTFMax-1 && n > 1 && !utf8.RuneStart(s.Raw[n]); back++ {
		n--
	}
	head := Side{Raw: s.Raw[:n:n]}
	s.Raw = s.Raw[n:]
	if len(s.Writes) == 0 {
		return head
	}
	var tail []Write
	for i, c := range s.Writes {
		if n < c.Len {
			if n > 0 {
				head.Writes = append(head.Writes, Write{c.At, n})
			}
			tail = append(append(tail, Write{c.At, c.Len - n}), s.Writes[i+1:]...)
			break
		}
		n -= c.Len
		head.Writes = append(head.Writes, c)
	}
	s.Writes = tail
	return head
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

// emit passes the line in buf on. exchanges: how many lines of exchanges it is.
func (w *Writer) emit(exchanges int) {
	if w.zstd == nil {
		if len(w.buf) >= plainBuffer {
			w.drain()
		}
		return
	}
	if w.fresh {
		w.zstd.Reset(w.out)
		w.fresh = false
	}
	_, err := w.zstd.Write(w.buf)
	w.fail(err)
	w.lines += exchanges
	w.bytes += len(w.buf)
	if w.lines >= frameLines || w.bytes >= frameBytes {
		w.endFrame()
	}
}

func (w *Writer) endFrame() {
	if !w.fresh && w.err == nil {
		w.fail(w.zstd.Close())
	}
	w.fresh, w.lines, w.bytes = true, 0, 0
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
	switch {
	case w.zstd == nil:
		w.drain()
	case !w.fresh && w.err == nil:
		w.fail(w.zstd.Flush())
	}
	return w.err
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
	if w.zstd != nil {
		w.buf = w.buf[:0]
	}
	w.buf = appendEnd(w.buf, &e)
	w.emit(0)
	if w.zstd != nil {
		w.endFrame()
	} else {
		w.drain()
	}
	return w.err
}
