package proxy

import (
	"bytes"
	"fmt"
	"net"
	"net/url"
	"slices"
	"sync"
)

// An endpointWatch looks for what leads a client of the reverse door past it: an endpoint event (HTTP+SSE, revision 2024-11-05)
// whose URL is absolute and not the door's. Clients refuse such a URL, or send their messages there, where they are not seen.
type endpointWatch struct {
	own func(host string) bool // tells whether a host:port is the door's
	say func(string)

	mu   sync.Mutex
	said []string // origins
}

// Bounds of what is kept.
const (
	endpointLine = 4 << 10 // bytes of an event that is not whole
	endpointsMax = 100     // origins that are named
)

// An endpointScan is the watch on one connection. It is used by one goroutine; nil watches nothing.
type endpointScan struct {
	watch *endpointWatch
	held  []byte // from the event's first byte on, while it is not whole
}

func (w *endpointWatch) scan() *endpointScan { return &endpointScan{watch: w} }

var endpointField = []byte("event:")

// saw looks at bytes that the server sent. Where chunks cut the event, what stands between its lines does not matter.
func (s *endpointScan) saw(p []byte) {
	if s == nil {
		return
	}
	if len(s.held) > 0 {
		p = append(s.held, p...)
		s.held = nil
	}
	for {
		i := bytes.Index(p, endpointField)
		if i < 0 {
			s.held = cutField(p)
			return
		}
		begins := i == 0 || p[i-1] == '\n'
		if p = p[i:]; !begins {
			p = p[len(endpointField):]
			continue
		}
		target, whole := endpointData(p)
		if !whole {
			if len(p) <= endpointLine {
				s.held = bytes.Clone(p)
			}
			return
		}
		s.watch.found(target)
		p = p[len(endpointField):]
	}
}

// cutField is the beginning of a field's name, if a line begins at the end of p with it.
func cutField(p []byte) []byte {
	for n := len(endpointField) - 1; n > 0; n-- {
		if before, ok := bytes.CutSuffix(p, endpointField[:n]); ok && (len(before) == 0 || before[len(before)-1] == '\n') {
			return bytes.Clone(endpointField[:n])
		}
	}
	return nil
}

// endpointData is the data of an event that begins p, "" if it is no endpoint. whole: it is all there.
func endpointData(p []byte) (data string, whole bool) {
	line, rest, ok := bytes.Cut(p[len(endpointField):], []byte{'\n'})
	switch {
	case !ok:
		return "", len(line) > endpointLine
	case string(bytes.TrimSpace(line)) != "endpoint":
		return "", true
	}
	i := bytes.Index(rest, []byte("data:"))
	if i < 0 {
		return "", bytes.Contains(rest, []byte("\n\n"))
	}
	value, _, ok := bytes.Cut(rest[i+len("data:"):], []byte{'\n'})
	return string(bytes.TrimSpace(value)), ok
}

// found says, once for each origin, that an endpoint is not the door's.
func (w *endpointWatch) found(target string) {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" || w.own(u.Host) {
		return
	}
	origin := (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
	w.mu.Lock()
	known := len(w.said) >= endpointsMax || slices.Contains(w.said, origin)
	if !known {
		w.said = append(w.said, origin)
	}
	w.mu.Unlock()
	if !known {
		w.say(fmt.Sprintf("the server's endpoint event names %s, past this proxy: clients refuse it, or send their messages there unrecorded; record with --forward, or make the server name a path", origin))
	}
}

// isOwn tells whether a client that goes to a host:port comes to one of the hall's listeners.
func (h *hall) isOwn(host string) bool {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		return false
	}
	ip := net.ParseIP(name)
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		a, ok := l.Addr().(*net.TCPAddr)
		if ok && port == fmt.Sprint(a.Port) && (name == "localhost" || ip.IsLoopback() || ip.Equal(a.IP)) {
			return true
		}
	}
	return false
}
