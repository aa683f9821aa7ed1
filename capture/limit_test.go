package capture

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// TestExchangeLimit: heads and what there is room for are kept, the rest is counted, and what follows is told as ever.
func TestExchangeLimit(t *testing.T) {
	body := strings.Repeat("x", 500)
	long := "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + body
	post := "POST / HTTP/1.1\r\nContent-Length: 500\r\n\r\n" + body
	for _, tt := range []struct {
		name              string
		ask, answer       string
		limit             int64
		request, response int // kept
		notes             string
	}{
		{"room for all", ask, answer, 1000, len(ask), len(answer), ""},
		{"the response", ask, long, 200, len(ask), 200 - len(ask), "limit: the response is kept up to byte 141|limit: 399 bytes of the response were not kept"},
		{"heads whatever the limit", post, long, 1, len(post) - 500, len(long) - 500,
			"limit: the request is kept up to byte 40|limit: the response is kept up to byte 40|limit: 500 bytes of the request were not kept|limit: 500 bytes of the response were not kept"},
		{"interim and final heads", ask, "HTTP/1.1 100 Continue\r\n\r\n" + long, 1, len(ask) - 2, 25 + len(long) - 500,
			"limit: the request is kept up to byte 57|limit: the response is kept up to byte 65|limit: 2 bytes of the request were not kept|limit: 500 bytes of the response were not kept"},
	} {
		for cut := range len(tt.answer) {
			rec, f := newRecorder(t, har.NewRedactor())
			rec.Limits.Exchange = tt.limit
			for _, e := range []har.Event{open(1), request(1, tt.ask), response(1, tt.answer[:cut]), response(1, tt.answer[cut:]), request(1, ask), response(1, answer)} {
				if e.Open != nil || len(e.Bytes) > 0 {
					rec.Record(e)
				}
			}
			if err := rec.Close(); err != nil {
				t.Fatalf("%s, cut at %d: %v", tt.name, cut, err)
			}
			xs := f.read(t).Exchanges
			if len(xs) != 2 || xs[1].Status != 200 {
				t.Fatalf("%s, cut at %d: %d exchanges", tt.name, cut, len(xs))
			}
			x := xs[0]
			if string(x.Request.Raw) != tt.ask[:tt.request] || string(x.Response.Raw) != tt.answer[:tt.response] {
				t.Fatalf("%s, cut at %d: kept %q and %q", tt.name, cut, x.Request.Raw, x.Response.Raw)
			}
			if got := strings.Join(x.Notes, "|"); got != tt.notes {
				t.Fatalf("%s, cut at %d: notes %q, want %q", tt.name, cut, got, tt.notes)
			}
			if want := tt.notes == ""; (x.View().Complete == har.True) != want || x.End != har.EndKeep {
				t.Errorf("%s, cut at %d: complete %v, %s", tt.name, cut, x.View().Complete, x.End)
			}
		}
	}
}

// TestLimitIsNotedAtOnce: a recording that is killed says what it left out.
func TestLimitIsNotedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec, f := newRecorder(t, nil)
		rec.Limits.Exchange = int64(len(ask) + len(stream) + 9)
		for _, e := range []har.Event{open(1), request(1, ask), response(1, stream+"data: 1\n\n")} {
			rec.Record(e)
		}
		time.Sleep(time.Second)
		rec.Record(response(1, "data: 2\n\n"))
		time.Sleep(time.Second)
		xs := f.read(t).Exchanges
		rec.Close()
		if len(xs) != 1 || !strings.HasPrefix(xs[0].Notes[0], "limit: the response is kept up to byte") {
			t.Fatalf("%+v", xs)
		}
		if n := f.read(t).Exchanges[0].Notes; n[len(n)-1] != "limit: 9 bytes of the response were not kept" {
			t.Errorf("notes %q", n)
		}
	})
}

