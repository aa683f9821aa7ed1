package har

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
)

// A Reader reads a cassette: zstd, gzip or plain lines.
type Reader struct {
	src    *source
	header Header
	ledger *ledger
	parser parser
	end    *End
	cut    string
	done   bool
	keep   func(raw []byte, l *line, m moved) // called for each line behind the header that is accepted, but not for the end line

	salvage *salvage // nil: damage ends the reading
}

// NewReader reads the header.
func NewReader(r io.Reader, lim Limits) (*Reader, error) { return newReader(r, lim, false) }

// NewFollower is NewReader for a cassette that is being written, whose r waits at the end of the file for more: what can be read
// is given out at once, before the checksum of its zstd frame has come.
func NewFollower(r io.Reader, lim Limits) (*Reader, error) { return newReader(r, lim, true) }

func newReader(r io.Reader, lim Limits, live bool) (*Reader, error) {
	lim = lim.orDefaults()
	src, err := openSource(r, lim, live)
	if err != nil {
		return nil, err
	}
	rd := &Reader{src: src, ledger: newLedger(), parser: parser{words: map[string]string{}}}
	src.lim.Line = min(lim.Line, maxHeader)
	line, whole, err := src.next()
	src.lim.Line = lim.Line
	if err != nil {
		return nil, rd.noHeader(err)
	}
	rd.header, err = parseHeader(line)
	if err != nil && !whole && bytes.HasPrefix(line, []byte(`{"format":"`+Format+`"`)) {
		rd.header, rd.done, rd.cut = Header{}, true, "line 1, the header, is cut off"
		return rd, nil
	}
	if err != nil {
		return nil, onLine(err, 1)
	}
	return rd, nil
}

// noHeader says why there is no first line.
func (r *Reader) noHeader(err error) error {
	const header = "a cassette's header line"
	var limit *FormatError
	switch {
	case errors.As(err, &limit):
		return err
	case err == io.EOF:
		return onLine(want(header, "the file is empty"), 1)
	case r.src.torn():
		return onLine(want(header, "the file ends before it"), 1)
	}
	return r.damage(err)
}

// Header returns the first line.
func (r *Reader) Header() Header { return r.header }

