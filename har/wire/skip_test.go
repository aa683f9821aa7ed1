package wire

import "testing"

func TestSkip(t *testing.T) {
	const (
		request = "POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\n"
		fixed   = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"
		chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		closing = "HTTP/1.1 200 OK\r\n\r\n"
		get     = "GET / HTTP/1.1\r\n\r\n"
	)
	tests := []struct {
		name, request, response string
		dir                     Dir
		n                       int64
		seq                     int
		done, ok                bool
	}{
		{"inside a fixed body", get, fixed + "abc", ToClient, 6, 1, false, true},
		{"the rest of it", get, fixed + "abc", ToClient, 7, 1, true, true},
		{"more than that", get, fixed + "abc", ToClient, 8, 1, false, false},
		{"an unknown number", get, fixed + "abc", ToClient, -1, 1, false, false},
		{"inside a request's body", request + "abc", "", ToServer, 7, 1, true, true},
		{"inside a chunk", get, chunked + "a\r\nabc", ToClient, 7, 1, false, true},
		{"beyond a chunk", get, chunked + "a\r\nabc", ToClient, 8, 1, false, false},
		{"inside a chunk size", get, chunked + "a", ToClient, 1, 1, false, false},
		{"until close", get, closing + "a", ToClient, -1, 1, false, true},
		{"inside a head", get, fixed[:9], ToClient, 1, 1, false, false},
		{"before a response", get, "", ToClient, 1, 1, false, false},
		{"behind a response", get, fixed + "0123456789", ToClient, 1, 1, false, false},
		{"before a request", "", "", ToServer, 1, 0, false, false},
		{"between requests", get, fixed, ToServer, 1, 0, false, false},
		{"after nonsense", get, "nonsense\r\n\r\n", ToClient, 1, 1, false, true},
		{"in a tunnel", "CONNECT a:1 HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", ToServer, 1, 1, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var s Slicer
			s.Feed(ToServer, []byte(tt.request))
			s.Feed(ToClient, []byte(tt.response))
			if seq, done, ok := s.Skip(tt.dir, tt.n); seq != tt.seq || done != tt.done || ok != tt.ok {
				t.Errorf("got %d %t %t, want %d %t %t", seq, done, ok, tt.seq, tt.done, tt.ok)
			}
		})
	}
}

// What follows on skipped bytes is found as if they had been there.
func TestSkipAndGoOn(t *testing.T) {
	var s Slicer
	s.Feed(ToServer, []byte("GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n"))
	s.Feed(ToClient, []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nab"))
	s.Skip(ToClient, 6)
	s.Feed(ToClient, []byte("\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\na"))
	if _, done, ok := s.Skip(ToClient, 3); !done || !ok || !s.Idle(ToClient) {
		t.Error("the second response is not whole")
	}
	pieces := s.Feed(ToClient, []byte("x"))
	if len(pieces) != 1 || pieces[0].Seq != 2 || !pieces[0].Opaque {
		t.Errorf("got %+v", pieces)
	}
}

func TestBegins(t *testing.T) {
	for p, want := range map[string]Guess{
		"": Perhaps, "G": Perhaps, "GET": Perhaps, "GET ": Perhaps, "GET /": Yes, "\r\nPOST /x HTTP/1.1": Yes, "M-SEARCH * HTTP/1.1": Yes,
		"get /": Yes, "GET / HTTP/2": No, "GET  /": No, "{\"a\"": No, " GET /": No, "HTTP/1.1 200 OK": No, "data: {}": No, "-a /": No,
		"PRI * HTTP/2.0": No, "GET /\r\n": No, "hello world": No, "CONNECT a:1": Yes, "GET http://a/ HTTP/1.1": Yes, "\x16\x03\x01": No, "ABCDEFGHIJKLMNOPQRSTUVWXYZ": No,
	} {
		if got := BeginsRequest([]byte(p)); got != want {
			t.Errorf("request %q: got %d, want %d", p, got, want)
		}
	}
	for p, want := range map[string]Guess{"": Perhaps, "HTTP/1": Perhaps, "HTTP/1.": Yes, "HTTP/2": No, "http/1.1": No} {
		if got := BeginsResponse([]byte(p)); got != want {
			t.Errorf("response %q: got %d, want %d", p, got, want)
		}
	}
}
