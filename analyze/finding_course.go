package analyze

import (
	"fmt"
	"slices"
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

// findSessions reports how sessions were lost and what the client made of it.
func (a *analysis) findSessions(v *conversation) {
	reported := map[string]bool{}
	for i, c := range v.connects {
		for _, f := range c.all {
			if !f.sessionGone() || f.again || f.class == deletion || f.class == getStream || f.class == resume || reported[f.req.session+c.endpoint] && f.req.session != "" {
				continue
			}
			if f.class == optional && f.reply.rpc20 && f.reply.codeOK && f.reply.code == codeMethodNotFound {
				continue // session-or-method speaks of it
			}
			reported[f.req.session+c.endpoint] = true
			if back := alive(c, f); back != nil {
				t := saying("session-inconsistent")
				t.message = fmt.Sprintf("session %s was gone for exchange %d and there again for exchange %d: replicas that do not share their sessions, or a proxy that does not stick to one", f.req.session, f.n, back.n)
				x := a.add(t, "session/expired", f, f.proof()...)
				x.Exchanges = append(x.Exchanges, back.n)
				continue
			}
			a.sessionLost(v, i, f)
		}
	}
}

// alive gives the later exchange that the same session answered.
func alive(c *connect, lost *facts) *facts {
	for _, f := range c.requests {
		if f.n > lost.n && f.req.session == lost.req.session && f.req.session != "" && f.status/100 == 2 &&
			f.kind&(replyResult|replyError) != 0 && !f.reply.gone {
			return f
		}
	}
	return nil
}

// sessionLost says what the client did about a session that had expired: whether it initialized anew exactly once, and
// repeated the call exactly once.
func (a *analysis) sessionLost(v *conversation, at int, lost *facts) {
	rule := policies().byName[Recommended].judge(lost).Rule
	stale := 0
	for _, f := range v.connects[at].requests {
		if f.n > lost.n && f.req.session == lost.req.session {
			stale++
		}
	}
	var next *connect
	if at+1 < len(v.connects) && len(v.connects[at+1].inits) > 0 {
		next = v.connects[at+1]
	}
	if next == nil || len(next.probes) > 0 && stale > 0 {
		t := saying("session-not-renewed")
		t.message = fmt.Sprintf("the session was gone at exchange %d, and the client did not initialize anew", lost.n)
		if stale > 0 {
			t.message += fmt.Sprintf("; it used the dead session %d more times", stale)
		}
		if stale == 0 {
			t.severity = warning
		}
		x := a.add(t, rule, lost, lost.proof()...)
		x.Cost = Cost{Requests: 1 + stale}
		return
	}
	repeats := 0
	var repeated *facts
	for _, f := range next.requests {
		if f.req.call == lost.req.call && f.n > next.inits[0].n {
			if repeats++; repeated == nil {
				repeated = f
			}
		}
	}
	t := saying("session-expired")
	t.message = fmt.Sprintf("the session expired at exchange %d; the client initialized anew and repeated the call %s", lost.n, times(repeats))
	x := a.add(t, rule, lost, lost.proof()...)
	x.Exchanges = append(x.Exchanges, next.inits[0].n)
	x.Cost = Cost{MS: next.inits[0].started.Sub(lost.started).Milliseconds(), Requests: 1 + len(next.inits) + len(next.inited)}
	a.renewal(lost, next, repeated)
}

func (a *analysis) renewal(lost *facts, next *connect, repeated *facts) {
	if ini := next.inits[0]; ini.req.session != "" && ini.req.session == lost.req.session {
		a.add(saying("session-renewed-with-old-id"), "session/expired", ini)
	}
	if repeated == nil || repeated.kind == replyResult {
		return
	}
	t := saying("session-retry-failed")
	t.message = fmt.Sprintf("%s was repeated in the new session and failed again", repeated.what())
	x := a.add(t, "session/expired-again", repeated, repeated.proof()...)
	x.Exchanges = append(x.Exchanges, lost.n)
	again := 0
	for _, f := range next.requests {
		if f.n > repeated.n && f.req.call == repeated.req.call {
			again++
		}
	}
	if again > 0 {
		t := saying("session-repeated-more-than-once")
		t.message = fmt.Sprintf("%s failed in the new session, too, and was repeated %s more", repeated.what(), times(again))
		y := a.add(t, "session/expired-again", repeated)
		y.Cost.Requests = again
	}
}

func times(n int) string {
	switch n {
	case 0:
		return "never"
	case 1:
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// findLoops reports a client that connects again and again, and a stream that is resumed again and again in vain.
func (a *analysis) findLoops(v *conversation) {
	a.findReconnects(v)
	type resumed struct {
		list  []*facts
		event string
	}
	var run resumed
	for _, c := range v.connects {
		for _, f := range c.all {
			empty := f.class == resume && f.status/100 == 2 && f.events == 0 && f.answer == whole
			if !empty || run.event != f.req.lastEvent && len(run.list) > 0 {
				run = resumed{}
			}
			if !empty {
				continue
			}
			run.list, run.event = append(run.list, f), f.req.lastEvent
			if len(run.list) == minLoop {
				t := saying("resume-loop")
				t.message = fmt.Sprintf("the stream was resumed after event %s again and again, about every %s, and each time it was empty", f.req.lastEvent, seconds(period(run.list)))
				x := a.add(t, "", run.list[0], run.list[0].statusAt)
				x.Exchanges = numbersOf(run.list)
				x.Cost.Requests = minLoop
			}
		}
	}
}

// minLoop is how often something must happen to be called a loop.
const minLoop = 3

// findReconnects reports a handshake that is repeated over and over, with its period and what stood before each.
func (a *analysis) findReconnects(v *conversation) {
	var starts, causes []*facts
	for i, c := range v.connects {
		if len(c.inits) == 0 && len(c.probes) == 0 {
			continue
		}
		starts = append(starts, c.first())
		if i+1 < len(v.connects) {
			if f := c.trouble(); f != nil {
				causes = append(causes, f)
			}
		}
	}
	if len(starts) < minLoop || len(causes) == 0 || len(causes) < len(starts)-1 {
		return
	}
	same := slices.IndexFunc(causes, func(f *facts) bool { return f.req.method != causes[0].req.method || f.status != causes[0].status }) < 0
	t := saying("reconnect-loop")
	cause := causes[0]
	t.message = fmt.Sprintf("the client connected %d times, about every %s; each time after %s was answered %s", len(starts), seconds(period(starts)), cause.what(), cause.answered())
	if !same {
		t.message = fmt.Sprintf("the client connected %d times, about every %s; the first time after %s was answered %s", len(starts), seconds(period(starts)), cause.what(), cause.answered())
	}
	v2 := policies().byName[Recommended].judge(cause)
	switch v2.Verdict {
	case "keep-connected", "post-only":
		t.fault = byClient
		t.message += ", which is no reason to disconnect"
		t.fix = "keep the connection when an optional method is missing (qwen-code #12500)"
	case "disconnect", "network-error", "timeout":
		t.fault = byServer
		t.fix = "repair the server; clients: wait longer from one attempt to the next"
	}
	x := a.add(t, v2.Rule, starts[0], spanned{})
	x.Exchanges = numbersOf(starts)
	x.Evidence = nil
	for _, f := range causes[:min(len(causes), 8)] {
		if f.statusAt.ok {
			x.Evidence = append(x.Evidence, Evidence{f.n, "response", f.statusAt.off, f.statusAt.len})
		}
	}
	if x.Evidence == nil {
		x.Evidence = []Evidence{}
	}
	for _, c := range v.connects[1:] {
		x.Cost.Requests += len(c.probes) + len(c.inits) + len(c.inited)
	}
	x.Cost.MS = starts[len(starts)-1].started.Sub(starts[0].started).Milliseconds()
}

// trouble gives the last exchange of a connect that was no success.
func (c *connect) trouble() *facts {
	for _, f := range slices.Backward(c.all) {
		if f.class == deletion || f.class == oauth || f.class == other || f.class == getStream && f.status == 405 {
			continue
		}
		if f.status >= 400 || f.status == 0 && f.answer != stalled || f.kind == replyError {
			return f
		}
	}
	return nil
}

func (f *facts) answered() string {
	switch {
	case f.status == 0:
		return "by nothing (" + endWords[f.end] + ")"
	case f.reply.codeOK:
		return fmt.Sprintf("HTTP %d with JSON-RPC error %d", f.status, f.reply.code)
	}
	return fmt.Sprintf("HTTP %d", f.status)
}

// period is the median time from one exchange to the next.
func period(list []*facts) time.Duration {
	var gaps []time.Duration
	for i := 1; i < len(list); i++ {
		gaps = append(gaps, list[i].started.Sub(list[i-1].started))
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
}

func numbersOf(list []*facts) []int {
	var ns []int
	for _, f := range list {
		ns = append(ns, f.n)
	}
	return ns
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
	if rec.Outcome != Unknown && rec.Outcome != seen.Outcome && !fellBack {
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
		did = fmt.Sprintf("burned %s, then failed", wait)
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
