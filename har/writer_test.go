package har

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har/wire"
)

var noon = time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)

// onConn makes an exchange with a request and an answer of a few bytes.
func onConn(n int, conn uint64, seq int, end Ending) *Exchange {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, n)
	request := fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: a.example\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	response := "HTTP/1.1 200 OK\r\nContent-Type: Application/JSON; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}"
	x := &Exchange{N: n, Conn: conn, Seq: seq, Started: noon.Add(time.Duration(n) * time.Microsecond), Client: "192.0.2.1:40001", Server: "192.0.2.2:80",
		Request:  Side{Raw: []byte(request), Writes: []Write{{0, len(request)}}},
		Response: Side{Raw: []byte(response), Writes: []Write{{5 * time.Millisecond, len(response) - 1}, {6 * time.Millisecond, 1}}},
		End:      end, EndOff: len(response)}
	if end.timed() {
		x.EndAt = 7 * time.Millisecond
	}
	FillDerived(x, "http://a.example")
	return x
}

// cassette writes exchanges and closes.
func cassette(t testing.TB, plain bool, list ...*Exchange) []byte {
	t.Helper()
	return rewrite(t, &Cassette{Header: Header{Tool: "mcptap 0.1.0", Started: noon, Mode: "reverse"}, Exchanges: list, End: &End{At: noon}}, plain)
}

