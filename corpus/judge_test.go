package corpus

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/analyze"
	"github.com/mcptap/mcptap/har"
)

// A verdict is what the report says of one exchange or of a conversation's first connect.
type verdict struct {
	Verdict, Rule, Outcome string
	Tentative              bool
}

// A report holds the members of mcptap-analysis/1 that cases speak of.
type report struct {
	Conversations []struct {
		ID        int
		Observed  struct{ Outcome string }
		Predicted map[string]verdict
	}
	Exchanges []judgement
	Findings  []struct{ ID string }
}

type judgement struct {
	N, Conversation int
	Class           string
	Verdicts        map[string]verdict
}

func judged(c *har.Cassette, policies ...string) (*report, error) {
	made, err := analyze.Analyze(sequence(c.Exchanges), analyze.Options{Policies: policies})
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(made)
	if err != nil {
		return nil, err
	}
	r := &report{}
	return r, json.Unmarshal(b, r)
}

func sequence(xs []*har.Exchange) iter.Seq2[*har.Exchange, error] {
	return func(yield func(*har.Exchange, error) bool) {
		for _, x := range xs {
			if !yield(x, nil) {
				return
			}
		}
	}
}

// faults says in what a report differs from what the case expects.
func (r *report) faults(expect []har.Expect) (faults []string) {
	for _, e := range expect {
		what := fmt.Sprintf("exchange %d under %s", e.Exchange, e.Policy)
		i := slices.IndexFunc(r.Exchanges, func(x judgement) bool { return x.N == e.Exchange })
		if i < 0 {
			faults = append(faults, what+": not in the report")
			continue
		}
		x := r.Exchanges[i]
		got, ok := x.Verdicts[e.Policy]
		if !ok {
			faults = append(faults, what+": not judged")
			continue
		}
		if got.Verdict != e.Verdict || e.Rule != "" && got.Rule != e.Rule {
			faults = append(faults, fmt.Sprintf("%s (%s): %s by %q, want %s by %q", what, x.Class, got.Verdict, got.Rule, e.Verdict, e.Rule))
		}
		if e.Outcome != "" {
			if got := r.predicted(x.Conversation, e.Policy); got.Outcome != e.Outcome {
				faults = append(faults, fmt.Sprintf("%s: predicted %s by %q, want %s", what, got.Outcome, got.Rule, e.Outcome))
			}
		}
		if e.Finding != "" && !slices.ContainsFunc(r.Findings, func(f struct{ ID string }) bool { return f.ID == e.Finding }) {
			faults = append(faults, fmt.Sprintf("%s: findings %v, want %s", what, r.Findings, e.Finding))
		}
	}
	return faults
}

func (r *report) predicted(conversation int, policy string) verdict {
	for _, c := range r.Conversations {
		if c.ID == conversation {
			return c.Predicted[policy]
		}
	}
	return verdict{}
}

func policiesOf(expect []har.Expect) (names []string) {
	for _, e := range expect {
		if !slices.Contains(names, e.Policy) {
			names = append(names, e.Policy)
		}
	}
	return names
}

// Policies say of each case what its header expects.
func TestVerdicts(t *testing.T) {
	for _, k := range listed(t) {
		t.Run(k.Row+"/"+k.Name, func(t *testing.T) {
			r, err := judged(opened(t, k.Name), policiesOf(k.Expect)...)
			if err != nil {
				t.Fatal(err)
			}
			for _, fault := range r.faults(k.Expect) {
				t.Error(fault)
			}
		})
	}
}

// The recorded clients connect as recommended, but for those that are pinned and those of reports.
func TestClientsDoAsRecommended(t *testing.T) {
	for _, k := range listed(t) {
		if strings.HasPrefix(k.Name, "pinned-") || k.Row == "field" || k.Row == FindingRow || k.Row == "lab" {
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			r, err := judged(opened(t, k.Name), analyze.Recommended)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Conversations) == 0 {
				t.Fatal("no conversation")
			}
			for _, c := range r.Conversations {
				if c.Observed.Outcome != c.Predicted[analyze.Recommended].Outcome {
					t.Errorf("conversation %d: observed %s, predicted %+v", c.ID, c.Observed.Outcome, c.Predicted[analyze.Recommended])
				}
			}
		})
	}
}

// A verdict taken from a server error may be another one a moment later; of the others none says so.
func TestOnlyServerErrorsAreTentative(t *testing.T) {
	for _, k := range listed(t) {
		r, err := judged(opened(t, k.Name), analyze.Recommended)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range r.Exchanges {
			got, want := x.Verdicts[analyze.Recommended].Tentative, x.Class == "probe" && (k.Row == "A15" || k.Name == "pinned-probe-503" || strings.HasPrefix(k.Name, "lab-s5") || strings.HasPrefix(k.Name, "finding-policy-"))
			if got != want {
				t.Errorf("%s: exchange %d is tentative: %v, want %v", k.Name, x.N, got, want)
			}
		}
	}
}

// Every rule that claims to decide a row decides a case of that row, and without the rule that case is found out.
func TestCasesNeedTheirRules(t *testing.T) {
	cases := listed(t)
	i := slices.IndexFunc(analyze.Policies(), func(p *analyze.Policy) bool { return p.Name == analyze.Recommended })
	policy := analyze.Policies()[i]
	whole := policy.Rules
	defer policy.SetRules(whole)
	for i, rule := range whole {
		for _, row := range rule.Cases {
			t.Run(strings.ReplaceAll(rule.ID, "/", ":")+"/"+row, func(t *testing.T) {
				decided := decidedBy(cases, rule.ID, row)
				if len(decided) == 0 {
					t.Fatalf("no case of row %s expects rule %s", row, rule.ID)
				}
				policy.SetRules(slices.Delete(slices.Clone(whole), i, i+1))
				defer policy.SetRules(whole)
				for _, k := range decided {
					r, err := judged(opened(t, k.Name), analyze.Recommended)
					if err != nil {
						t.Fatal(err)
					}
					if len(r.faults(onlyRecommended(k.Expect))) == 0 {
						t.Errorf("%s: without rule %s nothing changes", k.Name, rule.ID)
					}
				}
			})
		}
	}
}

func decidedBy(cases []har.Case, rule, row string) (decided []har.Case) {
	for _, k := range cases {
		if k.Row == row && slices.ContainsFunc(onlyRecommended(k.Expect), func(e har.Expect) bool { return e.Rule == rule }) {
			decided = append(decided, k)
		}
	}
	return decided
}

func onlyRecommended(expect []har.Expect) []har.Expect {
	return slices.DeleteFunc(slices.Clone(expect), func(e har.Expect) bool { return e.Policy != analyze.Recommended })
}
