package proxy

import (
	"bytes"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// maxHostLine is how long a Host line may be to be edited; it is what is held back at most.
const maxHostLine = 8 << 10

// A hostEditor changes the values of the Host lines in request heads, and nothing else: names, white space and line ends
// stay. The heads are found by a wire.Slicer, which must see both directions since bytes behind an upgrade (101, or 2xx
// to CONNECT) are no heads. Lines are edited one by one as they become whole, so that cuts never change the result; of an
// obs-fold only the first line is. Held back is only the beginning of a line that may turn out to be a Host line.
type hostEditor struct {
	authority string // the new value

	slicer  wire.Slicer
	inHead  bool
	seen    int  // bytes of the head at hand
	started bool // its start line is behind us
	midLine bool // in a line that is none of ours
	held    []byte

	out   []byte
	edits []har.Edit
}

// request takes the client's next bytes and returns what is to be passed on: p itself, or bytes that are valid until the
// next call, as are the edits.
func (h *hostEditor) request(p []byte) (out []byte, edits []har.Edit) {
	h.out, h.edits = h.out[:0], h.edits[:0]
	copied, at := 0, 0
	held := len(h.held) > 0
	for _, piece := range h.slicer.Feed(wire.ToServer, p) {
		if n := h.headBytes(piece); n > 0 {
			copied = h.lines(p, copied, at, at+n)
		} else if piece.N > 0 {
			copied = h.release(p, copied, at)
		}
		at += piece.N
	}
	if !held && copied == 0 {
		return p, nil
	}
	h.out = append(h.out, p[copied:at]...)
	return h.out, h.edits
}

// response takes the server's next bytes.
func (h *hostEditor) response(p []byte) { h.slicer.Feed(wire.ToClient, p) }

// flush returns what is held back, which the end of direction d lets be no line for ever.
func (h *hostEditor) flush(d wire.Dir) []byte {
	if d != wire.ToServer {
		return nil
	}
	held := h.held
	h.held = nil
	return held
}

// headBytes tells how many bytes at the beginning of a piece belong to a head.
func (h *hostEditor) headBytes(piece wire.Piece) int {
	if piece.First {
		h.inHead, h.seen, h.started, h.midLine = true, 0, false, false
	}
	switch {
	case !h.inHead:
		return 0
	case piece.Opaque:
		h.inHead = false
		return 0
	case piece.Head != nil:
		h.inHead = false
		return min(piece.Head.Len-h.seen, piece.N)
	}
	h.seen += piece.N
	return piece.N
}

// lines edits the lines of a head in p[at:end]. Of p, copied bytes are in h.out; it returns how many are then.
func (h *hostEditor) lines(p []byte, copied, at, end int) int {
	for at < end {
		n := bytes.IndexByte(p[at:end], '\n') + 1
		if n == 0 {
			if h.midLine || !h.mayBeHost(p[at:end]) {
				h.midLine = h.midLine || h.started || !isBlank(p[at:end])
				return h.release(p, copied, at)
			}
			h.out = append(h.out, p[copied:at]...)
			h.held = append(h.held, p[at:end]...)
			return end
		}
		copied = h.line(p, copied, at, at+n)
		at += n
	}
	return copied
}

// release lets go of what was held, since what goes on at p[at] is no Host line.
func (h *hostEditor) release(p []byte, copied, at int) int {
	if len(h.held) > 0 {
		h.out = append(append(h.out, p[copied:at]...), h.held...)
		h.held, copied = h.held[:0], at
	}
	return copied
}

// line deals with the line that ends with p[at:end], and with what was held of it.
func (h *hostEditor) line(p []byte, copied, at, end int) int {
	if h.midLine || !h.started {
		h.started = h.midLine || !isBlank(p[at:end])
		h.midLine = false
		return copied
	}
	line, before := p[at:end], len(h.held)
	if before > 0 {
		h.held = append(h.held, line...)
		line = h.held
	}
	value, ok := hostValue(line)
	ok = ok && len(line) <= maxHostLine && string(line[value.Off:value.End()]) != h.authority
	if !ok && before == 0 {
		return copied
	}
	h.out = append(h.out, p[copied:at]...)
	if ok {
		h.edits = append(h.edits, har.Edit{Off: at - before + value.Off, Len: value.Len, New: h.authority})
		h.out = append(append(append(h.out, line[:value.Off]...), h.authority...), line[value.End():]...)
	} else {
		h.out = append(h.out, line...)
	}
	h.held = h.held[:0]
	return end
}

// isBlank tells whether p is an empty line, or a part of one. Some may stand before a request (RFC 9112 section 2.2).
func isBlank(p []byte) bool { return len(bytes.TrimRight(p, "\r\n")) == 0 }

const hostName = "host"

// mayBeHost tells whether what is held and goes on with more can be the beginning of a Host line.
func (h *hostEditor) mayBeHost(more []byte) bool {
	if !h.started || len(h.held)+len(more) > maxHostLine {
		return false
	}
	at := len(h.held)
	for i := 0; i < len(more) && at+i < len(hostName); i++ {
		if more[i]|0x20 != hostName[at+i] {
			return false
		}
	}
	if at > len(hostName) {
		return true
	}
	if rest := len(hostName) - at; rest < len(more) {
		return blankUpToColon(more[rest:])
	}
	return true
}

// blankUpToColon tells whether nothing but white space stands before the colon, or before the end if there is none.
func blankUpToColon(p []byte) bool {
	p = bytes.TrimLeft(p, " \t")
	return len(p) == 0 || p[0] == ':'
}

// hostValue finds the value in a whole Host line; ok is false for any other line.
func hostValue(line []byte) (value wire.Span, ok bool) {
	if len(line) < len(hostName) || !bytes.EqualFold(line[:len(hostName)], []byte(hostName)) {
		return value, false
	}
	rest := bytes.TrimLeft(line[len(hostName):], " \t")
	if len(rest) == 0 || rest[0] != ':' {
		return value, false
	}
	rest = bytes.TrimLeft(rest[1:], " \t")
	return wire.Span{Off: len(line) - len(rest), Len: len(bytes.TrimRight(rest, " \t\r\n"))}, true
}
