package analyze

import (
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/har"
)

// An Outcome is what became of a connect.
type Outcome string

const (
	Unknown Outcome = "unknown" // cannot tell
	Modern  Outcome = "modern"  // connected without a handshake, or at a modern version
	Legacy  Outcome = "legacy"  // connected by initialize
	Failed  Outcome = "failed"
)

// Observed is what the client was seen to do in the conversation's first connect.
type Observed struct {
	Outcome        Outcome `json:"outcome"`
	Version        string  `json:"version"` // "" if none was agreed on
	InitializeSent bool    `json:"initialize_sent"`
	WaitMS         int64   `json:"wait_ms"` // from the first byte to the outcome
}

// observed reads the outcome from the traffic. A client that goes on to send requests has connected, whatever one may
// think of the answers; where nothing follows, the answers decide. An answer that this client is known to take, or, of a
// client that was not recognised, that any known one takes, shows no failure: the recording may have ended there.
func (c *connect) observed() Observed {
	o := Observed{Outcome: Unknown, InitializeSent: len(c.inits) > 0}
	end := c.first().until()
	switch {
	case len(c.inits) > 0:
		end = c.observeHandshake(&o)
	case len(c.probes) > 0:
		end = c.observeProbe(&o)
	case len(c.requests) > 0:
		end = c.observeRequests(&o)
	case len(c.streams) > 0:
		f := decisive(c.streams)
		if c.transport == overSSE && f.settled() && !c.taking(func(p *Policy) bool { return p.judge(f).Verdict == "delivered" }) {
			o.Outcome = Failed
		}
		end = f.until()
	}
	if o.Outcome == Unknown { // what the server named need not have been agreed on
		o.Version = ""
	}
	o.WaitMS = end.Sub(c.first().started).Milliseconds()
	return o
}

func (c *connect) observeHandshake(o *Observed) time.Time {
	f := decisive(c.inits)
	end := f.until()
	if f.kind == replyResult {
		o.Version = first(f.reply.versions)
	}
	connected := Legacy
	if modern(o.Version) {
		connected = Modern
	}
	last := decisive(c.inited)
	if last != nil {
		end = last.until()
	}
	switch {
	case c.wentOn(f.n):
		o.Outcome = connected
		if o.Version == "" {
			o.Version = c.requests[0].req.header
		}
		return end
	case last != nil && last.taken(): // whatever the reply looks like, the client has accepted it
		o.Outcome = connected
		return end
	case last != nil && f.kind == replyResult && !last.settled(), !f.settled():
		return end
	case !c.leftStream() && c.taking(func(p *Policy) bool { return p.predictHandshake(c, Prediction{}).Verdict == "delivered" }):
		return end
	}
	o.Outcome, o.Version = Failed, ""
	for _, s := range c.streams { // a client may wait for its stream before it gives up
		if s.finished.After(end) && len(c.inited) == 0 {
			end = s.finished
		}
	}
	return end
}

// leftStream tells whether the client gave a stream up whose head it had awaited before notifications/initialized.
func (c *connect) leftStream() bool {
	return len(c.inited) == 0 && slices.ContainsFunc(c.streams, func(s *facts) bool { return s.answer == silence })
}

// taken tells whether the server took a notification.
func (f *facts) taken() bool {
	if f.transport == overStdio {
		return true
	}
	return !f.otherSession() && slices.Contains([]int{200, 202, 204}, f.status) && f.answer&(whole|cut) == f.answer
}

func (c *connect) observeProbe(o *Observed) time.Time {
	f := decisive(c.probes)
	end := f.until()
	switch {
	case c.wentOn(f.n):
		o.Outcome, o.Version = Modern, c.requests[0].req.version
		if o.Version == "" {
			o.Outcome, o.Version = Legacy, c.requests[0].req.header
		}
	case f.plainly() && f.kind == replyResult && f.reply.discover && slices.Contains(f.reply.versions, f.req.version) && f.end != har.EndClientRST: // a client that resets may have given up
		o.Outcome, o.Version = Modern, f.req.version
	case f.settled() && c.transport != overStdio && // there, a client may ask a process of its own and leave it
		!c.taking(func(p *Policy) bool { return strings.HasPrefix(p.predictProbe(c).Verdict, "modern@") }):
		o.Outcome = Failed
	}
	return end
}

