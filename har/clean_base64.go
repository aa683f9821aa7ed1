package har

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"slices"
)

// base64Least is how many characters of base64 are decoded: those of a value that is remembered.
const base64Least = 11

// A base64Group is four characters of base64, or the two or three that are left at the end of a run. More bytes than three
// are as many whole groups, one right behind the other.
type base64Group struct{ text, size, from, to int32 } // bytes of the view's text; characters of the parent's

// A base64Alphabet has the values of its characters, and noDigit for all others.
type base64Alphabet [256]uint8

const noDigit = 0xff

var base64Standard, base64ForURLs = newAlphabet("+/"), newAlphabet("-_")

func newAlphabet(last string) *base64Alphabet {
	a := &base64Alphabet{}
	for c := range a {
		a[c] = noDigit
	}
	for i, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + last) {
		a[c] = uint8(i)
	}
	return a
}

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
	digits := base64Standard
	if url {
		if digits = base64ForURLs; bytes.IndexByte(t, '-') < 0 && bytes.IndexByte(t, '_') < 0 {
			return nil
		}
	}
	for i := nextRun(t, 0, digits); i < len(t); i = nextRun(t, i, digits) {
		off, own := i, false
		i, own = runEnd(t, off, digits)
		if own || !url {
			runs = append(runs, [2]int{off, i})
		}
	}
	return runs
}

// nextRun finds where the next base64Least characters in a row begin, if those before i are of no run.
func nextRun(t []byte, i int, digits *base64Alphabet) int {
	for i+base64Least <= len(t) {
		last := i + base64Least - 1
		k := last
		for k >= i && digits[t[k]] != noDigit {
			k--
		}
		if k < i {
			return i
		}
		i = k + 1
	}
	return len(t)
}

// runEnd gives where the run that begins at i ends, and whether it has a character that base64 for URLs alone has. A line of
// a run has 60 characters or more, but for the last one.
func runEnd(t []byte, i int, digits *base64Alphabet) (end int, own bool) {
	line := i
	for {
		for i < len(t) && digits[t[i]] != noDigit {
			own = own || t[i] == '-' || t[i] == '_'
			i++
		}
		next := i
		for next < len(t) && i-line >= 60 && isLineEnd(t[next]) && next-i < 2 {
			next++
		}
		if next == i || next == len(t) || digits[t[next]] == noDigit {
			return i, own
		}
		line, i = next, next
	}
}

func decodeRuns(t []byte, runs [][2]int, url bool, skip int) (*view, []byte) {
	v, digits, most := &view{digits: base64.RawStdEncoding}, base64Standard, 0
	if url {
		v.digits, digits = base64.RawURLEncoding, base64ForURLs
	}
	for _, run := range runs {
		most += (run[1]-run[0])*3/4 + len(runSeparator)
	}
	text := make([]byte, 0, most)
	for _, run := range runs {
		for i, end := run[0]+skip, run[1]; i < end; {
			g := base64Group{text: int32(len(text)), from: int32(i)}
			if text, i = decodeWhole(text, t[:end], i, digits); int(g.from) == i {
				if text, i, g.from = decodeGroup(text, t[:end], i, digits); i < 0 {
					break
				}
			}
			g.size, g.to = int32(len(text))-g.text, int32(i)
			v.groups = append(v.groups, g)
		}
		text = append(text, runSeparator...)
	}
	return v, text
}

// runSeparator stands between runs: no secret goes on in the next one.
const runSeparator = "\n\x00"

// decodeWhole decodes groups of four characters in a row.
func decodeWhole(text, t []byte, i int, digits *base64Alphabet) ([]byte, int) {
	for ; i+4 <= len(t); i += 4 {
		a, b, c, d := digits[t[i]], digits[t[i+1]], digits[t[i+2]], digits[t[i+3]]
		if a|b|c|d > 63 {
			break
		}
		text = append(text, a<<2|b>>4, b<<4|c>>2, c<<6|d)
	}
	return text, i
}

// decodeGroup decodes a group that has line ends in it, or is the last one of its run. Its characters are those up to next,
// which is -1 if they are too few.
func decodeGroup(text, t []byte, i int, digits *base64Alphabet) (_ []byte, next int, from int32) {
	var values [4]uint8
	n := 0
	for from = int32(i); i < len(t) && n < 4; i++ {
		if !isLineEnd(t[i]) {
			values[n] = digits[t[i]]
			n++
		} else if n == 0 {
			from++
		}
	}
	if n < 2 {
		return text, -1, from
	}
	a, b, c, d := values[0], values[1], values[2], values[3]
	return append(text, []byte{a<<2 | b>>4, b<<4 | c>>2, c<<6 | d}[:n-1]...), i, from
}

// group finds the group that the byte at off is of, or else the one before it.
func (v *view) group(off int) base64Group {
	i, _ := slices.BinarySearchFunc(v.groups, int32(off)+1, func(g base64Group, off int32) int { return cmp.Compare(g.text, off) })
	g := v.groups[max(i-1, 0)]
	if g.size <= 3 {
		return g
	}
	k := min((int32(off)-g.text)/3, g.size/3-1)
	return base64Group{g.text + 3*k, 3, g.from + 4*k, g.from + 4*k + 4}
}

// writeGroups puts the view's text from off to end into the parent's text that spells it.
func (v *view) writeGroups(out, text []byte, off, end int) {
	base := v.group(off).from
	for off < end {
		g := v.group(off)
		off = max(off+1, int(g.text+g.size)) // between runs it is the group before again
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
