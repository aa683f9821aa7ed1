package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/analyze"
)

type rulesOptions struct {
	policy         string
	compare        []string
	policies, json bool
}

func (a *app) rulesCommand() *cobra.Command {
	var o rulesOptions
	c := &cobra.Command{
		Use:   "rules [ID]",
		Short: "print the policies and their rules",
		Long: `A policy is what one client, or one text, makes of what servers answer: rules in order, of which the first that
matches decides. Rules prints those of one policy with their verdict, level and source; with ID it prints that rule in
full, as each policy has it. --policies lists the policies, with what they inherit from and how many rules are their own;
--compare X,Y sets side by side the rules on which two differ in verdict, conditions or order.

The rules of message conformance (docs/conformance.md) belong to no policy: conform prints them, and each has an ID that begins
with conform/.`,
		Example: `  mcptap rules
  mcptap rules probe/auth
  mcptap rules conform
  mcptap rules --policies
  mcptap rules --compare recommended,ts-2.4.0`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage(c, "want at most one ID, got %d", len(args))
			}
			chosen := 0
			for _, is := range []bool{len(args) > 0 || o.policy != "", o.policies, o.compare != nil} {
				if is {
					chosen++
				}
			}
			switch {
			case chosen > 1:
				return usage(c, "want one of ID or --policy, --policies, and --compare")
			case o.compare != nil && len(o.compare) != 2:
				return usage(c, "--compare %s: want two policies, as X,Y", strings.Join(o.compare, ","))
			}
			return a.rules(args, &o)
		},
		ValidArgsFunction: ruleIDs,
	}
	c.Flags().StringVar(&o.policy, "policy", "", "the `POLICY` to print (default recommended; for an ID: all)")
	c.Flags().BoolVar(&o.policies, "policies", false, "list the policies, with what they inherit from")
	c.Flags().StringSliceVar(&o.compare, "compare", nil, "print the rules on which two policies differ: `X,Y`")
	c.Flags().BoolVar(&o.json, "json", false, "the same as JSON, conditions included")
	complete(c, "policy", completePolicies())
	complete(c, "compare", completePolicies())
	return c
}

// ruleIDs completes the ID of a rule.
func ruleIDs(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var ids []string
	for _, p := range analyze.Policies() {
		for i := range p.Rules {
			if id := p.Rules[i].ID; len(args) == 0 && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	for _, r := range analyze.ConformanceRules() {
		if len(args) == 0 && !slices.Contains(ids, r.ID) {
			ids = append(ids, r.ID)
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) rules(args []string, o *rulesOptions) error {
	switch {
	case o.policies:
		return a.policies(o.json)
	case o.compare != nil:
		return a.compareRules(o.compare, o.json)
	}
	policies := analyze.Policies()
	if o.policy != "" {
		p, err := a.policy(o.policy)
		if err != nil {
			return err
		}
		policies = []*analyze.Policy{p}
	}
	switch {
	case len(args) == 1 && strings.HasPrefix(args[0]+"/", conformPrefix):
		return a.conformance(args[0])
	case len(args) == 1:
		return a.printRule(policies, args[0])
	case o.json:
		return indented(a.stdout, policies)
	}
	return a.printPolicy(policies)
}

// printPolicy prints the first policy's rules and the names of the others.
func (a *app) printPolicy(policies []*analyze.Policy) error {
	p, paint := policies[0], a.paint(a.stdout)
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n%s\n\n", paint.bold(p.Name), p.Title, p.About)
	rows := make([][]cell, 0, len(p.Rules))
	for i := range p.Rules {
		r := &p.Rules[i]
		rows = append(rows, []cell{text(r.ID), text(r.Verdict), text(r.Level), text(r.Source)})
	}
	writeTable(&b, paint, []string{"rule", "verdict", "level", "source"}, rows)
	if len(policies) > 1 {
		b.WriteString("\nother policies (--policy):\n")
	}
	for _, other := range policies[1:] {
		fmt.Fprintf(&b, "  %-22s %s\n", other.Name, other.Title)
	}
	_, err := io.WriteString(a.stdout, b.String())
	return err
}

// printRule prints one rule of each policy that has it; policies that judge alike are printed once.
func (a *app) printRule(policies []*analyze.Policy, id string) error {
	var order []string
	having := map[string][]string{} // the text of a rule, and the policies that have it so
	for _, p := range policies {
		for i := range p.Rules {
			if r := &p.Rules[i]; r.ID == id {
				s, err := ruleText(r)
				if err != nil {
					return err
				}
				if having[s] == nil {
					order = append(order, s)
				}
				having[s] = append(having[s], p.Name)
			}
		}
	}
	if order == nil {
		ids, _ := ruleIDs(nil, nil, "")
		if near := analyze.Near(id, ids); len(near) > 0 {
			return &trouble{fmt.Errorf("no rule %q", id), "did you mean " + strings.Join(near, " or ") + "?"}
		}
		return &trouble{fmt.Errorf("no rule %q", id), "see mcptap rules, and --policy"}
	}
	out := a.paint(a.stdout).bold(id) + "\n"
	for _, s := range order {
		out += fmt.Sprintf("\npolicy     %s\n%s", strings.Join(having[s], ", "), s)
	}
	_, err := io.WriteString(a.stdout, out)
	return err
}

// ruleText is all that a rule says of itself, its ID excepted.
func ruleText(r *analyze.Rule) (string, error) {
	when, err := json.Marshal(r.When)
	if err != nil {
		return "", err
	}
	verdict := r.Verdict
	if r.Tentative {
		verdict += " (tentative: it may be otherwise a moment later)"
	}
	var b strings.Builder
	for _, line := range [][2]string{{"when", string(when)}, {"verdict", verdict}, {"error", r.Error}, {"why", r.Why},
		{"level", r.Level}, {"source", r.Source}, {"cases", strings.Join(r.Cases, ", ")}} {
		if line[1] != "" {
			fmt.Fprintf(&b, "%-10s %s\n", line[0], line[1])
		}
	}
	return b.String(), nil
}