// taking tells whether the connect's client accepts an answer, of which accepts says whether a policy does: by the policy
// that stands for the client, else by that of any other; those of the specification's revisions are no client's.
func (c *connect) taking(accepts func(*Policy) bool) bool {
	if own := policies().byName[c.conv.client.policy]; own != nil {
		return accepts(own)
	}
	return slices.ContainsFunc(Policies(), func(p *Policy) bool { return !strings.HasPrefix(p.Name, "spec-") && accepts(p) })
}

// observeRequests is for clients that know the server already, and for recordings that began too late.
func (c *connect) observeRequests(o *Observed) time.Time {
	f := c.requests[0]
	for _, r := range c.requests {
		if r.kind == replyResult || r.kind == replyError {
			f = r
			break
		}
	}
	if f.kind == replyResult || f.kind == replyError {
		o.Outcome, o.Version = Legacy, f.req.header
		if f.req.era() == eraModern {
			o.Outcome, o.Version = Modern, f.req.version
		}
	}
	return f.until()
}

// plainly tells whether the reply came as every client takes it, so that it may be believed without a sequel.
func (f *facts) plainly() bool {
	if f.transport == overStdio {
		return f.via == viaBody && f.answer == whole
	}
	usual := f.encoding == "" || f.encoding == "gzip" || f.encoding == "identity"
	return usual && f.status/100 == 2 && f.status != 202 && f.faults == nil && len(f.interim) == 0 && !f.odd && f.headBytes <= 8192 &&
		(f.via == viaBody && f.answer == whole || f.via == viaEvent && f.eventEnd == eventPlain) || f.via == viaStream
}

// wentOn tells whether requests followed exchange n.
func (c *connect) wentOn(n int) bool {
	return slices.ContainsFunc(c.requests, func(f *facts) bool { return f.n > n })
}

