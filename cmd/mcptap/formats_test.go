package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/mcptap/mcptap/analyze"
	"github.com/mcptap/mcptap/har"
)

var update = flag.Bool("update", false, "rewrite golden files")

// documentOf analyzes recordings as the command does.
func documentOf(t *testing.T, names ...string) (*app, *document) {
	t.Helper()
	a := &app{stderr: io.Discard}
	d, err := a.document(names, analyze.Options{AllHTTP: true})
	if err != nil {
		t.Fatal(err)
	}
	d.version = "v0.0.0"
	if d.fails, err = failing([]string{"warning"}); err != nil {
		t.Fatal(err)
	}
	if err := a.quote(d); err != nil {
		t.Fatal(err)
	}
	return a, d
}

func written(t *testing.T, a *app, d *document, f *format) string {
	t.Helper()
	var out bytes.Buffer
	if err := f.write(a, &out, d); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Each format of one report: two conversations, findings of three severities, evidence.
func TestFormats(t *testing.T) {
	a, d := documentOf(t, "corpus:probe-error-id-null", "corpus:call-reset")
	for i := range formats {
		f := &formats[i]
		t.Run(f.name, func(t *testing.T) {
			got := []byte(written(t, a, d, f))
			file := filepath.Join("testdata", "report", f.name+".golden")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s differs from what is written; see go test ./cmd/mcptap -update", file)
			}
		})
	}
}

// nasty is text that means something to each format, or to a terminal.
const nasty = "\x1b[31m]]>--><script>alert(1)</script><!--`<b>` `` ``` ```` ~~~ | @octocat #1 https://github.com/a/b/issues/1 ::error::x\r\n::stop-commands::t\n" +
	"\u202egnp.exe\u2066\u200b\x00\u009b&amp;%0A \\| $(id) {{.}} 'x' \"y\"\n# h\n```\n<img src=x onerror=y>"

