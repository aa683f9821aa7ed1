package replay

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// A conn is one connection of a client. One goroutine reads its requests, answers them and waits for what is due; while it
// waits it reads. Only wake and stop are called by others.
type conn struct {
	p  *Player
	nc net.Conn
	id uint64

	buf    []byte // what came and is not done with; it begins with the request at hand
	fed    int    // of those, how many the slicer has seen
	slicer wire.Slicer
	seq    int     // the slicer's exchange at hand
	found  []found // what the slicer found at the beginning of buf
	readAt time.Time
	limit  time.Time // the read deadline that is set

	ungreeted bool // it is not known yet whether the server speaks first here

	eof  bool // the client has closed its side
	dead bool // nothing can be sent any more

	begun  *recording // whose early bytes were sent for the request at hand
	sent   int        // how many
	ending ending     // what ends the connection once it is due
	silent bool       // the response at hand never becomes whole: nothing can be answered behind it
	deaf   bool       // what comes is not looked at any more

	turn   // the response being sent
	asking request

	mu     sync.Mutex
	woken  bool
	signal chan struct{}
}

// found is a part of buf: a request, or the beginning of one.
type found struct {
	n, headLen int // bytes so far; of those, the head, 0 if it is not whole
	head       *wire.Head
	at         time.Time // when its last byte came
	done       bool
	opaque     bool // it cannot become whole: bytes without meaning follow
	skip       bool // no request: empty lines between two
}

// An ending is how the server ends a connection, and when.
type ending struct {
	kind har.Ending // "" for none
	at   time.Time
}

// sliceable is how many requests one Slicer is given. It is not shown the responses, so that for it all requests wait.
const sliceable = 1024

func newConn(p *Player, nc net.Conn, id uint64) *conn {
	return &conn{p: p, nc: nc, id: id, signal: make(chan struct{}, 1)}
}

// run serves the connection to its end.
func (c *conn) run() {
	defer c.release()
	began := time.Now()
	c.readAt = began
	c.opened()
	c.greet()
	for !c.dead {
		if c.ending.kind != "" && !time.Now().Before(c.ending.at) {
			c.end()
			return
		}
		if c.ungreeted && !c.p.awaits(c) {
			c.ungreeted = false
			if len(c.buf) == 0 && c.readAt.Equal(began) {
				c.greet()
			}
			continue
		}
		if !c.next() {
			continue
		}
		if c.eof && c.ending.kind == "" {
			break
		}
		if err := c.read(c.deadline()); err != nil && c.standsStill() {
			c.p.notice("connection %d: %v passed without a byte of an unfinished request; it is closed", c.id, requestTime)
			c.end()
			return
		}
		c.parse()
	}
	if len(c.found) > 0 && !c.silent && !c.found[0].done {
		c.abandoned(&c.found[0])
	}
	c.end()
}

// next does what can be done with what has come. more: nothing, until more comes.
func (c *conn) next() (more bool) {
	if len(c.found) == 0 {
		return true
	}
	q := &c.found[0]
	switch {
	case c.deaf:
		return true
	case q.skip:
		c.consume()
	case c.silent && q.opaque:
		c.deaf = true
	case q.done && c.silent:
		c.adopt(q)
	case q.done:
		c.answer(q)
	case !c.silent:
		return c.unfinished(q)
	default:
		return true
	}
	return false
}

// deadline is how long to wait for more.
func (c *conn) deadline() time.Time {
	switch {
	case c.ending.kind != "":
		return c.ending.at
	case len(c.found) > 0 && !c.silent:
		return c.readAt.Add(requestTime)
	}
	return time.Time{}
}

func (c *conn) standsStill() bool {
	return c.ending.kind == "" && len(c.found) > 0 && !c.silent && !time.Now().Before(c.readAt.Add(requestTime))
}

// parse looks at what has been read.
func (c *conn) parse() {
	if c.deaf || c.fed == len(c.buf) {
		return
	}
	pieces := c.slicer.Feed(fromClient, c.buf[c.fed:])
	c.fed = len(c.buf)
	for _, p := range pieces {
		n := len(c.found)
		if p.Seq != c.seq || n == 0 || c.found[n-1].done || c.found[n-1].skip {
			c.found = append(c.found, found{skip: p.Seq == c.seq})
			c.seq = p.Seq
			n++
		}
		q := &c.found[n-1]
		q.n += p.N
		if p.Head != nil {
			q.head, q.headLen = p.Head, p.Head.Len
		}
		q.done = q.done || p.Done
		q.opaque = q.opaque || p.Opaque
		q.at = c.readAt
	}
	// Whole requests are answered before the slicer, which owns its heads, is fed again.
	if q := &c.found[len(c.found)-1]; q.head != nil && !q.done {
		q.head = q.head.Clone()
	}
}

// consume drops the first thing found.
func (c *conn) consume() {
	c.drop(c.found[0].n)
	c.found = c.found[:copy(c.found, c.found[1:])]
	c.begun, c.sent = nil, 0
	if c.seq >= sliceable && len(c.found) <= 1 && (len(c.found) == 0 || !c.found[0].done && !c.found[0].skip) {
		c.slicer, c.seq, c.fed, c.found = wire.Slicer{}, 0, 0, c.found[:0]
		c.parse()
	}
}

