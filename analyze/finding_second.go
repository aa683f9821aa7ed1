package analyze

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// courseFindings are those that only several exchanges together show.
var courseFindings = []template{
	{"fallback-hides-cause", severe, byServer, "the client's last error is not the cause: an earlier exchange failed, and what it tried then failed for another reason", "repair what failed first"},
	{"get-stream-loop", warning, byClient, "the client asks for the GET stream again and again, and is refused each time", "clients: take 405, and 400, 404, 422, 501, for \"no stream\" and do not ask again (qwen-code #12500)"},
	{"session-id-lost", warning, byClient, "the server issued a session id, and {method} does not carry it", "send Mcp-Session-Id with every request behind initialize; look for a proxy or a browser that drops it"},
	{"session-id-invented", warning, byClient, "{method} carries a session id that the server has not issued", "send the id of the InitializeResult's answer, or none if there was none"},
	{"session-id-stale", warning, byClient, "the client went on with the id of an old session after it had begun a new one", "drop the old id everywhere when a session is renewed"},
	{"server-restarted", note, byServer, "the server was started anew in the recording", "let sessions outlive a restart, or answer 404 to those that did not"},
	{"nothing-offered", warning, byServer, "none of the lists that the client asked for names anything: qwen-code and gemini-cli give up on such a server", "answer at least one of tools/list, prompts/list and resources/list with something in it"},
	{"bridge-two-sessions", note, byClient, "one bridge keeps two sessions at the same server", "close the session of the bridge's own test; one client then holds one session and one stream"},
}

// failedFirst tells whether an exchange is a failure that makes clients try something else.
func (f *facts) failedFirst() bool {
	switch f.class {
	case probe, initialize, initialized, request, optional, discover:
	default:
		return false
	}
	if f.superseded || f.kind&(replyResult|replyError) == f.kind && f.kind != 0 && f.status/100 == 2 {
		return false
	}
	const broken = unreachable | nothing | malformed | silence | cut | stalled
	return f.answer != 0 && f.answer&broken == f.answer || f.status >= 500 || f.class == initialize && f.status >= 400
}

// findSecondError reports a failure that a refused GET hides: hosts show the last error, which is of HTTP+SSE.
func (a *analysis) findSecondError(c *connect) {
	const soon = 10 * time.Second
	var cause *facts
	for _, f := range c.all {
		switch {
		case f.failedFirst():
			cause = f
		case f.httpMethod == "POST":
			cause = nil
		case cause != nil && (f.class == getStream || f.class == resume) && f.status >= 400 && f.started.Sub(cause.finished) < soon && !f.started.Before(cause.finished.Add(-soon)):
			t := saying("fallback-hides-cause")
			t.message = fmt.Sprintf("%s failed first (exchange %d: answered %s); then the client asked for an event stream and was answered %d (exchange %d), which is the error that its user sees and not the cause", cause.what(), cause.n, cause.answered(), f.status, f.n)
			if cause.answer == unreachable || cause.status == 401 || cause.status == 403 {
				t.fault = byNobody
			}
			x := a.add(t, "", cause, cause.proof()...)
			x.Exchanges = append(x.Exchanges, f.n)
			x.Evidence = append(x.Evidence, Evidence{f.n, "response", f.statusAt.off, f.statusAt.len})
			x.Cost = Cost{MS: f.finished.Sub(cause.started).Milliseconds(), Requests: 2}
			return
		}
	}
}

// findStreamLoop reports a GET stream that is asked for again and again and never lasts.
func (a *analysis) findStreamLoop(v *conversation) {
	var run []*facts
	end := func() {
		if run = steady(run); len(run) >= minLoop {
			a.streamLoop(run)
		}
		run = nil
	}
	for _, c := range v.connects {
		for _, f := range c.all {
			short := f.class == getStream && f.req.lastEvent == "" || f.class == resume && f.status >= 400
			if short = short && f.finished.Sub(f.started) < longEnough && f.events == 0 && f.status != 401; !short {
				continue
			}
			if len(run) > 0 && (run[0].status != f.status || run[0].class != f.class) {
				end()
			}
			run = append(run, f)
		}
	}
	end()
}