// nastyCassette is a recording whose every text is hostile, and longer with more of it.
func nastyCassette(t *testing.T, more string) string {
	t.Helper()
	text := nasty + more
	quoted := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	line := strings.NewReplacer("\r", " ", "\n", " ", "\x00", " ").Replace(nasty)
	name := filepath.Join(t.TempDir(), "a,b:c%d <i>`x` @octocat #1 ]]>--x.mcptap")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	w, err := har.NewWriter(f, har.Header{Tool: "mcptap", Started: at, Mode: "reverse"}, true)
	if err != nil {
		t.Fatal(err)
	}
	bodies := [][2]string{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":` + quoted(text) + `,"capabilities":{},"clientInfo":{"name":` + quoted(text) + `,"version":` + quoted(text) + `}}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":` + quoted(text) + `,"version":` + quoted(text) + `}}}`},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ""},
		{`{"jsonrpc":"2.0","id":2,"method":` + quoted("tools/"+text) + `,"params":{}}`, `{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":` + quoted(text) + `}}`},
		{`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{}}`, text},
	}
	heads := []string{"200 OK\r\nContent-Type: application/json", "202 Accepted", "500 " + line + "\r\nContent-Type: application/json", "200 " + line + "\r\nContent-Type: text/" + line}
	for i, b := range bodies {
		req := fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: h\r\nAccept: %s\r\nMcp-Session-Id: %s\r\nContent-Length: %d\r\n\r\n%s", line, line, len(b[0]), b[0])
		resp := fmt.Sprintf("HTTP/1.1 %s\r\nMcp-Session-Id: %s\r\nContent-Length: %d\r\n\r\n%s", heads[i], line, len(b[1]), b[1])
		x := &har.Exchange{
			N: i + 1, Conn: 1, Seq: i + 1, Started: at.Add(time.Duration(i) * time.Second), Client: "127.0.0.1:5", Server: "127.0.0.1:80",
			Method: "POST", URL: "http://h/mcp?" + strings.ToValidUTF8(line, ""), End: har.EndKeep,
			Request:  har.Side{Raw: []byte(req), Writes: []har.Write{{At: 0, Len: len(req)}}},
			Response: har.Side{Raw: []byte(resp), Writes: []har.Write{{At: time.Millisecond, Len: len(resp)}}},
		}
		w.Write(x)
	}
	if err := w.Close(har.End{At: at.Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// Text from a recording is text in each format, however it is written, and a report does not grow with it.
func TestFormatsAreHarmless(t *testing.T) {
	a, d := documentOf(t, nastyCassette(t, strings.Repeat("`<@x ", 200_000)))
	if len(d.Findings) < 2 || len(d.Conversations) == 0 {
		t.Fatalf("the recording has %d findings and %d conversations, want some", len(d.Findings), len(d.Conversations))
	}
	for i := range formats {
		f := &formats[i]
		t.Run(f.name, func(t *testing.T) {
			out := written(t, a, d, f)
			if len(out) > 100_000 {
				t.Errorf("%d bytes for %d findings", len(out), len(d.Findings))
			}
			for at, r := range out {
				if r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) || unicode.Is(unicode.Bidi_Control, r) {
					t.Fatalf("%U at byte %d: %q", r, at, out[max(0, at-40):min(len(out), at+40)])
				}
			}
			harmless[f.name](t, out, d)
		})
	}
}

var harmless = map[string]func(*testing.T, string, *document){
	"text":     textHarmless,
	"json":     jsonHarmless,
	"sarif":    sarifHarmless,
	"junit":    junitHarmless,
	"github":   githubHarmless,
	"markdown": markdownHarmless,
	"html":     htmlHarmless,
}

func textHarmless(t *testing.T, out string, _ *document) {
	for line := range strings.SplitSeq(out, "\n") {
		if strings.HasPrefix(line, "::") || strings.HasPrefix(line, "#") {
			t.Errorf("a line of the recording's own: %q", line)
		}
	}
}

func jsonHarmless(t *testing.T, out string, d *document) {
	var back analyze.Report
	if err := json.Unmarshal([]byte(out), &back); err != nil {
		t.Fatal(err)
	}
	if got, want := back.Conversations[0].Client.Name, d.Conversations[0].Client.Name; got != want || !strings.Contains(got, "<script>") {
		t.Errorf("the client's name came back as %q, want %q", got, want)
	}
}

func sarifHarmless(t *testing.T, out string, d *document) {
	var log sarifLog
	if err := json.Unmarshal([]byte(out), &log); err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	if len(run.Results) != len(d.Findings) {
		t.Errorf("%d results for %d findings", len(run.Results), len(d.Findings))
	}
	evidence := 0
	for _, r := range run.Results {
		if run.Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID {
			t.Errorf("result %s: its rule is %s", r.RuleID, run.Tool.Driver.Rules[r.RuleIndex].ID)
		}
		for _, at := range append(r.Locations, r.Related...) {
			where := at.Physical.Artifact
			if run.Artifacts[where.Index].Location.URI != where.URI || strings.ContainsAny(where.URI, " <>`\\\"") {
				t.Errorf("result %s: location %+v, artifact %+v", r.RuleID, where, run.Artifacts[where.Index])
			}
			if at.Physical.Region != nil {
				evidence++
			}
		}
	}
	if evidence == 0 {
		t.Error("no region names bytes")
	}
}

func junitHarmless(t *testing.T, out string, d *document) {
	var back junitSuites
	if err := xml.Unmarshal([]byte(out), &back); err != nil {
		t.Fatal(err)
	}
	failures, cases := 0, 0
	for _, s := range back.Suites {
		for _, c := range s.Cases {
			cases++
			failures += min(1, len(c.Failures))
		}
	}
	if cases != len(d.Exchanges) || back.Tests != cases || failures == 0 || back.Failures != failures {
		t.Errorf("%d cases and %d failed of %d exchanges; the root says %d and %d", cases, failures, len(d.Exchanges), back.Tests, back.Failures)
	}
	if strings.Contains(out, "]]>") || strings.Contains(out, "<script") {
		t.Error("markup of the recording's own")
	}
}

var command = regexp.MustCompile(`^::(error|warning|notice) (file=[^,:]+,)?title=mcptap%3A [a-z0-9-]+::.+$`)

func githubHarmless(t *testing.T, out string, d *document) {
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != len(d.Findings)+1 {
		t.Errorf("%d lines for %d findings", len(lines), len(d.Findings))
	}
	for _, line := range lines[:len(lines)-1] {
		if !command.MatchString(line) {
			t.Errorf("not one command: %q", line)
		}
	}
}

// markdownHarmless takes away what is code, as CommonMark reads it, and looks at the rest.
func markdownHarmless(t *testing.T, out string, _ *document) {
	fence := ""
	for line := range strings.SplitSeq(out, "\n") {
		run := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case fence != "" && len(run) >= len(fence) && strings.TrimSpace(line) == run:
			fence = ""
			continue
		case fence == "" && len(run) >= 3:
			fence = run
			continue
		case fence != "":
			continue
		}
		rest := withoutSpans(line)
		if strings.ContainsAny(rest, "<>@`&\\[") || strings.Contains(rest, "http") || regexp.MustCompile(`#\d`).MatchString(rest) {
			t.Errorf("outside of code: %q in %q", rest, line)
		}
		if strings.HasPrefix(line, "|") && strings.Count(line, "|") != strings.Count(rest, "|") {
			t.Errorf("a bar within a cell: %q", line)
		}
	}
	if fence != "" {
		t.Error("a fenced block is not closed")
	}
}

