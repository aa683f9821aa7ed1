package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/mcptap/mcptap/analyze"
)

// conformPrefix begins the IDs of conformance rules; without the slash it stands for all of them.
const conformPrefix = "conform/"

// conformance prints the rules of message conformance: all as a table, or one in full.
func (a *app) conformance(id string) error {
	rules := analyze.ConformanceRules()
	if id+"/" == conformPrefix {
		return a.conformanceTable(rules)
	}
	var b strings.Builder
	for i := range rules {
		r := &rules[i]
		if r.ID != id {
			continue
		}
		if b.Len() == 0 {
			b.WriteString(a.paint(a.stdout).bold(id) + "\n")
		}
		b.WriteString("\n")
		for _, line := range [][2]string{{"rule", r.Rule}, {"level", r.Level}, {"revisions", strings.Join(r.Revisions(), ", ")},
			{"fault", r.Fault}, {"section", r.Section}, {"finding", r.FindingID()}, {"fix", r.Fix}} {
			if line[1] != "" {
				fmt.Fprintf(&b, "%-10s %s\n", line[0], line[1])
			}
		}
	}
	if b.Len() == 0 {
		return &trouble{fmt.Errorf("no rule %q", id), "see mcptap rules conform"}
	}
	_, err := io.WriteString(a.stdout, b.String())
	return err
}

func (a *app) conformanceTable(rules []analyze.ConformanceRule) error {
	var b strings.Builder
	rows := make([][]cell, 0, len(rules))
	for i := range rules {
		r := &rules[i]
		revisions := r.Revisions()
		rows = append(rows, []cell{text(r.ID), text(r.Level), text(revisions[0] + " to " + revisions[len(revisions)-1]), text(r.Rule)})
	}
	writeTable(&b, a.paint(a.stdout), []string{"rule", "level", "revisions", "what it says"}, rows)
	_, err := io.WriteString(a.stdout, b.String())
	return err
}
