package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcptap/mcptap/corpus"
)

// The document has a row for each case, and a whole one.
func TestDocumentHasAllCases(t *testing.T) {
	t.Chdir("../..")
	rows, err := written()
	if err != nil {
		t.Fatal(err)
	}
	cases, err := corpus.ForClients()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range cases {
		r := rows[k.Name]
		if r == nil || r.row != k.Row || len(r.cells) != len(clients) || slices.Contains(r.cells, "") {
			t.Errorf("docs/matrix.md has no whole row for %s (%s): make matrix ONLY=%s adds it", k.Name, k.Row, k.Name)
		}
		delete(rows, k.Name)
	}
	for name := range rows {
		t.Errorf("docs/matrix.md: %s is no case any more: make matrix takes it out", name)
	}
}

// Some cases are run again with the real clients, which must do what the document says.
func TestClientsDoAsDocumented(t *testing.T) {
	t.Chdir("../..")
	rows, err := written()
	if err != nil {
		t.Fatal(err)
	}
	build(t)
	for i, c := range clients {
		only := map[string]string{
			"ts-client auto": "probe-error-id-null,probe-modern,optional-404-method-not-found",
			"ts-sdk":         "session-404-expired,get-stream-503",
			"go-sdk":         "probe-40*,probe-error-*,optional-404-*,session-404-expired,tool-error-*",
		}[c.name]
		if only == "" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if c.argv[0] == "node" {
				needNode(t)
			}
			m, err := run(c, only, "2")
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range m.Cases {
				if got, want := cell(&x), rows[x.Name].cells[i]; got != want {
					t.Errorf("%s: %s (%s), documented is %s\n%s", x.Name, got, x.Why, want, x.Output)
				}
			}
		})
	}
}

// build makes the programs in a folder of their own and lets the clients use them.
func build(t *testing.T) {
	dir := t.TempDir()
	once := filepath.Join(dir, "once")
	program = filepath.Join(dir, "mcptap")
	for _, b := range []struct{ in, out, pkg string }{{".", program, "./cmd/mcptap"}, {"interop/goclient", once, "./once"}} {
		cmd := exec.Command("go", "build", "-o", b.out, b.pkg)
		cmd.Dir = b.in
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go build %s: %v\n%s", b.pkg, err, out)
		}
	}
	for i := range clients {
		if clients[i].argv[0] == "bin/once" {
			clients[i].argv[0] = once
		}
	}
}

func needNode(t *testing.T) {
	t.Helper()
	_, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat("interop/node_modules/@modelcontextprotocol/client")
	}
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatal(err)
	default:
		t.Skipf("%v: make test installs the npm packages", err)
	}
}

func TestCells(t *testing.T) {
	tests := []struct {
		want, kind string
		x          corpus.CaseResult
	}{
		{"legacy: legacy-fallback", "agree", corpus.CaseResult{Result: corpus.Agree, Observed: "legacy", Verdict: "legacy-fallback"}},
		{"modern", "agree", corpus.CaseResult{Result: corpus.Agree, Observed: "modern", Verdict: "modern@2026-07-28"}},
		{"*not met*: failed", "not met", corpus.CaseResult{Result: corpus.Inconclusive, Observed: "failed", Why: "failed as predicted, and the client never sent what the case is about: exchange 4, x"}},
		{"*not met*: over stdio", "not met", corpus.CaseResult{Result: corpus.Inconclusive, Why: "recorded over stdio, and the client is given a URL"}},
		{"*inconclusive*: a \\| b", "inconclusive", corpus.CaseResult{Result: corpus.Inconclusive, Why: "a | b"}},
		{"**differs**: why", "differs", corpus.CaseResult{Result: corpus.Differ, Why: "why"}},
		{"**error**: why", "error", corpus.CaseResult{Result: corpus.Error, Why: "why"}},
	}
	for _, tt := range tests {
		if got := cell(&tt.x); got != tt.want || kind(got) != tt.kind {
			t.Errorf("%q of kind %q, want %q of kind %q", got, kind(got), tt.want, tt.kind)
		}
	}
}
