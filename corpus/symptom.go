package corpus

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/analyze"
	"github.com/mcptap/mcptap/har"
)

// Symptom tells what must stay of a recording for it to show a finding as it does now: for [Minimize]. Kept are
//
//   - the finding, with its rule, its severity and whose fault it is,
//   - what was observed of its conversation, whose client it is, and what is predicted for that client and by the policy
//     recommended; for a client that is not recognised, for those whose clients were measured,
//   - the handshake around it, so that a client that is served what is left gets as far,
//   - of each exchange that is left, its facts and verdicts; and no finding is new.
//
// id may be "" if all findings have the same one. The error for one that is not there names those that are.
func Symptom(xs []*har.Exchange, id string) (keep func([]*har.Exchange) bool, found analyze.Finding, err error) {
	r, err := analyze.Analyze(all(xs), analyze.Options{})
	if err != nil {
		return nil, found, err
	}
	i := slices.IndexFunc(r.Findings, func(f analyze.Finding) bool { return f.ID == id || id == "" })
	ids := findingIDs(r)
	if i < 0 || id == "" && len(ids) > 1 {
		return nil, found, fmt.Errorf("want a finding of the recording: %s", orNone(ids))
	}
	found = r.Findings[i]
	s := &symptom{found: found}
	if c := conversationOf(r, found); c == nil || c.Client.Policy == "" {
		s.options.Policies = measured
		if r, err = analyze.Analyze(all(xs), s.options); err != nil {
			return nil, found, err
		}
	}
	s.whole = s.read(r)
	s.pinned = handshake(r, found)
	return s.keep, found, nil
}

func orNone(ids []string) string {
	if len(ids) == 0 {
		return "it has none"
	}
	return strings.Join(ids, ", ")
}

// findingIDs are those of a report, each once, in order.
func findingIDs(r *analyze.Report) (ids []string) {
	for _, f := range r.Findings {
		if !slices.Contains(ids, f.ID) {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

func all(xs []*har.Exchange) iter.Seq2[*har.Exchange, error] {
	return func(yield func(*har.Exchange, error) bool) {
		for _, x := range xs {
			if !yield(x, nil) {
				return
			}
		}
	}
}

// measured are the policies of clients that were run against scripted servers.
var measured = []string{analyze.Recommended, "ts-2.4.0", "ts-2.4.0-pin", "ts-1.32.2", "go-1.8.0", "mcp-go-1.2.1"}

// A symptom is what a recording shows.
type symptom struct {
	found   analyze.Finding
	options analyze.Options
	pinned  []int
	whole   shown
}

// shown is what a report says, as far as it must stay.
type shown struct {
	conversation string         // of the finding, as JSON
	exchanges    map[int]string // by N, facts and verdicts as JSON
	findings     map[string]bool
	has          bool // the finding
}

// keep tells whether these exchanges show it.
func (s *symptom) keep(xs []*har.Exchange) bool {
	for _, n := range s.pinned {
		if !slices.ContainsFunc(xs, func(x *har.Exchange) bool { return x.N == n }) {
			return false
		}
	}
	r, err := analyze.Analyze(all(xs), s.options)
	if err != nil {
		return false
	}
	now := s.read(r)
	if !now.has || now.conversation != s.whole.conversation {
		return false
	}
	for n, x := range now.exchanges {
		if s.whole.exchanges[n] != x {
			return false
		}
	}
	for f := range now.findings {
		if !s.whole.findings[f] {
			return false
		}
	}
	return true
}

func (s *symptom) read(r *analyze.Report) shown {
	out := shown{exchanges: map[int]string{}, findings: map[string]bool{}}
	for _, f := range r.Findings {
		out.findings[fmt.Sprint(f.ID, f.Rule, f.Exchanges[:min(1, len(f.Exchanges))])] = true
		if !out.has && alike(f, s.found) {
			out.has = true
			out.conversation = conversationFacts(conversationOf(r, f))
		}
	}
	for i := range r.Exchanges {
		x := &r.Exchanges[i]
		out.exchanges[x.N] = exchangeFacts(x)
	}
	return out
}

func alike(f, g analyze.Finding) bool {
	return f.ID == g.ID && f.Rule == g.Rule && f.Fault == g.Fault && f.Severity == g.Severity
}

// conversationOf is where a finding's first exchange belongs, nil for none.
func conversationOf(r *analyze.Report, f analyze.Finding) *analyze.Conversation {
	for _, x := range r.Exchanges {
		if len(f.Exchanges) == 0 || x.N != f.Exchanges[0] {
			continue
		}
		for i := range r.Conversations {
			if r.Conversations[i].ID == x.Conversation {
				return &r.Conversations[i]
			}
		}
	}
	return nil
}

// conversationFacts are those that must stay: not its number, nor how long and how often.
func conversationFacts(c *analyze.Conversation) string {
	if c == nil {
		return ""
	}
	k := *c
	k.ID, k.Connects, k.Observed.WaitMS, k.Course = 0, 0, 0, nil
	return asJSON(k)
}

// exchangeFacts are those that must stay: not how long, nor how much there is of what says nothing.
func exchangeFacts(x *analyze.Exchange) string {
	var verdicts strings.Builder
	for _, name := range slices.Sorted(maps.Keys(x.Verdicts)) {
		v := x.Verdicts[name]
		verdicts.WriteString(name + " " + v.Verdict + " " + v.Rule + "\n")
	}
	o := x.Observation()
	o.Duration, o.FirstByte, o.Request, o.Response, o.Events, o.Comments, o.Late, o.Notes = 0, nil, 0, 0, 0, 0, 0, nil
	if o.Error != nil {
		e := *o.Error
		e.Message = ""
		o.Error = &e
	}
	return verdicts.String() + asJSON([]any{x.N, x.Class, o})
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// handshake gives the exchanges of the connect around a finding in which the client connects: from its first one up to the
// finding, and what directly follows.
func handshake(r *analyze.Report, f analyze.Finding) (pinned []int) {
	c := conversationOf(r, f)
	if c == nil {
		return nil
	}
	var own []*analyze.Exchange
	at := 0
	for i := range r.Exchanges {
		if x := &r.Exchanges[i]; x.Conversation == c.ID {
			if x.N == f.Exchanges[0] {
				at = len(own)
			}
			own = append(own, x)
		}
	}
	from := at
	for from > 0 && !begins(own, from) {
		from--
	}
	streams := 0
	for i, x := range own[from:] {
		if i += from; i > at && (begins(own, i) || !connects(x.Class)) {
			break
		}
		if x.Class == "get-stream" {
			streams++
		}
		if connects(x.Class) && (x.Class != "get-stream" || streams == 1) {
			pinned = append(pinned, x.N)
		}
	}
	return pinned
}

func connects(class string) bool {
	return slices.Contains([]string{"probe", "initialize", "initialized", "get-stream"}, class)
}

// begins tells whether the client began to connect with that exchange: by a probe, or by initialize without one before.
func begins(own []*analyze.Exchange, i int) bool {
	before := ""
	if i > 0 {
		before = own[i-1].Class
	}
	switch own[i].Class {
	case "probe":
		return before != "probe"
	case "initialize":
		return before != "probe" && before != "get-stream" || i == 0
	}
	return false
}
