package har

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcptap/mcptap/har/wire"
)

type secretKind uint8

const (
	authorization secretKind = iota
	basic                    // authorization in the Basic scheme
	cookie
	apiKey
	query
	userinfo
	oauth
	bearer
	jwt
	key
	privateKey
	session
	bodyEncoded
	bodyRecoded
	basicText // the Basic scheme in text
	member    // a JSON member or a variable that is named like a secret
	rule      // what a rule asks for
	email
	home
	host
	address
)

// kindNames are what stands in Redaction.Kind. docs/format.md explains them.
var kindNames = [...]string{"authorization", "authorization", "cookie", "api-key", "query", "userinfo", "oauth", "bearer",
	"jwt", "key", "private-key", "session", "body-encoded", "body-recoded", "basic", "member", "rule", "email", "home", "host",
	"address"}

// isShape tells whether secrets of that kind are known by how they look alone.
func (k secretKind) isShape() bool { return k == bearer || k == jwt || k == key }

// isPerson tells whether what is found says who or where somebody is rather than what opens something.
func (k secretKind) isPerson() bool { return k >= email }

// isRemembered tells whether a secret of that kind is looked for elsewhere: a password may be a word of the language, which
// would be replaced everywhere.
func (k secretKind) isRemembered(text []byte) bool { return k != member || !isProse(text) }

const filler = "redacted"

// fillerAt is the n-th character of a replacement.
func fillerAt(n int) byte {
	if n < len(filler) {
		return filler[n]
	}
	return 'x'
}

// blank replaces t by the filler from its n-th character on. What keeps lines, fields and JSON strings apart stays: white
// space, control characters, and quotation marks without a backslash before them; in a body also bytes that are no UTF-8,
// so that the text does not become valid. It gives the number of characters written so far.
func blank(t []byte, n int, isField bool) int {
	for i := 0; i < len(t); {
		width := blankable(t[i:], isField)
		for range max(width, -width) {
			if width > 0 {
				t[i] = fillerAt(n)
				n++
			}
			i++
		}
	}
	return n
}

// isReplacement tells whether blank would leave t as it is.
func isReplacement(t []byte, isField bool) bool {
	n := 0
	for i := 0; i < len(t); {
		width := blankable(t[i:], isField)
		for range max(width, -width) {
			if width > 0 {
				if t[i] != fillerAt(n) {
					return false
				}
				n++
			}
			i++
		}
	}
	return true
}

// blankable returns how many bytes at the beginning of t are replaced together; negative: how many are kept.
func blankable(t []byte, isField bool) int {
	switch c := t[0]; {
	case c <= ' ' || c == 0x7f || c == '"':
		return -1
	case c == '\\' && len(t) > 1 && t[1] > ' ' && t[1] < 0x7f:
		return 2
	case c >= utf8.RuneSelf && !isField:
		if r, n := utf8.DecodeRune(t); r != utf8.RuneError || n > 1 {
			return n
		}
		return -1
	}
	return 1
}

// blankDigits replaces a number by one without meaning.
func blankDigits(t []byte) {
	for i := range t {
		if i > 0 || t[i] != '0' {
			t[i] = '1'
		}
	}
}

// isReplacedNumber tells whether blankDigits would leave t as it is.
func isReplacedNumber(t []byte) bool {
	for i, c := range t {
		if c != '1' && (i > 0 || c != '0') {
			return false
		}
	}
	return true
}

// pseudonym gives what stands for session n instead of id. It has the length of id and keeps the characters that are not
// marked.
func pseudonym(id string, n int) string {
	mark, free := marked(id)
	name := sessionName(free, n, allDigits(id))
	out := []byte(id)
	for i := range out {
		if mark(out[i]) {
			out[i], name = name[0], name[1:]
		}
	}
	return string(out)
}

// visibleLeast is in how many characters a session can still be told from others.
const visibleLeast = 4

// marked gives the characters of a session id that its pseudonym replaces, and how many these are: those that are spelled alike in
// URLs and in JSON, so that the pseudonym can be encoded as the id was. If they are too few, those that a session id may have
// (0x21 to 0x7E, specification 2025-11-25, Transports), so that a pseudonym is as sound as the id was; or else all.
func marked(id string) (mark func(c byte) bool, free int) {
	count := func(mark func(c byte) bool) (n int) {
		for i := range len(id) {
			if mark(id[i]) {
				n++
			}
		}
		return n
	}
	plain := func(c byte) bool { return class[c]&plainChar != 0 }
	if n := count(plain); n >= valueLeast {
		return plain, n
	}
	visible := func(c byte) bool { return c > ' ' && c < 0x7f }
	if n := count(visible); n >= visibleLeast {
		return visible, n
	}
	return func(byte) bool { return true }, len(id)
}

// sessionName is `session-N` in size characters: filled up with x, or with the word cut where there is no room for it. For
// an id of digits it is a number: 9, zeros, N.
func sessionName(size, n int, digits bool) string {
	number := strconv.Itoa(n)
	if len(number) >= size {
		number = number[len(number)-size+1:]
	}
	if digits {
		return "9" + string(bytes.Repeat([]byte("0"), size-1-len(number))) + number
	}
	const word = "session"
	out := word[:min(len(word), size-1-len(number))] + "-" + number
	return fit(out, size)
}

// fit makes s size bytes long.
func fit(s string, size int) string {
	if len(s) >= size {
		return s[:size]
	}
	return s + string(bytes.Repeat([]byte("x"), size-len(s)))
}

