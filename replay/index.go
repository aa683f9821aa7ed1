package replay

import (
	"bytes"
	"hash/maphash"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// An index finds the recordings of a request. Everything but what is taken is fixed once it is built.
type index struct {
	all    []*recording // in order of N
	groups map[string]*group
	loose  map[string]*group
	hidden []*recording            // those with a pattern
	byHead map[string][]*recording // nil if no recording must be found before its request is whole
	raw    []*recording            // requests without a whole head
	first  []*recording            // the first of each connection
	speaks bool                    // some of first have response bytes before the first request byte

	asks // one for each different request

	// While a recording is loaded:
	upTo    int                // all exchanges up to this one are known
	begun   map[int]*recording // what goes on, by N
	waiting map[*conn]struct{} // to be woken when there is more
}

// asks finds requests whose bytes were read before, to spare reading them again.
type asks struct {
	seed  maphash.Seed
	by    map[uint64]*ask
	match Match
}

func (k *asks) hash(method, target string, body []byte) uint64 {
	h := maphash.Bytes(k.seed, body)
	h = h*31 + maphash.String(k.seed, target)
	return h*31 + maphash.String(k.seed, method)
}

// like finds what a request with the same method, target and body asks, nil if there is none. Only requests with a body
// and without a Last-Event-ID are kept.
func (k *asks) like(method, target string, body []byte) *ask {
	if len(body) == 0 || method == "GET" {
		return nil
	}
	a := k.by[k.hash(method, target, body)]
	if a == nil || a.method != method || a.target != target || !bytes.Equal(a.body, body) {
		return nil
	}
	return a
}

// read gives what a recorded request asks, its keys as digests.
func (k *asks) read(h *wire.Head, body []byte) *ask {
	if a := k.like(h.Method, origin(h.Target), body); a != nil {
		return a
	}
	a := newAsk(h, body, k.match)
	a.method, a.target = strings.Clone(a.method), strings.Clone(a.target) // not the whole head
	same := a.loose == a.key
	if a.key = digest(a.key); same {
		a.loose = a.key
	} else {
		a.loose = digest(a.loose)
	}
	if len(body) > 0 {
		k.by[k.hash(a.method, a.target, body)] = a
	}
	return a
}

// A group is the recordings of one key, in order of N once it is sorted.
type group struct {
	queue []*recording
	next  int  // all before it are taken
	mixed bool // they belong to several sessions
	loose bool // the queue is not in order
}

func emptyIndex(match Match) *index {
	return &index{
		groups: map[string]*group{},
		loose:  map[string]*group{},
		asks:   asks{maphash.MakeSeed(), map[uint64]*ask{}, match},
	}
}

func newIndex(xs []*har.Exchange, match Match) *index {
	ix := emptyIndex(match)
	ix.all = make([]*recording, len(xs))
	ix.read(xs)
	for _, r := range ix.all {
		ix.add(r)
	}
	ix.arrange()
	ix.readStreams()
	return ix
}

// arrange puts everything in order, and finds what has a place of its own, when all recordings are there.
func (ix *index) arrange() {
	slices.SortStableFunc(ix.all, byNumber)
	for _, groups := range []map[string]*group{ix.groups, ix.loose} {
		for _, g := range groups {
			g.sort()
		}
	}
	byHead := false
	for _, r := range ix.all {
		if r.x.Seq == 1 {
			ix.first = append(ix.first, r)
			ix.speaks = ix.speaks || r.speaksFirst()
		}
		if r.ask == nil {
			if len(r.x.Request.Raw) > 0 {
				ix.raw = append(ix.raw, r)
			}
			continue
		}
		byHead = byHead || !r.whole || r.early > 0
		if r.pattern != "" && r.whole {
			ix.hidden = append(ix.hidden, r)
		}
	}
	if byHead {
		ix.byHead = map[string][]*recording{}
		for _, r := range ix.all {
			if r.ask != nil {
				key := r.ask.headKey(r.length)
				ix.byHead[key] = append(ix.byHead[key], r)
			}
		}
	}
}

func byNumber(a, b *recording) int { return a.x.N - b.x.N }

// endpoint is the path and query of the MCP endpoint: where the first JSON-RPC message was sent or the first event stream was
// asked for. otherwise is said where it is not known yet which was the first, or there is none.
func (ix *index) endpoint(otherwise string) string {
	var first *recording
	look := func(r *recording) {
		if r.ask != nil && (r.ask.mcp && r.ask.method == "POST" || r.streams) && (first == nil || r.x.N < first.x.N) {
			first = r
		}
	}
	for _, r := range ix.all {
		look(r)
	}
	for _, r := range ix.begun {
		look(r)
	}
	if first == nil || ix.begun != nil && first.x.N > ix.upTo {
		return otherwise
	}
	return first.ask.target
}

// byN gives the recording of an exchange.
func (ix *index) byN(x *har.Exchange) *recording {
	i, _ := slices.BinarySearchFunc(ix.all, x.N, func(r *recording, n int) int { return r.x.N - n })
	for ix.all[i].x != x { // several files may number alike
		i++
	}
	return ix.all[i]
}

// read makes recordings of exchanges, on all processors.
func (ix *index) read(xs []*har.Exchange) {
	workers := min(runtime.GOMAXPROCS(0), len(xs)/256+1)
	known := make([]asks, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			known[w] = asks{ix.seed, map[uint64]*ask{}, ix.match}
			for i := w * len(xs) / workers; i < (w+1)*len(xs)/workers; i++ {
				ix.all[i] = newRecording(xs[i], &known[w])
			}
		})
	}
	wg.Wait()
	for _, k := range known {
		maps.Copy(ix.by, k.by)
	}
}

// add puts r into its groups. A request that is not whole is in none: it is found by its head and what has come.
func (ix *index) add(r *recording) {
	if r.ask == nil || !r.whole {
		return
	}
	ix.groupsOf(r.ask)
	r.ask.group.add(r)
	r.ask.looseGroup.add(r)
}

func (ix *index) groupsOf(a *ask) {
	if a.group == nil {
		a.group, a.looseGroup = groupOf(ix.groups, a.key), groupOf(ix.loose, a.loose)
	}
}

func groupOf(groups map[string]*group, key string) *group {
	g := groups[key]
	if g == nil {
		g = &group{}
		groups[key] = g
	}
	return g
}

func (g *group) add(r *recording) {
	g.mixed = g.mixed || len(g.queue) > 0 && g.queue[0].affinity != r.affinity
	if n := len(g.queue); n > 0 && g.queue[n-1].x.N > r.x.N {
		g.loose = true
	}
	g.queue = append(g.queue, r)
}

// sort puts the queue in order.
func (g *group) sort() {
	if g.loose {
		slices.SortStableFunc(g.queue, byNumber)
		g.loose, g.next = false, 0
	}
}

// speaksFirst tells whether the server sent something on the connection before the client did.
func (r *recording) speaksFirst() bool {
	if r.x.Seq != 1 || r.end == 0 || len(r.x.Response.Writes) == 0 {
		return false
	}
	return len(r.x.Request.Writes) == 0 || r.x.Response.Writes[0].At < r.x.Request.Writes[0].At
}
