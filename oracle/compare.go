package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/mcptap/mcptap/har/wire"
)

// A pair is a client's end and a server's.
type pair [2]netip.AddrPort

func (p pair) String() string { return p[0].String() + " > " + p[1].String() }

// A talk is what a pair said to each other on all its connections, by wire.Dir.
type talk struct {
	messages [2][]message
	stream   [2][]byte
	secure   [2][]byte // of tshark: what was inside TLS
	tls      bool
	snapped  bool // the capture kept only the beginning of packets
}

type message struct {
	what       string // method or status
	body       []byte // without transfer coding
	known      bool   // of tshark: the body was shown
	unfinished bool   // of ours
}

// counts are what was compared.
type counts struct{ requests, responses, bodies, bytes int }

func (c *counts) add(n counts) {
	c.requests += n.requests
	c.responses += n.responses
	c.bodies += n.bodies
	c.bytes += n.bytes
}

func (c counts) String() string {
	return fmt.Sprintf("%d requests, %d responses, %d bodies, %d stream bytes", c.requests, c.responses, c.bodies, c.bytes)
}

// compared compares what both made of a capture. n counts ours.
func compared(ours, theirs map[pair]*talk) (n counts, differences []string) {
	differ := func(p pair, format string, args ...any) {
		differences = append(differences, p.String()+": "+fmt.Sprintf(format, args...))
	}
	all := maps.Clone(theirs)
	maps.Copy(all, ours)
	for _, p := range slices.SortedFunc(maps.Keys(all), func(a, b pair) int { return cmp.Or(a[0].Compare(b[0]), a[1].Compare(b[1])) }) {
		a, b := ours[p], theirs[p]
		if a == nil {
			a = &talk{}
		}
		if b == nil {
			b = &talk{}
		}
		n.requests += len(a.messages[wire.ToServer])
		n.responses += len(a.messages[wire.ToClient])
		for _, dir := range []wire.Dir{wire.ToServer, wire.ToClient} {
			// Of packets that were cut short tshark reads messages; to us they have no end.
			if said := sameMessages(a.messages[dir], b.messages[dir], &n); said != "" && !a.snapped {
				differ(p, "%ss: %s", dir, said)
			}
			stream := b.stream[dir]
			if a.tls {
				stream = b.secure[dir]
			}
			n.bytes += len(a.stream[dir])
			if at := firstDifference(a.stream[dir], stream); at >= 0 {
				differ(p, "%s stream: %d bytes, tshark has %d, equal up to %d", dir, len(a.stream[dir]), len(stream), at)
			}
		}
	}
	return n, differences
}

// sameMessages says how the messages of one direction differ, "" if they do not.
func sameMessages(ours, theirs []message, n *counts) string {
	for i := range min(len(ours), len(theirs)) {
		a, b := &ours[i], &theirs[i]
		if a.what != b.what {
			return fmt.Sprintf("number %d is %s, to tshark %s", i+1, a.what, b.what)
		}
		if !b.known {
			continue
		}
		n.bodies++
		if !bytes.Equal(a.body, b.body) {
			return fmt.Sprintf("the body of number %d (%s) has %d bytes, tshark has %d, equal up to %d", i+1, a.what, len(a.body), len(b.body), firstDifference(a.body, b.body))
		}
	}
	// tshark shows a message once it has all of it.
	if n := len(ours); n == len(theirs)+1 && ours[n-1].unfinished {
		return ""
	}
	if len(ours) != len(theirs) {
		return fmt.Sprintf("%d, tshark has %d", len(ours), len(theirs))
	}
	return ""
}

// firstDifference is the offset of the first byte that differs, -1 if none does.
func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	if len(a) != len(b) {
		return min(len(a), len(b))
	}
	return -1
}
