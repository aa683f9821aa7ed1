// Package replay serves recorded exchanges: the same bytes, cuts, gaps and endings.
package replay

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// Bounds on what a client can make the player hold.
const (
	maxRequest  = 64 << 20              // bytes of one request
	maxHeld     = 1 << 30               // bytes of requests of all connections together
	maxAhead    = 1 << 20               // bytes read behind a request while it is answered
	maxConns    = 4096                  // connections open at once; further ones wait to be accepted
	requestTime = 2 * time.Minute       // how long an unfinished request may stand still
	lingerTime  = 10 * time.Second      // how long a client may take to close behind our FIN
	graceTime   = 50 * time.Millisecond // how long Close waits for what clients have sent already
	drainTime   = 10 * time.Second      // how long a reset waits for the client to take what was written
	maxGap      = 24 * time.Hour        // a longer recorded gap is taken as this long
)

// A Player serves the responses of recorded exchanges to a live client. Fields are set before Serve.
//
// A request is answered by the first recording of the same key that is left: HTTP method, target, JSON-RPC methods and
// params without their volatile members (`_meta.progressToken`, trace context, and the request that a cancellation names).
// Who the client says it is (clientInfo, capabilities) matters only where a recording agrees; else, unless Exact is set,
// one that differs in nothing else answers, with a notice. Values that redaction replaced match any others.
//
// A response is sent as it was recorded, each gap counted from the request's last byte. Behind a whole response the
// connection takes further requests until the recorded ending is due; if one is being answered then, the ending comes after
// it. The endings that came from the client, and those that are not known, are served as: the bytes that had come, then open
// until the client leaves. Times below a millisecond are best effort.
type Player struct {
	Exchanges []*har.Exchange
	Pace      float64          // recorded gaps are divided by it; 1 is as recorded; 0 means no gaps ("fast")
	Exact     bool             // refuse to patch ids: such a request is a miss; so is one that differs in who the client is
	Log       func(har.Event)  // what happened, as events; nil to drop. Called from many goroutines, in order for each connection
	Notice    func(string)     // misses and patches in words, as they happen; nil to drop. Called by one goroutine at a time
	Now       func() time.Time // stamps events; time.Now if nil. Gaps run on the system's clock

	build sync.Once
	ix    *index
	held  atomic.Int64 // bytes of requests in memory

	mu       sync.Mutex
	conns    map[*conn]struct{}
	listener net.Listener
	opened   uint64
	closing  bool          // Close was called
	closed   bool          // and has begun to end connections
	done     chan struct{} // closed by Close
	running  sync.WaitGroup
	result   Result
	origins  map[string]bool // absolute URLs that were noticed

	noticing sync.Mutex
}

// A Miss is a request for which nothing recorded was left.
type Miss struct {
	Request string        // such as "POST /mcp tools/call"
	Nearest *har.Exchange // the nearest recording, never served; nil if there is none
	Differs string        // the first difference to it, in words
}

// A Patch is a change that was made to recorded bytes because the client chose another value.
type Patch struct {
	N        int // the exchange
	Off      int // in Response.Raw
	Old, New string
}

// A Result is what became of a replay.
type Result struct {
	Served   int
	Misses   []Miss // at most the first 1000
	Unserved []*har.Exchange
	Patches  []Patch
}

// Endpoint is the path and query of the recorded MCP endpoint, "/" if there is none: where the first JSON-RPC message was
// sent or the first event stream was asked for.
func (p *Player) Endpoint() string {
	for _, r := range p.index().all {
		if r.ask == nil {
			continue
		}
		if r.ask.mcp && r.ask.method == "POST" || r.streams {
			return r.ask.target
		}
	}
	return "/"
}

func (p *Player) index() *index {
	p.build.Do(func() { p.ix = newIndex(p.Exchanges) })
	return p.ix
}

// start prepares what Serve and Close share. The caller holds p.mu.
func (p *Player) start() {
	if p.conns == nil {
		p.conns, p.done, p.origins = map[*conn]struct{}{}, make(chan struct{}), map[string]bool{}
	}
}

// Serve accepts connections until Close. It returns nil after Close.
func (p *Player) Serve(l net.Listener) error {
	p.index()
	p.mu.Lock()
	p.start()
	if p.closed {
		p.mu.Unlock()
		return l.Close()
	}
	p.listener = l
	p.mu.Unlock()
	slots := make(chan struct{}, maxConns)
	for nap := time.Duration(0); ; {
		select {
		case slots <- struct{}{}:
		case <-p.done:
			return nil
		}
		nc, err := l.Accept()
		if err == nil {
			nap = 0
			p.open(nc, slots)
			continue
		}
		<-slots
		select {
		case <-p.done:
			return nil
		default:
		}
		// Out of descriptors, or a client that left before it was accepted: both pass.
		if passing, ok := errors.AsType[interface {
			error
			Temporary() bool
		}](err); !ok || !passing.Temporary() {
			return fmt.Errorf("accepting a connection: %w", err)
		}
		nap = min(max(2*nap, 5*time.Millisecond), time.Second)
		select {
		case <-time.After(nap):
		case <-p.done:
			return nil
		}
	}
}

