// Package capture turns what a source saw ([har.Event]) into exchanges and keeps them in a cassette.
package capture

import (
	"cmp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcptap/mcptap/har"
)

// Bounds of a Recorder, beside one small record for each open connection.
const (
	MaxQueued   = 16 << 20 // bytes of events that wait to be looked at; Record waits while there are more
	MaxUnstored = 1 << 20  // bytes of one exchange that are added before they are written; at most twice that are held
)

// How often the recorder's goroutine works, so that a burst of events costs one wake-up.
const (
	flushEvery = 100 * time.Millisecond // also how long an exchange may be under way before what there is of it is written
	restFor    = 2 * time.Millisecond   // between two looks at the queue, unless it holds wakeAt bytes
	wakeAt     = 256 << 10
	forever    = time.Hour
)

// A Recorder turns events into exchanges, redacts them and writes them to a cassette, in a goroutine of its own.
//
// An exchange is written when request and response are whole; one that is under way at a flush is written as far as it has
// come, and continued. The cassette is flushed when an exchange was written, at once if the last flush is 100 ms ago,
// else 100 ms after it.
//
// A connection's ending is written when the source has seen the last of it (an event with EndStopped or EndUnknown), or by
// Close. It belongs to the connection's last exchange and to all that had no whole response; the others end EndKeep. It is
// that of the side that ended first. A client that ended by FIN but took response bytes behind it (it did not answer
// them with a reset) had only half-closed: what the server did then is the ending, EndKeep if the response is whole and
// the server did nothing.
type Recorder struct {
	Now     func() time.Time // for flushing; time.Now if nil
	OnError func(error)      // called once, when recording has failed; events are then dropped
	Queue   int              // bytes of events that wait at most; MaxQueued if 0. A source that can wait needs little
	Limits  Limits           // what is kept
	// Wrote is called behind each line that was written, with secrets replaced and only what is new, as har.Writer.Append takes it
	// (more) or as Write does; valid until it returns. It is called by the recorder's goroutine, so it must not wait.
	Wrote func(line *har.Exchange, more bool)

	failed atomic.Bool
	slowed atomic.Uint64
	done   chan struct{} // closed when the goroutine has ended

	mu     sync.Mutex // guards what follows
	room   *sync.Cond // the queue was taken, or nothing waits any more
	queue  *queue
	state  state
	closed bool

	wake chan struct{} // one signal to the goroutine
	book book          // of the goroutine alone
}

// A state is what the goroutine waits for.
type state uint8

const (
	working state = iota
	resting       // for time to pass, much to do, or Close
	idle          // for anything
)

// NewRecorder starts a recorder that writes to w, or only counts if w is nil. redact is nil to keep secrets. Fields are set
// before the first call.
func NewRecorder(w *har.Writer, redact *har.Redactor) *Recorder {
	r := &Recorder{done: make(chan struct{}), queue: new(queue), wake: make(chan struct{}, 1)}
	r.room = sync.NewCond(&r.mu)
	r.book.init(w, redact)
	go r.run()
	return r
}

// Record hands over one event. It copies e.Bytes, keeps the order of the calls, and waits only while more bytes are queued
// than Queue says. It may be called from many goroutines.
func (r *Recorder) Record(e har.Event) {
	if r.failed.Load() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full() {
		r.slowed.Add(1)
	}
	for r.full() && !r.closed && !r.failed.Load() {
		r.room.Wait()
	}
	r.add(&e)
}

// Offer is Record, but where that would have to wait it does nothing and returns false.
func (r *Recorder) Offer(e har.Event) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full() {
		return false
	}
	r.add(&e)
	return true
}

// full tells whether events have to wait. mu is held.
func (r *Recorder) full() bool { return r.queue.size() > cmp.Or(r.Queue, MaxQueued) }

// add queues an event. mu is held.
func (r *Recorder) add(e *har.Event) {
	if r.closed || r.failed.Load() {
		return
	}
	r.queue.add(e)
	if r.state == idle || r.state == resting && r.queue.size() >= wakeAt {
		r.rouse()
	}
}

// Slowed tells how many events had to wait for room in the queue: recording has slowed the traffic.
func (r *Recorder) Slowed() uint64 { return r.slowed.Load() }

// rouse makes the goroutine look at the queue. mu is held.
func (r *Recorder) rouse() {
	r.state = working
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Close ends what is still open as capture-stopped, writes the end line and flushes.
func (r *Recorder) Close() error {
	r.mu.Lock()
	r.closed = true
	r.room.Broadcast()
	r.rouse()
	r.mu.Unlock()
	<-r.done
	return r.book.err
}

// Exchanges is how many there were, and how many of them were whole, request and response. It may be asked after Close.
func (r *Recorder) Exchanges() (all, whole int) { return r.book.n, r.book.whole }

// Replaced is how many ranges of their bytes held credentials, which the redactor replaced. It may be asked after Close.
func (r *Recorder) Replaced() int { return r.book.replaced }

// run is the goroutine.
func (r *Recorder) run() {
	defer close(r.done)
	timer := time.NewTimer(forever)
	defer timer.Stop()
	for spare := new(queue); ; {
		r.mu.Lock()
		q, closed := r.queue, r.closed
		r.queue = spare
		r.room.Broadcast()
		r.mu.Unlock()
		r.work(q, closed)
		if closed {
			return
		}
		had := !q.empty()
		spare = q.reset()
		if had {
			r.wait(resting, timer, restFor)
		} else {
			r.wait(idle, timer, r.book.due(r.now))
		}
	}
}

// work takes note of the events of q, and writes what is due.
func (r *Recorder) work(q *queue, last bool) {
	if !q.empty() || last || r.book.busy() {
		r.book.now = r.now()
		r.book.limits, r.book.wrote = r.Limits, r.Wrote
		r.book.takeAll(q)
		if last {
			r.book.close()
		} else {
			r.book.keepUp()
		}
		r.report()
	}
}

// wait waits in that state until roused or until the time has passed.
func (r *Recorder) wait(s state, timer *time.Timer, atMost time.Duration) {
	r.mu.Lock()
	r.state = s
	if r.closed || s == idle && !r.queue.empty() || r.queue.size() >= wakeAt {
		r.rouse()
	}
	r.mu.Unlock()
	timer.Reset(atMost)
	select {
	case <-r.wake:
	case <-timer.C:
	}
	r.mu.Lock()
	r.state = working
	r.mu.Unlock()
}

func (r *Recorder) now() time.Time {
	if r.Now != nil {
		return r.Now()
	}
	return time.Now()
}

// report says once that recording has failed, and lets go of all who wait.
func (r *Recorder) report() {
	if r.book.err == nil || r.failed.Swap(true) {
		return
	}
	r.mu.Lock()
	r.room.Broadcast()
	r.mu.Unlock()
	if r.OnError != nil {
		r.OnError(r.book.err)
	}
}
