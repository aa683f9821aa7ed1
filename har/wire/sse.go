package wire

// An Event is one event of an event stream, or a run of comments and fields that dispatches nothing.
type Event struct {
	Span            // the raw bytes, blank line included, within the stream
	Type     string // the event field; "" if absent, which means "message"
	Data     []byte // the data lines joined by LF; nil if there was no data line
	ID       string // valid iff HasID
	HasID    bool   // an id field without NUL was seen
	Retry    int    // milliseconds; -1 if absent or not all digits
	Comments int    // number of comment lines
	Complete bool   // ended by a blank line; the standard discards an event that is not
}

// Dispatched tells whether a browser would dispatch this event: a blank line ended it and its data is not empty.
func (e *Event) Dispatched() bool { return e.Complete && len(e.Data) > 0 }

// A Splitter cuts an event stream into events by the standard (WHATWG HTML section 9.2.5 and 9.2.6): LF, CRLF and lone CR
// end lines, a leading BOM is dropped. The zero value is ready.
type Splitter struct {
	MaxEvent int // bytes of one event, beyond which it is given out unfinished; 0 means 64 MiB
}

// Feed takes the next bytes of the stream; p is copied.
func (s *Splitter) Feed(p []byte) { panic("stub") }

// Next returns the next whole event. ok is false if more bytes are needed.
func (s *Splitter) Next() (e Event, ok bool) { panic("stub") }

// Close says that the stream ended, and returns what is left as an incomplete event.
func (s *Splitter) Close() (e Event, ok bool) { panic("stub") }

// SplitEvents cuts a whole stream; the last event may be incomplete. Data is copied only where lines are joined.
func SplitEvents(stream []byte) []Event { panic("stub") }
