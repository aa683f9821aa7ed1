package main

import (
	"strconv"

	"github.com/mcptap/mcptap/analyze"
)

// A policyRow is what `rules --policies` says of one policy.
type policyRow struct {
	Name  string `json:"policy"`
	Title string `json:"title"`
	Base  string `json:"base,omitempty"`
	Own   int    `json:"own"`   // rules that the base does not have so; without a base, all
	Rules int    `json:"rules"` // all
}

// policies prints the names of all policies with what they build upon.
func (a *app) policies(asJSON bool) error {
	rows := []policyRow{}
	for _, p := range analyze.Policies() {
		rows = append(rows, policyRow{p.Name, p.Title, p.Base, len(p.Own()), len(p.Rules)})
	}
	if asJSON {
		return indented(a.stdout, rows)
	}
	cells := make([][]cell, 0, len(rows))
	for _, r := range rows {
		cells = append(cells, []cell{text(r.Name), text(orDash(r.Base)), number(strconv.Itoa(r.Own)), number(strconv.Itoa(r.Rules)), text(r.Title)})
	}
	return writeTable(a.stdout, a.paint(a.stdout), []string{"policy", "inherits from", "own", "rules", "title"}, cells)
}

// policy finds a policy by its name.
func (a *app) policy(name string) (*analyze.Policy, error) {
	for _, p := range analyze.Policies() {
		if p.Name == name {
			return p, nil
		}
	}
	return nil, nameTrouble(analyze.UnknownPolicy(name))
}
