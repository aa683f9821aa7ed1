package capture

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

func loses(conn uint64, d wire.Dir, n int64, word string) har.Event {
	e := stops(conn)
	e.End, e.Dir, e.Lost, e.Note = "", d, n, word
	return e
}

func TestGaps(t *testing.T) {
	const (
		get   = "GET /%s HTTP/1.1\r\n\r\n"
		ok    = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
		chunk = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n"
	)
	ask := func(what string) har.Event { return request(1, fmt.Sprintf(get, what)) }
	lost := func(d wire.Dir, n int64) har.Event { return loses(1, d, n, har.NoteGap) }
	start := func(d wire.Dir) har.Event { return loses(1, d, -1, har.NoteStart) }
	tests := []struct {
		name   string
		events []har.Event
		want   []string // request, response, notes and whether it is complete of each exchange
	}{
		{"in a body", []har.Event{ask("1"), response(1, ok+"a"), lost(wire.ToClient, 2), response(1, "d"), ask("2"), response(1, ok+"abcd")},
			[]string{"/1 ad [gap: 2 bytes before byte 39 of the response] 0", "/2 abcd [] 1"}},
		{"the end of a body", []har.Event{ask("1"), response(1, ok+"a"), lost(wire.ToClient, 3), ask("2"), response(1, ok+"abcd")},
			[]string{"/1 a [gap: 3 bytes before byte 39 of the response] 0", "/2 abcd [] 1"}},
		{"in a chunk", []har.Event{ask("1"), response(1, chunk+"a"), lost(wire.ToClient, 7), response(1, "\r\n0\r\n\r\n"), ask("2"), response(1, ok+"abcd")},
			[]string{"/1 a\r\n0\r\n\r\n [gap: 7 bytes before byte 51 of the response] 0", "/2 abcd [] 1"}},
		{"over framing", []har.Event{ask("1"), response(1, chunk+"a"), lost(wire.ToClient, 20), response(1, "data: x\r\n"), ask("2"), response(1, ok+"abcd")},
			[]string{"/1 adata: x\r\n [gap: 20 bytes before byte 51 of the response] 0", "/2 abcd [] 1"}},
		{"a response's head", []har.Event{ask("1"), lost(wire.ToClient, 20), response(1, "rest"), ask("2"), response(1, ok+"abcd")},
			[]string{"/1 rest [gap: 20 bytes before byte 0 of the response] 0", "/2 abcd [] 1"}},
		{"a request", []har.Event{ask("1"), response(1, ok+"abcd"), lost(wire.ToServer, 20), response(1, ok+"efgh"), ask("3"), response(1, ok+"ijkl")},
			[]string{"/1 abcd [] 1", " efgh [gap: 20 bytes before byte 0 of the request] 0", "/3 ijkl [] 1"}},
		{"a request's head", []har.Event{lost(wire.ToServer, 20), request(1, "rest"), response(1, ok+"abcd"), ask("2"), response(1, ok+"abcd")},
			[]string{" abcd [gap: 20 bytes before byte 0 of the request] 0", "/2 abcd [] 1"}},
		{"met between two", []har.Event{start(wire.ToServer), start(wire.ToClient), ask("1"), response(1, ok+"abcd")}, []string{"/1 abcd [] 1"}},
		{"met in a response", []har.Event{start(wire.ToClient), response(1, "rest"), start(wire.ToServer), ask("1"), response(1, ok+"abcd")},
			[]string{" rest [start] 0", "/1 abcd [] 1"}},
		{"met in a request", []har.Event{start(wire.ToServer), request(1, "rest"), start(wire.ToClient), response(1, ok+"abcd"), ask("1"), response(1, ok+"abcd")},
			[]string{" abcd [start] 0", "/1 abcd [] 1"}},
		{"snaplen", []har.Event{request(1, "GET /1 HT"), loses(1, wire.ToServer, 9, har.NoteSnaplen), response(1, ok[:9]), loses(1, wire.ToClient, 40, har.NoteSnaplen), ask("2"), response(1, ok+"abcd")},
			[]string{"/1 HTTP/1.1  [snaplen] 0", "/2 abcd [] 1"}},
		{"conflict behind the end", []har.Event{ask("1"), response(1, ok+"abcd"), {Conn: 1, Note: har.NoteConflict}, {Conn: 1, Note: har.NoteConflict}},
			[]string{"/1 abcd [conflict] 0"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, f := newRecorder(t, nil)
			opening := open(1)
			for _, e := range slices.Concat([]har.Event{opening}, tt.events, []har.Event{stops(1)}) {
				r.Record(e)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, x := range f.read(t).Exchanges {
				_, body, found := strings.Cut(string(x.Response.Raw), "\r\n\r\n")
				if !found {
					body = string(x.Response.Raw)
				}
				body = strings.TrimPrefix(body, "8\r\n")
				got = append(got, fmt.Sprintf("%s %s %s %d", target(x), body, x.Notes, x.View().Complete))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			if all, _ := r.Exchanges(); all != len(tt.want) {
				t.Errorf("%d exchanges were counted, want %d", all, len(tt.want))
			}
		})
	}
}

// target is the request's target as far as it is there.
func target(x *har.Exchange) string {
	_, rest, ok := strings.Cut(string(x.Request.Raw), "GET ")
	if !ok {
		return ""
	}
	rest, _, _ = strings.Cut(rest, " ")
	return rest
}

// However many gaps an exchange has, its notes are bounded.
func TestManyGaps(t *testing.T) {
	r, f := newRecorder(t, nil)
	r.Record(open(1))
	r.Record(request(1, "GET / HTTP/1.1\r\n\r\n"))
	r.Record(response(1, "HTTP/1.1 200 OK\r\n\r\n"))
	for range 1000 {
		r.Record(loses(1, wire.ToClient, 5, har.NoteGap))
		r.Record(response(1, "x"))
	}
	r.Record(stops(1))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	x := f.read(t).Exchanges[0]
	if n := len(x.Notes); n != maxGaps+1 || x.Notes[maxGaps] != "gap: and more" {
		t.Errorf("%d notes, the last is %q", n, x.Notes[n-1])
	}
}

// Without a writer exchanges are only counted.
func TestCountOnly(t *testing.T) {
	r := NewRecorder(nil, nil)
	r.Record(open(1))
	for range 3 {
		r.Record(request(1, "GET / HTTP/1.1\r\n\r\n"))
		r.Record(response(1, "HTTP/1.1 204 No Content\r\n\r\n"))
	}
	r.Record(request(1, "GET / HT"))
	r.Record(stops(1))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if all, whole := r.Exchanges(); all != 4 || whole != 3 {
		t.Errorf("got %d exchanges, %d whole, want 4 and 3", all, whole)
	}
}
