package wire

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestFaultsAt holds the bytes that each fault points at.
func TestFaultsAt(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\n"
	for _, c := range []struct{ raw, want string }{
		{head + "Content-Length: 2\r\n\r\nhi", ``},
		{"\r\n\n" + head + "\r\n", `bare LF "\n" at 2; empty line before the start line "\r\n\n" at 0`},
		{"HTTP/1.1  200 O\x01\r\n\r\n", `white space in the start line "HTTP/1.1  200 O\x01" at 0; control character "\x01" at 15`},
		{"HTTP/1.1 200\r\n\r\n", `no space after the status code "HTTP/1.1 200" at 0`},
		{"HTTP/1.7 200 OK\r\n\r\n", `HTTP version neither 1.0 nor 1.1 "HTTP/1.7 200 OK" at 0`},
		{head + "A: 1\nB: 2\n\n", `bare LF "\n" at 21; bare LF "\n\n" at 26`},
		{head + "A: 1\n\r\n", `bare LF "\n" at 21`},
		{head + "A: x\ry\r\n\r\n", `bare CR "\r" at 21`},
		{head + "A: x\r\n  y\x00\r\n\tz\r\n\r\n", `obs-fold "  y\x00" at 23; obs-fold "\tz" at 29; control character "\x00" at 26`},
		{head + " x\r\n\r\n", `obs-fold " x" at 17; continuation line without a field " x" at 17`},
		{head + "nothing\r\n\r\n", `field line without a colon "nothing" at 17`},
		{head + "A b: 1\r\nC : 2\r\n: 3\r\n\r\n", `invalid character in a field name "A b" at 17; invalid character in a field name ":" at 32; space before colon " " at 26`},
		{head + "content-length: 2\r\nX: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			`Content-Length and Transfer-Encoding "content-length: 2" at 17; Content-Length and Transfer-Encoding "Transfer-Encoding: chunked" at 42`},
		{head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi", `conflicting Content-Length "Content-Length: 2" at 17; conflicting Content-Length "Content-Length: 3" at 36`},
		{head + "Transfer-Encoding: gzip\r\n\r\n", `Transfer-Encoding without chunked at its end "Transfer-Encoding: gzip" at 17`},
		{"HTTP/1.1 204 N\r\nContent-Length: 0\r\n\r\n", `framing field in a message without a body "Content-Length: 0" at 16`},
		{"HTTP/1.1 100 C\r\n\r\n" + head + "A : 1\r\n\r\n", `space before colon " " at 36`},
		{chunkedHead + "2 \r\nhi\r\nzz\r\n", `malformed chunk size "z" at 55; white space after a chunk size " " at 48`},
		{chunkedHead + "2\r\nhi!\r\n", `chunk data not followed by CRLF "!" at 52`},
		{chunkedHead + "1\nx\n0\n\n", `bare LF "\n" at 48; bare LF "\n" at 50; bare LF "\n\n" at 52`},
		{chunkedHead + "1\r\nx\r\n0\r\nA : 1\r\n\n", `bare LF "\n" at 63; space before colon " " at 57`},
		{chunkedHead + strings.Repeat("1\nx\r\n", 9) + "0\r\n\r\n", `bare LF "\n" at 48; bare LF "\n" at 53; bare LF "\n" at 58; bare LF "\n" at 63`},
	} {
		_, m, _ := ParseResponse([]byte(c.raw), "POST", true)
		if m == nil {
			t.Errorf("%q: no message", c.raw)
			continue
		}
		if got := placesText(c.raw, m.FaultsAt([]byte(c.raw))); got != c.want {
			t.Errorf("%q:\ngot  %s\nwant %s", c.raw, got, c.want)
		}
	}
	m, _ := ParseRequest([]byte("GET /a b HTTP/1.1 \r\nX : 1\r\n\r\n"))
	if got := placesText("GET /a b HTTP/1.1 \r\nX : 1\r\n\r\n", m.FaultsAt([]byte("GET /a b HTTP/1.1 \r\nX : 1\r\n\r\n"))); got != `white space in the start line "GET /a b HTTP/1.1 " at 0; space before colon " " at 21` {
		t.Error(got)
	}
}

func placesText(raw string, list []Fault) string {
	var out []string
	for _, f := range list {
		out = append(out, fmt.Sprintf("%s %q at %d", f.Name, raw[f.At.Off:f.At.End()], f.At.Off))
	}
	return strings.Join(out, "; ")
}

// TestFaultsAtEveryCut holds, for all responses and requests of the tables and every beginning of them, that each fault has
// a place, that places lie inside the bytes, and that no other fault has one.
func TestFaultsAtEveryCut(t *testing.T) {
	for _, c := range responses {
		for n := range len(c.raw) + 1 {
			if interim, m, _ := ParseResponse([]byte(c.raw[:n]), c.method, c.closed); m != nil {
				checkPlaces(t, c.raw[:n], m)
				for i := range interim {
					checkPlaces(t, c.raw[:n], &interim[i])
				}
			}
		}
	}
	for _, c := range requests {
		for n := range len(c.raw) + 1 {
			if m, _ := ParseRequest([]byte(c.raw[:n])); m != nil {
				checkPlaces(t, c.raw[:n], m)
			}
		}
	}
}

func checkPlaces(t testing.TB, raw string, m *Message) {
	t.Helper()
	var named []string
	for _, f := range m.FaultsAt([]byte(raw)) {
		if f.At.Len <= 0 || f.At.Off < m.Off || f.At.End() > min(m.End+1, len(raw)) {
			t.Errorf("%q: %s at %v, the message is %d to %d", raw, f.Name, f.At, m.Off, m.End)
		}
		if !slices.Contains(named, f.Name) {
			named = append(named, f.Name)
		}
	}
	if !slices.Equal(named, m.Faults) {
		t.Errorf("%q: places of %q, faults %q", raw, named, m.Faults)
	}
}
