package har

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// viewsOf gives the texts that are read out of text, one step deep.
func viewsOf(text []byte) []region {
	r := NewRedactor()
	r.addRegion(region{text: text})
	r.unescaped(0, false)
	r.unescaped(0, true)
	r.decoded64(0)
	return r.regions[1:]
}

func TestViews(t *testing.T) {
	long := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("a secret that is long, ", 6)))
	for _, tt := range []struct{ name, text, want string }{
		{"JSON", `a\"b\u0041\n\\`, "a\"bA\n\\"},
		{"a character that is no byte", `\u00e9\"`, `\u00e9"`},
		{"percent", "a%20b%2f%zz%", "a b/%zz%"},
		{"base64", "x " + base64.StdEncoding.EncodeToString([]byte("a secret!")) + " y", "a secret!\n\x00"},
		{"base64 without padding", base64.RawStdEncoding.EncodeToString([]byte("a secret, 2")), "a secret, 2\n\x00"},
		{"base64 for URLs", base64.RawURLEncoding.EncodeToString([]byte("??>>secret")), "??>>secret\n\x00"},
		{"base64 in lines", inLines(long, 64), strings.Repeat("a secret that is long, ", 6) + "\n\x00"},
		{"base64 in lines that end with CRLF", strings.ReplaceAll(inLines(long, 76), "\n", "\r\n"), strings.Repeat("a secret that is long, ", 6) + "\n\x00"},
		{"base64 behind a path", "abc/" + base64.RawStdEncoding.EncodeToString([]byte("a secret, 2")), "\x69\xb7\x3fa secret, 2\n\x00"},
	} {
		found := false
		for _, v := range viewsOf([]byte(tt.text)) {
			found = found || string(v.text) == tt.want
		}
		if !found {
			t.Errorf("%s: no view of %q is %q", tt.name, tt.text, tt.want)
		}
	}
}

// What is written into a view is what is read again, and nothing beside it changes.
func TestViewsAreWrittenBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	alphabets := []string{"abc/+AZ09", "abc-_AZ", "a\\\"nu0041%2", "abcdABCD%20 ", "\\u0049\\u004a%41"}
	for range 2000 {
		var text []byte
		for range 1 + rng.IntN(6) {
			a, width := alphabets[rng.IntN(len(alphabets))], 55+rng.IntN(25)
			for i := range rng.IntN(200) {
				if text = append(text, a[rng.IntN(len(a))]); i%width == width-1 {
					text = append(text, []string{"\n", "\r\n"}[rng.IntN(2)]...)
				}
			}
		}
		for i, reg := range viewsOf(text) {
			from := rng.IntN(len(reg.text))
			to := from + 1 + rng.IntN(len(reg.text)-from)
			if reg.view.groups != nil && betweenRuns(reg.view, from, to) {
				continue
			}
			changed := bytes.Clone(reg.text)
			for k := from; k < to; k++ {
				changed[k] ^= 1
			}
			off, end := reg.view.span(from, to)
			parent := bytes.Clone(text)
			if !reg.view.write(parent[off:end], changed, from, to) {
				continue // there are escapes that spell no other character
			}
			again, err := reread(reg, text, parent)
			if err != nil || !bytes.Equal(again, changed) {
				t.Fatalf("view %d of %q, %d to %d: %v\nread  %q\nwant  %q", i, text, from, to, err, again, changed)
			}
		}
	}
}

func betweenRuns(v *view, off, end int) bool {
	for ; off < end; off++ {
		if g := v.group(off); off >= int(g.text+g.size) {
			return true
		}
	}
	return false
}

// reread reads a changed text in the way in which a view of it was read before.
func reread(reg region, had, text []byte) ([]byte, error) {
	v := reg.view
	if v.groups == nil {
		var out []byte
		for i := range reg.text {
			unit := text[v.pos(i):v.pos(i+1)]
			c, n := unescape(unit, len(unit) == 3)
			if n != len(unit) {
				return nil, fmt.Errorf("byte %d: %q is no escape", i, unit)
			}
			out = append(out, c)
		}
		return out, nil
	}
	url := v.digits == base64.RawURLEncoding
	runs := base64Runs(had, url)
	_, out := decodeRuns(text, runs, url, int(v.groups[0].from)-runs[0][0])
	return out, nil
}
