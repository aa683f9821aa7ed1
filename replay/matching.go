package replay

import (
	"fmt"
	"slices"
)

// A Match says what a request and its recording must agree in.
type Match uint8

// The ways of matching, from the finest to the coarsest.
const (
	MatchParams Match = iota // HTTP method, target, JSON-RPC methods and params
	MatchRPC                 // the same without params
	MatchMethod              // HTTP method and path
	MatchOrder               // nothing: the n-th request gets the n-th recording
)

var matchWords = []string{"params", "rpc", "method", "order"}

// ParseMatch reads "params", "rpc", "method" or "order".
func ParseMatch(word string) (Match, error) {
	i := slices.Index(matchWords, word)
	if i < 0 {
		return 0, fmt.Errorf("%s: want params, rpc, method or order", clip(word))
	}
	return Match(i), nil
}

func (m Match) String() string { return matchWords[m] }

// again gives the last recording of q's key once more, as a recording of its own, nil if there is none. Nothing waits for it,
// and no other stream answers it. The caller holds Player.mu.
func (ix *index) again(q *request, exact bool) (r *recording, loosely bool) {
	g := (*group)(nil)
	if q.like != nil {
		g = q.like.group
	} else {
		g = ix.groups[digest(q.ask().key)]
	}
	was := g.latest(q)
	if was == nil {
		was = ix.latestHidden(q, func(r *recording) string { return r.pattern }, q.ask().key)
	}
	if was == nil && !exact {
		loosely = true
		was = ix.loose[digest(q.ask().loose)].latest(q)
		if was == nil {
			was = ix.latestHidden(q, func(r *recording) string { return r.loosePattern }, q.ask().loose)
		}
	}
	if was == nil {
		return nil, false
	}
	once := *was
	once.gates, once.repliedOn, once.waiting = false, nil, nil
	return &once, loosely
}

// latest is the last of the group that fits, at best one of the request's session.
func (g *group) latest(q *request) (last *recording) {
	if g == nil {
		return nil
	}
	for _, r := range slices.Backward(g.queue[max(0, len(g.queue)-lookSession):]) {
		switch {
		case !q.fits(r):
		case r.affinity == q.affinity:
			return r
		case last == nil:
			last = r
		}
	}
	return last
}

func (ix *index) latestHidden(q *request, pattern func(*recording) string, key string) *recording {
	for _, r := range slices.Backward(ix.hidden) {
		if q.fits(r) && matchesHidden(pattern(r), key) {
			return r
		}
	}
	return nil
}
