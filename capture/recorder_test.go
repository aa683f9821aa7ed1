package capture

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// A file is a cassette that is being written. Once full, writing fails; while it is stuck, writing waits.
type file struct {
	mu    sync.Mutex
	b     bytes.Buffer
	full  bool
	stuck chan struct{}
}

func (f *file) Write(p []byte) (int, error) {
	if f.stuck != nil {
		<-f.stuck
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.full {
		return 0, errors.New("no space left")
	}
	return f.b.Write(p)
}

// read reads what is on disk so far.
func (f *file) read(t testing.TB) *har.Cassette {
	t.Helper()
	f.mu.Lock()
	raw := bytes.Clone(f.b.Bytes())
	f.mu.Unlock()
	c, err := har.Read(bytes.NewReader(raw), har.Limits{})
	if err != nil {
		t.Fatalf("%v in\n%s", err, raw)
	}
	return c
}

func newRecorder(t testing.TB, redact *har.Redactor) (*Recorder, *file) {
	t.Helper()
	f := new(file)
	w, err := har.NewWriter(f, har.Header{Tool: "test", Mode: "reverse", KeepSecrets: redact == nil}, true)
	if err != nil {
		t.Fatal(err)
	}
	return NewRecorder(w, redact), f
}

// Words for events. The time is the caller's clock.

func open(conn uint64) har.Event {
	return har.Event{Conn: conn, At: time.Now(), Open: &har.Conn{Client: fmt.Sprintf("client:%d", conn), Server: "server:80", Base: "http://server"}}
}

func request(conn uint64, p string) har.Event {
	return har.Event{Conn: conn, Dir: wire.ToServer, At: time.Now(), Bytes: []byte(p)}
}

func response(conn uint64, p string) har.Event {
	return har.Event{Conn: conn, Dir: wire.ToClient, At: time.Now(), Bytes: []byte(p)}
}

func ends(conn uint64, d wire.Dir, how har.Ending) har.Event {
	return har.Event{Conn: conn, Dir: d, At: time.Now(), End: how}
}

func stops(conn uint64) har.Event {
	return har.Event{Conn: conn, At: time.Now(), End: har.EndStopped}
}

const (
	ask    = "POST /mcp?a=b HTTP/1.1\r\nHost: here\r\nContent-Length: 2\r\n\r\n{}"
	answer = "HTTP/1.1 200 OK\r\nContent-Type: Application/JSON; charset=utf-8\r\nContent-Length: 2\r\n\r\n[]"
	stream = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
)

func TestExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec, f := newRecorder(t, nil)
		time.Sleep(1234567 * time.Nanosecond)
		began := time.Now()
		rec.Record(open(7))
		rec.Record(request(7, ask[:30]))
		time.Sleep(1500 * time.Nanosecond)
		rec.Record(request(7, ask[30:]))
		time.Sleep(time.Millisecond)
		rec.Record(response(7, answer))
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
		c := f.read(t)
		if len(c.Exchanges) != 1 || c.End == nil || c.End.Exchanges != 1 || c.End.Conns != 1 {
			t.Fatalf("got %d exchanges, end %+v", len(c.Exchanges), c.End)
		}
		x := c.Exchanges[0]
		if x.N != 1 || x.Conn != 7 || x.Seq != 1 || x.Client != "client:7" || x.Server != "server:80" {
			t.Errorf("number %d, place %d of connection %d, %s to %s", x.N, x.Seq, x.Conn, x.Client, x.Server)
		}
		if !x.Started.Equal(began.Truncate(time.Microsecond)) || x.Started.Location() != time.UTC {
			t.Errorf("started %v, want %v", x.Started, began)
		}
		if x.Method != "POST" || x.URL != "http://server/mcp?a=b" || x.Status != 200 || x.MediaType != "application/json" {
			t.Errorf("%s %s: %d %s", x.Method, x.URL, x.Status, x.MediaType)
		}
		if string(x.Request.Raw) != ask || string(x.Response.Raw) != answer || x.End != har.EndKeep {
			t.Errorf("%q, %q, %s", x.Request.Raw, x.Response.Raw, x.End)
		}
		// 567 ns of the start were cut off, so the second read is 2.067 µs behind it.
		want := []har.Write{{At: 0, Len: 30}, {At: 2 * time.Microsecond, Len: len(ask) - 30}}
		if !slices.Equal(x.Request.Writes, want) {
			t.Errorf("request writes %v, want %v", x.Request.Writes, want)
		}
		if want := []har.Write{{At: 1002 * time.Microsecond, Len: len(answer)}}; !slices.Equal(x.Response.Writes, want) {
			t.Errorf("response writes %v, want %v", x.Response.Writes, want)
		}
	})
}

