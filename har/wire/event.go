package wire

import (
	"bytes"
	"math"
)

// An eventReader builds events from the lines of a stream.
type eventReader struct {
	max int  // bytes of one event
	own bool // data is copied out of the lines

	ev    Event // the event at hand
	len   int   // its bytes so far
	begun bool  // the stream's first line was read
	seen  bool  // the event has a line that is not blank
	over  bool  // the event goes on behind its bound: its lines are not read
	mid   bool  // the next line is the rest of one that was cut at the bound
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// line takes a line that is n bytes long with its line end. used is less than n if the event is at its bound.
func (r *eventReader) line(text []byte, n int) (e Event, used int, ok bool) {
	if r.len+n > r.max {
		used = r.max - r.len
		r.len = r.max
		r.begun, r.mid = true, used > 0
		r.over = r.over || r.seen || r.mid
		return r.take(false), used, true
	}
	r.len += n
	if !r.begun {
		text = bytes.TrimPrefix(text, byteOrderMark)
		r.begun = true
	}
	blank := len(text) == 0 && !r.mid
	r.mid = false
	switch {
	case blank && (r.seen || r.over):
		e = r.take(!r.over)
		r.over = false
		return e, n, true
	case !blank:
		r.read(text)
	}
	return Event{}, n, false
}

// end takes the last line, which nothing ends.
func (r *eventReader) end(text []byte) (e Event, ok bool) {
	if r.len += len(text); r.len == 0 {
		return Event{}, false
	}
	if !r.begun {
		text = bytes.TrimPrefix(text, byteOrderMark)
		r.begun = true
	}
	if len(text) > 0 {
		r.read(text)
	}
	return r.take(false), true
}

// take gives out the event at hand.
func (r *eventReader) take(complete bool) Event {
	e := r.ev
	e.Len, e.Complete = r.len, complete
	if !r.seen {
		e.Retry = -1
	}
	r.ev, r.len, r.seen = Event{Span: Span{Off: e.End()}}, 0, false
	return e
}

// read reads a comment or a field (section 9.2.6).
func (r *eventReader) read(text []byte) {
	if !r.seen {
		r.ev.Retry = -1
		r.seen = true
	}
	if r.over {
		return
	}
	name, value, _ := bytes.Cut(text, []byte(":"))
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	switch string(name) {
	case "":
		r.ev.Comments++
	case "event":
		r.ev.Type = string(value)
	case "data":
		r.data(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			r.ev.ID, r.ev.HasID = string(value), true
		}
	case "retry":
		if ms := parseRetry(value); ms >= 0 {
			r.ev.Retry = ms
		}
	}
}

func (r *eventReader) data(value []byte) {
	switch {
	case r.ev.Data != nil:
		r.ev.Data = append(append(r.ev.Data, '\n'), value...)
	case r.own:
		r.ev.Data = append([]byte{}, value...)
	case value == nil:
		r.ev.Data = []byte{}
	default:
		r.ev.Data = value[:len(value):len(value)]
	}
}

func parseRetry(digits []byte) int {
	if len(digits) == 0 {
		return -1
	}
	n := 0
	for _, c := range digits {
		if !isDigit(c) {
			return -1
		}
		n = min(n*10+int(c-'0'), math.MaxInt32)
	}
	return n
}
