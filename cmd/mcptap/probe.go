package main

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/analyze"
	"github.com/mcptap/mcptap/caller"
	"github.com/mcptap/mcptap/har"
)

type probeOptions struct {
	liveOptions
	policies  []string
	format    string
	intrusive bool
}

func (a *app) probeCommand() *cobra.Command {
	var o probeOptions
	c := &cobra.Command{
		Use:   "probe URL",
		Short: "ask a live server what each client would ask: will it work with them?",
		Long: `Probe asks the server as the measured clients do, one after the other: the same requests, header lines and order, and as
far as each would go on (server/discover, initialize, a GET for the stream, the lists of tools, prompts and resources).
Tools are not called. It writes a recording and says for each policy what becomes of the connect, by which rule, and
what to mend. Policies that were not measured in requests of their own are judged on those of the client nearest to them.

--intrusive ends a session of its own and uses it once more, and uses one that never was.
Exit code 1: the connect fails under one of the policies that --policy names.`,
		Example: `  mcptap probe http://127.0.0.1:3000/mcp
  mcptap probe https://mcp.example.com/mcp --header "Authorization: Bearer $TOKEN" --policy all
  mcptap probe http://127.0.0.1:3000/mcp --format json --out probe.mcptap`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(c, "want one URL, got %d", len(args))
			}
			if !slices.Contains([]string{"text", "json"}, o.format) {
				return usage(c, "--format %s: want text or json", o.format)
			}
			if err := o.check(c); err != nil {
				return err
			}
			for _, name := range o.policies {
				if name != "all" && policyNamed(name) == nil {
					return analyze.UnknownPolicy(name)
				}
			}
			return a.probe(c, args[0], &o)
		},
	}
	o.flags(c)
	f := c.Flags()
	f.StringVar(&o.out, "out", "", "`FILE` to record to; never overwritten (default mcptap-YYYYMMDD-HHMMSS.mcptap)")
	f.StringSliceVar(&o.policies, "policy", []string{analyze.Recommended}, "`POLICIES` that must connect, or all")
	f.StringVar(&o.format, "format", "text", "`FORMAT`: text or json")
	f.BoolVar(&o.intrusive, "intrusive", false, "also lose a session of its own, and make one up")
	complete(c, "policy", completePolicies("all"))
	complete(c, "format", completeList(func() []string { return []string{"text", "json"} }))
	return c
}

func policyNamed(name string) *analyze.Policy {
	all := analyze.Policies()
	if i := slices.IndexFunc(all, func(p *analyze.Policy) bool { return p.Name == name }); i >= 0 {
		return all[i]
	}
	return nil
}

// probe visits the server with all scripts, and judges what was recorded.
func (a *app) probe(c *cobra.Command, at string, o *probeOptions) error {
	to, err := serverURL(c, "URL", at)
	if err != nil {
		return err
	}
	run, err := a.call(to, &o.liveOptions, "probe", true)
	if err != nil {
		return err
	}
	v := &caller.Visitor{Caller: run.Caller, URL: to, Header: o.headers, Wait: o.wait, Judge: judgeLast}
	err = visitAll(v, o.intrusive)
	if err = run.finish(err); err != nil {
		return err
	}
	p, err := a.probed(run.tape.name, safeURL(to))
	if err != nil {
		return err
	}
	p.asked = o.policies
	if o.format == "json" {
		err = indented(a.stdout, p)
	} else {
		err = p.write(a)
	}
	if err == nil && p.fails() {
		return exit(codeFailed)
	}
	return err
}

// visitAll runs the scripts one after the other.
func visitAll(v *caller.Visitor, intrusive bool) error {
	scripts := caller.Scripts()
	for i := range scripts {
		if err := visitFully(v, &scripts[i]); err != nil {
			return err
		}
	}
	if !intrusive {
		return nil
	}
	i := slices.IndexFunc(scripts, func(s caller.Script) bool { return s.Policy == sessionScript })
	loser := scripts[i]
	loser.Policy += sessionSuffix
	_, err := v.LoseSession(&loser)
	return err
}

// maxFurther bounds the visits behind that of a script.
const maxFurther = 2

