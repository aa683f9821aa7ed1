package mcptap

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/analyze"
)

// quoted finds what a document names in backquotes and may be a rule's ID: lower-case words, joined by one slash.
var quoted = regexp.MustCompile("`([a-z-]+)/[a-z0-9-]+`")

// docs/rules.md names every rule of every policy, and no document names a rule that is not there.
func TestRulesAreDocumented(t *testing.T) {
	rules, kinds := map[string]bool{}, map[string]bool{}
	for _, p := range analyze.Policies() {
		for _, r := range p.Rules {
			rules["`"+r.ID+"`"] = true
			kind, _, _ := strings.Cut(r.ID, "/")
			kinds[kind] = true
		}
	}
	for id := range rules {
		if !strings.Contains(document(t, "docs/rules.md"), id) {
			t.Errorf("docs/rules.md does not name rule %s", id)
		}
	}
	kinds["conform"] = true
	for _, r := range analyze.ConformanceRules() {
		rules["`"+r.ID+"`"] = true
		if !strings.Contains(document(t, "docs/conformance.md"), "`"+r.ID+"`") {
			t.Errorf("docs/conformance.md does not name rule %s", r.ID)
		}
	}
	files, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, "README.md") {
		for _, m := range quoted.FindAllStringSubmatch(document(t, file), -1) {
			if kinds[m[1]] && !rules[m[0]] {
				t.Errorf("%s names %s, which is no rule", file, m[0])
			}
		}
	}
}

func document(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
