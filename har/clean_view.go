package har

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"slices"
)

// A view is a region's text read in another way: the escapes of JSON or of URLs undone, or runs of base64 decoded. What is
// replaced in it is written back in the same way, so that lengths stay.
type view struct {
	parent int
	pos    []int32       // of each byte, where its unit begins in the parent's text; one more for the end
	groups []base64Group // instead of pos: of base64
	digits *base64.Encoding
}

// A base64Group is four characters of base64, or the two or three that are left at the end of a run.
type base64Group struct{ text, size, from, to int32 } // bytes of the view's text; characters of the parent's

// root gives the region, that is no view, in which a run of another region's text lies, and where.
func (r *Redactor) root(region, off, end int) (*region, int, int) {
	reg := &r.regions[region]
	for reg.view != nil {
		off, end = reg.view.span(off, end)
		reg = &r.regions[reg.view.parent]
	}
	return reg, off, end
}

// span maps a run of the view's text to the parent's.
func (v *view) span(off, end int) (from, to int) {
	if v.groups == nil {
		return int(v.pos[off]), int(v.pos[end])
	}
	return int(v.groups[v.groupAt(off)].from), int(v.groups[v.groupAt(end-1)].to)
}

// groupAt finds the group that the byte at off is of, or else the one before it.
func (v *view) groupAt(off int) int {
	i, _ := slices.BinarySearchFunc(v.groups, int32(off)+1, func(g base64Group, off int32) int { return cmp.Compare(g.text, off) })
	return max(i-1, 0)
}

// undo takes a replacement in a view to the region that is none: h becomes a hit there.
func (r *Redactor) undo(h *hit, out []byte) []byte {
	for reg := &r.regions[h.region]; reg.view != nil; reg = &r.regions[h.region] {
		copy(reg.text[h.off:h.end], out)
		from, to := reg.view.span(h.off, h.end)
		spelled := bytes.Clone(r.regions[reg.view.parent].text[from:to])
		if !reg.view.write(spelled, reg.text, h.off, h.end) {
			blank(spelled, 0, false)
		}
		out = spelled
		h.region, h.off, h.end = reg.view.parent, from, to
	}
	return out
}

// write puts the view's text from off to end into the parent's text that spells it. It is false if that cannot be spelled so.
func (v *view) write(out, text []byte, off, end int) bool {
	if v.groups != nil {
		v.writeGroups(out, text, off, end)
		return true
	}
	from := v.pos[off]
	for i := off; i < end; i++ {
		unit := out[v.pos[i]-from : v.pos[i+1]-from]
		if c, _ := unescape(unit, len(unit) == 3); c == text[i] {
			continue
		}
		const hex = "0123456789abcdef"
		switch c := text[i]; len(unit) {
		case 1:
			unit[0] = c
		case 3: // %XX
			unit[1], unit[2] = hex[c>>4], hex[c&15]
		case 6: // \u00XX
			unit[4], unit[5] = hex[c>>4], hex[c&15]
		default:
			return false
		}
	}
	return true
}

func (v *view) writeGroups(out, text []byte, off, end int) {
	first, last := v.groupAt(off), v.groupAt(end-1)
	base := v.groups[first].from
	for _, g := range v.groups[first : last+1] {
		var chars [4]byte
		v.digits.Encode(chars[:], text[g.text:g.text+g.size])
		n := 0
		for i := g.from - base; i < g.to-base && n < v.digits.EncodedLen(int(g.size)); i++ {
			if !isLineEnd(out[i]) {
				out[i] = chars[n]
				n++
			}
		}
	}
}

// addView adds a region whose text is a view of another one.
func (r *Redactor) addView(parent int, v *view, text []byte) {
	reg := &r.regions[parent]
	v.parent = parent
	r.addRegion(region{d: reg.d, text: text, decoded: reg.decoded, of: reg.of, view: v})
}

