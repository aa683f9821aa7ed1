package wire

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A step of a dialogue: bytes of one direction, or its end.
type step struct {
	dir   Dir
	bytes string
	close bool
}

func to(s string) step   { return step{dir: ToServer, bytes: s} }
func from(s string) step { return step{dir: ToClient, bytes: s} }

var (
	clientCloses = step{dir: ToServer, close: true}
	serverCloses = step{dir: ToClient, close: true}
)

// A finding is what a Slicer says of one direction. Runs are "SEQ:BYTES", opaque ones "SEQ~BYTES"; marks are "SEQ first",
// "SEQ done" and heads.
type finding struct {
	runs, marks []string
	heads       []*Head
}

func (f finding) String() string {
	return strings.Join(f.runs, " ") + " | " + strings.Join(f.marks, ", ")
}

// An observer adds up the pieces of a Slicer so that cuts no longer show.
type observer struct {
	t    testing.TB
	s    Slicer
	run  [2]Piece
	seen [2]finding
}

func (o *observer) step(st step) {
	if st.close {
		o.pieces(st.dir, o.s.Close(st.dir), 0)
		return
	}
	o.pieces(st.dir, o.s.Feed(st.dir, []byte(st.bytes)), len(st.bytes))
}

func (o *observer) pieces(d Dir, pieces []Piece, fed int) {
	o.t.Helper()
	for _, p := range pieces {
		if p.N < 0 || p.N == 0 && (p.Head != nil || p.First || !p.Done) || p.Seq < 1 || p.Opaque && (p.Head != nil || p.Done) {
			o.t.Fatalf("impossible piece %+v", p)
		}
		fed -= p.N
		f, run := &o.seen[d], &o.run[d]
		if p.Seq != run.Seq || p.Opaque != run.Opaque {
			o.flush(d)
			*run = Piece{Seq: p.Seq, Opaque: p.Opaque}
		}
		run.N += p.N
		if p.First {
			f.marks = append(f.marks, fmt.Sprintf("%d first", p.Seq))
		}
		if p.Head != nil {
			f.marks = append(f.marks, fmt.Sprintf("%d %s", p.Seq, headText(p.Head)))
			f.heads = append(f.heads, p.Head.Clone())
		}
		if p.Done {
			f.marks = append(f.marks, fmt.Sprintf("%d done", p.Seq))
		}
	}
	if fed != 0 {
		o.t.Fatalf("pieces %+v do not cover the bytes fed: %d left", pieces, fed)
	}
}

func (o *observer) flush(d Dir) {
	if r := o.run[d]; r.N > 0 {
		sep := ":"
		if r.Opaque {
			sep = "~"
		}
		o.seen[d].runs = append(o.seen[d].runs, fmt.Sprintf("%d%s%d", r.Seq, sep, r.N))
	}
	o.run[d] = Piece{}
}

func headText(h *Head) string {
	var sb strings.Builder
	if h.Status > 0 {
		fmt.Fprintf(&sb, "%d", h.Status)
	} else {
		fmt.Fprintf(&sb, "%s %s", h.Method, h.Target)
	}
	switch h.Framing {
	case ByLength:
		fmt.Fprintf(&sb, " length=%d", h.Length)
	case ByChunks:
		sb.WriteString(" chunks")
	case ByClose:
		sb.WriteString(" close")
	case Tunnel:
		sb.WriteString(" tunnel")
	case Unframable:
		sb.WriteString(" unframable")
	}
	for _, f := range h.Faults {
		fmt.Fprintf(&sb, " (%s)", f)
	}
	return sb.String()
}

// observe feeds a dialogue to a new Slicer.
func observe(t testing.TB, maxHead int, steps []step) [2]finding {
	t.Helper()
	o := observer{t: t, s: Slicer{MaxHead: maxHead}}
	for _, st := range steps {
		o.step(st)
	}
	o.flush(ToServer)
	o.flush(ToClient)
	return o.seen
}

const (
	get  = "GET / HTTP/1.1\r\nHost: a\r\n\r\n" // 27 bytes
	post = "POST /mcp HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}"
	ok   = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi" // 40 bytes
)

