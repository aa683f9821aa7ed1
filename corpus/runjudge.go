package corpus

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/analyze"
	"github.com/mcptap/mcptap/har"
)

// MatrixFormat is the first member of a Matrix.
const MatrixFormat = "mcptap-matrix/1"

// A Matrix is what a client made of cases.
type Matrix struct {
	Format string         `json:"format"`
	Client analyze.Client `json:"client"` // as recognised
	Policy string         `json:"policy"` // what it is judged by
	Asked  int            `json:"asked"`  // cases that were to be run

	Agree        int `json:"agree"`
	Differ       int `json:"differ"`
	Inconclusive int `json:"inconclusive"`
	Error        int `json:"error"`

	Cases []CaseResult `json:"cases"` // those that came to an end
}

// The words for what became of a case.
const (
	Agree        = "agree"        // the client did what the policy predicts
	Differ       = "differ"       // it did something else, twice
	Inconclusive = "inconclusive" // it cannot be told, or it never came to what the case is about
	Error        = "error"        // the client did not start, or sent nothing
)

// A CaseResult is one row.
type CaseResult struct {
	Name      string `json:"name"`
	Row       string `json:"row"`
	Result    string `json:"result"`
	Why       string `json:"why,omitempty"`
	Predicted string `json:"predicted"` // outcome of the connect by the policy; "" if nothing passed
	Verdict   string `json:"verdict"`   // on the answer that the case is about, or on which the connect hangs
	Rule      string `json:"rule"`
	Observed  string `json:"observed"` // outcome of the connect
	Version   string `json:"version"`  // agreed upon
	Requests  int    `json:"requests"`
	ExitCode  int    `json:"exit_code"`
	Output    string `json:"output,omitempty"` // the end of what the client wrote, where it does not agree
	MS        int64  `json:"ms"`
}

// count fills in how many cases came out how.
func (m *Matrix) count() {
	for _, x := range m.Cases {
		*map[string]*int{Agree: &m.Agree, Differ: &m.Differ, Inconclusive: &m.Inconclusive, Error: &m.Error}[x.Result]++
	}
}

// choose settles which policy the client is judged by. A client is one client in all cases: the policy that most of them
// show is its. One that is pinned looks like one that is not until either should fall back: a fallback anywhere says that
// it is not.
func (m *Matrix) choose(policy string, runs []*run) {
	votes, fellBack := map[string][]analyze.Client{}, map[string]bool{}
	for _, one := range runs {
		r := one.report()
		for i := range r.Conversations {
			c := &r.Conversations[i]
			votes[c.Client.Policy] = append(votes[c.Client.Policy], c.Client)
			fellBack[c.Client.Policy] = fellBack[c.Client.Policy] || sentProbe(r, c.ID) && c.Observed.InitializeSent
		}
	}
	for name := range votes {
		pinned := name + "-pin"
		switch {
		case votes[pinned] == nil:
		case fellBack[name]:
			votes[name] = append(votes[name], make([]analyze.Client, len(votes[pinned]))...)
			delete(votes, pinned)
		default:
			votes[pinned] = append(votes[pinned], make([]analyze.Client, len(votes[name]))...)
			delete(votes, name)
		}
	}
	best := ""
	for name, list := range votes {
		if name != "" && (best == "" || cmp.Or(cmp.Compare(len(votes[best]), len(list)), strings.Compare(name, best)) < 0) {
			best = name
		}
	}
	if list := votes[best]; len(list) > 0 {
		m.Client = list[0]
	}
	m.Policy = cmp.Or(policy, best, analyze.Recommended)
}

func sentProbe(r *analyze.Report, conversation int) bool {
	return slices.ContainsFunc(r.Exchanges, func(x analyze.Exchange) bool { return x.Conversation == conversation && x.Class == "probe" })
}

// probes tells whether clients of a policy ask server/discover first.
func probes(policy string) bool {
	return slices.ContainsFunc(analyze.Policies(), func(p *analyze.Policy) bool { return p.Name == policy && len(p.Modern) > 0 })
}

// judge says what became of one case.
func (m *Matrix) judge(one *run) CaseResult {
	x := CaseResult{Name: one.k.Name, Row: one.k.Row, ExitCode: one.exit.Code, MS: one.took.Milliseconds(), Requests: len(one.seen)}
	j := judging{run: one, policy: m.Policy, report: one.report(m.Policy), row: &x}
	x.Result, x.Why = j.result()
	if x.Result != Agree {
		x.Output = one.exit.Output
	}
	return x
}

// A judging is the judgement of one run, on its way.
type judging struct {
	*run
	policy string
	report *analyze.Report
	row    *CaseResult
}

// result is the word for a case and its reason.
func (j *judging) result() (word, why string) {
	switch {
	case j.exit.Err != nil:
		return Error, j.exit.Err.Error()
	case j.err != nil:
		return Inconclusive, j.err.Error()
	case len(j.recorded) > 0 && j.recorded[0].Stdio():
		return Inconclusive, "recorded over stdio, and the client is given a URL"
	case len(j.report.Conversations) == 0 && j.late:
		return Error, "the client sent nothing until its time was up"
	case len(j.report.Conversations) == 0:
		return Error, fmt.Sprintf("the client sent nothing and ended with exit code %d", j.exit.Code)
	}
	for i := range j.report.Conversations {
		if word, why = j.connect(&j.report.Conversations[i]); word != Agree {
			return word, why
		}
	}
	return j.deed()
}