// steady gives the longest part of a run whose intervals are alike, none half as long again as another, and at most a minute.
func steady(run []*facts) []*facts {
	if len(run) == 0 {
		return nil
	}
	best := run[:1]
	for i := range run {
		least, most := time.Duration(1<<62), time.Duration(0)
		for j := i + 1; j < len(run); j++ {
			gap := run[j].started.Sub(run[j-1].started)
			least, most = min(least, gap), max(most, gap)
			if most > time.Minute || most > least*3/2 && most > time.Second {
				break
			}
			if j-i >= len(best) {
				best = run[i : j+1]
			}
		}
		if len(run)-i <= len(best) {
			break
		}
	}
	return best
}

func (a *analysis) streamLoop(run []*facts) {
	f := run[0]
	t := saying("get-stream-loop")
	what := "asked for the GET stream"
	if f.class == resume {
		what = "tried to resume the stream behind event " + excerpt(f.req.lastEvent)
	}
	t.message = fmt.Sprintf("the client %s %d times, about every %s, and was answered %s each time", what, len(run), seconds(period(run)), f.answered())
	switch {
	case f.status/100 == 2:
		t.fault = byServer
		t.message += fmt.Sprintf(" with %s and no event", orNone(f.mediaType))
		t.fix = "answer 405 if there is no such stream, or keep it open"
	case f.status >= 500 || f.status == 0:
		t.fault = byServer
		t.fix = "repair the server; clients: wait longer from one attempt to the next"
	}
	x := a.add(t, "", f, f.statusAt)
	x.Exchanges = numbersOf(run[:min(len(run), maxExchanges)])
	x.Cost = Cost{MS: run[len(run)-1].started.Sub(f.started).Milliseconds(), Requests: len(run) - 1}
}

// findSessionIDs reports session ids that do not go where they should.
func (a *analysis) findSessionIDs(c *connect) {
	ini := decisive(c.inits)
	if ini == nil || c.transport == overSSE || ini.kind != replyResult {
		return
	}
	for _, f := range c.all {
		if f.n <= ini.n || f.started.Before(ini.until()) || f.class == oauth || f.class == other || f.superseded || f.transport == overSSE || f.req.era() == eraModern && f.httpMethod == "POST" {
			continue
		}
		sure := f.conn == ini.conn || len(c.inited) > 0 && f.conn == c.inited[0].conn
		switch {
		case ini.issued != "" && f.req.session == "" && (sure || f.status >= 400):
			a.sessionLostOnTheWay(ini, f)
		case sure && f.req.session != "" && f.req.session != ini.issued && !a.issuedBefore(f):
			t := saying("session-id-invented")
			if ini.issued != "" {
				t.message = fmt.Sprintf("%s carries the session id %s, and initialize was answered with %s", f.what(), excerpt(f.req.session), excerpt(ini.issued))
			}
			x := a.addRequest(t, "", f, f.head.sessionAt)
			x.Exchanges = append(x.Exchanges, ini.n)
		}
	}
}

// issuedBefore tells whether some answer issued the id that f carries.
func (a *analysis) issuedBefore(f *facts) bool {
	return slices.ContainsFunc(a.facts, func(g *facts) bool { return g.issued == f.req.session && g.origin == f.origin })
}

func (a *analysis) sessionLostOnTheWay(ini, f *facts) {
	t := saying("session-id-lost")
	if h := ini.head.cors; h != nil && !inList(h.expose, "mcp-session-id") {
		x := a.add(saying("session-header-not-exposed"), "", ini, ini.head.issuedAt)
		x.Exchanges = append(x.Exchanges, f.n)
		return
	}
	if f.status >= 400 {
		t.severity = severe
		t.message = fmt.Sprintf("initialize was answered with a session id, and %s does not carry it: it was answered %d", f.what(), f.status)
	}
	x := a.add(t, "", ini, ini.head.issuedAt)
	x.Exchanges = append(x.Exchanges, f.n)
	x.Evidence = append(x.Evidence, Evidence{f.n, "request", 0, f.reqHead})
}