// withoutSpans removes code spans (CommonMark 6.1): a run of backticks ends at the next run of the same length.
func withoutSpans(line string) string {
	var b strings.Builder
	for line != "" {
		i := strings.IndexByte(line, '`')
		if i < 0 {
			break
		}
		b.WriteString(line[:i])
		rest := strings.TrimLeft(line[i:], "`")
		n := len(line) - i - len(rest)
		end := -1
		for at := 0; at < len(rest); {
			if rest[at] != '`' {
				at++
				continue
			}
			run := len(rest[at:]) - len(strings.TrimLeft(rest[at:], "`"))
			if run == n {
				end = at + run
				break
			}
			at += run
		}
		if end < 0 {
			b.WriteString(line[i : i+n])
			line = rest
			continue
		}
		line = rest[end:]
	}
	return b.String() + line
}

func htmlHarmless(t *testing.T, out string, _ *document) {
	dec := xml.NewDecoder(strings.NewReader(out))
	dec.Strict, dec.AutoClose, dec.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	known := strings.Fields("html head meta title style body h1 h2 h3 section p dl dt dd details summary pre table tr th td div")
	for {
		token, err := dec.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if !slices.Contains(known, token.Name.Local) {
				t.Errorf("element %s", token.Name.Local)
			}
			for _, attr := range token.Attr {
				if !slices.Contains([]string{"lang", "charset", "http-equiv", "content", "name", "class"}, attr.Name.Local) {
					t.Errorf("attribute %s=%q", attr.Name.Local, attr.Value)
				}
			}
		case xml.Comment:
			t.Errorf("comment %q", token)
		}
	}
}

func TestCodeSpan(t *testing.T) {
	tests := []struct{ in, want string }{
		{"plain", "` plain `"},
		{"`", "`` ` ``"},
		{"a``b`c", "``` a``b`c ```"},
		{"", "-"},
		{" ", "-"},
		{"x\ny", "` x\\ny `"},
		{strings.Repeat("x", 1000), "` " + strings.Repeat("x", maxSpan-1) + "… `"},
	}
	for _, tt := range tests {
		if got := codeSpan(tt.in); got != tt.want {
			t.Errorf("codeSpan(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestFileURI(t *testing.T) {
	for name, want := range map[string]string{
		"session.mcptap": "session.mcptap", "a b/c.mcptap": "a%20b/c.mcptap", "a:b": "./a:b", "-": "-", "/tmp/x y": "file:///tmp/x%20y", "corpus:probe-ok": "corpus/probe-ok",
		"<`\x1b.mcptap": "%3C%60%1B.mcptap",
	} {
		if got := fileURI(name); got != want {
			t.Errorf("fileURI(%q) = %q, want %q", name, got, want)
		}
	}
}
