// Package diff says how two recordings differ: exchanges that ask for the same are put side by side, and their answers, order,
// endings, times and verdicts compared. It is a pure function of the exchanges.
package diff

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/mcptap/mcptap/analyze"
	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
	"github.com/mcptap/mcptap/replay"
)

// Format is the first member of a report.
const Format = "mcptap-diff/1"

// A Report is how a second recording differs from a first. It holds only what differs, in the order of the first recording,
// what is only in the second at its place there.
type Report struct {
	Format        string         `json:"format"`
	Compared      int            `json:"compared"` // pairs of exchanges
	Differing     int            `json:"differing"`
	Conversations []Conversation `json:"conversations"`
	Exchanges     []Pair         `json:"exchanges"`
}

// A Conversation is one of the first recording with the one of the second that it was held against.
type Conversation struct {
	Was     int      `json:"was"` // its id, 0 if there is none
	Now     int      `json:"now"`
	Client  string   `json:"client"`
	Changes []Change `json:"changes"`
}

// A Pair is two exchanges that ask for the same, or one alone.
type Pair struct {
	Was     int      `json:"was"` // its number, 0 if there is none
	Now     int      `json:"now"`
	What    string   `json:"what"` // such as "POST /mcp tools/call"
	Changes []Change `json:"changes"`
}

// Same tells whether nothing differs.
func (r *Report) Same() bool { return r.Differing == 0 && len(r.Conversations) == 0 }

// A recording is one side of a comparison.
type recording struct {
	report   *analyze.Report
	items    []*item // by n
	verdicts map[int]map[string]analyze.Verdict
}

// An item is one exchange of a side.
type item struct {
	x            *har.Exchange
	key, label   string
	coarse       string // HTTP and JSON-RPC method
	conversation int
	place        int   // among the items of its conversation
	with         *item // of the other side
}

// Compare holds the exchanges of a second recording against those of a first, each in order of their numbers.
func Compare(was, now []*har.Exchange, o Options) (*Report, error) {
	if o.Policies == nil {
		o.Policies = []string{analyze.Recommended}
	}
	a, err := read(was, o)
	if err != nil {
		return nil, err
	}
	b, err := read(now, o)
	if err != nil {
		return nil, err
	}
	r := &Report{Format: Format, Conversations: []Conversation{}, Exchanges: []Pair{}}
	for _, pair := range alignConversations(a.report, b.report) {
		x, y := a.of(pair[0]), b.of(pair[1])
		align(x, y)
		r.conversation(a, b, pair)
		r.exchanges(a, b, x, y, &o)
	}
	slices.SortStableFunc(r.Exchanges, func(x, y Pair) int {
		return cmp.Compare(cmp.Or(x.Was, x.Now), cmp.Or(y.Was, y.Now))
	})
	return r, nil
}

func read(xs []*har.Exchange, o Options) (*recording, error) {
	report, err := analyze.Analyze(each(xs), analyze.Options{Policies: o.Policies, AllHTTP: true})
	if err != nil {
		return nil, err
	}
	r := &recording{report: report, verdicts: map[int]map[string]analyze.Verdict{}}
	of := map[int]int{}
	for i := range report.Exchanges {
		x := &report.Exchanges[i]
		of[x.N], r.verdicts[x.N] = x.Conversation, x.Verdicts
	}
	for _, x := range xs {
		it := &item{x: x, conversation: of[x.N]}
		it.key, it.label = replay.Asked(x)
		it.coarse = x.Method + " " + wire.ParseRPC(x.View().RequestBody()).Method
		r.items = append(r.items, it)
	}
	slices.SortStableFunc(r.items, func(x, y *item) int { return cmp.Compare(x.x.N, y.x.N) })
	return r, nil
}

func each(xs []*har.Exchange) iter.Seq2[*har.Exchange, error] {
	return func(yield func(*har.Exchange, error) bool) {
		for _, x := range xs {
			if !yield(x, nil) {
				return
			}
		}
	}
}

// of gives the items of a conversation, 0 being those outside any, in order; -1 none.
func (r *recording) of(conversation int) (list []*item) {
	for _, it := range r.items {
		if it.conversation == conversation {
			it.place = len(list)
			list = append(list, it)
		}
	}
	return list
}

// alignConversations pairs ids: the n-th of a client name with the n-th of it, then what is left in order. -1 is none.
// Exchanges outside any conversation, 0, are a pair of their own.
func alignConversations(a, b *analyze.Report) [][2]int {
	pairs := [][2]int{{0, 0}}
	taken := map[int]bool{}
	find := func(fits func(*analyze.Conversation) bool) int {
		for i := range b.Conversations {
			if c := &b.Conversations[i]; !taken[c.ID] && fits(c) {
				taken[c.ID] = true
				return c.ID
			}
		}
		return -1
	}
	var left []int
	for i := range a.Conversations {
		c := &a.Conversations[i]
		if id := find(func(d *analyze.Conversation) bool {
			return d.Client.Name == c.Client.Name && d.Transport == c.Transport
		}); id > 0 {
			pairs = append(pairs, [2]int{c.ID, id})
		} else {
			left = append(left, c.ID)
		}
	}
	for _, id := range left {
		pairs = append(pairs, [2]int{id, find(func(*analyze.Conversation) bool { return true })})
	}
	for i := range b.Conversations {
		if id := b.Conversations[i].ID; !taken[id] {
			pairs = append(pairs, [2]int{-1, id})
		}
	}
	return pairs
}

