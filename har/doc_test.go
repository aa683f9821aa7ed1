package har

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/har/wire"
)

func formatDoc(t *testing.T) string {
	t.Helper()
	doc, err := os.ReadFile("../docs/format.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}

// TestDocExample reads the example of docs/format.md and finds in it what the page says of it.
func TestDocExample(t *testing.T) {
	_, example, _ := strings.Cut(formatDoc(t), "## 12. Example")
	_, example, _ = strings.Cut(example, "```\n")
	example, _, found := strings.Cut(example, "```\n")
	if !found {
		t.Fatal("there is no example")
	}
	c := mustRead(t, []byte(strings.ReplaceAll(example, "\n ", "")))
	if len(c.Exchanges) != 2 || c.End == nil || c.Cut != "" {
		t.Fatalf("%d exchanges, cut %q", len(c.Exchanges), c.Cut)
	}
	call, stream := c.Exchanges[0], c.Exchanges[1]
	if v := call.View(); v.Complete != True || len(call.Response.Writes) != 2 || !strings.Contains(string(call.ServerLeg()), "Host: a.example\r\n") {
		t.Errorf("exchange 1: complete %v (%s), server's leg %q", v.Complete, v.Why, call.ServerLeg())
	}
	if v := stream.View(); len(stream.Response.Raw) != 70 || stream.EndOff != 70 || len(v.Events()) != 2 || v.Complete != False ||
		!strings.Contains(string(stream.ServerLeg()), "Host: a.example\r\n") {
		t.Errorf("exchange 2: %d bytes, %d events, complete %v", len(stream.Response.Raw), len(v.Events()), v.Complete)
	}
	for _, x := range c.Exchanges {
		copied := *x
		FillDerived(&copied, "http://a.example")
		if !reflect.DeepEqual(&copied, x) {
			t.Errorf("exchange %d: the copied members are not those of the bytes: %q %q %d %q", x.N, copied.Method, copied.URL, copied.Status, copied.MediaType)
		}
	}
}

// TestDocWords holds the lists of docs/format.md and of the code together.
func TestDocWords(t *testing.T) {
	header := map[string]bool{"_end": true, "kind": true} // the tables' first rows
	sections := map[string][]string{}
	for _, section := range strings.Split(formatDoc(t), "\n## ") {
		title, text, _ := strings.Cut(section, "\n")
		for line := range strings.Lines(text) {
			if word, _, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "` |"); ok && strings.HasPrefix(line, "| `") && !header[word] {
				sections[title] = append(sections[title], word)
			}
		}
	}
	endings := []string{}
	for _, e := range []Ending{EndKeep, EndFIN, EndNoCloseNotify, EndRST, EndClientFIN, EndClientRST, EndHang, EndStopped, EndUnknown} {
		if !e.known() {
			t.Errorf("%s is not known", e)
		}
		endings = append(endings, string(e))
	}
	kinds := []string{}
	for i, k := range kindNames {
		if i == 0 || k != kindNames[i-1] {
			kinds = append(kinds, k)
		}
	}
	for title, want := range map[string][]string{
		"5. Endings": endings,
		"6. Notes":   {NoteUpstream, NoteTunnel, NoteGap, NoteSnaplen, NoteStart, NoteConflict, NoteExit, NoteStdout, NoteInferred, NoteHAR, NoteMinimized, NoteLimit, NoteRotated, NoteLost, NoteRecoded, NoteCopy, NoteCut},
		"8. Secrets": kinds,
	} {
		if got := sections[title]; !reflect.DeepEqual(got, want) {
			t.Errorf("section %s lists %q, the code has %q", title, got, want)
		}
	}
	if wire.ToServer.String() != "request" || wire.ToClient.String() != "response" {
		t.Error("the names of the sides have changed")
	}
}

// TestDocLimits holds the limits that docs/format.md states.
func TestDocLimits(t *testing.T) {
	doc := formatDoc(t)
	for _, tt := range []struct {
		got, want int64
		text      string
	}{
		{defaultLine, 64 << 20, "one line | 64 MiB"},
		{maxHeader, 1 << 20, "the header line 1 MiB"},
		{defaultTotal, 16 << 30, "all lines | 16 GiB"},
		{defaultRatio, 2000, "2000, beyond 64 MiB"},
		{ratioFrom, 64 << 20, "2000, beyond 64 MiB"},
		{defaultHeld, 4 << 30, "in memory | 4 GiB"},
		{maxWindow, 8 << 20, "zstd window | 8 MiB"},
		{maxNesting, 64, "Levels of nesting are at most 64"},
		{frameLines, 128, "128 exchange lines or 1 MiB"},
		{frameBytes, 1 << 20, "128 exchange lines or 1 MiB"},
		{lineBytes, 4 << 20, "at most 4 MiB of bytes"},
		{lineWrites, 65536, "65,536 writes of each side"},
	} {
		if tt.got != tt.want || !strings.Contains(doc, tt.text) {
			t.Errorf("%q: the code has %d, or docs/format.md does not say it", tt.text, tt.got)
		}
	}
}