var dialogues = []struct {
	name    string
	steps   []step
	maxHead int
	request string
	respond string
}{
	{
		name:    "one exchange",
		steps:   []step{to(get), from(ok)},
		request: "1:27 | 1 first, 1 GET /, 1 done",
		respond: "1:40 | 1 first, 1 200 length=2, 1 done",
	},
	{
		name:    "two exchanges",
		steps:   []step{to(post), from(ok), to(get), from(ok)},
		request: "1:43 2:27 | 1 first, 1 POST /mcp length=2, 1 done, 2 first, 2 GET /, 2 done",
		respond: "1:40 2:40 | 1 first, 1 200 length=2, 1 done, 2 first, 2 200 length=2, 2 done",
	},
	{
		name:    "pipelined requests",
		steps:   []step{to(post + get + get), from(ok + ok + ok)},
		request: "1:43 2:27 3:27 | 1 first, 1 POST /mcp length=2, 1 done, 2 first, 2 GET /, 2 done, 3 first, 3 GET /, 3 done",
		respond: "1:40 2:40 3:40 | 1 first, 1 200 length=2, 1 done, 2 first, 2 200 length=2, 2 done, 3 first, 3 200 length=2, 3 done",
	},
	{
		name:    "pipelined HEAD and GET",
		steps:   []step{to("HEAD / HTTP/1.1\r\n\r\n" + get), from("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" + ok)},
		request: "1:19 2:27 | 1 first, 1 HEAD /, 1 done, 2 first, 2 GET /, 2 done",
		respond: "1:38 2:40 | 1 first, 1 200, 1 done, 2 first, 2 200 length=2, 2 done",
	},
	{
		name:    "interim responses, asked for or not",
		steps:   []step{to(get), from("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + ok)},
		request: "1:27 | 1 first, 1 GET /, 1 done",
		respond: "1:132 | 1 first, 1 103, 1 102, 1 100, 1 200 length=2, 1 done",
	},
	{
		name: "expect: 100-continue",
		steps: []step{to("PUT / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"), from("HTTP/1.1 100 Continue\r\n\r\n"),
			to("{}"), from(ok)},
		request: "1:61 | 1 first, 1 PUT / length=2, 1 done",
		respond: "1:65 | 1 first, 1 100, 1 200 length=2, 1 done",
	},
	{
		name:    "response before the request is whole",
		steps:   []step{to("POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\n{}"), from(ok), to("12345678" + get), from(ok)},
		request: "1:49 2:27 | 1 first, 1 POST / length=10, 1 done, 2 first, 2 GET /, 2 done",
		respond: "1:40 2:40 | 1 first, 1 200 length=2, 1 done, 2 first, 2 200 length=2, 2 done",
	},
	{
		name:    "response before the request's head is whole",
		steps:   []step{to("HEAD / HT"), from("HTTP/1.1 408 Late\r\nContent-Length: 2\r\n\r\nhi"), to("TP/1.1\r\n\r\n" + get), from(ok)},
		request: "1:19 2:27 | 1 first, 1 HEAD /, 1 done, 2 first, 2 GET /, 2 done",
		respond: "1:42 2:40 | 1 first, 1 408 length=2, 1 done, 2 first, 2 200 length=2, 2 done",
	},
	{
		name:    "response before any request",
		steps:   []step{from(ok), to(get), from(ok)},
		request: "1:27 | 1 first, 1 GET /, 1 done",
		respond: "1:40 1~40 | 1 first, 1 200 length=2, 1 done",
	},
	{
		name:    "first byte of the response before any request",
		steps:   []step{from(ok[:1]), to("HEAD / HTTP/1.1\r\n\r\n"), from(ok[1:38]), to(get), from(ok)},
		request: "1:19 2:27 | 1 first, 1 HEAD /, 1 done, 2 first, 2 GET /, 2 done",
		respond: "1:38 2:40 | 1 first, 1 200, 1 done, 2 first, 2 200 length=2, 2 done",
	},
	{
		name:    "banner of another protocol",
		steps:   []step{from("SSH-2.0-OpenSSH_9\r\n"), to("SSH-2.0-me\r\n")},
		request: "1:10 1~2 | 1 first",
		respond: "1~19 | 1 first",
	},
	{
		name:    "bytes after the end",
		steps:   []step{to(get), from(ok + "extra"), to(get), from(ok)},
		request: "1:27 2:27 | 1 first, 1 GET /, 1 done, 2 first, 2 GET /, 2 done",
		respond: "1:40 1~5 2:40 | 1 first, 1 200 length=2, 1 done, 2 first, 2 200 length=2, 2 done",
	},
	{
		name:    "a response nobody asked for",
		steps:   []step{to(get), from(ok + ok)},
		request: "1:27 | 1 first, 1 GET /, 1 done",
		respond: "1:40 1~40 | 1 first, 1 200 length=2, 1 done",
	},
	{
		name:    "body of a 204",
		steps:   []step{to(get), from("HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nhi")},
		request: "1:27 | 1 first, 1 GET /, 1 done",
		respond: "1:46 1~2 | 1 first, 1 204 (framing field in a message without a body), 1 done",
	},
	{
		name:    "upgrade",
		steps:   []step{to("GET /ws HTTP/1.1\r\nUpgrade: websocket\r\n\r\n"), from("HTTP/1.1 101 Switching Protocols\r\n\r\n\x81\x05hello"), to("\x81\x85mask" + get), from(ok)},
		request: "1:40 1~33 | 1 first, 1 GET /ws, 1 done",
		respond: "1:36 1~47 | 1 first, 1 101 tunnel, 1 done",
	},
	{
		name:    "connect",
		steps:   []step{to("CONNECT a:443 HTTP/1.1\r\n\r\n"), from("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\x16\x03"), to("\x16\x03\x01"), from("\x16")},
		request: "1:26 1~3 | 1 first, 1 CONNECT a:443, 1 done",
		respond: "1:38 1~3 | 1 first, 1 200 tunnel (framing field in a message without a body), 1 done",
	},
	{
		name:    "connect refused, and again",
		steps:   []step{to("CONNECT a:443 HTTP/1.1\r\n\r\nearly"), from("HTTP/1.1 407 Who\r\nContent-Length: 0\r\n\r\n"), to("CONNECT a:443 HTTP/1.1\r\n\r\n"), from("HTTP/1.1 200 OK\r\n\r\n"), to("GET")},
		request: "1:26 1~5 2:26 2~3 | 1 first, 1 CONNECT a:443, 1 done, 2 first, 2 CONNECT a:443, 2 done",
		respond: "1:39 2:19 | 1 first, 1 407 length=0, 1 done, 2 first, 2 200 tunnel, 2 done",
	},
	{
		name:    "upgrade while the request's body is on its way",
		steps:   []step{to("POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nab"), from("HTTP/1.1 101 Go\r\n\r\n"), to("cdxyz")},
		request: "1:42 1~3 | 1 first, 1 POST / length=4, 1 done",
		respond: "1:19 | 1 first, 1 101 tunnel, 1 done",
	},
	{
		name:    "request behind the one that opens a tunnel",
		steps:   []step{to(get + "GET /2 HT"), from("HTTP/1.1 101 Go\r\n\r\n"), to("TP/1.1\r\n\r\n")},
		request: "1:27 2:9 1~10 | 1 first, 1 GET /, 1 done, 2 first",
		respond: "1:19 | 1 first, 1 101 tunnel, 1 done",
	},
	{
		name:    "empty lines before and behind requests",
		steps:   []step{to("\r\n\n" + get + "\r\n" + post + "\r\n"), from(ok)},
		request: "1:30 1~2 2:43 2~2 | 1 first, 1 GET / (bare LF) (empty line before the start line), 1 done, 2 first, 2 POST /mcp length=2, 2 done",
		respond: "1:40 | 1 first, 1 200 length=2, 1 done",
	},
	{
		name:    "empty line behind a response",
		steps:   []step{to(get + get), from(ok + "\r\n" + ok + "\r\n")},
		request: "1:27 2:27 | 1 first, 1 GET /, 1 done, 2 first, 2 GET /, 2 done",
		respond: "1:40 2:42 2~2 | 1 first, 1 200 length=2, 1 done, 2 first, 2 200 length=2 (empty line before the start line), 2 done",
	},
	{
		name:    "TLS on a plain port",
		steps:   []step{to("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"), from("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\nno TLS here"), serverCloses},
		request: "1~11 | 1 first",
		respond: "1:58 | 1 first, 1 400 close, 1 done",
	},
	{
		name:    "HTTP/2 preface",
		steps:   []step{to("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04"), from("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")},
		request: "1:16 1~12 | 1 first",
		respond: "1:47 | 1 first, 1 400 length=0, 1 done",
	},
	{
		name:    "HTTP/0.9",
		steps:   []step{to("GET /\r\n"), from("<html>hello</html>"), serverCloses},
		request: "1:7 | 1 first",
		respond: "1~18 | 1 first",
	},
	{
		name:    "close-delimited",
		steps:   []step{to(get), from("HTTP/1.0 200 OK\r\n\r\nhello"), serverCloses},
		request: "1:27 | 1 first, 1 GET /, 1 done",
		respond: "1:24 | 1 first, 1 200 close, 1 done",
	},
	{
		name:    "close-delimited, still open",
		steps:   []step{to(get), from("HTTP/1.0 200 OK\r\n\r\nhello"), clientCloses},
		request: "1:27 | 1 first, 1 GET /, 1 done",
		respond: "1:24 | 1 first, 1 200 close",
	},
	{
		name:    "closed within a body of known length",
		steps:   []step{to(get), from(ok[:39]), serverCloses},
		request: "1:27 | 1 first, 1 GET /, 1 done",
		respond: "1:39 | 1 first, 1 200 length=2",
	},
	{
		name:    "bytes after a close",
		steps:   []step{to(get), clientCloses, to(get), from(ok), serverCloses, from(ok)},
		request: "1:27 1~27 | 1 first, 1 GET /, 1 done",
		respond: "1:40 1~40 | 1 first, 1 200 length=2, 1 done",
	},
	{
		name:    "chunked both ways",
		steps:   []step{to("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" + get), from("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0005;a=\"b;c\"\r\nhello\r\n1\r\n!\r\n00\r\nX: y\r\n\r\n" + ok)},
		request: "1:59 2:27 | 1 first, 1 POST / chunks, 1 done, 2 first, 2 GET /, 2 done",
		respond: "1:86 2:40 | 1 first, 1 200 chunks, 1 done, 2 first, 2 200 length=2, 2 done",
	},
	{
		name:    "malformed chunk size",
		steps:   []step{to(get + get), from("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n5x\r\nhello\r\n0\r\n\r\n" + ok)},
		request: "1:27 2:27 | 1 first, 1 GET /, 1 done, 2 first, 2 GET /, 2 done",
		respond: "1:55 1~55 | 1 first, 1 200 chunks",
	},
	{
		name:    "request with a malformed chunk",
		steps:   []step{to("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n" + get), from(ok)},
		request: "1:47 1~31 | 1 first, 1 POST / chunks",
		respond: "1:40 | 1 first, 1 200 length=2, 1 done",
	},
	{
		name:    "request that cannot be framed",
		steps:   []step{to("POST / HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{} "), from(ok)},
		request: "1:57 1~3 | 1 first, 1 POST / unframable (conflicting Content-Length)",
		respond: "1:40 | 1 first, 1 200 length=2, 1 done",
	},
	{
		name:    "response that cannot be framed",
		steps:   []step{to(get), from("HTTP/1.1 200 OK\r\nContent-Length: 0x2\r\n\r\nhi"), to(get), from(ok)},
		request: "1:27 2:27 | 1 first, 1 GET /, 1 done, 2 first, 2 GET /, 2 done",
		respond: "1:40 1~42 | 1 first, 1 200 unframable (invalid Content-Length)",
	},
	{
		name:    "head of just the greatest size",
		maxHead: 27,
		steps:   []step{to(get + get)},
		request: "1:27 2:27 | 1 first, 1 GET /, 1 done, 2 first, 2 GET /, 2 done",
		respond: " | ",
	},
	{
		name:    "head beyond the greatest size",
		maxHead: 26,
		steps:   []step{to(get), from(ok[:26]), from(ok[26:])},
		request: "1:26 1~1 | 1 first",
		respond: "1:26 1~14 | 1 first",
	},
	{
		name:    "garbage in place of a second request",
		steps:   []step{to(get + "{\"jsonrpc\":\"2.0\"}" + get), from(ok)},
		request: "1:27 2~44 | 1 first, 1 GET /, 1 done, 2 first",
		respond: "1:40 | 1 first, 1 200 length=2, 1 done",
	},
	{
		name:    "garbage in place of a second response",
		steps:   []step{to(get + get), from(ok + "HTTP/1.1 whatever\r\n" + ok)},
		request: "1:27 2:27 | 1 first, 1 GET /, 1 done, 2 first, 2 GET /, 2 done",
		respond: "1:40 2:19 2~40 | 1 first, 1 200 length=2, 1 done, 2 first",
	},
	{
		name: "heads that change from one to the next",
		steps: []step{
			to("GET /a HTTP/1.1\r\nHost: a\r\nA: 1\r\n\r\n" + "GET /a HTTP/1.1\r\nHost: a\r\nA: 1\r\n\r\n" + "GET /bcd HTTP/1.1\r\nHost: a\r\nA: 1\r\n\r\n"),
			from("HTTP/1.1 200 OK\r\nDate: 1\r\nContent-Length: 2\r\n\r\nhi" + "HTTP/1.1 200 OK\r\nDate: 22\r\nContent-Length: 3\r\n\r\nabc" + "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nDate: 1\r\n\r\nx"),
			to(post + get), from("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nDate: 1\r\nX:y\nZ: 1\r\n\r\nx" + ok)},
		request: "1:34 2:34 3:36 4:43 5:27 | 1 first, 1 GET /a, 1 done, 2 first, 2 GET /a, 2 done, 3 first, 3 GET /bcd, 3 done, " +
			"4 first, 4 POST /mcp length=2, 4 done, 5 first, 5 GET /, 5 done",
		respond: "1:49 2:51 3:48 4:58 5:40 | 1 first, 1 200 length=2, 1 done, 2 first, 2 200 length=3, 2 done, 3 first, 3 200 length=1, 3 done, " +
			"4 first, 4 200 length=1 (bare LF), 4 done, 5 first, 5 200 length=2, 5 done",
	},
}

func TestSlicer(t *testing.T) {
	for _, tt := range dialogues {
		t.Run(tt.name, func(t *testing.T) {
			want := [2]string{tt.request, tt.respond}
			whole := observe(t, tt.maxHead, tt.steps)
			check := func(t *testing.T, how string, steps []step) {
				t.Helper()
				for d, got := range observe(t, tt.maxHead, steps) {
					if got.String() != want[d] {
						t.Fatalf("%s: %s\n got %s\nwant %s", how, Dir(d), got, want[d])
					}
					if !slices.EqualFunc(got.heads, whole[d].heads, sameHead) {
						t.Fatalf("%s: %s: heads differ from those of the whole", how, Dir(d))
					}
				}
			}
			check(t, "whole", tt.steps)
			var single []step
			for i, st := range tt.steps {
				for cut := 1; cut < len(st.bytes); cut++ {
					steps := slices.Clone(tt.steps[:i])
					steps = append(steps, step{dir: st.dir, bytes: st.bytes[:cut]}, step{dir: st.dir, bytes: st.bytes[cut:]})
					check(t, fmt.Sprintf("step %d cut at byte %d", i, cut), append(steps, tt.steps[i+1:]...))
				}
				if st.close {
					single = append(single, st)
				}
				for k := range len(st.bytes) {
					single = append(single, step{dir: st.dir, bytes: st.bytes[k : k+1]})
				}
			}
			check(t, "byte by byte", single)
		})
	}
}

// Heads larger than what a Slicer keeps, and chunked framing beyond MaxHead.
func TestSlicerBounds(t *testing.T) {
	chunks := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, tt := range []struct {
		name    string
		respond string
		want    string
	}{
		{"chunk-size line", chunks + "1;" + strings.Repeat("x", 97) + "\n", "1:147 | 1 first, 1 200 chunks"},
		{"chunk-size line too long", chunks + "1;" + strings.Repeat("x", 98) + "\n", "1:147 1~1 | 1 first, 1 200 chunks"},
		{"trailers", chunks + "0\r\n" + strings.Repeat("x", 97) + "\n\r\n", "1:150 1~0 | 1 first, 1 200 chunks, 1 done"},
		{"trailers too long", chunks + "0\r\n" + strings.Repeat("x", 98) + "\n\r\n", "1:150 1~1 | 1 first, 1 200 chunks"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := strings.Replace(tt.want, " 1~0", "", 1)
			for cut := range len(tt.respond) {
				got := observe(t, 100, []step{to(get), from(tt.respond[:cut]), from(tt.respond[cut:])})
				if got[ToClient].String() != want {
					t.Fatalf("cut at byte %d:\n got %s\nwant %s", cut, got[ToClient], want)
				}
			}
		})
	}
}

func TestMaxPending(t *testing.T) {
	var s Slicer
	for i := range MaxPending {
		if p := s.Feed(ToServer, []byte(get)); len(p) != 1 || p[0].Seq != i+1 || !p[0].Done {
			t.Fatalf("request %d: %+v", i+1, p)
		}
	}
	if p := s.Feed(ToServer, []byte(get)); len(p) != 1 || p[0].Seq != MaxPending || !p[0].Opaque {
		t.Errorf("request beyond the bound: %+v", p)
	}
	if p := s.Feed(ToClient, []byte(ok+ok)); len(p) != 2 || p[1].Seq != 2 || !p[1].Done {
		t.Errorf("responses: %+v", p)
	}
}

// A Slicer must not grow with the number of heads, nor with heads that are larger than it keeps.
func TestSlicerKeepsLittle(t *testing.T) {
	var s Slicer
	large := "GET /" + strings.Repeat("x", 2*memoBytes) + " HTTP/1.1\r\n" + strings.Repeat("A: b\r\n", 2*memoFields) + "\r\n"
	for range 100 {
		s.Feed(ToServer, []byte(strings.Repeat(get, 100)+large[:7]))
		s.Feed(ToServer, []byte(large[7:]+large))
		s.Feed(ToClient, []byte(strings.Repeat(ok, 102)))
	}
	l := &s.to[ToServer]
	if cap(l.memo.raw) > 2*memoBytes || len(l.memo.slots) > memoSlots+102 || cap(l.buf) > 4*headWindow || len(s.methods) > 0 {
		t.Errorf("raw %d, slots %d, buffer %d, methods %d", cap(l.memo.raw), len(l.memo.slots), cap(l.buf), len(s.methods))
	}
	l.memo.fresh()
	for _, h := range l.memo.slots {
		if cap(h.Fields) > 2*memoFields {
			t.Errorf("room for %d fields is kept", cap(h.Fields))
		}
	}
	if len(l.memo.slots) > memoSlots {
		t.Errorf("%d heads are kept", len(l.memo.slots))
	}
}

func TestHeadsOfOneFeedAreApart(t *testing.T) {
	var s Slicer
	for range 3 {
		var heads []*Head
		for _, p := range s.Feed(ToServer, []byte("GET /1 HTTP/1.1\r\nA: 1\r\n\r\nGET /2 HTTP/1.1\r\nA: 2\r\n\r\nGET /2 HTTP/1.1\r\nA: 3\r\nB: 4\r\n\r\n")) {
			heads = append(heads, p.Head)
		}
		for i, want := range []string{"/1 1 ", "/2 2 ", "/2 3 4"} {
			if got := heads[i].Target + " " + heads[i].Get("A") + " " + heads[i].Get("B"); got != want {
				t.Errorf("head %d: %q, want %q", i, got, want)
			}
		}
	}
}
