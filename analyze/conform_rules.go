package analyze

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// A ConformanceRule is one sentence of the specification that a passive observer can check, as shapes/rules.json has it.
type ConformanceRule struct {
	ID       string `json:"id"`
	Level    string `json:"level"` // MUST, SHOULD
	In       string `json:"in"`    // from and until which revision; "": all
	Severity string `json:"severity,omitempty"`
	Fault    string `json:"fault"`
	Section  string `json:"section"`
	Rule     string `json:"rule"`
	Message  string `json:"message,omitempty"`
	Fix      string `json:"fix,omitempty"`
	Finding  string `json:"finding,omitempty"` // the finding that reports a breach, where it is not one of the rule's own

	in set
}

// FindingID is the finding that reports a breach of the rule.
func (r *ConformanceRule) FindingID() string {
	if r.Finding != "" {
		return r.Finding
	}
	return strings.Replace(r.ID, "/", "-", 1)
}

// Revisions lists the revisions in which the rule holds.
func (r *ConformanceRule) Revisions() []string { return revisionsIn(r.in) }

func revisionsIn(in set) []string {
	var list []string
	for i, name := range revisionNames {
		if in&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	return list
}

// severity follows the level: what a MUST forbids is a warning, the rest a note.
func (r *ConformanceRule) severity() string {
	switch {
	case r.Severity != "":
		return r.Severity
	case r.Level == "MUST":
		return warning
	}
	return note
}

var conformanceRules = sync.OnceValue(func() []ConformanceRule {
	rules, err := parseConformanceRules(shapeFile("rules.json"))
	if err != nil {
		panic("analyze: shapes: " + err.Error()) // the file is part of the program, and a test reads it
	}
	return rules
})

// ConformanceRules lists the rules of message conformance, by ID. A rule whose level differs between revisions stands
// there once for each.
func ConformanceRules() []ConformanceRule { return slices.Clone(conformanceRules()) }

func parseConformanceRules(text []byte) ([]ConformanceRule, error) {
	var rules []ConformanceRule
	if err := json.Unmarshal(text, &rules); err != nil {
		return nil, err
	}
	var p tableParser
	for i := range rules {
		r := &rules[i]
		r.in = p.revisions(strings.Fields(r.In), r.ID)
		if !strings.HasPrefix(r.ID, "conform/") || r.Level != "MUST" && r.Level != "SHOULD" || r.Rule == "" || (r.Message == "") == (r.Finding == "") {
			return nil, fmt.Errorf("rules.json: %s: want an ID conform/…, a level, a rule, and a message or a finding", r.ID)
		}
	}
	slices.SortStableFunc(rules, func(a, b ConformanceRule) int { return strings.Compare(a.ID, b.ID) })
	return rules, p.err
}

// nonconforming is the finding of a message that departs from its shape.
var nonconforming = template{"nonconforming-message", warning, byNobody, "what {method} carries departs from the message shapes of its revision", "write the message as the section named in the message has it"}

// conformanceTemplates are what findings of conformance say, for the list of findings.
func conformanceTemplates() []template {
	list := []template{nonconforming}
	for _, r := range conformanceRules() {
		if r.Finding == "" {
			list = append(list, template{r.FindingID(), r.severity(), r.Fault, r.Message, r.Fix})
		}
	}
	return list
}
