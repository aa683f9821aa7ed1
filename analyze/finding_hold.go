package analyze

import (
	"fmt"
	"slices"
	"time"

	"github.com/mcptap/mcptap/har"
)

// holdFindings are those that the time stands for at which bytes came.
var holdFindings = []template{
	{"stream-held-back", warning, byIntermediary, "the event stream that answers {method} was held back on its way", "switch off buffering and compression for text/event-stream in what stands between (nginx: proxy_buffering off; servers: X-Accel-Buffering: no)"},
	{"reply-held-back", warning, byIntermediary, "the answer to {method} was held back on its way", "find what stands between server and client and waits: a buffer, a scanner, a queue"},
	{"stream-age-limit", warning, byIntermediary, "streams are ended at the same age again and again", "send a comment line every 15 s if that is an idle timeout; raise the limit of what stands between if not"},
	{"constant-delay", warning, byIntermediary, "replies take the same long time again and again: a timer stands behind that, not work", "find the timeout or the poll interval of that length, in the server or before it"},
	{"reply-slow", note, byServer, "the reply to {method} took {took}, longer than the 60 s that most clients wait by default", "answer sooner, or send progress and let clients wait longer"},
	{"gateway-timeout", warning, byIntermediary, "{method} was answered {status} after {wait}: what stands before the server gave up waiting for it", "raise that timeout, answer sooner, or stream progress so that bytes flow"},
	{"connection-reused-late", warning, byNobody, "{method} was sent on a connection that had been idle, and got no answer ({end}): the other side had most likely given the connection up", "let the server keep idle connections longer than the client does; clients: send such a request once more on a new connection"},
}

// clocks gives how much later than its Date the answer of each server came that came soonest after it: the difference of
// the two clocks, and the least delay.
func (a *analysis) clocks() map[string]time.Duration {
	least := map[string]time.Duration{}
	answers := map[string]int{}
	for _, f := range a.facts {
		if d, ok := f.behindDate(); ok {
			answers[f.server]++
			if was, known := least[f.server]; !known || d < was {
				least[f.server] = d
			}
		}
	}
	for server, n := range answers {
		if n < 2 {
			delete(least, server) // one answer alone cannot tell a hold from a clock that is slow
		}
	}
	return least
}

// behindDate is how long after its Date an answer's first byte came.
func (f *facts) behindDate() (time.Duration, bool) {
	if f.date.IsZero() || f.firstByte < 0 {
		return 0, false
	}
	return f.started.Add(f.firstByte).Sub(f.date), true
}

// findHolds reports answers that something between held back.
func (a *analysis) findHolds() {
	const least = 3 * time.Second // Date counts whole seconds
	clocks := a.clocks()
	for _, f := range a.facts {
		if f.class == other || f.class == oauth {
			continue
		}
		base, known := clocks[f.server]
		if d, ok := f.behindDate(); ok && known && d-base >= least {
			t := saying("reply-held-back")
			if f.media == mediaStream {
				t = saying("stream-held-back")
			}
			t.message = fmt.Sprintf("the answer to %s is dated %s before its first byte came, by the server's own clock: something between held it back", f.what(), seconds((d - base).Truncate(time.Second)))
			x := a.add(t, "", f, f.head.dateAt, f.statusAt)
			x.Cost.MS = (d - base).Milliseconds()
			continue
		}
		a.findBurst(f)
	}
}

// findBurst reports progress, or keep-alives, that came at once: they are made one by one.
func (a *analysis) findBurst(f *facts) {
	if f.flow == nil {
		return
	}
	b := f.flow.burst
	if b.items < 3 || b.progress < 2 && b.keepalives < 2 {
		return
	}
	t := saying("stream-held-back")
	t.message = fmt.Sprintf("%d events of the stream that answers %s came at once after %s of silence, among them %d of progress and %d keep-alives, which are made one by one: ",
		b.items, f.what(), seconds(b.wait), b.progress, b.keepalives)
	if f.head.edge != "" {
		t.message += "they were held back, most likely in " + f.head.edge
	} else {
		t.fault = byNobody
		t.message += "the server, or something before it, held them back"
	}
	x := a.add(t, "", f, b.where)
	x.Cost.MS = b.wait.Milliseconds()
}

