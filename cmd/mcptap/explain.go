package main

import (
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/analyze"
	"github.com/mcptap/mcptap/har"
)

type explainOptions struct {
	policies []string
	client   string
	json     bool
}

func (a *app) explainCommand() *cobra.Command {
	var o explainOptions
	c := &cobra.Command{
		Use:   "explain FILE N",
		Short: "say row by row how policies come to their verdict on an exchange",
		Long: `Explain traces the verdicts on exchange N: which rules were tried, which condition of each failed, what it wanted and
what was found, which rule decided, and the bytes that prove the facts. FILE may be -, corpus:NAME, or what import reads:
a packet capture or HAR.`,
		Example: `  mcptap explain session.mcptap 1
  mcptap explain session.mcptap 1 --policy recommended,ts-2.4.0 --json`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage(c, "want FILE N, got %d arguments", len(args))
			}
			n, err := strconv.Atoi(args[1])
			if err != nil || n < 1 {
				return usage(c, "%s: want N, the number of an exchange, from 1", args[1])
			}
			return a.explain(args[0], n, &o)
		},
	}
	f := c.Flags()
	f.StringSliceVar(&o.policies, "policy", nil, "`POLICIES` to explain, or all (default recommended and the recognised client's)")
	f.StringVar(&o.client, "client", "", "explain as if the client were this `POLICY`'s, or that of a library: "+strings.Join(analyze.SDKs(), ", "))
	f.BoolVar(&o.json, "json", false, "one JSON object with every condition of every rule that was tried")
	complete(c, "policy", completePolicies("all"))
	complete(c, "client", completePolicies(analyze.SDKs()...))
	return c
}

func (a *app) explain(name string, n int, o *explainOptions) error {
	if name == stdio {
		remove, err := a.spool()
		if err != nil {
			return err
		}
		defer remove()
	}
	in, err := a.open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	e, ok, err := analyze.Explain(in.all, n, analyze.Options{Policies: o.policies, Client: o.client, AllHTTP: true})
	in.reportCut(a.notice)
	switch {
	case err != nil:
		return nameTrouble(err)
	case !ok:
		return noExchange(name, n)
	case o.json:
		return indented(a.stdout, e)
	}
	t := &explainText{Explanation: e, quotes: map[analyze.Evidence]string{}, paint: a.paint(a.stdout)}
	wanted := map[int]bool{}
	for at := range t.proofs() {
		wanted[at.Exchange] = true
	}
	if err := a.visit([]numbered{{name, 0}}, wanted, t.quote); err != nil {
		return err
	}
	t.write()
	_, err = io.WriteString(a.stdout, t.String())
	return err
}

// An explainText prints an explanation for a person.
type explainText struct {
	*analyze.Explanation
	quotes map[analyze.Evidence]string
	paint
	strings.Builder
}

func (t *explainText) line(format string, args ...any) {
	t.WriteString(oneLine(fmt.Sprintf(format, args...)) + "\n")
}

func (t *explainText) write() {
	x := &t.Exchange
	t.WriteString(t.bold(oneLine(fmt.Sprintf("exchange %d: %s %s", x.N, x.Class, x.Observation().RPCMethod))) + "\n")
	t.line("answer     %s", answerText(x.Observation()))
	if t.Client.Policy != "" {
		t.line("client     %s: %s", t.Client.Policy, t.Client.Why)
	}
	if len(t.Traces) == 0 {
		t.line("no policy speaks of an exchange that is no step of MCP")
	}
	for i := range t.Traces {
		t.trace(&t.Traces[i])
	}
}

func (t *explainText) trace(tr *analyze.Trace) {
	v := tr.Verdict
	t.WriteString("\n" + t.bold(oneLine(tr.Policy+": "+verdictText(v))) + "\n")
	t.line("why        %s", v.Why)
	if v.Source != "" {
		t.line("source     %s (%s)", v.Source, v.Level)
	}
	if v.Error != "" {
		t.line("error      the caller gets: %s", v.Error)
	}
	if tr.Reader != "" {
		t.line("reader     answers are taken apart as %s does", tr.Reader)
	}
	for i := range tr.Rows {
		t.row(&tr.Rows[i])
	}
	passed := count(tr.Others, "rule") + " for other classes"
	if tr.HTTP > 0 {
		passed += fmt.Sprintf(" and %d for HTTP", tr.HTTP)
	}
	t.line("           %s passed over, %s behind not tried", passed, count(tr.Left, "rule"))
}

// row prints a rule that was tried: one that does not match in one line with the conditions that failed, else all of them
// with the bytes.
func (t *explainText) row(r *analyze.TraceRow) {
	mark := map[string]string{"match": "matches    ", "no-match": "no         ", "cannot-tell": "cannot say "}[r.Result]
	if r.Result == "no-match" {
		var failed []string
		for _, c := range r.Conditions {
			if c.Holds != nil && !*c.Holds {
				failed = append(failed, conditionText(c))
			}
		}
		t.line("%s%s, %s: %s", mark, r.Rule, r.Verdict, strings.Join(failed, "; "))
		return
	}
	t.WriteString(t.bold(oneLine(mark+r.Rule+", "+r.Verdict)) + "\n")
	for _, c := range r.Conditions {
		holds := "cannot tell"
		if c.Holds != nil {
			holds = map[bool]string{true: "holds", false: "fails"}[*c.Holds]
		}
		t.line("           %s: %s", holds, conditionText(c))
		for _, e := range c.Evidence {
			t.line("             exchange %d, %s, %d bytes at %d: %s", e.Exchange, e.Side, e.Length, e.Offset, t.quotes[e])
		}
	}
}

// maxWant is how much is shown of what a condition wants, in characters; --json has all.
const maxWant = 80

func conditionText(c analyze.Condition) string {
	return fmt.Sprintf("%s is %s, want %s", strings.ReplaceAll(c.Name, "_", " "), c.Found, clip(c.Want, maxWant))
}

// proofs are the pieces of evidence that are shown.
func (t *explainText) proofs() iter.Seq[analyze.Evidence] {
	return func(yield func(analyze.Evidence) bool) {
		for _, tr := range t.Traces {
			for _, r := range tr.Rows {
				for _, c := range r.Conditions {
					for _, e := range c.Evidence {
						if r.Result != "no-match" && !yield(e) {
							return
						}
					}
				}
			}
		}
	}
}

// quote keeps the bytes of exchange n that are shown.
func (t *explainText) quote(n int, x *har.Exchange) {
	for e := range t.proofs() {
		if e.Exchange == n {
			t.quotes[e] = quoteBytes(x, e)
		}
	}
}
