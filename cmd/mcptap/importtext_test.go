package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/har"
)

func TestCassetteInText(t *testing.T) {
	k := evilCassette()
	lines := string(cassetteBytes(t, k, true))
	quoted := func(prefix, text string) string {
		return prefix + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+prefix) + "\n"
	}
	block := pasteable([]byte(lines))
	for _, tt := range []struct {
		name, text string
		more       int
	}{
		{"the block alone", block, 0},
		{"no fence", lines, 0},
		{"text around", "It fails.\n\n```sh\nmcptap {x}\n```\n\n{not json}\n\n" + block + "\nThat is all.\n{\"a\":1}\n", 0},
		{"CRLF", strings.ReplaceAll("Hi\n"+block+"bye\n", "\n", "\r\n"), 0},
		{"quoted", quoted("> ", "Hi\n\n"+block+"bye"), 0},
		{"quoted twice, without spaces", quoted(">>", block), 0},
		{"quoted and indented in a list", quoted(">   \t", "1. see\n"+quoted("   ", block)), 0},
		{"indented fence of tildes", quoted("    ", "~~~~\n"+lines+"~~~~\n"), 0},
		{"several", block + "\nand\n\n" + block + block, 2},
		{"trailing spaces and empty lines", strings.ReplaceAll(block, "\n", "  \n\n"), 0},
		{"no line end at the end", strings.TrimSuffix(lines, "\n"), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, more, err := cassetteIn(strings.NewReader(tt.text))
			if string(got) != lines || more != tt.more || err != nil {
				t.Errorf("%d more, %v, want %d; got\n%.300q\nwant\n%.300q", more, err, tt.more, got, lines)
			}
			if _, err := har.Read(bytes.NewReader(got), har.Limits{}); err != nil {
				t.Error(err)
			}
		})
	}
	if got, more, err := cassetteIn(strings.NewReader("nothing\n```\n{}\n```\n")); len(got) != 0 || more != 0 || err != nil {
		t.Errorf("%q, %d, %v", got, more, err)
	}
}

// FuzzCassetteIn: whatever the text, what is taken out of it is lines of it.
func FuzzCassetteIn(f *testing.F) {
	f.Add([]byte("> ```\r\n> " + cassetteStart + "1\"}\r\n> {\"end\":true}\r\n> ```\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, _, err := cassetteIn(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(got) {
			if !bytes.Contains(text, bytes.TrimSuffix(line, []byte("\n"))) || line[0] != '{' {
				t.Errorf("%q is no line of %q", line, text)
			}
		}
	})
}
