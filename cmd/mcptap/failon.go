package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/analyze"
)

// severities, the worst first.
var severities = []string{"error", "warning", "note"}

// failing gives the test that --fail-on names: a severity and what is worse, IDs of findings, or never.
func failing(words []string) (func(*analyze.Finding) bool, error) {
	limit := -1
	var ids []string
	for _, on := range words {
		at := slices.Index(severities, on)
		switch {
		case on == "never" && len(words) == 1:
		case on == "never":
			return nil, fmt.Errorf("--fail-on %s: never stands alone", strings.Join(words, ","))
		case at >= 0:
			limit = max(limit, at)
		case slices.Contains(analyze.FindingIDs(), on):
			ids = append(ids, on)
		default:
			return nil, &trouble{fmt.Errorf("--fail-on %s: want error, warning, note, never or the ID of a finding", on), nearID(on)}
		}
	}
	return func(f *analyze.Finding) bool {
		return slices.Index(severities, f.Severity) <= limit || slices.Contains(ids, f.ID)
	}, nil
}

// nearID hints at the IDs of findings that are like a word that is none.
func nearID(word string) string {
	if near := analyze.Near(word, analyze.FindingIDs()); len(near) > 0 {
		return "did you mean " + strings.Join(near, " or ") + "? docs/findings.md lists all"
	}
	return "IDs: " + strings.Join(analyze.FindingIDs(), ", ")
}

// worstFirst lists the findings of a report by severity, those of one severity in the report's order.
func worstFirst(r *analyze.Report) []*analyze.Finding {
	var list []*analyze.Finding
	for _, severity := range severities {
		for i := range r.Findings {
			if f := &r.Findings[i]; f.Severity == severity {
				list = append(list, f)
			}
		}
	}
	return list
}

// countText sums findings up: "1 error, 0 warnings, 2 notes".
func countText(r *analyze.Report) string {
	var words []string
	for _, severity := range severities {
		n := 0
		for i := range r.Findings {
			if r.Findings[i].Severity == severity {
				n++
			}
		}
		words = append(words, count(n, severity))
	}
	return strings.Join(words, ", ")
}