// drop forgets the first n bytes of buf.
func (c *conn) drop(n int) {
	rest := copy(c.buf, c.buf[n:])
	c.buf = c.buf[:rest]
	c.fed = max(c.fed-n, 0)
	if cap(c.buf) > maxAhead && rest < maxAhead/2 {
		c.p.held.Add(-int64(cap(c.buf)))
		c.buf = append([]byte(nil), c.buf...)
		c.p.held.Add(int64(cap(c.buf)))
	}
}

var (
	errWoken    = errors.New("woken")
	errTooLarge = errors.New("more than 64 MiB, or than there is room for")
)

// read waits until something comes, but no longer than until (zero: for ever). It reports what it did not read: a time
// that has passed, a wake, or the end of what the client sends.
func (c *conn) read(until time.Time) error {
	if c.eof || c.dead {
		return c.sleep(until)
	}
	if c.deaf {
		c.buf, c.fed, c.found = c.buf[:0], 0, c.found[:0]
	}
	if !c.room() {
		c.tooLarge()
		return errTooLarge
	}
	if !c.arm(until) {
		return errWoken
	}
	n, err := c.nc.Read(c.buf[len(c.buf):cap(c.buf)])
	if n > 0 {
		c.readAt = time.Now()
		c.bytes(fromClient, c.buf[len(c.buf):len(c.buf)+n])
		c.buf = c.buf[:len(c.buf)+n]
	}
	switch {
	case err == nil, n > 0 && errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		if c.wasWoken() {
			return errWoken
		}
		return err
	}
	c.lost(err)
	return err
}

// tooLarge gives a connection up whose request is beyond the bounds.
func (c *conn) tooLarge() {
	label := "bytes that are no request"
	if len(c.found) > 0 && c.found[0].head != nil {
		label = newAsk(c.found[0].head, nil, c.p.Match).label()
	}
	c.p.miss(Miss{Request: label, Differs: errTooLarge.Error()}, missWord+label+": "+errTooLarge.Error()+"; the connection is closed")
	c.deaf, c.silent = true, true
	c.ending = ending{har.EndFIN, time.Now()}
}

// lost takes note of how the client ended what it sends.
func (c *conn) lost(err error) {
	end := har.ReadEnding(err)
	c.eof = true
	switch end {
	case har.EndFIN, har.EndNoCloseNotify:
	case har.EndStopped:
		c.dead = true
		return
	default:
		c.dead = true
	}
	c.ended(fromClient, end)
}

// room makes room for more bytes, and tells whether there may be more.
func (c *conn) room() bool {
	if len(c.buf) < cap(c.buf) {
		return true
	}
	const first = 8 << 10
	size := min(max(2*cap(c.buf), first), maxRequest+maxAhead)
	more := int64(size - cap(c.buf))
	if more == 0 {
		return false
	}
	if c.p.held.Add(more) > maxHeld && size > first {
		c.p.held.Add(-more)
		return false
	}
	grown := make([]byte, len(c.buf), size)
	copy(grown, c.buf)
	c.buf = grown
	return true
}

// arm sets the read deadline. It returns false if the connection was woken meanwhile.
func (c *conn) arm(until time.Time) bool {
	if until.IsZero() && c.limit.IsZero() {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.woken {
		c.woken, c.limit = false, past
		return false
	}
	c.nc.SetReadDeadline(until)
	c.limit = until
	return true
}

// past is the read deadline of a connection that was woken.
var past = time.Unix(1, 0)

func (c *conn) wasWoken() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.woken {
		return false
	}
	c.woken, c.limit = false, past
	return true
}

// wake makes the connection look again at what it waits for. Others call it.
func (c *conn) wake() {
	c.mu.Lock()
	c.woken = true
	c.nc.SetReadDeadline(past)
	c.mu.Unlock()
	select {
	case c.signal <- struct{}{}:
	default:
	}
}

// stop ends the connection from outside.
func (c *conn) stop() {
	c.nc.Close()
	c.wake()
}

// sleep waits like read when nothing can come any more.
func (c *conn) sleep(until time.Time) error {
	var after <-chan time.Time
	if !until.IsZero() {
		t := time.NewTimer(time.Until(until))
		defer t.Stop()
		after = t.C
	}
	select {
	case <-after:
		return os.ErrDeadlineExceeded
	case <-c.signal:
		c.wasWoken()
		return errWoken
	case <-c.p.done:
		c.dead = true
		return net.ErrClosed
	}
}

// write sends bytes to the client. A client that is gone makes the connection dead.
func (c *conn) write(b []byte) {
	if c.dead || len(b) == 0 {
		return
	}
	n, err := c.nc.Write(b)
	if n > 0 {
		c.bytes(fromServer, b[:n])
	}
	if err != nil {
		c.dead = true
		if end := har.ReadEnding(err); end != har.EndStopped {
			c.ended(fromClient, end)
		}
	}
}
