package analyze

import (
	"slices"
	"strings"
	"testing"
)

// Copies of bytes that differ are said, and what hangs on the bytes is left open.
func TestConflictIsFound(t *testing.T) {
	for note, want := range map[string]bool{"conflict": true, "gap: 10 bytes before byte 20 of the response": false, "inferred": false} {
		r := analyzed(t, one(initializing(js("200 OK", success("0", `{}`))).noted(note)), Recommended)
		i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.ID == "capture-conflict" })
		if (i >= 0) != want {
			t.Fatalf("%s: findings %+v", note, r.Findings)
		}
		if !want {
			continue
		}
		if f := r.Findings[i]; f.Fault != "capture" || f.Severity != "warning" || !strings.Contains(f.Message, "two copies of bytes of initialize") {
			t.Errorf("got %+v", f)
		}
		if v := r.Exchanges[0].Verdicts[Recommended].Verdict; v != "inconclusive" {
			t.Errorf("verdict %s, want inconclusive", v)
		}
	}
}
