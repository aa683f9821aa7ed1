package replay

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcptap/mcptap/har"
)

// A feed is a recording of which one exchange is loaded at a time.
type feed struct {
	steps chan step
	begun []*har.Exchange
}

type step struct {
	x     *har.Exchange
	begun []*har.Exchange // known behind x
	err   error
}

func (f *feed) all(yield func(*har.Exchange, error) bool) {
	for s := range f.steps {
		f.begun = append(f.begun, s.begun...)
		if !yield(s.x, s.err) {
			return
		}
	}
}

func (f *feed) source() Source {
	return Source{All: f.all, Begun: func() []*har.Exchange {
		list := f.begun
		f.begun = nil
		return list
	}}
}

// large is an answer that fills a part, so that it is loaded before the next one is asked for.
func large(text string) string { return ok(`"` + text + strings.Repeat("x", firstPart) + `"`) }

func asking(n int, method string) string { return post(call(fmt.Sprint(n), method, "")) }

// While a recording is loaded, what is certain is answered, and nothing else.
func TestServeWhileLoading(t *testing.T) {
	list := asking(1, "tools/list")
	first := taped(1, asking(1, "initialize"), har.EndKeep, large("first"))
	second := taped(2, list, har.EndKeep, large("second"))
	third := taped(3, list, har.EndKeep, large("third"))
	stream := taped(2, openStream, har.EndKeep, sse)
	tests := []struct {
		name    string
		loaded  []step
		ask     string
		early   string // what is answered before all is loaded
		then    []step
		late    string // and after that
		missing int    // unserved at the end
	}{
		{name: "the first", ask: asking(1, "initialize"), early: "first", then: []step{{x: second}}, missing: 1},
		{name: "out of order", loaded: []step{{x: third}}, ask: list, then: []step{{x: second}}, late: "second", missing: 2},
		{name: "behind a stream that goes on", loaded: []step{{x: third, begun: []*har.Exchange{stream}}}, ask: list, early: "third", then: []step{{x: stream}}, missing: 2},
		{name: "one that goes on itself", loaded: []step{{x: third, begun: []*har.Exchange{second}}}, ask: list, then: []step{{x: second}}, late: "second", missing: 2},
		{name: "another id", loaded: []step{{x: second}}, ask: asking(7, "tools/list"), then: []step{{x: third}}, late: "second", missing: 2},
		{name: "another session", loaded: []step{{x: second}}, ask: post(call("1", "tools/list", ""), "Mcp-Session-Id: s"), then: []step{{x: third}}, late: "second", missing: 2},
		{name: "a miss", ask: asking(1, "prompts/list"), then: []step{{x: second}}, late: "501", missing: 2},
		{name: "an error", ask: list, then: []step{{err: errors.New("line 9: damaged")}}, late: "501", missing: 1},
		{name: "a part of a request", loaded: []step{{x: second}}, ask: list[:len(list)-5], then: []step{{x: third}}, missing: 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &feed{steps: make(chan step, 8)}
				f.steps <- step{x: first}
				l, err := Load(f.source(), func() *Player { return &Player{} })
				if err != nil {
					t.Fatal(err)
				}
				p, lobby := l.Players[0], newPipes()
				served := make(chan error, 1)
				go func() { served <- p.Serve(lobby) }()
				for _, s := range tt.loaded {
					f.steps <- s
				}
				c := lobby.dial()
				c.Write([]byte(tt.ask))
				synctest.Wait()
				got := ""
				for _, r := range c.all() {
					got += r.text
				}
				if tt.early == "" && got != "" || !strings.Contains(got, tt.early) {
					t.Errorf("before all is loaded: got %.90q, want %q", got, tt.early)
				}
				for _, s := range tt.then {
					f.steps <- s
				}
				close(f.steps)
				wantErr := tt.then[len(tt.then)-1].err
				if err := l.Wait(); err != wantErr {
					t.Errorf("Wait: %v, want %v", err, wantErr)
				}
				synctest.Wait()
				got = ""
				for _, r := range c.all() {
					got += r.text
				}
				if !strings.Contains(got, tt.early) || !strings.Contains(got, tt.late) {
					t.Errorf("when all is loaded: got %.90q, want %q", got, tt.late)
				}
				c.Close()
				if err := l.Close(); err != nil {
					t.Error(err)
				}
				<-served
				if r := l.Result(); len(r.Unserved) != tt.missing {
					t.Errorf("%d exchanges are left over, want %d", len(r.Unserved), tt.missing)
				}
			})
		})
	}
}

