package analyze

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var allRows = slices.Concat(probeRows, initRows, optionalRows, sessionRows, laterRows)

func TestRows(t *testing.T) {
	for _, r := range allRows {
		t.Run(r.name, func(t *testing.T) {
			got := r.verdicts(t)
			if got[Recommended] != r.rec {
				t.Errorf("recommended: %s, want %s", got[Recommended], r.rec)
			}
			if got["ts-2.4.0"] != r.ts {
				t.Errorf("ts-2.4.0: %s, want %s", got["ts-2.4.0"], r.ts)
			}
		})
	}
}

// verdicts gives verdict and rule of the judged exchange, by policy.
func (r *row) verdicts(t testing.TB) map[string]string {
	t.Helper()
	n := r.n
	if n == 0 {
		n = len(r.scene)
	}
	out := map[string]string{}
	for name, v := range analyzed(t, r.scene, "all").Exchanges[n-1].Verdicts {
		out[name] = v.Verdict + " " + v.Rule
	}
	return out
}

// TestEverySeedRow holds the table against the rows of the three pull requests.
func TestEverySeedRow(t *testing.T) {
	have := map[string]bool{}
	for _, r := range allRows {
		have[regexp.MustCompile(`^[ABC]\d+`).FindString(r.name)] = true
	}
	for part, last := range map[string]int{"A": 24, "B": 39, "C": 7} {
		for i := 1; i <= last; i++ {
			if id := fmt.Sprint(part, i); !have[id] {
				t.Errorf("no case for row %s", id)
			}
		}
	}
	for _, p := range Policies() {
		for i := range p.Rules {
			for _, id := range p.Rules[i].Cases {
				if !have[id] {
					t.Errorf("rule %s names case %s, which is not in the table", p.Rules[i].ID, id)
				}
			}
		}
	}
}

// TestPinned is row A25: under a pinned version, what recommended falls back from is an error, with the same rule.
func TestPinned(t *testing.T) {
	for _, r := range probeRows {
		got := r.verdicts(t)
		for _, pair := range [][2]string{{Recommended, "recommended-pin"}, {"ts-2.4.0", "ts-2.4.0-pin"}} {
			want := strings.Replace(got[pair[0]], "legacy-fallback ", "negotiation-error ", 1)
			if got[pair[1]] != want {
				t.Errorf("%s: %s says %s, want %s", r.name, pair[1], got[pair[1]], want)
			}
		}
	}
}

// TestMutations turns over and takes out each rule of each policy in turn, of a policy with a base the rules that it
// states itself. Some case or vector must notice, else the rule is not tested.
func TestMutations(t *testing.T) {
	type exchange struct {
		name string
		f    *facts
	}
	var cases []exchange
	for _, r := range allRows {
		a := factsOf(r.scene)
		n := r.n
		if n == 0 {
			n = len(r.scene)
		}
		cases = append(cases, exchange{r.name, a.numbered(n)})
	}
	for _, v := range vectors(t) {
		scene, n := v.scene(t)
		a := factsOf(scene)
		for ; a.numbered(n) != nil; n++ {
			cases = append(cases, exchange{fmt.Sprint(v.Name, " ", n), a.numbered(n)})
		}
	}
	for name, f := range hostExchanges(t) {
		cases = append(cases, exchange{name, f})
	}
	for _, r := range hostRows {
		cases = append(cases, exchange{r.name, r.facts()})
	}
	for _, r := range stdioRows {
		xs := piped(r.lines...)
		var all []*facts
		for _, x := range xs {
			all = append(all, observe(x))
		}
		a := newAnalysis(all, nil, Options{})
		cases = append(cases, exchange{r.name, a.numbered(len(xs))})
	}
	for _, p := range Policies() {
		own := ownRules(t, p.Name)
		want := make([]string, len(cases))
		for i, c := range cases {
			v := p.judge(c.f)
			want[i] = v.Verdict + " " + v.Rule
		}
		for i := range p.Rules {
			if !slices.Contains(own, p.Rules[i].ID) && p.Base != Recommended {
				continue
			}
			turned, without := *p, *p
			turned.Rules = slices.Clone(p.Rules)
			turned.Rules[i].Verdict = "inconclusive"
			without.Rules = slices.Delete(slices.Clone(p.Rules), i, i+1)
			for how, mutant := range map[string]*Policy{"turned over": &turned, "taken out": &without} {
				mutant.index()
				noticed := false
				for j := 0; j < len(cases) && !noticed; j++ {
					v := mutant.judge(cases[j].f)
					noticed = v.Verdict+" "+v.Rule != want[j]
				}
				if !noticed {
					t.Errorf("%s: rule %s %s, and no case notices", p.Name, p.Rules[i].ID, how)
				}
			}
		}
	}
}
