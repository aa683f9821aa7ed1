package replay

import (
	"bytes"
	"slices"

	"github.com/mcptap/mcptap/har/wire"
)

// A request is what a client asks while it is matched and answered.
type request struct {
	match    Match
	head     *wire.Head
	raw      []byte // all of it
	body     []byte // the payload with its encodings undone
	affinity string
	like     *ask // that of a recorded request with the same bytes, nil if there is none
	read     *ask // see ask

	begun *recording // whose early bytes the client has been sent, nil if none
	sent  int        // how many
}

// ask reads the request, once.
func (q *request) ask() *ask {
	if q.read == nil {
		q.read = newAsk(q.head, q.body, q.match)
	}
	return q.read
}

func (q *request) values() values {
	if q.like != nil {
		return q.like.values
	}
	return q.ask().values
}

// How far recordings of one key are looked at for one that fits better than the first.
const (
	lookSession    = 4096
	lookConcurrent = 64
)

// find picks the recording that answers q, nil if none is left. loosely: its request differs in who the client is. The
// caller holds Player.mu.
func (ix *index) find(q *request, exact bool) (r *recording, loosely bool) {
	g := (*group)(nil)
	if q.like != nil {
		g = q.like.group
	} else {
		g = ix.groups[digest(q.ask().key)]
	}
	if r = g.pick(q); r != nil {
		return r, false
	}
	for _, r := range ix.hidden {
		if !r.taken && q.fits(r) && matchesHidden(r.pattern, q.ask().key) {
			return r, false
		}
	}
	if exact {
		return nil, false
	}
	if r = ix.loose[digest(q.ask().loose)].pick(q); r != nil {
		return r, true
	}
	for _, r := range ix.hidden {
		if !r.taken && q.fits(r) && matchesHidden(r.loosePattern, q.ask().loose) {
			return r, true
		}
	}
	return nil, false
}

// fits tells whether r can still answer q, of whose answer something may have been sent.
func (q *request) fits(r *recording) bool {
	if q.begun == nil || q.begun == r {
		return true
	}
	return q.sent <= r.end && bytes.Equal(r.x.Response.Raw[:q.sent], q.begun.x.Response.Raw[:q.sent])
}

// pick gives the first recording of the group that is not taken. Ties are broken by the session; and among requests that
// were under way at the same time when they were recorded, so that their order was a race, by the ids.
func (g *group) pick(q *request) *recording {
	if g == nil {
		return nil
	}
	for g.next < len(g.queue) && g.queue[g.next].taken {
		g.next++
	}
	var first *recording
	rest := g.queue[g.next:]
	for i, r := range rest {
		if r.taken || !q.fits(r) {
			continue
		}
		if first == nil {
			first = r
		}
		if r == q.begun {
			return r
		}
		if !g.mixed || i >= lookSession {
			break
		}
		if r.affinity == q.affinity {
			first = r
			break
		}
	}
	if first == nil || first.ask.values.equal(q.values()) {
		return first
	}
	until := first.answered()
	for _, r := range rest[:min(len(rest), lookConcurrent)] {
		if !r.taken && r.x.Started.After(until) {
			break
		}
		if !r.taken && r.affinity == first.affinity && q.fits(r) && slices.Equal(r.ask.values.ids, q.values().ids) {
			return r
		}
	}
	return first
}

// release gives a recording back that could not be served after all. The caller holds Player.mu.
func (r *recording) release() {
	r.taken, r.live = false, values{}
	if r.ask.group != nil {
		r.ask.group.next, r.ask.looseGroup.next = 0, 0
	}
}

// byHeadOf gives the first recording left of the requests that begin with such a head. The caller holds Player.mu.
func (ix *index) byHeadOf(a *ask, length string) *recording {
	for _, r := range ix.byHead[a.headKey(length)] {
		if !r.taken {
			return r
		}
	}
	return nil
}

// partOf picks a recording whose request never became whole and that q begins with. The caller holds Player.mu.
func (ix *index) partOf(q *request) *recording {
	if ix.byHead == nil {
		return nil
	}
	if r := ix.byHeadOf(q.ask(), length(q.head)); r != nil && !r.whole && q.fits(r) && r.covers(q.raw, q.head.Len) {
		return r
	}
	return nil
}

// findRaw picks a recording of bytes without a whole request head that got begins with. more: what has come may still
// become one. The caller holds Player.mu.
func (ix *index) findRaw(got []byte) (r *recording, more bool) {
	for _, r := range ix.raw {
		want := r.x.Request.Raw
		switch {
		case r.taken:
		case len(got) >= len(want) && r.covers(got, 0):
			return r, false
		case len(got) < len(want) && bytes.Equal(got, want[:len(got)]):
			more = true
		}
	}
	return nil, more
}
