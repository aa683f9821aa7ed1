package har

import (
	"bytes"
	"math"

	"github.com/mcptap/mcptap/har/wire"
)

// A walk goes through one direction of an exchange and adds its texts as regions. It follows the framing of RFC 9112 like
// package wire, but without building messages, and takes more for a head: a secret in what is not quite HTTP is one too.
// Where both read the same bytes differently, the worst is a secret taken for two.
type walk struct {
	r      *Redactor
	d      wire.Dir
	final  bool
	from   int
	method method // of the request that a response answers
	began  cursor
	mark   cursor // the last place at which reading can begin again
	back   int    // how much before the end of what is stored to read again
	safe   int    // up to where the bytes may be stored, secrets that go on left aside
	cursor
}

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

func (w *walk) raw() []byte { return w.r.raw[w.d] }

// run adds regions from the cursor to the end of the bytes.
func (w *walk) run() {
	w.mark = w.began
	for more := true; more; {
		switch w.in {
		case inHead:
			more = w.head()
		case inTrailers:
			more = w.trailers()
		case inTail:
			more = w.tail()
		default:
			more = w.payload()
		}
	}
}

// resume returns where to begin when the bytes up to upTo have been stored.
func (w *walk) resume(upTo int) cursor {
	c := w.mark
	if c.at > upTo {
		return w.began
	}
	if to := upTo - w.back; to > c.at {
		c.advance(w.raw(), to)
	}
	return c
}

func (w *walk) head() bool {
	b := w.raw()[w.at:]
	for len(b) > 0 && (b[0] == '\r' || b[0] == '\n') {
		b = b[1:]
	}
	start := len(w.raw()) - len(b)
	if len(b) == 0 {
		w.safe = w.at
		return false
	}
	if !mayBeHead(w.d, b, w.final) {
		w.in = inTail
		w.mark = w.cursor
		return true
	}
	hits, f := len(w.r.hits), facts{length: -1}
	ri := w.r.addRegion(region{d: w.d, off: start, text: b[:min(len(b), headMost)], fields: true})
	n := w.r.startLine(ri, &f)
	if n = w.r.fields(ri, n, &f); n < 0 {
		w.r.hits = w.r.hits[:hits]
		w.r.regions = w.r.regions[:ri]
		if !w.final && len(b) < headMost {
			w.safe = w.at
			return false
		}
		w.in = inTail
		w.mark = w.cursor
		return true
	}
	w.r.regions[ri].text = b[:n]
	w.r.scanText(ri)
	w.cursor = cursor{at: start + n, facts: f}
	w.frame()
	w.mark = w.cursor
	return true
}

// mayBeHead tells whether b can be the beginning of a head: a method and a space, or "HTTP/".
func mayBeHead(d wire.Dir, b []byte, final bool) bool {
	if d == wire.ToClient {
		const version = "HTTP/"
		n := min(len(b), len(version))
		return string(b[:n]) == version[:n]
	}
	for _, c := range b {
		if c == ' ' {
			return true
		}
		if class[c]&tokenChar == 0 {
			return false
		}
	}
	return !final
}

// frame decides what follows the head whose facts the cursor has.
func (w *walk) frame() {
	f := &w.facts
	switch {
	case w.d == wire.ToClient && f.status/100 == 1 && f.status != 101:
		w.in = inHead
	case w.d == wire.ToClient && (f.status == 101 || f.status == 204 || f.status == 304 ||
		w.method == headMethod || w.method == connectMethod && f.status/100 == 2):
		w.in = inTail
	case f.chunked:
		w.in = inChunkLine
	case f.length >= 0 && !f.transfer:
		w.in, w.left = inData, f.length
	case w.d == wire.ToClient:
		w.in, w.left = inData, math.MaxInt64
	default:
		w.in = inTail
	}
}

// payload adds what there is of a body.
func (w *walk) payload() bool {
	began, lo := w.begun, len(w.r.pieces)
	bodyAt := w.at
	done := w.collect()
	reg := region{d: w.d, more: !done && !w.final, begins: !began, stream: w.facts.stream}
	if !w.r.join(&reg, lo) {
		w.safe = w.at
		w.endPayload(done)
		return done
	}
	if w.facts.coding[1] > 0 {
		w.encoded(reg, bodyAt)
	} else {
		w.plain(reg)
	}
	w.endPayload(done)
	return done
}

