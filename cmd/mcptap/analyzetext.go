package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/analyze"
	"github.com/mcptap/mcptap/har"
)

// A reportText prints a report for a person: conversations with their timeline, then the findings.
type reportText struct {
	*analyze.Report
	quotes map[analyze.Evidence]string
	paint
	strings.Builder
}

func (t *reportText) write(w io.Writer) error {
	for i := range t.Conversations {
		t.conversation(&t.Conversations[i])
	}
	t.outside()
	t.findings()
	_, err := io.WriteString(w, t.String())
	return err
}

// line writes one line; what comes from a recording is made safe.
func (t *reportText) line(format string, args ...any) {
	t.WriteString(oneLine(fmt.Sprintf(format, args...)) + "\n")
}

func (t *reportText) conversation(c *analyze.Conversation) {
	t.WriteString(t.bold(oneLine(fmt.Sprintf("conversation %d: %s with %s over %s", c.ID, clientText(c.Client), serverText(c.Server), c.Transport))) + "\n")
	t.line("endpoint   %s", c.Endpoint)
	if c.Client.Policy != "" {
		t.line("policy     %s: %s", c.Client.Policy, c.Client.Why)
	}
	t.line("observed   %s", observedText(c))
	for _, name := range policyNames(c.Predicted) {
		p := c.Predicted[name]
		assumed := ""
		if p.Assumed {
			assumed = ", steps that were not taken assumed to succeed"
		}
		t.line("predicted  %s: %s, by exchange %d: %s %s%s", name, p.Outcome, p.Exchange, p.Verdict, inBrackets(p.Rule), assumed)
	}
	var rows []*analyze.Exchange
	for i := range t.Exchanges {
		if t.Exchanges[i].Conversation == c.ID {
			rows = append(rows, &t.Exchanges[i])
		}
	}
	t.timeline(rows)
}

// outside lists what belongs to no conversation.
func (t *reportText) outside() {
	var rows []*analyze.Exchange
	for i := range t.Exchanges {
		if t.Exchanges[i].Conversation == 0 {
			rows = append(rows, &t.Exchanges[i])
		}
	}
	switch {
	case len(t.Exchanges) == 0:
		t.line("no exchanges")
	case len(rows) > 0:
		t.WriteString(t.bold("outside any conversation") + "\n")
		t.timeline(rows)
	}
}

// maxColumns is how many policies get a column of their own in a timeline.
const maxColumns = 3

// timeline prints one line per exchange: what it was for, what was answered, and each policy's verdict with the rule.
func (t *reportText) timeline(rows []*analyze.Exchange) {
	verdicts := map[string]analyze.Verdict{}
	for _, x := range rows {
		maps.Copy(verdicts, x.Verdicts)
	}
	policies := policyNames(verdicts)
	heading := append([]string{"n", "class", "method", "answer"}, policies...)
	if len(policies) > maxColumns {
		heading = append(heading[:4], "verdicts")
	}
	cells := make([][]cell, 0, len(rows))
	for _, x := range rows {
		row := []cell{number(strconv.Itoa(x.N)), text(x.Class), text(orDash(x.Observation.RPCMethod)), text(answerText(&x.Observation))}
		if len(policies) > maxColumns {
			row = append(row, text(verdictGroups(x.Verdicts)))
		} else {
			for _, p := range policies {
				v := x.Verdicts[p]
				row = append(row, cell{text: verdictText(v), style: t.verdictStyle(v.Verdict)})
			}
		}
		cells = append(cells, row)
	}
	t.WriteString("\n")
	writeTable(t, t.paint, heading, cells)
	t.WriteString("\n")
}

func verdictText(v analyze.Verdict) string {
	return strings.TrimSpace(v.Verdict + " " + inBrackets(v.Rule))
}

// verdictGroups names each verdict once, with the policies that give it: "timeout (probe/silence): recommended, ts-2.4.0".
func verdictGroups(by map[string]analyze.Verdict) string {
	groups := map[string][]string{}
	var order []string
	for _, p := range policyNames(by) {
		v := verdictText(by[p])
		if groups[v] == nil {
			order = append(order, v)
		}
		groups[v] = append(groups[v], p)
	}
	if len(order) == 1 {
		return order[0] + ": all policies"
	}
	for i, v := range order {
		order[i] = v + ": " + strings.Join(groups[v], ", ")
	}
	return strings.Join(order, "; ")
}

