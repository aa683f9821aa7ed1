package analyze

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/har"
)

// explainers are policies of each reader, and one that leaves much unsaid.
var explainers = []string{Recommended, "ts-2.4.0", "go-1.8.0", "mcp-go-1.2.1", "spec-2026-07-28"}

// A rule taken apart says what it says whole: its conditions, each evaluated alone, give together the rule's result; and
// the fact that is shown for a condition is the one that it was held against.
func TestTraceAgreesWithTheMatcher(t *testing.T) {
	for _, r := range allRows {
		t.Run(r.name, func(t *testing.T) {
			xs := exchanges(r.scene)
			for _, x := range xs {
				e, ok, err := Explain(sequence(xs), x.N, Options{Policies: explainers, AllHTTP: true})
				if err != nil || !ok {
					t.Fatalf("exchange %d: ok %v, %v", x.N, ok, err)
				}
				for i := range e.Traces {
					checkTrace(t, &e.Exchange, &e.Traces[i], xs)
				}
			}
		})
	}
}

func checkTrace(t *testing.T, x *Exchange, trace *Trace, xs []*har.Exchange) {
	t.Helper()
	if trace.Verdict != x.Verdicts[trace.Policy] {
		t.Errorf("exchange %d, %s: the trace ends with %v, the report says %v", x.N, trace.Policy, trace.Verdict, x.Verdicts[trace.Policy])
	}
	for i, row := range trace.Rows {
		all := har.True
		for _, c := range row.Conditions {
			all = and(all, tri(c.Holds))
			checkCondition(t, row.Rule, &c, xs)
		}
		if resultWord(all) != row.Result {
			t.Errorf("exchange %d, %s, rule %s: the conditions give %s, the rule %s: %+v", x.N, trace.Policy, row.Rule, resultWord(all), row.Result, row.Conditions)
		}
		if last := i == len(trace.Rows)-1; row.Result != "no-match" && !last {
			t.Errorf("exchange %d, %s: rule %s decided, and the trace goes on", x.N, trace.Policy, row.Rule)
		}
	}
	last := ""
	if n := len(trace.Rows); n > 0 && trace.Rows[n-1].Result == "match" {
		last = trace.Rows[n-1].Rule
	}
	if last != trace.Verdict.Rule {
		t.Errorf("exchange %d, %s: the last row is %q, the verdict's rule %q", x.N, trace.Policy, last, trace.Verdict.Rule)
	}
}

// oneOf are the conditions whose Want lists the words that Found may be.
var oneOf = []string{"class", "transport", "answer", "media", "reply", "via", "event", "endpoint", "era", "offer", "list", "code"}

func checkCondition(t *testing.T, rule string, c *Condition, xs []*har.Exchange) {
	t.Helper()
	holds := c.Holds != nil && *c.Holds
	wanted := strings.Split(c.Want, ", ")
	switch {
	case c.Want == "yes" || c.Want == "no":
		if holds != (c.Want == c.Found) {
			t.Errorf("rule %s, %s: want %s, found %s, holds %v", rule, c.Name, c.Want, c.Found, holds)
		}
	case slices.Contains(oneOf, c.Name) && c.Found != "not known" && !strings.Contains(c.Found, " or "):
		if holds != slices.Contains(wanted, c.Found) {
			t.Errorf("rule %s, %s: want one of %s, found %s, holds %v", rule, c.Name, c.Want, c.Found, holds)
		}
	}
	for _, e := range c.Evidence {
		raw := xs[e.Exchange-1].Response.Raw
		if e.Side == "request" {
			raw = xs[e.Exchange-1].Request.Raw
		}
		if e.Length < 1 || e.Offset < 0 || e.Offset+e.Length > len(raw) {
			t.Errorf("rule %s, %s: evidence %+v is outside the %d bytes", rule, c.Name, e, len(raw))
		}
	}
}

// The bytes that prove a fact are those that spell it.
func TestExplainEvidence(t *testing.T) {
	scene := in(nil, probing(1, js("200 OK", errIDNull)), initializing(js("200 OK", success("0", initResult))), initialized1(answer("202 Accepted", "", "")),
		calling("tools/list", 7, answer("404 Not Found", "text/plain", "no", "www-authenticate: Bearer\r\n")))
	tests := []struct {
		n          int
		name, want string // the condition, and the beginning of its bytes
	}{
		{1, "status", "HTTP/1.1 200 OK\r\n"},
		{1, "media", "content-type: application/json"},
		{1, "reply", `{"error":{"code":-32700`},
		{4, "session", "mcp-session-id: 0123456789abcdef"},
		{4, "class", `{"method":"tools/list"`},
	}
	xs := exchanges(scene)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, _, err := Explain(sequence(xs), tt.n, Options{Policies: []string{Recommended}})
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range e.Traces[0].Rows {
				for _, c := range row.Conditions {
					if c.Name != tt.name || len(c.Evidence) == 0 {
						continue
					}
					at := c.Evidence[0]
					raw := xs[at.Exchange-1].Response.Raw
					if at.Side == "request" {
						raw = xs[at.Exchange-1].Request.Raw
					}
					if got := string(raw[at.Offset : at.Offset+at.Length]); !strings.HasPrefix(got, tt.want) {
						t.Errorf("%s of exchange %d is proved by %q, want %q…", tt.name, tt.n, got, tt.want)
					}
					return
				}
			}
			t.Errorf("no row looks at %s with evidence", tt.name)
		})
	}
}

func TestExplainNobody(t *testing.T) {
	xs := exchanges(handshake())
	if _, ok, err := Explain(sequence(xs), 99, Options{}); ok || err != nil {
		t.Errorf("exchange 99 of %d: ok %v, error %v", len(xs), ok, err)
	}
	if _, _, err := Explain(sequence(xs), 1, Options{Policies: []string{"nobody"}}); err == nil {
		t.Error("a policy that does not exist: no error")
	}
	e, ok, err := Explain(sequence(xs), 1, Options{})
	if err != nil || !ok {
		t.Fatalf("ok %v, %v", ok, err)
	}
	if text, err := json.Marshal(e); err != nil || !strings.Contains(string(text), `"format":"mcptap-explanation/1"`) {
		t.Errorf("%s, %v", text, err)
	}
}

// Every condition that a rule can have has a fact that is shown for it.
func TestEveryConditionHasAFact(t *testing.T) {
	p := policies().byName[Recommended]
	f := factsOf(handshake()).facts[0]
	set := reflect.TypeFor[When]()
	for i := range set.NumField() {
		name, _, _ := strings.Cut(set.Field(i).Tag.Get("json"), ",")
		if f.fact(name, p) == "" {
			t.Errorf("condition %s has no fact: add it to facts.fact or facts.flags", name)
		}
	}
}
