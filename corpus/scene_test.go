package corpus

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/har"
)

// start is when every case begins: what is written depends on the tables alone.
var start = time.Date(2026, time.October, 5, 9, 0, 0, 0, time.UTC)

// idle is how long a client keeps a connection on which nothing happens (undici 6.24.1: keepAliveTimeout).
const idle = 4 * time.Second

// patience is how long a client waits for an answer (TypeScript client 2.4.0: the default of probe and request).
const patience = 60 * time.Second

// A scene is a case being written: one client talks to one server, one request after the other, beside an open GET
// stream. Each method adds what it says to the recording and moves the clock on.
type scene struct {
	client client
	server server
	origin string // such as "http://mcp.example.test:8080"

	entrance string // the path of the URL that the client was given
	path     string // where it posts to

	sessions  []string      // the ids that the server gives out, one for each initialize; none left: no session
	session   string        // what the client now sends
	version   string        // the revision in use, "" before it is agreed on
	now       time.Duration // since start
	ids       int           // of requests
	probes    int
	conns     int
	line      *line        // where the next request goes, nil for a new connection
	stream    *line        // the connection of an open GET stream
	process   *har.Process // the server, if it is one
	processes []*har.Process
	stdout    int64 // bytes that the process has written
	xs        []*har.Exchange
	broken    map[int]bool // by N: exchanges whose answer is not whole by its own framing
}

func newScene() *scene {
	return &scene{client: hostApp, server: uvicorn, origin: "http://mcp.example.test:8080", entrance: "/mcp", path: "/mcp",
		sessions: []string{sessionID(1), sessionID(2)}, broken: map[int]bool{}}
}

// A line is a connection, and what it last carried.
type line struct {
	n    int
	last *har.Exchange
	free time.Duration // since start: when the last answer was whole
}

// wait lets time pass.
func (s *scene) wait(d time.Duration) { s.now += d }

// jitter gives plausible times that are the same in every run: d and up to half as much again.
func (s *scene) jitter(d time.Duration) time.Duration {
	return d + d*time.Duration((len(s.xs)*7919+s.conns*104729)%500)/1000
}

// exchange sends a request on a free connection and records the answer.
func (s *scene) exchange(method, path, req string, a answer) *har.Exchange {
	if s.line != nil && s.now-s.line.free > idle {
		s.hangUp(s.line)
		s.line = nil
	}
	if s.line == nil {
		s.conns++
		s.line = &line{n: s.conns}
	}
	x := &har.Exchange{
		N: len(s.xs) + 1, Conn: uint64(s.line.n), Seq: 1, Started: start.Add(s.now),
		Client: "127.0.0.1:" + strconv.Itoa(52800+s.line.n), Server: s.address(),
		Method: method, URL: s.origin + path, End: har.EndKeep,
	}
	if s.line.last != nil {
		x.Seq = s.line.last.Seq + 1
	}
	add(&x.Request, 0, req)
	s.xs = append(s.xs, x)
	s.line.last = x
	s.answer(x, a, rawID(req))
	return x
}

// answer records what the server sends, and how the exchange ends.
func (s *scene) answer(x *har.Exchange, a answer, id string) {
	at := s.jitter(9 * time.Millisecond)
	if a.late {
		at = patience + 1500*time.Millisecond
	}
	if a.raw != "" {
		add(&x.Response, at, a.raw)
	}
	if a.status != "" {
		x.Status, _ = strconv.Atoi(a.status[:3])
		x.MediaType, _, _ = strings.Cut(a.mediaType, ";")
		for _, part := range s.server.write(a, s.next(), start.Add(s.now+at), id) {
			add(&x.Response, at, part)
			at += s.jitter(4 * time.Millisecond)
		}
		at = x.Response.Writes[len(x.Response.Writes)-1].At
	}
	for _, p := range a.wire {
		at += p.after
		add(&x.Response, at, p.bytes)
		at += s.jitter(time.Millisecond)
	}
	if a.wire != nil {
		x.Status, x.MediaType = 0, ""
		har.FillDerived(x, s.origin)
	}
	x.EndOff = len(x.Response.Raw)
	switch {
	case a.note != "":
		x.End, x.Notes = har.EndUnknown, []string{a.note}
	case a.late:
		x.End, x.EndAt, x.EndOff = har.EndClientFIN, patience, 0
	case a.end != "":
		x.End, x.EndAt = a.end, at+s.jitter(2*time.Millisecond)
		if a.end == har.EndClientFIN {
			x.EndAt = cmp.Or(a.wait, patience)
		}
		at = x.EndAt
	}
	s.now += at
	s.line.free = s.now
	s.broken[x.N] = !a.whole()
	if x.End != har.EndKeep {
		s.line = nil
	}
	s.now += s.jitter(3 * time.Millisecond)
}

// add records bytes that came in one piece.
func add(side *har.Side, at time.Duration, bytes string) {
	side.Raw = append(side.Raw, bytes...)
	side.Writes = append(side.Writes, har.Write{At: at.Truncate(time.Microsecond), Len: len(bytes)})
}

// next is the session that the server would give out now.
func (s *scene) next() string {
	if len(s.sessions) == 0 {
		return ""
	}
	return s.sessions[0]
}

// hangUp ends a connection that the client kept for nothing.
func (s *scene) hangUp(l *line) {
	x := l.last
	x.End = har.EndClientFIN
	x.EndAt = start.Add(l.free + idle).Sub(x.Started)
}

// done closes what is open and returns the exchanges in order of their endings, as a recording has them.
func (s *scene) done() []*har.Exchange {
	if s.stream != nil {
		s.closeStream()
	}
	s.leave()
	if s.line != nil {
		s.hangUp(s.line)
	}
	return inOrderOfEnding(s.xs)
}

// address is the server's, as dialled.
func (s *scene) address() string {
	u, err := url.Parse(s.origin)
	if err != nil {
		panic(err)
	}
	return u.Hostname() + ":" + cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}

// rawID is the id of the JSON-RPC request in an HTTP request of ours.
func rawID(req string) string {
	_, body, _ := strings.Cut(req, "\r\n\r\n")
	_, id, ok := strings.Cut(body, `"id":`)
	if !ok {
		return "null"
	}
	return id[:strings.IndexAny(id, ",}")]
}
