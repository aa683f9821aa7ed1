package replay

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/mcptap/mcptap/har"
)

// TB is what a Server needs of a test; *testing.T and testing.TB have it. Package testing itself is not imported, so that
// programs which serve recordings do not carry its flags.
type TB interface {
	Helper()
	Cleanup(func())
	Failed() bool
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// A Server serves a recording to the client under test, for the length of one test. Fields are set before Start or
// RoundTripper.
//
// The test fails where the client sends a request for which nothing is recorded (the nearest recording is named, with the
// first difference), and at its end where a recorded exchange was not asked for. Serve is the short form of &Server{File:
// file} and Start.
type Server struct {
	File      string          // the cassette
	Exchanges []*har.Exchange // in place of File, if not nil
	Player    Player          // Pace (0: no gaps), Exact, Match, Repeat and Faults may be set; the rest is Start's
	TLS       *tls.Config     // serve https with these certificates; nil: http

	AllowMisses   bool // requests without a recording do not fail the test
	AllowUnserved bool // recorded exchanges that nobody asked for do not fail the test

	URL  string            // what the client is given: the recorded endpoint, served here. Set by Start
	URLs map[string]string // of a recording of several servers, by name; URL is the first's

	t        TB
	play     *Loading
	events   events
	record   *once // set in a run that records
	wants    []want
	served   chan error
	stopping sync.Once
	stopErr  error
}

// A want is what Expect was told, judged when the test ends.
type want struct{ word, at string }

// Serve starts a Server for a cassette on a free loopback port. It is closed, and what became of the replay is judged, by
// t.Cleanup: clients that are closed by a later t.Cleanup, or by defer, have said all they had to say by then.
func Serve(t TB, file string) *Server {
	t.Helper()
	s := &Server{File: file}
	s.Start(t)
	return s
}

// RoundTripper serves a cassette without a socket: the transport of a client under test. Any URL will do whose path is the
// recorded one; all hosts are the recorded server. It fails the test as Serve does.
func RoundTripper(t TB, file string) http.RoundTripper {
	t.Helper()
	s := &Server{File: file}
	return s.RoundTripper(t)
}

// Start begins to serve, each server on a free loopback port, and sets URL and URLs.
func (s *Server) Start(t TB) {
	t.Helper()
	if !s.load(t) {
		return
	}
	scheme := "http://"
	if s.TLS != nil {
		scheme = "https://"
	}
	for _, p := range s.play.Players {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatalf("replay: %v", err)
			return
		}
		s.give(p, scheme+l.Addr().String())
		if s.TLS != nil {
			l = tls.NewListener(l, s.TLS)
		}
		s.serve(p, l)
	}
}

// RoundTripper begins to serve without a socket and sets URL and URLs. Of one server the host does not matter; of several it
// is that of URLs.
func (s *Server) RoundTripper(t TB) http.RoundTripper {
	t.Helper()
	if !s.load(t) {
		return nil
	}
	lobbies := map[string]*lobby{}
	for i, p := range s.play.Players {
		host := "replay.invalid"
		if i > 0 {
			host = fmt.Sprintf("replay%d.invalid", i+1)
		}
		lobbies[host] = newLobby()
		s.give(p, "http://"+host)
		s.serve(p, lobbies[host])
	}
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		host, _, _ := net.SplitHostPort(addr)
		l := lobbies[host]
		if l == nil && len(lobbies) > 1 {
			return nil, fmt.Errorf("replay: %s: want the host of one of Server.URLs", host)
		}
		return cmp.Or(l, lobbies["replay.invalid"]).dial(ctx, network, addr)
	}
	client := &http.Transport{DialContext: dial, DialTLSContext: dial}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// give says where a server is.
func (s *Server) give(p *Player, origin string) {
	url := origin + p.Endpoint()
	s.URL = cmp.Or(s.URL, url)
	if p.Name != "" {
		s.URLs[p.Name] = url
	}
}

// load reads the recording. It is served until the test ends.
func (s *Server) load(t TB) bool {
	t.Helper()
	s.t, s.URLs = t, map[string]string{}
	c := &har.Cassette{Exchanges: s.Exchanges}
	var err error
	if s.Exchanges == nil {
		c, err = readFile(s.File)
	}
	if err == nil {
		if c.Header.To == "" && len(c.Header.Servers) == 0 {
			c.Header.Servers = NameServers(c.Exchanges)
		}
		s.play, err = Load(Source{To: c.Header.To, Servers: c.Header.Servers, All: c.All()}, s.player())
	}
	if err == nil {
		err = s.play.Wait()
	}
	if err == nil {
		err = overStdio(cmp.Or(s.File, "the recording"), c.Exchanges)
	}
	if err == nil && len(c.Exchanges) == 0 {
		err = fmt.Errorf("%s holds no exchange: there is nothing to serve", cmp.Or(s.File, "the recording"))
	}
	if err != nil {
		t.Fatalf("replay: %v", err)
		return false
	}
	if c.Cut != "" {
		t.Logf("replay: %s: %s; what is whole was read", s.File, c.Cut)
	}
	s.served = make(chan error, len(s.play.Players))
	t.Cleanup(s.finish)
	return true
}

