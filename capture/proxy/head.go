package proxy

import (
	"bytes"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// Bounds of what a headEditor holds back.
const (
	maxHostLine  = 8 << 10  // how long a Host line may be to be edited
	maxStartLine = 64 << 10 // of a request to a forward proxy; a longer one is refused
)

// A headEditor changes in request heads what a proxy has to change, and nothing else: names, white space and line ends
// stay. That is the values of Host lines; and in forward mode the targets, which lose the origin before their path, and the
// lines that are for the proxy alone, which go whole. The heads are found by a wire.Slicer, which must see both directions
// since bytes behind an upgrade (101, or 2xx to CONNECT) are no heads. Lines are edited one by one as they become whole, so
// that cuts never change the result; of a Host line with obs-fold only the first line is. Held back is only the beginning of
// a line that may turn out to be one to be edited.
type headEditor struct {
	authority string // what Host lines say; "" leaves them
	forward   bool   // requests name their origin, which must be http://authority

	slicer   wire.Slicer
	seq      int // the request at hand
	answered int // the last one whose response is whole
	inHead   bool
	seen     int  // bytes of the head at hand
	started  bool // its start line is behind us
	midLine  bool // in a line that is none of ours
	midDrop  bool // in a line that is not sent on
	dropped  bool // the line before was not sent on
	held     []byte

	other    string // the origin of a request that is for another one: it and all behind it are not sent on
	otherSeq int    // which request that is

	out   []byte
	edits []har.Edit
}

// request takes the client's next bytes and returns what is to be passed on: p itself, or bytes that are valid until the
// next call, as are the edits.
func (h *headEditor) request(p []byte) (out []byte, edits []har.Edit) {
	h.out, h.edits = h.out[:0], h.edits[:0]
	copied, at := 0, 0
	held := len(h.held) > 0
	for _, piece := range h.slicer.Feed(wire.ToServer, p) {
		if n := h.headBytes(piece); n > 0 {
			copied = h.lines(p, copied, at, at+n)
		} else if piece.N > 0 && h.other == "" {
			copied = h.release(p, copied, at)
		}
		at += piece.N
		if h.other != "" {
			copied = h.drop(p, copied, max(copied, at-piece.N), at)
		}
	}
	if !held && copied == 0 {
		return p, nil
	}
	h.out = append(h.out, p[copied:at]...)
	return h.out, h.edits
}

// response takes the server's next bytes.
func (h *headEditor) response(p []byte) {
	for _, piece := range h.slicer.Feed(wire.ToClient, p) {
		if piece.Done {
			h.answered = piece.Seq
		}
	}
}

// refused tells that a request for another origin has come and that nothing before it waits for a response.
func (h *headEditor) refused() bool { return h.other != "" && h.answered >= h.otherSeq-1 }

// flush returns what is held back, which the end of direction d lets be no line for ever.
func (h *headEditor) flush(d wire.Dir) []byte {
	if d != wire.ToServer {
		return nil
	}
	held := h.held
	h.held = nil
	return held
}

// headBytes tells how many bytes at the beginning of a piece belong to a head.
func (h *headEditor) headBytes(piece wire.Piece) int {
	if piece.First {
		h.inHead, h.seen, h.started, h.midLine, h.midDrop, h.dropped = true, 0, false, false, false, false
		h.seq = piece.Seq
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
func (h *headEditor) lines(p []byte, copied, at, end int) int {
	for at < end && h.other == "" {
		n := bytes.IndexByte(p[at:end], '\n') + 1
		if n == 0 {
			return h.part(p, copied, at, end)
		}
		copied = h.line(p, copied, at, at+n)
		at += n
	}
	return copied
}

// part deals with the beginning or the middle of a line.
func (h *headEditor) part(p []byte, copied, at, end int) int {
	more := p[at:end]
	switch {
	case h.midDrop:
		return h.drop(p, copied, at, end)
	case h.midLine:
		return copied
	case h.isContinued(more):
		h.midDrop = true
		return h.drop(p, copied, at, end)
	case !h.started && h.forward && !isBlank(more) && len(h.held)+len(more) > maxStartLine:
		h.refuse("a request line of more than 64 KiB")
		return h.drop(p, copied, at, end)
	}
	switch h.isOurs(more) {
	case yes:
		h.midDrop = true
		return h.drop(p, copied, at, end)
	case perhaps:
		h.out = append(h.out, p[copied:at]...)
		h.held = append(h.held, more...)
		return end
	}
	h.midLine, h.dropped = h.started || !isBlank(more), false
	return h.release(p, copied, at)
}

// isOurs tells whether what is held and goes on with more is the beginning of a line to be edited (perhaps), or of one that is
// not sent on (yes).
func (h *headEditor) isOurs(more []byte) answer {
	if !h.started {
		if h.forward && (len(h.held) > 0 || !isBlank(more)) {
			return perhaps
		}
		return no
	}
	line := more
	if len(h.held) > 0 {
		line = append(h.held[:len(h.held):len(h.held)], more...)
	}
	if h.forward {
		if proxy := isProxyLine(line); proxy != no {
			return proxy
		}
	}
	if h.authority == "" || len(line) > maxHostLine || isNamed(line, "host") == no {
		return no
	}
	return perhaps
}

// release lets go of what was held, since what goes on at p[at] is no line of ours.
func (h *headEditor) release(p []byte, copied, at int) int {
	if len(h.held) > 0 {
		h.out = append(append(h.out, p[copied:at]...), h.held...)
		h.held, copied = h.held[:0], at
	}
	return copied
}

// drop does not send on what is held and p[at:end].
func (h *headEditor) drop(p []byte, copied, at, end int) int {
	h.out = append(h.out, p[copied:at]...)
	if n := len(h.held) + end - at; n > 0 {
		h.edits = append(h.edits, har.Edit{Off: at - len(h.held), Len: n})
	}
	h.held = h.held[:0]
	return end
}

// line deals with the line that ends with p[at:end], and with what was held of it.
func (h *headEditor) line(p []byte, copied, at, end int) int {
	switch {
	case h.midDrop:
		h.midDrop, h.dropped = false, true
		return h.drop(p, copied, at, end)
	case h.midLine:
		h.midLine, h.started, h.dropped = false, true, false
		return copied
	case !h.started && len(h.held) == 0 && isBlank(p[at:end]):
		return copied
	}
	line, before := p[at:end], len(h.held)
	if before > 0 {
		h.held = append(h.held, line...)
		line = h.held
	}
	if !h.started {
		h.started = true
		if h.forward {
			return h.startLine(p, line, copied, at, end)
		}
		return copied
	}
	if h.isContinued(line) || h.forward && isProxyLine(line) == yes {
		h.held, h.dropped = h.held[:before], true
		return h.drop(p, copied, at, end)
	}
	h.dropped = false
	if value, ok := h.hostValue(line); ok {
		return h.replace(p, line, value, h.authority, copied, at, end)
	}
	return h.asItIs(p, line, copied, at, end)
}

// isContinued tells whether a line that begins with p continues one that was not sent on (obs-fold).
func (h *headEditor) isContinued(p []byte) bool {
	return h.dropped && len(h.held) == 0 && (p[0] == ' ' || p[0] == '\t')
}

// asItIs passes a line on unchanged.
func (h *headEditor) asItIs(p, line []byte, copied, at, end int) int {
	if len(h.held) == 0 {
		return copied
	}
	h.out = append(append(h.out, p[copied:at]...), line...)
	h.held = h.held[:0]
	return end
}

// replace passes a line on with other words in place of a span of it.
func (h *headEditor) replace(p, line []byte, was wire.Span, words string, copied, at, end int) int {
	before := end - at - len(line) // where the line begins, counted from at: 0, or less by what was held
	h.out = append(h.out, p[copied:at]...)
	h.edits = append(h.edits, har.Edit{Off: at + before + was.Off, Len: was.Len, New: words})
	h.out = append(append(append(h.out, line[:was.Off]...), words...), line[was.End():]...)
	h.held = h.held[:0]
	return end
}

// isBlank tells whether p is an empty line, or a part of one. Some may stand before a request (RFC 9112 section 2.2).
func isBlank(p []byte) bool { return len(bytes.TrimRight(p, "\r\n")) == 0 }

// An answer to a question on a line whose end may not have come.
type answer uint8

const (
	no answer = iota
	perhaps
	yes
)

// isNamed tells whether the line is a field of that name, given in lower case.
func isNamed(line []byte, name string) answer {
	n := min(len(line), len(name))
	for i := range n {
		if c := line[i]; c != name[i] && (c < 'A' || c > 'Z' || c|0x20 != name[i]) {
			return no
		}
	}
	rest := bytes.TrimLeft(line[n:], " \t")
	switch {
	case len(rest) == 0:
		return perhaps
	case rest[0] == ':' && n == len(name):
		return yes
	}
	return no
}

// proxyLines are the fields that are for the proxy alone (RFC 9110 section 11.7.2; Proxy-Connection is what old clients send in
// place of Connection).
var proxyLines = []string{"proxy-authorization", "proxy-connection"}

// isProxyLine tells whether the line is one of them. That is certain with the first byte behind the name, be it a space.
func isProxyLine(line []byte) answer {
	is := no
	for _, name := range proxyLines {
		if len(line) > len(name) && isNamed(line[:len(name)], name) == perhaps && bytes.IndexByte([]byte(": \t"), line[len(name)]) >= 0 {
			return yes
		}
		if len(line) <= len(name) {
			is = max(is, isNamed(line, name))
		}
	}
	return is
}

// hostValue finds the value in a whole Host line that is to be changed; ok is false for any other line.
func (h *headEditor) hostValue(line []byte) (value wire.Span, ok bool) {
	if h.authority == "" || len(line) > maxHostLine || isNamed(line, "host") != yes {
		return value, false
	}
	colon := bytes.IndexByte(line, ':') + 1
	rest := bytes.TrimLeft(line[colon:], " \t")
	value = wire.Span{Off: len(line) - len(rest), Len: len(bytes.TrimRight(rest, " \t\r\n"))}
	is := string(line[value.Off:value.End()])
	return value, is != h.authority && !(h.forward && sameAuthority(is, h.authority))
}
