package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/analyze"
)

// A difference is a rule on which two policies differ. Places count from 1 within each policy; 0 and no verdict: it has
// no such rule.
type difference struct {
	Rule string     `json:"rule"`
	What []string   `json:"differs"` // missing, order, when, verdict, error
	X    ruleAspect `json:"x"`
	Y    ruleAspect `json:"y"`
}

type ruleAspect struct {
	Place   int           `json:"place"`
	Verdict string        `json:"verdict,omitempty"`
	Error   string        `json:"error,omitempty"`
	When    *analyze.When `json:"when,omitempty"`
}

// A comparison is what `rules --compare X,Y --json` prints.
type comparison struct {
	X           string       `json:"x"`
	Y           string       `json:"y"`
	Equal       bool         `json:"equal"`
	Settings    []setting    `json:"settings"` // beside the rules, where they differ
	Differences []difference `json:"differences"`
}

// A setting is something beside the rules on which two policies differ.
type setting struct {
	Name string `json:"name"` // as policy files spell it
	X    string `json:"x"`
	Y    string `json:"y"`
}

// settings lists what two policies state differently beside their rules.
func settings(x, y *analyze.Policy) []setting {
	list := []setting{}
	for _, s := range []setting{
		{"modern", strings.Join(x.Modern, ", "), strings.Join(y.Modern, ", ")},
		{"legacy", strings.Join(x.Legacy, ", "), strings.Join(y.Legacy, ", ")},
		{"takes_reset_as_end", strconv.FormatBool(x.TakesResetAsEnd), strconv.FormatBool(y.TakesResetAsEnd)},
		{"reader", x.Reader, y.Reader},
		{"stream_first", strconv.FormatBool(x.StreamFirst), strconv.FormatBool(y.StreamFirst)},
		{"probe_wait_ms", strconv.Itoa(x.Probe), strconv.Itoa(y.Probe)},
		{"request_wait_ms", strconv.Itoa(x.Request), strconv.Itoa(y.Request)},
	} {
		if s.X != s.Y {
			list = append(list, s)
		}
	}
	return list
}

// compare lists the rules on which two policies differ, in the order of x, then those that only y has.
func compare(x, y *analyze.Policy) comparison {
	c := comparison{X: x.Name, Y: y.Name, Settings: settings(x, y), Differences: []difference{}}
	moved := outOfOrder(x, y)
	for i := range x.Rules {
		r := &x.Rules[i]
		d := difference{Rule: r.ID, X: aspectOf(r, i)}
		j := placeOf(y, r.ID)
		if j < 0 {
			d.What = []string{"missing"}
		} else {
			d.Y = aspectOf(&y.Rules[j], j)
			d.What = differing(r, &y.Rules[j])
			if moved[r.ID] {
				d.What = append([]string{"order"}, d.What...)
			}
		}
		if len(d.What) > 0 {
			c.Differences = append(c.Differences, d)
		}
	}
	for j := range y.Rules {
		if r := &y.Rules[j]; placeOf(x, r.ID) < 0 {
			c.Differences = append(c.Differences, difference{Rule: r.ID, What: []string{"missing"}, Y: aspectOf(r, j)})
		}
	}
	c.Equal = len(c.Differences)+len(c.Settings) == 0
	return c
}

func aspectOf(r *analyze.Rule, place int) ruleAspect {
	return ruleAspect{place + 1, r.Verdict, r.Error, r.When}
}

func placeOf(p *analyze.Policy, id string) int {
	return slices.IndexFunc(p.Rules, func(r analyze.Rule) bool { return r.ID == id })
}

// differing names what two rules of one ID say differently, as far as it changes what a client does.
func differing(a, b *analyze.Rule) []string {
	var what []string
	if whenText(a) != whenText(b) {
		what = append(what, "when")
	}
	if a.Verdict != b.Verdict || a.Tentative != b.Tentative {
		what = append(what, "verdict")
	}
	if a.Error != b.Error {
		what = append(what, "error")
	}
	return what
}

func whenText(r *analyze.Rule) string {
	text, err := json.Marshal(r.When)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// outOfOrder finds the rules of both that stand in another order: those outside the longest run that both have alike.
func outOfOrder(x, y *analyze.Policy) map[string]bool {
	var at []int // places in y, in the order of x
	var ids []string
	for i := range x.Rules {
		if j := placeOf(y, x.Rules[i].ID); j >= 0 {
			at, ids = append(at, j), append(ids, x.Rules[i].ID)
		}
	}
	length, before := make([]int, len(at)), make([]int, len(at))
	last := -1
	for i := range at {
		length[i], before[i] = 1, -1
		for k := range i {
			if at[k] < at[i] && length[k] >= length[i] {
				length[i], before[i] = length[k]+1, k
			}
		}
		if last < 0 || length[i] > length[last] {
			last = i
		}
	}
	moved := map[string]bool{}
	for _, id := range ids {
		moved[id] = true
	}
	for ; last >= 0; last = before[last] {
		delete(moved, ids[last])
	}
	return moved
}

// maxSide is how wide one policy's side of the table is, in characters.
const maxSide = 70

// compareRules prints the rules on which two policies differ, side by side.
func (a *app) compareRules(names []string, asJSON bool) error {
	x, err := a.policy(names[0])
	if err != nil {
		return err
	}
	y, err := a.policy(names[1])
	if err != nil {
		return err
	}
	c := compare(x, y)
	if asJSON {
		return indented(a.stdout, c)
	}
	if c.Equal {
		_, err := fmt.Fprintf(a.stdout, "%s and %s judge alike, by %s\n", x.Name, y.Name, count(len(x.Rules), "rule"))
		return err
	}
	var b strings.Builder
	p := a.paint(a.stdout)
	cells := make([][]cell, 0, len(c.Differences))
	for _, s := range c.Settings {
		cells = append(cells, []cell{text(s.Name), text("setting"), text(orDash(s.X)), text(orDash(s.Y))})
	}
	for _, d := range c.Differences {
		cells = append(cells, []cell{text(d.Rule), text(strings.Join(d.What, ", ")), text(clip(d.X.side(d.What), maxSide)), text(clip(d.Y.side(d.What), maxSide))})
	}
	writeTable(&b, p, []string{"rule", "differs", x.Name, y.Name}, cells)
	fmt.Fprintf(&b, "\n%s between %d and %d rules; mcptap rules ID has each rule in full\n", count(len(c.Differences)+len(c.Settings), "difference"), len(x.Rules), len(y.Rules))
	_, err = io.WriteString(a.stdout, b.String())
	return err
}

// side puts one policy's side of a difference into words.
func (r *ruleAspect) side(what []string) string {
	if r.Place == 0 {
		return "-"
	}
	s := r.Verdict
	if slices.Contains(what, "order") || slices.Contains(what, "missing") {
		s = strconv.Itoa(r.Place) + ". " + s
	}
	if slices.Contains(what, "when") {
		s += " when " + r.When.Words()
	}
	if slices.Contains(what, "error") && r.Error != "" {
		s += " (" + r.Error + ")"
	}
	return s
}