// TestSizeLimit: from the size on, heads are kept and bodies are not.
func TestSizeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec, f := newRecorder(t, nil)
		full := 0
		rec.Limits = Limits{Size: 2000, Full: func() { full++ }}
		for range 20 {
			for _, e := range []har.Event{open(1), request(1, ask), response(1, answer)} {
				rec.Record(e)
			}
			time.Sleep(time.Second)
		}
		rec.Close()
		xs := f.read(t).Exchanges
		first := slices.IndexFunc(xs, func(x *har.Exchange) bool { return len(x.Notes) > 0 })
		if full != 1 || first < 2 || first > 10 || len(xs) != 20 {
			t.Fatalf("told %d times, first cut at exchange %d of %d", full, first+1, len(xs))
		}
		for _, x := range xs[first:] {
			if x.Status != 200 || bytes.Contains(x.Request.Raw, []byte("{}")) || len(x.Notes) != 4 {
				t.Errorf("exchange %d: %q, %q", x.N, x.Request.Raw, x.Notes)
			}
		}
	})
}

// TestRotation: whatever the recording is in the middle of, each file can be read by itself, and together they have the bytes.
func TestRotation(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		rotated(t, seed, r, seed%2 == 0)
	}
}

func rotated(t *testing.T, seed uint64, r *rand.Rand, secrets bool) {
	var files []*file
	next := func() (*har.Writer, error) {
		f := new(file)
		files = append(files, f)
		return har.NewWriter(f, har.Header{KeepSecrets: secrets}, true)
	}
	w, _ := next()
	redact := har.NewRedactor()
	if secrets {
		redact = nil
	}
	var b book
	b.init(w, redact)
	b.limits.Next = next
	at := time.Unix(1e9, 0)
	b.now = at
	sent := map[uint64]*[2][]byte{1: {}, 2: {}}
	give := func(e har.Event) {
		e.At = at
		s := sent[e.Conn]
		s[e.Dir] = append(s[e.Dir], e.Bytes...)
		q := new(queue)
		q.add(&e)
		b.takeAll(q)
		b.keepUp()
		if r.IntN(4) == 0 {
			b.rotate()
		}
		step := time.Duration(r.IntN(200)) * time.Millisecond
		b.now, at = b.now.Add(step), at.Add(step)
	}
	answers := []string{answer, answer + "tail", stream + "data: 1\n\ndata: 2\n\n", answer}
	for conn := range sent {
		give(open(conn))
	}
	for range 6 {
		conn := 1 + uint64(r.IntN(2))
		var list []har.Event
		for _, e := range []har.Event{request(conn, ask), response(conn, answers[r.IntN(len(answers))])} {
			n := r.IntN(len(e.Bytes))
			list = append(list, har.Event{Conn: conn, Dir: e.Dir, Bytes: e.Bytes[:n]}, har.Event{Conn: conn, Dir: e.Dir, Bytes: e.Bytes[n:]})
		}
		for _, e := range list {
			give(e)
		}
	}
	b.close()
	if b.err != nil {
		t.Fatalf("seed %d: %v", seed, b.err)
	}
	got := map[uint64]*[2][]byte{1: {}, 2: {}}
	for i, f := range files {
		c := f.read(t)
		if c.End == nil || c.End.Next != (i < len(files)-1) {
			t.Fatalf("seed %d, file %d: end line %+v", seed, i, c.End)
		}
		for _, x := range c.Exchanges {
			if x.End == "" || x.End == har.EndStopped && !slices.ContainsFunc(x.Notes, func(n string) bool { return strings.HasPrefix(n, har.NoteRotated) }) && c.End.Next {
				t.Errorf("seed %d, file %d, exchange %d: ending %q, %q", seed, i, x.N, x.End, x.Notes)
			}
		}
		slices.SortFunc(c.Exchanges, func(x, y *har.Exchange) int { return x.Seq - y.Seq })
		for _, x := range c.Exchanges {
			g := got[x.Conn]
			g[wire.ToServer], g[wire.ToClient] = append(g[wire.ToServer], x.Request.Raw...), append(g[wire.ToClient], x.Response.Raw...)
		}
	}
	for conn, s := range sent {
		for d := range s {
			if !bytes.Equal(got[conn][d], s[d]) {
				t.Errorf("seed %d, connection %d, %v: kept %q of %q", seed, conn, wire.Dir(d), got[conn][d], s[d])
			}
		}
	}
}
