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
	steps  []viewStep
	groups []base64Group // instead of steps: of base64
	digits *base64.Encoding
}

// A viewStep is behind an escape: from there on to the next step, bytes of the view's text are those of the parent's.
type viewStep struct{ text, from int32 }

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
		return v.pos(off), v.pos(end)
	}
	return int(v.group(off).from), int(v.group(end - 1).to)
}

// pos gives where the unit of the byte at off begins in the parent's text.
func (v *view) pos(off int) int {
	i, _ := slices.BinarySearchFunc(v.steps, int32(off)+1, func(s viewStep, off int32) int { return cmp.Compare(s.text, off) })
	if i == 0 {
		return off
	}
	s := v.steps[i-1]
	return int(s.from) + off - int(s.text)
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
	from := v.pos(off)
	for i := off; i < end; i++ {
		unit := out[v.pos(i)-from : v.pos(i+1)-from]
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
	v, out, plain := &view{}, []byte(nil), 0 // up to plain all is in out
	for i := 0; i < len(t); {
		n := bytes.IndexByte(t[i:], mark)
		if n < 0 {
			break
		}
		i += n
		c, n := unescape(t[i:], percent)
		if n > 1 {
			if out == nil {
				out = make([]byte, 0, len(t))
			}
			out = append(append(out, t[plain:i]...), c)
			plain = i + n
			v.steps = append(v.steps, viewStep{int32(len(out)), int32(plain)})
		}
		i += n
	}
	if out != nil {
		r.addView(region, v, append(out, t[plain:]...))
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
