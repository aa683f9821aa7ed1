package corpus

import (
	"context"
	"errors"
	"slices"

	"github.com/mcptap/mcptap/har"
)

// MaxTries is how many candidates Minimize tries if nothing else is said.
const MaxTries = 50000

// Minimizing says how to minimize.
type Minimizing struct {
	Tries    int                    // at most; 0: MaxTries
	Progress func(tries, bytes int) // after each try, with the size of the smallest so far; nil: not told
}

// A Minimized is what Minimize found.
type Minimized struct {
	Exchanges     []*har.Exchange // in the order they were given in; N is that of the original
	Tries         int
	Bounded       bool // the tries were used up before nothing more could be left out
	Before, After int  // bytes of both sides
}

// ErrNothingToKeep says that the property does not hold for the exchanges as they are.
var ErrNothingToKeep = errors.New("what is to be kept does not hold for the whole recording")

// Minimize leaves out exchanges, header fields, events, chunks and members of JSON as long as keep holds, until nothing
// more can go (delta debugging: Zeller and Hildebrandt 2002). It alters no exchange of xs. keep must be a pure function;
// it is called for candidates whose framing is sound: Content-Length and chunk sizes are rewritten, and what departed from
// RFC 9112, was cut or came too late still does. Bodies of requests stay whole, since a replay matches by them, and so do
// response fields that clients act on. The same input gives the same result, and minimizing that again changes nothing.
//
// When ctx ends, the best so far is returned with its error.
func Minimize(ctx context.Context, xs []*har.Exchange, keep func([]*har.Exchange) bool, o Minimizing) (*Minimized, error) {
	m := &minimizer{ctx: ctx, keep: keep, left: o.Tries, told: o.Progress, best: slices.Clone(xs)}
	if m.left <= 0 {
		m.left = MaxTries
	}
	before := size(xs)
	if !keep(m.best) {
		return nil, ErrNothingToKeep
	}
	for smaller := true; smaller && m.goesOn(); {
		smaller = m.exchanges()
		for _, pass := range passes {
			smaller = m.parts(pass) || smaller
		}
	}
	settle(m.best)
	marked(m.best, xs)
	return &Minimized{m.best, m.tries, m.left == 0, before, size(m.best)}, ctx.Err()
}

// A minimizer is one run.
type minimizer struct {
	ctx   context.Context
	keep  func([]*har.Exchange) bool
	told  func(tries, bytes int)
	best  []*har.Exchange
	left  int
	tries int
}

func (m *minimizer) goesOn() bool { return m.left > 0 && m.ctx.Err() == nil }

// try takes a candidate for the best if it is one.
func (m *minimizer) try(xs []*har.Exchange) bool {
	if !m.goesOn() {
		return false
	}
	m.left--
	m.tries++
	kept := m.keep(xs)
	if kept {
		m.best = xs
	}
	if m.told != nil {
		m.told(m.tries, size(m.best))
	}
	return kept
}

// exchanges leaves out exchanges.
func (m *minimizer) exchanges() (smaller bool) {
	all := m.best
	return m.without(len(all), func(gone []bool) bool {
		var rest []*har.Exchange
		for i, x := range all {
			if !gone[i] {
				rest = append(rest, x)
			}
		}
		return m.try(rest)
	})
}

// parts leaves out what one pass finds in the exchanges, the outer before the inner.
func (m *minimizer) parts(p pass) (smaller bool) {
	for depth := range maxDepth {
		all := m.best
		var units []unit
		for i, x := range all {
			units = append(units, p(x, i, depth)...)
		}
		if len(units) == 0 {
			break
		}
		if m.without(len(units), func(gone []bool) bool {
			xs, ok := cutOut(all, units, gone)
			return ok && m.try(xs)
		}) {
			smaller = true
		}
	}
	return smaller
}

// without tells which of n units can go: it tries runs of them, half of all first, down to single ones, and calls test with
// those that have gone so far and the run.
func (m *minimizer) without(n int, test func(gone []bool) bool) (smaller bool) {
	gone := make([]bool, n)
	for run := n; run > 0 && m.goesOn(); run /= 2 {
		for at := 0; at < n; at += run {
			next := slices.Clone(gone)
			fresh := false
			for i := at; i < min(at+run, n); i++ {
				fresh = fresh || !next[i]
				next[i] = true
			}
			if fresh && test(next) {
				gone, smaller = next, true
			}
		}
	}
	return smaller
}

func size(xs []*har.Exchange) (n int) {
	for _, x := range xs {
		n += len(x.Request.Raw) + len(x.Response.Raw)
	}
	return n
}

// settle numbers the exchanges of each connection anew, and the places of lines in a process's stdout.
func settle(xs []*har.Exchange) {
	byPlace := make([]int, len(xs))
	for i := range xs {
		x := *xs[i]
		xs[i], byPlace[i] = &x, i
	}
	slices.SortStableFunc(byPlace, func(a, b int) int { return xs[a].Seq - xs[b].Seq })
	seq := map[uint64]int{}
	for _, i := range byPlace {
		seq[xs[i].Conn]++
		xs[i].Seq = seq[xs[i].Conn]
	}
	slices.SortStableFunc(byPlace, func(a, b int) int { return int(xs[a].Off - xs[b].Off) })
	off := map[uint64]int64{}
	for _, i := range byPlace {
		if x := xs[i]; x.Stdio() && len(x.Response.Raw) > 0 {
			x.Off = off[x.Conn]
			off[x.Conn] += int64(len(x.Response.Raw))
		}
	}
}
