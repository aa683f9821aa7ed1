package analyze

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

// A Policy is what one client, or one text, makes of what servers answer: rules in order, of which the first that matches
// decides. Policies are data; each is one file in policies/.
type Policy struct {
	Name  string `json:"policy"`
	Title string `json:"title"`
	About string `json:"about"`

	// Base names a policy whose rules hold where this one does not say otherwise. A rule with an ID of the base takes that
	// rule's place and its unstated members; a new rule stands before the rule that Before names, else before all others.
	Base string `json:"base,omitempty"`

	// Turn replaces verdicts of the base, for rules that this policy does not state itself, such as legacy-fallback by
	// negotiation-error for a client that has no legacy version to fall back to.
	Turn map[string]string `json:"turn,omitempty"`

	// Drop takes rules of the base out, by the beginning of their IDs: what this client never meets.
	Drop []string `json:"drop,omitempty"`

	Modern []string `json:"modern,omitempty"` // versions spoken without a handshake, best first
	Legacy []string `json:"legacy,omitempty"` // versions accepted in the result of initialize
	// TakesResetAsEnd: the HTTP library takes a reset for the end of a body that lasts until the connection ends.
	TakesResetAsEnd bool `json:"takes_reset_as_end,omitempty"`
	// Reader is how the client takes answers apart: schema (the default), go-sdk, mcp-go, typescript.
	Reader string `json:"reader,omitempty"`
	// MediaByText: an answer is JSON where its Content-Type holds application/json anywhere.
	MediaByText bool `json:"media_by_text,omitempty"`
	// NumericProbe: the ids of probes are numbers too, and a reader that converts ids converts theirs.
	NumericProbe bool `json:"numeric_probe,omitempty"`
	// StreamFirst: the client opens its standalone stream before notifications/initialized and waits for the answer.
	StreamFirst bool `json:"stream_first,omitempty"`

	Probe   int `json:"probe_wait_ms,omitempty"`
	Request int `json:"request_wait_ms,omitempty"`

	Rules []Rule `json:"rules"`

	reader  reader
	byClass [oauth + 1][]*Rule // the rules that speak of a class, in order
}

// A Rule is one row of a policy: a situation and what it leads to. Its ID is a lasting name of the situation; several
// policies may judge the same situation differently.
type Rule struct {
	ID        string   `json:"id"`
	Before    string   `json:"before,omitempty"`
	When      *When    `json:"when,omitempty"`
	Verdict   string   `json:"verdict,omitempty"`   // a word of the report; @VERSION is filled with the version found
	Tentative bool     `json:"tentative,omitempty"` // it may be otherwise a moment later: a host that remembers it must date it
	Error     string   `json:"error,omitempty"`     // what the client's caller gets
	Why       string   `json:"why,omitempty"`
	Level     string   `json:"level,omitempty"`  // MUST, SHOULD, MAY, informative, silent, impl-measured, impl-source, pr, report
	Source    string   `json:"source,omitempty"` // pull request, package version or place in the specification
	Cases     []string `json:"cases,omitempty"`  // rows of the seed tables that this rule decides

	match     matcher
	versioned bool // the verdict has a version to be filled in
}

//go:embed policies/*.json
var policyFiles embed.FS

// policies holds all policies, bases applied, and their names in order: recommended first, then by name.
var policies = sync.OnceValue(func() *registry {
	r, err := loadPolicies(policyFiles)
	if err != nil {
		panic("analyze: embedded policies: " + err.Error())
	}
	return r
})

type registry struct {
	byName map[string]*Policy
	names  []string
}

// Policies returns all policies with the rules of their bases in place, recommended first and the others by name.
func Policies() []*Policy {
	r := policies()
	all := make([]*Policy, len(r.names))
	for i, name := range r.names {
		all[i] = r.byName[name]
	}
	return all
}

// Recommended is the name of the policy that the three pull requests describe.
const Recommended = "recommended"

