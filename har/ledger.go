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
	last    map[uint64]int      // of each connection the highest Seq seen
	open    map[place]*Exchange // what is not final
	numbers map[int]uint64      // N/64 to a bit each: which were seen
	seen    int                 // exchanges
	held    int64               // bytes of what is not final, and of the other tables
}

// A place is where an exchange stands.
type place struct {
	conn uint64
	seq  int
}

func newLedger() *ledger {
	return &ledger{last: map[uint64]int{}, open: map[place]*Exchange{}, numbers: map[int]uint64{}}
}

// first takes an exchange's first line, and returns those that became final by it, at most two.
func (l *ledger) first(x *Exchange, endOff bool) (final []*Exchange, err error) {
	if !l.number(x.N) {
		return nil, fmt.Errorf("want _n to be new: there is another exchange %d", x.N)
	}
	last, known := l.last[x.Conn]
	if x.Seq != last+1 {
		return nil, fmt.Errorf("want _seq %d, the next on connection %d, not %d", last+1, x.Conn, x.Seq)
	}
	if err := settle(x, x, endOff); err != nil {
		return nil, err
	}
	if !known {
		l.held += heldPerID
	}
	l.last[x.Conn] = x.Seq
	l.seen++
	before := place{x.Conn, last}
	if o := l.open[before]; o != nil && o.End == EndKeep {
		final = append(final, l.drop(before, o))
	}
	if x.End.ends() {
		return append(final, x), nil
	}
	l.open[place{x.Conn, x.Seq}] = x
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
		return nil, fmt.Errorf("want a continuation of an exchange that goes on: there is none with _conn %d and _seq %d", add.Conn, add.Seq)
	}
	l.held -= weight(x)
	extend(x, add)
	l.held += weight(x)
	if err := settle(x, add, endOff); err != nil {
		return nil, err
	}
	if x.End.ends() || x.End == EndKeep && x.Seq < l.last[x.Conn] {
		return l.drop(at, x), nil
	}
	return nil, nil
}

func (l *ledger) drop(at place, x *Exchange) *Exchange {
	delete(l.open, at)
	l.held -= weight(x)
	return x
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
	x.Method = cmp.Or(add.Method, x.Method)
	x.URL = cmp.Or(add.URL, x.URL)
	x.Status = cmp.Or(add.Status, x.Status)
	x.MediaType = cmp.Or(add.MediaType, x.MediaType)
}

// settle checks what a line adds against the bytes known with it, and takes over its ending.
func settle(x, add *Exchange, endOff bool) error {
	for _, e := range add.Edits {
		if e.Len > len(x.Request.Raw) || e.Off > len(x.Request.Raw)-e.Len {
			return fmt.Errorf("want _edits within the %d bytes of the request", len(x.Request.Raw))
		}
	}
	for _, r := range add.Redacted {
		have := len(x.side(r.Dir).Raw)
		if r.Len > have || r.Off > have-r.Len {
			return fmt.Errorf("want _redacted within the %d bytes of the %s", have, r.Dir)
		}
	}
	if add.EndOff > len(x.Response.Raw) {
		return fmt.Errorf("want _endOff within the %d bytes of the response", len(x.Response.Raw))
	}
	if add.End == "" {
		if x.End == EndKeep {
			x.EndOff = len(x.Response.Raw)
		}
		return nil
	}
	x.End, x.EndAt, x.EndOff = add.End, add.EndAt, add.EndOff
	if !endOff {
		x.EndOff = len(x.Response.Raw)
	}
	return nil
}

// weight is what an exchange costs in memory, roughly.
func weight(x *Exchange) int64 {
	lists := len(x.Request.Writes) + len(x.Response.Writes) + len(x.Edits) + len(x.Redacted) + len(x.Notes)
	return heldPer + int64(len(x.Request.Raw)+len(x.Response.Raw)+24*lists)
}
