package proxy

import (
	"sync"

	"github.com/mcptap/mcptap/har"
)

// A tape hands the events of one connection to the recorder in the order in which they were seen, after their bytes have
// been passed on: an event takes its place (saw) when the read returns, so that a response never stands before the request
// that caused it, and is handed over (hand) behind the write. It holds at most the one read that each direction is
// passing on, and the endings.
type tape struct {
	record func(har.Event)

	mu      sync.Mutex // guards what follows
	waiting []har.Event
	closed  bool // behind the last event

	out   sync.Mutex  // held while events are handed over, so that their bytes stay what they are
	spare []har.Event // guarded by out
}

// saw gives the next place to e, whose bytes must stay unchanged until hand has returned.
func (t *tape) saw(e har.Event) {
	t.mu.Lock()
	if !t.closed {
		t.waiting = append(t.waiting, e)
	}
	t.mu.Unlock()
}

// last gives the next place to e and ends the tape.
func (t *tape) last(e har.Event) {
	t.mu.Lock()
	if !t.closed {
		t.waiting = append(t.waiting, e)
	}
	t.closed = true
	t.mu.Unlock()
}

// hand hands over all events seen so far. One that the other direction is still passing on is handed over too: waiting for
// it would stop this direction for as long as the other's peer does not read.
func (t *tape) hand() {
	t.out.Lock()
	defer t.out.Unlock()
	t.mu.Lock()
	events := t.waiting
	t.waiting = t.spare[:0]
	t.mu.Unlock()
	for i := range events {
		t.record(events[i])
	}
	clear(events)
	t.spare = events
}
