package replay

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// take finds the recording that answers q and marks it as served, at being when q was whole. The edits are what has to
// be changed in it.
func (p *Player) take(q *request, at time.Time) (r *recording, patch []edit, miss *Miss) {
	p.mu.Lock()
	r, loosely := p.ix.find(q, p.Exact)
	if r == nil {
		r = p.ix.partOf(q)
	}
	again := r == nil && p.Repeat
	if again {
		r, loosely = p.ix.again(q, p.Exact)
	}
	if r == nil {
		near, differs := p.ix.nearest(q.ask(), p.Exact)
		p.mu.Unlock()
		return nil, nil, p.missed(q, near, differs)
	}
	live := q.values()
	p.takes(r, live, at)
	if again {
		p.result.Repeated++
	}
	var err error
	if !live.equal(r.ask.values) {
		patch, err = p.patch(r)
	}
	if err != nil {
		p.result.Served--
		if again {
			p.result.Repeated--
		}
		r.release()
		p.mu.Unlock()
		return nil, nil, p.missed(q, r, err.Error())
	}
	p.mu.Unlock()
	if loosely {
		p.notice("exchange %d: the recorded client says of itself something else", r.x.N)
	}
	if was, now := lastEvent(r.affinity), lastEvent(q.affinity); was != now {
		p.notice("exchange %d: it resumed behind event %q, the client asks for what is behind %q: events between the two are not served", r.x.N, clip(was), clip(now))
	}
	p.patched(r, patch)
	return r, patch, nil
}

// lastEvent is the Last-Event-ID of an affinity.
func lastEvent(affinity string) string {
	_, event, _ := strings.Cut(affinity, "\n")
	return event
}

// takes marks r as served. The caller holds p.mu.
func (p *Player) takes(r *recording, live values, at time.Time) {
	r.taken, r.live, r.takenAt = true, live, at
	p.result.Served++
	r.wake()
}

// wake wakes the connections whose gates wait for r. The caller holds Player.mu.
func (r *recording) wake() {
	for _, c := range r.waiting {
		c.wake()
	}
	r.waiting = nil
}

// patch makes the edits of r's own response, and sees to it that a stream which answers r can be changed. The caller
// holds p.mu.
func (p *Player) patch(r *recording) ([]edit, error) {
	v := r.x.View()
	patch, err := edits(v, r.sites(v))
	n := len(patch)
	for _, g := range r.repliedOn {
		if err == nil {
			var more []edit
			more, err = g.edits()
			n += len(more)
		}
	}
	if err == nil && n > 0 && p.Exact {
		err = fmt.Errorf("%s, and ids are not patched when bytes are to be exact", r.live.differ(r.ask.values))
	}
	return patch, err
}

// differ says which value is not the recorded one.
func (v values) differ(was values) string {
	for i := range min(len(v.ids), len(was.ids)) {
		if v.ids[i] != was.ids[i] {
			return "id: " + recordedSent(was.ids[i], v.ids[i])
		}
		if v.tokens[i] != was.tokens[i] {
			return "progressToken: " + recordedSent(was.tokens[i], v.tokens[i])
		}
	}
	return "id differs"
}

// answered notes that the last byte of r has been sent, for the gates that wait for it.
func (p *Player) answered(r *recording) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r.servedAt = time.Now()
	r.wake()
}

// passes tells whether a gate is open, and if so when its part of the stream is due (zero: when the stream's own clock
// says) and how it is changed. If not, c is woken when that may have changed.
func (p *Player) passes(g *gate, c *conn) (due time.Time, patch []edit, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range g.causes {
		since := k.r.takenAt
		if k.answered {
			since = k.r.servedAt
		}
		if !k.r.taken || since.IsZero() {
			if !slices.Contains(k.r.waiting, c) {
				k.r.waiting = append(k.r.waiting, c)
			}
			return due, nil, false
		}
		if at := since.Add(c.scale(k.gap)); !k.earlier && at.After(due) {
			due = at
		}
	}
	patch, err := g.edits()
	if err != nil {
		return due, nil, true // only where the request was served although it cannot be answered
	}
	return due, patch, true
}
