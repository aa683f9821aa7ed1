package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
)

// evil steers a terminal, turns text around, and is markup in HTML and Markdown.
const evil = "\x1b]0;owned\a\x1b[2J\u009b31m\u202egnp\u2066</pre><script>alert(1)</script><img src=x onerror=alert(1)>``` @you\r\b\x7f"

// evilCassette is a recording that has it wherever the format has text.
func evilCassette() *har.Cassette {
	body := `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"` + jsonText(evil) + `","version":"` + evil[30:] + `"}}}`
	initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"` + jsonText(evil) + `","version":"1"}}}`
	k := &har.Cassette{Header: har.Header{Tool: evil, Mode: evil, To: "http://h.example/" + evil, Started: time.Unix(1e9, 0).UTC(),
		Case: &har.Case{Name: evil, Row: evil, Story: evil, Source: evil}}, End: &har.End{Error: evil, At: time.Unix(1e9, 0).UTC()}}
	for n, raw := range [][2]string{
		{message("POST /mcp HTTP/1.1", "Host: h.example\r\nX-Evil: "+evil+"\r\n", initialize), message("HTTP/1.1 200 "+evil, jsonField, body)},
		{message("POST /mcp HTTP/1.1", "Host: h.example\r\n", strings.Replace(plainCall, "tools/call", jsonText(evil), 1)), message("HTTP/1.1 500 "+evil, "Content-Type: "+evil+"\r\n", evil)},
		{"GET /mcp?" + evil + " HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nevent: " + evil + "\nid: " + evil + "\ndata: " + evil + "\n\n"},
		{evil, evil},
	} {
		x := &har.Exchange{N: n + 1, Conn: uint64(n + 1), Seq: 1, Started: time.Unix(1e9+int64(n), 0).UTC(), Client: "c" + evil, Server: "s" + evil, Method: "M" + evil,
			URL: "http://h.example/" + evil, MediaType: evil, Request: har.Side{Raw: []byte(raw[0])}, Response: har.Side{Raw: []byte(raw[1])}, End: har.EndFIN,
			EndOff: len(raw[1]), Notes: []string{evil, "exit: " + evil}, Redacted: []har.Redaction{{Len: 1, Kind: evil}}}
		k.Exchanges = append(k.Exchanges, x)
	}
	k.Processes = []*har.Process{{Conn: 9, Started: time.Unix(1e9, 0).UTC(), Command: []string{evil, evil}, Stderr: har.Side{Raw: []byte(evil)}, Exit: &har.Exit{Signal: evil}}}
	return k
}

func jsonText(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < ' ' || r == '"' || r == '\\' {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func cassetteBytes(t *testing.T, k *har.Cassette, plain bool) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := writeCassette(&b, k, plain); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// zipOf makes a zip file of entries: names and contents in turn.
func zipOf(t *testing.T, entries ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(entries); i += 2 {
		w, err := z.Create(entries[i])
		if err == nil {
			_, err = io.WriteString(w, entries[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// openers are the commands that open a file, and what makes them end.
var openers = [][]string{
	{"show", "FILE"}, {"show", "FILE", "1"}, {"show", "FILE", "2"}, {"show", "FILE", "3"}, {"show", "FILE", "4"}, {"show", "FILE", "--json"}, {"show", "FILE", "--stderr"},
	{"analyze", "FILE"}, {"analyze", "FILE", "--format", "json"}, {"analyze", "FILE", "--format", "junit"}, {"analyze", "FILE", "--format", "sarif"},
	{"analyze", "FILE", "--format", "github"}, {"analyze", "FILE", "--format", "markdown"}, {"analyze", "FILE", "--format", "html"},
	{"explain", "FILE", "1"}, {"explain", "FILE", "1", "--json"}, {"har", "FILE"}, {"export", "FILE", "--format", "perfetto"}, {"export", "FILE", "--format", "pcapng", "--out", "OUT"},
	{"export", "FILE", "--format", "otlp-json"}, {"repair", "FILE", "--out", "OUT"}, {"redact", "FILE", "--out", "OUT"},
	{"redact", "FILE", "--dry-run", "--strict"}, {"share", "FILE", "--out", "OUT"}, {"share", "FILE", "--text"}, {"import", "FILE", "--out", "OUT"},
	{"replay", "FILE", "--", "true"}, {"corpus", "minimize", "FILE", "--out", "OUT"}, {"corpus", "add", "FILE", "--name", "x", "--out", "OUT"},
}

// steering is what no command may print: control characters, and what changes the direction of text.
var steering = regexp.MustCompile("[\\x00-\\x08\\x0b-\\x1f\\x7f\u0080-\u009f\u202a-\u202e\u2066-\u2069]")

// markup is what may not be in a page but as text.
var markup = regexp.MustCompile(`(?i)<script|<img`)

// hostile are files that nobody should trust. opens tells whether there is a recording to be had in them.
func hostile(t *testing.T) map[string]struct {
	file  []byte
	opens bool
} {
	k := evilCassette()
	lines := string(cassetteBytes(t, k, true))
	var many []string
	for n := range 12_000 {
		many = append(many, fmt.Sprintf("%0400d", n), "")
	}
	long := strings.Repeat("x", 65_000)
	header := lines[:strings.IndexByte(lines, '\n')+1]
	return map[string]struct {
		file  []byte
		opens bool
	}{
		"lines.mcptap":       {[]byte(lines), true},
		"zstd.mcptap":        {cassetteBytes(t, k, false), true},
		"text.md":            {[]byte("> hi " + evil + "\r\n> ```\r\n> " + strings.ReplaceAll(lines, "\n", "\r\n> ") + "```\r\n"), true},
		"climbing.zip":       {zipOf(t, "../../climbed.mcptap", lines, "/etc/passwd", "x", "..\\..\\x", "y"), true},
		"evil-name.zip":      {zipOf(t, evil+".mcptap", "{"), false},
		"two.zip":            {zipOf(t, evil+"1.mcptap", lines, long+".mcptap", lines), false},
		"none.zip":           {zipOf(t, evil, lines), false},
		"many.zip":           {zipOf(t, many...), false},
		"nested.zip":         {zipOf(t, "a.mcptap", string(zipOf(t, "b.mcptap", lines))), false},
		"cut.zip":            {zipOf(t, "a.mcptap", lines)[:500], false},
		"deep.mcptap":        {[]byte(header + strings.Repeat("[", 1<<20) + "\n"), false},
		"deep.har":           {[]byte(`{"log":{"entries":[` + strings.Repeat("[", 1<<20)), false},
		"har.har":            {[]byte(`{"log":{"entries":[{"startedDateTime":"` + jsonText(evil) + `","request":{"method":"` + jsonText(evil) + `","url":"http://h/` + jsonText(evil) + `","headers":[{"name":"` + jsonText(evil) + `","value":"` + jsonText(evil) + `"}]},"response":{"status":200,"statusText":"` + jsonText(evil) + `","content":{"text":"` + jsonText(evil) + `"}}}]}}`), true},
		"format.mcptap":      {[]byte(`{"format":"` + jsonText(evil) + `/1"}` + "\n"), false},
		evilName + ".mcptap": {[]byte(lines), true},
	}
}

// evilName is what a file can be called.
const evilName = "a\x1b[2J\u202e<script>"

// Whatever the file, no command that opens it crashes, prints what steers a terminal, writes a page with a script, or a file that it
// was not asked to write.
func TestHostileFiles(t *testing.T) {
	for name, h := range hostile(t) {
		t.Run(strings.ToValidUTF8(steering.ReplaceAllString(name, "?"), "?"), func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "in", name)
			if err := os.MkdirAll(filepath.Join(dir, "in", "tmp"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, h.file, 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv("TMPDIR", filepath.Join(dir, "in", "tmp"))
			for i, args := range openers {
				if name == "many.zip" && i%6 != 0 {
					continue // it takes its time to be refused
				}
				out := filepath.Join(dir, fmt.Sprintf("out%d", i))
				line := strings.Split(strings.NewReplacer("FILE", file, "OUT", out).Replace(strings.Join(args, "\x00")), "\x00")
				var stdout, stderr bytes.Buffer
				code := run(line, strings.NewReader(""), &stdout, &stderr, nil)
				if code < 0 || code > 2 || code == 2 && !strings.Contains(stderr.String(), "mcptap: error: ") {
					t.Errorf("%v: exit code %d: %s", args, code, stderr.String())
				}
				if !h.opens && code != 2 && args[0] != "repair" {
					t.Errorf("%v: exit code 0, want trouble: %.200s", args, stdout.String())
				}
				written, err := os.ReadFile(out)
				if err == nil && args[0] == "share" {
					written = sharedPage(t, written)
				} else {
					written = nil
				}
				for where, text := range map[string][]byte{"stdout": stdout.Bytes(), "stderr": stderr.Bytes(), "report": written} {
					if at := steering.FindIndex(text); at != nil {
						t.Errorf("%v: %s steers the terminal: %.100q", args, where, text[max(0, at[0]-50):])
					}
					if at := markup.FindIndex(text); at != nil && (where == "report" || where == "stdout" && args[len(args)-1] == "html") {
						t.Errorf("%v: %s has markup: %.100q", args, where, text[max(0, at[0]-50):])
					}
				}
				if len(stderr.String()) > 4000 {
					t.Errorf("%v: %d bytes on stderr", args, stderr.Len())
				}
			}
			onlyAsked(t, dir, name)
		})
	}
}

func sharedPage(t *testing.T, file []byte) []byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := z.Open("report.html")
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// onlyAsked looks for files that no command was asked to write, in the folder and those above the one of the file.
func onlyAsked(t *testing.T, dir, name string) {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasPrefix(filepath.Base(path), "out") && path != filepath.Join(dir, "in", name) {
			found = append(found, path)
		}
		return err
	})
	if err != nil || len(found) > 0 {
		t.Errorf("%v, and these files were left: %q", err, found)
	}
}

// A member of a zip file is unpacked up to a bound, however much it says it has.
func TestZipMemberIsBounded(t *testing.T) {
	n, err := io.Copy(io.Discard, &boundedMember{r: neverEnding{}, left: 1 << 20})
	if n != 1<<20 || err == nil || !strings.Contains(err.Error(), "unpack it first") {
		t.Errorf("%d bytes and %v", n, err)
	}
}

type neverEnding struct{}

func (neverEnding) Read(p []byte) (int, error) { return len(p), nil }
