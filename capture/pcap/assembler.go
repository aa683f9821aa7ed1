package pcap

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"time"
)

// Bounds of an assembler.
const (
	maxConns     = 1 << 14  // connections that are followed; beyond it the one that was silent longest is ended
	maxHeld      = 24 << 20 // bytes of all connections that wait for what is before them
	maxHeldConn  = 4 << 20  // bytes of one connection that wait
	maxHeldParts = 1 << 13  // segments of one connection that wait
	keptBytes    = 4 << 10  // delivered bytes of each direction that a retransmission is compared with
	maxKept      = 8 << 20  // of all connections
	lookEvery    = 50 * time.Millisecond
	holdFor      = time.Second      // how long what the receiver has acknowledged, or a beginning, is waited for
	holdUnseen   = 60 * time.Second // how long what the receiver has not acknowledged is waited for
	lingerFor    = time.Second      // how long bytes are taken behind the ending of a connection
	forgetAfter  = 2 * time.Minute  // how long an ended connection is remembered, so that late packets do not begin a new one
)

// An occurrence is what happened to a connection, in the order in which it happened to its ends as far as that can be told.
type occurrence struct {
	kind  kind
	from  int // the end that sent: index in conn.ends
	at    time.Time
	bytes []byte // valid during the call
	lost  int64  // bytes that are not in the capture; -1: their number is not known
	why   string // of lost and note: a note of docs/format.md
}

type kind uint8

const (
	gotBytes kind = iota
	gotLost
	gotFIN
	gotBareFIN // of TLS: a FIN without close_notify
	gotRST
	gotNote
	gotEnd // nothing more will come
)

// A pair names a connection: the lower end first.
type pair [2]netip.AddrPort

// A conn is one TCP connection.
type conn struct {
	id       int
	ends     pair
	ways     [2]way // by sender
	client   int    // index in ends, -1 if no SYN told
	at       time.Time
	held     int  // bytes that wait
	parts    int  // segments that wait
	watched  bool // in assembler.watched
	over     time.Time
	gone     bool // ended: what comes is late
	conflict bool // was noted
	link     any  // of whom the occurrences are for
	newer    *conn
	older    *conn
}

// An assembler puts the segments of TCP connections in order (RFC 9293). A segment is delivered when all bytes before it
// and all bytes that it acknowledges have been, so the order between the two directions is that of cause and effect
// whatever the order of the packets. What does not come is said to be lost, once the receiver has acknowledged it or the
// connection ends.
type assembler struct {
	deliver func(*conn, occurrence)

	conns          map[pair]*conn
	newest, oldest *conn
	watched        map[*conn]struct{} // those for which time matters
	held, kept     int
	now, looked    time.Time
	opened         int
	stale          int   // resets that no receiver took
	late           int64 // bytes behind the end of a connection
	strays         int   // segments that are far from where the connection is
}

func newAssembler(deliver func(*conn, occurrence)) *assembler {
	return &assembler{deliver: deliver, conns: map[pair]*conn{}, watched: map[*conn]struct{}{}}
}

// add takes the next segment.
func (a *assembler) add(s *segment) {
	if s.at.After(a.now) {
		a.now = s.at
	}
	c, from := a.find(s)
	c.touch(a, s)
	if c.gone {
		if w := &c.ways[from]; len(s.data) > 0 && (!w.started || int32(s.seq-w.next) >= 0) {
			a.late += int64(len(s.data))
		}
		return
	}
	w, peer := &c.ways[from], &c.ways[1-from]
	w.seen = true
	if s.syn {
		w.synced(s.seq)
		if c.client < 0 {
			c.client = from
			if s.has {
				c.client = 1 - from
			}
		}
	}
	if s.has && !(s.rst && s.ack == 0) {
		peer.acknowledged(s.ack)
		if w.syn && s.seq == w.first {
			peer.atFirst, peer.hasFirst = s.ack, true
		}
	}
	if len(s.data)+s.cut > 0 {
		a.data(c, from, s)
	}
	if s.fin {
		w.finish(s)
	}
	if s.rst {
		a.reset(c, from, s)
	}
	if c.waits() || c.watched {
		a.pump(c)
		a.mind(c)
	}
	if a.now.Sub(a.looked) >= lookEvery {
		a.look()
	}
}