func loadPolicies(files fs.FS) (*registry, error) {
	paths, err := fs.Glob(files, "policies/*.json")
	if err != nil {
		return nil, err
	}
	r := &registry{byName: map[string]*Policy{}}
	for _, p := range paths {
		data, err := fs.ReadFile(files, p)
		if err != nil {
			return nil, err
		}
		pol, err := parsePolicy(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		if pol.Name+".json" != path.Base(p) {
			return nil, fmt.Errorf("%s: policy is named %q, want the file's name", p, pol.Name)
		}
		r.byName[pol.Name] = pol
		r.names = append(r.names, pol.Name)
	}
	slices.SortFunc(r.names, func(a, b string) int {
		if (a == Recommended) != (b == Recommended) {
			if a == Recommended {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	for _, name := range r.names {
		if err := r.settle(name, nil); err != nil {
			return nil, fmt.Errorf("policy %s: %w", name, err)
		}
	}
	return r, nil
}

func parsePolicy(data []byte) (*Policy, error) {
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields()
	p := &Policy{}
	if err := dec.Decode(p); err != nil {
		return nil, err
	}
	return p, nil
}

// settle puts the base's rules in place and compiles all of them. chain holds the policies that wait for this one.
func (r *registry) settle(name string, chain []string) error {
	p := r.byName[name]
	switch {
	case p == nil:
		return fmt.Errorf("base %q does not exist", name)
	case slices.Contains(chain, name):
		return fmt.Errorf("base %q refers to itself", name)
	case p.Base != "" && p.settled():
		return nil
	}
	if p.Base != "" {
		if err := r.settle(p.Base, append(chain, name)); err != nil {
			return err
		}
		if err := p.inherit(r.byName[p.Base]); err != nil {
			return err
		}
	}
	return p.compile()
}

// settled tells whether the rules are compiled, and with them the base's in place.
func (p *Policy) settled() bool { return len(p.Rules) > 0 && p.Rules[0].match.compiled }

// inherit merges the base's rules with the policy's own.
func (p *Policy) inherit(base *Policy) error {
	rules := slices.DeleteFunc(slices.Clone(base.Rules), func(x Rule) bool {
		return slices.ContainsFunc(p.Drop, func(begin string) bool { return strings.HasPrefix(x.ID, begin) })
	})
	for i := range rules {
		rules[i].match = matcher{}
		if v, ok := p.Turn[rules[i].Verdict]; ok {
			rules[i].Verdict = v
		}
	}
	var first []Rule
	for _, own := range p.Rules {
		at := slices.IndexFunc(rules, func(x Rule) bool { return x.ID == own.ID })
		switch {
		case at >= 0:
			own = own.over(rules[at])
			if own.Before == "" {
				rules[at] = own
				continue
			}
			rules = slices.Delete(rules, at, at+1)
		case own.Before == "":
			first = append(first, own)
			continue
		}
		to := slices.IndexFunc(rules, func(x Rule) bool { return x.ID == own.Before })
		if to < 0 {
			return fmt.Errorf("rule %s: before %q: no such rule in the base", own.ID, own.Before)
		}
		own.Before = ""
		rules = slices.Insert(rules, to, own)
	}
	p.Rules = append(first, rules...)
	p.TakesResetAsEnd = p.TakesResetAsEnd || base.TakesResetAsEnd
	p.StreamFirst = p.StreamFirst || base.StreamFirst
	if p.Reader == "" {
		p.Reader = base.Reader
	}
	if p.Modern == nil {
		p.Modern = base.Modern
	}
	if p.Legacy == nil {
		p.Legacy = base.Legacy
	}
	if p.Probe == 0 {
		p.Probe = base.Probe
	}
	if p.Request == 0 {
		p.Request = base.Request
	}
	return nil
}

// over gives the rule with the members that it does not state taken from the base's rule.
func (x Rule) over(base Rule) Rule {
	if x.When == nil {
		x.When = base.When
	}
	if x.Verdict == "" {
		x.Verdict, x.Tentative = base.Verdict, base.Tentative
	}
	if x.Why == "" {
		x.Why = base.Why
	}
	if x.Level == "" {
		x.Level = base.Level
	}
	if x.Source == "" {
		x.Source = base.Source
	}
	return x
}

func (p *Policy) compile() error {
	if p.Reader != "" {
		i := slices.Index(readerNames, p.Reader)
		if i < 0 {
			return fmt.Errorf("reader %q is none of %s", p.Reader, strings.Join(readerNames, ", "))
		}
		p.reader = reader(i)
	}
	seen := map[string]bool{}
	for i := range p.Rules {
		x := &p.Rules[i]
		switch {
		case seen[x.ID]:
			return fmt.Errorf("rule %s stands twice", x.ID)
		case !slices.Contains(verdictWords, x.Verdict):
			return fmt.Errorf("rule %s: verdict %q is none of %s", x.ID, x.Verdict, strings.Join(verdictWords, ", "))
		case !slices.Contains(levelWords, x.Level):
			return fmt.Errorf("rule %s: level %q is none of %s", x.ID, x.Level, strings.Join(levelWords, ", "))
		case x.When == nil || x.Why == "" || x.Source == "":
			return fmt.Errorf("rule %s: want when, why and source", x.ID)
		}
		seen[x.ID] = true
		m, err := x.When.compile()
		if err != nil {
			return fmt.Errorf("rule %s: %w", x.ID, err)
		}
		x.match, x.versioned = m, strings.Contains(x.Verdict, "VERSION")
	}
	p.index()
	return nil
}

// SetRules puts other rules in place of the policy's, such as all but one, to show what a rule decides. Nothing may be judged
// meanwhile.
func (p *Policy) SetRules(rules []Rule) {
	p.Rules = rules
	p.index()
}

// index finds the rules of each class.
func (p *Policy) index() {
	p.byClass = [oauth + 1][]*Rule{}
	for i := range p.Rules {
		for c := range p.byClass {
			if p.Rules[i].match.class&(1<<c) != 0 {
				p.byClass[c] = append(p.byClass[c], &p.Rules[i])
			}
		}
	}
}

// verdictWords are the verdicts that a rule may state.
var verdictWords = []string{
	"modern@VERSION", "corrective-retry@VERSION", "legacy-fallback", "auth-error", "network-error", "timeout",
	"negotiation-error", "keep-connected", "disconnect", "post-only", "reinitialize", "reinitialize+retry-once",
	"pass-through", "clean-close", "resume", "delivered", "unspecified", "inconclusive",
}

var levelWords = []string{"MUST", "SHOULD", "MAY", "informative", "silent", "ambiguous", "impl-measured", "impl-source", "pr", "report"}
