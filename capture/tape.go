package capture

import (
	"sync"

	"github.com/mcptap/mcptap/har"
)

// A Tape hands the events of one connection to Record in the order in which they were seen, after their bytes have been
// passed on: an event takes its place (Saw) when the read returns, so that an answer never stands before what caused it, and is
// handed over (Hand) behind the write. It holds at most the one read that each direction is passing on, and the endings.
type Tape struct {
	Record func(har.Event) // nil to drop; set before the first call

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
