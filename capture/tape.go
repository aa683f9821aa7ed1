package capture

import (
	"sync"

	"github.com/mcptap/mcptap/har"
)

// A Tape hands the events of one connection to Record in the order in which they were seen: an event takes its place (Saw)
// when the read returns, so that an answer never stands before what caused it, and is handed over (Hand) after its bytes
// have been passed on. It holds at most the one read that each direction is passing on, and the endings.
//
// What a client sends on one connection because of an answer on another must stand behind the request of that answer.
// So requests are handed over before they are passed on (HandNow), if that needs no waiting.
type Tape struct {
	Record func(har.Event)      // nil to drop; set before the first call
	Offer  func(har.Event) bool // Record, but false if that would have to wait; nil: it always would

	mu      sync.Mutex // guards what follows
	waiting []har.Event
	closed  bool // behind the last event

	out   sync.Mutex  // held while events are handed over, so that their bytes stay what they are
	spare []har.Event // guarded by out
}

// Saw gives the next place to e, whose bytes must stay unchanged until Hand has returned.
func (t *Tape) Saw(e har.Event) {
	t.place(e, false)
}

// Last gives the next place to e and ends the tape.
func (t *Tape) Last(e har.Event) { t.place(e, true) }

func (t *Tape) place(e har.Event, last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.waiting = append(t.waiting, e)
	}
	t.closed = t.closed || last
}

// Hand hands over all events seen so far. One that another direction is still passing on is handed over too: waiting for it
// would stop this direction for as long as the other's peer does not read.
func (t *Tape) Hand() {
	t.out.Lock()
	defer t.out.Unlock()
	t.mu.Lock()
	events := t.waiting
	t.waiting = t.spare[:0]
	t.mu.Unlock()
	for i := range events {
		if t.Record != nil {
			t.Record(events[i])
		}
	}
	clear(events)
	t.spare = events
}

// HandNow hands over what it can without waiting for anything.
func (t *Tape) HandNow() {
	if t.Offer == nil || !t.out.TryLock() {
		return
	}
	defer t.out.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for n < len(t.waiting) && t.Offer(t.waiting[n]) {
		n++
	}
	rest := copy(t.waiting, t.waiting[n:])
	clear(t.waiting[rest:])
	t.waiting = t.waiting[:rest]
}
