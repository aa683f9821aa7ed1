// Package analyze says what recorded exchanges mean under the negotiation rules of the specification and of each client.
// It is a pure function: no clock, no network, no files.
//
// Exchanges are read once into facts that no policy colours (observation.go, request.go, message.go, reply.go), put into
// connects and conversations (connect.go, conversation.go), judged by policies, which are data (policy.go, when.go,
// policies/), and summed up in outcomes (outcome.go) and findings (finding*.go).
package analyze

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/har"
)

// Options choose what is judged.
type Options struct {
	Policies []string // names, or "all"; nil: recommended and the recognised client's
	Client   string   // policy, or library by its name in reports, to take every client for; "": as recognised
	AllHTTP  bool     // include exchanges that are not MCP
}

// Analyze judges exchanges, given in any order. An error comes from the sequence or from an unknown policy's name. What
// is kept of an exchange does not grow with its bodies.
func Analyze(exchanges iter.Seq2[*har.Exchange, error], o Options) (*Report, error) {
	chosen, client, err := o.resolve()
	if err != nil {
		return nil, err
	}
	all, err := gather(exchanges, MaxExchanges)
	if err != nil {
		return nil, err
	}
	a := newAnalysis(all, chosen, o)
	a.take(client)
	return a.report(), nil
}

// MaxExchanges is how many exchanges are analyzed at once; each costs about 2.7 KB of memory until the report is written.
const MaxExchanges = 2 << 20

// A LimitError says that there are more exchanges than are analyzed at once.
type LimitError struct{ Most int }

// Error names the limit.
func (e *LimitError) Error() string { return fmt.Sprintf("more than %d exchanges", e.Most) }

// gather observes exchanges and puts them in the order of their requests.
func gather(exchanges iter.Seq2[*har.Exchange, error], most int) ([]*facts, error) {
	var all []*facts
	observer := newObserver()
	for x, err := range exchanges {
		switch {
		case err != nil:
			return nil, err
		case len(all) == most:
			return nil, &LimitError{most}
		}
		all = append(all, observer.observe(x))
	}
	slices.SortStableFunc(all, func(a, b *facts) int { return cmp.Compare(a.n, b.n) })
	return all, nil
}

// resolve looks up the policies that the options name.
func (o *Options) resolve() (chosen []*Policy, client *Policy, err error) {
	if client, err = clientPolicy(o.Client); err == nil {
		chosen, err = choose(o.Policies)
	}
	return chosen, client, err
}

// choose resolves names of policies. nil means that each conversation chooses.
func choose(names []string) ([]*Policy, error) {
	if len(names) == 0 {
		return nil, nil
	}
	if slices.Contains(names, "all") {
		return Policies(), nil
	}
	var chosen []*Policy
	for _, name := range names {
		p := policies().byName[name]
		if p == nil {
			return nil, UnknownPolicy(name)
		}
		if !slices.Contains(chosen, p) {
			chosen = append(chosen, p)
		}
	}
	return chosen, nil
}

// UnknownPolicy says that there is no policy of that name.
func UnknownPolicy(name string) *UnknownError {
	return &UnknownError{"policy", name, "all or some of " + strings.Join(policies().names, ", "), Near(name, policies().names)}
}

// An analysis is one run.
type analysis struct {
	facts         []*facts // those that are judged, by n
	connects      []*connect
	conversations []*conversation
	chosen        []*Policy
	findings      []Finding
	lastJudged    [oauth + 1]judged // of each class
}

func newAnalysis(all []*facts, chosen []*Policy, o Options) *analysis {
	a := &analysis{chosen: chosen, facts: make([]*facts, 0, len(all))}
	mcp := map[string]bool{}
	servers := map[string]bool{}
	for _, f := range all {
		if f.mcp {
			mcp[f.origin], servers[f.server] = true, true
		}
	}
	j := newJoiner()
	var loose []*facts
	for _, f := range all {
		astray := f.requestAlien != alienUnknown && (len(mcp) == 0 || servers[f.server])
		if !mcp[f.origin] && !o.AllHTTP && !astray {
			continue
		}
		a.facts = append(a.facts, f)
		switch {
		case f.class != other && f.class != oauth && mcp[f.origin]:
			j.join(f)
		case mcp[f.origin] && j.redirected(f) != nil:
			f.class = other
			loose = append(loose, f)
		case mcp[f.origin]:
			loose = append(loose, f)
		default:
			f.class = other
		}
	}
	a.connects = j.connects
	a.attach(loose)
	for _, c := range a.connects {
		slices.SortStableFunc(c.all, func(x, y *facts) int { return cmp.Compare(x.n, y.n) })
		c.settle()
	}
	a.conversations = converse(a.connects)
	a.blame()
	return a
}

// numbered gives the exchange with number n, nil if it is not judged.
func (a *analysis) numbered(n int) *facts {
	i, found := slices.BinarySearchFunc(a.facts, n, func(f *facts, n int) int { return cmp.Compare(f.n, n) })
	if !found {
		return nil
	}
	return a.facts[i]
}

// attach gives exchanges that are no MCP messages, such as those of OAuth, to the connect of the same client that was
// under way, or to the next one.
func (a *analysis) attach(loose []*facts) {
	byPlace := map[place][]*connect{}
	for _, c := range a.connects {
		at := place{c.client, c.origin}
		byPlace[at] = append(byPlace[at], c)
	}
	for _, f := range loose {
		list := byPlace[f.place()]
		if len(list) == 0 {
			continue
		}
		i, found := slices.BinarySearchFunc(list, f.n, func(c *connect, n int) int { return cmp.Compare(c.first().n, n) })
		if !found && i > 0 {
			i--
		}
		f.connect = list[i]
		f.transport = list[i].transport
	}
	for _, f := range loose {
		if f.connect != nil {
			f.connect.all = append(f.connect.all, f)
		}
	}
}

// policiesFor gives the policies that judge a conversation.
func (a *analysis) policiesFor(v *conversation) []*Policy {
	if a.chosen != nil {
		return a.chosen
	}
	list := []*Policy{policies().byName[Recommended]}
	if v != nil {
		if p := policies().byName[v.client.policy]; p != nil && p.Name != Recommended {
			list = append(list, p)
		}
	}
	return list
}