func (t *reportText) verdictStyle(verdict string) func(string) string {
	switch verdict {
	case "delivered", "keep-connected", "clean-close", "post-only", "resume":
		return nil
	case "auth-error", "network-error", "timeout", "negotiation-error", "disconnect":
		return t.red
	}
	if strings.HasPrefix(verdict, "modern@") {
		return nil
	}
	return t.yellow
}

// findings prints what a person should read, the worst first.
func (t *reportText) findings() {
	counts := map[string]int{}
	for _, severity := range severities {
		for i := range t.Findings {
			if f := &t.Findings[i]; f.Severity == severity {
				counts[severity]++
				t.finding(f)
			}
		}
	}
	t.line("%s, %s, %s", count(counts["error"], "error"), count(counts["warning"], "warning"), count(counts["note"], "note"))
}

func (t *reportText) finding(f *analyze.Finding) {
	severity := map[string]func(string) string{"error": t.red, "warning": t.yellow, "note": t.dim}[f.Severity]
	t.WriteString(severity(f.Severity) + " " + oneLine(fmt.Sprintf("%s: %s", f.ID, f.Message)) + "\n")
	t.line("  fault      %s, %s", f.Fault, exchangesText(f.Exchanges))
	if f.Rule != "" {
		t.line("  rule       %s", t.ruleText(f))
	}
	if cost := costText(f.Cost); cost != "" {
		t.line("  cost       %s", cost)
	}
	if f.Fix != "" {
		t.line("  fix        %s", f.Fix)
	}
	for _, e := range f.Evidence {
		t.line("  evidence   exchange %d, %s, %d bytes at %d: %s", e.Exchange, e.Side, e.Length, e.Offset, t.quotes[e])
	}
	t.WriteString("\n")
}

// ruleText is a finding's rule with its source, as far as a verdict on one of its exchanges tells it.
func (t *reportText) ruleText(f *analyze.Finding) string {
	for i := range t.Exchanges {
		x := &t.Exchanges[i]
		if !slices.Contains(f.Exchanges, x.N) {
			continue
		}
		for _, p := range policyNames(x.Verdicts) {
			if v := x.Verdicts[p]; v.Rule == f.Rule && v.Source != "" {
				return fmt.Sprintf("%s (%s, %s)", v.Rule, v.Source, v.Level)
			}
		}
	}
	return f.Rule
}

// policyNames lists the names of a map by policy, recommended first.
func policyNames[V any](by map[string]V) []string {
	names := slices.Sorted(maps.Keys(by))
	if i := slices.Index(names, analyze.Recommended); i > 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, analyze.Recommended)
	}
	return names
}

// quotes reads the files once more and cuts out the bytes that the findings point to.
func (a *app) quotes(r *analyze.Report, files []numbered) (map[analyze.Evidence]string, error) {
	wanted := map[int][]analyze.Evidence{}
	for i := range r.Findings {
		for _, e := range r.Findings[i].Evidence {
			wanted[e.Exchange] = append(wanted[e.Exchange], e)
		}
	}
	quotes := map[analyze.Evidence]string{}
	for _, f := range files {
		in, err := a.open(f.name)
		if err != nil {
			return nil, err
		}
		for x, err := range in.all {
			if err != nil || len(wanted) == 0 {
				break
			}
			for _, e := range wanted[x.N+f.base] {
				quotes[e] = quote(x, e)
			}
			delete(wanted, x.N+f.base)
		}
		in.Close()
	}
	return quotes, nil
}

// quote shows the bytes of an exchange that a piece of evidence names.
func quote(x *har.Exchange, e analyze.Evidence) string {
	raw := x.Response.Raw
	if e.Side == "request" {
		raw = x.Request.Raw
	}
	if e.Offset < 0 || e.Length < 0 || e.Offset+e.Length > len(raw) {
		return "not in the recording"
	}
	return excerpt(raw[e.Offset:e.Offset+e.Length], 120)
}
