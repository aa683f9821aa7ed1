// Package proxy sits between a client and a server, passes every byte on, and reports what it saw as events.
//
// Bytes are forwarded first and reported second, in the order in which they were seen. Each client connection gets one
// connection to the server; how one of them ends (FIN, reset, over TLS a FIN with or without close_notify) is passed on to
// the other. Nothing is sent that did not come from one of the two sides.
package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcptap/mcptap/har"
)

// MaxConns is how many connections a door serves at a time. Further ones wait to be accepted.
const MaxConns = 10_000

// A Reverse is the reverse door: clients are given its address in place of the server's. Each client connection gets one
// connection to the server, dialled as soon as the client has connected. The only bytes it changes are the values of Host
// lines, which it declares in Event.Edits. Fields are set before Serve.
//
// The last event of every connection has End EndStopped, or EndUnknown where the server could not be reached.
type Reverse struct {
	To     *url.URL        // http or https; the path is not used
	TLS    *tls.Config     // for https: who is trusted; NextProtos is set to http/1.1
	Record func(har.Event) // called in the order in which things were seen on each connection
	Notice func(string)    // one sentence for a person, nil to drop; one that was just said is not repeated
	Dial   func(ctx context.Context, network, addr string) (net.Conn, error)
	Now    func() time.Time
	Conns  *atomic.Uint64 // the connections so far, shared by doors that record into one cassette; nil: a count of its own

	times  times // usualTimes if zero
	once   sync.Once
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	door   door
	slots  chan struct{}
	wg     sync.WaitGroup // the listeners' and connections' goroutines

	mu        sync.Mutex // guards what follows
	listeners map[net.Listener]struct{}
	live      map[*relay]struct{}
	said      string // the last notice
}

// A door is what the connections of one Reverse have in common.
type door struct {
	record    func(har.Event)
	now       func() time.Time
	authority string // what Host lines are changed to
	base      string
	times
}

func (r *Reverse) init() {
	r.once.Do(func() {
		r.ctx, r.cancel = context.WithCancel(context.Background())
		r.door = door{record: r.Record, now: r.Now, authority: r.To.Host, base: r.To.Scheme + "://" + r.To.Host, times: r.times}
		if r.door.now == nil {
			r.door.now = time.Now
		}
		if r.door.times == (times{}) {
			r.door.times = usualTimes
		}
		if r.Conns == nil {
			r.Conns = new(atomic.Uint64)
		}
		r.slots = make(chan struct{}, MaxConns)
		r.listeners = map[net.Listener]struct{}{}
		r.live = map[*relay]struct{}{}
	})
}

// Serve accepts connections until Close. It returns nil after Close.
func (r *Reverse) Serve(l net.Listener) error {
	r.init()
	if !r.track(l) {
		l.Close()
		return nil
	}
	defer r.wg.Done()
	defer l.Close()
	r.wg.Go(r.watch)
	for pause := time.Duration(0); ; {
		select {
		case r.slots <- struct{}{}:
		case <-r.ctx.Done():
			return nil
		}
		c, err := l.Accept()
		switch {
		case err == nil:
			pause = 0
			id := r.Conns.Add(1)
			r.wg.Go(func() {
				defer func() { <-r.slots }()
				r.serve(c, id)
			})
			continue
		case r.ctx.Err() != nil:
			return nil
		case !temporary(err):
			return fmt.Errorf("accepting connections: %w", err)
		}
		<-r.slots
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		r.notice("no connection can be accepted for the moment: " + err.Error())
		select {
		case <-time.After(pause):
		case <-r.ctx.Done():
			return nil
		}
	}
}

// temporary tells whether accepting may work again, such as when files are closed (EMFILE).
func temporary(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Temporary() //lint:ignore SA1019 no other way to tell, net/http does the same
}

// track notes a listener so that Close closes it. It is false after Close.
func (r *Reverse) track(l net.Listener) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		return false
	}
	r.listeners[l] = struct{}{}
	r.wg.Add(1)
	return true
}

// serve is one connection from the client's connect to the last event.
func (r *Reverse) serve(c net.Conn, id uint64) {
	up, dialled, err := r.connect()
	t := &tape{record: r.door.record}
	t.saw(har.Event{Conn: id, At: r.door.now(), Open: &har.Conn{Client: c.RemoteAddr().String(), Server: dialled, Base: r.door.base}})
	switch {
	case r.ctx.Err() != nil:
		c.Close()
		if up != nil {
			up.sock.Close()
		}
	case err != nil:
		f := explain(dialled, err)
		r.notice(f.words)
		r.door.turnAway(c, id, t, f)
	default:
		x := newRelay(&r.door, id, newLeg(c), up, t)
		if r.enter(x) {
			x.run()
			r.leave(x)
		} else {
			x.stop()
		}
	}
}

// enter notes a relay so that Close ends it. It is false after Close.
func (r *Reverse) enter(x *relay) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil {
		return false
	}
	r.live[x] = struct{}{}
	return true
}

func (r *Reverse) leave(x *relay) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.live, x)
}

// watch looks for clients that reset while their bytes wait for a server that does not read: nobody reads their
// connection meanwhile.
func (r *Reverse) watch() {
	tick := time.NewTicker(stuckAfter)
	defer tick.Stop()
	for {
		select {
		case <-r.ctx.Done():
			return
		case now := <-tick.C:
			r.mu.Lock()
			var stuck []*relay
			for x := range r.live {
				if x.stuck(now) {
					stuck = append(stuck, x)
				}
			}
			r.mu.Unlock()
			for _, x := range stuck {
				r.wg.Go(x.lookForReset)
			}
		}
	}
}

// Close stops accepting, ends all connections, and waits until the last event has been recorded. What a peer had ended
// before is recorded as that. A client in the middle of a response sees a reset, any other a FIN.
func (r *Reverse) Close() error {
	r.init()
	r.cancel()
	r.mu.Lock()
	var errs []error
	for l := range r.listeners {
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	live := make([]*relay, 0, len(r.live))
	for x := range r.live {
		live = append(live, x)
	}
	r.mu.Unlock()
	r.settle(live)
	for _, x := range live {
		r.wg.Go(x.breakOff)
	}
	r.wg.Wait()
	return errors.Join(errs...)
}

// settle waits, not for long, until the relays have read the endings that have arrived.
func (r *Reverse) settle(live []*relay) {
	most := time.NewTimer(r.door.settle)
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

func (r *Reverse) notice(words string) {
	r.mu.Lock()
	again := r.said == words
	r.said = words
	r.mu.Unlock()
	if r.Notice != nil && !again {
		r.Notice(words)
	}
}
