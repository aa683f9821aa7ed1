package har

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// What an exchange costs in memory beside its bytes, and an entry in the tables of what was seen.
const (
	heldPer   = 512
	heldPerID = 48
)

// A ledger joins the lines of a cassette to exchanges, and says when one is final: when it has an ending other than
// keep, or when it ended keep and its connection went on.
type ledger struct {
	last    map[uint64]tip      // of each connection
	open    map[place]*Exchange // what is not final
	numbers map[int]uint64      // N/64 to a bit each: which were seen
	seen    int                 // exchanges
	held    int64               // bytes of what is not final, and of the other tables

	processes map[uint64]*Process // by the connection

	begins bool    // someone asks for those that have begun
	begun  []place // since that was asked
}

// A tip is the exchange with the highest Seq on a connection.
type tip struct{ seq, n int }

// A place is where an exchange stands.
type place struct {
	conn uint64
	seq  int
}

func newLedger() *ledger {
	return &ledger{last: map[uint64]tip{}, open: map[place]*Exchange{}, numbers: map[int]uint64{}}
}

// first takes an exchange's first line, and returns those that became final by it, at most two.
func (l *ledger) first(x *Exchange, endOff bool) (final []*Exchange, err error) {
	if !l.number(x.N) {
		return nil, want("an _n that is new", fmt.Sprintf("there is another exchange %d", x.N))
	}
	last, known := l.last[x.Conn]
	if x.Seq != last.seq+1 {
		return nil, want(fmt.Sprintf("_seq %d, the next on connection %d", last.seq+1, x.Conn), fmt.Sprintf("got %d", x.Seq))
	}
	if x.N < last.n {
		return nil, want(fmt.Sprintf("an _n above %d, that of the exchange before it on connection %d", last.n, x.Conn), fmt.Sprintf("got %d", x.N))
	}
	if _, err := (extent{}).plus(x); err != nil {
		return nil, err
	}
	settle(x, x, endOff)
	if !known {
		l.held += heldPerID
	}
	l.last[x.Conn] = tip{x.Seq, x.N}
	l.seen++
	before := place{x.Conn, last.seq}
	if o := l.open[before]; o != nil && o.End == EndKeep {
		final = append(final, l.drop(before, o))
	}
	if x.End.ends() {
		return append(final, x), nil
	}
	l.open[place{x.Conn, x.Seq}] = x
	if l.begins {
		l.begun = append(l.begun, place{x.Conn, x.Seq})
		l.held += heldPerID
	}
	l.held += weight(x)
	return final, nil
}

// number notes that n is taken, and tells whether it was free.
func (l *ledger) number(n int) bool {
	page, bit := l.numbers[n/64], uint64(1)<<(n%64)
	if page == 0 {
		l.held += heldPerID
	}
	l.numbers[n/64] = page | bit
	return page&bit == 0
}

// more takes a continuation, and returns the exchange if it became final by it.
func (l *ledger) more(add *Exchange, endOff bool) (final *Exchange, err error) {
	at := place{add.Conn, add.Seq}
	x := l.open[at]
	if x == nil {
		return nil, want("a continuation of an exchange that goes on", fmt.Sprintf("there is none with _conn %d and _seq %d", add.Conn, add.Seq))
	}
	if _, err := extentOf(x).plus(add); err != nil {
		return nil, err
	}
	l.held -= weight(x)
	extend(x, add)
	l.held += weight(x)
	settle(x, add, endOff)
	if x.End.ends() || x.End == EndKeep && x.Seq < l.last[x.Conn].seq {
		return l.drop(at, x), nil
	}
	return nil, nil
}

func (l *ledger) drop(at place, x *Exchange) *Exchange {
	delete(l.open, at)
	l.held -= weight(x)
	return x
}

// begunSince returns copies of what has begun since the last call and is not final.
func (l *ledger) begunSince() (list []*Exchange) {
	for _, at := range l.begun {
		if x := l.open[at]; x != nil {
			now := *x
			list = append(list, &now)
		}
	}
	l.held -= heldPerID * int64(len(l.begun))
	l.begins, l.begun = true, l.begun[:0]
	return list
}

// rest returns what is not final, in order of N.
func (l *ledger) rest() []*Exchange {
	open := slices.Collect(maps.Values(l.open))
	clear(l.open)
	slices.SortFunc(open, func(a, b *Exchange) int { return cmp.Compare(a.N, b.N) })
	return open
}

// ends tells whether nothing can follow on an exchange with this ending.
func (e Ending) ends() bool { return e != "" && e != EndKeep }

// extend adds a continuation's bytes, lists and facts.
func extend(x, add *Exchange) {
	x.Request.Raw = append(x.Request.Raw, add.Request.Raw...)
	x.Request.Writes = append(x.Request.Writes, add.Request.Writes...)
	x.Response.Raw = append(x.Response.Raw, add.Response.Raw...)
	x.Response.Writes = append(x.Response.Writes, add.Response.Writes...)
	x.Edits = append(x.Edits, add.Edits...)
	x.Redacted = append(x.Redacted, add.Redacted...)
	x.Notes = append(x.Notes, add.Notes...)
	x.Off = cmp.Or(add.Off, x.Off)
	x.Method = cmp.Or(add.Method, x.Method)
	x.URL = cmp.Or(add.URL, x.URL)
	x.Status = cmp.Or(add.Status, x.Status)
	x.MediaType = cmp.Or(add.MediaType, x.MediaType)
}

// settle takes over the ending of a line that has been added to x.
func settle(x, add *Exchange, endOff bool) {
	switch {
	case add.End != "":
		x.End, x.EndAt, x.EndOff = add.End, add.EndAt, add.EndOff
		if !endOff {
			x.EndOff = len(x.Response.Raw)
		}
	case x.End == EndKeep:
		x.EndOff = len(x.Response.Raw)
	}
}

// extentOf is the extent of what is known of x.
func extentOf(x *Exchange) extent {
	e := extent{request: len(x.Request.Raw), response: len(x.Response.Raw)}
	if n := len(x.Edits); n > 0 {
		e.edited = x.Edits[n-1].Off + x.Edits[n-1].Len
	}
	return e
}

// weight is what an exchange costs in memory, roughly.
func weight(x *Exchange) int64 {
	lists := len(x.Request.Writes) + len(x.Response.Writes) + len(x.Edits) + len(x.Redacted) + len(x.Notes)
	return heldPer + int64(len(x.Request.Raw)+len(x.Response.Raw)+24*lists)
}

// breakOff ends an exchange whose lines stop without an ending.
func breakOff(x *Exchange, note string) {
	x.End, x.EndAt, x.EndOff = EndUnknown, 0, len(x.Response.Raw)
	x.Notes = append(x.Notes, note)
}
