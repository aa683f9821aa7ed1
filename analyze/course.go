package analyze

import (
	"slices"
	"strings"

	"github.com/mcptap/mcptap/har"
)

// A Choice is a point where a client had to choose: an answer, or its absence, what the client was seen to do next, and
// whether policies say so.
type Choice struct {
	Exchange    int                 `json:"exchange"`    // whose answer it was
	Next        int                 `json:"next"`        // what the client did next, 0 if nothing is recorded
	Did         Act                 `json:"did"`         // how that is to be called
	AfterMS     int64               `json:"after_ms"`    // between the two; valid iff Next > 0
	WaitedMS    int64               `json:"waited_ms"`   // on the answer
	Repeated    int                 `json:"repeated"`    // requests that the client sent once more because of it
	Connections int                 `json:"connections"` // TCP connections that it opened because of it
	Policies    map[string]Expected `json:"policies"`
}

// An Expected is what a policy has a client do at such a point.
type Expected struct {
	Verdict string `json:"verdict"`
	Rule    string `json:"rule"`
	Agrees  *bool  `json:"agrees"` // with what was seen; null: cannot tell
}

// An Act is what a client was seen to do.
type Act string

const (
	Initialize Act = "initialize" // went on with initialize
	Retry      Act = "retry"      // asked the same once more
	Continue   Act = "continue"   // went on in the same connect
	Authorize  Act = "authorize"  // looked for credentials
	Reconnect  Act = "reconnect"  // began anew
	Close      Act = "close"      // ended the session
	Stop       Act = "stop"       // sent nothing more
	NotSeen    Act = "unknown"    // the recording ends there
)

// maxChoices bounds the choices that are listed of one conversation.
const maxChoices = 100

// course lists the conversation's choices.
func (a *analysis) course(v *conversation) []Choice {
	choices := []Choice{}
	ps := a.policiesFor(v)
	rec := policies().byName[Recommended]
	for i, c := range v.connects {
		for _, f := range c.all {
			if len(choices) == maxChoices {
				return choices
			}
			if !f.asksForChoice(rec) {
				continue
			}
			choices = append(choices, f.choice(v, i, ps))
		}
	}
	return choices
}

// asksForChoice tells whether the answer is one that clients act upon differently: the decisive one to the probe, and
// whatever else does not simply deliver.
func (f *facts) asksForChoice(rec *Policy) bool {
	if f.superseded {
		return false
	}
	switch f.class {
	case probe:
		return true
	case initialize, initialized, request, optional, getStream:
		switch verdict := rec.judge(f).Verdict; verdict {
		case "delivered", "post-only", "resume", "inconclusive", "unspecified":
			return false
		case "pass-through":
			return f.status/100 != 2
		}
		return true
	}
	return false
}

// choice describes what followed f, an exchange of the conversation's i-th connect.
func (f *facts) choice(v *conversation, i int, ps []*Policy) Choice {
	next := f.next(v, i)
	end := f.until()
	t := Choice{Exchange: f.n, Did: f.act(next), WaitedMS: end.Sub(f.started).Milliseconds(), Policies: map[string]Expected{}}
	if next != nil {
		t.Next, t.AfterMS = next.n, max(0, next.started.Sub(end).Milliseconds())
		t.Repeated, t.Connections = f.consequence(next, t.Did)
	}
	for _, p := range ps {
		j := p.judge(f)
		x := Expected{j.Verdict, j.Rule, agrees(f.class, j.Verdict, t.Did)}
		if t.Did == Reconnect && f.connect.usedAfter(f, next) && len(v.connects) < minLoop {
			x.Agrees = nil
		}
		if t.Did == Reconnect && j.Verdict == "reinitialize+retry-once" && !next.connect.repeats(f) {
			x.Agrees = triPointer(har.False)
		}
		if j.Verdict == "legacy-fallback" && f.class != probe {
			x.Agrees = triedStream(next, t.Did)
		}
		t.Policies[p.Name] = x
	}
	return t
}

// triedStream tells whether a client went on to HTTP+SSE, which is what falling back means behind a refused handshake.
func triedStream(next *facts, did Act) *bool {
	switch {
	case next != nil && next.class == getStream && next.req.session == "":
		return triPointer(har.True)
	case did == Authorize || did == NotSeen:
		return nil
	}
	return triPointer(har.False)
}

// usedAfter tells whether a connect was used between f and its end: what came then may have been the reason to begin anew.
func (c *connect) usedAfter(f, next *facts) bool {
	return slices.ContainsFunc(c.all, func(x *facts) bool { return x.n > f.n && x.n < next.n && !x.started.Before(f.until()) })
}

