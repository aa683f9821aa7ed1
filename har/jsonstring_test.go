package har

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// unquoted reads one JSON string that is all of b.
func unquoted(b []byte) (string, bool) {
	p := parser{b: b}
	s := p.owned()
	p.end()
	return string(s), p.err == nil
}

// TestStrings puts every byte and some longer characters at every place around the steps of eight.
func TestStrings(t *testing.T) {
	special := []string{"é", "€", "😀", "\u2028", `\u0041`, `"\`, "\r\n\r\n"}
	for c := range rune(0x80) {
		special = append(special, string(c))
	}
	for _, s := range special {
		for before := range 18 {
			for after := range 10 {
				text := strings.Repeat("a", before) + s + strings.Repeat("b", after)
				line := appendRaw(nil, []byte(text))
				var want string
				if err := json.Unmarshal(line, &want); err != nil || want != text {
					t.Fatalf("%q is written as %s: %v", text, line, err)
				}
				if got, ok := unquoted(line); !ok || got != text {
					t.Fatalf("%s is read as %q", line, got)
				}
				if short := appendString(nil, text); !bytes.Equal(short, line) {
					t.Fatalf("%q is %s in short and %s in long", text, short, line)
				}
			}
		}
	}
}

// TestLongStrings goes beyond one block, with much to escape and with nothing.
func TestLongStrings(t *testing.T) {
	for _, part := range []string{"a", "\"", "\x01", "é\n", "0123456789\\"} {
		for _, n := range []int{escapeBlock - 1, escapeBlock, escapeBlock + 1, 5 * escapeBlock} {
			text := strings.Repeat(part, n)
			if got, ok := unquoted(appendRaw([]byte("x"), []byte(text))[1:]); !ok || got != text {
				t.Errorf("%d times %q: what is read differs", n, part)
			}
		}
	}
}

// FuzzString: what is written is JSON that means the same; what is read is what encoding/json reads.
func FuzzString(f *testing.F) {
	f.Add([]byte("a\"b\\c\n\u2028😀"))
	f.Add([]byte(`"\ud83d\ude00\u0000\/\ud800"`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if !utf8.Valid(b) {
			return
		}
		line := appendRaw(nil, b)
		var back string
		if err := json.Unmarshal(line, &back); err != nil || back != string(b) {
			t.Fatalf("%q is written as %s", b, line)
		}
		if got, ok := unquoted(line); !ok || got != string(b) {
			t.Fatalf("%s is read as %q", line, got)
		}
		if !bytes.HasPrefix(b, []byte(`"`)) {
			return
		}
		got, ok := unquoted(b)
		if err := json.Unmarshal(b, &back); ok && (err != nil || got != back) {
			t.Fatalf("%s is read as %q, by encoding/json as %q, %v", b, got, back, err)
		} else if !ok && err == nil && !strings.ContainsRune(back, utf8.RuneError) {
			t.Fatalf("%s is refused, and read as %q by encoding/json", b, back)
		}
	})
}
