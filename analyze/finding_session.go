package analyze

import (
	"fmt"
	"slices"
)

// findSessions reports how sessions were lost and what the client made of it.
func (a *analysis) findSessions(v *conversation) {
	reported := map[string]bool{}
	for i, c := range v.connects {
		for _, f := range c.all {
			if !f.sessionGone() || f.again || f.class == deletion || f.class == getStream || f.class == resume || reported[f.req.session+c.endpoint] && f.req.session != "" {
				continue
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
	if next == nil && stale == 0 && v.silentAfter(at, lost) {
		t := saying("session-expired")
		t.message = fmt.Sprintf("the session was gone at exchange %d; the recording ends there and does not show what the client did about it", lost.n)
		a.add(t, rule, lost, lost.proof()...)
		return
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
	steps := v.renewals(at, lost)
	repeats := 0
	for _, s := range steps {
		repeats += len(s.repeats)
	}
	t := saying("session-expired")
	t.message = fmt.Sprintf("the session expired at exchange %d; the client initialized anew and repeated the call %s", lost.n, times(repeats))
	if repeats == 0 {
		t.message = fmt.Sprintf("the session expired at exchange %d; the client initialized anew and did not repeat the call", lost.n)
	}
	x := a.add(t, rule, lost, lost.proof()...)
	x.Exchanges = append(x.Exchanges, next.inits[0].n)
	x.Cost = Cost{MS: next.inits[0].started.Sub(lost.started).Milliseconds(), Requests: 1 + len(next.inits) + len(next.inited)}
	if ini := next.inits[0]; ini.req.session != "" && ini.req.session == lost.req.session {
		a.add(saying("session-renewed-with-old-id"), "session/expired", ini)
	}
	if repeats == 0 && lost.req.call != 0 && next.wentOn(next.inits[0].n) && len(steps) == 1 {
		t := saying("session-call-not-repeated")
		t.message = fmt.Sprintf("the client began a new session after exchange %d and went on in it without repeating %s, which is lost", lost.n, lost.what())
		x := a.add(t, rule, lost, lost.proof()...)
		x.Exchanges = append(x.Exchanges, next.inits[0].n)
	}
	a.repeated(lost, steps)
}

// silentAfter tells whether the recording ends with the answer that lost the session, or with the beginning of another
// connect: nothing then shows that the client left it at that.
func (v *conversation) silentAfter(at int, lost *facts) bool {
	if at+1 < len(v.connects) {
		return true
	}
	return !slices.ContainsFunc(v.connects[at].all, func(f *facts) bool { return f.n > lost.n && !f.started.Before(lost.until()) })
}

// A renewal is a connect that followed a lost session, and the repetitions of the lost call in it.
type renewal struct {
	connect *connect
	repeats []*facts
}

// renewals gives the connects that the loss of a session led to: the next one, and as long as that was refused or lost
// its session again, the one behind it.
func (v *conversation) renewals(at int, lost *facts) []renewal {
	var steps []renewal
	for _, c := range v.connects[at+1:] {
		if len(c.inits) == 0 {
			break
		}
		s := renewal{connect: c}
		for _, f := range c.requests {
			if f.req.call == lost.req.call && f.n > c.inits[0].n {
				s.repeats = append(s.repeats, f)
			}
		}
		steps = append(steps, s)
		failed := decisive(c.inits).status >= 400 || len(s.repeats) > 0 && s.repeats[len(s.repeats)-1].sessionGone()
		if !failed {
			break
		}
	}
	return steps
}

// repeated reports a call that failed in the new session, too, and a client that did not leave it at that.
func (a *analysis) repeated(lost *facts, steps []renewal) {
	var repeats []*facts
	for _, s := range steps {
		for _, f := range s.repeats {
			if len(repeats) == 0 || repeats[len(repeats)-1].kind != replyResult {
				repeats = append(repeats, f)
			}
		}
	}
	if len(repeats) > 0 && repeats[0].kind != replyResult {
		f := repeats[0]
		t := saying("session-retry-failed")
		t.message = fmt.Sprintf("%s was repeated in the new session and failed again", f.what())
		x := a.add(t, "session/expired-again", f, f.proof()...)
		x.Exchanges = append(x.Exchanges, lost.n)
	}
	if len(repeats) < 2 && len(steps) < 2 {
		return
	}
	t := saying("session-repeated-more-than-once")
	t.message = fmt.Sprintf("after the session was lost at exchange %d, the client initialized anew %s and repeated %s %s", lost.n, times(len(steps)), lost.what(), times(len(repeats)))
	from := steps[0].connect.inits[0]
	if len(repeats) > 0 {
		from = repeats[0]
	}
	x := a.add(t, "session/expired-again", from)
	for i, s := range steps {
		if i > 0 {
			x.Exchanges = append(x.Exchanges, s.connect.inits[0].n)
			x.Cost.Requests += len(s.connect.inits) + len(s.connect.inited)
		}
	}
	if len(repeats) > 1 {
		x.Exchanges = append(x.Exchanges, numbersOf(repeats[1:])...)
		x.Cost.Requests += len(repeats) - 1
	}
	slices.Sort(x.Exchanges)
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
