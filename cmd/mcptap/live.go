package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/caller"
	"github.com/mcptap/mcptap/capture/proxy"
	"github.com/mcptap/mcptap/har"
)

// liveOptions are what verify and probe share: how a live server is reached, and how long it is waited for.
type liveOptions struct {
	caFile, out           string
	insecure, keepSecrets bool
	quiet                 bool
	headers               []string
	wait                  time.Duration
}

func (o *liveOptions) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.caFile, "ca-file", "", "trust the certificates in this PEM `FILE` too")
	f.BoolVar(&o.insecure, "insecure", false, "accept any certificate from the server")
	f.StringArrayVar(&o.headers, "header", nil, "send this `\"NAME: VALUE\"` with each request, in place of what it has of that name; repeated")
	f.DurationVar(&o.wait, "wait", 10*time.Second, "wait that long for an answer")
	f.BoolVar(&o.keepSecrets, "keep-secrets", false, "write credentials and session ids to the recording as they are")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no notices on stderr")
}

// check refuses what cannot be sent.
func (o *liveOptions) check(c *cobra.Command) error {
	for _, h := range o.headers {
		name, _, ok := strings.Cut(h, ":")
		if !ok || name == "" || strings.ContainsAny(name, " \t") || strings.ContainsAny(h, "\r\n\x00") {
			return usage(c, "--header: want \"NAME: VALUE\" in one line")
		}
	}
	if o.wait < time.Millisecond || o.wait > time.Hour {
		return usage(c, "--wait %s: want from 1ms to 1h", o.wait)
	}
	return nil
}

// A liveRun is a run of requests to a live server, by way of a door of ours that records them.
type liveRun struct {
	*caller.Caller
	tape    *tape // nil if nothing is kept
	door    *proxy.Reverse
	l       net.Listener
	signals chan os.Signal
	ended   chan struct{}

	mu      sync.Mutex
	clients map[uint64]string // the clients of the connections that are open, by number
	failed  map[string]string // why the server was not reached, by client
}

// watch takes note of connections that did not reach the server.
func (r *liveRun) watch(e har.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Open != nil {
		r.clients[e.Conn] = e.Open.Client
	}
	if strings.HasPrefix(e.Note, har.NoteUpstream+":") {
		r.failed[r.clients[e.Conn]] = e.Note
	}
	if e.End == har.EndStopped || e.End == har.EndUnknown {
		delete(r.clients, e.Conn)
	}
}

// noteUnreached gives exchanges that did not reach the server the note that says so. It is called behind finish.
func (r *liveRun) noteUnreached(pairs []*caller.Pair) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range pairs {
		if p.Now != nil && r.failed[p.Now.Client] != "" {
			p.Now.Notes = []string{r.failed[p.Now.Client]}
		}
	}
}

// unreached says in words why the server was not reached, "" if it was.
func unreached(x *har.Exchange) string {
	if x == nil {
		return ""
	}
	for _, n := range x.Notes {
		reason, failed := strings.CutPrefix(n, har.NoteUpstream+": ")
		switch {
		case !failed:
		case reason == "refused":
			return "the server refused the connection"
		case reason == "tls":
			return "the server's TLS or certificate was not accepted"
		case reason == "dns":
			return "the server's name was not found"
		case reason == "timeout":
			return "the server did not take the connection in time"
		default:
			return "the server was not reached"
		}
	}
	return ""
}

// call begins a run. The recording goes to the file that out names; keep false: there is none.
func (a *app) call(to *url.URL, o *liveOptions, mode string, keep bool) (*liveRun, error) {
	trust, err := (&recordOptions{caFile: o.caFile, insecure: o.insecure}).trust()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &liveRun{l: l, signals: make(chan os.Signal, 1), ended: make(chan struct{}), clients: map[uint64]string{}, failed: map[string]string{}}
	record := r.watch
	if keep {
		if r.tape, err = a.newTape(o.out, har.Header{Mode: mode, To: safeURL(to), KeepSecrets: o.keepSecrets}); err != nil {
			l.Close()
			return nil, err
		}
		record = func(e har.Event) {
			r.watch(e)
			r.tape.Record(e)
		}
	}
	notice := a.noticeUnless(o.quiet)
	r.door = &proxy.Reverse{To: to, TLS: trust, Record: record, Notice: func(s string) { notice("%s", s) }}
	r.Caller = &caller.Caller{Base: to.Scheme + "://" + to.Host, Dial: func() (net.Conn, error) { return net.Dial("tcp", l.Addr().String()) }}
	go r.door.Serve(l)
	signal.Notify(r.signals, ending()...)
	go func() {
		select {
		case <-r.signals:
			r.Stop()
		case <-r.ended:
		}
	}()
	return r, nil
}

// finish ends the run and its recording. err is why it ended, if something is wrong.
func (r *liveRun) finish(err error) error {
	signal.Stop(r.signals)
	close(r.ended)
	r.Stop()
	r.Caller.Close()
	if e := r.door.Close(); err == nil {
		err = e
	}
	if r.tape != nil {
		if e := r.tape.close(); err == nil {
			err = e
		}
	}
	if errors.Is(err, caller.ErrStopped) {
		return fmt.Errorf("interrupted: the run is not whole")
	}
	return err
}