// visitFully runs a script, and again for policies that are judged on its requests and go on where its own client gives up:
// what the next step meets is asked, not taken to succeed.
func visitFully(v *caller.Visitor, s *caller.Script) error {
	seen, err := v.Visit(s)
	for range maxFurther {
		next := *s
		if err != nil || len(seen) == 0 {
			return err
		}
		if next.Policy = goesOn(s, seen); next.Policy == "" {
			return nil
		}
		seen, err = v.Visit(&next)
	}
	return err
}

// goesOn names the first policy judged on a script's requests that would take a further step behind a visit, "" for none.
func goesOn(s *caller.Script, visit []*har.Exchange) string {
	r, err := analyze.Analyze(eachOf(visit), analyze.Options{Policies: []string{"all"}, AllHTTP: true})
	if err != nil || len(r.Conversations) == 0 {
		return ""
	}
	for _, p := range analyze.Policies() {
		was := r.Conversations[0].Predicted[p.Name]
		if asked := scriptFor(p); asked != nil && asked.Policy == s.Policy && p.Name != s.Policy && was.Assumed && was.Verdict == "legacy-fallback" {
			return p.Name
		}
	}
	return ""
}

func eachOf(visit []*har.Exchange) iter.Seq2[*har.Exchange, error] {
	return func(yield func(*har.Exchange, error) bool) {
		for _, x := range visit {
			if !yield(x, nil) {
				return
			}
		}
	}
}

// sessionScript is the client whose requests show what becomes of sessions; the suffix tells that visit from its other one.
const (
	sessionScript = "ts-2.4.0-legacy"
	sessionSuffix = "-session"
)

// judgeLast gives a policy's verdict on the last of the exchanges of a visit.
func judgeLast(policy string, visit []*har.Exchange) string {
	policy = strings.TrimSuffix(policy, sessionSuffix)
	r, err := analyze.Analyze(eachOf(visit), analyze.Options{Policies: []string{policy}, AllHTTP: true})
	if err != nil {
		return ""
	}
	last := visit[len(visit)-1].N
	for i := range r.Exchanges {
		if x := &r.Exchanges[i]; x.N == last {
			return x.Verdicts[policy].Verdict
		}
	}
	return ""
}

// A probeReport is what `probe --format json` prints.
type probeReport struct {
	Format   string            `json:"format"`
	URL      string            `json:"url"`
	File     string            `json:"file"` // the recording
	Policies []policyOutlook   `json:"policies"`
	Sessions []sessionAnswer   `json:"sessions"` // with --intrusive; else empty
	Findings []analyze.Finding `json:"findings"` // those that are not ours: the client's requests are made by mcptap

	asked []string
}

// A policyOutlook is what becomes of the connect under one policy, and what would harm it afterwards.
type policyOutlook struct {
	Policy  string          `json:"policy"`
	AskedAs string          `json:"asked_as"` // whose requests it is judged on; "": no client that is asked as speaks its versions
	Outcome analyze.Outcome `json:"outcome"`
	Assumed bool            `json:"assumed"` // a step that this policy would take was not asked, and is taken to succeed
	Version string          `json:"version"` // agreed on by the client it is asked as, "" if none
	Verdict string          `json:"verdict"`
	Rule    string          `json:"rule"`
	Why     string          `json:"why"`
	At      int             `json:"exchange"` // that decided, 0 if none
	Harm    []laterHarm     `json:"afterwards"`
	Fix     string          `json:"fix"` // "" if nothing need be mended
}

// A laterHarm is an answer behind the connect that breaks something.
type laterHarm struct {
	Exchange int    `json:"exchange"`
	What     string `json:"what"`
	Verdict  string `json:"verdict"`
	Rule     string `json:"rule"`
}

// A sessionAnswer is how the server answers a session that it does not know.
type sessionAnswer struct {
	Session  string            `json:"session"` // deleted, invented
	Exchange int               `json:"exchange"`
	Status   int               `json:"status"`
	Verdicts map[string]string `json:"verdicts"` // by policy
}

