package main

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mcptap/mcptap/analyze"
)

func TestCompare(t *testing.T) {
	rule := func(id, verdict string, class ...string) analyze.Rule {
		return analyze.Rule{ID: id, Verdict: verdict, When: &analyze.When{Class: class}}
	}
	x := &analyze.Policy{Name: "x", Rules: []analyze.Rule{rule("a", "timeout", "probe"), rule("b", "timeout", "probe"), rule("c", "timeout", "probe"), rule("d", "timeout", "probe")}}
	with := func(change func(p *analyze.Policy)) *analyze.Policy {
		p := &analyze.Policy{Name: "y", Rules: slices.Clone(x.Rules)}
		change(p)
		return p
	}
	tests := []struct {
		name string
		y    *analyze.Policy
		want []string
	}{
		{"equal", with(func(*analyze.Policy) {}), nil},
		{"verdict", with(func(p *analyze.Policy) { p.Rules[1].Verdict = "disconnect" }), []string{"b [verdict] 2 2"}},
		{"conditions", with(func(p *analyze.Policy) { p.Rules[1].When = &analyze.When{Class: []string{"request"}} }), []string{"b [when] 2 2"}},
		{"error", with(func(p *analyze.Policy) { p.Rules[1].Error = "E" }), []string{"b [error] 2 2"}},
		{"moved to the end", with(func(p *analyze.Policy) { p.Rules = append(slices.Delete(p.Rules, 0, 1), x.Rules[0]) }), []string{"a [order] 1 4"}},
		{"only in x", with(func(p *analyze.Policy) { p.Rules = slices.Delete(p.Rules, 2, 3) }), []string{"c [missing] 3 0"}},
		{"only in y", with(func(p *analyze.Policy) { p.Rules = append(p.Rules, rule("e", "timeout", "probe")) }), []string{"e [missing] 0 5"}},
		{"a wait", with(func(p *analyze.Policy) { p.Probe = 5000 }), []string{"probe_wait_ms 0 5000"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := compare(x, tt.y)
			var got []string
			for _, s := range c.Settings {
				got = append(got, s.Name+" "+s.X+" "+s.Y)
			}
			for _, d := range c.Differences {
				got = append(got, fmt.Sprint(d.Rule, " ", d.What, " ", d.X.Place, " ", d.Y.Place))
			}
			if !slices.Equal(got, tt.want) || c.Equal != (len(tt.want) == 0) {
				t.Errorf("got %q, equal %v, want %q", got, c.Equal, tt.want)
			}
		})
	}
}