func TestNumbersFollowTheFirstByte(t *testing.T) {
	rec, f := newRecorder(t, nil)
	for _, e := range []har.Event{
		open(1), open(2), request(2, ask[:3]), request(1, ask), response(1, answer), request(1, ask+ask), response(1, answer),
		request(2, ask[3:]), response(2, answer), response(1, answer), response(3, stream),
	} {
		rec.Record(e)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range f.read(t).Exchanges {
		got = append(got, fmt.Sprintf("%d: %d.%d", x.N, x.Conn, x.Seq))
	}
	if want := []string{"1: 2.1", "2: 1.1", "3: 1.2", "4: 1.3", "5: 3.1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestURL(t *testing.T) {
	for target, want := range map[string]string{
		"GET /a?b=c":             "http://server/a?b=c",
		"GET http://other:81/a":  "http://server/a",
		"GET http://other?q":     "http://server/?q",
		"GET http://other":       "http://server/",
		"OPTIONS *":              "http://server/",
		"CONNECT other:443":      "http://server/",
		"GET /go?to=http://x/y/": "http://server/go?to=http://x/y/",
		"GET x":                  "http://server/x",
	} {
		rec, f := newRecorder(t, nil)
		rec.Record(open(1))
		rec.Record(request(1, target+" HTTP/1.1\r\n\r\n"))
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
		if got := f.read(t).Exchanges[0].URL; got != want {
			t.Errorf("%s: URL %s, want %s", target, got, want)
		}
	}
}

func TestEndings(t *testing.T) {
	const half = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n["
	const server, client = wire.ToClient, wire.ToServer
	say := func(p string) har.Event { return request(1, p) }
	get := func(p string) har.Event { return response(1, p) }
	end := func(d wire.Dir, how har.Ending) har.Event { return ends(1, d, how) }
	note := har.Event{Conn: 1, Dir: server, End: har.EndUnknown, Note: "upstream: refused"}
	for _, tt := range []struct {
		name   string
		events []har.Event
		want   string // endings with the offset where they were seen, where that is known
	}{
		{"idle", []har.Event{say(ask), get(answer)}, "keep"},
		{"the source stops", []har.Event{say(ask), get(answer), stops(1)}, "keep"},
		{"silence", []har.Event{say(ask)}, "capture-stopped@0"},
		{"half an answer", []har.Event{say(ask), get(half), stops(1)}, "capture-stopped@39"},
		{"FIN", []har.Event{say(ask), get(half), end(server, har.EndFIN), end(client, har.EndFIN), stops(1)}, "fin@39"},
		{"FIN behind a whole answer", []har.Event{say(ask), get(answer), end(server, har.EndFIN)}, "fin@87"},
		{"FIN without close_notify", []har.Event{say(ask), get(half), end(server, har.EndNoCloseNotify)}, "fin-no-close-notify@39"},
		{"reset", []har.Event{say(ask), get(half), end(server, har.EndRST), stops(1)}, "rst@39"},
		{"reset before the answer", []har.Event{say(ask), end(server, har.EndRST), stops(1)}, "rst@0"},
		{"FIN, then the client sends the rest", []har.Event{say(ask[:59]), get(half), end(server, har.EndFIN), say(ask[59:]), end(client, har.EndFIN), stops(1)}, "fin@39"},
		{"FIN, then reset", []har.Event{say(ask), get(half), end(server, har.EndFIN), end(server, har.EndRST), stops(1)}, "fin@39"},
		{"FIN, then another request", []har.Event{say(ask), get(answer), end(server, har.EndFIN), say(ask), end(server, har.EndRST), stops(1)}, "fin@87 rst@0"},
		{"body until FIN, then another request", []har.Event{say(ask), get(stream), end(server, har.EndFIN), say(ask), stops(1)}, "fin@52 fin@0"},
		{"client FIN", []har.Event{say(ask), get(half), end(client, har.EndFIN), end(server, har.EndFIN), stops(1)}, "client-fin@39"},
		{"client FIN behind a whole answer", []har.Event{say(ask), get(answer), end(client, har.EndFIN), end(server, har.EndFIN), stops(1)}, "client-fin@87"},
		{"client FIN, body until close", []har.Event{say(ask), get(stream), end(client, har.EndFIN), end(server, har.EndFIN), stops(1)}, "client-fin@52"},
		{"client FIN, nothing more", []har.Event{say(ask), end(client, har.EndFIN), stops(1)}, "client-fin@0"},
		{"client reset", []har.Event{say(ask), get(half), end(client, har.EndRST), stops(1)}, "client-rst@39"},
		{"client reset, late bytes", []har.Event{say(ask), end(client, har.EndRST), get(half), stops(1)}, "client-rst@0"},
		{"half-close, whole answer", []har.Event{say(ask), end(client, har.EndFIN), get(answer), end(server, har.EndFIN), stops(1)}, "fin@87"},
		{"half-close, whole answer, server silent", []har.Event{say(ask), end(client, har.EndFIN), get(answer), stops(1)}, "keep"},
		{"half-close, server resets", []har.Event{say(ask), end(client, har.EndFIN), get(half), end(server, har.EndRST), stops(1)}, "rst@39"},
		{"half-close, half an answer", []har.Event{say(ask), end(client, har.EndFIN), get(half), stops(1)}, "capture-stopped@39"},
		{"half-close, two answers", []har.Event{say(ask + ask), end(client, har.EndFIN), get(answer + answer), end(server, har.EndFIN), stops(1)}, "keep fin@87"},
		{"late answer, refused", []har.Event{say(ask), end(client, har.EndFIN), get(answer), end(client, har.EndRST), end(server, har.EndFIN), stops(1)}, "client-fin@0"},
		{"pipelined, cut in the first answer", []har.Event{say(ask + ask), get(half), end(server, har.EndRST), stops(1)}, "rst@39 rst@0"},
		{"pipelined, cut behind the first answer", []har.Event{say(ask + ask), get(answer), end(server, har.EndFIN), stops(1)}, "keep fin@0"},
		{"bytes behind the answer", []har.Event{say(ask), get(answer), get("stray"), end(server, har.EndFIN), stops(1)}, "fin@92"},
		{"bytes behind the answer, then a request", []har.Event{say(ask), get(answer), get("stray"), say(ask), get(answer)}, "keep keep"},
		{"never reached", []har.Event{say(ask), note}, "unknown"},
		{"lost when idle", []har.Event{say(ask), get(answer), note}, "unknown"},
		{"not a byte", []har.Event{end(client, har.EndFIN), end(server, har.EndFIN), stops(1)}, ""},
		{"not a byte, never reached", []har.Event{note}, ""},
	} {
		for _, mode := range []string{"at once", "step by step", "one byte at a time", "redacted"} {
			t.Run(tt.name+", "+mode, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var redact *har.Redactor
					if mode == "redacted" {
						redact = har.NewRedactor()
					}
					rec, f := newRecorder(t, redact)
					var sent [2]string
					rec.Record(open(1))
					for _, e := range tt.events {
						sent[e.Dir] += string(e.Bytes)
						for mode == "one byte at a time" && len(e.Bytes) > 1 {
							rec.Record(har.Event{Conn: 1, Dir: e.Dir, At: time.Now(), Bytes: e.Bytes[:1]})
							e.Bytes = e.Bytes[1:]
						}
						e.At = time.Now()
						rec.Record(e)
						time.Sleep(map[string]time.Duration{"step by step": time.Second, "redacted": time.Second}[mode] + time.Microsecond)
					}
					if err := rec.Close(); err != nil {
						t.Fatal(err)
					}
					var got []string
					var kept [2]string
					for _, x := range f.read(t).Exchanges {
						s := string(x.End)
						if x.End != har.EndKeep && x.End != har.EndUnknown {
							s += fmt.Sprintf("@%d", x.EndOff)
						}
						got = append(got, s)
						kept[0] += string(x.Request.Raw)
						kept[1] += string(x.Response.Raw)
					}
					if s := strings.Join(got, " "); s != tt.want {
						t.Errorf("endings %q, want %q", s, tt.want)
					}
					if kept != sent {
						t.Errorf("kept %q, want %q", kept, sent)
					}
				})
			})
		}
	}
}

