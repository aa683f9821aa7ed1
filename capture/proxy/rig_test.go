package proxy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"math/big"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// patience bounds every wait of a test; none is expected to take it.
const patience = 20 * time.Second

// An oddCase is one row of testdata/odd.json: a dialogue on one connection that an HTTP library would not pass on
// unchanged. Each step waits until its side has received all that the other side has sent before, endings included,
// unless it says now.
type oddCase struct {
	Name       string
	About      string
	Steps      []oddStep
	Ends       []har.Ending // of the recorded exchanges, over plain TCP or TLS with close_notify
	ClientSees string       // "fin", "rst", "fin+rst" (one behind the other), "open"; "" if the client has left
	ServerSees string
}

// An oddStep sends bytes or ends one side's connection: "fin" half-closes, "close" closes, "rst" resets. {host} in Bytes
// is the authority of the server.
type oddStep struct {
	From   string // "client" or "server"
	Bytes  string
	Base64 []byte
	End    string
	Now    bool
}

// bytes gives what the step sends to a server of that name.
func (s oddStep) bytes(host string) []byte {
	if s.Base64 != nil {
		return s.Base64
	}
	return []byte(strings.ReplaceAll(s.Bytes, "{host}", host))
}

// sent gives all that one side sends.
func (c *oddCase) sent(from, host string) (all []byte) {
	for _, s := range c.Steps {
		if s.From == from {
			all = append(all, s.bytes(host)...)
		}
	}
	return all
}

