package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcptap/mcptap/capture"
	"github.com/mcptap/mcptap/har"
)

// MaxConns is how many connections a door serves at a time. Further ones wait to be accepted.
const MaxConns = 10_000

// A hall is what the doors have in common: it takes connections, knows those that are served, and ends them.
type hall struct {
	door
	conns *atomic.Uint64
	tell  func(string) // nil: nobody listens

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	slots  chan struct{}
	wg     sync.WaitGroup // the listeners' and connections' goroutines

	mu        sync.Mutex // guards what follows
	listeners map[net.Listener]struct{}
	live      map[*relay]struct{}
	said      string // the last notice
}

// A door is what the connections of one hall have in common.
type door struct {
	record func(har.Event)
	offer  func(har.Event) bool
	now    func() time.Time
	times
}

// tape is for the events of one connection.
func (d *door) tape() *capture.Tape { return &capture.Tape{Record: d.record, Offer: d.offer} }

// open makes the hall ready. Zero values stand for the usual ones.
func (h *hall) open(d door, conns *atomic.Uint64, tell func(string)) {
	h.door, h.conns, h.tell = d, conns, tell
	h.ctx, h.cancel = context.WithCancel(context.Background())
	if h.now == nil {
		h.now = time.Now
	}
	if h.times == (times{}) {
		h.times = usualTimes
	}
	if h.conns == nil {
		h.conns = new(atomic.Uint64)
	}
	h.slots = make(chan struct{}, MaxConns)
	h.listeners = map[net.Listener]struct{}{}
	h.live = map[*relay]struct{}{}
}

// take accepts connections until close and has each of them served. It returns nil after close.
func (h *hall) take(l net.Listener, serve func(c net.Conn, id uint64)) error {
	if !h.track(l) {
		l.Close()
		return nil
	}
	defer h.wg.Done()
	defer l.Close()
	h.wg.Go(h.watch)
	for pause := time.Duration(0); ; {
		select {
		case h.slots <- struct{}{}:
		case <-h.ctx.Done():
			return nil
		}
		c, err := l.Accept()
		switch {
		case err == nil:
			pause = 0
			id := h.conns.Add(1)
			h.wg.Go(func() {
				defer func() { <-h.slots }()
				serve(c, id)
			})
			continue
		case h.ctx.Err() != nil:
			return nil
		case !temporary(err):
			return fmt.Errorf("accepting connections: %w", err)
		}
		<-h.slots
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		h.notice("no connection can be accepted for the moment: " + err.Error())
		select {
		case <-time.After(pause):
		case <-h.ctx.Done():
			return nil
		}
	}
}

// temporary tells whether accepting may work again, such as when files are closed (EMFILE).
func temporary(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Temporary() //lint:ignore SA1019 no other way to tell, net/http does the same
}

// track notes a listener so that close closes it. It is false after close.
func (h *hall) track(l net.Listener) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx.Err() != nil {
		return false
	}
	h.listeners[l] = struct{}{}
	h.wg.Add(1)
	return true
}

// isOurs tells whether addr is one of our own listeners'.
func (h *hall) isOurs(addr net.Addr) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		if l.Addr().String() == addr.String() {
			return true
		}
	}
	return false
}

// relay carries a connection to its end, or ends it at once after close.
func (h *hall) relay(x *relay) {
	if !h.enter(x) {
		x.stop()
		return
	}
	x.run()
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.live, x)
}

// enter notes a relay so that close ends it. It is false after close.
func (h *hall) enter(x *relay) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx.Err() != nil {
		return false
	}
	h.live[x] = struct{}{}
	return true
}

// watch looks for clients that reset while their bytes wait for a server that does not read: nobody reads their
// connection meanwhile.
func (h *hall) watch() {
	tick := time.NewTicker(stuckAfter)
	defer tick.Stop()
	for {
		select {
		case <-h.ctx.Done():
			return
		case now := <-tick.C:
			h.mu.Lock()
			var stuck []*relay
			for x := range h.live {
				if x.stuck(now) {
					stuck = append(stuck, x)
				}
			}
			h.mu.Unlock()
			for _, x := range stuck {
				h.wg.Go(x.lookForReset)
			}
		}
	}
}

// close stops accepting, ends all connections, and waits until the last event has been recorded.
func (h *hall) close() error {
	h.cancel()
	h.mu.Lock()
	var errs []error
	for l := range h.listeners {
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	live := make([]*relay, 0, len(h.live))
	for x := range h.live {
		live = append(live, x)
	}
	h.mu.Unlock()
	h.awaitEndings(live)
	for _, x := range live {
		h.wg.Go(x.breakOff)
	}
	h.wg.Wait()
	return errors.Join(errs...)
}

// awaitEndings waits, not for long, until the relays have read the endings that have arrived.
func (h *hall) awaitEndings(live []*relay) {
	most := time.NewTimer(h.settle)
	defer most.Stop()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for slices.ContainsFunc(live, (*relay).unseen) {
		select {
		case <-most.C:
			return
		case <-look.C:
		}
	}
}

// notice says one sentence, unless it was the last one too.
func (h *hall) notice(words string) {
	h.mu.Lock()
	again := h.said == words
	h.said = words
	h.mu.Unlock()
	if h.tell != nil && !again {
		h.tell(words)
	}
}
