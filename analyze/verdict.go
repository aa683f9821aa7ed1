package analyze

import (
	"cmp"
	"strings"

	"github.com/mcptap/mcptap/har"
)

// A Verdict is what one policy makes of one exchange.
type Verdict struct {
	Verdict   string `json:"verdict"`
	Rule      string `json:"rule"` // "" for unspecified and inconclusive
	Tentative bool   `json:"tentative,omitempty"`
	Error     string `json:"error,omitempty"` // what the client's caller gets
	Why       string `json:"why"`
	Level     string `json:"level,omitempty"`
	Source    string `json:"source,omitempty"`
}

// judge applies the first rule that matches. A rule that would match but for something that was not captured ends the
// search: what comes after it must not be guessed.
func (p *Policy) judge(f *facts) Verdict {
	f = f.seenBy(p)
	truths := f.truths()
	for _, x := range p.byClass[f.class] {
		switch x.match.evalWith(f, p, truths) {
		case har.True:
			v := Verdict{Verdict: x.Verdict, Rule: x.ID, Tentative: x.Tentative, Error: x.Error, Why: x.because(f), Level: x.Level, Source: x.Source}
			if x.versioned {
				v.Verdict = strings.Replace(x.Verdict, "VERSION", cmp.Or(p.version(f), f.req.version), 1)
			}
			return v
		case har.Unknown:
			return Verdict{Verdict: "inconclusive", Why: "rule " + x.ID + " hangs on bytes that were not captured"}
		}
	}
	return Verdict{Verdict: "unspecified", Why: "no rule speaks of this"}
}

// because gives the rule's text and, where the caller gets an error from negotiation, what it rests on.
func (x *Rule) because(f *facts) string {
	if x.Verdict != "negotiation-error" {
		return x.Why
	}
	return x.Why + ": " + f.decidedBy()
}
