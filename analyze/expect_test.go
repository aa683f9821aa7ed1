package analyze

import (
	"strings"
	"testing"
)

// what describes an exchange: "class verdict", with a "!" for a retry.
func reportOf(outcome Outcome, version string, what ...string) *Report {
	r := &Report{Conversations: []Conversation{{ID: 1, Observed: Observed{Outcome: outcome, Version: version}}},
		Findings: []Finding{{ID: "probe-reset"}}}
	for i, w := range what {
		class, verdict, _ := strings.Cut(w, " ")
		class, retry := strings.CutSuffix(class, "!")
		r.Exchanges = append(r.Exchanges, Exchange{N: i + 1, Conversation: 1, Class: class, Verdicts: map[string]Verdict{Recommended: {Verdict: verdict}},
			facts: &facts{again: retry, req: reqFacts{version: version}, status: 200}})
	}
	return r
}

func TestExpect(t *testing.T) {
	fell := reportOf(Legacy, "2025-11-25", "probe legacy-fallback", "initialize delivered", "request delivered")
	for _, tt := range []struct {
		name string
		r    *Report
		want string
		says string // "" if it is met
	}{
		{"outcome", fell, "legacy", ""},
		{"outcome with version", fell, "legacy@2025-11-25", ""},
		{"outcome with another version", fell, "legacy@2025-06-18", "want legacy@2025-06-18, and the client's connect was legacy@2025-11-25 (probe 200, initialize 200, request 200)"},
		{"fallback", fell, "legacy-fallback", ""},
		{"fallback that failed", reportOf(Failed, "", "probe legacy-fallback", "initialize pass-through"), "legacy-fallback", "initialize did not connect it"},
		{"no fallback", reportOf(Failed, "", "probe legacy-fallback"), "legacy-fallback", "did not go on with initialize"},
		{"retry", reportOf(Modern, "2026-07-28", "probe x", "probe! y"), "corrective-retry", ""},
		{"retry with that version", reportOf(Modern, "2026-07-28", "probe x", "probe! y"), "corrective-retry@2026-07-28", ""},
		{"retry with another version", reportOf(Modern, "2026-07-28", "probe x", "probe! y"), "corrective-retry@2027-01-01", "no second probe of that kind"},
		{"error that ended it", reportOf(Failed, "", "probe auth-error"), "auth-error", ""},
		{"error that did not", reportOf(Legacy, "", "probe auth-error", "initialize delivered"), "auth-error", "connected all the same"},
		{"reinitialized", reportOf(Legacy, "", "request reinitialize", "initialize delivered"), "reinitialize", ""},
		{"not reinitialized", reportOf(Legacy, "", "initialize delivered", "request reinitialize"), "reinitialize", "did not initialize again"},
		{"asked again", reportOf(Legacy, "", "request reinitialize+retry-once", "initialize delivered", "request! delivered"), "reinitialize+retry-once", ""},
		{"not asked again", reportOf(Legacy, "", "request reinitialize+retry-once", "initialize delivered"), "reinitialize+retry-once", "did not send its request again"},
		{"resumed", reportOf(Legacy, "", "get-stream resume", "resume delivered"), "resume", ""},
		{"not resumed", reportOf(Legacy, "", "get-stream resume"), "resume", "did not resume"},
		{"kept", reportOf(Legacy, "", "optional-method keep-connected", "request delivered"), "keep-connected", ""},
		{"not kept", reportOf(Legacy, "", "optional-method keep-connected"), "keep-connected", "no request came behind it"},
		{"disconnected", reportOf(Legacy, "", "optional-method disconnect", "delete clean-close"), "disconnect", ""},
		{"not disconnected", reportOf(Legacy, "", "optional-method disconnect", "request delivered"), "disconnect", "went on with requests"},
		{"no such answer", fell, "post-only", "no answer of that verdict was served"},
		{"finding", fell, "probe-reset", ""},
		{"no finding", fell, "probe-silence", "want the finding probe-silence, have probe-reset"},
		{"no version behind @", fell, "legacy@", "want a version behind @"},
		{"no word", fell, "unspecified", "is no expectation"},
		{"nothing", &Report{}, "failed", "the client sent nothing that is MCP"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if err := tt.r.Expect(tt.want); err != nil {
				got = err.Error()
			}
			if got == "" != (tt.says == "") || !strings.Contains(got, tt.says) {
				t.Errorf("Expect(%q): got %q, want %q in it", tt.want, got, tt.says)
			}
		})
	}
}
