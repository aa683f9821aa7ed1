package corpus

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/analyze"
	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/replay"
)

// withSecrets puts credentials into a case, as a client with a bearer token and a server that compresses and talks would have them.
func withSecrets(t *testing.T, k *har.Cassette) {
	t.Helper()
	const token = "Authorization: Bearer pL4nt3d-s3cret.0123456789\r\n"
	for _, x := range k.Exchanges {
		if x.Stdio() || len(x.Edits) > 0 {
			continue
		}
		head := bytes.Index(x.Request.Raw, []byte("\r\n")) + 2
		x.Request.Raw = slices.Concat(x.Request.Raw[:head], []byte(token), x.Request.Raw[head:])
		x.Request.Writes[0].Len += len(token)
	}
}

// Cleaning changes no verdict, no finding and no course of any case, and what is left of it can be served.
func TestCleanedCasesAreTheSame(t *testing.T) {
	for _, k := range listed(t) {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			for _, strict := range []bool{false, true} {
				c := opened(t, k.Name)
				withSecrets(t, c)
				before := opinion(t, c)
				har.NewCleaner(nil, strict).Clean(c)
				if after := opinion(t, c); after != before {
					t.Errorf("strict %v: judged otherwise:\n%s\nbefore\n%s", strict, after, before)
				}
				for _, x := range c.Exchanges {
					if bytes.Contains(x.Request.Raw, []byte("pL4nt3d")) {
						t.Errorf("exchange %d: the token is there", x.N)
					}
				}
				if strict && !c.Exchanges[0].Stdio() {
					served(t, c.Exchanges)
				}
			}
		})
	}
}

// opinion is all that the analyzer says of a case, but for the addresses and names that pseudonyms stand for.
func opinion(t *testing.T, c *har.Cassette) string {
	t.Helper()
	all := func(yield func(*har.Exchange, error) bool) {
		for _, x := range c.Exchanges {
			if !yield(x, nil) {
				return
			}
		}
	}
	r, err := analyze.Analyze(all, analyze.Options{AllHTTP: true, Policies: []string{"all"}})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i := range r.Exchanges {
		x := &r.Exchanges[i]
		write(t, &b, []any{x.N, x.Conversation, x.Class, x.Verdicts})
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		write(t, &b, []any{f.ID, f.Severity, f.Exchanges, f.Evidence})
	}
	for i := range r.Conversations {
		v := &r.Conversations[i]
		write(t, &b, []any{v.ID, v.Observed, v.Predicted, v.Client, v.Server})
	}
	return b.String()
}

func write(t *testing.T, b *strings.Builder, v any) {
	t.Helper()
	line, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	b.Write(append(line, '\n'))
}

// served plays exchanges and lets their own requests ask for them.
func served(t *testing.T, xs []*har.Exchange) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &replay.Player{Exchanges: xs, Now: time.Now}
	done := make(chan error, 1)
	go func() { done <- p.Serve(l) }()
	play(t, l.Addr().String(), xs)
	if err := errors.Join(p.Close(), <-done); err != nil {
		t.Error(err)
	}
	if r := p.Result(); len(r.Misses) != 0 || len(r.Unserved) != 0 || len(r.Patches) != 0 {
		t.Errorf("misses %v, %d unserved, patches %v: want none", r.Misses, len(r.Unserved), r.Patches)
	}
}
