package corpus

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcptap/mcptap/har"
)

var update = flag.Bool("update", false, "write cases/*.mcptap and docs/corpus.md from the tables")

const doc = "../docs/corpus.md"

// entries are all cases, in order of their rows.
func entries() []entry {
	all := withFindings(slices.Concat(probeCases, pinnedCases, optionalCases, sessionCases))
	return slices.Concat(all, fieldCases(), findingEntries())
}

// cassette plays an entry and writes down what was recorded.
func (e entry) cassette() ([]byte, error) {
	s := newScene()
	e.play(s)
	xs := s.done()
	var b bytes.Buffer
	err := Write(&b, har.Header{Tool: tool, Started: start, Mode: "corpus", To: s.origin + s.entrance, KeepSecrets: true,
		Case: &har.Case{Name: e.name, Row: e.row, Story: e.story, Source: e.source, Expect: e.expect}}, s.processes, xs)
	return b.Bytes(), err
}

// tool is who writes the files that the tables give; those that were added have another.
const tool = "mcptap corpus"

// The files are what the tables say, byte for byte, and there are no others.
func TestCassettesAreGenerated(t *testing.T) {
	made := map[string]bool{}
	for _, e := range entries() {
		t.Run(e.name, func(t *testing.T) {
			want, err := e.cassette()
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(folder, e.name+ext)
			if made[file] {
				t.Fatal("two cases have this name")
			}
			made[file] = true
			golden(t, file, want)
		})
	}
	if t.Failed() {
		return
	}
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		switch {
		case made[f]:
		case *update:
			if err := os.Remove(f); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("%s is not in the tables: go test ./corpus -update removes it", f)
		}
	}
}

func TestDocIsGenerated(t *testing.T) { golden(t, doc, corpusDoc(entries())) }

func golden(t *testing.T, file string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	t.Errorf("%s differs from the tables at byte %d: go test ./corpus -update rewrites it\nfile   %.200q\ntables %.200q", file, at, got[at:], want[at:])
}
