package wire

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// chunkedHead is 47 bytes long, with the blank line.
const chunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

// The wire shapes that relays and parsers are known to trip over. want is the heads, the payload in quotes, what is left,
// and the faults.
var responses = []struct {
	name   string
	method string
	raw    string
	closed bool
	want   string
}{
	{"plain", "POST", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", false, `200 length=2 "hi" complete`},
	{"odd order and case of fields", "POST", "HTTP/1.1 200 OK\r\nx-B: 1\r\ncontent-LENGTH: 2\r\nA: 2\r\n\r\nhi", false, `200 length=2 "hi" complete`},
	{"reason of its own", "POST", "HTTP/1.1 200 Fine By Me\r\nContent-Length: 0\r\n\r\n", false, `200 length=0 "" complete`},
	{"no reason", "POST", "HTTP/1.1 202 \r\nContent-Length: 0\r\n\r\n", false, `202 length=0 "" complete`},
	{"no reason and no space", "POST", "HTTP/1.1 202\r\nContent-Length: 0\r\n\r\n", false, `202 length=0 (no space after the status code) "" complete`},
	{"two spaces", "POST", "HTTP/1.1  200 OK\r\nContent-Length: 0\r\n\r\n", false, `200 length=0 (white space in the start line) "" complete`},
	{"reason in Latin-1", "POST", "HTTP/1.1 200 \xfcber\r\nContent-Length: 0\r\n\r\n", false, `200 length=0 "" complete`},
	{"no fields", "POST", "HTTP/1.1 200 OK\r\n\r\nhi", true, `200 close "hi" complete`},
	{"field without value", "POST", "HTTP/1.1 200 OK\r\nA:\r\nContent-Length:2\r\n\r\nhi", false, `200 length=2 "hi" complete`},
	{"chunk extensions", "POST", chunkedHead + "2;a;b=\"c\"\r\nhi\r\n0;last\r\n\r\n", false, `200 chunks "hi" complete`},
	{"leading zeros", "POST", chunkedHead + "00000000000000000002\r\nhi\r\n000\r\n\r\n", false, `200 chunks "hi" complete`},
	{"upper-case size", "POST", chunkedHead + "0A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n", false, `200 chunks "01234567890123456789" complete`},
	{"chunks of one byte", "POST", chunkedHead + "1\r\nh\r\n1\r\ni\r\n0\r\n\r\n", false, `200 chunks "hi" complete`},
	{"no chunk", "POST", chunkedHead + "0\r\n\r\n", false, `200 chunks "" complete`},
	{"announced trailers", "POST", "HTTP/1.1 200 OK\r\nTrailer: X\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX: 1\r\n\r\n", false, `200 chunks "hi" X=1 complete`},
	{"trailers without announcement", "POST", chunkedHead + "2\r\nhi\r\n0\r\nx-A: 1\r\nB: 2\r\n\r\n", false, `200 chunks "hi" x-A=1 B=2 complete`},
	{"trailer that is no field", "POST", chunkedHead + "0\r\nfoo\r\n\r\n", false, `200 chunks "" complete (field line without a colon)`},
	{"line ends in chunks", "POST", chunkedHead + "4\r\n\r\n\r\n\r\n0\r\n\r\n", false, `200 chunks "\r\n\r\n" complete`},
	{"bare LF in chunks", "POST", chunkedHead + "2\nhi\n0\nA: 1\n\n", false, `200 chunks "hi" A=1 complete (bare LF)`},
	{"103", "GET", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", false, `103; 200 length=2 "hi" complete`},
	{"100 not asked for", "GET", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", false, `100; 200 length=2 "hi" complete`},
	{"102 with a length", "GET", "HTTP/1.1 102 Processing\r\nContent-Length: 2\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", false,
		`102 (framing field in a message without a body); 200 length=2 "hi" complete`},
	{"only a 100", "GET", "HTTP/1.1 100 Continue\r\n\r\n", true, `100; nothing`},
	{"101", "GET", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\x81\x05hello", false, `101 tunnel "" complete tail="\x81\x05hello"`},
	{"2xx to CONNECT", "CONNECT", "HTTP/1.1 200 OK\r\n\r\n\x16\x03", false, `200 tunnel "" complete tail="\x16\x03"`},
	{"407 to CONNECT", "CONNECT", "HTTP/1.1 407 Who\r\nContent-Length: 2\r\n\r\nhi", false, `407 length=2 "hi" complete`},
	{"HTTP/1.0", "GET", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", false, `200 length=2 "hi" complete`},
	{"HTTP/1.0 until close", "GET", "HTTP/1.0 200 OK\r\n\r\nhi", true, `200 close "hi" complete`},
	{"HTTP/1.0 with chunks", "GET", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", false, `200 chunks (Transfer-Encoding in HTTP/1.0) "hi" complete`},
	{"HTTP/2.0 in text", "GET", "HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", false, `200 length=2 (HTTP version neither 1.0 nor 1.1) "hi" complete`},
	{"obs-fold", "GET", "HTTP/1.1 200 OK\r\nA: 1\r\n  2\r\n\t\r\n\t3 \r\nContent-Length: 2\r\n\r\nhi", false, `200 length=2 (obs-fold) "hi" complete`},
	{"obs-fold of the length", "GET", "HTTP/1.1 200 OK\r\nContent-Length:\r\n 2\r\n\r\nhi", false, `200 length=2 (obs-fold) "hi" complete`},
	{"obs-fold before any field", "GET", "HTTP/1.1 200 OK\r\n A: 1\r\nContent-Length: 2\r\n\r\nhi", false, `200 length=2 (obs-fold) (continuation line without a field) "hi" complete`},
	{"bare LF", "GET", "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", false, `200 length=2 (bare LF) "hi" complete`},
	{"bare LF once", "GET", "HTTP/1.1 200 OK\r\nA: 1\nContent-Length: 2\r\n\r\nhi", false, `200 length=2 (bare LF) "hi" complete`},
	{"LF CR LF", "GET", "HTTP/1.1 200 OK\nContent-Length: 2\n\r\nhi", false, `200 length=2 (bare LF) "hi" complete`},
	{"bare CR", "GET", "HTTP/1.1 200 OK\r\nA: 1\r2\r\nContent-Length: 2\r\n\r\nhi", false, `200 length=2 (bare CR) "hi" complete`},
	{"CR CR LF", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\r\n\r\nhi", false, `200 length=2 (field line without a colon) "hi" complete`},
	{"NUL in a value", "GET", "HTTP/1.1 200 OK\r\nA: 1\x002\r\nContent-Length: 2\r\n\r\nhi", false, `200 length=2 (control character) "hi" complete`},
	{"DEL in a long value", "GET", "HTTP/1.1 200 OK\r\nA: 123456789\x7fabcdef\r\nContent-Length: 2\r\n\r\nhi", false, `200 length=2 (control character) "hi" complete`},
	{"space before colon", "GET", "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nhi", false, `200 length=2 (space before colon) "hi" complete`},
	{"no colon", "GET", "HTTP/1.1 200 OK\r\nfoo\r\nContent-Length: 2\r\n\r\nhi", false, `200 length=2 (field line without a colon) "hi" complete`},
	{"no name", "GET", "HTTP/1.1 200 OK\r\n: x\r\nContent-Length: 2\r\n\r\nhi", false, `200 length=2 (invalid character in a field name) "hi" complete`},
	{"space in a name", "GET", "HTTP/1.1 200 OK\r\nA B: x\r\nContent-Length: 2\r\n\r\nhi", false, `200 length=2 (invalid character in a field name) "hi" complete`},
	{"empty lines first", "GET", "\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", false, `200 length=2 (empty line before the start line) "hi" complete`},
	{"length and chunks", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", false,
		`200 chunks (Content-Length and Transfer-Encoding) "hi" complete`},
	{"length and gzip until close", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: gzip\r\n\r\nhi", true,
		`200 close (Content-Length and Transfer-Encoding) (Transfer-Encoding without chunked at its end) "hi" complete`},
	{"gzip, chunked", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: Chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", false, `200 chunks (transfer coding before chunked) "hi" complete`},
	{"chunked, gzip", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\nhi", true, `200 close (Transfer-Encoding without chunked at its end) "hi" complete`},
	{"chunked, chunked", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked,, chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", false, `200 chunks (chunked twice) "hi" complete`},
	{"chunked;q=1", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked ;q=1\r\n\r\n2\r\nhi\r\n0\r\n\r\n", false, `200 chunks (parameters of chunked) "hi" complete`},
	{"xchunked", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\nhi", true, `200 close (Transfer-Encoding without chunked at its end) "hi" complete`},
	{"empty Transfer-Encoding", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n\r\nhi", true, `200 close (Transfer-Encoding without chunked at its end) "hi" complete`},
	{"equal lengths", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2, 2\r\n\r\nhi", false, `200 length=2 (repeated Content-Length) "hi" complete`},
	{"lengths that differ", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi", false, `200 unframable (conflicting Content-Length) "" incomplete tail="hi"`},
	{"list of lengths that differ", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\nhi", true, `200 unframable (conflicting Content-Length) "" incomplete tail="hi"`},
	{"length with a sign", "GET", "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nhi", false, `200 unframable (invalid Content-Length) "" incomplete tail="hi"`},
	{"negative length", "GET", "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nhi", false, `200 unframable (invalid Content-Length) "" incomplete tail="hi"`},
	{"length in hex", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 0x2\r\n\r\nhi", false, `200 unframable (invalid Content-Length) "" incomplete tail="hi"`},
	{"empty length", "GET", "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\nhi", false, `200 unframable (invalid Content-Length) "" incomplete tail="hi"`},
	{"length with leading zeros", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 00000000000000000000002\r\n\r\nhi", false, `200 length=2 "hi" complete`},
	{"greatest length", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nhi", false, `200 length=9223372036854775807 "hi" incomplete`},
	{"length of 2^63", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\nhi", false, `200 unframable (invalid Content-Length) "" incomplete tail="hi"`},
	{"HEAD", "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", false, `200 "" complete tail="hi"`},
	{"HEAD with chunks", "HEAD", chunkedHead, false, `200 "" complete`},
	{"204 with a length", "GET", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", false, `204 (framing field in a message without a body) "" complete`},
	{"204 with chunks", "GET", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", false,
		`204 (framing field in a message without a body) "" complete tail="0\r\n\r\n"`},
	{"304 with a length", "GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\n", false, `304 "" complete`},
	{"205 with chunks", "GET", "HTTP/1.1 205 Reset\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", false, `205 chunks "" complete`},
	{"bytes behind a length", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi\r\n", false, `200 length=2 "hi" complete tail="\r\n"`},
	{"bytes behind chunks", "GET", chunkedHead + "0\r\n\r\nextra", false, `200 chunks "" complete tail="extra"`},
	{"second response", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", true, `200 length=0 "" complete tail="HTTP/1.1 200 OK\r\n\r\n"`},
	{"status 99", "GET", "HTTP/1.1 099 Low\r\n\r\n", false, `nothing tail="HTTP/1.1 099 Low\r\n\r\n"`},
	{"status 999", "GET", "HTTP/1.1 999 High\r\nContent-Length: 0\r\n\r\n", false, `999 length=0 "" complete`},
	{"status of four digits", "GET", "HTTP/1.1 2000 OK\r\n\r\n", false, `nothing tail="HTTP/1.1 2000 OK\r\n\r\n"`},
	{"status with letters", "GET", "HTTP/1.1 2OO OK\r\n\r\n", false, `nothing tail="HTTP/1.1 2OO OK\r\n\r\n"`},
	{"no status", "GET", "HTTP/1.1\r\n\r\n", false, `nothing tail="HTTP/1.1\r\n\r\n"`},
	{"version without minor", "GET", "HTTP/2 200\r\n\r\n", false, `nothing tail="HTTP/2 200\r\n\r\n"`},
	{"lower-case http", "GET", "http/1.1 200 OK\r\n\r\n", false, `nothing tail="http/1.1 200 OK\r\n\r\n"`},
	{"ICY", "GET", "ICY 200 OK\r\n\r\n", false, `nothing tail="ICY 200 OK\r\n\r\n"`},
	{"page without a head", "GET", "<html>hi</html>", true, `nothing tail="<html>hi</html>"`},
	{"nothing", "GET", "", true, `nothing`},
	{"garbage behind a 100", "GET", "HTTP/1.1 100 Continue\r\n\r\noops", false, `100; nothing tail="oops"`},

	{"cut in the head", "GET", "HTTP/1.1 200 OK\r\nConte", true, `nothing tail="HTTP/1.1 200 OK\r\nConte"`},
	{"cut before the blank line", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", true, `nothing tail="HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"`},
	{"cut in a body of known length", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhi", true, `200 length=5 "hi" incomplete`},
	{"cut before the body", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true, `200 length=5 "" incomplete`},
	{"cut in a chunk", "GET", chunkedHead + "5\r\nhi", true, `200 chunks "hi" incomplete`},
	{"cut between chunks", "GET", chunkedHead + "2\r\nhi\r\n", true, `200 chunks "hi" incomplete`},
	{"cut behind chunk data", "GET", chunkedHead + "2\r\nhi", true, `200 chunks "hi" incomplete`},
	{"cut in a chunk size", "GET", chunkedHead + "2\r\nhi\r\n5", true, `200 chunks "hi" incomplete`},
	{"cut before the last blank line", "GET", chunkedHead + "2\r\nhi\r\n0\r\n", true, `200 chunks "hi" incomplete`},
	{"cut in a trailer", "GET", chunkedHead + "2\r\nhi\r\n0\r\nA: 1\r\nB:", true, `200 chunks "hi" A=1 incomplete`},
	{"until close, still open", "GET", "HTTP/1.1 200 OK\r\n\r\nhi", false, `200 close "hi" incomplete`},

	{"empty chunk size", "GET", chunkedHead + "\r\nhi\r\n", false, `200 chunks "" incomplete tail="\r\nhi\r\n" (malformed chunk size)`},
	{"only an extension", "GET", chunkedHead + ";a\r\nhi", false, `200 chunks "" incomplete tail=";a\r\nhi" (malformed chunk size)`},
	{"chunk size in words", "GET", chunkedHead + "2\r\nhi\r\ntwo\r\nhi\r\n", false, `200 chunks "hi" incomplete tail="two\r\nhi\r\n" (malformed chunk size)`},
	{"chunk size with a prefix", "GET", chunkedHead + "0x2\r\nhi\r\n", false, `200 chunks "" incomplete tail="x2\r\nhi\r\n" (malformed chunk size)`},
	{"chunk size with a sign", "GET", chunkedHead + "-2\r\nhi\r\n", false, `200 chunks "" incomplete tail="-2\r\nhi\r\n" (malformed chunk size)`},
	{"space before a chunk size", "GET", chunkedHead + " 2\r\nhi\r\n", false, `200 chunks "" incomplete tail=" 2\r\nhi\r\n" (malformed chunk size)`},
	{"space behind a chunk size", "GET", chunkedHead + "2 \t\r\nhi\r\n0 ;x\r\n\r\n", false, `200 chunks "hi" complete (white space after a chunk size)`},
	{"space within a chunk size", "GET", chunkedHead + "0 2\r\nhi\r\n", false, `200 chunks "" incomplete tail="2\r\nhi\r\n" (malformed chunk size) (white space after a chunk size)`},
	{"greatest chunk", "GET", chunkedHead + "7fffffffffffffff\r\nhi", false, `200 chunks "hi" incomplete`},
	{"chunk of 2^63", "GET", chunkedHead + "8000000000000000\r\nhi", false, `200 chunks "" incomplete tail="0\r\nhi" (malformed chunk size)`},
	{"chunk of 2^64", "GET", chunkedHead + "100000000000000002\r\nhi", false, `200 chunks "" incomplete tail="02\r\nhi" (malformed chunk size)`},
	{"CR in a chunk-size line", "GET", chunkedHead + "2\r;a\r\nhi", false, `200 chunks "" incomplete tail=";a\r\nhi" (malformed chunk size)`},
	{"chunk longer than its size", "GET", chunkedHead + "2\r\nhi!\r\n0\r\n\r\n", false, `200 chunks "hi" incomplete tail="!\r\n0\r\n\r\n" (chunk data not followed by CRLF)`},
	{"chunk followed by CR", "GET", chunkedHead + "2\r\nhi\r0\r\n\r\n", false, `200 chunks "hi" incomplete tail="0\r\n\r\n" (chunk data not followed by CRLF)`},
}

func TestParseResponse(t *testing.T) {
	for _, tt := range responses {
		t.Run(tt.name, func(t *testing.T) {
			raw := []byte(tt.raw)
			interim, final, tail := ParseResponse(raw, tt.method, tt.closed)
			if got := responseText(raw, interim, final, tail); got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
			if final != nil {
				checkSpans(t, raw, final)
			}
			for cut := range len(raw) + 1 {
				agree(t, raw, tt.method, tt.closed, raw[:cut], raw[cut:])
			}
			single := make([][]byte, len(raw))
			for i := range raw {
				single[i] = raw[i : i+1]
			}
			agree(t, raw, tt.method, tt.closed, single...)
		})
	}
}

func responseText(raw []byte, interim []Message, final *Message, tail Span) string {
	var sb strings.Builder
	for i := range interim {
		sb.WriteString(headText(&interim[i].Head) + "; ")
	}
	if final == nil {
		sb.WriteString("nothing")
	} else {
		sb.WriteString(messageText(raw, final))
	}
	writeTail(&sb, raw, final, tail)
	return sb.String()
}

func messageText(raw []byte, m *Message) string {
	var sb strings.Builder
	fmt.Fprintf(&sb, "%s %q", headText(&m.Head), m.Payload(raw))
	for _, f := range m.Trailers {
		fmt.Fprintf(&sb, " %s=%s", f.Name, f.Value)
	}
	if m.Complete {
		sb.WriteString(" complete")
	} else {
		sb.WriteString(" incomplete")
	}
	return sb.String()
}

// writeTail adds the bytes that belong to no message, and the faults behind the head.
func writeTail(sb *strings.Builder, raw []byte, m *Message, tail Span) {
	if tail.Len > 0 {
		fmt.Fprintf(sb, " tail=%q", raw[tail.Off:tail.End()])
	}
	if m == nil {
		return
	}
	known := map[string]bool{}
	for _, f := range m.Head.Faults {
		known[f] = true
	}
	for _, f := range m.Faults {
		if !known[f] {
			fmt.Fprintf(sb, " (%s)", f)
		}
	}
}

// checkSpans checks that every span of the message names the bytes it should.
func checkSpans(t *testing.T, raw []byte, m *Message) {
	t.Helper()
	for _, f := range append(m.Fields[:len(m.Fields):len(m.Fields)], m.Trailers...) {
		at := raw[m.Off+f.At.Off : m.Off+f.At.End()]
		if got := strings.Join(strings.Fields(string(at)), " "); got != strings.Join(strings.Fields(f.Value), " ") {
			t.Errorf("field %s: At spans %q, the value is %q", f.Name, at, f.Value)
		}
	}
	payload := m.Payload(raw)
	for i := range payload {
		if off := m.RawOffset(i); raw[off] != payload[i] {
			t.Errorf("RawOffset(%d) = %d: that is %q, not %q", i, off, raw[off], payload[i])
		}
	}
	if end := m.RawOffset(len(payload)); len(payload) > 0 && end != m.RawOffset(len(payload)-1)+1 {
		t.Errorf("RawOffset at the end = %d", end)
	}
}

// agree checks that a Slicer, fed parts, finds in a response what ParseResponse finds in the whole.
func agree(t testing.TB, raw []byte, method string, closed bool, parts ...[]byte) {
	t.Helper()
	interim, final, tail := ParseResponse(raw, method, closed)
	var want []*Head
	for i := range interim {
		want = append(want, &interim[i].Head)
	}
	if final != nil {
		want = append(want, &final.Head)
	}
	var s Slicer
	if method != "" {
		s.Feed(ToServer, []byte(method+" / HTTP/1.1\r\n\r\n"))
	}
	var got []*Head
	done, opaque := false, 0
	take := func(pieces []Piece) {
		for _, p := range pieces {
			if p.Head != nil {
				got = append(got, p.Head.Clone())
			}
			if p.Opaque {
				opaque += p.N
			}
			done = done || p.Done
		}
	}
	for _, p := range parts {
		take(s.Feed(ToClient, p))
	}
	if closed {
		take(s.Close(ToClient))
	}
	if len(got) != len(want) {
		t.Fatalf("cut into %q: %d heads, ParseResponse found %d", parts, len(got), len(want))
	}
	for i := range got {
		if !sameHead(got[i], want[i]) {
			t.Fatalf("cut into %q: head %+v, ParseResponse found %+v", parts, got[i], want[i])
		}
	}
	if complete := final != nil && final.Complete; done != complete {
		t.Fatalf("cut into %q: done %v, ParseResponse says %v", parts, done, complete)
	}
	if final != nil && opaque != tail.Len {
		t.Fatalf("cut into %q: %d opaque bytes, ParseResponse found %d", parts, opaque, tail.Len)
	}
}

func sameHead(a, b *Head) bool {
	x, y := *a, *b
	if len(x.Fields) == 0 && len(y.Fields) == 0 {
		x.Fields, y.Fields = nil, nil
	}
	return reflect.DeepEqual(x, y)
}

var requests = []struct {
	name string
	raw  string
	want string
}{
	{"GET", "GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n", `GET /a?b=c "" complete`},
	{"POST", "POST /mcp HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", `POST /mcp length=2 "{}" complete`},
	{"POST without a length", "POST /mcp HTTP/1.1\r\n\r\n{}", `POST /mcp "" complete tail="{}"`},
	{"chunks with an extension", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2;x=1\r\n{}\r\n0\r\n\r\n", `POST / chunks "{}" complete`},
	{"length and chunks", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n", `POST / chunks (Content-Length and Transfer-Encoding) "" complete`},
	{"gzip alone", "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\nhi", `POST / unframable (Transfer-Encoding without chunked at its end) "" incomplete tail="hi"`},
	{"lengths that differ", "POST / HTTP/1.1\r\nContent-Length: 1, 2\r\n\r\nhi", `POST / unframable (conflicting Content-Length) "" incomplete tail="hi"`},
	{"HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", `GET / "" complete`},
	{"HTTP/1.2", "GET / HTTP/1.2\r\n\r\n", `GET / (HTTP version neither 1.0 nor 1.1) "" complete`},
	{"asterisk", "OPTIONS * HTTP/1.1\r\n\r\n", `OPTIONS * "" complete`},
	{"absolute target", "GET http://a/b HTTP/1.1\r\n\r\n", `GET http://a/b "" complete`},
	{"method of its own", "x!y /a HTTP/1.1\r\n\r\n", `x!y /a "" complete`},
	{"space in the target", "GET /a b HTTP/1.1\r\n\r\n", `GET /a b (white space in the start line) "" complete`},
	{"two spaces", "GET  /a  HTTP/1.1\r\n\r\n", `GET /a (white space in the start line) "" complete`},
	{"space behind the version", "GET /a HTTP/1.1 \r\n\r\n", `GET /a (white space in the start line) "" complete`},
	{"control character in the target", "GET /\x01 HTTP/1.1\r\n\r\n", "GET /\x01 (control character) \"\" complete"},
	{"bare LF", "GET / HTTP/1.1\nHost: a\n\n", `GET / (bare LF) "" complete`},
	{"empty line first", "\r\nGET / HTTP/1.1\r\n\r\n", `GET / (empty line before the start line) "" complete`},
	{"empty line behind", "GET / HTTP/1.1\r\n\r\n\r\n", `GET / "" complete tail="\r\n"`},
	{"only empty lines", "\r\n\r\n", `nothing tail="\r\n\r\n"`},
	{"CR that ends no line", "\rGET / HTTP/1.1\r\n\r\n", `nothing tail="\rGET / HTTP/1.1\r\n\r\n"`},
	{"no target", "GET HTTP/1.1\r\n\r\n", `nothing tail="GET HTTP/1.1\r\n\r\n"`},
	{"only spaces for a target", "GET   HTTP/1.1\r\n\r\n", `nothing tail="GET   HTTP/1.1\r\n\r\n"`},
	{"no version", "GET /\r\n\r\n", `nothing tail="GET /\r\n\r\n"`},
	{"space first", " GET / HTTP/1.1\r\n\r\n", `nothing tail=" GET / HTTP/1.1\r\n\r\n"`},
	{"colon in the method", "GET: / HTTP/1.1\r\n\r\n", `nothing tail="GET: / HTTP/1.1\r\n\r\n"`},
	{"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", `nothing tail="PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"`},
	{"TLS", "\x16\x03\x01\x00", `nothing tail="\x16\x03\x01\x00"`},
	{"nothing", "", `nothing`},
}

func TestParseRequest(t *testing.T) {
	for _, tt := range requests {
		t.Run(tt.name, func(t *testing.T) {
			raw := []byte(tt.raw)
			m, tail := ParseRequest(raw)
			if got := responseText(raw, nil, m, tail); got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
			if m != nil {
				checkSpans(t, raw, m)
			}
			for cut := range len(raw) + 1 {
				agreeRequest(t, m, raw[:cut], raw[cut:])
			}
		})
	}
}

// agreeRequest checks that a Slicer, fed parts, finds the message that ParseRequest found.
func agreeRequest(t testing.TB, want *Message, parts ...[]byte) {
	t.Helper()
	var s Slicer
	var head *Head
	done := false
	for _, part := range parts {
		for _, p := range s.Feed(ToServer, part) {
			if p.Seq == 1 && p.Head != nil {
				head = p.Head.Clone()
			}
			done = done || p.Seq == 1 && p.Done
		}
	}
	if (head == nil) != (want == nil) || want != nil && (!sameHead(head, &want.Head) || done != want.Complete) {
		t.Fatalf("cut into %q: head %+v, done %v; ParseRequest found %+v", parts, head, done, want)
	}
}

func TestFold(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nA:  1\r\n  2 2\r\n\t\r\n\t3 \r\nB:\r\n x\r\nC: \r\n\t \r\nD: y\r\n\r\n"
	_, m, _ := ParseResponse([]byte(head), "GET", true)
	want := []struct{ name, value, at string }{
		{"A", "1 2 2 3", "1\r\n  2 2\r\n\t\r\n\t3"},
		{"B", "x", "x"},
		{"C", "", ""},
		{"D", "y", "y"},
	}
	if len(m.Fields) != len(want) {
		t.Fatalf("got %d fields: %+v", len(m.Fields), m.Fields)
	}
	for i, w := range want {
		f := m.Fields[i]
		if at := head[f.At.Off:f.At.End()]; f.Name != w.name || f.Value != w.value || at != w.at {
			t.Errorf("field %d: %q %q at %q, want %q %q at %q", i, f.Name, f.Value, at, w.name, w.value, w.at)
		}
	}
}

func TestLookup(t *testing.T) {
	m, _ := ParseRequest([]byte("GET / HTTP/1.1\r\nMcp-Session-Id: a\r\nMCP-SESSION-ID: b\r\nEmpty:\r\n\r\n"))
	if v, ok := m.Lookup("mcp-session-id"); v != "a" || !ok {
		t.Errorf("got %q, %v; want the first field", v, ok)
	}
	if v, ok := m.Lookup("empty"); v != "" || !ok {
		t.Errorf("got %q, %v for an empty field", v, ok)
	}
	if v, ok := m.Lookup("Host"); ok || m.Get("Host") != "" {
		t.Errorf("got %q for a field that is not there", v)
	}
}

func TestPayloadIsNotCopied(t *testing.T) {
	raw := []byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
	_, m, _ := ParseResponse(raw, "GET", false)
	if p := m.Payload(raw); &p[0] != &raw[len(raw)-2] {
		t.Error("the payload of a message with one span is a copy")
	}
	if off := m.RawOffset(0); off != len(raw)-2 {
		t.Errorf("RawOffset(0) = %d", off)
	}
	if _, m, _ := ParseResponse(raw[:len(raw)-2], "GET", false); m.RawOffset(7) != m.Len {
		t.Errorf("RawOffset in a message without payload = %d, want the end of the head", m.RawOffset(7))
	}
}
