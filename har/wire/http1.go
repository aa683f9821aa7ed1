package wire

import (
	"slices"
	"strings"
)

// A Framing says how the end of a message's body is found (RFC 9112 section 6.3).
type Framing uint8

const (
	NoBody     Framing = iota // ends with its head: HEAD, 1xx, 204, 304, a request without Content-Length
	ByLength                  // Content-Length
	ByChunks                  // Transfer-Encoding: chunked
	ByClose                   // a response that lasts until the connection ends
	Tunnel                    // after 101, or 2xx to CONNECT: the connection is no longer HTTP
	Unframable                // conflicting or malformed framing: where it ends cannot be known
)

// A Field is one header or trailer field line as it was sent. Name and Value are without surrounding white space; an
// obs-fold continuation (RFC 9112 section 5.2) is part of Value, joined by one space. At spans the value's bytes within
// the head's raw bytes, continuation lines included.
type Field struct {
	Name, Value string
	At          Span
}

// named compares names, case-insensitively; most differ in length or in the first letter, or are equal as they stand.
func (f *Field) named(name string) bool {
	return len(f.Name) == len(name) &&
		(f.Name == name || f.Name[0]|0x20 == name[0]|0x20 && strings.EqualFold(f.Name, name))
}

// A Head is a parsed start line with its fields. For a request Method, Target and Proto are set; for a response Proto,
// Status and Reason.
type Head struct {
	Method, Target string
	Status         int // 100 to 999; 0 for a request
	Reason, Proto  string
	Fields         []Field
	Len            int // bytes up to and including the blank line; empty lines before the start line count

	Framing Framing
	Length  int64    // valid iff Framing is ByLength
	Faults  []string // what a strict parser would refuse, such as "bare LF" or "Content-Length and Transfer-Encoding"
}

// Get returns the value of the first field with that name (case-insensitive), "" if there is none.
func (h *Head) Get(name string) string { v, _ := h.Lookup(name); return v }

// Lookup returns the value of the first field with that name (case-insensitive).
func (h *Head) Lookup(name string) (string, bool) {
	for i := range h.Fields {
		if f := &h.Fields[i]; f.named(name) {
			return f.Value, true
		}
	}
	return "", false
}

// Clone returns a copy that shares nothing with h that will change.
func (h *Head) Clone() *Head {
	c := *h
	c.Fields = slices.Clone(h.Fields)
	return &c
}

// Interim tells whether this is a 1xx response other than 101: another response to the same request follows it.
func (h *Head) Interim() bool { return h.Status >= 100 && h.Status < 200 && h.Status != 101 }

// A Message is one parsed HTTP message inside a larger run of bytes.
type Message struct {
	Head
	Off      int      // where it begins
	Body     []Span   // the payload: the whole body, or the data of each chunk
	Trailers []Field  // At is relative to Off
	End      int      // the offset behind its last byte, or where the bytes ended or stopped making sense
	Complete bool     // whole by its own framing; a ByClose message needs the connection's end
	Faults   []string // those of the head, the body and the trailers

	whole [1]Span // room for Body, of which most messages have one span
	names uint64  // nameBit of each field's name; 0: not known
}

// A Piece is a run of fed bytes that belongs to one exchange. The pieces returned by one Feed lie side by side and
// cover all its bytes.
type Piece struct {
	Seq    int   // the exchange on this connection, from 1: the n-th request and all that answers it
	N      int   // length in bytes; 0 in pieces that only report an ending
	First  bool  // the first byte of this exchange in this direction
	Head   *Head // not nil when a head (1xx included) became complete with this piece; valid as long as the pieces
	Done   bool  // the request, or the final response, is whole with this piece
	Opaque bool  // bytes with no HTTP meaning: malformed, after the end, or inside a tunnel
}
