package main

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcptap/mcptap/har"
)

// Bounds of the log of a recording.
const (
	logQueue  = 8 << 20                // bytes of lines that wait to be shown
	logLines  = 16384                  // of those lines
	logPart   = 64 << 10               // bytes of one line of the cassette that are taken along
	logRate   = 50                     // exchanges shown per second, after a burst of as many
	logLinger = 500 * time.Millisecond // how long the end of a recording waits for a terminal that takes no line
	logRest   = 10 * time.Second       // how long it waits for the rest to be judged and shown where lines are taken
)

// A liveLog shows on stderr what is recorded, in a goroutine of its own. It never holds the recording up: what it cannot take or show
// in time is left out of the log (never out of the recording), counted, and said.
type liveLog struct {
	view live
	out  *stuckOut
	now  func() time.Time

	mu      sync.Mutex // guards what follows
	queue   []logged
	bytes   int
	dropped int // exchanges that were not even queued
	closed  bool

	wake chan struct{} // one signal
	done chan struct{} // closed when the goroutine has ended
}

// logged is a line of the cassette.
type logged struct {
	x    har.Exchange
	more bool
}

func newLiveLog(out io.Writer, p paint, now func() time.Time) *liveLog {
	to := &stuckOut{out: out}
	l := &liveLog{view: live{out: to, p: p}, out: to, now: now, wake: make(chan struct{}, 1), done: make(chan struct{})}
	l.view.allowed = (&bucket{now: now, left: logRate}).take
	return l
}

// wrote takes a line of the cassette: for Recorder.Wrote.
func (l *liveLog) wrote(x *har.Exchange, more bool) {
	part := logged{x: *x, more: more}
	part.x.Edits, part.x.Notes, part.x.Redacted = slices.Clone(x.Edits), slices.Clone(x.Notes), nil
	size := 256 + len(x.Request.Raw) + len(x.Response.Raw)
	short := size > logPart
	l.mu.Lock()
	defer l.mu.Unlock()
	switch full := l.bytes > logQueue || len(l.queue) >= logLines; {
	case l.closed:
		return
	case full && !more:
		l.dropped++
		return
	case full:
		short = true
		if len(l.queue) >= 2*logLines {
			return
		}
	}
	part.x.Request, part.x.Response = taken(&x.Request, short), taken(&x.Response, short)
	l.bytes += 256 + cap(part.x.Request.Raw) + cap(part.x.Response.Raw)
	l.queue = append(l.queue, part)
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// taken is a copy of a side; short: of its length only.
func taken(s *har.Side, short bool) har.Side {
	if short && len(s.Raw) > 0 {
		return har.Side{Writes: []har.Write{{At: s.Writes[len(s.Writes)-1].At, Len: len(s.Raw)}}}
	}
	return har.Side{Raw: slices.Clone(s.Raw), Writes: slices.Clone(s.Writes)}
}

// run is the goroutine.
func (l *liveLog) run() {
	defer close(l.done)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-l.wake:
		case <-tick.C:
			l.sayHidden()
			continue
		}
		l.mu.Lock()
		queue, closed := l.queue, l.closed
		l.queue, l.bytes = nil, 0
		l.mu.Unlock()
		for i := range queue {
			l.view.line(&queue[i].x, queue[i].more)
		}
		if closed {
			l.sayHidden()
			return
		}
	}
}

// sayHidden says how many lines were not shown.
func (l *liveLog) sayHidden() {
	l.mu.Lock()
	n := l.dropped + l.view.hidden
	l.dropped, l.view.hidden = 0, 0
	l.mu.Unlock()
	if n > 0 {
		l.view.print(l.view.p.dim(fmt.Sprintf("… %s not shown here, for there are too many; the recording has them", count(n, "line"))))
	}
}

// A stuckOut knows for how long a write has not returned.
type stuckOut struct {
	out   io.Writer
	since atomic.Int64 // Unix nanoseconds; 0: no write is under way
}

// Write passes p on.
func (o *stuckOut) Write(p []byte) (int, error) {
	o.since.Store(time.Now().UnixNano())
	defer o.since.Store(0)
	return o.out.Write(p)
}

func (o *stuckOut) stuck() bool {
	since := o.since.Load()
	return since != 0 && time.Since(time.Unix(0, since)) >= logLinger
}

// close shows the rest. It gives up on a terminal that takes no line; on a busy machine the first verdict alone takes longer than
// that.
func (l *liveLog) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
	tick, rest := time.NewTicker(logLinger/2), time.After(logRest)
	defer tick.Stop()
	for {
		select {
		case <-l.done:
			return
		case <-rest:
			return
		case <-tick.C:
			if l.out.stuck() {
				return
			}
		}
	}
}

// A bucket lets logRate lines through per second.
type bucket struct {
	now  func() time.Time
	last time.Time
	left float64
}

func (b *bucket) take() bool {
	now := b.now()
	if !b.last.IsZero() {
		b.left = min(logRate, b.left+now.Sub(b.last).Seconds()*logRate)
	}
	b.last = now
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}
