package har

import (
	"bytes"
	"math"
)

// A cursor is a place in one direction of an exchange, with what must be known to read on from it.
type cursor struct {
	at    int
	in    stretch
	left  int64 // bytes to come: of the body or of the chunk at hand
	begun bool  // bytes of the body lie before
	facts facts
}

type stretch uint8

const (
	inHead      stretch = iota
	inData              // payload
	inChunkLine         // before or in a chunk-size line
	inChunkEnd          // behind the data of a chunk
	inTrailers
	inTail // behind the message, in a tunnel, or no HTTP
)

// facts are what a head says of its message.
type facts struct {
	method method
	status int
	length int64  // of Content-Length; -1 without one
	coding [2]int // where the value of Content-Encoding is
	// Transfer-Encoding is there, and its last coding is chunked.
	transfer, chunked bool
	stream            bool // an event stream
	form              bool
	blanked           bool // a compressed body that held a secret: what comes is replaced too
	blind             bool // a compressed body into which one does not look any more
}

type method uint8

const (
	unknownMethod method = iota
	plainMethod
	headMethod
	connectMethod
)

func methodOf[T string | []byte](name T) method {
	switch string(name) {
	case "":
		return unknownMethod
	case "HEAD":
		return headMethod
	case "CONNECT":
		return connectMethod
	}
	return plainMethod
}

// advance moves the cursor to the offset to, or to before the chunk framing there.
func (c *cursor) advance(raw []byte, to int) {
	for c.at < to {
		switch c.in {
		case inData:
			c.through(min(c.left, int64(to-c.at)))
		case inChunkLine, inChunkEnd:
			if !c.overhead(raw[:to]) {
				return
			}
		case inTail:
			c.at = to
		default:
			return
		}
	}
}

// drop lets the bytes before the cursor go, but for the name of a coding that is still to be undone, and returns how many
// they are.
func (c *cursor) drop() int {
	n := c.at
	if f := &c.facts; c.in < inTrailers && f.coding[1] > 0 && !f.blanked && !f.blind {
		n = min(n, f.coding[0])
		f.coding[0] -= n
	}
	c.at -= n
	return n
}

// through moves the cursor through n bytes of payload.
func (c *cursor) through(n int64) {
	c.at += int(n)
	c.begun = c.begun || n > 0
	if !c.facts.chunked && c.left == math.MaxInt64 {
		return
	}
	if c.left -= n; c.left == 0 {
		c.in = inTail
		if c.facts.chunked {
			c.in = inChunkEnd
		}
	}
}

// overhead moves the cursor through a line of chunk framing (RFC 9112 section 7.1). It is false if the line is not whole.
func (c *cursor) overhead(raw []byte) bool {
	b := raw[c.at:]
	if c.in == inChunkEnd {
		switch {
		case b[0] == '\n':
			c.at, c.in = c.at+1, inChunkLine
		case b[0] == '\r' && len(b) == 1:
			return false
		case b[0] == '\r' && b[1] == '\n':
			c.at, c.in = c.at+2, inChunkLine
		default:
			c.in = inTail
		}
		return true
	}
	size, digits := int64(0), 0
	for digits < len(b) && hexValue(b[digits]) >= 0 && size <= (math.MaxInt64-15)/16 {
		size = size*16 + int64(hexValue(b[digits]))
		digits++
	}
	n := bytes.IndexByte(b, '\n')
	switch {
	case n < 0 && len(b) < headMost && (digits > 0 || len(b) == 0):
		return false
	case digits == 0 || n < 0 || bytes.IndexByte([]byte(" \t;\r\n"), b[digits]) < 0:
		c.in = inTail
		return true
	}
	c.at += n + 1
	c.in, c.left = inData, size
	if size == 0 {
		c.in = inTrailers
	}
	return true
}

func hexValue(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
