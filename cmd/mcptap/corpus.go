package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/corpus"
	"github.com/mcptap/mcptap/har"
)

func (a *app) corpusCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "corpus",
		Short: "small recordings of known cases, with the verdicts they must get",
		Long: `Corpus holds one small recording for each case of the rules. Wherever a FILE is wanted, corpus:NAME is taken too:
mcptap show, analyze and replay corpus:NAME.`,
		Args: a.noCommand,
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	c.AddCommand(a.corpusListCommand(), &cobra.Command{
		Use:   "show NAME",
		Short: "tell a case's story and list its exchanges",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(c, "want one NAME, got %d", len(args))
			}
			return a.corpusShow(args[0])
		},
		ValidArgsFunction: caseNames,
	}, a.corpusRunCommand(), a.corpusAddCommand(), a.corpusMinimizeCommand())
	return c
}

// caseNames completes the name of a case.
func caseNames(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	cases, err := corpus.List()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, k := range cases {
		names = append(names, k.Name+"\t"+k.Story)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) corpusShow(name string) error {
	r, err := openCorpus(name, name)
	if err != nil {
		return err
	}
	k := r.header.Case
	for _, line := range []struct{ label, text string }{{"name", k.Name}, {"row", k.Row}, {"source", k.Source}, {"story", k.Story}} {
		if line.text != "" {
			fmt.Fprintf(a.stdout, "%-9s %s\n", line.label, oneLine(line.text))
		}
	}
	for _, e := range k.Expect {
		fmt.Fprintf(a.stdout, "%-9s %s\n", "expected", oneLine(expectation(e)))
	}
	fmt.Fprintln(a.stdout)
	rows, err := a.rows(corpusName + name)
	if err != nil {
		return err
	}
	return a.writeRows(rows)
}

// expectation puts into words what a policy must say of an exchange.
func expectation(e har.Expect) string {
	s := fmt.Sprintf("exchange %d under %s: %s (%s)", e.Exchange, e.Policy, e.Verdict, e.Rule)
	if e.Outcome != "" {
		s += "; the connect ends " + e.Outcome
	}
	if e.Finding != "" {
		s += "; finding " + e.Finding
	}
	return s
}
