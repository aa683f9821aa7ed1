package main

import (
	"cmp"
	"fmt"
	"net"
	"slices"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/replay"
)

// A replaySource is a recording that is read while it is served.
type replaySource struct {
	replay.Source
	read []*har.Exchange // complete when the replay is over
}

// exchanges are all that were read, in order of N.
func (s *replaySource) exchanges() []*har.Exchange {
	slices.SortFunc(s.read, func(x, y *har.Exchange) int { return cmp.Compare(x.N, y.N) })
	return s.read
}

// openReplay opens a recording to be served. One that does not say of which servers it is is read as a whole first, and so is
// stdin, which may not end.
func (a *app) openReplay(name string, o *replayOptions) (*replaySource, error) {
	notice := a.noticeUnless(o.quiet)
	r, err := a.open(name)
	if err != nil {
		return nil, err
	}
	s := &replaySource{Source: replay.Source{To: r.header.To, Servers: r.header.Servers, Begun: r.begun}}
	all := func(yield func(*har.Exchange, error) bool) {
		defer r.Close()
		for x, err := range r.all {
			if err == nil && x.Stdio() {
				err = &trouble{fmt.Errorf("%s was recorded over stdio", name), "add --stdio, and let the host start that command as its server"}
			}
			if err == nil {
				s.read = append(s.read, x)
			}
			if !yield(x, err) || err != nil {
				return
			}
		}
		r.reportCut(notice)
		if len(s.read) == 0 {
			yield(nil, &trouble{fmt.Errorf("%s holds no exchange: there is nothing to serve", name), "mcptap show " + name + " lists what a recording holds"})
		}
	}
	s.All = all
	if name != stdio && (s.To != "" || len(s.Servers) > 0) {
		return s, nil
	}
	for _, err := range all {
		if err != nil {
			return nil, err
		}
	}
	if s.To == "" && len(s.Servers) == 0 {
		s.Servers = replay.NameServers(s.read)
	}
	s.Begun = nil
	s.All = (&har.Cassette{Exchanges: s.exchanges()}).All()
	return s, nil
}

// serveAll serves the players and waits for the end of the run. What goes wrong while the recording is read ends it.
func (o *replayOptions) serveAll(play *replay.Loading, listeners []net.Listener) (code int, err error) {
	var list []*named
	for i, p := range play.Players {
		list = append(list, &named{name: p.Name, l: listeners[i], run: p.Serve, path: p.Endpoint()})
	}
	list[0].run = func(l net.Listener) error {
		served := make(chan error, 1)
		go func() { served <- play.Players[0].Serve(l) }()
		if err := play.Wait(); err != nil {
			return err
		}
		return <-served
	}
	if list[0].name == "" {
		o.l = listeners[0]
		return o.serve(list[0].run, list[0].path)
	}
	o.give(list)
	return o.serveNamed(list)
}
