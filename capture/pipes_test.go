package capture

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// Words for the events of a process.

func starts() har.Event {
	return har.Event{Conn: 1, At: time.Now(), Open: &har.Conn{Client: "pid 1", Server: "pid 2", Command: []string{"server", "--stdio"}}}
}

func complains(p string) har.Event {
	return har.Event{Conn: 1, Dir: wire.ToClient, At: time.Now(), Stderr: true, Bytes: []byte(p)}
}

func exits(code int) har.Event {
	return har.Event{Conn: 1, Dir: wire.ToClient, At: time.Now(), Exit: &har.Exit{Code: code}}
}

// told writes exchanges as "n request > off response end notes".
func told(c *har.Cassette) string {
	var lines []string
	for _, x := range c.Exchanges {
		lines = append(lines, fmt.Sprintf("%d %q > %d %q %s %s", x.N, x.Request.Raw, x.Off, x.Response.Raw, x.End, strings.Join(x.Notes, ",")))
	}
	return strings.Join(lines, "\n")
}

const (
	ask1   = `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"
	ask1s  = `{"jsonrpc":"2.0","id":"1","method":"ping"}` + "\n"
	say1   = `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n"
	say1s  = `{"jsonrpc":"2.0","id":"1","result":{}}` + "\n"
	notice = `{"jsonrpc":"2.0","method":"notifications/message"}` + "\n"
	asked2 = `{"jsonrpc":"2.0","id":2,"method":"roots/list"}` + "\n"
	said2  = `{"jsonrpc":"2.0","id":2,"result":{"roots":[]}}` + "\n"
	batch  = `[{"jsonrpc":"2.0","id":8,"method":"ping"},{"jsonrpc":"2.0","id":9,"method":"ping"}]` + "\n"
	batch1 = `[{"jsonrpc":"2.0","id":9,"result":{}},{"jsonrpc":"2.0","id":8,"result":{}}]` + "\n"
)

func q(s string) string { return fmt.Sprintf("%q", s) }

func TestPipes(t *testing.T) {
	type step struct {
		d wire.Dir
		p string
	}
	c, s := wire.ToServer, wire.ToClient
	for _, tt := range []struct {
		name  string
		steps []step
		want  string
	}{
		{"a request and its reply", []step{{c, ask1}, {s, say1}}, "1 " + q(ask1) + " > 0 " + q(say1) + " fin exit: 0"},
		{"replies in another order, ids by type", []step{{c, ask1}, {c, ask1s}, {s, say1s}, {s, say1}},
			"1 " + q(ask1) + fmt.Sprintf(" > %d ", len(say1s)) + q(say1) + " keep \n2 " + q(ask1s) + " > 0 " + q(say1s) + " fin exit: 0"},
		{"a reply by a number to a string", []step{{c, ask1s}, {s, say1}}, "1 " + q(ask1s) + ` > 0 "" fin exit: 0` + "\n2 \"\" > 0 " + q(say1) + " fin exit: 0"},
		{"a second reply", []step{{c, ask1}, {s, say1 + say1}}, "1 " + q(ask1) + " > 0 " + q(say1) + fmt.Sprintf(" keep \n2 \"\" > %d ", len(say1)) + q(say1) + " fin exit: 0"},
		{"a notification each way", []step{{c, notice}, {s, notice}}, "1 " + q(notice) + " > 0 \"\" keep \n2 \"\" > 0 " + q(notice) + " fin exit: 0"},
		{"a request of the server and the client's reply", []step{{s, asked2}, {c, said2}}, "1 \"\" > 0 " + q(asked2) + " keep \n2 " + q(said2) + " > 0 \"\" fin exit: 0"},
		{"noise before the reply", []step{{c, ask1}, {s, "ready\n"}, {s, say1}}, "1 " + q(ask1) + " > 6 " + q(say1) + " keep \n2 \"\" > 0 \"ready\\n\" fin exit: 0"},
		{"a batch", []step{{c, batch}, {s, batch1}}, "1 " + q(batch) + " > 0 " + q(batch1) + " fin exit: 0"},
		{"half a line of each", []step{{c, ask1[:9]}, {s, say1[:9]}}, "1 " + q(ask1[:9]) + ` > 0 "" fin exit: 0` + "\n2 \"\" > 0 " + q(say1[:9]) + " fin exit: 0"},
		{"a reply without its line end", []step{{c, ask1}, {s, say1[:len(say1)-1]}}, "1 " + q(ask1) + " > 0 " + q(say1[:len(say1)-1]) + " fin exit: 0"},
		{"bytes that are no text", []step{{c, "\xff\x00\n"}, {s, "\xfe\n"}}, "1 \"\\xff\\x00\\n\" > 0 \"\" keep \n2 \"\" > 0 \"\\xfe\\n\" fin exit: 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, size := range []int{1 << 20, 7, 1} { // how bytes are cut makes no difference
				synctest.Test(t, func(t *testing.T) {
					r, f := newRecorder(t, har.NewRedactor())
					r.Record(starts())
					for _, st := range tt.steps {
						for part := range slices.Chunk([]byte(st.p), size) {
							r.Record(har.Event{Conn: 1, Dir: st.d, At: time.Now(), Bytes: part})
						}
					}
					r.Record(ends(1, wire.ToClient, har.EndFIN))
					r.Record(exits(0))
					r.Record(stops(1))
					if err := r.Close(); err != nil {
						t.Fatal(err)
					}
					if got := told(f.read(t)); got != tt.want {
						t.Errorf("cut in %d\n got %s\nwant %s", size, got, tt.want)
					}
				})
			}
		})
	}
}