// overStdio refuses a recording of a process, which no client asks anything over HTTP.
func overStdio(name string, xs []*har.Exchange) error {
	if i := slices.IndexFunc(xs, (*har.Exchange).Stdio); i >= 0 {
		return fmt.Errorf("%s: exchange %d was recorded over stdio: start mcptap replay --stdio as the server", name, xs[i].N)
	}
	return nil
}

// player gives Server.Player, and for more servers others that are set as it is.
func (s *Server) player() func() *Player {
	next := &s.Player
	return func() *Player {
		p := next
		next = &Player{Pace: p.Pace, Exact: p.Exact, Match: p.Match, Repeat: p.Repeat, Faults: p.Faults, Conns: p.Conns}
		return p
	}
}

// serve serves one server.
func (s *Server) serve(p *Player, l net.Listener) {
	p.Log, p.Notice = s.events.add, func(text string) { s.notice(p, text) }
	go func() { s.served <- p.Serve(l) }()
}

// result is what became of the replay.
func (s *Server) result() Result {
	if s.play == nil {
		return Result{}
	}
	return s.play.Result()
}

// readFile reads a cassette. The errors name the file.
func readFile(name string) (*har.Cassette, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c, err := har.Read(f, har.Limits{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

// notice passes on what the Player says; a miss is a failure at once.
func (s *Server) notice(p *Player, text string) {
	if strings.HasPrefix(text, p.said(missWord)) && !s.AllowMisses {
		s.t.Errorf("replay: %s", text)
		return
	}
	s.t.Logf("replay: %s", text)
}

// finish ends the replay and judges it.
func (s *Server) finish() {
	s.t.Helper()
	s.stop()
	if s.stopErr != nil {
		s.t.Errorf("replay: %v", s.stopErr)
	}
	if s.record == nil {
		for i, x := range s.result().Unserved {
			if s.AllowUnserved {
				break
			}
			if i == maxNamed {
				s.t.Errorf("replay: more recorded exchanges were not asked for")
				break
			}
			s.t.Errorf("replay: not asked for: exchange %d, %s", x.N, s.play.nameOf(x))
		}
	}
	s.blameFaults()
	if len(s.wants) > 0 {
		s.judge()
	}
	if s.record != nil {
		s.record.keep(s.t)
	}
}

// blameFaults fails the test for faults that could not do what they were meant to.
func (s *Server) blameFaults() {
	s.t.Helper()
	r := s.result()
	for _, f := range r.Unused {
		s.t.Errorf("replay: fault %q met no request", f)
	}
	for _, u := range r.Faults {
		if u.Why != "" {
			s.t.Errorf("replay: exchange %d: fault %q cannot be: %s", u.N, u.Fault, u.Why)
		}
	}
}

// maxNamed is how many unserved exchanges are named.
const maxNamed = 20

// stop ends the replay, once.
func (s *Server) stop() {
	s.stopping.Do(func() {
		if s.record != nil {
			s.stopErr = s.record.stop()
			return
		}
		s.stopErr = s.play.Close()
		for range s.play.Players {
			if err := <-s.served; s.stopErr == nil {
				s.stopErr = err
			}
		}
	})
}

// Expect says what the client is to make of the recording: modern, legacy or failed for how it connected, a verdict such as
// legacy-fallback for what it did, or the ID of a finding that must be there (mcptap rules lists verdicts, docs/findings.md
// findings). It is judged when the test ends, by the traffic of this very run. It needs a Kit.
func (s *Server) Expect(verdict string) {
	s.t.Helper()
	if kit == nil {
		s.t.Fatalf("replay: Expect needs the analyzer: %s", howToEquip)
		return
	}
	at := ""
	if _, file, line, ok := runtime.Caller(1); ok {
		at = fmt.Sprintf("%s:%d: ", file[strings.LastIndexByte(file, '/')+1:], line)
	}
	s.wants = append(s.wants, want{verdict, at})
}

// Observed ends the replay and says what the client was seen to do in it. It needs a Kit.
func (s *Server) Observed() Observed {
	s.t.Helper()
	if kit == nil {
		s.t.Fatalf("replay: Observed needs the analyzer: %s", howToEquip)
		return Observed{}
	}
	s.stop()
	xs, err := s.seen()
	if err != nil {
		s.t.Fatalf("replay: %v", err)
		return Observed{}
	}
	o, err := kit.Observe(xs)
	if err != nil {
		s.t.Fatalf("replay: %v", err)
	}
	return o
}

// seen are the exchanges of this run.
func (s *Server) seen() ([]*har.Exchange, error) {
	if s.record != nil {
		c, err := readFile(s.record.partial)
		if err != nil {
			return nil, err
		}
		return c.Exchanges, nil
	}
	list, err := s.events.all()
	if err != nil {
		return nil, err
	}
	return kit.Assemble(list)
}

func (s *Server) judge() {
	s.t.Helper()
	xs, err := s.seen()
	if err != nil {
		s.t.Errorf("replay: %v", err)
		return
	}
	for _, w := range s.wants {
		if err := kit.Expect(xs, w.word); err != nil {
			s.t.Errorf("replay: %sExpect(%q): %v", w.at, w.word, err)
		}
	}
}
