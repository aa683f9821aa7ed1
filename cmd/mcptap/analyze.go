package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/analyze"
	"github.com/mcptap/mcptap/har"
)

type analyzeOptions struct {
	policies            []string
	format, failOn, out string
}

func (a *app) analyzeCommand() *cobra.Command {
	var o analyzeOptions
	c := &cobra.Command{
		Use:   "analyze FILE...",
		Short: "say what each exchange means, under which rule, and what is wrong",
		Long: `Analyze gives a verdict per exchange under each policy, with the rule and its source, and findings: what a person should
read, with the bytes that prove it. What a policy predicts and what the client was seen to do are told apart. Several
files are one report: exchanges and conversations are numbered on. FILE may be -, corpus:NAME, or what import reads: a
packet capture or HAR.
Exit code 1: a finding reaches --fail-on.`,
		Example: `  mcptap analyze session.mcptap
  mcptap analyze session.mcptap --policy recommended,ts-2.4.0 --fail-on warning
  mcptap analyze *.mcptap --policy all --format json --out report.json`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(c, "want at least one FILE")
			}
			if o.format != "text" && o.format != "json" {
				return usage(c, "--format %s: want text or json", o.format)
			}
			return a.analyze(args, &o)
		},
	}
	f := c.Flags()
	f.StringSliceVar(&o.policies, "policy", nil, "`POLICIES` to judge by, or all (default recommended and the recognised client's)")
	f.StringVar(&o.format, "format", "text", "`FORMAT`: text or json")
	f.StringVar(&o.failOn, "fail-on", "error", "findings that give exit code 1: a `SEVERITY` (error, warning, note) and above, an ID, or never")
	f.StringVar(&o.out, "out", "", "`FILE` to write to (default stdout)")
	return c
}

func (a *app) analyze(names []string, o *analyzeOptions) error {
	fails, err := failing(o.failOn)
	if err != nil {
		return err
	}
	if slices.Contains(names, stdio) {
		remove, err := a.spool()
		if err != nil {
			return err
		}
		defer remove()
	}
	report, files, err := a.reportOn(names, o.policies)
	if err != nil {
		return err
	}
	err = a.writeTo(o.out, func(w io.Writer) error {
		if o.format == "json" {
			enc := json.NewEncoder(jsonSafe{w})
			enc.SetEscapeHTML(false)
			enc.SetIndent("", "  ")
			return enc.Encode(report)
		}
		quotes, err := a.quotes(report, files)
		if err != nil {
			return err
		}
		return (&reportText{Report: report, quotes: quotes, paint: a.paint(w)}).write(w)
	})
	if err != nil {
		return err
	}
	if slices.ContainsFunc(report.Findings, fails) {
		return exit(codeFailed)
	}
	return nil
}

// severities, the worst first.
var severities = []string{"error", "warning", "note"}

// failing gives the test that --fail-on names.
func failing(on string) (func(analyze.Finding) bool, error) {
	if on == "never" {
		return func(analyze.Finding) bool { return false }, nil
	}
	if limit := slices.Index(severities, on); limit >= 0 {
		return func(f analyze.Finding) bool { return slices.Index(severities, f.Severity) <= limit }, nil
	}
	if slices.Contains(analyze.FindingIDs(), on) {
		return func(f analyze.Finding) bool { return f.ID == on }, nil
	}
	return nil, &trouble{fmt.Errorf("--fail-on %s: want error, warning, note, never or the ID of a finding", on),
		"IDs: " + strings.Join(analyze.FindingIDs(), ", ")}
}

// A numbered file is one of several whose exchanges are numbered on: base is added to their own numbers.
type numbered struct {
	name string
	base int
}

// reportOn analyzes files one by one and joins the reports: exchanges and conversations are numbered on.
func (a *app) reportOn(names, policies []string) (*analyze.Report, []numbered, error) {
	var joined *analyze.Report
	var files []numbered
	base, conversations := 0, 0
	for _, name := range names {
		r, last, err := a.reportOne(name, base, policies)
		if err != nil {
			return nil, nil, err
		}
		for i := range r.Conversations {
			r.Conversations[i].ID += conversations
		}
		for i := range r.Exchanges {
			if r.Exchanges[i].Conversation > 0 {
				r.Exchanges[i].Conversation += conversations
			}
			if len(names) > 1 {
				r.Exchanges[i].File = name
			}
		}
		files = append(files, numbered{name, base})
		base, conversations = max(base, last), conversations+len(r.Conversations)
		if joined == nil {
			joined = r
			continue
		}
		joined.Conversations = append(joined.Conversations, r.Conversations...)
		joined.Exchanges = append(joined.Exchanges, r.Exchanges...)
		joined.Findings = append(joined.Findings, r.Findings...)
	}
	return joined, files, nil
}

// reportOne analyzes one file with base added to its numbers, the last of which it returns.
func (a *app) reportOne(name string, base int, policies []string) (r *analyze.Report, last int, err error) {
	in, err := a.open(name)
	if err != nil {
		return nil, 0, err
	}
	defer in.Close()
	shifted := func(yield func(*har.Exchange, error) bool) {
		for x, err := range in.all {
			if err == nil {
				moved := *x
				moved.N += base
				x, last = &moved, max(last, moved.N)
			}
			if !yield(x, err) {
				return
			}
		}
	}
	r, err = analyze.Analyze(shifted, analyze.Options{Policies: policies, AllHTTP: true})
	in.reportCut(a.notice)
	return r, last, err
}
