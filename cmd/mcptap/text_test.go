package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

func TestVisible(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", "héllo wörld ✓", "héllo wörld ✓"},
		{"lines and tabs stay", "a\n\tb", "a\n\tb"},
		{"escape", "\x1b[31mred", `\x1b[31mred`},
		{"bell and delete", "\a\x7f", `\x07\x7f`},
		{"carriage return hides text", "secret\rshown", `secret\x0dshown`},
		{"no UTF-8", "a\xffb\xc3", `a\xffb\xc3`},
		{"C1 control sequence introducer", "\u009b31m", `\u{009b}31m`},
		{"bidirectional override", "abc\u202egnp.exe", `abc\u{202e}gnp.exe`},
		{"zero width", "a\u200bb\ufeff", `a\u{200b}b\u{feff}`},
		{"line separator", "a\u2028b", `a\u{2028}b`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := visible(tt.in); got != tt.want {
				t.Errorf("visible(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func FuzzVisible(f *testing.F) {
	for _, s := range []string{"", "\x1b]0;t\a", "\u009b", "\xff\xfe", "a\r\nb", "\u202e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := oneLine(s)
		if i := strings.IndexFunc(got, func(r rune) bool { return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) }); i >= 0 {
			t.Errorf("oneLine(%q) = %q: a control character at %d", s, got, i)
		}
	})
}

func TestJSONSafe(t *testing.T) {
	in := map[string]string{"text": "a\u009bb\x7fc✓\u202ed\u2066e\u200df"}
	var out bytes.Buffer
	if err := json.NewEncoder(jsonSafe{&out}).Encode(in); err != nil {
		t.Fatal(err)
	}
	if want := `{"text":"a\u009bb\u007fc✓\u202ed\u2066e` + "\u200d" + `f"}` + "\n"; out.String() != want {
		t.Errorf("got %s, want %s", &out, want)
	}
	var back map[string]string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back["text"] != in["text"] {
		t.Errorf("read back: %q, %v, want %q", back, err, in)
	}
}

func TestParsePace(t *testing.T) {
	tests := []struct {
		word string
		want float64
		ok   bool
	}{
		{"recorded", 1, true}, {"fast", 0, true}, {"2x", 2, true}, {"0.5x", 0.5, true}, {"1e1x", 10, true},
		{"", 0, false}, {"x", 0, false}, {"2", 0, false}, {"-1x", 0, false}, {"0x", 0, false}, {"NaNx", 0, false}, {"Infx", 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.word, func(t *testing.T) {
			got, err := parsePace(tt.word)
			if got != tt.want || (err == nil) != tt.ok {
				t.Errorf("parsePace(%q) = %v, %v, want %v, ok %v", tt.word, got, err, tt.want, tt.ok)
			}
		})
	}
}
