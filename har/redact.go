package har

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/mcptap/mcptap/har/wire"
)

// Bounds of what a Redactor holds back, keeps and looks into.
const (
	heldMost   = 1 << 20   // bytes of one direction that Pass holds back at most
	heldTail   = 8 << 10   // bytes at the end of an unfinished body in which a secret may have begun
	headMost   = 256 << 10 // bytes of one head; what is longer is no head
	decodeMost = 16 << 20  // bytes of one decoded body that are looked at
	underWay   = 4096      // unfinished exchanges whose place is kept; others are read again from their beginning
	keptArena  = 4 << 20   // bytes of scratch that are kept from one call to the next
)

// A Redactor replaces secrets in exchanges by other bytes of the same length. One serves a whole recording: what it has
// once recognised as a secret it replaces wherever it appears later. It is not safe for concurrent use.
//
// Secrets are recognised by the field, parameter or member that holds them and by their shape: redact_names.go lists
// both. A value of at least 8 bytes is remembered and replaced wherever it stands in a target, a field value or a body,
// verbatim, percent-encoded or escaped for JSON. The last 1,024 values are remembered, those in use before others; of a
// value beyond 1 KiB, that much and the token characters behind it are replaced. A session id of at least 8 bytes becomes
// a pseudonym numbered by first appearance, the same everywhere; past 65,536 sessions, one that has been out of use for
// 1,024 other values is given a new number.
//
// A replacement keeps line ends, control characters and quotation marks, so that heads, events and JSON stay what they
// are; a number becomes a number. Nothing that frames a message is altered, and redacting twice changes nothing.
//
// Not found are secrets under other names that have no known shape, and those in multipart or binary formats, in a
// coding that cannot be undone, or behind the first 16 MiB of a decoded body.
type Redactor struct {
	values  knownValues
	open    map[*Exchange]passed
	raw     [2][]byte // the exchange at hand
	regions []region
	pieces  []piece
	arena   []byte // the texts of regions in several pieces
	hits    []hit
	scan    scan
	scratch []byte
	lines   bool  // the exchange at hand is of lines, each of which may be stored when it is whole
	deep    *deep // what a Cleaner looks for besides; nil while a recording is made

	lastURL, lastEdit redactedString
}

// NewRedactor returns a Redactor that knows no secrets yet.
func NewRedactor() *Redactor { return &Redactor{} }

// passed is how far an unfinished exchange was read.
type passed struct {
	upTo [2]int
	at   [2]cursor // where to read on: at or before upTo, so that what stands before a secret is seen
}

// Pass redacts x in place from the offsets in from (request, response) on; what lies before has been stored. It appends to
// x.Redacted (also redacts x.URL and x.Edits) and returns up to which offsets the bytes may now be stored: all of them if
// final, else as far as no secret can be cut in two. x holds all bytes of the exchange so far, those before from included,
// but for what [Redactor.Drop] let go. from is what the last call for x returned, and the last call is final.
//
// Held back are an unfinished head and what answers it, an unfinished event, an unfinished compressed body, the last 8 KiB of any other
// unfinished body or tunnel, and a secret that may go on; never more than 1 MiB of one direction. Bytes behind upTo are
// left as they are and not listed.
func (r *Redactor) Pass(x *Exchange, from [2]int, final bool) (upTo [2]int) {
	r.begin([2][]byte{x.Request.Raw, x.Response.Raw})
	r.lines = x.Stdio()
	var at [2]cursor
	if p, ok := r.open[x]; ok && p.upTo == from {
		at = p.at
	}
	req := walk{r: r, d: wire.ToServer, final: final, from: from[0], began: at[0], cursor: at[0]}
	req.run()
	resp := walk{r: r, d: wire.ToClient, final: final, from: from[1], began: at[1], cursor: at[1], method: req.facts.method}
	if resp.method == unknownMethod {
		resp.method = methodOf(x.Method)
	}
	resp.run()
	if r.deep != nil {
		r.lookDeep()
	}
	if len(r.hits) > 0 {
		r.remember()
	}
	if r.values.any() {
		r.findKnown()
	}
	if len(r.hits) > 0 {
		r.blankEncoded(&req, &resp)
	}
	if req.in == inHead && len(x.Request.Raw) > 0 && len(x.Response.Raw)-from[1] <= heldMost {
		resp.safe = from[1] // an answer to what is not known yet may hold its secrets
	}
	upTo[0] = r.settle(&req)
	upTo[1] = r.settle(&resp)
	if len(r.hits) > 0 {
		r.apply(x, from, upTo)
	}
	r.keep(x, &req, &resp, upTo, final)
	r.redactStrings(x)
	return upTo
}

// Drop returns how many bytes at the beginning of each side of x are needed no more, after a Pass that was not final. The
// caller takes them off Raw; offsets of later calls, and in what they add to x.Redacted, count from behind them.
func (r *Redactor) Drop(x *Exchange) (n [2]int) {
	p, ok := r.open[x]
	if !ok {
		return n
	}
	for d := range p.at {
		n[d] = p.at[d].drop()
		p.upTo[d] -= n[d]
	}
	r.open[x] = p
	return n
}

// begin forgets the exchange of the last call.
func (r *Redactor) begin(raw [2][]byte) {
	r.raw = raw
	clear(r.regions)
	r.regions = r.regions[:0]
	r.pieces, r.hits = r.pieces[:0], r.hits[:0]
	r.arena = r.arena[:0]
	if cap(r.arena) > keptArena {
		r.arena = nil
	}
}