// unescaped adds the view in which the escapes of JSON, or those of URLs, are undone, if there are any.
func (r *Redactor) unescaped(region int, percent bool) {
	t := r.regions[region].text
	mark := byte('\\')
	if percent {
		mark = '%'
	}
	if bytes.IndexByte(t, mark) < 0 {
		return
	}
	v, out, found := &view{pos: make([]int32, 0, len(t)+1)}, make([]byte, 0, len(t)), false
	for i := 0; i < len(t); {
		v.pos = append(v.pos, int32(i))
		c, n := t[i], 1
		if c == mark {
			c, n = unescape(t[i:], percent)
		}
		found = found || n > 1
		out = append(out, c)
		i += n
	}
	v.pos = append(v.pos, int32(len(t)))
	if found {
		r.addView(region, v, out)
	}
}

// unescape reads the first character of t, which may be an escape of n bytes that stands for one.
func unescape(t []byte, percent bool) (c byte, n int) {
	switch {
	case percent && len(t) > 2 && t[0] == '%' && hexValue(t[1]) >= 0 && hexValue(t[2]) >= 0:
		return byte(hexValue(t[1])<<4 | hexValue(t[2])), 3
	case percent || len(t) < 2 || t[0] != '\\':
		return t[0], 1
	case t[1] == 'u' && len(t) > 5 && t[2] == '0' && t[3] == '0' && hexValue(t[4]) >= 0 && hexValue(t[4]) < 8 && hexValue(t[5]) >= 0:
		return byte(hexValue(t[4])<<4 | hexValue(t[5])), 6
	}
	if i := bytes.IndexByte([]byte(`"\/bfnrt`), t[1]); i >= 0 {
		return "\"\\/\b\f\n\r\t"[i], 2
	}
	return t[0], 1
}

// base64Least is how many characters of base64 are decoded: those of a value that is remembered.
const base64Least = 11

// decoded64 adds the views in which runs of base64 are decoded, each as if the first of its characters began at another
// place of a group of four: what stands before a run, such as a path, may look like a part of it.
func (r *Redactor) decoded64(region int) {
	t := r.regions[region].text
	for _, url := range []bool{false, true} {
		runs := base64Runs(t, url)
		for skip := 0; skip < 4 && len(runs) > 0; skip++ {
			v, text := decodeRuns(t, runs, url, skip)
			if len(v.groups) > 0 {
				r.addView(region, v, text)
			}
		}
	}
}

// base64Runs finds runs of base64 that may go over several lines; with url those that have a character of that alphabet only.
func base64Runs(t []byte, url bool) (runs [][2]int) {
	is := func(i int) bool {
		c := t[i]
		return class[c]&letterOrDigit != 0 || !url && (c == '+' || c == '/') || url && (c == '-' || c == '_')
	}
	for i := 0; i < len(t); i++ {
		if !is(i) {
			continue
		}
		off, line, own := i, i, false
		for i < len(t) {
			next := i
			for next < len(t) && i-line >= 60 && isLineEnd(t[next]) && next-i < 2 {
				next++
			}
			if next == len(t) || !is(next) {
				break
			}
			if next > i {
				line = next
			}
			own = own || t[next] == '-' || t[next] == '_'
			i = next + 1
		}
		if i-off >= base64Least && (own || !url) {
			runs = append(runs, [2]int{off, i})
		}
	}
	return runs
}

func decodeRuns(t []byte, runs [][2]int, url bool, skip int) (*view, []byte) {
	v, text := &view{digits: base64.RawStdEncoding}, []byte{}
	if url {
		v.digits = base64.RawURLEncoding
	}
	var chars, out [4]byte
	for _, run := range runs {
		i, end := run[0]+skip, run[1]
		for i < end {
			n, from := 0, i
			for ; i < end && n < 4; i++ {
				if !isLineEnd(t[i]) {
					chars[n] = t[i]
					n++
				} else if n == 0 {
					from++
				}
			}
			if n < 2 {
				break
			}
			size, _ := v.digits.Decode(out[:], chars[:n])
			v.groups = append(v.groups, base64Group{int32(len(text)), int32(size), int32(from), int32(i)})
			text = append(text, out[:size]...)
		}
		text = append(text, "\n\x00"...) // no secret goes on in the next run
	}
	return v, text
}