// align pairs the items of two conversations: the n-th of a key with the n-th of that key; what is left by its methods, in
// order.
func align(was, now []*item) {
	for _, by := range []func(*item) string{func(it *item) string { return it.key }, func(it *item) string { return it.coarse }} {
		queues := map[string][]*item{}
		for _, it := range now {
			if it.with == nil {
				queues[by(it)] = append(queues[by(it)], it)
			}
		}
		for _, it := range was {
			if q := queues[by(it)]; it.with == nil && len(q) > 0 && by(it) != "" {
				it.with, q[0].with = q[0], it
				queues[by(it)] = q[1:]
			}
		}
	}
}

// exchanges compares two aligned conversations.
func (r *Report) exchanges(a, b *recording, was, now []*item, o *Options) {
	stay := inOrder(was)
	for _, it := range was {
		if it.with == nil {
			r.add(Pair{it.x.N, 0, it.label, []Change{{"removed", "", it.label, ""}}})
			continue
		}
		r.Compared++
		p := Pair{Was: it.x.N, Now: it.with.x.N, What: it.label, Changes: it.against(it.with, o)}
		if !stay[it] {
			p.Changes = append([]Change{{"moved", "", fmt.Sprint(it.place + 1), fmt.Sprint(it.with.place + 1)}}, p.Changes...)
		}
		p.Changes = append(p.Changes, verdicts(a.verdicts[it.x.N], b.verdicts[it.with.x.N])...)
		r.add(p)
	}
	for _, it := range now {
		if it.with == nil {
			r.add(Pair{0, it.x.N, it.label, []Change{{"added", "", "", it.label}}})
		}
	}
}

func (r *Report) add(p Pair) {
	if len(p.Changes) > 0 {
		r.Exchanges = append(r.Exchanges, p)
		r.Differing++
	}
}

// against compares two items, what they ask first.
func (it *item) against(other *item, o *Options) []Change {
	var changes []Change
	if it.key != other.key {
		c := &comparer{o: o, kind: "", hidden: append(hiddenIn(it.x), hiddenIn(other.x)...)}
		c.requests(it, other)
		changes = c.changes
	}
	return append(changes, Answers(it.x, other.x, *o)...)
}

// requests says what is asked for otherwise, params by params.
func (c *comparer) requests(was, now *item) {
	x, okX := decode(was.x.View().RequestBody())
	y, okY := decode(now.x.View().RequestBody())
	a, objA := x.(map[string]any)
	b, objB := y.(map[string]any)
	if was.label != now.label || !okX || !okY || !objA || !objB {
		c.add("request", "", was.label, now.label)
		return
	}
	inner := &comparer{o: c.o, hidden: c.hidden}
	inner.values("/params", a["params"], b["params"])
	for _, change := range inner.changes {
		change.Kind = "request"
		c.changes = append(c.changes, change)
	}
}

// inOrder finds the longest run of items whose partners stand in the same order; those outside it have moved.
func inOrder(was []*item) map[*item]bool {
	type link struct {
		it   *item
		prev *link
	}
	var tails []*link // tails[i] ends the run of length i+1 with the smallest last place
	for _, it := range was {
		if it.with == nil {
			continue
		}
		i, _ := slices.BinarySearchFunc(tails, it.with.place, func(l *link, place int) int { return cmp.Compare(l.it.with.place, place) })
		l := &link{it: it}
		if i > 0 {
			l.prev = tails[i-1]
		}
		if i == len(tails) {
			tails = append(tails, l)
		} else {
			tails[i] = l
		}
	}
	stay := map[*item]bool{}
	if len(tails) > 0 {
		for l := tails[len(tails)-1]; l != nil; l = l.prev {
			stay[l.it] = true
		}
	}
	return stay
}

func verdicts(was, now map[string]analyze.Verdict) (changes []Change) {
	for _, policy := range sortedPolicies(was, now) {
		if x, y := was[policy], now[policy]; x.Verdict != y.Verdict {
			changes = append(changes, Change{"verdict", policy, x.Verdict, y.Verdict})
		}
	}
	return changes
}

func sortedPolicies[V any](was, now map[string]V) (names []string) {
	for _, m := range []map[string]V{was, now} {
		for name := range m {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// conversation compares what became of two conversations.
func (r *Report) conversation(a, b *recording, ids [2]int) {
	if ids == [2]int{0, 0} {
		return
	}
	x, y := find(a.report, ids[0]), find(b.report, ids[1])
	c := Conversation{Was: max(ids[0], 0), Now: max(ids[1], 0), Changes: []Change{}}
	switch {
	case x == nil:
		c.Client, c.Changes = y.Client.Name, []Change{{"added", "", "", y.Client.Name}}
	case y == nil:
		c.Client, c.Changes = x.Client.Name, []Change{{"removed", "", x.Client.Name, ""}}
	default:
		c.Client = x.Client.Name
		if was, now := observed(x), observed(y); was != now {
			c.Changes = append(c.Changes, Change{"outcome", "observed", was, now})
		}
		for _, p := range sortedPolicies(x.Predicted, y.Predicted) {
			if was, now := x.Predicted[p].Outcome, y.Predicted[p].Outcome; was != now {
				c.Changes = append(c.Changes, Change{"outcome", p, string(was), string(now)})
			}
		}
	}
	if len(c.Changes) > 0 {
		r.Conversations = append(r.Conversations, c)
	}
}

func find(r *analyze.Report, id int) *analyze.Conversation {
	i := slices.IndexFunc(r.Conversations, func(c analyze.Conversation) bool { return c.ID == id })
	if i < 0 {
		return nil
	}
	return &r.Conversations[i]
}

func observed(c *analyze.Conversation) string {
	if c.Observed.Version == "" {
		return string(c.Observed.Outcome)
	}
	return string(c.Observed.Outcome) + "@" + c.Observed.Version
}