// keep notes where to read on, or that there is nothing more to read.
func (r *Redactor) keep(x *Exchange, req, resp *walk, upTo [2]int, final bool) {
	if final {
		if len(r.open) > 0 {
			delete(r.open, x)
		}
		return
	}
	if r.open == nil {
		r.open = make(map[*Exchange]passed)
	}
	if _, ok := r.open[x]; ok || len(r.open) < underWay {
		r.open[x] = passed{upTo, [2]cursor{req.resume(upTo[0]), resp.resume(upTo[1])}}
	}
}

// A region is a run of text in which secrets are looked for: a head, a payload, a trailer section or a tail.
type region struct {
	d       wire.Dir
	text    []byte
	off     int // where the text begins in the raw bytes, if it lies there in one piece
	pieces  [2]int
	joined  bool // the text lies in r.pieces[pieces[0]:pieces[1]]
	fields  bool // the text is a head or a trailer section
	target  [2]int
	line    int // where the line that holds the byte at lineOff begins
	lineOff int
	more    bool // the text may go on
	begins  bool // the text is the beginning of a body
	stream  bool // the text is an event stream
	binary  bool // a compressed body, whose decoded text is the next region
	blanked bool // that text holds a secret
	decoded bool // the text is that of the compressed body in region of
	of      int
	view    *view // the text is that of another region, read in another way
}

// A piece is a run of a region's text that lies in the raw bytes in one piece.
type piece struct {
	text, raw, n int
	joins        bool // it begins a data line that was joined to the one before
}

// A hit is a secret in a region. raw and rawEnd are where its first byte is and where its last one ends.
type hit struct {
	region      int
	off, end    int
	raw, rawEnd int
	kind        secretKind
	spelling    int32 // of a known value, or -1
	open        bool  // it may go on
}

// add adds the text of a region from off to end as a secret, unless it is a replacement or a word that is none.
func (r *Redactor) add(region, off, end int, kind secretKind) {
	reg := &r.regions[region]
	if off >= end {
		return
	}
	text := reg.text[off:end]
	if kind.isShape() && bytes.Contains(text, []byte(filler)) {
		return // a replacement that looks like a secret together with what stands beside it
	}
	if isReplacement(text, reg.fields) || len(text) <= longestWord && notSecret[string(text)] {
		return
	}
	if kind == rule && isReplacedNumber(text) {
		return
	}
	if kind == session {
		id := r.canonical(text, kind)
		if len(id) < valueLeast || isPseudonym(id) {
			return
		}
	}
	r.addHit(hit{region: region, off: off, end: end, kind: kind, spelling: -1})
}

func (r *Redactor) addHit(h hit) {
	reg, off, end := r.root(h.region, h.off, h.end)
	if reg != &r.regions[h.region] && reg.fields {
		if from, to := r.clip(reg, off, end, false); from != off || to != end {
			return
		}
	}
	h.raw, h.rawEnd = reg.off, reg.off
	if !reg.decoded {
		h.raw, h.rawEnd = r.locate(reg, off), r.locate(reg, end-1)+1
	}
	h.open = reg.more && end == len(reg.text)
	r.hits = append(r.hits, h)
}

// locate maps an offset in a region's text to the raw bytes.
func (r *Redactor) locate(reg *region, off int) int {
	if !reg.joined {
		return reg.off + off
	}
	p := r.pieceAt(reg, off)
	return r.pieces[p].raw + off - r.pieces[p].text
}

// pieceAt returns the index of the piece that holds the text's byte at off.
func (r *Redactor) pieceAt(reg *region, off int) int {
	i, _ := slices.BinarySearchFunc(r.pieces[reg.pieces[0]:reg.pieces[1]], off+1, func(p piece, off int) int {
		return cmp.Compare(p.text, off)
	})
	return reg.pieces[0] + i - 1
}

func (r *Redactor) sortHits() {
	if len(r.hits) < 2 {
		return
	}
	slices.SortStableFunc(r.hits, func(a, b hit) int {
		if c := cmp.Compare(r.regions[a.region].d, r.regions[b.region].d); c != 0 {
			return c
		}
		if c := cmp.Compare(a.raw, b.raw); c != 0 {
			return c
		}
		return cmp.Compare(b.rawEnd, a.rawEnd)
	})
}

// isHit tells whether that text is one of the first hits already: most known values stand where they are recognised again.
func (r *Redactor) isHit(region, off, end int) bool {
	for i := range r.hits[:min(len(r.hits), 8)] {
		if h := &r.hits[i]; h.off == off && h.end == end && h.region == region {
			return true
		}
	}
	return false
}

// remember takes the values of all hits into the set of known values, in the order of their appearance.
func (r *Redactor) remember() {
	r.sortHits()
	for i := range r.hits {
		h := &r.hits[i]
		if h.open {
			continue
		}
		if text := r.regions[h.region].text[h.off:h.end]; h.kind.isRemembered(text) {
			r.values.see(r, text, h.kind)
		}
	}
}

// findKnown adds hits for all known values.
func (r *Redactor) findKnown() {
	had := len(r.hits)
	for i := range r.regions {
		if !r.regions[i].binary {
			r.values.find(r, i)
		}
	}
	if len(r.hits) > had {
		r.sortHits()
	}
}

// settle returns up to where a direction's bytes may be stored.
func (r *Redactor) settle(w *walk) int {
	raw := r.raw[w.d]
	if w.final {
		return len(raw)
	}
	cut := max(w.safe, w.from)
	for i := len(r.hits) - 1; i >= 0; i-- {
		h := &r.hits[i]
		reg := &r.regions[h.region]
		if reg.d == w.d && !reg.decoded && h.raw < cut && (h.rawEnd > cut || h.open) {
			cut = h.raw
		}
	}
	if len(raw)-cut > heldMost {
		cut = len(raw)
	}
	return max(cut, w.from)
}
