package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/analyze"
	"github.com/mcptap/mcptap/har"
)

type analyzeOptions struct {
	policies, failOn, only []string
	client, format, out    string
}

// A format writes a report in one way.
type format struct {
	name   string
	write  func(*app, io.Writer, *document) error
	quotes bool // it shows bytes of the recording
}

// formats are those of --format; the first is the default.
var formats = []format{
	{"text", writeText, true},
	{"json", writeJSON, false},
	{"junit", writeJUnit, true},
	{"sarif", writeSARIF, true},
	{"github", writeGitHub, true},
	{"markdown", writeMarkdown, true},
	{"html", writeHTML, true},
}

func formatNames() []string {
	var names []string
	for i := range formats {
		names = append(names, formats[i].name)
	}
	return names
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

--format: text for people; json for programs; junit and sarif for what reads those; github for a workflow's log, with the
step summary where GITHUB_STEP_SUMMARY names a file; markdown to paste into an issue; html as one page without scripts.
--only takes finding IDs, exchanges (3, 3-7) and conversations (c1), several with commas: what is at none of the places,
or has none of the IDs, is left out, of the exit code too; where nothing is left, the exit code is 2.
Exit code 1: a finding reaches --fail-on.`,
		Example: `  mcptap analyze session.mcptap
  mcptap analyze session.mcptap --policy recommended,ts-2.4.0 --fail-on warning
  mcptap analyze *.mcptap --policy all --format json --out report.json
  mcptap analyze session.mcptap --format markdown --only 4,probe-reply-id-null
  mcptap analyze session.mcptap --client ts-2.4.0 --fail-on warning,reconnect-loop`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(c, "want at least one FILE")
			}
			i := slices.Index(formatNames(), o.format)
			if i < 0 {
				return usage(c, "--format %s: want one of %s", o.format, strings.Join(formatNames(), ", "))
			}
			return a.analyze(args, &o, &formats[i])
		},
	}
	f := c.Flags()
	f.StringSliceVar(&o.policies, "policy", nil, "`POLICIES` to judge by, or all (default recommended and the recognised client's)")
	f.StringVar(&o.client, "client", "", "judge as if every client were this `POLICY`'s, or that of a library: "+strings.Join(analyze.SDKs(), ", "))
	f.StringSliceVar(&o.only, "only", nil, "report only these `THINGS`: finding IDs, exchanges as 3 or 3-7, conversations as c1")
	f.StringVar(&o.format, "format", formats[0].name, "`FORMAT`: "+strings.Join(formatNames(), ", "))
	f.StringSliceVar(&o.failOn, "fail-on", []string{"error"}, "findings that give exit code 1: a `SEVERITY` (error, warning, note) and above, IDs, or never")
	f.StringVar(&o.out, "out", "", "`FILE` to write to, which must not exist (default stdout)")
	complete(c, "policy", completePolicies("all"))
	complete(c, "client", completePolicies(analyze.SDKs()...))
	complete(c, "format", completeList(formatNames))
	complete(c, "only", completeList(analyze.FindingIDs))
	complete(c, "fail-on", completeList(func() []string { return append(slices.Clone(severities), append(analyze.FindingIDs(), "never")...) }))
	return c
}

func (a *app) analyze(names []string, o *analyzeOptions, f *format) error {
	fails, err := failing(o.failOn)
	if err != nil {
		return err
	}
	only, err := parseSelection(o.only)
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
	d, err := a.document(names, analyze.Options{Policies: o.policies, Client: o.client, AllHTTP: true})
	if err != nil {
		return err
	}
	d.fails = fails
	if err := only.apply(d.Report); err != nil {
		return err
	}
	if f.quotes {
		if err := a.quote(d); err != nil {
			return err
		}
	}
	if err := a.writeTo(o.out, func(w io.Writer) error { return f.write(a, w, d) }); err != nil {
		return err
	}
	if slices.ContainsFunc(worstFirst(d.Report), fails) {
		return exit(codeFailed)
	}
	return nil
}

// indented writes a value as JSON for programs that a person may look at, too.
func indented(w io.Writer, value any) error {
	enc := json.NewEncoder(jsonSafe{w})
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

// A numbered file is one of several whose exchanges are numbered on: base is added to their own numbers.
type numbered struct {
	name string
	base int
}

// document analyzes files one by one and joins the reports: exchanges and conversations are numbered on.
func (a *app) document(names []string, o analyze.Options) (*document, error) {
	d := &document{version: version()}
	base, conversations := 0, 0
	for _, name := range names {
		r, last, err := a.reportOne(name, base, o)
		if err != nil {
			return nil, nameTrouble(err)
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
		d.files = append(d.files, numbered{name, base})
		base, conversations = max(base, last), conversations+len(r.Conversations)
		if d.Report == nil {
			d.Report = r
			continue
		}
		d.Conversations = append(d.Conversations, r.Conversations...)
		d.Exchanges = append(d.Exchanges, r.Exchanges...)
		d.Findings = append(d.Findings, r.Findings...)
	}
	return d, nil
}

// reportOne analyzes one file with base added to its numbers, the last of which it returns.
func (a *app) reportOne(name string, base int, o analyze.Options) (r *analyze.Report, last int, err error) {
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
	r, err = analyze.Analyze(shifted, o)
	in.reportCut(a.notice)
	var limit *analyze.LimitError
	if errors.As(err, &limit) {
		err = &trouble{fmt.Errorf("%s: %w, which is as many as are analyzed at once", name, err), "analyze recordings of parts of the session"}
	}
	return r, last, err
}
