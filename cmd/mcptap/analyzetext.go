package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/analyze"
)

// A reportText prints a report for a person: conversations with their timeline, then the findings.
type reportText struct {
	*document
	paint
	*bufio.Writer
}

func writeText(a *app, w io.Writer, d *document) error {
	t := &reportText{document: d, paint: a.paint(w), Writer: bufio.NewWriterSize(w, 1<<15)}
	for i := range t.Conversations {
		t.conversation(&t.Conversations[i])
	}
	t.outside()
	for _, f := range worstFirst(d.Report) {
		t.finding(f)
	}
	t.line("%s", countText(d.Report))
	return t.Flush()
}

// line writes one line; what comes from a recording is made safe.
func (t *reportText) line(format string, args ...any) {
	t.WriteString(oneLine(fmt.Sprintf(format, args...)) + "\n")
}

func (t *reportText) conversation(c *analyze.Conversation) {
	t.WriteString(t.bold(oneLine(fmt.Sprintf("conversation %d: %s with %s over %s", c.ID, clientText(c.Client), serverText(c.Server), c.Transport))) + "\n")
	t.line("endpoint   %s", c.Endpoint)
	if c.Client.Policy != "" {
		t.line("policy     %s%s: %s", c.Client.Policy, unsureText(c.Client.Confidence), c.Client.Why)
	}
	t.line("observed   %s", observedText(c))
	for _, name := range policyNames(c.Predicted) {
		t.line("predicted  %s: %s", name, predictionText(c.Predicted[name]))
	}
	for _, outcome := range []analyze.Outcome{analyze.Modern, analyze.Legacy, analyze.Failed} {
		if names := c.Others[outcome]; len(names) > 0 {
			t.line("others     %s: %s", outcome, listed(names, 8))
		}
	}
	sentences, more := t.courseText(c)
	for _, s := range sentences {
		t.line("then       %s", s)
	}
	if more > 0 {
		t.line("           %d more like these: --format json has all", more)
	}
	t.timeline(t.of(c.ID))
}

// outside lists what belongs to no conversation.
func (t *reportText) outside() {
	rows := t.of(0)
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
	heading := append([]string{"n", "at", "took", "class", "method", "answer"}, policies...)
	if len(policies) > maxColumns {
		heading = append(heading[:6], "verdicts")
	}
	row := make([]cell, len(heading))
	t.WriteString("\n")
	writeRows(t, t.paint, heading, len(rows), func(i int) []cell {
		x := rows[i]
		o := x.Observation()
		copy(row, []cell{number(strconv.Itoa(x.N)), number(millisText(x.At)), number(millisText(o.Duration)), text(x.Class), text(orDash(o.RPCMethod)), text(answerText(o))})
		if len(policies) > maxColumns {
			row[6] = text(verdictGroups(x.Verdicts))
			return row
		}
		for j, p := range policies {
			v := x.Verdicts[p]
			row[6+j] = cell{text: verdictText(v), style: t.verdictStyle(v.Verdict)}
		}
		return row
	})
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
func (d *document) ruleText(f *analyze.Finding) string {
	for i := range d.Exchanges {
		x := &d.Exchanges[i]
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
