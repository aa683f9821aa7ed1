package har

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"strings"
)

// Bounds of what is remembered: some 30 MiB if all values are as long and as hard to spell as can be, else below 1 MiB.
const (
	valueLeast   = 8       // bytes of a value that is remembered, and of a session id that is a secret
	valueMost    = 1 << 10 // bytes of a value that are remembered
	valuesMost   = 1024
	sessionsMost = 1 << 16 // session ids whose number is kept when the id itself is forgotten
	anchorMost   = 32      // bytes of a spelling whose blocks are listed; half of it when there are more than fewSpellings
	fewSpellings = 128
	blockLen     = 4 // bytes compared at a time when looking for values
	filterBits   = 16
)

// knownValues are the secrets and session ids that were recognised, each in the spellings in which it may come back.
//
// Looking for them costs a look at every stride-th block of 4 bytes. Each spelling has an anchor, its last bytes; all
// blocks of all anchors are listed, so that wherever a spelling stands, one of the blocks looked at is in its anchor.
type knownValues struct {
	list      []knownValue // a ring once it is full
	hand      int
	spellings []spelling
	free      []int32 // places of forgotten spellings that no block refers to
	byText    map[string]int32
	sessions  int // numbered so far
	numbers   map[[16]byte]int

	anchor, stride int
	filter         []uint64
	blocks         map[uint32]int32 // the first anchored block with these bytes
	anchored       []anchoredBlock
	forgotten      int // spellings that blocks still refer to
	version        int // counts changes
	room           int // values that are remembered; 0 means valuesMost
}

type knownValue struct {
	kind   secretKind
	number int  // of a session
	used   bool // since the hand last passed
	forms  []int32
}

// A spelling is one way in which a value can stand in a text.
type spelling struct {
	text    string // "" once forgotten
	kind    secretKind
	value   int    // in the list
	instead string // for a session id, what replaces it
	cut     bool   // the value is longer
	digits  bool   // it has nothing but digits
}

// An anchoredBlock is a block of a spelling's anchor.
type anchoredBlock struct {
	spelling int32
	next     int32 // the next with the same bytes, or -1
	end      int32 // from the block's first byte to the spelling's end
}

func (v *knownValues) most() int { return cmp.Or(v.room, valuesMost) }

// any tells whether there is a value to look for.
func (v *knownValues) any() bool { return len(v.byText) > 0 }

// see remembers the value that a secret of that kind shows.
func (v *knownValues) see(r *Redactor, text []byte, kind secretKind) {
	if kind == privateKey || kind == bodyEncoded || kind.isPerson() {
		return
	}
	if i, ok := v.byText[string(text[:min(len(text), valueMost)])]; ok {
		s := &v.spellings[i]
		v.list[s.value].used = true
		if kind != basic && (kind != session || s.kind == session) {
			return
		}
	}
	value := r.canonical(text, kind)
	v.add(value, kind, text)
	switch {
	case kind == basic:
		if _, password, ok := basicCredentials(value); ok {
			v.add(password, kind, nil)
		}
	case kind == query && bytes.IndexByte(value, '+') >= 0: // a form's space
		v.add(bytes.ReplaceAll(value, []byte("+"), []byte(" ")), kind, nil)
	case bytes.IndexByte(text, '\n') >= 0: // a folded field: its lines, alone and joined
		lines := bytes.Fields(text)
		for _, line := range lines {
			v.add(line, kind, nil)
		}
		v.add(bytes.Join(lines, nil), kind, nil)
	}
}

