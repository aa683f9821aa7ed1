package analyze

import (
	"fmt"
	"iter"
	"reflect"
	"strings"

	"github.com/mcptap/mcptap/har"
)

// ExplanationFormat is the first member of an explanation.
const ExplanationFormat = "mcptap-explanation/1"

// An Explanation says how policies come to their verdicts on one exchange.
type Explanation struct {
	Format   string   `json:"format"`
	Client   Client   `json:"client"` // as recognised; all empty outside any conversation
	Exchange Exchange `json:"exchange"`
	Traces   []Trace  `json:"traces"` // by policy, in the order asked for
}

// A Trace is the way of one policy through its rules to the verdict on one exchange.
type Trace struct {
	Policy  string     `json:"policy"`
	Reader  string     `json:"reader,omitempty"` // how the policy's client takes answers apart, where that is not by schema
	Verdict Verdict    `json:"verdict"`
	Rows    []TraceRow `json:"rows"`                      // the rules for this class of exchange, in order; the last one decided
	Others  int        `json:"other_class"`               // rules passed over for being about other classes
	HTTP    int        `json:"other_transport,omitempty"` // over stdio: rules passed over for being about HTTP
	Left    int        `json:"not_tried"`                 // rules behind the one that decided
}

// A TraceRow is one rule that was tried.
type TraceRow struct {
	Rule       string      `json:"rule"`
	Verdict    string      `json:"verdict"` // that it would give, or gave
	Result     string      `json:"result"`  // match, no-match, cannot-tell
	Conditions []Condition `json:"conditions"`
}

// A Condition is one condition of a rule, held against the exchange.
type Condition struct {
	Name     string     `json:"name"`  // as policies spell it
	Want     string     `json:"want"`  // of several, one is enough
	Found    string     `json:"found"` // the fact, as the policy's client reads it
	Holds    *bool      `json:"holds"` // null: that hangs on bytes that were not captured
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Explain traces the verdicts on exchange n. It reads all exchanges, for what an exchange means depends on its neighbours.
// ok is false if there is no exchange n.
func Explain(exchanges iter.Seq2[*har.Exchange, error], n int, o Options) (e *Explanation, ok bool, err error) {
	chosen, client, err := o.resolve()
	if err != nil {
		return nil, false, err
	}
	var raw *har.Exchange
	all, err := gather(func(yield func(*har.Exchange, error) bool) {
		for x, err := range exchanges {
			if err == nil && x.N == n {
				raw = x
			}
			if !yield(x, err) {
				return
			}
		}
	}, MaxExchanges)
	if err != nil {
		return nil, false, err
	}
	a := newAnalysis(all, chosen, o)
	a.take(client)
	f := a.numbered(n)
	if f == nil {
		return nil, false, nil
	}
	e = &Explanation{Format: ExplanationFormat, Exchange: a.exchange(f), Traces: []Trace{}}
	var v *conversation
	if f.connect != nil {
		v = f.connect.conv
	}
	if v != nil {
		e.Client = a.conversation(v).Client
	}
	if f.class == other {
		return e, true, nil
	}
	places := placesOf(raw, f)
	for _, p := range a.policiesFor(v) {
		t, err := p.trace(f, places)
		if err != nil {
			return nil, false, err
		}
		e.Traces = append(e.Traces, t)
	}
	return e, true, nil
}

// trace repeats what judge does, and looks into each rule on the way by evaluating its conditions one by one.
func (p *Policy) trace(f *facts, places map[string][]Evidence) (Trace, error) {
	t := Trace{Policy: p.Name, Verdict: p.judge(f), Rows: []TraceRow{}}
	if p.reader != bySchema {
		t.Reader = readerNames[p.reader]
	}
	f = f.seenBy(p)
	for i := range p.Rules {
		x := &p.Rules[i]
		if x.match.class&(1<<f.class) == 0 {
			t.Others++
			continue
		}
		if f.transport == overStdio && x.match.overHTTPOnly() {
			t.HTTP++
			continue
		}
		result := x.match.eval(f, p)
		row := TraceRow{Rule: x.ID, Verdict: x.Verdict, Result: resultWord(result), Conditions: []Condition{}}
		for _, c := range x.When.each() {
			holds, err := c.eval(f, p)
			if err != nil {
				return t, fmt.Errorf("rule %s: %w", x.ID, err)
			}
			row.Conditions = append(row.Conditions, Condition{c.name, c.want, f.fact(c.name, p), triPointer(holds), places[c.name]})
		}
		t.Rows = append(t.Rows, row)
		if result != har.False {
			t.Left = len(p.Rules) - i - 1
			break
		}
	}
	return t, nil
}

// overHTTPOnly tells whether a rule is about answers of HTTP: one that lines of a process have nothing of.
func (m *matcher) overHTTPOnly() bool {
	return m.status != nil || m.interim != nil || m.transport != 0 && m.transport&overStdio == 0
}

func resultWord(t har.Tri) string {
	switch t {
	case har.True:
		return "match"
	case har.False:
		return "no-match"
	}
	return "cannot-tell"
}

func triPointer(t har.Tri) *bool {
	if t == har.Unknown {
		return nil
	}
	is := t == har.True
	return &is
}

// A condition is one stated member of a When.
type condition struct {
	name, want string
	alone      When // with nothing but it, and the class that every When states
}

// each takes a When apart, in the order of its fields.
func (w *When) each() []condition {
	var out []condition
	fields := reflect.ValueOf(w).Elem()
	for i := range fields.NumField() {
		value := fields.Field(i)
		if value.IsZero() {
			continue
		}
		c := condition{alone: When{Class: w.Class}}
		c.name, _, _ = strings.Cut(fields.Type().Field(i).Tag.Get("json"), ",")
		reflect.ValueOf(&c.alone).Elem().Field(i).Set(value)
		c.want = wantWord(value.Interface())
		out = append(out, c)
	}
	return out
}

func wantWord(value any) string {
	switch v := value.(type) {
	case []string:
		return strings.Join(v, ", ")
	case *bool:
		return yesNo(*v)
	case int:
		return fmt.Sprintf("more than %d", v)
	}
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(value), " ", ", "), "[]")
}

func yesNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// eval tells whether the condition holds, by the matcher that judges.
func (c *condition) eval(f *facts, p *Policy) (har.Tri, error) {
	m, err := c.alone.compile()
	if err != nil {
		return har.Unknown, err
	}
	return m.eval(f, p), nil
}
