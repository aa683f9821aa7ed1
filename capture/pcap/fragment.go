package pcap

import (
	"net/netip"
	"slices"
	"time"
)

// Bounds of what is kept of IP packets that are not whole.
const (
	maxFragmented = 256              // packets
	maxFragments  = 1024             // fragments of one packet
	fragmentWait  = 30 * time.Second // of capture time, as RFC 1122 section 3.3.2 has it
	maxIP         = 64 << 10         // bytes of one packet
)

// fragKey says to which packet a fragment belongs (RFC 791, RFC 8200 section 4.5).
type fragKey struct {
	src, dst netip.Addr
	id       uint32
	proto    uint8
}

type fragment struct {
	key  fragKey
	at   time.Time
	off  int
	last bool
	data []byte
}

// fragments joins the fragments of IP packets, in any order. Where two overlap, the bytes that came first stay.
type fragments struct {
	parts map[fragKey]*parts
	lost  int // packets that were given up
}

// parts are what has come of one packet.
type parts struct {
	at     time.Time // the first fragment
	bytes  []byte
	have   []run // sorted, apart from one another
	count  int
	length int // of the whole packet, -1 until the last fragment has come
}

// A run is the offsets from, to.
type run struct{ from, to int }

// add takes a fragment, and returns the packet's payload if it is whole now.
func (f *fragments) add(g fragment) []byte {
	if g.off+len(g.data) > maxIP || len(g.data) == 0 {
		return nil
	}
	if f.parts == nil {
		f.parts = map[fragKey]*parts{}
	}
	p := f.parts[g.key]
	if p != nil && g.at.Sub(p.at) > fragmentWait {
		f.drop(g.key)
		p = nil
	}
	if p == nil {
		f.makeRoom()
		p = &parts{at: g.at, length: -1}
		f.parts[g.key] = p
	}
	p.put(g)
	if p.count > maxFragments {
		f.drop(g.key)
		return nil
	}
	if len(p.have) != 1 || p.have[0] != (run{0, p.length}) {
		return nil
	}
	delete(f.parts, g.key)
	return p.bytes[:p.length]
}

func (f *fragments) drop(k fragKey) {
	delete(f.parts, k)
	f.lost++
}

// makeRoom gives up the packet that waits longest if there are too many.
func (f *fragments) makeRoom() {
	if len(f.parts) < maxFragmented {
		return
	}
	var oldest fragKey
	var at time.Time
	for k, p := range f.parts {
		if at.IsZero() || p.at.Before(at) {
			oldest, at = k, p.at
		}
	}
	f.drop(oldest)
}

// put adds the bytes of g that are new.
func (p *parts) put(g fragment) {
	p.count++
	if g.last && p.length < 0 {
		p.length = g.off + len(g.data)
	}
	to := g.off + len(g.data)
	if len(p.bytes) < to {
		p.bytes = append(p.bytes, make([]byte, to-len(p.bytes))...)
	}
	at := g.off
	for _, r := range p.have {
		if r.from > at {
			copyRange(p.bytes, g, at, min(r.from, to))
		}
		at = max(at, r.to)
	}
	copyRange(p.bytes, g, at, to)
	p.have = joined(append(p.have, run{g.off, to}))
}

// copyRange copies what g has for the offsets from, to.
func copyRange(dst []byte, g fragment, from, to int) {
	if from < to {
		copy(dst[from:to], g.data[from-g.off:])
	}
}

// joined sorts runs and joins those that touch.
func joined(runs []run) []run {
	slices.SortFunc(runs, func(a, b run) int { return a.from - b.from })
	out := runs[:1]
	for _, r := range runs[1:] {
		if last := &out[len(out)-1]; r.from <= last.to {
			last.to = max(last.to, r.to)
		} else {
			out = append(out, r)
		}
	}
	return out
}
