package replay

import (
	"bytes"
	"hash/maphash"
	"runtime"
	"slices"
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

	seed   maphash.Seed
	byBody map[uint64]*recording // one per request body, to spare reading equal bytes again
}

// A group is the recordings of one key, in order of N.
type group struct {
	queue []*recording
	next  int  // all before it are taken
	mixed bool // they belong to several sessions
}

func newIndex(xs []*har.Exchange) *index {
	ix := &index{
		all:    make([]*recording, len(xs)),
		groups: make(map[string]*group, len(xs)),
		loose:  make(map[string]*group, len(xs)),
		byBody: make(map[uint64]*recording, len(xs)),
		seed:   maphash.MakeSeed(),
	}
	ix.read(xs)
	slices.SortStableFunc(ix.all, func(a, b *recording) int { return a.x.N - b.x.N })
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
		ix.add(r)
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
	ix.readStreams()
	for _, r := range ix.all {
		if r.ask != nil {
			r.ask.key, r.ask.loose = "", ""
		}
	}
	return ix
}

// read makes recordings of exchanges, on all processors.
func (ix *index) read(xs []*har.Exchange) {
	workers := min(runtime.GOMAXPROCS(0), len(xs)/256+1)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w * len(xs) / workers; i < (w+1)*len(xs)/workers; i++ {
				ix.all[i] = newRecording(xs[i])
			}
		})
	}
	wg.Wait()
}

// add puts r into its groups. A request that is not whole is in none: it is found by its head and what has come.
func (ix *index) add(r *recording) {
	if !r.whole {
		return
	}
	r.group = join(ix.groups, r.ask.key, r)
	r.looseGroup = join(ix.loose, r.ask.loose, r)
	if r.pattern != "" {
		ix.hidden = append(ix.hidden, r)
	}
	if len(r.ask.body) > 0 {
		ix.byBody[ix.hash(r.ask.method, r.ask.target, r.ask.body)] = r
	}
}

func join(groups map[string]*group, key string, r *recording) *group {
	key = digest(key)
	g := groups[key]
	if g == nil {
		g = &group{}
		groups[key] = g
	}
	g.mixed = g.mixed || len(g.queue) > 0 && g.queue[0].affinity != r.affinity
	g.queue = append(g.queue, r)
	return g
}

func (ix *index) hash(method, target string, body []byte) uint64 {
	h := maphash.Bytes(ix.seed, body)
	h = h*31 + maphash.String(ix.seed, target)
	return h*31 + maphash.String(ix.seed, method)
}

// like finds a recording whose request has the same method, target and body, byte for byte.
func (ix *index) like(h *wire.Head, body []byte) *recording {
	if len(body) == 0 || h.Method == "GET" {
		return nil
	}
	target := origin(h.Target)
	r := ix.byBody[ix.hash(h.Method, target, body)]
	if r == nil || r.ask.method != h.Method || r.ask.target != target || !bytes.Equal(r.ask.body, body) {
		return nil
	}
	return r
}

// speaksFirst tells whether the server sent something on the connection before the client did.
func (r *recording) speaksFirst() bool {
	if r.x.Seq != 1 || r.end == 0 || len(r.x.Response.Writes) == 0 {
		return false
	}
	return len(r.x.Request.Writes) == 0 || r.x.Response.Writes[0].At < r.x.Request.Writes[0].At
}
