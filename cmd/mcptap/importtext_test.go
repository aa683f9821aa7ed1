package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

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
		{"a byte order mark", "\ufeff" + lines, 0},
		{"indented and quoted by no-break spaces", quoted(">\u00a0\u00a0", block), 0},
		{"spaces of no width", quoted("\u200b", strings.ReplaceAll(block, "\n", "\u200b\n")), 0},
		{"in parentheses", "(see below)\n" + block, 0},
		{"behind a brace", "{it} fails\n" + block, 0},
		{"several fences", "```json\n{\"a\":1}\n```\n" + block + "```\n{\"b\":1}\n```\n", 0},
		{"HTML around", "<details><summary>x</summary>\n\n" + block + "\n</details>\n", 0},
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

// However a block was pasted, commands read what was shared.
func TestPastedTexts(t *testing.T) {
	spaced := message("POST /mcp HTTP/1.1", "X-A: 1  2\u00a03\r\n", `{"a": "b\u00a0 c"}`)
	k := &har.Cassette{Header: har.Header{Tool: "a tool", Started: time.Unix(1e9, 0).UTC()}, End: &har.End{At: time.Unix(1e9, 0).UTC()}}
	k.Exchanges = []*har.Exchange{{N: 1, Conn: 1, Seq: 1, Started: time.Unix(1e9, 0).UTC(), Client: "c", Server: "s", Method: "POST", URL: "http://h.example/mcp", End: har.EndKeep,
		Request: har.Side{Raw: []byte(spaced)}, Response: har.Side{Raw: []byte(spaced), Writes: []har.Write{{At: time.Millisecond, Len: len(spaced)}}}}}
	lines := string(cassetteBytes(t, k, true))
	block := pasteable([]byte(lines))
	for _, tt := range []struct{ name, text string }{
		{"the block", block},
		{"plain lines", lines},
		{"plain lines with text around", "see\n" + lines},
		{"all blanks are no-break spaces", strings.ReplaceAll("> see: \n> "+strings.ReplaceAll(block, "\n", "\n> "), " ", "\u00a0")},
		{"every second blank is", strings.ReplaceAll(block, "  ", " \u00a0")},
		{"CRLF", strings.ReplaceAll("see\n"+block, "\n", "\r\n")},
		{"behind much text", strings.Repeat("It fails. ", 20_000) + "\n" + block},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, side := range []string{"request", "response"} {
				code, stdout, stderr := mcptap(t, []byte(tt.text), "show", "-", "1", "--raw", side)
				if code != 0 || stdout != spaced {
					t.Errorf("%s: exit code %d, %q, want %q\n%s", side, code, stdout, spaced, stderr)
				}
			}
		})
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
