package main

import (
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/caller"
	"github.com/mcptap/mcptap/corpus"
	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/replay"
)

// Each recording of the corpus, served by the player, is verified against itself: nothing differs.
func TestCorpusVerifiesAgainstItself(t *testing.T) {
	for name, k := range corpusCases(t) {
		if k.Exchanges[0].Stdio() || slices.ContainsFunc(k.Exchanges, unreachedServer) {
			continue // a server that was not reached is served as a reset
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := verified(verifyReplay(t, k.Exchanges, nil), diff.Options{})
			if v.Sent == 0 || v.Differing > 0 {
				t.Errorf("%d of %d sent: %+v", v.Sent, len(k.Exchanges), v.Exchanges)
			}
		})
	}
}

// corpusCases are the cassettes of the corpus by name.
func corpusCases(t *testing.T) map[string]*har.Cassette {
	t.Helper()
	cases, err := corpus.List()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*har.Cassette{}
	for _, c := range cases {
		if all[c.Name], err = corpus.Open(c.Name); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func unreachedServer(x *har.Exchange) bool {
	return slices.ContainsFunc(x.Notes, func(n string) bool { return strings.HasPrefix(n, har.NoteUpstream) })
}

// verifyReplay sends the requests of a recording to a player of it.
func verifyReplay(t *testing.T, xs []*har.Exchange, faults []replay.Fault) []*caller.Pair {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &replay.Player{Exchanges: xs, Faults: faults}
	served := make(chan error, 1)
	go func() { served <- p.Serve(l) }()
	at := &url.URL{Scheme: "http", Host: l.Addr().String(), Path: "/"}
	if at, err = at.Parse(p.Endpoint()); err != nil {
		t.Fatal(err)
	}
	r := &caller.Resend{URL: at, Wait: 2 * time.Second,
		Caller: &caller.Caller{Base: "http://" + at.Host, Dial: func() (net.Conn, error) { return net.Dial("tcp", at.Host) }}}
	pairs, err := r.Run(xs)
	if err != nil {
		t.Error(err)
	}
	r.Caller.Close()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if misses := p.Result().Misses; len(misses) > 0 {
		t.Errorf("misses: %+v", misses)
	}
	return pairs
}

// A fault of the server is named, where it is and as what.
func TestVerifyNamesFaults(t *testing.T) {
	k, err := corpus.Open("optional-200-method-not-found")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ fault, kind string }{
		{"initialize: status 500", "status"}, {"initialize: rst", "ending"}, {"initialized: status 404", "status"},
	}
	for _, tt := range tests {
		t.Run(tt.fault, func(t *testing.T) {
			t.Parallel()
			f, err := replay.ParseFault(tt.fault)
			if err != nil {
				t.Fatal(err)
			}
			v := verified(verifyReplay(t, k.Exchanges, []replay.Fault{f}), diff.Options{})
			found := slices.ContainsFunc(v.Exchanges, func(x verifiedExchange) bool {
				return slices.ContainsFunc(x.Changes, func(c diff.Change) bool { return c.Kind == tt.kind })
			})
			if v.Differing != 1 || !found {
				t.Errorf("want one exchange that differs in %s: %+v", tt.kind, v.Exchanges)
			}
		})
	}
}