// find gives the connection of a segment, a new one if need be, and which end sent it.
func (a *assembler) find(s *segment) (c *conn, from int) {
	k := pair{s.src, s.dst}
	switch last := a.newest; {
	case last != nil && last.ends == k: // most packets are of the connection of the one before
		c = last
	case last != nil && last.ends == pair{s.dst, s.src}:
		c, k, from = last, last.ends, 1
	default:
		if s.dst.Compare(s.src) < 0 {
			k, from = pair{s.dst, s.src}, 1
		}
		c = a.conns[k]
	}
	if c != nil && s.syn && c.reused(from, s) {
		a.end(c)
		a.forget(c)
		c = nil
	}
	if c == nil {
		if len(a.conns) >= maxConns {
			a.end(a.oldest)
			a.forget(a.oldest)
		}
		a.opened++
		c = &conn{id: a.opened, ends: k, client: -1}
		a.conns[k] = c
		a.link(c)
	}
	return c, from
}

// reused tells whether a SYN begins another connection between the same ports.
func (c *conn) reused(from int, s *segment) bool {
	w := &c.ways[from]
	switch {
	case w.syn:
		return s.seq != w.isn
	case c.gone:
		return true
	case w.started:
		return int32(s.seq+1-w.first) != 0
	case w.seen && len(w.queue) > 0:
		d := int32(w.queue[0].seq - (s.seq + 1))
		return d < 0 || d > maxHeldConn
	}
	return false
}

func (c *conn) touch(a *assembler, s *segment) {
	if s.at.After(c.at) {
		c.at = s.at
	}
	if a.newest != c {
		a.unlink(c)
		a.link(c)
	}
}

// link makes c the one that was heard of last.
func (a *assembler) link(c *conn) {
	c.older, c.newer = a.newest, nil
	if a.newest != nil {
		a.newest.newer = c
	}
	if a.newest = c; a.oldest == nil {
		a.oldest = c
	}
}

func (a *assembler) unlink(c *conn) {
	if c.newer != nil {
		c.newer.older = c.older
	} else {
		a.newest = c.older
	}
	if c.older != nil {
		c.older.newer = c.newer
	} else {
		a.oldest = c.newer
	}
}

func (a *assembler) forget(c *conn) {
	a.unlink(c)
	delete(a.conns, c.ends)
}

// mind notes whether c has to be looked at as time passes, and keeps what waits within its bounds.
func (a *assembler) mind(c *conn) {
	if c.over.IsZero() && c.ended() {
		c.over = a.now
	}
	if need := c.waits() || !c.over.IsZero(); need != c.watched {
		if c.watched = need; need {
			a.watched[c] = struct{}{}
		} else {
			delete(a.watched, c)
		}
	}
	for c.held > maxHeldConn || c.parts > maxHeldParts {
		a.resolve(c)
		a.pump(c)
	}
	for other := a.oldest; a.held > maxHeld && other != nil; other = other.newer {
		a.force(other)
	}
}

// look looks at the connections for which time has passed, and forgets those that ended long ago.
func (a *assembler) look() {
	a.looked = a.now
	due := slices.SortedFunc(maps.Keys(a.watched), func(b, c *conn) int { return cmp.Compare(b.id, c.id) })
	for _, c := range due {
		for {
			if _, due := c.blocked(); due.IsZero() || a.now.Before(due) {
				break
			}
			a.resolve(c)
			a.pump(c)
		}
		if !c.over.IsZero() && a.now.Sub(c.over) >= lingerFor && a.now.Sub(c.at) >= lingerFor {
			a.end(c)
			continue
		}
		a.mind(c)
	}
	for c := a.oldest; c != nil && c.gone && a.now.Sub(c.at) > forgetAfter; c = a.oldest {
		a.forget(c)
	}
}

// end ends what is followed of a connection: all that waits is delivered, with what is missing before it.
func (a *assembler) end(c *conn) {
	if c.gone {
		return
	}
	a.force(c)
	for from := range c.ways {
		w := &c.ways[from]
		// Acknowledged, and never captured. One byte more is a FIN that is missing; nothing tells it from a byte.
		if n := int64(int32(w.acked - w.next)); w.started && w.hasAcked && !w.ended && n > 1 && n < farthest {
			a.deliver(c, occurrence{kind: gotLost, from: from, at: c.at, lost: n})
		}
	}
	c.gone = true
	a.deliver(c, occurrence{kind: gotEnd, at: c.at})
	for i := range c.ways {
		a.kept -= len(c.ways[i].kept)
		c.ways[i].kept, c.ways[i].queue = nil, nil
	}
	c.link = nil
	delete(a.watched, c)
	c.watched = false
}

// close ends all connections, in the order in which they were last heard of.
func (a *assembler) close() {
	for a.oldest != nil {
		c := a.oldest
		a.end(c)
		a.forget(c)
	}
}