// endPayload lets reading begin again behind the body, if it has ended.
func (w *walk) endPayload(done bool) {
	w.mark.facts = w.facts
	if done {
		w.mark, w.back = w.cursor, 0
	}
}

// plain adds a body that is text, or may be.
func (w *walk) plain(reg region) {
	stored := len(reg.text) // up to where the payload may be stored
	switch {
	case !reg.more:
	case reg.stream && len(reg.text)-lastEventEnd(reg.text) <= heldMost:
		stored, w.back = lastEventEnd(reg.text), 0
	default:
		stored, w.back = max(0, len(reg.text)-heldTail), heldTail
	}
	w.safe = w.at
	if stored < len(reg.text) {
		w.safe = w.r.locate(&reg, stored)
	}
	if reg.stream {
		w.r.unfoldData(&reg)
	}
	ri := w.r.addRegion(reg)
	if w.facts.form && reg.begins {
		w.r.scanFirstParameter(ri)
	}
	w.r.scanText(ri)
}

// encoded adds a compressed body, which begins at bodyAt, together with its decoded text.
func (w *walk) encoded(reg region, bodyAt int) {
	f := &w.facts
	reg.binary = true
	w.safe, w.back = w.at, 0
	switch {
	case f.blanked:
		w.r.addHit(hit{region: w.r.addRegion(reg), end: len(reg.text), kind: bodyEncoded, spelling: -1})
	case f.blind:
	case reg.more && len(w.raw())-max(bodyAt, w.from) <= heldMost:
		w.safe, w.back = bodyAt, math.MaxInt
	default:
		coding := string(w.raw()[f.coding[0] : f.coding[0]+f.coding[1]])
		text, _ := DecodeContent(coding, reg.text, decodeMost)
		w.r.addDecoded(w.r.addRegion(reg), text)
		if f.blind = len(text) == decodeMost; !f.blind {
			w.back = math.MaxInt // what follows can only be decoded from the beginning
		}
	}
}

func (w *walk) trailers() bool {
	b := w.raw()[w.at:]
	hits := len(w.r.hits)
	ri := w.r.addRegion(region{d: w.d, off: w.at, text: b[:min(len(b), headMost)], fields: true})
	n := w.r.fields(ri, 0, nil)
	if n < 0 {
		w.r.hits = w.r.hits[:hits]
		w.r.regions = w.r.regions[:ri]
		if !w.final && len(b) < headMost {
			w.safe = w.at
			return false
		}
		n = 0
	} else {
		w.r.regions[ri].text = b[:n]
		w.r.scanText(ri)
	}
	w.at, w.in = w.at+n, inTail
	w.mark = w.cursor
	return true
}

// tail adds all that follows as text in which anything may stand, field lines included.
func (w *walk) tail() bool {
	b := w.raw()[w.at:]
	w.safe, w.back = len(w.raw()), heldTail
	if len(b) > 0 {
		if !w.final {
			w.safe = max(w.at, w.safe-heldTail)
		}
		ri := w.r.addRegion(region{d: w.d, off: w.at, text: b, more: !w.final})
		for i := 0; i >= 0 && i < len(b); {
			i = w.r.fields(ri, i, nil)
		}
		w.r.scanText(ri)
	}
	return false
}

// collect moves the cursor through the body and adds its payload to the pieces. done: the message is whole, or cannot be
// read on.
func (w *walk) collect() (done bool) {
	raw := w.raw()
	for w.at < len(raw) || w.in == inData && w.left == 0 {
		if w.in == inData {
			n := min(w.left, int64(len(raw)-w.at))
			if n > 0 {
				w.r.pieces = append(w.r.pieces, piece{raw: w.at, n: int(n)})
			}
			w.through(n)
		} else if !w.overhead(raw) {
			return false
		}
		if w.in == inTrailers || w.in == inTail {
			return true
		}
	}
	return false
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
