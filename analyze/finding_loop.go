package analyze

import (
	"fmt"
	"slices"
	"time"
)

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

// A turn is a connect of a client that begins anew again and again: how it began, and what stood before the next one.
type turn struct{ start, cause *facts }

// findReconnects reports a handshake that is repeated over and over, with its period and what stood before each.
func (a *analysis) findReconnects(v *conversation) {
	for _, loop := range loops(a.turns(v)) {
		a.reconnects(loop)
	}
}

// turns gives the connects that began with a probe or a handshake. One that worked and then rightly began a new session
// has no cause.
func (a *analysis) turns(v *conversation) []turn {
	var all []turn
	for i, c := range v.connects {
		if len(c.inits) == 0 && len(c.probes) == 0 {
			continue
		}
		t := turn{start: c.first()}
		if f := c.trouble(); f != nil && i+1 < len(v.connects) && !(f.sessionGone() && !f.again && c.worked()) {
			t.cause = f
		}
		all = append(all, t)
	}
	return all
}

// worked tells whether a call of the connect succeeded.
func (c *connect) worked() bool {
	return slices.ContainsFunc(c.requests, func(f *facts) bool { return f.kind == replyResult })
}

// loops finds the runs of turns that are a loop: at least minLoop turns at regular intervals, or manyTurns at any. A few
// turns that began a new session are what session-repeated-more-than-once speaks of.
func loops(all []turn) [][]turn {
	var found [][]turn
	for i := 0; i < len(all); {
		j := i
		for j+1 < len(all) && all[j].cause != nil {
			j++
		}
		run := all[i : j+1]
		if len(run) < manyTurns {
			run = regular(run)
		}
		if len(run) >= manyTurns || len(run) >= minLoop && !run[0].cause.sessionGone() {
			found = append(found, run)
		}
		i = j + 1
	}
	return found
}

// manyTurns is from how many turns on a loop needs no regular period, as with a growing back-off.
const manyTurns = 5

// regular gives the longest part of a run whose intervals are alike: none is half as long again as another, or all are
// shorter than a second.
func regular(run []turn) []turn {
	best := run[:1]
	for i := range run {
		least, most := time.Duration(1<<62), time.Duration(0)
		for j := i + 1; j < len(run); j++ {
			gap := run[j].start.started.Sub(run[j-1].start.started)
			least, most = min(least, gap), max(most, gap)
			if most > least*3/2 && most > time.Second {
				break
			}
			if j-i >= len(best) {
				best = run[i : j+1]
			}
		}
	}
	return best
}

// reconnects reports one loop. Its last turn need not have failed yet.
func (a *analysis) reconnects(loop []turn) {
	var starts, causes []*facts
	for _, t := range loop {
		starts = append(starts, t.start)
	}
	for _, t := range loop[:len(loop)-1] {
		causes = append(causes, t.cause)
	}
	cause := causes[0]
	same := !slices.ContainsFunc(causes, func(f *facts) bool { return f.req.method != cause.req.method || f.status != cause.status })
	when := "each time"
	if !same {
		when = "the first time"
	}
	t := saying("reconnect-loop")
	t.message = fmt.Sprintf("the client connected %d times, about every %s; %s after %s was answered %s", len(starts), seconds(period(starts)), when, cause.what(), cause.answered())
	verdict := policies().byName[Recommended].judge(cause)
	switch verdict.Verdict {
	case "keep-connected", "post-only":
		t.fault = byClient
		t.message += ", which is no reason to disconnect"
		t.fix = "keep the connection when an optional method is missing (qwen-code #12500)"
	case "disconnect", "network-error", "timeout":
		t.fault = byServer
		t.fix = "repair the server; clients: wait longer from one attempt to the next"
	}
	x := a.add(t, verdict.Rule, starts[0])
	x.Exchanges = numbersOf(starts)
	for _, f := range causes[:min(len(causes), maxEvidence)] {
		if f.statusAt.ok {
			x.Evidence = append(x.Evidence, Evidence{f.n, "response", f.statusAt.off, f.statusAt.len})
		}
	}
	for _, f := range starts[1:] {
		x.Cost.Requests += len(f.connect.probes) + len(f.connect.inits) + len(f.connect.inited)
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
