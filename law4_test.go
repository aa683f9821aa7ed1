package mcptap

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcptap/mcptap/capture"
	"github.com/mcptap/mcptap/capture/proxy"
	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
	"github.com/mcptap/mcptap/replay"
)

// An oddCase is a dialogue on one connection; capture/proxy/rig_test.go says how its members are read.
type oddCase struct {
	Name                   string
	Steps                  []oddStep
	ClientSees, ServerSees string
}

type oddStep struct {
	From, Bytes string
	Base64      []byte
	End         string
	Now         bool
}

func (s oddStep) bytes(host string) []byte {
	if s.Base64 != nil {
		return s.Base64
	}
	return []byte(strings.ReplaceAll(s.Bytes, "{host}", host))
}

// TestRecordReplayRecord holds law 4 of docs/design.md: what a client records of a replay is the recording that was
// replayed, its bytes and endings.
func TestRecordReplayRecord(t *testing.T) {
	raw, err := os.ReadFile("capture/proxy/testdata/odd.json")
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
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			first, was := c.record(t)
			again, now := c.replay(t, first)
			if len(again) != len(first) {
				t.Fatalf("%d exchanges were recorded of the replay, %d of the server", len(again), len(first))
			}
			for i, x := range first {
				y := again[i]
				// What came after the client had left is not served.
				if !bytes.HasPrefix(x.Response.Raw, y.Response.Raw) || len(y.Response.Raw) < len(x.Evidence()) {
					t.Errorf("exchange %d: response\n%q, of the server\n%q", x.N, y.Response.Raw, x.Response.Raw)
				}
				if a, b := strings.ReplaceAll(string(x.Request.Raw), was, "*"), strings.ReplaceAll(string(y.Request.Raw), now, "*"); a != b {
					t.Errorf("exchange %d: request\n%q, to the server\n%q", x.N, b, a)
				}
				if x.End != y.End {
					t.Errorf("exchange %d: end %s, of the server %s", x.N, y.End, x.End)
				}
			}
		})
	}
}

// record plays the dialogue through a reverse door. addr is what the client knew the server as.
func (c *oddCase) record(t *testing.T) (xs []*har.Exchange, addr string) {
	origin := listen(t)
	tape := newTape(t)
	r := &proxy.Reverse{To: &url.URL{Scheme: "http", Host: origin.Addr().String()}, Record: tape.record}
	door := listen(t)
	go r.Serve(door)
	client := newPeer(t, func() (net.Conn, error) { return net.Dial("tcp", door.Addr().String()) })
	server := newPeer(t, origin.Accept)
	c.play(t, client, server, door.Addr().String(), origin.Addr().String())
	tape.await(t, c, door.Addr().String(), false)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return tape.exchanges(t), door.Addr().String()
}

