package interop_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/corpus"
)

// What har writes of each case is HAR 1.2 to another program. An exchange over stdio has no HTTP method: it is the one fault that is known.
func TestHARIsValid(t *testing.T) {
	needNode(t)
	cases, err := corpus.List()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	exchanges, stdio := map[string]int{}, map[string]bool{}
	var files bytes.Buffer
	for _, k := range cases {
		c, err := corpus.Open(k.Name)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, k.Name+".har")
		if code, _, stderr := run(t, "har", "corpus:"+k.Name, "--out", file); code != 0 {
			t.Fatalf("%s: exit code %d\n%s", k.Name, code, stderr)
		}
		exchanges[file], stdio[file] = len(c.Exchanges), c.Exchanges[0].Stdio()
		files.WriteString(file + "\n")
	}
	cmd := exec.Command("node", "validatehar.mjs")
	cmd.Stdin = &files
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	checked := 0
	for line := range bytes.Lines(out) {
		var got struct {
			File    string
			Entries int
			Faults  []struct{ At, What, Value string }
		}
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatal(err)
		}
		checked++
		if got.Entries != exchanges[got.File] {
			t.Errorf("%s: %d entries, want %d", filepath.Base(got.File), got.Entries, exchanges[got.File])
		}
		for _, f := range got.Faults {
			if !stdio[got.File] || !strings.HasSuffix(f.At, "/request/method") {
				t.Errorf("%s: %s %s: %s", filepath.Base(got.File), f.At, f.What, f.Value)
			}
		}
	}
	if checked != len(cases) {
		t.Errorf("%d files were checked, want %d", checked, len(cases))
	}
}
