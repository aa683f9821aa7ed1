// Package testkit gives replay.Server what package replay may not import itself: with
//
//	import _ "github.com/mcptap/mcptap/replay/testkit"
//
// in a test, Expect and Observed judge what the client did by package analyze, and replay.Record records by the reverse
// door. It holds no other code.
package testkit

import (
	"bytes"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/mcptap/mcptap/analyze"
	"github.com/mcptap/mcptap/capture"
	"github.com/mcptap/mcptap/capture/proxy"
	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/replay"
)

func init() {
	replay.Equip(replay.Kit{Assemble: assemble, Observe: observe, Expect: expect, Door: door})
}

const tool = "mcptap test"

// assemble makes exchanges of events by way of a cassette in memory.
func assemble(events []har.Event) ([]*har.Exchange, error) {
	var file bytes.Buffer
	w, err := har.NewWriter(&file, har.Header{Tool: tool, Mode: "replay", KeepSecrets: true}, true)
	if err != nil {
		return nil, err
	}
	r := capture.NewRecorder(w, nil)
	for _, e := range events {
		r.Record(e)
	}
	if err := r.Close(); err != nil {
		return nil, err
	}
	c, err := har.Read(&file, har.Limits{})
	if err != nil {
		return nil, err
	}
	return c.Exchanges, nil
}

func report(xs []*har.Exchange) (*analyze.Report, error) {
	return analyze.Analyze(func(yield func(*har.Exchange, error) bool) {
		for _, x := range xs {
			if !yield(x, nil) {
				return
			}
		}
	}, analyze.Options{})
}

func observe(xs []*har.Exchange) (replay.Observed, error) {
	r, err := report(xs)
	if err != nil {
		return replay.Observed{}, err
	}
	o := replay.Observed{Outcome: string(analyze.Unknown), Exchanges: xs}
	if len(r.Conversations) > 0 {
		seen := r.Conversations[0].Observed
		o.Outcome, o.Version = string(seen.Outcome), seen.Version
	}
	for _, f := range r.Findings {
		if !slices.Contains(o.Findings, f.ID) {
			o.Findings = append(o.Findings, f.ID)
		}
	}
	return o, nil
}

func expect(xs []*har.Exchange, want string) error {
	r, err := report(xs)
	if err != nil {
		return err
	}
	return r.Expect(want)
}

// door records what passes l on its way to a server, credentials replaced.
func door(to *url.URL, l net.Listener, f *os.File) func() error {
	safe := &url.URL{Scheme: to.Scheme, Host: to.Host, Path: to.Path}
	w, err := har.NewWriter(f, har.Header{Tool: tool, Mode: "reverse", To: safe.String(), Started: time.Now().UTC().Truncate(time.Microsecond)}, false)
	if err != nil {
		l.Close()
		return func() error { return err }
	}
	r := capture.NewRecorder(w, har.NewRedactor())
	d := &proxy.Reverse{To: to, Record: r.Record, Offer: r.Offer}
	served := make(chan error, 1)
	go func() { served <- d.Serve(l) }()
	return func() error {
		err := d.Close()
		if e := <-served; err == nil {
			err = e
		}
		if e := r.Close(); err == nil && e != nil {
			err = fmt.Errorf("writing the recording: %w", e)
		}
		return err
	}
}
