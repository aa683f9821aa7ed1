package wire

import "math"

// A body reads on in a message's body, in any cut.
type body struct {
	framing Framing
	state   chunkState
	max     int   // bytes of one chunk-size line, and of the trailer section
	left    int64 // bytes to come: of the body (ByLength) or of the chunk at hand
	line    int   // bytes of the chunk-size line or the trailer section so far
	faults  fault
}

type chunkState uint8

const (
	sizeFirst  chunkState = iota // before a chunk size's first digit
	sizeDigits                   // in the chunk size
	sizeSpace                    // in white space behind it
	sizeExt                      // in a chunk extension
	sizeLF                       // behind the CR of the chunk-size line
	chunkData                    // in chunk data
	dataEnd                      // behind chunk data: CRLF must follow
	dataLF                       // behind the CR that follows chunk data
	trailerBOL                   // at the beginning of a trailer line
	trailerCR                    // behind a CR there
	trailer                      // inside a trailer line
	bodyEnd                      // behind the message
)

// A kind says what a run of body bytes is.
type kind uint8

const (
	payload  kind = iota
	overhead      // chunk sizes, extensions, line ends, trailers
	broken        // malformed from here on
)

func (b *body) begin(h *Head, max int) {
	*b = body{framing: h.Framing, max: max, left: h.Length}
	switch h.Framing {
	case NoBody, Tunnel, Unframable:
		b.state = bodyEnd
	case ByLength:
		b.state = chunkData
		if b.left == 0 {
			b.state = bodyEnd
		}
	case ByClose:
		b.state, b.left = chunkData, math.MaxInt64
	case ByChunks:
		b.left = 0
	}
}

// ended tells whether the message is whole.
func (b *body) ended() bool { return b.state == bodyEnd }

// next takes one run of bytes off p: n is its length, 0 only if p begins with malformed bytes.
func (b *body) next(p []byte) (n int, k kind) {
	if b.state != chunkData {
		return b.chunkLine(p)
	}
	n = int(min(b.left, int64(len(p))))
	if b.framing == ByClose {
		return n, payload
	}
	if b.left -= int64(n); b.left == 0 {
		b.state = dataEnd
		if b.framing == ByLength {
			b.state = bodyEnd
		}
	}
	return n, payload
}

// chunkLine reads chunked framing (RFC 9112 section 7.1) up to the next chunk data, to the trailer section or to the end.
func (b *body) chunkLine(p []byte) (n int, k kind) {
	for i, c := range p {
		was := b.state
		if !b.step(c) {
			return i, broken
		}
		if b.state != was && (b.state == chunkData || b.state == bodyEnd || b.state == trailerBOL && was < chunkData) {
			return i + 1, overhead
		}
	}
	return len(p), overhead
}

func (b *body) step(c byte) bool {
	switch b.state {
	case dataEnd, dataLF:
		return b.stepDataEnd(c)
	case trailerBOL, trailerCR, trailer:
		return b.stepTrailer(c)
	}
	if b.line++; b.line > b.max {
		b.faults |= longChunkLine
		return false
	}
	switch {
	case c == '\n' && b.state != sizeFirst:
		if b.state != sizeLF {
			b.faults |= bareLF
		}
		b.line = 0
		b.state = chunkData
		if b.left == 0 {
			b.state = trailerBOL
		}
	case b.state == sizeLF:
		b.faults |= badChunkSize
		return false
	case c == '\r' && b.state != sizeFirst:
		b.state = sizeLF
	case b.state == sizeExt:
	case c == ';' && b.state != sizeFirst:
		b.state = sizeExt
	case (c == ' ' || c == '\t') && b.state != sizeFirst:
		b.faults |= chunkSpacing
		b.state = sizeSpace
	default:
		digit := hexDigit(c)
		if digit < 0 || b.state == sizeSpace || b.left > (math.MaxInt64-15)/16 {
			b.faults |= badChunkSize
			return false
		}
		b.left = b.left*16 + int64(digit)
		b.state = sizeDigits
	}
	return true
}

func (b *body) stepDataEnd(c byte) bool {
	switch {
	case c == '\r' && b.state == dataEnd:
		b.state = dataLF
	case c == '\n':
		if b.state == dataEnd {
			b.faults |= bareLF
		}
		b.state = sizeFirst
	default:
		b.faults |= badChunkEnd
		return false
	}
	return true
}

func (b *body) stepTrailer(c byte) bool {
	if b.line++; b.line > b.max {
		b.faults |= longTrailers
		return false
	}
	switch {
	case c == '\n':
		if b.state == trailer {
			b.state = trailerBOL
		} else {
			if b.state == trailerBOL {
				b.faults |= bareLF
			}
			b.state = bodyEnd
		}
	case c == '\r' && b.state == trailerBOL:
		b.state = trailerCR
	default:
		b.state = trailer
	}
	return true
}

func hexDigit(c byte) int {
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