// findTimers reports what happens after the same time again and again in one conversation.
func (a *analysis) findTimers(v *conversation) {
	var ended, slow []*facts
	for _, c := range v.connects {
		for _, f := range c.all {
			switch {
			case f.streamEnded():
				ended = append(ended, f)
			case f.class == request && f.kind&(replyResult|replyError) != 0 && f.replyAt >= longEnough:
				slow = append(slow, f)
			}
		}
	}
	age := func(f *facts) time.Duration { return f.finished.Sub(f.started) }
	if list := alike(ended, age); len(list) >= minLoop {
		f := list[0]
		t := saying("stream-age-limit")
		t.message = fmt.Sprintf("%d streams were ended at the age of about %s (%s)", len(list), seconds(age(f)), f.endedHow())
		if f.silentFor() {
			t.message += ", each time after silence: an idle timeout"
		} else {
			t.message += ", although bytes flowed: a limit to how long a stream may last"
		}
		x := a.add(t, "", f, f.statusAt)
		x.Exchanges = numbersOf(list[:min(len(list), maxExchanges)])
		x.Cost = Cost{Requests: len(list) - 1}
	}
	if list := alike(slow, func(f *facts) time.Duration { return f.replyAt }); len(list) >= minLoop {
		f := list[0]
		t := saying("constant-delay")
		t.message = fmt.Sprintf("%d replies took about %s each: a timer stands behind that, not work", len(list), seconds(f.replyAt))
		x := a.add(t, "", f, f.statusAt)
		x.Exchanges = numbersOf(list[:min(len(list), maxExchanges)])
		for _, f := range list {
			x.Cost.MS += f.replyAt.Milliseconds()
		}
	}
}

// streamEnded tells whether an open stream was ended by another than the client, after a while and not by a server that
// wants to be polled and says so with retry.
func (f *facts) streamEnded() bool {
	if f.class != getStream && f.class != resume || f.finished.Sub(f.started) < longEnough {
		return false
	}
	switch {
	case f.status == 502 || f.status == 504 || f.status == 524:
		return true
	case f.media != mediaStream || f.status/100 != 2:
		return false
	}
	return f.answer == cut || f.answer == whole && f.retryMS < 0
}

func (f *facts) endedHow() string {
	if f.status >= 500 {
		return fmt.Sprintf("HTTP %d", f.status)
	}
	if f.answer == whole {
		return "a clean end"
	}
	return endWords[f.end]
}

// silentFor tells whether nothing came for most of the stream's last part.
func (f *facts) silentFor() bool {
	return f.flow == nil || f.flow.silent*10 >= f.finished.Sub(f.started)*9
}

// alike gives the largest set of exchanges whose durations differ by at most a twentieth.
func alike(list []*facts, of func(*facts) time.Duration) []*facts {
	sorted := slices.SortedFunc(slices.Values(list), func(a, b *facts) int { return int((of(a) - of(b)) / time.Microsecond) })
	var best []*facts
	for i, from := 0, 0; i < len(sorted); i++ {
		for of(sorted[i])*20 > of(sorted[from])*21 {
			from++
		}
		if i+1-from > len(best) {
			best = sorted[from : i+1]
		}
	}
	best = slices.Clone(best)
	slices.SortFunc(best, func(a, b *facts) int { return a.n - b.n })
	return best
}

// findSlow reports single answers that took long, and connections that were used once too often.
func (a *analysis) findSlow(f *facts) {
	const usual = 60 * time.Second // the default of most clients
	switch {
	case f.req.requests > 0 && f.status/100 == 2 && f.kind&(replyResult|replyError) == f.kind && f.kind != 0 && f.kind != anyReply && f.replyAt >= usual:
		x := a.add(saying("reply-slow"), "", f, f.reply.at)
		x.Cost.MS = f.replyAt.Milliseconds()
	case (f.status == 504 || f.status == 524 || f.status == 502 && f.firstByte >= 20*time.Second) && f.req.requests > 0 && !f.reply.codeOK && f.firstByte >= longEnough:
		x := a.add(saying("gateway-timeout"), "", f, f.statusAt)
		x.Cost = Cost{MS: f.firstByte.Milliseconds(), Requests: 1}
	case f.answer == nothing && f.idle >= 2*time.Second && f.finished.Sub(f.started) < time.Second && f.end != har.EndUnknown:
		t := saying("connection-reused-late")
		t.message = fmt.Sprintf("%s was sent on a connection that had been idle for %s, and got no answer (%s): the other side had most likely given the connection up", f.what(), seconds(f.idle), endWords[f.end])
		x := a.add(t, "", f)
		x.Evidence = append(x.Evidence, Evidence{f.n, "request", 0, f.reqBytes})
		x.Cost.Requests = 1
	}
}

// findIdle sets how long each exchange's connection had been idle before it.
func (a *analysis) findIdle() {
	free := map[uint64]time.Time{}
	for _, f := range a.facts {
		if at, ok := free[f.conn]; ok && f.started.After(at) {
			f.idle = f.started.Sub(at)
		}
		free[f.conn] = f.finished
	}
}
