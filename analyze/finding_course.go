package analyze

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// findHandshake reports what the order of handshake exchanges shows.
func (a *analysis) findHandshake(v *conversation) {
	for _, c := range v.connects {
		ini := decisive(c.inits)
		if ini == nil {
			continue
		}
		if p := decisive(c.probes); p != nil && (p.status == 401 || p.status == 403) && ini.status/100 == 2 && p.req.auth == ini.req.auth {
			x := a.add(saying("probe-auth-inconsistent"), "probe/auth", p, p.statusAt)
			x.Exchanges = append(x.Exchanges, ini.n)
		}
		for _, f := range c.inits {
			if f.superseded && f.followed == nil && c.transport == overSSE && f.status >= 400 {
				a.add(saying("http-sse-fallback"), "initialize/http-error", f, f.statusAt)
			}
			if f.transport == overHTTP && f.status >= 400 && slices.ContainsFunc(c.streams, func(s *facts) bool { return s.endpointURL != "" && s.n < f.n && s.url == f.url }) {
				a.add(saying("transport-mismatch-post"), "initialize/http-error", f, f.statusAt)
			}
			if f.transport == overSSE && f.status == 404 {
				a.add(saying("endpoint-path-mismatch"), "initialize/http-error", f, f.statusAt)
			}
		}
		if ini.kind == replyResult && modern(first(ini.reply.versions)) && ini.issued != "" {
			a.add(saying("initialize-modern-session"), "initialize/unsupported-version", ini, ini.statusAt)
		}
	}
	a.findFallbackStream(v)
}

// findFallbackStream sees a refused initialize after which the client asked for an HTTP+SSE stream, also where the
// recording ends there.
func (a *analysis) findFallbackStream(v *conversation) {
	for _, c := range v.connects {
		ini := decisive(c.inits)
		if ini == nil || ini.transport == overSSE || ini.status != 400 && ini.status != 404 && ini.status != 405 {
			continue
		}
		for _, s := range c.streams {
			if s.n > ini.n && s.endpointURL != "" {
				x := a.add(saying("http-sse-fallback"), "initialize/http-error", ini, ini.statusAt)
				x.Exchanges = append(x.Exchanges, s.n)
				return
			}
		}
	}
}

// findDifferences sets what the client was seen to do beside what policies say of the same answers.
func (a *analysis) findDifferences(v *conversation) {
	c := v.first()
	seen := c.observed()
	if len(c.probes) == 0 || seen.Outcome == Unknown {
		return
	}
	rec := policies().byName[Recommended].predict(c)
	fellBack := rec.Outcome == Legacy && seen.InitializeSent // what became of the handshake is another matter
	pinned := strings.HasSuffix(v.client.policy, "-pin")     // not to fall back is what it was told
	if rec.Outcome != Unknown && rec.Outcome != seen.Outcome && !fellBack && !pinned {
		a.differs(c, seen, rec)
	}
	own := policies().byName[v.client.policy]
	if own == nil || own.Name == Recommended {
		return
	}
	if d := own.predict(c); d.Outcome != Unknown && d.Outcome != seen.Outcome && !d.Assumed {
		t := saying("policy-unexpected")
		t.message = fmt.Sprintf("%s, the client's presumed policy, predicts %s (%s); the client was seen to end %s", own.Name, d.Outcome, d.Rule, seen.Outcome)
		if rec.Outcome == seen.Outcome && !rec.Assumed {
			t.message += fmt.Sprintf(", as recommended has it (%s)", rec.Rule)
		}
		a.add(t, d.Rule, c.byNumber(d.Exchange))
	}
}

func (a *analysis) differs(c *connect, seen Observed, rec Prediction) {
	f := c.byNumber(rec.Exchange)
	t := saying("policy-differs")
	wait := seconds(time.Duration(seen.WaitMS) * time.Millisecond)
	did := fmt.Sprintf("connected as %s after %s", seen.Outcome, wait)
	if seen.Outcome == Failed {
		did = fmt.Sprintf("failed after %s", wait)
		if seen.WaitMS >= 1000 {
			did = fmt.Sprintf("burned %s, then failed", wait)
		}
		t.severity = severe
	}
	would := map[Outcome]string{Legacy: "it would have fallen back to initialize at once", Modern: "it would have connected without a handshake", Failed: "it would have failed with " + rec.Verdict}[rec.Outcome]
	if rec.Outcome == Failed {
		t.severity = note
	}
	t.message = fmt.Sprintf("the probe %s; under recommended, rule %s, %s", did, rec.Rule, would)
	x := a.add(t, rec.Rule, f, f.proof()...)
	x.Cost = Cost{MS: seen.WaitMS, Requests: len(c.probes)}
}

func (c *connect) byNumber(n int) *facts {
	for _, f := range c.all {
		if f.n == n {
			return f
		}
	}
	return c.first()
}
