package wire

import (
	"bytes"
)

// An Event is one event of an event stream, or a run of comments and fields that dispatches nothing.
//
// The events of a stream lie side by side and cover it. The blank line that ends an event is part of it; further blank
// lines and a BOM belong to the event that follows them. Comments that a blank line follows are an event of their own.
type Event struct {
	Span            // the raw bytes, blank line included, within the stream
	Type     string // the event field; "" if absent, which means "message"
	Data     []byte // the data lines joined by LF; nil if there was no data line
	ID       string // valid iff HasID
	HasID    bool   // an id field without NUL was seen
	Retry    int    // milliseconds, at most math.MaxInt32; -1 if absent or not all digits
	Comments int    // number of comment lines
	Complete bool   // ended by a blank line; the standard discards an event that is not
}

// Dispatched tells whether a browser would dispatch this event: a blank line ended it and it has a data line. A data
// line without a value counts: the event then has empty data.
func (e *Event) Dispatched() bool { return e.Complete && e.Data != nil }

// A Splitter cuts an event stream into events by the standard (WHATWG HTML section 9.2.5 and 9.2.6): LF, CRLF and lone CR
// end lines, a leading BOM is dropped. The zero value is ready.
//
// A lone CR at the very end of the bytes fed waits for the next byte or for Close, since an LF may follow.
type Splitter struct {
	MaxEvent int // bytes of one event, beyond which it is given out unfinished; 0 means 64 MiB

	buf    []byte // bytes not yet read
	at     int    // of those, how many lines were read from
	look   int    // of those, how many hold no line end
	ev     eventReader
	closed bool
}

const defaultMaxEvent = 64 << 20

// Feed takes the next bytes of the stream; p is copied.
func (s *Splitter) Feed(p []byte) {
	if s.at > 0 {
		s.buf = s.buf[:copy(s.buf, s.buf[s.at:])]
		s.look -= s.at
		s.at = 0
	}
	s.buf = append(s.buf, p...)
}

// Next returns the next whole event. ok is false if more bytes are needed.
//
// What goes beyond MaxEvent is given out in incomplete events of that size up to the next blank line; only the whole
// lines of the first are read.
func (s *Splitter) Next() (e Event, ok bool) {
	if s.ev.max == 0 {
		s.ev.own, s.ev.max = true, s.MaxEvent
		if s.ev.max <= 0 {
			s.ev.max = defaultMaxEvent
		}
	}
	for {
		rest := s.buf[s.at:]
		line, n := cutEventLine(rest, s.look-s.at, s.closed)
		s.look = s.at + len(line)
		if n == 0 {
			if s.look = len(s.buf); len(rest) > 0 && rest[len(rest)-1] == '\r' {
				s.look--
			}
			if s.ev.len+len(rest) <= s.ev.max {
				return Event{}, false
			}
			line, n = rest, len(rest)
		}
		e, n, ok = s.ev.line(line, n)
		s.at += n
		s.look = max(s.look, s.at)
		if ok {
			return e, true
		}
	}
}

// Close says that the stream ended, and returns what is left: an event that only waited for an LF behind its CR, or an
// incomplete one, whose last line counts though nothing ends it. If Next still had events, Close returns the next of
// them; ok is false when nothing is left.
func (s *Splitter) Close() (e Event, ok bool) {
	s.closed = true
	if e, ok = s.Next(); ok {
		return e, true
	}
	rest := s.buf[s.at:]
	s.at = len(s.buf)
	return s.ev.end(rest)
}

// MaxEvents is how many events SplitEvents gives at most. What is behind them is one more, incomplete and not read.
const MaxEvents = 1 << 20

// SplitEvents cuts a whole stream; the last event may be incomplete. Data is copied only where lines are joined.
func SplitEvents(stream []byte) []Event {
	s := Splitter{buf: stream, closed: true}
	s.ev.max = defaultMaxEvent
	var events []Event
	for e, ok := s.Close(); ok; e, ok = s.Close() {
		if len(events) == MaxEvents {
			rest := Span{Off: e.Off, Len: len(stream) - e.Off}
			return append(events, Event{Span: rest, Retry: -1})
		}
		events = append(events, e)
	}
	return events
}

// cutEventLine returns the first line of b and its length with its line end, 0 if none ends it. The first from bytes
// hold no line end. closed: nothing will follow b.
func cutEventLine(b []byte, from int, closed bool) (line []byte, n int) {
	i := from + indexLineEnd(b[from:])
	switch {
	case i == len(b):
		return nil, 0
	case b[i] == '\n':
		return b[:i], i + 1
	case i+1 == len(b) && !closed:
		return nil, 0
	case i+1 < len(b) && b[i+1] == '\n':
		return b[:i], i + 2
	}
	return b[:i], i + 1
}

// indexLineEnd finds the first CR or LF, len(b) if there is none. It looks for both in windows that grow, for a search of
// all bytes for an LF would be one for each line where lines end with CR.
func indexLineEnd(b []byte) int {
	for at, w := 0, 64; at < len(b); at, w = at+w, 2*w {
		window := b[at:min(at+w, len(b))]
		lf := bytes.IndexByte(window, '\n')
		if lf >= 0 {
			window = window[:lf]
		}
		if cr := bytes.IndexByte(window, '\r'); cr >= 0 {
			return at + cr
		}
		if lf >= 0 {
			return at + lf
		}
	}
	return len(b)
}