// replay plays the client's part of the dialogue against a player, and records it.
func (c *oddCase) replay(t *testing.T, xs []*har.Exchange) (again []*har.Exchange, addr string) {
	tape := newTape(t)
	p := &replay.Player{Exchanges: xs, Pace: 1, Log: tape.record, Notice: func(s string) { t.Log(s) }}
	l := listen(t)
	go p.Serve(l)
	client := newPeer(t, func() (net.Conn, error) { return net.Dial("tcp", l.Addr().String()) })
	c.play(t, client, nil, l.Addr().String(), l.Addr().String())
	tape.await(t, c, l.Addr().String(), true)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if r := p.Result(); len(r.Misses)+len(r.Unserved)+len(r.Patches) != 0 {
		t.Errorf("result of the replay: %+v", r)
	}
	return tape.exchanges(t), l.Addr().String()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// play runs the dialogue. Without a server the replay is on the other side.
func (c *oddCase) play(t *testing.T, client, server *peer, named, host string) {
	t.Helper()
	sent, ended := map[string]int{}, map[string]bool{}
	for _, s := range c.Steps {
		me, other, name := client, "server", named
		if s.From == "server" {
			me, other, name = server, "client", host
		}
		if me != nil && !s.Now {
			me.await(t, func() bool { return me.left || len(me.got) >= sent[other] && (!ended[other] || me.sees != "") })
		}
		if me != nil {
			me.Write(s.bytes(name))
			me.end(s.End)
		}
		// What the server gets is counted as the server's own name would have it.
		sent[s.From] += len(s.bytes(host))
		ended[s.From] = ended[s.From] || s.End != ""
	}
}

// A peer is one end of a dialogue.
type peer struct {
	net.Conn
	mu   sync.Mutex
	cond *sync.Cond
	got  []byte
	sees string // "fin" or "rst"
	left bool
}

func newPeer(t *testing.T, open func() (net.Conn, error)) *peer {
	t.Helper()
	nc, err := open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	p := &peer{Conn: nc}
	p.cond = sync.NewCond(&p.mu)
	go p.listen()
	return p
}

func (p *peer) listen() {
	buf := make([]byte, 1<<16)
	for {
		n, err := p.Read(buf)
		p.mu.Lock()
		p.got = append(p.got, buf[:n]...)
		switch {
		case errors.Is(err, io.EOF):
			p.sees = "fin"
		case err != nil:
			p.sees = "rst"
		}
		p.cond.Broadcast()
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (p *peer) await(t *testing.T, done func() bool) {
	t.Helper()
	await(t, &p.mu, p.cond, done, func() { t.Fatalf("nothing more comes; got %q, sees %q", p.got, p.sees) })
}

func (p *peer) end(how string) {
	switch how {
	case "fin":
		p.Conn.(*net.TCPConn).CloseWrite()
	case "close":
		p.left = true
		p.Close()
	case "rst":
		p.left = true
		har.Reset(p.Conn, 10*time.Second)
	}
}

// A tape records to a cassette in memory, and counts what it is given.
type tape struct {
	rec  *capture.Recorder
	file *bytes.Buffer

	mu    sync.Mutex
	cond  *sync.Cond
	bytes [2]int // by har.Event.Dir
	ends  [2]int
}

func (tp *tape) record(e har.Event) {
	tp.rec.Record(e)
	tp.mu.Lock()
	defer tp.mu.Unlock()
	tp.bytes[e.Dir] += len(e.Bytes)
	if e.End != "" && e.End != har.EndStopped {
		tp.ends[e.Dir]++
	}
	tp.cond.Broadcast()
}

// await waits until the tape has seen the whole dialogue. Where both sides end it, either may be first: the other's ending
// need not be seen.
func (tp *tape) await(t *testing.T, c *oddCase, named string, replayed bool) {
	t.Helper()
	var bytes, ends [2]int
	for _, s := range c.Steps {
		d := wire.ToServer
		if s.From == "server" {
			d = wire.ToClient
		}
		bytes[d] += len(s.bytes(named))
		if s.End != "" {
			ends[d] = 1
		}
	}
	if c.ClientSees == "fin+rst" {
		ends[wire.ToClient] = 2
	}
	if ends[wire.ToClient] > 0 {
		ends[wire.ToServer] = 0
	}
	if c.ServerSees == "fin+rst" && !replayed {
		ends[wire.ToServer] = 2
	}
	await(t, &tp.mu, tp.cond, func() bool {
		for d := range bytes {
			if tp.bytes[d] < bytes[d] && !(d == int(wire.ToClient) && c.ClientSees == "") || tp.ends[d] < ends[d] {
				return false
			}
		}
		return true
	}, func() { t.Fatalf("seen are %d bytes and %d endings, want %d and %d", tp.bytes, tp.ends, bytes, ends) })
}

// await waits until done, called with the lock held, is true; late is called if that takes too long.
func await(t *testing.T, mu *sync.Mutex, cond *sync.Cond, done func() bool, late func()) {
	t.Helper()
	over := false
	timer := time.AfterFunc(20*time.Second, func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
		cond.Broadcast()
	})
	defer timer.Stop()
	mu.Lock()
	defer mu.Unlock()
	for !done() {
		if over {
			late()
		}
		cond.Wait()
	}
}

func newTape(t *testing.T) *tape {
	t.Helper()
	var file bytes.Buffer
	w, err := har.NewWriter(&file, har.Header{Tool: "test", Mode: "reverse", KeepSecrets: true}, true)
	if err != nil {
		t.Fatal(err)
	}
	tp := &tape{rec: capture.NewRecorder(w, nil), file: &file}
	tp.cond = sync.NewCond(&tp.mu)
	return tp
}

// exchanges ends the recording and reads it.
func (tp *tape) exchanges(t *testing.T) []*har.Exchange {
	t.Helper()
	if err := tp.rec.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := har.Read(tp.file, har.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(c.Exchanges, func(a, b *har.Exchange) int { return a.N - b.N }) {
		t.Fatal("the exchanges are not in order")
	}
	return c.Exchanges
}