// settled tells whether all that the client waited for is in the recording: the answer came whole, broke off, or the
// client left.
func (f *facts) settled() bool {
	return f.answer != 0 && f.answer&(f.answer-1) == 0 && f.kind&(f.kind-1) == 0 && f.end != har.EndStopped
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// A Prediction is what a policy says of a whole connect: probe, initialize, initialized. The first rule that ends it
// decides; a step that the policy would take and the recording does not hold is taken to succeed.
type Prediction struct {
	Outcome   Outcome `json:"outcome"`
	Assumed   bool    `json:"assumed"`
	Verdict   string  `json:"verdict"`
	Rule      string  `json:"rule"`
	Exchange  int     `json:"exchange"`
	Tentative bool    `json:"tentative,omitempty"`
}

// predict walks the connect's steps as the policy's client would.
func (p *Policy) predict(c *connect) Prediction {
	switch {
	case len(c.probes) > 0:
		return p.predictProbe(c)
	case len(c.inits) > 0:
		return p.predictHandshake(c, Prediction{})
	case c.transport == overSSE && len(c.streams) > 0:
		return p.predictStream(c)
	case len(c.requests) > 0:
		return p.predictRequest(c)
	}
	return Prediction{Outcome: Unknown, Verdict: "inconclusive"}
}

func (p *Policy) predictProbe(c *connect) Prediction {
	var d Prediction
	for i, f := range c.probes {
		if f.superseded {
			continue
		}
		v := p.judge(f)
		d = Prediction{Outcome: Failed, Verdict: v.Verdict, Rule: v.Rule, Exchange: f.n, Tentative: v.Tentative}
		word, _, _ := strings.Cut(v.Verdict, "@")
		switch word {
		case "modern":
			d.Outcome = Modern
			return d
		case "legacy-fallback":
			return p.predictHandshake(c, d)
		case "unspecified", "inconclusive":
			d.Outcome = Unknown
			return d
		case "corrective-retry":
			if decisive(c.probes[i+1:]) == nil {
				return p.assumeRetry(c, f, d)
			}
			continue
		}
		return d
	}
	return d
}

// assumeRetry says what a corrective retry that was not recorded would meet. One with another version is taken to
// succeed; one with the version that was just refused is the same request again, and its answer is in the recording.
func (p *Policy) assumeRetry(c *connect, f *facts, d Prediction) Prediction {
	d.Outcome, d.Assumed = Modern, true
	if p.version(f) != f.req.version {
		return d
	}
	second := *f
	second.again = true
	switch v := p.judge(&second); v.Verdict {
	case "negotiation-error":
		d.Outcome, d.Verdict, d.Rule = Failed, v.Verdict, v.Rule
	case "legacy-fallback":
		d.Verdict, d.Rule = v.Verdict, v.Rule
		d = p.predictHandshake(c, d)
		d.Assumed = true
	}
	return d
}

// handshake gives the steps that decide it: initialize, where the policy says so the first answer to its stream, and
// notifications/initialized. A step that was not recorded is nil.
func (p *Policy) handshake(c *connect) []*facts {
	steps := []*facts{decisive(c.inits)}
	if p.StreamFirst && len(c.streams) > 0 {
		stream, before := c.streams[0], decisive(c.inited)
		for _, f := range c.streams {
			if before == nil || f.n < before.n {
				stream = f
			}
		}
		steps = append(steps, stream)
	}
	return append(steps, decisive(c.inited))
}

// unanswered gives the facts of an exchange whose answer had not begun when the recording ended, as silence: a client that
// waits without limit waits then too.
func (f *facts) unanswered() *facts {
	c := *f
	c.answer, c.kind, c.via, c.media = silence, replyNone, viaNothing, mediaNone
	return &c
}

// standstill are the verdicts on a stream that keep a client which waits for it from going on.
var standstill = []string{"disconnect", "timeout", "network-error", "auth-error"}

// predictHandshake goes on with initialize; d is what led to it.
func (p *Policy) predictHandshake(c *connect, d Prediction) Prediction {
	for _, step := range p.handshake(c) {
		if step == nil {
			if d.Outcome != Modern {
				d.Outcome = Legacy
			}
			d.Assumed = true
			return d
		}
		v := p.judge(step)
		if step.class == getStream {
			if step.end == har.EndStopped && step.firstByte < 0 {
				v, d.Assumed = p.judge(step.unanswered()), true
			}
			later := v.Verdict == "disconnect" && step.status != 0 // the stream is read beside the handshake, which waits for its head only
			if later || !slices.Contains(standstill, v.Verdict) {
				continue
			}
		}
		switch v.Verdict {
		case "delivered":
		case "legacy-fallback":
			return p.predictFallback(c, step, Prediction{Verdict: v.Verdict, Rule: v.Rule, Exchange: step.n, Assumed: d.Assumed})
		case "unspecified", "inconclusive":
			return Prediction{Outcome: Unknown, Verdict: v.Verdict, Rule: v.Rule, Exchange: step.n, Assumed: d.Assumed}
		default:
			return Prediction{Outcome: Failed, Verdict: v.Verdict, Rule: v.Rule, Exchange: step.n, Assumed: d.Assumed}
		}
		if d.Rule == "" {
			d = Prediction{Verdict: v.Verdict, Rule: v.Rule, Exchange: step.n}
		}
		if step.class == initialize {
			d.Outcome = Legacy
			if modern(first(step.seenBy(p).reply.versions)) {
				d.Outcome = Modern
			}
		}
	}
	return d
}

// predictFallback says what becomes of the attempt over HTTP+SSE that follows a refused step of the handshake: that which
// its stream met, or, where the recording holds none, success.
func (p *Policy) predictFallback(c *connect, refused *facts, d Prediction) Prediction {
	for _, f := range c.streams {
		if f.n < refused.n || f.req.session != "" {
			continue
		}
		tried := *f
		tried.transport = overSSE
		if v := p.judge(&tried); v.Verdict != "delivered" {
			d.Outcome = Failed
			if v.Verdict == "unspecified" || v.Verdict == "inconclusive" {
				d.Outcome = Unknown
			}
			return d
		}
	}
	d.Outcome, d.Assumed = Legacy, true
	return d
}

// predictStream is for HTTP+SSE clients that never got to send initialize.
func (p *Policy) predictStream(c *connect) Prediction {
	f := decisive(c.streams)
	v := p.judge(f)
	d := Prediction{Outcome: Failed, Verdict: v.Verdict, Rule: v.Rule, Exchange: f.n}
	switch v.Verdict {
	case "delivered":
		d.Outcome, d.Assumed = Legacy, true
	case "unspecified", "inconclusive":
		d.Outcome = Unknown
	}
	return d
}

// predictRequest is for connects without a handshake in the recording: their first request decides.
func (p *Policy) predictRequest(c *connect) Prediction {
	f := c.requests[0]
	v := p.judge(f)
	d := Prediction{Outcome: Failed, Verdict: v.Verdict, Rule: v.Rule, Exchange: f.n, Assumed: true}
	switch v.Verdict {
	case "delivered", "keep-connected", "pass-through", "reinitialize", "reinitialize+retry-once", "resume":
		d.Outcome = Legacy
		if f.req.era() == eraModern {
			d.Outcome = Modern
		}
	case "unspecified", "inconclusive":
		d.Outcome = Unknown
	}
	return d
}