// probed judges a recording of probe by all policies.
func (a *app) probed(file, url string) (*probeReport, error) {
	d, err := a.document([]string{file}, analyze.Options{Policies: []string{"all"}, AllHTTP: true})
	if err != nil {
		return nil, err
	}
	p := &probeReport{Format: "mcptap-probe/1", URL: url, File: file, Policies: []policyOutlook{}, Sessions: []sessionAnswer{}, Findings: []analyze.Finding{}}
	for i := range d.Findings {
		if d.Findings[i].Fault != "client" {
			p.Findings = append(p.Findings, d.Findings[i])
		}
	}
	visits := map[string]*analyze.Conversation{}
	for i := range d.Conversations {
		if c := &d.Conversations[i]; c.Client.Name != "" && visits[c.Client.Name] == nil {
			visits[c.Client.Name] = c
		}
	}
	for _, pol := range analyze.Policies() {
		out := policyOutlook{Policy: pol.Name, Outcome: analyze.Unknown, Harm: []laterHarm{}}
		if s := scriptFor(pol); s != nil {
			out.AskedAs = s.Policy
			if c := visitFor(pol, s, visits); c != nil {
				out.judge(d, c)
			}
		}
		p.Policies = append(p.Policies, out)
	}
	if c := visits["mcptap-probe-"+sessionScript+sessionSuffix]; c != nil {
		p.Sessions = sessionAnswers(d, c.ID)
	}
	return p, nil
}

// visitFor chooses among a script's visit and those behind it for policies that went on: the first in which the policy's
// connect comes to its end, else the script's own.
func visitFor(p *analyze.Policy, s *caller.Script, visits map[string]*analyze.Conversation) *analyze.Conversation {
	own := visits[s.Name()]
	if own == nil || !own.Predicted[p.Name].Assumed {
		return own
	}
	for _, q := range analyze.Policies() {
		further := *s
		further.Policy = q.Name
		c, asked := visits[further.Name()], scriptFor(q)
		if c != nil && asked != nil && asked.Policy == s.Policy && !c.Predicted[p.Name].Assumed {
			return c
		}
	}
	return own
}

// scriptFor chooses whose requests a policy is judged on: its own, those of the policy that it is based on, or those of a
// client that begins as it does; nil if none of them asks for a version that it speaks.
func scriptFor(p *analyze.Policy) *caller.Script {
	scripts := caller.Scripts()
	named := func(name string) *caller.Script {
		i := slices.IndexFunc(scripts, func(s caller.Script) bool {
			return s.Policy == name && (len(p.Legacy) == 0 || slices.Contains(p.Legacy, s.Version))
		})
		if i < 0 {
			return nil
		}
		return &scripts[i]
	}
	for q := p; q != nil; q = policyNamed(q.Base) {
		if s := named(q.Name); s != nil {
			return s
		}
	}
	first := "ts-2.4.0"
	switch {
	case len(p.Modern) == 0:
		first = "ts-2.4.0-legacy"
	case p.Turn["legacy-fallback"] != "":
		first = "ts-2.4.0-pin"
	}
	return cmp.Or(named(first), named("gemini-cli-0.61.0"))
}

// judge fills in what the policy makes of a conversation.
func (o *policyOutlook) judge(d *document, c *analyze.Conversation) {
	was := c.Predicted[o.Policy]
	o.Outcome, o.Assumed, o.Verdict, o.Rule, o.At = was.Outcome, was.Assumed, was.Verdict, was.Rule, was.Exchange
	if o.Outcome == analyze.Modern || o.Outcome == analyze.Legacy {
		o.Version = c.Observed.Version
	}
	if x := d.exchange(was.Exchange); x != nil {
		o.Why = x.Verdicts[o.Policy].Why
	}
	if o.Outcome == analyze.Failed {
		o.Fix = d.fixFor(was.Exchange)
	}
	for _, x := range d.of(c.ID) {
		v := x.Verdicts[o.Policy]
		if x.N <= was.Exchange || !slices.Contains(harmful, v.Verdict) || slices.Contains(connecting, x.Class) {
			continue
		}
		what := x.Observation().Method
		if x.Observation().RPCMethod != "" {
			what = x.Observation().RPCMethod
		}
		o.Harm = append(o.Harm, laterHarm{x.N, what, v.Verdict, v.Rule})
		if o.Fix == "" {
			o.Fix = d.fixFor(x.N)
		}
	}
}