func oddCases(t testing.TB) []oddCase {
	t.Helper()
	raw, err := os.ReadFile("testdata/odd.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []oddCase
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 42 {
		t.Fatalf("only %d odd cases", len(cases))
	}
	return cases
}

// A side is one end of a dialogue: it sends what it is told and notes all that it sees.
type side struct {
	t    testing.TB
	leg  *leg
	bare bool // over TLS: FINs come without a close_notify

	mu    sync.Mutex
	event *sync.Cond
	got   []byte
	sees  string // the peer's ending
	left  bool
}

func newSide(t testing.TB, l *leg, bare bool) *side {
	s := &side{t: t, leg: l, bare: bare, sees: "open"}
	s.event = sync.NewCond(&s.mu)
	go s.listen()
	t.Cleanup(func() { l.sock.Close() })
	return s
}

func (s *side) note(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	s.event.Broadcast()
}

func (s *side) listen() {
	buf := make([]byte, 64<<10)
	for {
		n, err := s.leg.conn.Read(buf)
		end := s.leg.ending(err)
		s.note(func() {
			s.got = append(s.got, buf[:n]...)
			switch end {
			case har.EndFIN, har.EndNoCloseNotify:
				s.sees = "fin"
			case har.EndRST:
				s.sees = "rst"
			}
		})
		if err == nil {
			continue
		}
		if (end == har.EndFIN || end == har.EndNoCloseNotify) && s.leg.awaitReset() {
			s.note(func() { s.sees = "fin+rst" })
		}
		return
	}
}

// await waits until done, called with s.mu held, is true.
func (s *side) await(what string, done func() bool) {
	s.t.Helper()
	late := false
	timer := time.AfterFunc(patience, func() { s.note(func() { late = true }) })
	defer timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !done() {
		if late {
			s.t.Fatalf("no %s; got %q, sees %s", what, s.got, s.sees)
		}
		s.event.Wait()
	}
}

func (s *side) send(p []byte) {
	if len(p) > 0 {
		s.leg.conn.Write(p)
	}
}

func (s *side) end(how string) {
	mirrors := har.EndFIN
	if s.bare {
		mirrors = har.EndNoCloseNotify
	}
	switch how {
	case "fin":
		s.leg.closeWrite(mirrors)
		return
	case "close":
		s.note(func() { s.left = true })
		s.leg.closeWrite(mirrors)
		s.leg.sock.Close()
	case "rst":
		s.note(func() { s.left = true })
		har.Reset(s.leg.sock, patience)
	}
}

// play runs the dialogue and waits until both sides have seen all that they will see. The client knows the server as
// named, the server itself as host. accept gives the server's side, which may come about with the client's first bytes only.
func (c *oddCase) play(t testing.TB, client *side, accept func() *side, named, host string) {
	t.Helper()
	c.playAs(t, client, accept, named, host, c)
}

// playAs is play where the server gets the steps of other in place of those of c.
func (c *oddCase) playAs(t testing.TB, client *side, accept func() *side, named, host string, other *oddCase) {
	t.Helper()
	sent := map[string]int{}
	ended := map[string]bool{}
	for i, s := range c.Steps {
		me, peer, name := client, "server", named
		if s.From == "server" {
			me, peer, name = accept(), "client", host
		}
		if !s.Now {
			me.await("turn", func() bool {
				return me.left || len(me.got) >= sent[peer] && (!ended[peer] || me.sees != "open")
			})
		}
		me.send(s.bytes(name))
		sent[s.From] += len(other.Steps[i].bytes(host))
		if s.End != "" {
			me.end(s.End)
			ended[s.From] = true
		}
	}
	settle := func(me *side, peer, sees string) {
		if sees == "" {
			return
		}
		me.await("settling, want "+sees, func() bool { return len(me.got) >= sent[peer] && me.sees == sees })
	}
	settle(client, "server", c.ClientSees)
	settle(accept(), "client", c.ServerSees)
}

// stays tells, of a side that should see an open connection, whether it does for a while.
func (s *side) stays() bool {
	timer := time.NewTimer(20 * time.Millisecond)
	defer timer.Stop()
	<-timer.C
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sees == "open"
}

// check holds what both sides have got against what was sent.
func (c *oddCase) check(t testing.TB, client, server *side, host string) {
	t.Helper()
	for _, x := range []struct {
		name, other string
		side        *side
		sees        string
	}{{"client", "server", client, c.ClientSees}, {"server", "client", server, c.ServerSees}} {
		x.side.mu.Lock()
		got, sees, left := string(x.side.got), x.side.sees, x.side.left
		x.side.mu.Unlock()
		want := string(c.sent(x.other, host))
		if left {
			if !strings.HasPrefix(want, got) {
				t.Errorf("the %s got %q, want a beginning of %q", x.name, got, want)
			}
			continue
		}
		if x.sees == "" {
			want, sees = got, "" // its bytes went to a connection that was closed
		}
		if got != want {
			t.Errorf("the %s got\n%q, want\n%q", x.name, got, want)
		}
		if sees != x.sees || sees == "open" && !x.side.stays() {
			t.Errorf("the %s sees %s, want %s", x.name, sees, x.sees)
		}
	}
}

// An origin is a listener whose connections are taken one by one.
type origin struct {
	net.Listener
	scheme string
	cert   tls.Certificate
	pool   *x509.CertPool
	bare   bool
}

func newOrigin(t testing.TB, scheme string, bare bool) *origin {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	o := &origin{Listener: l, scheme: scheme, bare: bare}
	if scheme == "https" {
		o.cert, o.pool = certificate(t, time.Hour, "127.0.0.1", "localhost")
	}
	return o
}

// trust is the configuration of a client that trusts the origin.
func (o *origin) trust() *tls.Config { return &tls.Config{RootCAs: o.pool} }

func (o *origin) url() *url.URL { return &url.URL{Scheme: o.scheme, Host: o.Addr().String()} }

// accept takes the next connection. The TLS handshake goes on in the background.
func (o *origin) accept(t testing.TB) *side {
	t.Helper()
	c, err := o.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if o.scheme == "http" {
		return newSide(t, newLeg(c), false)
	}
	f := &floor{Conn: c}
	conn := tls.Server(f, &tls.Config{Certificates: []tls.Certificate{o.cert}, NextProtos: []string{"http/1.1"}})
	return newSide(t, &leg{conn: conn, sock: c, floor: f}, o.bare)
}

// taken is a server's side that there is already.
func taken(s *side) func() *side { return func() *side { return s } }

// certificate makes a self-signed certificate for the names, valid until then.
func certificate(t testing.TB, until time.Duration, names ...string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(until),
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// A witness keeps the events of a door.
type witness struct {
	mu     sync.Mutex
	events []har.Event
}

func (w *witness) record(e har.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e.Bytes = append([]byte(nil), e.Bytes...)
	e.Edits = append([]har.Edit(nil), e.Edits...)
	w.events = append(w.events, e)
}

// joined gives a connection's bytes of one direction, edits applied if asked for.
func (w *witness) joined(conn uint64, d wire.Dir, edited bool) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []byte
	var edits []har.Edit
	for _, e := range w.events {
		if e.Conn == conn && e.Dir == d {
			for _, x := range e.Edits {
				x.Off += len(all)
				edits = append(edits, x)
			}
			all = append(all, e.Bytes...)
		}
	}
	for i := len(edits) - 1; edited && i >= 0; i-- {
		x := edits[i]
		all = append(all[:x.Off:x.Off], append([]byte(x.New), all[x.Off+x.Len:]...)...)
	}
	return string(all)
}

// endings gives a connection's endings in order, such as "response fin".
func (w *witness) endings(conn uint64) (ends []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if e.Conn != conn {
			continue
		}
		if e.Note != "" {
			ends = append(ends, e.Note)
		}
		if e.End == har.EndStopped || e.End == har.EndUnknown {
			ends = append(ends, string(e.End))
		} else if e.End != "" {
			ends = append(ends, e.Dir.String()+" "+string(e.End))
		}
	}
	return ends
}

// openDoor serves a door and returns its address; stop closes it and waits.
func openDoor(t testing.TB, r interface {
	Serve(net.Listener) error
	Close() error
}) (addr string, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- r.Serve(l) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(stop)
	return l.Addr().String(), stop
}

func dial(t testing.TB, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