// open begins to serve a connection.
func (p *Player) open(nc net.Conn, slots chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		nc.Close()
		<-slots
		return
	}
	p.opened++
	c := newConn(p, nc, p.opened)
	p.conns[c] = struct{}{}
	p.running.Go(func() {
		c.run()
		p.mu.Lock()
		delete(p.conns, c)
		p.mu.Unlock()
		<-slots
	})
}

// Close stops serving, ends all connections and waits for them. What clients have sent by then is still taken note of: a
// program that ends leaves bytes behind that have come but have not been read.
func (p *Player) Close() error {
	p.mu.Lock()
	p.start()
	first := !p.closing
	p.closing = true
	l := p.listener
	p.mu.Unlock()
	if !first {
		<-p.done
		p.running.Wait()
		return nil
	}
	if l != nil {
		p.settle()
	}
	p.mu.Lock()
	p.closed = true
	close(p.done)
	conns := slices.Collect(maps.Keys(p.conns))
	p.mu.Unlock()
	var err error
	if l != nil {
		if err = l.Close(); errors.Is(err, net.ErrClosed) {
			err = nil
		}
	}
	for _, c := range conns {
		c.stop()
	}
	p.running.Wait()
	return err
}

// settle goes on serving for a moment, unless nothing can come of it.
func (p *Player) settle() {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(graceTime); time.Now().Before(until); <-tick.C {
		p.mu.Lock()
		over := p.result.Served == len(p.ix.all) && (len(p.conns) == 0 || p.Log == nil)
		p.mu.Unlock()
		if over {
			return
		}
	}
}

// Result reports what was served, missed and left over so far.
func (p *Player) Result() Result {
	ix := p.index()
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.result
	out.Misses, out.Patches = slices.Clone(out.Misses), slices.Clone(out.Patches)
	for _, r := range ix.all {
		if !r.taken {
			out.Unserved = append(out.Unserved, r.x)
		}
	}
	return out
}

// take finds the recording that answers q and marks it as served, at being when q was whole. The edits are what has to
// be changed in it.
func (p *Player) take(q *request, at time.Time) (r *recording, patch []edit, miss *Miss) {
	p.mu.Lock()
	r, loosely := p.ix.find(q, p.Exact)
	if r == nil {
		r = p.ix.partOf(q)
	}
	if r == nil {
		near, differs := p.ix.nearest(q.ask(), p.Exact)
		p.mu.Unlock()
		return nil, nil, p.missed(q, near, differs)
	}
	live := q.values()
	p.takes(r, live, at)
	var err error
	if !live.equal(r.ask.values) {
		patch, err = p.patch(r)
	}
	if err != nil {
		p.result.Served--
		r.release()
		p.mu.Unlock()
		return nil, nil, p.missed(q, r, err.Error())
	}
	p.mu.Unlock()
	if loosely {
		p.notice("exchange %d: the recorded client says of itself something else", r.x.N)
	}
	p.patched(r, patch)
	return r, patch, nil
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
			k.r.waiting = append(k.r.waiting, c)
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

// missed takes note of a miss.
func (p *Player) missed(q *request, near *recording, differs string) *Miss {
	m := Miss{Request: q.ask().label(), Differs: differs}
	text := "miss: " + m.Request + ": " + differs
	if near != nil {
		m.Nearest = near.x
		text = fmt.Sprintf("miss: %s: nearest is exchange %d, %s: %s", m.Request, near.x.N, near.name(), differs)
	}
	p.miss(m, text)
	return &m
}

func (p *Player) miss(m Miss, text string) {
	p.mu.Lock()
	if len(p.result.Misses) < maxMisses {
		p.result.Misses = append(p.result.Misses, m)
	}
	p.mu.Unlock()
	p.notice("%s", text)
}

// patched takes note of what was changed in r's response.
func (p *Player) patched(r *recording, patch []edit) {
	if len(patch) == 0 {
		return
	}
	raw := r.x.Response.Raw
	p.mu.Lock()
	for _, e := range patch {
		p.result.Patches = append(p.result.Patches, Patch{N: r.x.N, Off: e.off, Old: string(raw[e.off : e.off+e.len]), New: e.new})
	}
	p.mu.Unlock()
	for _, e := range patch {
		p.notice("exchange %d: %s at byte %d is sent as %s", r.x.N, clip(string(raw[e.off:e.off+e.len])), e.off, clip(e.new))
	}
}

func (p *Player) notice(format string, args ...any) {
	if p.Notice == nil {
		return
	}
	p.noticing.Lock()
	defer p.noticing.Unlock()
	p.Notice(fmt.Sprintf(format, args...))
}

// warn says once for each origin that a response leads the client past the replay: absolute URLs are served as recorded.
func (p *Player) warn(r *recording) {
	if p.Notice == nil {
		return
	}
	for _, u := range r.absolute() {
		p.mu.Lock()
		known := p.origins[u.Host]
		if len(p.origins) < 1000 {
			p.origins[u.Host] = true
		}
		p.mu.Unlock()
		if !known {
			p.notice("exchange %d: the response names %s://%s, which leads the client past this replay", r.x.N, u.Scheme, u.Host)
		}
	}
}

// name names the recording for people.
func (r *recording) name() string {
	if r.ask == nil {
		return fmt.Sprintf("%d bytes that are no request", len(r.x.Request.Raw))
	}
	return r.ask.label()
}

// dir names the client's and the server's side of a connection.
const (
	fromClient = wire.ToServer
	fromServer = wire.ToClient
)
