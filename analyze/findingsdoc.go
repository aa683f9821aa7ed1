package analyze

import (
	"fmt"
	"slices"
	"strings"
)

// findingRows are the rows of the pull requests that findings without one rule of their own speak of.
var findingRows = map[string]string{
	"answer-too-late":                 "A20",
	"probe-auth-inconsistent":         "A17",
	"reconnect-loop":                  "B1 B2 B3 B4 B5 B6 B7 B8 B9 B10 B11",
	"session-call-not-repeated":       "C1",
	"session-expired":                 "C1 C2",
	"session-inconsistent":            "C1",
	"session-loss-misreported":        "C1",
	"session-not-renewed":             "C1 C2",
	"session-renewed-with-old-id":     "C1",
	"session-repeated-more-than-once": "C3",
	"session-retry-failed":            "C3",
}

// A findingRow is what docs/findings.md says of one ID; a cell has all that the templates of the ID say.
type findingRow struct {
	id                                          string
	severity, fault, message, fix, rules, cases []string
}

// FindingsMarkdown is docs/findings.md: every finding that a report can have. A test holds the file against it.
func FindingsMarkdown() string {
	var b strings.Builder
	b.WriteString(`# Findings

Generated from the tables in analyze/finding*.go; do not edit.

A finding is what a person should read of a recording: whose fault it is, what it cost, what to do, and the bytes that
prove it. Its ID lasts; ` + "`mcptap analyze --fail-on ID`" + ` makes one the reason for exit code 1. An error is wrong and had a
consequence, or will have one with some client; a warning is wrong or costs something; a note is worth knowing. A finding
over which the client failed to connect is an error whatever its severity here. Words in capitals stand for what was
recorded. Rules are those of the policy ` + "`recommended`" + ` that a finding stands for; rows are those of typescript-sdk #2571 (A),
qwen-code #12500 (B) and gateway #20 (C).

| finding | severity | fault | what it means | what to do | rules | rows |
|---|---|---|---|---|---|---|
`)
	for _, r := range findingTable() {
		cell := func(list []string, between string) string {
			return strings.ReplaceAll(strings.Join(list, between), "|", "\\|")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s |\n", r.id, cell(r.severity, ", "), cell(r.fault, ", "),
			cell(r.message, "<br>"), cell(r.fix, "<br>"), cell(r.rules, " "), cell(r.cases, " "))
	}
	return b.String()
}

// findingTable gathers the templates by ID, sorted.
func findingTable() []*findingRow {
	byID := map[string]*findingRow{}
	more := func(list *[]string, s string) {
		if s != "" && !slices.Contains(*list, s) {
			*list = append(*list, s)
		}
	}
	take := func(t *template) *findingRow {
		r := byID[t.id]
		if r == nil {
			r = &findingRow{id: t.id}
			byID[t.id] = r
			for row := range strings.FieldsSeq(findingRows[t.id]) {
				more(&r.cases, row)
			}
		}
		more(&r.severity, t.severity)
		more(&r.fault, t.fault)
		more(&r.message, capitals(t.message))
		more(&r.fix, t.fix)
		return r
	}
	p := policies().byName[Recommended]
	for _, x := range slices.Concat(ruleFindings, besideFindings) {
		r := take(&x.template)
		more(&r.rules, "`"+x.rule+"`")
		if i := slices.IndexFunc(p.Rules, func(rule Rule) bool { return rule.ID == x.rule }); i >= 0 {
			for _, row := range p.Rules[i].Cases {
				more(&r.cases, row)
			}
		}
	}
	for i := range otherFindings {
		take(&otherFindings[i])
	}
	for i := range stdioFindings {
		take(&stdioFindings[i])
	}
	for _, u := range unreachableBy {
		more(&byID["server-unreachable"].message, u.message)
		more(&byID["server-unreachable"].fix, u.fix)
	}
	take(&narrowAccept)
	take(&markedStream)
	take(&headBrokenOff)
	for i := range notHTTPBy {
		take(&notHTTPBy[i])
	}
	for i := range requestNotHTTPBy[alienTLS:] {
		take(&requestNotHTTPBy[int(alienTLS)+i])
	}
	for _, t := range conformanceTemplates() {
		take(&t)
	}
	for _, x := range conformanceRules() {
		more(&byID[x.FindingID()].rules, "`"+x.ID+"`")
	}
	var table []*findingRow
	for _, id := range FindingIDs() {
		table = append(table, byID[id])
	}
	return table
}

// capitals writes the words in braces of a template in capitals.
func capitals(text string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "{")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		name, after, _ := strings.Cut(rest, "}")
		b.WriteString(strings.ToUpper(name))
		text = after
	}
}