// add remembers a value. seen is how it was spelled.
func (v *knownValues) add(value []byte, kind secretKind, seen []byte) {
	if len(value) < valueLeast || hasControl(value) || isReplacement(value, false) || notSecret[string(value)] {
		return
	}
	text := string(value[:min(len(value), valueMost)])
	if i, ok := v.byText[text]; ok {
		if kind != session || v.spellings[i].kind == session {
			return
		}
		v.forget(v.spellings[i].value)
		v.place(v.spellings[i].value, text, kind, len(value) > valueMost, seen)
		return
	}
	if v.byText == nil {
		v.byText = make(map[string]int32)
		v.blocks = make(map[uint32]int32)
	}
	at := len(v.list)
	if at < v.most() {
		v.list = append(v.list, knownValue{})
	} else {
		for v.list[v.hand].used {
			v.list[v.hand].used = false
			v.hand = (v.hand + 1) % v.most()
		}
		at = v.hand
		v.hand = (v.hand + 1) % v.most()
		v.forget(at)
	}
	v.place(at, text, kind, len(value) > valueMost, seen)
}

// place puts a value into the list with all its spellings.
func (v *knownValues) place(at int, text string, kind secretKind, cut bool, seen []byte) {
	v.version++
	val := &v.list[at]
	*val = knownValue{kind: kind, used: true, forms: val.forms[:0]}
	instead := ""
	if kind == session {
		val.number = v.number(text)
		instead = pseudonym(text, val.number)
	}
	v.spell(at, text, instead, cut)
	for _, encode := range spellers {
		if form := encode(text); form != text {
			to := ""
			if instead != "" {
				to = encode(instead)
			}
			v.spell(at, form, to, cut)
		}
	}
	if len(seen) >= valueLeast && len(seen) <= valueMost && !hasControl(seen) {
		v.spell(at, string(seen), instead, cut)
	}
}

// number returns the number of a session id.
func (v *knownValues) number(id string) int {
	sum := sha256.Sum256([]byte(id))
	key := [16]byte(sum[:16])
	if n, ok := v.numbers[key]; ok {
		return n
	}
	v.sessions++
	if v.numbers == nil {
		v.numbers = make(map[[16]byte]int)
	}
	if len(v.numbers) < sessionsMost {
		v.numbers[key] = v.sessions
	}
	return v.sessions
}

// spell adds a spelling of the value at that place of the list.
func (v *knownValues) spell(at int, text, instead string, cut bool) {
	if _, ok := v.byText[text]; ok || len(text) < valueLeast {
		return
	}
	val := &v.list[at]
	if instead != "" && len(instead) != len(text) {
		instead = sessionName(len(text), val.number, allDigits(text))
	}
	s := spelling{text: text, kind: val.kind, value: at, instead: instead, cut: cut, digits: allDigits(text)}
	i := int32(len(v.spellings))
	if n := len(v.free); n > 0 {
		i, v.free = v.free[n-1], v.free[:n-1]
		v.spellings[i] = s
	} else {
		v.spellings = append(v.spellings, s)
	}
	v.byText[text] = i
	val.forms = append(val.forms, i)
	most := anchorMost
	if len(v.spellings) > fewSpellings {
		most /= 2
	}
	if anchor := min(len(text), most); v.anchor == 0 || anchor < v.anchor {
		v.rebuild(anchor)
	} else {
		v.anchorBlocks(i)
	}
}

// forget takes a value's spellings away.
func (v *knownValues) forget(at int) {
	for _, i := range v.list[at].forms {
		delete(v.byText, v.spellings[i].text)
		v.spellings[i] = spelling{}
		v.forgotten++
	}
	v.list[at].forms = v.list[at].forms[:0]
	if v.forgotten > valuesMost {
		v.rebuild(v.anchor)
	}
}

// rebuild lists the anchors of all spellings anew.
func (v *knownValues) rebuild(anchor int) {
	v.anchor, v.stride = anchor, anchor-blockLen+1
	if v.filter == nil {
		v.filter = make([]uint64, 1<<filterBits/64)
	}
	clear(v.filter)
	clear(v.blocks)
	v.anchored = v.anchored[:0]
	v.free, v.forgotten = v.free[:0], 0
	for i := range v.spellings {
		if v.spellings[i].text == "" {
			v.free = append(v.free, int32(i))
		} else {
			v.anchorBlocks(int32(i))
		}
	}
}