// repeats tells whether the connect repeats the call f, which the session before it had lost.
func (c *connect) repeats(f *facts) bool {
	return slices.ContainsFunc(c.all, func(x *facts) bool { return x.repeats == f })
}

// next finds what the client did once it had the answer. Of a handshake each step waits for the one before; later,
// requests overlap, and only what was sent after the answer can be because of it. The last trouble of a connect that the
// client gave up is held to be why.
func (f *facts) next(v *conversation, i int) *facts {
	if i+1 < len(v.connects) && f == v.connects[i].trouble() {
		return v.connects[i+1].first()
	}
	waits := f.class == probe || f.class == initialize
	for _, c := range v.connects[i:] {
		for _, x := range c.all {
			if x.n <= f.n || !waits && x.started.Before(f.until()) {
				continue
			}
			return x
		}
	}
	return nil
}

// act names what next is to f.
func (f *facts) act(next *facts) Act {
	switch {
	case next == nil && (!f.settled() || f.end == har.EndKeep && f.class != probe && f.class != initialize):
		return NotSeen
	case next == nil:
		return Stop
	case next.class == oauth:
		return Authorize
	case next.class == deletion:
		return Close
	case next.connect != f.connect:
		return Reconnect
	case next.class == f.class && (f.class == probe || next.req.call == f.req.call && next.req.method == f.req.method):
		return Retry
	case next.class == initialize:
		return Initialize
	}
	return Continue
}

// consequence counts what the client did once more, and over new connections: all of a new connect that the old one had
// done already, or the single request that was repeated.
func (f *facts) consequence(next *facts, did Act) (repeated, connections int) {
	what := []*facts{next}
	if did == Reconnect {
		what = next.connect.all
	}
	opened := map[uint64]bool{}
	type call struct {
		http, method string
		rest         callHash
	}
	asked := map[call]bool{}
	for _, x := range f.connect.all {
		if x.n >= next.n {
			break
		}
		opened[x.conn] = true
		asked[call{x.httpMethod, x.req.method, x.req.call}] = true
	}
	for _, x := range what {
		if !opened[x.conn] {
			opened[x.conn] = true
			connections++
		}
		again := did == Retry || did == Reconnect
		if again && x.req.requests > 0 && asked[call{x.httpMethod, x.req.method, x.req.call}] {
			repeated++
		}
	}
	return repeated, connections
}

// after says which acts fit a verdict, and which contradict it; what is in neither tells nothing.
var after = map[string]struct{ fits, contradicts []Act }{
	"modern":                  {[]Act{Continue}, []Act{Initialize}},
	"corrective-retry":        {[]Act{Retry}, []Act{Initialize, Stop, Continue}},
	"legacy-fallback":         {[]Act{Initialize}, []Act{Stop, Retry, Continue}},
	"auth-error":              {[]Act{Authorize, Retry, Stop, Close, Reconnect}, []Act{Initialize, Continue}},
	"network-error":           {[]Act{Stop, Close, Reconnect}, []Act{Initialize, Continue}},
	"timeout":                 {[]Act{Stop, Close, Reconnect}, []Act{Initialize, Continue}},
	"negotiation-error":       {[]Act{Stop, Close, Reconnect}, []Act{Initialize, Continue}},
	"disconnect":              {[]Act{Stop, Close, Reconnect}, []Act{Continue, Retry}},
	"keep-connected":          {[]Act{Continue, Close}, []Act{Reconnect}},
	"pass-through":            {[]Act{Continue, Close}, []Act{Reconnect}},
	"reinitialize":            {[]Act{Reconnect, Initialize}, []Act{Continue, Stop, Retry}},
	"reinitialize+retry-once": {[]Act{Reconnect, Initialize}, []Act{Continue, Stop, Retry}},
}

// agrees holds what a client did against a policy's verdict. After a failed request the caller may ask something else,
// so a timeout or network error in mid-session does not contradict going on.
func agrees(of class, verdict string, did Act) *bool {
	word, _, _ := strings.Cut(verdict, "@")
	acts := after[word]
	handshake := of == probe || of == initialize || of == initialized
	if !handshake && (word == "timeout" || word == "network-error" || word == "auth-error") {
		acts.contradicts = nil
	}
	switch {
	case slices.Contains(acts.fits, did):
		return triPointer(har.True)
	case slices.Contains(acts.contradicts, did):
		return triPointer(har.False)
	}
	return nil
}