// findStale reports requests with an old session's id behind the beginning of a new one.
func (a *analysis) findStale(v *conversation) {
	const slack = time.Second // what was under way when the new session began
	for i, c := range v.connects[:max(len(v.connects)-1, 0)] {
		next := v.connects[i+1]
		ini := decisive(next.inits)
		if ini == nil || ini.kind != replyResult || ini.issued == "" {
			continue
		}
		for _, f := range c.requests {
			if f.req.session == "" || f.req.session == ini.issued || f.started.Sub(ini.until()) < slack {
				continue
			}
			t := saying("session-id-stale")
			t.message = fmt.Sprintf("%s carries the session id %s, %s after the client had begun the session %s (exchange %d); it was answered %s", f.what(), excerpt(f.req.session), seconds(f.started.Sub(ini.until())), excerpt(ini.issued), ini.n, f.answered())
			if f.status >= 400 {
				t.severity = severe
			}
			x := a.addRequest(t, "", f, f.head.sessionAt)
			x.Exchanges = append(x.Exchanges, ini.n)
			x.Cost.Requests = 1
		}
	}
}

// A restart is a place where the server's process was a new one.
type restart struct {
	before, after *facts
	why           string
}

// restarts finds where a server was started anew: it calls itself by another version, or it could not be reached for a
// while and had lost its sessions or not.
func (v *conversation) restarts() (list []restart) {
	var last, away *facts // the last success, and the first exchange that did not reach the server since
	var info implementation
	for _, c := range v.connects {
		for _, f := range c.all {
			switch {
			case f.class == oauth || f.class == other:
			case f.answer == unreachable:
				if away == nil && last != nil {
					away = f
				}
			case f.status/100 == 2 || f.sessionGone():
				named := f.reply.info
				changed := f.class == initialize && named != (implementation{}) && info.name == named.name && info != named
				if away != nil {
					why := fmt.Sprintf("it could not be reached for %s (from exchange %d on)", seconds(f.started.Sub(away.started)), away.n)
					if f.sessionGone() {
						why += " and had lost the session"
					}
					list = append(list, restart{away, f, why})
				} else if changed {
					list = append(list, restart{last, f, fmt.Sprintf("it called itself %s %s and then %s", excerpt(info.name), excerpt(info.version), excerpt(named.version))})
				}
				if f.class == initialize && named != (implementation{}) {
					info = named
				}
				last, away = f, nil
			}
		}
	}
	return list
}

func (a *analysis) findRestarts(v *conversation) {
	for _, r := range v.restarts() {
		t := saying("server-restarted")
		t.message = fmt.Sprintf("the server was started anew before exchange %d: %s", r.after.n, r.why)
		x := a.add(t, "", r.after, r.after.statusAt)
		if r.before != nil {
			x.Exchanges = append(x.Exchanges, r.before.n)
			x.Cost.MS = r.after.started.Sub(r.before.started).Milliseconds()
		}
	}
}

// findNothingOffered reports a client that left after every list it asked for had failed.
func (a *analysis) findNothingOffered(c *connect) {
	var failed []*facts
	for _, f := range c.requests {
		switch f.req.method {
		case "tools/list", "prompts/list", "resources/list":
			if f.kind != replyError || f.superseded {
				return
			}
			failed = append(failed, f)
		default:
			return
		}
	}
	if len(failed) < 2 {
		return
	}
	t := saying("nothing-offered")
	t.message = fmt.Sprintf("all %d lists that the client asked for were answered with an error, and it asked for nothing more: qwen-code and gemini-cli give up on such a server", len(failed))
	x := a.add(t, "", failed[0], failed[0].proof()...)
	x.Exchanges = numbersOf(failed)
}

// findBridges reports a bridge that keeps the session of its own test beside the real one.
func (a *analysis) findBridges() {
	for _, v := range a.conversations {
		c := v.first()
		if !strings.HasPrefix(c.info.name, "mcp-remote-fallback-test") || len(c.inits) == 0 || decisive(c.inits).kind != replyResult {
			continue
		}
		if slices.ContainsFunc(c.all, func(f *facts) bool { return f.class == deletion }) {
			continue
		}
		for _, w := range a.conversations {
			d := w.first()
			if w == v || d.client != c.client || d.endpoint != c.endpoint || len(d.inits) == 0 || d.first().n < c.first().n || !strings.Contains(d.info.name, "via mcp-remote") {
				continue
			}
			t := saying("bridge-two-sessions")
			t.message = fmt.Sprintf("mcp-remote keeps two sessions at the same server: that of its own test (exchange %d), which it never closes, and that of %s (exchange %d)", c.inits[0].n, excerpt(d.info.name), d.inits[0].n)
			x := a.add(t, "", c.inits[0], c.inits[0].statusAt)
			x.Exchanges = append(x.Exchanges, d.inits[0].n)
			x.Cost.Requests = len(c.all)
			return
		}
	}
}
