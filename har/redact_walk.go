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
	if w.r.lines || !mayBeHead(w.d, b, w.final) {
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

// extensions adds the chunk extensions that a Cleaner finds between from and the cursor (RFC 9112 section 7.1.1).
func (w *walk) extensions(raw []byte, from int) {
	if w.r.deep == nil {
		return
	}
	if n := bytes.IndexByte(raw[from:w.at], ';'); n >= 0 {
		w.r.scanText(w.r.addRegion(region{d: w.d, off: from + n, text: raw[from+n : w.at]}))
	}
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
		text, err := DecodeContent(coding, reg.text, decodeMost)
		ri := w.r.addRegion(reg)
		w.r.addDecoded(ri, text)
		if err != nil { // what cannot be decoded may hold text that was not compressed
			w.r.addDecoded(ri, reg.text)
		}
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
		switch {
		case w.final:
		case w.r.lines && b[len(b)-1] == '}': // no secret goes on behind it
		case w.r.lines:
			w.safe = w.at + bytes.LastIndexByte(b, '\n') + 1
		default:
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
		} else {
			from := w.at
			if !w.overhead(raw) {
				return false
			}
			w.extensions(raw, from)
		}
		if w.in == inTrailers || w.in == inTail {
			return true
		}
	}
	return false
}