// connect compares how a conversation connected with what the policy says of the answers that it met.
func (j *judging) connect(c *analyze.Conversation) (word, why string) {
	saw, p := c.Observed, c.Predicted[j.policy]
	j.row.Predicted, j.row.Verdict, j.row.Rule = string(p.Outcome), p.Verdict, p.Rule
	j.row.Observed, j.row.Version = string(saw.Outcome), saw.Version
	failed := saw.Outcome == analyze.Failed
	switch {
	case p.Outcome == analyze.Unknown:
		return Inconclusive, fmt.Sprintf("the policy cannot tell: %s%s", p.Verdict, by(p.Rule))
	case saw.Outcome == analyze.Unknown:
		return Inconclusive, "the traffic does not tell what became of the connect"
	case j.late && failed && (p.Outcome != saw.Outcome || p.Verdict == "timeout"):
		return Inconclusive, "the client was still waiting when its time was up"
	case p.Outcome != saw.Outcome && len(j.misses) > 0:
		return Inconclusive, "the case has no answer to " + j.misses[0].Request
	case p.Outcome != saw.Outcome:
		return Differ, fmt.Sprintf("%s predicts %s (%s%s), the client's connect ended %s", j.policy, p.Outcome, p.Verdict, by(p.Rule), saw.Outcome)
	case j.aboutProbe() && probes(j.policy) && !sentProbe(j.report, c.ID):
		return Inconclusive, "the client sent no probe, of which the policy speaks"
	}
	return Agree, ""
}

func by(rule string) string {
	if rule == "" {
		return ""
	}
	return " by " + rule
}

// about is the recorded exchange that the case is about, nil if none.
func (j *judging) about() *har.Exchange {
	if len(j.k.Expect) == 0 {
		return nil
	}
	i := slices.IndexFunc(j.recorded, func(x *har.Exchange) bool { return x.N == j.k.Expect[0].Exchange })
	if i < 0 {
		return nil
	}
	return j.recorded[i]
}

func (j *judging) aboutProbe() bool {
	x := j.about()
	return x != nil && rpcOf(x) == "server/discover"
}

// met finds, in what passed, the exchange that the case is about: of the requests of its kind as many-th as it is in the
// recording, which is the one that was answered by it.
func (j *judging) met() *analyze.Exchange {
	about := j.about()
	if about == nil {
		return nil
	}
	count := func(xs []*har.Exchange, upTo int) (n int) {
		for _, x := range xs {
			if x.N <= upTo && kindOf(x) == kindOf(about) {
				n++
			}
		}
		return n
	}
	want := count(j.recorded, about.N)
	for _, x := range j.seen {
		if kindOf(x) == kindOf(about) && count(j.seen, x.N) == want {
			i := slices.IndexFunc(j.report.Exchanges, func(e analyze.Exchange) bool { return e.N == x.N })
			if i >= 0 {
				return &j.report.Exchanges[i]
			}
		}
	}
	return nil
}

// connecting are the classes of exchanges that the outcome of a connect speaks for.
var connecting = []string{"probe", "initialize", "initialized"}

// deed compares what the client did behind the answer that the case is about, where that is not the connect itself.
func (j *judging) deed() (word, why string) {
	x := j.met()
	if x == nil {
		about := j.about()
		if about == nil || slices.Contains([]string{"server/discover", "initialize", "notifications/initialized"}, rpcOf(about)) {
			return Agree, ""
		}
		return Inconclusive, fmt.Sprintf("%s as predicted, and the client never sent what the case is about: exchange %d, %s",
			j.row.Observed, about.N, cmp.Or(rpcOf(about), about.Method))
	}
	if slices.Contains(connecting, x.Class) {
		return Agree, ""
	}
	v := x.Verdicts[j.policy]
	j.row.Verdict, j.row.Rule = v.Verdict, v.Rule
	word, what := consequence(v.Verdict, j.behind(x))
	if word == Agree {
		return word, ""
	}
	return word, fmt.Sprintf("%s says %s%s of exchange %d (%s): %s", j.policy, v.Verdict, by(v.Rule), x.N, cmp.Or(x.Observation().RPCMethod, x.Class), what)
}

// A sequel is what came behind an answer.
type sequel struct{ asked, initialized, repeated, resumed, late bool }

func (j *judging) behind(x *analyze.Exchange) sequel {
	s := sequel{late: j.late}
	for i := range j.report.Exchanges {
		y := &j.report.Exchanges[i]
		if y.N <= x.N {
			continue
		}
		switch y.Class {
		case "request", "optional-method":
			s.asked = s.asked || !s.initialized
			s.repeated = s.repeated || y.Observation().RPCMethod == x.Observation().RPCMethod && s.initialized
		case "initialize":
			s.initialized = true
		case "resume":
			s.resumed = true
		}
	}
	return s
}

// consequence compares a verdict with what followed. Where nothing followed and something might have, it cannot be told: the
// client may have had nothing more to ask.
func consequence(verdict string, then sequel) (word, what string) {
	switch verdict {
	case "unspecified", "inconclusive":
		return Inconclusive, "that is no prediction"
	case "reinitialize", "reinitialize+retry-once":
		switch {
		case !then.initialized && then.late:
			return Inconclusive, "the client's time was up before it began anew"
		case !then.initialized:
			return Differ, "the client did not initialize again"
		case verdict != "reinitialize" && !then.repeated:
			return Differ, "the client did not send its request again"
		}
	case "disconnect":
		if then.asked {
			return Differ, "the client went on with requests"
		}
	case "resume":
		if !then.resumed {
			return Inconclusive, "the client did not take the stream up before it ended"
		}
	case "keep-connected", "post-only":
		switch {
		case then.initialized && !then.asked:
			return Differ, "the client began anew with initialize"
		case !then.asked:
			return Inconclusive, "no request followed"
		}
	case "pass-through":
		if then.initialized && !then.asked {
			return Differ, "the client began anew with initialize"
		}
	}
	return Agree, ""
}