// isPseudonym tells whether id is a pseudonym for some number.
func isPseudonym(id []byte) bool {
	if c := id[0]; class[c]&plainChar != 0 && c != 's' && c != '-' && (c != '9' || !allDigits(string(id))) {
		return false
	}
	var plain []byte
	mark, _ := marked(string(id))
	for _, c := range id {
		if mark(c) {
			plain = append(plain, c)
		}
	}
	digits := bytes.TrimRight(plain, "x")
	if allDigits(string(id)) {
		digits = bytes.TrimLeft(plain[1:], "0")
	} else {
		digits = digits[bytes.LastIndexByte(digits, '-')+1:]
	}
	n, err := strconv.Atoi(string(digits))
	if n >= 1e5 && allDigits(string(id)) {
		return false // too likely to be an id that begins so
	}
	return err == nil && n > 0 && string(id) == pseudonym(string(id), n)
}

// apply replaces the secrets that lie before upTo, but for what lies before from, and lists them.
func (r *Redactor) apply(x *Exchange, from, upTo [2]int) {
	done := from // up to where bytes are stored or replaced
	for i := range r.hits {
		h := &r.hits[i]
		reg := &r.regions[h.region]
		d := reg.d
		if reg.decoded || h.raw >= upTo[d] || h.rawEnd <= done[d] {
			continue
		}
		out := r.replacement(reg, h)
		if reg.view != nil {
			at := *h
			out = r.undo(&at, out)
			h, reg = &at, &r.regions[at.region]
		}
		p, last := 0, 0
		if reg.joined {
			p, last = r.pieceAt(reg, h.off), r.pieceAt(reg, h.end-1)
		}
		for ; p <= last; p++ {
			raw, to := h.raw, h.rawEnd
			if reg.joined {
				raw = r.pieces[p].raw + max(0, h.off-r.pieces[p].text)
				to = r.pieces[p].raw + min(r.pieces[p].n, h.end-r.pieces[p].text)
			}
			part := out[:to-raw]
			out = out[to-raw:]
			if raw < done[d] {
				part = part[min(len(part), done[d]-raw):]
				blank(part, len(filler), reg.fields)
				raw = done[d]
			}
			if raw < to {
				copy(r.raw[d][raw:to], part)
				x.redacted(d, raw, to, kindNames[h.kind])
				done[d] = to
			}
		}
	}
}

// replacement returns what a secret is replaced by, in scratch space.
func (r *Redactor) replacement(reg *region, h *hit) []byte {
	text := reg.text[h.off:h.end]
	out := append(r.scratch[:0], text...)
	r.scratch = out
	s := h.spelling
	if s < 0 {
		if i, ok := r.values.byText[string(text[:min(len(text), valueMost)])]; ok && r.values.spellings[i].instead != "" {
			s = i
		}
	}
	switch {
	case h.kind.isPerson():
		copy(out, r.deep.instead(string(text), h.kind))
	case h.kind == rule && allDigits(string(text)):
		blankDigits(out)
	case h.kind == bodyEncoded:
		for i := range out {
			out[i] = fillerAt(i)
		}
	case s >= 0 && r.values.spellings[s].instead != "":
		h.kind = session
		for i, n := 0, copy(out, r.values.spellings[s].instead); n+i < len(out); i++ {
			out[n+i] = 'x'
		}
	case s >= 0 && r.values.spellings[s].digits:
		blankDigits(out)
	default:
		blank(out, 0, reg.fields)
	}
	return out
}

// redacted lists a range that was replaced, as one with the last where they touch.
func (x *Exchange) redacted(d wire.Dir, off, end int, kind string) {
	if n := len(x.Redacted); n > 0 {
		if last := &x.Redacted[n-1]; last.Dir == d && last.Kind == kind && last.Off+last.Len == off {
			last.Len = end - last.Off
			return
		}
	}
	x.Redacted = append(x.Redacted, Redaction{Dir: d, Off: off, Len: end - off, Kind: kind})
}

// A redactedString is what a string that comes back again and again was made into.
type redactedString struct {
	in, out string
	version int // of the known values
}

// redactStrings replaces secrets in what an exchange repeats of its bytes.
func (r *Redactor) redactStrings(x *Exchange) {
	x.URL = r.lastURL.of(r, x.URL)
	for i := range x.Edits {
		x.Edits[i].New = r.lastEdit.of(r, x.Edits[i].New)
	}
	for i, note := range x.Notes {
		word, details := noteDetails(note)
		x.Notes[i] = word + r.redactString(details)
	}
}

// noteDetails cuts a note behind its first word, which is no secret, whatever is.
func noteDetails(note string) (word, details string) {
	at := strings.IndexByte(note, ':') + 1
	return note[:at], note[at:]
}

func (l *redactedString) of(r *Redactor, s string) string {
	if s != l.in || l.version != r.values.version {
		out := r.redactString(s)
		*l = redactedString{s, out, r.values.version}
	}
	return l.out
}

// redactString replaces secrets in a URL, a target or an authority.
func (r *Redactor) redactString(s string) string {
	if len(s) < 2 {
		return s
	}
	r.begin(r.raw)
	r.arena = append(r.arena, s...)
	r.addRegion(region{text: r.arena, target: [2]int{0, len(s)}})
	r.scanText(0)
	if r.deep != nil {
		r.lookDeep()
	}
	r.remember()
	if r.values.any() {
		r.findKnown()
	}
	r.sortHits()
	done := 0
	text := r.regions[0].text
	host := authority(text)
	for _, h := range r.hits {
		out := r.replacement(&r.regions[h.region], &h)
		known := h.spelling >= 0
		out = r.undo(&h, out)
		off := max(h.off, done)
		if known && r.deep == nil {
			off = max(off, host)
		}
		if off < h.end {
			copy(text[off:h.end], out[off-h.off:])
			done = h.end
		}
	}
	if done == 0 {
		return s
	}
	return string(text)
}