func TestNoteIsKept(t *testing.T) {
	rec, f := newRecorder(t, har.NewRedactor())
	rec.Record(open(1))
	rec.Record(request(1, ask))
	rec.Record(har.Event{Conn: 1, Dir: wire.ToClient, At: time.Now(), End: har.EndUnknown, Note: "upstream: tls"})
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	if x := f.read(t).Exchanges[0]; !slices.Equal(x.Notes, []string{"upstream: tls"}) || x.End != har.EndUnknown {
		t.Errorf("notes %q, end %s", x.Notes, x.End)
	}
}

func TestFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec, f := newRecorder(t, nil)
		on := func() int { return len(f.read(t).Exchanges) }
		one := func(conn uint64) {
			rec.Record(open(conn))
			rec.Record(request(conn, ask))
			rec.Record(response(conn, answer))
		}
		one(1)
		synctest.Wait()
		if on() != 1 {
			t.Error("the first exchange is not on disk at once")
		}
		time.Sleep(10 * time.Millisecond)
		one(2)
		time.Sleep(80 * time.Millisecond)
		one(3)
		synctest.Wait()
		if on() != 1 {
			t.Errorf("%d exchanges are on disk within 100 ms of a flush, want 1", on())
		}
		time.Sleep(15 * time.Millisecond)
		synctest.Wait()
		if on() != 3 {
			t.Errorf("%d exchanges are on disk 105 ms behind a flush, want 3", on())
		}
		time.Sleep(time.Minute)
		one(4)
		synctest.Wait()
		if on() != 4 {
			t.Error("after a pause, an exchange is not on disk at once")
		}
		rec.Close()
	})
}

func TestWhatIsUnderWayIsOnDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec, f := newRecorder(t, har.NewRedactor())
		rec.Record(open(1))
		rec.Record(request(1, ask))
		time.Sleep(300 * time.Millisecond)
		synctest.Wait()
		c := f.read(t)
		if len(c.Exchanges) != 1 || string(c.Exchanges[0].Request.Raw) != ask || c.Exchanges[0].URL != "http://server/mcp?a=b" {
			t.Fatalf("a hanging request is not on disk: %+v", c.Exchanges)
		}
		rec.Record(response(1, stream))
		want := stream
		for i := range 20 {
			event := fmt.Sprintf("data: %d\n\n", i)
			rec.Record(response(1, event))
			want += event
			time.Sleep(time.Second)
			synctest.Wait()
			x := f.read(t).Exchanges[0]
			if got := string(x.Response.Raw); got != want {
				t.Fatalf("behind event %d, on disk are %q", i, got)
			}
		}
		rec.Record(ends(1, wire.ToClient, har.EndFIN))
		rec.Record(stops(1))
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
		x := f.read(t).Exchanges[0]
		if string(x.Response.Raw) != want || x.End != har.EndFIN || x.Status != 200 || x.MediaType != "text/event-stream" {
			t.Errorf("got %q, %s, %d %s", x.Response.Raw, x.End, x.Status, x.MediaType)
		}
		if n := len(x.Response.Writes); n != 21 {
			t.Errorf("%d writes, want 21", n)
		}
	})
}