func mustRead(t testing.TB, b []byte) *Cassette {
	t.Helper()
	c, err := Read(bytes.NewReader(b), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestWriteRead(t *testing.T) {
	var list []*Exchange
	for n := 1; n <= 300; n++ {
		list = append(list, onConn(n, uint64(n), 1, EndFIN))
	}
	for _, plain := range []bool{true, false} {
		c := mustRead(t, cassette(t, plain, list...))
		if !reflect.DeepEqual(c.Exchanges, list) {
			t.Errorf("plain %v: what was read is not what was written", plain)
		}
		if want := (&End{At: noon, Exchanges: 300, Conns: 300}); !reflect.DeepEqual(c.End, want) || c.Cut != "" {
			t.Errorf("plain %v: end line %+v, cut %q", plain, c.End, c.Cut)
		}
	}
}

// TestLine fixes the bytes of one line, which docs/format.md shows.
func TestLine(t *testing.T) {
	x := onConn(3, 2, 1, EndClientFIN)
	x.EndOff = 10
	x.Edits = []Edit{{Off: 26, Len: 9, New: "b.example"}, {Off: 40, Len: 0, New: "\xff"}}
	x.Redacted = []Redaction{{wire.ToClient, 5, 3, "session"}}
	x.Notes = []string{"gap", "b"}
	want := `{"_n":3,"_conn":2,"_seq":1,"startedDateTime":"2026-07-28T12:00:00.000003Z","_client":"192.0.2.1:40001","_server":"192.0.2.2:80",` +
		`"request":{"method":"POST","url":"http://a.example/mcp","_raw":"POST /mcp HTTP/1.1\r\nHost: a.example\r\nContent-Length: 40\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}"},` +
		`"response":{"status":200,"mimeType":"application/json","_raw":"HTTP/1.1 200 OK\r\nContent-Type: Application/JSON; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}","_writes":[[5000,86],[6000,1]]},` +
		`"_edits":[{"off":26,"len":9,"new":"b.example"},{"off":40,"len":0,"new64":"/w=="}],"_redacted":[{"side":"response","off":5,"len":3,"kind":"session"}],` +
		`"_notes":["gap","b"],"_end":"client-fin","_endAt":7000,"_endOff":10}`
	got := strings.Split(string(cassette(t, true, x)), "\n")[1]
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// parts cuts an exchange into a first line and continuations, one for each of the given numbers of bytes of each side.
func parts(x *Exchange, cuts ...[2]int) []*Exchange {
	request, response := x.Request, x.Response
	request.Writes, response.Writes = slices.Clone(request.Writes), slices.Clone(response.Writes)
	var list []*Exchange
	for _, cut := range cuts {
		p := &Exchange{Conn: x.Conn, Seq: x.Seq}
		p.Request, p.Response = request.takeOff(cut[0]), response.takeOff(cut[1])
		list = append(list, p)
	}
	last := &Exchange{Conn: x.Conn, Seq: x.Seq, Request: request, Response: response, Status: x.Status, MediaType: x.MediaType,
		Edits: x.Edits, Redacted: x.Redacted, Notes: x.Notes, End: x.End, EndAt: x.EndAt, EndOff: x.EndOff}
	list = append(list, last)
	first := list[0]
	first.N, first.Started, first.Client, first.Server, first.Method, first.URL = x.N, x.Started, x.Client, x.Server, x.Method, x.URL
	return list
}

func TestAppend(t *testing.T) {
	x := onConn(1, 1, 1, EndRST)
	x.Notes = []string{"one"}
	x.Redacted = []Redaction{{wire.ToClient, 80, 3, "token"}}
	for cut := range len(x.Response.Raw) {
		var b bytes.Buffer
		w, err := NewWriter(&b, Header{}, cut%2 == 0)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range parts(x, [2]int{cut, 0}, [2]int{len(x.Request.Raw), cut}) {
			if err = w.Append(p); i == 0 {
				if err == nil {
					t.Fatal("Append before Write is taken")
				}
				err = w.Write(p)
			}
			if err != nil {
				t.Fatalf("cut %d, part %d: %v", cut, i, err)
			}
		}
		if err := w.Close(End{}); err != nil {
			t.Fatal(err)
		}
		got := mustRead(t, b.Bytes()).Exchanges[0]
		if string(got.Request.Raw) != string(x.Request.Raw) || string(got.Response.Raw) != string(x.Response.Raw) {
			t.Fatalf("cut %d: the bytes differ", cut)
		}
		got.Request.Writes, got.Response.Writes = x.Request.Writes, x.Response.Writes
		if !reflect.DeepEqual(got, x) {
			t.Fatalf("cut %d: got %+v, want %+v", cut, got, x)
		}
	}
}

// TestEndedLater gives the ending of a connection to its last exchange after other connections have gone on.
func TestEndedLater(t *testing.T) {
	var b bytes.Buffer
	w, err := NewWriter(&b, Header{}, true)
	if err != nil {
		t.Fatal(err)
	}
	first, second, other := onConn(1, 1, 1, EndKeep), onConn(2, 1, 2, EndKeep), onConn(3, 2, 1, EndKeep)
	for _, x := range []*Exchange{first, second, other} {
		if err := w.Write(x); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Append(&Exchange{Conn: 1, Seq: 1, End: EndRST}); err == nil {
		t.Error("an exchange behind which its connection went on is given an ending")
	}
	end := &Exchange{Conn: 1, Seq: 2, End: EndClientFIN, EndAt: time.Second, EndOff: len(second.Response.Raw)}
	if err := w.Append(end); err != nil {
		t.Fatal(err)
	}
	if err := w.Append(end); err == nil {
		t.Error("an exchange gets a second ending")
	}
	if err := w.Close(End{}); err != nil {
		t.Fatal(err)
	}
	c := mustRead(t, b.Bytes())
	for i, want := range []Ending{EndKeep, EndClientFIN, EndKeep} {
		if c.Exchanges[i].End != want {
			t.Errorf("exchange %d ended %s, want %s", i+1, c.Exchanges[i].End, want)
		}
	}
}

// TestLongExchange writes more than one line takes, in every shape: few and many writes, text and not.
func TestLongExchange(t *testing.T) {
	text := strings.Repeat("événement ", lineBytes/8)
	for _, tt := range []struct {
		name              string
		request, response string
		writes            int
	}{
		{"long response", "GET / HTTP/1.1\r\n\r\n", text, 10},
		{"long both", text, text, 3},
		{"not text", "x", text[:len(text)/2] + "\xff" + text[len(text)/2:], 5},
		{"many writes", "x", text[:3*lineWrites], 3 * lineWrites},
		{"without writes", "x", text, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := onConn(1, 1, 1, EndFIN)
			x.Request = Side{Raw: []byte(tt.request), Writes: []Write{{0, len(tt.request)}}}
			x.Response = Side{Raw: []byte(tt.response)}
			for i := range tt.writes {
				from, to := len(tt.response)*i/tt.writes, len(tt.response)*(i+1)/tt.writes
				x.Response.Writes = append(x.Response.Writes, Write{time.Duration(i) * time.Millisecond, to - from})
			}
			x.EndOff = len(tt.response) - 1
			x.Redacted = []Redaction{{wire.ToClient, len(tt.response) - 1, 1, "token"}}
			b := cassette(t, true, x)
			if lines := bytes.Count(b, []byte("\n")); lines < 4 {
				t.Errorf("%d lines, want the exchange on more than one", lines)
			}
			got := mustRead(t, b).Exchanges[0]
			if string(got.Response.Raw) != tt.response || string(got.Request.Raw) != tt.request || got.EndOff != x.EndOff {
				t.Error("the bytes differ")
			}
			if !reflect.DeepEqual(joined(got.Response.Writes), joined(x.Response.Writes)) && tt.writes > 0 {
				t.Error("the writes differ")
			}
		})
	}
}

// joined puts neighbours of one time together: a write that a line's end cuts in two has the same time twice.
func joined(list []Write) (out []Write) {
	for _, w := range list {
		if n := len(out); n > 0 && out[n-1].At == w.At {
			out[n-1].Len += w.Len
		} else {
			out = append(out, w)
		}
	}
	return out
}

func TestWriterRefuses(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(x *Exchange)
	}{
		{"n", func(x *Exchange) { x.N = 0 }},
		{"conn", func(x *Exchange) { x.Conn = 1 << 60 }},
		{"seq", func(x *Exchange) { x.Seq = -1 }},
		{"lengths", func(x *Exchange) { x.Response.Writes[0].Len++ }},
		{"empty write", func(x *Exchange) { x.Response.Writes = append(x.Response.Writes, Write{}) }},
		{"time of a write", func(x *Exchange) { x.Request.Writes[0].At = -1 }},
		{"edit", func(x *Exchange) { x.Edits = []Edit{{Off: len(x.Request.Raw), Len: 1}} }},
		{"edit order", func(x *Exchange) { x.Edits = []Edit{{Off: 5, Len: 1}, {Off: 4, Len: 1}} }},
		{"redaction", func(x *Exchange) { x.Redacted = []Redaction{{wire.ToClient, 1 << 30, 1 << 62, "x"}} }},
		{"ending", func(x *Exchange) { x.End = "gone" }},
		{"time of the ending", func(x *Exchange) { x.EndAt = -1 }},
		{"place of the ending", func(x *Exchange) { x.EndOff = len(x.Response.Raw) + 1 }},
		{"status", func(x *Exchange) { x.Status = 1000 }},
		{"note", func(x *Exchange) { x.Notes = []string{""} }},
		{"year", func(x *Exchange) { x.Started = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			w, err := NewWriter(&b, Header{}, true)
			if err != nil {
				t.Fatal(err)
			}
			bad, good := onConn(1, 1, 1, EndFIN), onConn(1, 1, 1, EndFIN)
			tt.spoil(bad)
			if err := w.Write(bad); err == nil {
				t.Error("it is taken")
			}
			if err := w.Write(good); err != nil {
				t.Errorf("the next exchange is refused: %v", err)
			}
			if err := w.Close(End{}); err != nil {
				t.Fatal(err)
			}
			if c := mustRead(t, b.Bytes()); len(c.Exchanges) != 1 || !reflect.DeepEqual(c.Exchanges[0], good) {
				t.Errorf("the cassette holds %+v", c.Exchanges)
			}
		})
	}
}

func TestWriterClosed(t *testing.T) {
	w, err := NewWriter(&bytes.Buffer{}, Header{}, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(onConn(1, 1, 1, "")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(End{}); err != nil {
		t.Fatal(err)
	}
	if w.Write(onConn(2, 2, 1, EndFIN)) == nil || w.Append(&Exchange{Conn: 1, Seq: 1, End: EndFIN}) == nil {
		t.Error("a closed cassette is written to")
	}
	if err := w.Close(End{}); err != nil {
		t.Errorf("closing twice: %v", err)
	}
}

// A fullDisk takes so many bytes.
type fullDisk struct{ room int }

var errFull = errors.New("no space left")

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.room -= len(p); d.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// TestWriterFails lets the disk fill up at every size: the first failure is the answer to all that follows.
func TestWriterFails(t *testing.T) {
	for _, plain := range []bool{false, true} {
		size := len(cassette(t, plain, onConn(1, 1, 1, EndFIN), onConn(2, 2, 1, EndFIN)))
		for room := range size {
			w, err := NewWriter(&fullDisk{room}, Header{Tool: "mcptap 0.1.0", Started: noon, Mode: "reverse"}, plain)
			if err == nil {
				w.Write(onConn(1, 1, 1, EndFIN))
				w.Flush()
				w.Write(onConn(2, 2, 1, EndFIN))
				err = w.Close(End{At: noon})
			}
			if !errors.Is(err, errFull) {
				t.Fatalf("plain %v, room for %d of %d bytes: %v", plain, room, size, err)
			}
			if again := w.Write(onConn(3, 3, 1, EndFIN)); !errors.Is(again, errFull) {
				t.Fatalf("plain %v, room for %d bytes: written behind a failure: %v", plain, room, again)
			}
		}
	}
}

// TestFlushed reads what a flush has made readable while the Writer goes on.
func TestFlushed(t *testing.T) {
	for _, plain := range []bool{false, true} {
		var b bytes.Buffer
		w, err := NewWriter(&b, Header{}, plain)
		if err != nil {
			t.Fatal(err)
		}
		for n := 1; n <= 2*frameLines+3; n++ {
			if err := w.Write(onConn(n, uint64(n), 1, EndFIN)); err != nil {
				t.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if c := mustRead(t, b.Bytes()); len(c.Exchanges) != n || c.Cut == "" {
				t.Fatalf("plain %v: behind flush %d there are %d exchanges, cut %q", plain, n, len(c.Exchanges), c.Cut)
			}
		}
	}
}

func TestWriterDoesNotAllocate(t *testing.T) {
	for _, plain := range []bool{false, true} {
		w, err := NewWriter(&countingWriter{}, Header{}, plain)
		if err != nil {
			t.Fatal(err)
		}
		x := onConn(1, 1, 1, EndFIN)
		n := testing.AllocsPerRun(2*frameLines, func() {
			x.N, x.Conn = x.N+1, x.Conn+1
			if err := w.Write(x); err != nil {
				t.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		})
		if n > 0 {
			t.Errorf("plain %v: %v allocations per exchange", plain, n)
		}
	}
}