// harmful are the verdicts on an answer behind the connect that leave the client without its server; connecting the classes
// that the connect itself is made of.
var (
	harmful    = []string{"disconnect", "network-error", "timeout", "auth-error", "negotiation-error"}
	connecting = []string{"probe", "discover", "initialize", "initialized", "delete"}
)

// fixFor is what to mend at an exchange: the fix of its worst finding.
func (d *document) fixFor(n int) string {
	for _, f := range worstFirst(d.Report) {
		if f.Fault != "client" && slices.Contains(f.Exchanges, n) && f.Fix != "" {
			return f.Fix
		}
	}
	return ""
}

// sessionAnswers are the answers to requests that came with a session which the server has ended or never opened.
func sessionAnswers(d *document, conversation int) []sessionAnswer {
	answers := []sessionAnswer{}
	words := []string{"deleted", "invented"}
	for _, x := range d.Exchanges {
		if x.Conversation != conversation && x.Conversation != 0 && len(answers) == 0 || x.Observation().RPCMethod != "tools/list" {
			continue
		}
		if len(answers) == len(words) {
			break
		}
		a := sessionAnswer{words[len(answers)], x.N, x.Observation().Status, map[string]string{}}
		for name, v := range x.Verdicts {
			a.Verdicts[name] = v.Verdict
		}
		answers = append(answers, a)
	}
	return answers
}

// fails tells whether the connect fails under a policy that was asked for.
func (p *probeReport) fails() bool {
	return slices.ContainsFunc(p.Policies, func(o policyOutlook) bool { return o.Outcome == analyze.Failed && p.wants(o.Policy) })
}

func (p *probeReport) wants(policy string) bool {
	return slices.Contains(p.asked, "all") || slices.Contains(p.asked, policy)
}

// write prints the report for people.
func (p *probeReport) write(a *app) error {
	colour := a.paint(a.stdout)
	var rows [][]cell
	for i := range p.Policies {
		rows = append(rows, p.Policies[i].row(colour))
	}
	fmt.Fprintf(a.stdout, "%s, recorded to %s\n\n", oneLine(p.URL), oneLine(p.File))
	if err := writeTable(a.stdout, colour, []string{"POLICY", "OUTCOME", "VERDICT", "RULE", "AFTERWARDS", "ASKED AS"}, rows); err != nil {
		return err
	}
	if slices.ContainsFunc(p.Policies, func(o policyOutlook) bool { return o.Assumed }) {
		fmt.Fprintln(a.stdout, "\n* a step that this policy would take was not asked, and is taken to succeed")
	}
	for _, s := range p.Sessions {
		fmt.Fprintf(a.stdout, "\n%s session (exchange %d): status %d; recommended: %s\n", s.Session, s.Exchange, s.Status, orDash(s.Verdicts[analyze.Recommended]))
	}
	p.writeFixes(a)
	return nil
}

func (o *policyOutlook) row(colour paint) []cell {
	outcome := cell{text: string(o.Outcome)}
	if o.Assumed {
		outcome.text += " *"
	}
	switch o.Outcome {
	case analyze.Failed:
		outcome.style = colour.red
	case analyze.Unknown:
		outcome.style = colour.yellow
	}
	later := "-"
	if len(o.Harm) > 0 {
		later = o.Harm[0].What + ": " + o.Harm[0].Verdict
		if n := len(o.Harm) - 1; n > 0 {
			later += fmt.Sprintf(" (and %d more)", n)
		}
	}
	return []cell{text(o.Policy), outcome, text(orDash(o.Verdict)), text(orDash(o.Rule)), text(later), text(orDash(o.AskedAs))}
}

// writeFixes says what to mend, each once, with the policies that it is for.
func (p *probeReport) writeFixes(a *app) {
	var order []string
	whose := map[string][]string{}
	for i := range p.Policies {
		o := &p.Policies[i]
		words := o.Fix
		if words == "" && o.Outcome == analyze.Failed {
			words = o.Why
		}
		if words == "" {
			continue
		}
		if whose[words] == nil {
			order = append(order, words)
		}
		whose[words] = append(whose[words], o.Policy)
	}
	for _, words := range order {
		fmt.Fprintf(a.stdout, "\nto mend (%s):\n  %s\n", strings.Join(whose[words], ", "), oneLine(words))
	}
}
