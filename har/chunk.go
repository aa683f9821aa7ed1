package har

import "unicode/utf8"

// A chunk holds lines in which the bytes of the wire are left out: writing those as JSON is most of the work, and is done
// where the lines are packed.
type chunk struct {
	text  []byte // the lines without them
	raw   []byte // those bytes
	holes []hole // where they belong, in order
	lines []lineEnd

	// up to where next has come
	hole, line    int
	textAt, rawAt int
}

// A hole is where in the text of a chunk bytes of the wire are left out, and where those end in raw.
type hole struct{ text, raw int }

// A lineEnd is where in the text of a chunk a line ends, and how many lines of exchanges it counts for.
type lineEnd struct{ text, exchanges int }

// leave appends to b, which is the text so far, what stands before bytes that are left out.
func (c *chunk) leave(b, raw []byte) []byte {
	b = append(b, ',')
	c.raw = append(c.raw, raw...)
	c.holes = append(c.holes, hole{len(b), len(c.raw)})
	return b
}

// end ends a line.
func (c *chunk) end(exchanges int) { c.lines = append(c.lines, lineEnd{len(c.text), exchanges}) }

func (c *chunk) size() int { return len(c.text) + len(c.raw) }

// next appends the next line to b. ok is false behind the last one.
func (c *chunk) next(b []byte) (_ []byte, exchanges int, ok bool) {
	if c.line == len(c.lines) {
		return b, 0, false
	}
	line := c.lines[c.line]
	c.line++
	for ; c.hole < len(c.holes) && c.holes[c.hole].text <= line.text; c.hole++ {
		h := c.holes[c.hole]
		b = append(b, c.text[c.textAt:h.text]...)
		b = appendBytes(b, c.raw[c.rawAt:h.raw])
		c.textAt, c.rawAt = h.text, h.raw
	}
	b = append(b, c.text[c.textAt:line.text]...)
	c.textAt = line.text
	return b, line.exchanges, true
}

// appendBytes appends the member that holds bytes of the wire.
func appendBytes(b, raw []byte) []byte {
	if utf8.Valid(raw) {
		return appendRaw(append(b, `"_raw":`...), raw)
	}
	return appendBase64(append(b, `"_raw64":`...), raw)
}

// reset empties the chunk for use again.
func (c *chunk) reset() {
	*c = chunk{text: c.text[:0], raw: c.raw[:0], holes: c.holes[:0], lines: c.lines[:0]}
	if cap(c.text)+cap(c.raw) > keptChunk {
		*c = chunk{}
	}
}