// All gives the exchanges as they become final: when their connection has gone on or ended, or at the end of the file.
// Memory is bounded by the exchanges of open connections. Copied members that differ from the bytes are corrected and
// noted. After a *FormatError nothing more is given; a cut file is no error.
func (r *Reader) All() iter.Seq2[*Exchange, error] {
	return func(yield func(*Exchange, error) bool) {
		for !r.done {
			final, err := r.step()
			for _, x := range final {
				x.correct()
				if !yield(x, nil) {
					r.done = true
					return
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// Begun gives what has begun since the last call and is not final, each as it was read so far: a copy that does not change. It is
// called between two exchanges of All; from the first call on, which gives none, account is kept.
func (r *Reader) Begun() []*Exchange { return r.ledger.begunSince() }

// Lines calls see for each line of an exchange, with what is new as Writer.Write or, with more, Writer.Append took it. It
// returns behind the end line. It stands in place of All; as there, memory is bounded by the exchanges of open connections.
func (r *Reader) Lines(see func(line *Exchange, more bool)) error {
	r.keep = func(_ []byte, l *line, _ moved) {
		if l.x != nil {
			see(l.x, l.kind == moreLine)
		}
	}
	for !r.done && r.end == nil {
		if _, err := r.step(); err != nil {
			return err
		}
	}
	return nil
}

// step reads one line and returns the exchanges that it made final.
func (r *Reader) step() (final []*Exchange, err error) {
	raw, whole, err := r.src.next()
	if err != nil && r.salvage != nil && r.src.resume() {
		r.salvage.damaged(r.damage(err), r.ledger)
		return nil, nil
	} else if err != nil {
		return r.over(err)
	}
	l, err := r.parser.line(raw)
	if err != nil && !whole {
		return r.stop(fmt.Sprintf("line %d is cut off", r.src.line), nil)
	}
	m, ok := moved{}, true
	if err == nil && r.salvage != nil {
		m, ok = r.salvage.place(&l, r.ledger)
	}
	if !ok {
		return nil, nil
	}
	if err == nil {
		final, err = r.take(&l)
	}
	if err == nil {
		if r.keep != nil && l.kind != endLine {
			r.keep(raw, &l, m)
		}
		return final, nil
	}
	if r.salvage != nil && !errors.Is(err, errUnvouched) {
		r.salvage.damaged(onLine(err, r.src.line), r.ledger)
		return nil, nil
	}
	rest, err := r.stop("", onLine(err, r.src.line))
	return append(final, rest...), err
}

// over ends reading where there is no further line.
func (r *Reader) over(err error) ([]*Exchange, error) {
	var limit *FormatError
	switch {
	case err == io.EOF && r.end != nil:
		return r.stop("", nil)
	case err == io.EOF:
		return r.stop(fmt.Sprintf("there is no end line behind line %d", r.src.line), nil)
	case errors.As(err, &limit):
		return r.stop("", err)
	case r.src.torn():
		return r.stop(fmt.Sprintf("the %s data breaks off behind line %d", r.src.packed, r.src.line), nil)
	}
	return r.stop("", r.damage(err))
}

// damage says what is wrong below the lines: the file cannot be read, or not be unpacked.
func (r *Reader) damage(err error) error {
	if r.src.file.err != nil {
		return fmt.Errorf("line %d: %w", r.src.line+1, r.src.file.err)
	}
	return &FormatError{Line: r.src.line + 1, Want: "whole " + r.src.packed + " data", Err: err}
}

// stop ends reading. What has no ending gets one that says so.
func (r *Reader) stop(cut string, err error) ([]*Exchange, error) {
	r.done, r.cut = true, cut
	note := NoteCut + ": the file ends here"
	switch {
	case err != nil:
		note = NoteCut + ": the file cannot be read any further"
	case r.salvage != nil && r.salvage.first != nil:
		note = NoteCut + ": the file is damaged"
	case r.end != nil:
		note = NoteCut + ": no ending was recorded"
	}
	open := r.ledger.rest()
	for _, x := range open {
		if x.End == "" {
			breakOff(x, note)
			if r.salvage != nil && r.salvage.first != nil {
				r.salvage.cut = append(r.salvage.cut, x.N)
			}
		}
	}
	return open, err
}

func (r *Reader) take(l *line) (final []*Exchange, err error) {
	if r.end != nil {
		return nil, want("nothing behind the end line", "")
	}
	switch l.kind {
	case firstLine:
		final, err = r.ledger.first(l.x, l.endOffOK)
	case moreLine:
		var x *Exchange
		if x, err = r.ledger.more(l.x, l.endOffOK); x != nil {
			final = []*Exchange{x}
		}
	case processLine:
		err = r.ledger.process(l.process)
	case endLine:
		return nil, r.finish(l)
	}
	if err == nil && r.ledger.held > r.src.lim.Held {
		err = r.src.limit("at most %d bytes of exchanges that go on", r.src.lim.Held)
	}
	return final, err
}

func (r *Reader) finish(l *line) error {
	if r.salvage != nil && r.salvage.first != nil {
		r.end, r.salvage.wanted = &l.end, l.end.Exchanges
		return nil
	}
	if l.has.exchanges && l.end.Exchanges != r.ledger.seen {
		return want(fmt.Sprintf("exchanges to be %d, as many as there are", r.ledger.seen), fmt.Sprintf("got %d", l.end.Exchanges))
	}
	if l.has.conns && l.end.Conns != len(r.ledger.last) {
		return want(fmt.Sprintf("conns to be %d, as many as there are", len(r.ledger.last)), fmt.Sprintf("got %d", l.end.Conns))
	}
	r.end = &l.end
	return nil
}

// End returns the end line, nil if the file was cut before it.
func (r *Reader) End() *End { return r.end }

// Cut says how the file broke off, "" if it did not. Valid after All. Only its packing may be torn: End is then not nil.
func (r *Reader) Cut() string { return r.cut }

// A Cassette is a whole file in memory, its exchanges in order of N.
type Cassette struct {
	Header    Header
	Exchanges []*Exchange
	Processes []*Process // servers that were processes
	End       *End       // nil: the file was cut
	Cut       string     // how it broke off
}

// All gives the exchanges, as Reader.All does.
func (c *Cassette) All() iter.Seq2[*Exchange, error] {
	return func(yield func(*Exchange, error) bool) {
		for _, x := range c.Exchanges {
			if !yield(x, nil) {
				return
			}
		}
	}
}

// Read reads a whole cassette. What was read before a *FormatError is returned with it.
func Read(r io.Reader, lim Limits) (*Cassette, error) {
	rd, err := NewReader(r, lim)
	if err != nil {
		return nil, err
	}
	c := &Cassette{Header: rd.Header()}
	held := int64(0)
	for x, err2 := range rd.All() {
		if err = err2; err != nil {
			break
		}
		if held += weight(x); held > rd.src.lim.Held {
			err = rd.src.limit("at most %d bytes of exchanges", rd.src.lim.Held)
			break
		}
		c.Exchanges = append(c.Exchanges, x)
	}
	slices.SortFunc(c.Exchanges, func(a, b *Exchange) int { return a.N - b.N })
	c.Processes, c.End, c.Cut = rd.Processes(), rd.End(), rd.Cut()
	return c, err
}
