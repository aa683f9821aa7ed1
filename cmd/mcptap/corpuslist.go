package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/analyze"
	"github.com/mcptap/mcptap/corpus"
	"github.com/mcptap/mcptap/har"
)

// listing holds the flags of `corpus list`.
type listing struct {
	rule, policy string
	differs      bool
}

func (a *app) corpusListCommand() *cobra.Command {
	var o listing
	c := &cobra.Command{
		Use:   "list",
		Short: "list the cases",
		Long: `List lists the cases of the corpus. With --rule or --policy it analyzes them and lists exchanges: those that the rule decides
as recommended or under the policy, and what both say; with --differs only where they say something else.`,
		Example: `  mcptap corpus list --rule probe/invalid-reply --policy go-1.8.0 --differs`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case o.differs && o.policy == "":
				return usage(c, "--differs wants --policy")
			case o.policy == "" && o.rule == "":
				return a.corpusList()
			}
			return a.corpusVerdicts(&o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.rule, "rule", "", "only exchanges that the rule `ID` decides")
	f.StringVar(&o.policy, "policy", "", "`NAME` of a policy to set beside recommended")
	f.BoolVar(&o.differs, "differs", false, "only where the policy's verdict is another than recommended")
	return c
}

func (a *app) corpusList() error {
	cases, err := corpus.List()
	if err != nil {
		return err
	}
	rows := make([][]cell, 0, len(cases))
	for _, k := range cases {
		rows = append(rows, []cell{text(k.Name), text(k.Row), text(k.Story)})
	}
	return writeTable(a.stdout, a.paint(a.stdout), []string{"name", "row", "story"}, rows)
}

// corpusVerdicts lists what recommended and the policy say of the cases' exchanges.
func (a *app) corpusVerdicts(o *listing) error {
	policies := []string{analyze.Recommended}
	titles := []string{"name", "exchange", analyze.Recommended}
	if o.policy != "" && o.policy != analyze.Recommended {
		policies, titles = append(policies, o.policy), append(titles, o.policy)
	}
	if err := knownRule(o.rule); err != nil {
		return err
	}
	cases, err := corpus.List()
	if err != nil {
		return err
	}
	var rows [][]cell
	for _, k := range cases {
		c, err := corpus.Open(k.Name)
		if err != nil {
			return err
		}
		more, err := o.rows(c, policies)
		if err != nil {
			return err
		}
		rows = append(rows, more...)
	}
	return writeTable(a.stdout, a.paint(a.stdout), titles, rows)
}

// knownRule says which rules are near one that no policy has.
func knownRule(id string) error {
	var ids []string
	for _, p := range analyze.Policies() {
		for _, r := range p.Rules {
			ids = append(ids, r.ID)
		}
	}
	if id == "" || slices.Contains(ids, id) {
		return nil
	}
	slices.Sort(ids)
	hint := "see mcptap rules"
	if near := analyze.Near(id, slices.Compact(ids)); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, ", ") + "?"
	}
	return &trouble{fmt.Errorf("no policy has a rule %q", id), hint}
}

func (o *listing) rows(c *har.Cassette, policies []string) (rows [][]cell, err error) {
	r, err := analyze.Analyze(inOrder(c.Exchanges), analyze.Options{Policies: policies})
	if err != nil {
		return nil, err
	}
	for i := range r.Exchanges {
		x := &r.Exchanges[i]
		line := []cell{text(c.Header.Case.Name), text(fmt.Sprint(x.N))}
		decided, words := o.rule == "", map[string]bool{}
		for _, p := range policies {
			v := x.Verdicts[p]
			decided = decided || v.Rule == o.rule
			words[v.Verdict] = true
			line = append(line, text(verdictWords(v)))
		}
		if decided && len(x.Verdicts) > 0 && (!o.differs || len(words) > 1) {
			rows = append(rows, line)
		}
	}
	return rows, nil
}

func verdictWords(v analyze.Verdict) string {
	if v.Rule == "" {
		return v.Verdict
	}
	return fmt.Sprintf("%s (%s)", v.Verdict, v.Rule)
}
