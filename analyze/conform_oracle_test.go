package analyze

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// A verdict of one package; nil where it has no schema for the message.
type sdkVerdict struct {
	SDK  *bool `json:"sdk"`
	Core *bool `json:"core"`
}

// A difference is a known one between a package's schema and the tables.
type difference struct {
	lib, ours string // lib: sdk, core, both; ours: breaks, fits
	mutant    *regexp.Regexp
	reason    string
	used      bool
}

// readDifferences reads lines of LIB, OURS, a regular expression for "SAMPLE AS MUTANT", and a reason, between bars.
func readDifferences(t *testing.T) []difference {
	t.Helper()
	text, err := os.ReadFile("testdata/conform/sdk-differences.txt")
	if err != nil {
		t.Fatal(err)
	}
	var list []difference
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSpace(line), " | ")
		if strings.HasPrefix(line, "#") || len(f) == 1 {
			continue
		}
		if len(f) != 4 {
			t.Fatalf("%q: want four fields", line)
		}
		list = append(list, difference{lib: f[0], ours: f[1], mutant: regexp.MustCompile("^(?:" + f[2] + ")$"), reason: f[3]})
	}
	return list
}

// The schemas of the real packages are the oracle: each sample, with each member left out and changed, is taken or
// refused by them as by the tables, but for the differences that are listed with their reasons. They are those of
// 2025-11-25, and of 2026-07-28 for what only that has.
func TestShapesAgainstSDKs(t *testing.T) {
	if _, err := os.Stat("../interop/node_modules/@modelcontextprotocol/core"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("the npm packages are not installed: make test installs them")
		}
		t.Skip("the npm packages are not installed: make test installs them")
	}
	var all []asked
	var in bytes.Buffer
	list := samples(t)
	for i := range list {
		s := &list[i]
		if whole := (asked{s, mutant{"", string(s.Message)}}); whole.breaks() {
			continue // of another revision
		}
		for _, x := range s.mutants(t) {
			all = append(all, asked{s, x})
			fmt.Fprintf(&in, `{"as":%q,"method":%q,"message":%s}`+"\n", s.As, s.Method, x.text)
		}
	}
	cmd := exec.Command("node", "validate.mjs")
	cmd.Dir, cmd.Stdin, cmd.Stderr = "../interop", &in, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	known := readDifferences(t)
	lines := bufio.NewScanner(bytes.NewReader(out))
	for _, a := range all {
		var v sdkVerdict
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &v) != nil {
			t.Fatalf("no verdict on %s %s", a.s.Name, a.x.what)
		}
		ours := "fits"
		if a.breaks() {
			ours = "breaks"
		}
		for lib, took := range map[string]*bool{"sdk": v.SDK, "core": v.Core} {
			if took == nil || *took == (ours == "fits") {
				continue
			}
			if what := a.s.Name + " (" + a.s.As + ") " + a.x.what; !explained(known, lib, ours, what) {
				t.Errorf("%s | %s | %s", lib, ours, what)
			}
		}
	}
	for _, d := range known {
		if !d.used {
			t.Errorf("this difference is no more: %s %s %s", d.lib, d.ours, d.mutant)
		}
	}
}

// An asked is a message that was given to the packages.
type asked struct {
	s *sample
	x mutant
}

// breaks tells whether the tables refuse the message in the revision that the packages speak.
func (a *asked) breaks() bool {
	in := revisionOf("2025-11-25")
	m := shapes().byMethod[a.s.Method]
	if m != nil && m.in&in == 0 {
		in = revisionOf("2026-07-28")
	}
	return len(match([]byte(a.x.text), a.s.shape(shapes()), in)) > 0
}

func explained(known []difference, lib, ours, what string) bool {
	for i := range known {
		d := &known[i]
		if (d.lib == lib || d.lib == "both") && d.ours == ours && d.mutant.MatchString(what) {
			d.used = true
			return true
		}
	}
	return false
}
