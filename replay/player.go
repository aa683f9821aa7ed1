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
	Exchanges []*har.Exchange  // in order or not; Load gives them otherwise
	Name      string           // of the server among several; it begins notices and stands in the log
	Conns     *atomic.Uint64   // the connections so far, shared by Players with one Log; nil: a count of its own
	Pace      float64          // recorded gaps are divided by it; 1 is as recorded; 0 means no gaps ("fast")
	Exact     bool             // refuse to patch ids: such a request is a miss; so is one that differs in who the client is
	Match     Match            // what a request and its recording must agree in; MatchParams is the zero value
	Repeat    bool             // serve the last recording of a key again when none is left
	Faults    []Fault          // what disturbs the answers, in this order
	Log       func(har.Event)  // what happened, as events; nil to drop. Called from many goroutines, in order for each connection
	Notice    func(string)     // misses and patches in words, as they happen; nil to drop. Called by one goroutine at a time
	Now       func() time.Time // stamps events; time.Now if nil. Gaps run on the system's clock

	build    sync.Once
	ix       *index
	load     *Loading     // nil: Exchanges are all there is
	whole    atomic.Bool  // all is loaded
	endpoint string       // of what is loaded
	held     atomic.Int64 // bytes of requests in memory
	naps     atomic.Int32 // connections that wait for less than a millisecond

	mu       sync.Mutex
	conns    map[*conn]struct{}
	listener net.Listener
	closing  bool          // Close was called
	closed   bool          // and has begun to end connections
	done     chan struct{} // closed by Close
	running  sync.WaitGroup
	result   Result
	origins  map[string]bool // absolute URLs that were noticed
	asked    []int           // how many requests each of Faults selects
	uses     []int           // and how many answers it has disturbed

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
	Served   int             // answers, those that came again included
	Repeated int             // of these, the ones that came again
	Misses   []Miss          // at most the first 1000
	Unserved []*har.Exchange // but for requests for tunnels that were not opened, which no client of the server makes
	Patches  []Patch
	Faults   []FaultUse // at most the first 1000
	Unused   []Fault    // those that met no request
}

// Endpoint is the path and query of the recorded MCP endpoint, "/" if there is none: where the first JSON-RPC message was
// sent or the first event stream was asked for.
//
// Of a recording that is still being loaded, it is that of the first part, or else the path of the URL that was recorded.
func (p *Player) Endpoint() string {
	p.index()
	return p.endpoint
}

func (p *Player) index() *index {
	p.build.Do(func() {
		p.ix = newIndex(p.Exchanges, p.Match)
		p.endpoint = p.ix.endpoint("/")
		p.whole.Store(true)
	})
	return p.ix
}

// start prepares what Serve and Close share. The caller holds p.mu.
func (p *Player) start() {
	if p.Conns == nil {
		p.Conns = new(atomic.Uint64)
	}
	if p.conns == nil {
		p.conns, p.done, p.origins = map[*conn]struct{}{}, make(chan struct{}), map[string]bool{}
		p.asked, p.uses = make([]int, len(p.Faults)), make([]int, len(p.Faults))
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
	return p.accept(l)
}

func (p *Player) accept(l net.Listener) error {
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
	c := newConn(p, nc, p.Conns.Add(1))
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
//
// A recording that is still being loaded is loaded to its end first, since what was not asked for is known then.
func (p *Player) Close() error {
	if p.load != nil {
		<-p.load.done
	}
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
		over := p.result.Served-p.result.Repeated == len(p.ix.all) && (len(p.conns) == 0 || p.Log == nil)
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
		if !r.taken && !r.disturbed && !r.tunnel {
			out.Unserved = append(out.Unserved, r.x)
		}
	}
	out.Faults = slices.Clone(out.Faults)
	for i := range p.Faults {
		if p.uses == nil || p.uses[i] == 0 {
			out.Unused = append(out.Unused, p.Faults[i])
		}
	}
	return out
}
