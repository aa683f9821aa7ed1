package analyze

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/mcptap/mcptap/har"
)

var update = flag.Bool("update", false, "rewrite golden files")

// golden compares with a file, which -update rewrites.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
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
		t.Errorf("%s differs from what is generated; see go test ./analyze -update", file)
	}
}

func TestRulesDocument(t *testing.T) { golden(t, "../docs/rules.md", []byte(RulesMarkdown())) }

func TestFindingsDocument(t *testing.T) { golden(t, "../docs/findings.md", []byte(FindingsMarkdown())) }

// TestReport holds one whole report: a probe that 2.4.0 cannot take, a fallback, an expired session, the call once more.
func TestReport(t *testing.T) {
	scene := in(one(probing(1, js("200 OK", errIDNull))), in(renewed(js("200 OK", success("4", `{"content":[]}`))), step{req: del(), resp: answer("404 Not Found", "", "")},
		probing(1, js("200 OK", discovered(probe1, `["2026-07-28"]`))[:100]).ends(har.EndRST))...)
	r := analyzed(t, scene, Recommended, "ts-2.4.0")
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/report.json", append(text, '\n'))
	again, err := json.MarshalIndent(analyzed(t, scene, Recommended, "ts-2.4.0"), "", "  ")
	if err != nil || !bytes.Equal(text, again) {
		t.Error("two runs over the same exchanges differ")
	}
}
