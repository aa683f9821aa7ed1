package capture

import (
	"time"
	"unsafe"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// A queue holds events in the order of their arrival, without a pointer to what their source may change.
type queue struct {
	entries []entry
	bytes   []byte
	edits   []har.Edit
}

// An entry is an event whose bytes and edits lie in the queue.
type entry struct {
	conn         uint64
	at           time.Time
	open         *har.Conn
	end          har.Ending
	note         string
	lost         int64
	bytes, edits int // where its own end
	dir          wire.Dir
	stderr       bool
	exit         *har.Exit
}

// keptQueue is how much room a queue keeps for the next events.
const keptQueue = 1 << 20

func (q *queue) empty() bool { return len(q.entries) == 0 }

// size is how many bytes the queue holds, those beside the events' own bytes included.
func (q *queue) size() int { return len(q.bytes) + len(q.entries)*int(unsafe.Sizeof(entry{})) }

func (q *queue) add(e *har.Event) {
	q.bytes = append(q.bytes, e.Bytes...)
	q.edits = append(q.edits, e.Edits...)
	q.entries = append(q.entries, entry{
		conn: e.Conn, at: e.At, open: e.Open, end: e.End, note: e.Note, lost: e.Lost,
		stderr: e.Stderr, exit: e.Exit,
		bytes: len(q.bytes), edits: len(q.edits), dir: e.Dir,
	})
}

// reset empties the queue for use again.
func (q *queue) reset() *queue {
	if q.size() > keptQueue {
		return new(queue)
	}
	clear(q.entries)
	q.entries, q.bytes, q.edits = q.entries[:0], q.bytes[:0], q.edits[:0]
	return q
}