// A server that spoke first does so when it is known that it did.
func TestGreetingWhileLoading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &feed{steps: make(chan step, 8)}
		f.steps <- step{x: taped(2, asking(1, "initialize"), har.EndKeep, large("first"))}
		l, err := Load(f.source(), func() *Player { return &Player{} })
		if err != nil {
			t.Fatal(err)
		}
		lobby := newPipes()
		go l.Players[0].Serve(lobby)
		c := lobby.dial()
		expectReads(t, c)
		hello := taped(1, "", har.EndFIN, "SSH-2.0-x\r\n")
		f.steps <- step{x: hello}
		close(f.steps)
		l.Wait()
		time.Sleep(time.Second) // of the test's own clock
		synctest.Wait()
		if got := c.all(); len(got) == 0 || got[0].text != "SSH-2.0-x\r\n" {
			t.Errorf("got %v", got)
		}
		c.Close()
		l.Close()
	})
}

// recorded is a cassette of n exchanges over several connections, on each of which some methods are called, in turn and
// with an answer that has the exchange's number, and of a stream that lasts from the second exchange to the end.
func recorded(t testing.TB, n, conns, size int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := har.NewWriter(&b, har.Header{To: "http://server.example/mcp"}, false)
	if err != nil {
		t.Fatal(err)
	}
	noise := rand.NewChaCha8([32]byte{})
	random := make([]byte, size/2)
	seq := map[uint64]int{}
	write := func(x *har.Exchange, conn uint64) {
		seq[conn]++
		x.Conn, x.Seq = conn, seq[conn]
		if err := w.Write(x); err != nil {
			t.Fatal(err)
		}
	}
	for i := 1; i <= n; i++ {
		if i == 2 {
			write(taped(2, openStream, "", sse), uint64(conns)+1)
			continue
		}
		request := post(call(fmt.Sprint(i), "tools/call", fmt.Sprintf(`{"name":"t%d","arguments":{}}`, i%7)))
		noise.Read(random)
		write(taped(i, request, har.EndKeep, ok(fmt.Sprintf(`{"n":%d,"pad":"%x"}`, i, random))), uint64(i%conns)+1)
	}
	if err := w.Append(&har.Exchange{Conn: uint64(conns) + 1, Seq: 1, End: har.EndClientFIN}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(har.End{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func loadFrom(t testing.TB, cassette []byte, p func() *Player) *Loading {
	t.Helper()
	r, err := har.NewReader(bytes.NewReader(cassette), har.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Load(Source{To: r.Header().To, All: r.All(), Begun: r.Begun}, p)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Clients that begin while most is still to be loaded are served what they would be served later.
func TestAnswersWhileLoading(t *testing.T) {
	const n, clients = 3000, 3
	cassette := recorded(t, n, 5, 1<<10)
	l := loadFrom(t, cassette, func() *Player { return &Player{} })
	p := l.Players[0]
	if p.Endpoint() != "/mcp" {
		t.Errorf("the endpoint is %s", p.Endpoint())
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go p.Serve(lis)
	var wg sync.WaitGroup
	for k := range clients {
		wg.Go(func() {
			c := dial(t, lis.Addr().String())
			for i := 1; i <= n; i++ {
				if i == 2 || i%7%clients != k { // a key is one client's, so that its order is
					continue
				}
				c.send(post(call(fmt.Sprint(i), "tools/call", fmt.Sprintf(`{"name":"t%d","arguments":{}}`, i%7))))
				if got := c.answer(); !strings.Contains(got, fmt.Sprintf(`{"n":%d,`, i)) {
					t.Errorf("request %d was answered by %.120q", i, got)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if r := l.Result(); r.Served != n-1 || len(r.Unserved) != 1 || r.Unserved[0].N != 2 || len(r.Misses) > 0 {
		t.Errorf("%d served, %d left over, %d misses", r.Served, len(r.Unserved), len(r.Misses))
	}
}

// BenchmarkReady: how long it takes until a recording of 100 MB can be served, until its first request is answered, and until
// all of it is loaded.
func BenchmarkReady(b *testing.B) {
	const n = 45000
	cassette := recorded(b, n, 8, 2<<10)
	var ready, answered, whole time.Duration
	for b.Loop() {
		start := time.Now()
		l := loadFrom(b, cassette, func() *Player { return &Player{} })
		ready += time.Since(start)
		lis, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		go l.Players[0].Serve(lis)
		c := dial(b, lis.Addr().String())
		c.send(post(call("1", "tools/call", `{"name":"t1","arguments":{}}`)))
		c.answer()
		answered += time.Since(start)
		l.Wait()
		whole += time.Since(start)
		l.Close()
	}
	ms := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(b.N) }
	b.ReportMetric(ms(ready), "ready-ms")
	b.ReportMetric(ms(answered), "first-answer-ms")
	b.ReportMetric(ms(whole), "whole-ms")
}