// What the host sees of a process that is slow to end: it closes stdin, and is still answered. A request without an answer was
// left by the host where the process then ends well, and lost where it ends with an error.
func TestPipesHalfClosed(t *testing.T) {
	for _, tt := range []struct {
		code int
		end  string
	}{{0, "client-fin exit: 0"}, {3, "fin exit: 3"}} {
		synctest.Test(t, func(t *testing.T) {
			r, f := newRecorder(t, nil)
			r.Record(starts())
			r.Record(request(1, ask1+ask1s))
			r.Record(ends(1, wire.ToServer, har.EndFIN))
			time.Sleep(time.Second)
			r.Record(response(1, say1))
			r.Record(ends(1, wire.ToClient, har.EndFIN))
			r.Record(exits(tt.code))
			r.Record(stops(1))
			r.Close()
			want := "1 " + q(ask1) + " > 0 " + q(say1) + " keep \n2 " + q(ask1s) + ` > 0 "" ` + tt.end
			if got := told(f.read(t)); got != want {
				t.Errorf("got %s\nwant %s", got, want)
			}
		})
	}
}

// What was flushed is there whatever happens: requests that wait, stderr, and a message that lacks only its line end.
func TestPipesOnDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, f := newRecorder(t, har.NewRedactor())
		r.Record(starts())
		r.Record(request(1, ask1))
		r.Record(response(1, say1[:len(say1)-1]))
		r.Record(complains("starting\n"))
		time.Sleep(3 * time.Second)
		c := f.read(t)
		if len(c.Exchanges) != 1 || string(c.Exchanges[0].Request.Raw) != ask1 || !strings.HasPrefix(say1, string(c.Exchanges[0].Response.Raw)) || len(c.Exchanges[0].Response.Raw) == 0 {
			t.Errorf("on disk: %s", told(c))
		}
		if len(c.Processes) != 1 || string(c.Processes[0].Stderr.Raw) != "starting\n" || c.Processes[0].Exit != nil {
			t.Errorf("on disk: %+v", c.Processes)
		}
		r.Close()
	})
}

func TestStderr(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		redact := har.NewRedactor()
		redact.KnowEnvironment([]string{"SERVICE_TOKEN=swordfish-swordfish", "HOME=/home/swordfish"})
		r, f := newRecorder(t, redact)
		r.Record(starts())
		r.Record(complains("token is sword"))
		time.Sleep(time.Second)
		r.Record(complains("fish-swordfish\n"))
		line := bytes.Repeat([]byte("x"), 1<<20-1)
		for range har.MaxStderr >> 20 {
			r.Record(complains(string(line) + "\n"))
		}
		r.Record(exits(1))
		r.Record(stops(1))
		r.Close()
		p := f.read(t).Processes[0]
		if first, _, _ := strings.Cut(string(p.Stderr.Raw), "\n"); first != "token is redactedxxxxxxxxxxx" || len(p.Redacted) != 1 {
			t.Errorf("kept %q, replaced %v", first, p.Redacted)
		}
		if len(p.Stderr.Raw) != har.MaxStderr || p.Lost != int64(len("token is swordfish-swordfish\n")) {
			t.Errorf("kept %d bytes, lost %d", len(p.Stderr.Raw), p.Lost)
		}
		if p.Exit == nil || p.Exit.Code != 1 || p.Command[0] != "server" {
			t.Errorf("got %+v", p)
		}
	})
}

// A server that never replies makes no recording grow in memory.
func TestPipesGiveUp(t *testing.T) {
	var b book
	b.init(nil, nil)
	e := starts()
	c := &connection{book: &b, id: 1, between: *e.Open}
	b.process(c, e.At)
	for i := range 2 * maxAsked {
		c.pipes.asks(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", i), e.At)
	}
	if len(c.live) > maxAsked+1 || len(c.pipes.asked) > maxAsked {
		t.Errorf("%d exchanges, %d ids are kept", len(c.live), len(c.pipes.asked))
	}
}