// A long stream is written as it runs, and not kept in memory.
func TestLongStream(t *testing.T) {
	for _, redact := range []*har.Redactor{nil, har.NewRedactor()} {
		f, events := new(file), 500
		w, err := har.NewWriter(f, har.Header{Tool: "test", Mode: "reverse"}, true)
		if err != nil {
			t.Fatal(err)
		}
		var b book
		b.init(w, redact)
		b.now = time.Now()
		take := func(e har.Event) {
			q := new(queue)
			q.add(&e)
			b.now = b.now.Add(time.Millisecond)
			b.takeAll(q)
			b.keepUp()
		}
		take(open(1))
		take(request(1, ask))
		take(response(1, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"))
		event := "data: " + strings.Repeat("0123456789", 1000) + "\n\n"
		most := 0
		for range events {
			take(response(1, fmt.Sprintf("%x\r\n%s\r\n", len(event), event)))
			most = max(most, len(b.conns[1].live[0].Response.Raw))
		}
		take(response(1, "0\r\n\r\n"))
		b.close()
		if b.err != nil {
			t.Fatal(b.err)
		}
		if limit := 2*MaxUnstored + dropAt; most > limit {
			t.Errorf("%d bytes were held in memory, want at most %d", most, limit)
		}
		x := f.read(t).Exchanges[0]
		if got := x.View().Events(); len(got) != events || x.End != har.EndKeep || len(x.Redacted) > 0 {
			t.Errorf("%d events, end %s, redacted %v", len(got), x.End, x.Redacted)
		}
	}
}

// A secret far behind the beginning of a long stream is found, and listed where it is.
func TestSecretInALongStream(t *testing.T) {
	const secret = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
	synctest.Test(t, func(t *testing.T) {
		rec, f := newRecorder(t, har.NewRedactor())
		rec.Record(open(1))
		rec.Record(request(1, ask))
		sent := stream
		rec.Record(response(1, stream))
		for i := range 100 {
			event := "data: " + strings.Repeat("x", 3000) + "\n\n"
			if i%30 == 29 {
				event = "data: " + secret + "\n\n"
			}
			rec.Record(response(1, event))
			sent += event
			time.Sleep(150 * time.Millisecond)
		}
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
		x := f.read(t).Exchanges[0]
		if len(x.Redacted) != 3 || bytes.Contains(x.Response.Raw, []byte(secret)) {
			t.Fatalf("redacted %v", x.Redacted)
		}
		got := bytes.Clone(x.Response.Raw)
		for _, r := range x.Redacted {
			copy(got[r.Off:r.Off+r.Len], sent[r.Off:])
		}
		if string(got) != sent {
			t.Error("what is not listed as redacted differs")
		}
	})
}

func TestEditsFindTheirRequest(t *testing.T) {
	const head = "GET / HTTP/1.1\r\nHost: here\r\n\r\n"
	at := strings.Index(head, "here")
	for cut := range 2*len(head) + 1 {
		rec, f := newRecorder(t, nil)
		rec.Record(open(1))
		first, second := request(1, (head + head)[:cut]), request(1, (head + head)[cut:])
		for _, off := range []int{at, len(head) + at} {
			// The editor knows of a line's value when the line ends.
			if off+len("here\r\n") <= cut {
				first.Edits = append(first.Edits, har.Edit{Off: off, Len: 4, New: "there:80"})
			} else {
				second.Edits = append(second.Edits, har.Edit{Off: off - cut, Len: 4, New: "there:80"})
			}
		}
		rec.Record(first)
		rec.Record(second)
		rec.Record(response(1, answer+answer))
		if err := rec.Close(); err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		for _, x := range f.read(t).Exchanges {
			if want := strings.Replace(head, "here", "there:80", 1); string(x.ServerLeg()) != want {
				t.Errorf("cut at %d: exchange %d is %q on the server's leg", cut, x.N, x.ServerLeg())
			}
		}
	}
}

func TestFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec, f := newRecorder(t, nil)
		var said []error
		rec.OnError = func(err error) { said = append(said, err) }
		f.full = true
		rec.Record(open(1))
		rec.Record(request(1, ask))
		rec.Record(response(1, answer))
		time.Sleep(time.Second)
		synctest.Wait()
		if len(said) != 1 || !strings.Contains(said[0].Error(), "no space left") {
			t.Errorf("told of %q, want one error", said)
		}
		big := request(2, strings.Repeat("x", MaxQueued))
		for range 3 {
			rec.Record(big) // blocks for ever if it waits for room
		}
		if err := rec.Close(); len(said) != 1 || err != said[0] {
			t.Errorf("Close gives %v, told of %q", err, said)
		}
	})
}

func TestFullQueueWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec, f := newRecorder(t, nil)
		f.stuck = make(chan struct{})
		rec.Record(open(1))
		rec.Record(request(1, ask))
		rec.Record(response(1, answer))
		synctest.Wait()
		// Small events, which weigh more than their bytes.
		const all = 200_000
		recorded := 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range all {
				rec.Record(request(2, "x"))
				recorded++
			}
		}()
		synctest.Wait()
		if most := MaxQueued/int(unsafe.Sizeof(entry{})+1) + 1; recorded != most {
			t.Errorf("%d events were taken while the disk was stuck, want %d", recorded, most)
		}
		if rec.Offer(request(2, "y")) {
			t.Error("an offer was taken beyond the bound")
		}
		if rec.Slowed() != 1 {
			t.Errorf("%d events were slowed down, want 1", rec.Slowed())
		}
		close(f.stuck)
		<-done
		synctest.Wait()
		if !rec.Offer(request(2, "z")) {
			t.Error("an offer was refused though there is room")
		}
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
		if got := len(f.read(t).Exchanges[1].Request.Raw); got != all+1 {
			t.Errorf("%d bytes were kept, want %d", got, all+1)
		}
	})
}

func TestManySources(t *testing.T) {
	rec, f := newRecorder(t, har.NewRedactor())
	var wg sync.WaitGroup
	for conn := range uint64(20) {
		wg.Go(func() {
			rec.Record(open(conn + 1))
			for range 50 {
				rec.Record(request(conn+1, ask))
				rec.Record(response(conn+1, answer))
			}
			rec.Record(stops(conn + 1))
		})
	}
	wg.Wait()
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	c := f.read(t)
	if len(c.Exchanges) != 1000 {
		t.Errorf("%d exchanges, want 1000", len(c.Exchanges))
	}
	for i, x := range c.Exchanges {
		if x.N != i+1 || string(x.Request.Raw) != ask || string(x.Response.Raw) != answer || x.End != har.EndKeep {
			t.Fatalf("exchange %d is number %d: %q, %q, %s", i+1, x.N, x.Request.Raw, x.Response.Raw, x.End)
		}
	}
	if err := rec.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
	rec.Record(request(1, ask))
}