func (v *knownValues) anchorBlocks(i int32) {
	text := v.spellings[i].text
	for off := len(text) - v.anchor; off+blockLen <= len(text); off++ {
		block := binary.LittleEndian.Uint32([]byte(text[off : off+blockLen]))
		next, ok := v.blocks[block]
		if !ok {
			next = -1
		}
		v.blocks[block] = int32(len(v.anchored))
		v.anchored = append(v.anchored, anchoredBlock{i, next, int32(len(text) - off)})
		h := filterHash(block)
		v.filter[h/64] |= 1 << (h % 64)
	}
}

func filterHash(block uint32) uint32 { return block * 0x9E3779B1 >> (32 - filterBits) }

// find adds a hit for each place in a region's text where a known value stands.
func (v *knownValues) find(r *Redactor, region int) {
	t := r.regions[region].text
	filter := (*[1 << filterBits / 64]uint64)(v.filter)
	for i := 0; i+blockLen <= len(t); i += v.stride {
		block := binary.LittleEndian.Uint32(t[i:])
		if h := filterHash(block); filter[h/64]>>(h%64)&1 == 0 {
			continue
		}
		n, ok := v.blocks[block]
		for ; ok && n >= 0; n = v.anchored[n].next {
			a := &v.anchored[n]
			s := &v.spellings[a.spelling]
			end := i + int(a.end)
			if off := end - len(s.text); s.text != "" && off >= 0 && end <= len(t) &&
				string(t[end-v.anchor:end]) == s.text[len(s.text)-v.anchor:] && string(t[off:end]) == s.text {
				v.match(r, region, off, end, a.spelling)
			}
		}
	}
}

// match adds a hit for a spelling that was found, as far as it may be replaced there.
func (v *knownValues) match(r *Redactor, region, off, end int, i int32) {
	reg, s := &r.regions[region], &v.spellings[i]
	t := reg.text
	v.list[s.value].used = true
	n := len(r.hits) - 1
	if n >= 0 && r.hits[n].region == region && r.hits[n].spelling >= 0 && r.hits[n].off <= off && end <= r.hits[n].end {
		return
	}
	if s.digits && (off > 0 && class[t[off-1]]&digitChar != 0 || end < len(t) && class[t[end]]&digitChar != 0) {
		return // part of another number
	}
	if s.cut {
		for end < len(t) && !endsParameter(t[end], false) && t[end] != ',' && t[end] != ';' {
			end++
		}
	}
	off = behindEscape(t, off, end)
	if t[end-1] == '\\' {
		end--
	}
	if reg.fields {
		off, end = r.clip(reg, off, end, true)
	}
	if off >= end || r.isHit(region, off, end) {
		return
	}
	if n >= 0 {
		// Values that overlap themselves or one another, as aaaaaaaa does, are one.
		if last := &r.hits[n]; last.region == region && last.spelling >= 0 && last.off <= off && off < last.end &&
			s.instead == "" && v.spellings[last.spelling].instead == "" {
			if end > last.end {
				last.end = end
				root, _, to := r.root(region, off, end)
				if !root.decoded {
					last.rawEnd = r.locate(root, to-1) + 1
				}
				last.open = root.more && to == len(root.text)
			}
			return
		}
	}
	r.addHit(hit{region: region, off: off, end: end, kind: s.kind, spelling: i})
}

// behindEscape moves off behind the JSON escape into which a match reaches: in `\nabcdefg` there is no `nabcdefg`.
func behindEscape(t []byte, off, end int) int {
	n := off
	for n > 0 && t[off] != '\\' && t[n-1] == '\\' {
		n--
	}
	if (off-n)%2 == 0 {
		return off
	}
	if t[off] == 'u' {
		for n = 0; n < 4 && off+1 < end && hexValue(t[off+1]) >= 0; n++ {
			off++
		}
	}
	return min(off+1, end)
}

func allDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

func hasControl(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c == 0x7f {
			return true
		}
	}
	return false
}
