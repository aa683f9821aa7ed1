package har

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/har/wire"
)

const (
	post = "POST /mcp HTTP/1.1\r\nHost: a.example\r\nContent-Length: 2\r\n\r\n{}"
	ok   = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
)

// exchange makes an exchange of which both sides were seen at once, and the ending behind all of it.
func exchange(request, response string, end Ending, notes ...string) *Exchange {
	x := &Exchange{N: 1, Conn: 1, Seq: 1, Started: noon, Request: Side{Raw: []byte(request)}, Response: Side{Raw: []byte(response)},
		End: end, EndOff: len(response), Notes: notes}
	FillDerived(x, "http://a.example")
	return x
}

func TestComplete(t *testing.T) {
	const (
		chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"
		byClose = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nhello"
	)
	for _, tt := range []struct {
		name              string
		request, response string
		end               Ending
		notes             []string
		want              Tri
		why               string
	}{
		{"whole", post, ok, EndKeep, nil, True, ""},
		{"whole, then reset", post, ok, EndRST, nil, True, ""},
		{"whole, recording stopped", post, ok, EndStopped, nil, True, ""},
		{"whole, then bytes", post + "xx", ok + "HTTP/1.1 200 OK\r\n\r\n", EndFIN, nil, True, ""},
		{"interim and whole", post, "HTTP/1.1 100 Continue\r\n\r\n" + ok, EndKeep, nil, True, ""},
		{"HEAD", "HEAD / HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", EndKeep, nil, True, ""},
		{"switched", "GET / HTTP/1.1\r\nUpgrade: x\r\n\r\n", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nabc", EndFIN, nil, True, ""},
		{"chunked whole", post, chunked + "0\r\n\r\n", EndKeep, nil, True, ""},

		{"by close, FIN", post, byClose, EndFIN, nil, True, ""},
		{"by close, FIN without close_notify", post, byClose, EndNoCloseNotify, nil, Unknown, "close_notify"},
		{"by close, reset", post, byClose, EndRST, nil, False, "the response's body is not whole: 5 bytes"},
		{"by close, client left", post, byClose, EndClientFIN, nil, False, "the response's body is not whole"},
		{"by close, stopped", post, byClose, EndStopped, nil, Unknown, "when the recording ended"},
		{"by length, FIN without close_notify", post, ok, EndNoCloseNotify, nil, True, ""},

		{"short of its length", post, ok[:len(ok)-1], EndFIN, nil, False, "1 of 2 bytes"},
		{"without last chunk", post, chunked, EndRST, nil, False, "2 bytes without the last chunk"},
		{"inside the head", post, "HTTP/1.1 200 OK\r\nCont", EndFIN, nil, False, "the response's head is not whole"},
		{"only interim", post, "HTTP/1.1 103 Early Hints\r\n\r\n", EndFIN, nil, False, "no response but interim ones"},
		{"no response", post, "", EndRST, nil, False, "there is no response"},
		{"silence", post, "", EndHang, nil, False, "there is no response"},
		{"client left", post, "", EndClientRST, nil, False, "there is no response"},
		{"refused", post, "", EndUnknown, []string{"upstream: refused"}, False, "there is no response: upstream: refused"},
		{"request cut", post[:len(post)-1], "", EndClientFIN, nil, False, "the request's body is not whole: 1 of 2 bytes"},
		{"request never sent", "POST / HTTP/1.1\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n", ok, EndKeep, nil, False, "0 of 9 bytes"},
		{"request head cut", "POST / HT", "", EndClientFIN, nil, False, "the request's head is not whole"},
		{"no request", "", ok, EndFIN, nil, False, "there is no request"},

		{"no response, stopped", post, "", EndStopped, nil, Unknown, "there is no response when the recording ended"},
		{"no response, unknown", post, "", EndUnknown, nil, Unknown, "how the exchange ended is not known"},
		{"file cut", post, ok[:len(ok)-1], EndUnknown, []string{"cut: the file ends here"}, Unknown, "1 of 2 bytes"},
		{"no ending yet", post, "", "", nil, Unknown, "is not known"},
		{"gap", post, ok, EndKeep, []string{"gap: 3 bytes before byte 9 of the response"}, Unknown, "gap: 3 bytes"},
		{"snaplen", post, ok, EndKeep, []string{"snaplen"}, Unknown, "snaplen"},
		{"missing start", post, ok, EndKeep, []string{"start"}, Unknown, "start"},
		{"conflict", post, ok, EndKeep, []string{"conflict"}, Unknown, "conflict"},
		{"inferred", post, ok, EndKeep, []string{"inferred"}, True, ""},
		{"other note", post, ok, EndKeep, []string{"gapless"}, True, ""},
		{"unframable response", post, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", EndFIN, nil, Unknown, "where the response ends cannot be known"},
		{"unframable request", "POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n{}", ok, EndKeep, nil, Unknown, "where the request ends cannot be known"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := exchange(tt.request, tt.response, tt.end, tt.notes...).View()
			if v.Complete != tt.want || !strings.Contains(v.Why, tt.why) || (v.Why == "") != (tt.want == True) {
				t.Errorf("complete is %v (%s), want %v (%s)", v.Complete, v.Why, tt.want, tt.why)
			}
		})
	}
}

// TestLate moves the client's leaving over all bytes of an answer: only what came before is looked at.
func TestLate(t *testing.T) {
	for off := range len(ok) + 1 {
		for _, end := range []Ending{EndClientFIN, EndClientRST} {
			x := exchange(post, ok, end)
			x.EndOff = off
			v := x.View()
			if v.Late != len(ok)-off || (v.Complete == True) != (off == len(ok)) || string(x.Evidence()) != ok[:off] {
				t.Fatalf("%s at byte %d: %d late, complete %v (%s)", end, off, v.Late, v.Complete, v.Why)
			}
			if (v.Response != nil) != (off >= len(ok)-2) {
				t.Fatalf("%s at byte %d: response %v", end, off, v.Response)
			}
			if body, _ := v.ResponseBody(); string(body) != "{}"[:max(0, off-len(ok)+2)] {
				t.Fatalf("%s at byte %d: body %q", end, off, body)
			}
		}
	}
	x := exchange(post, ok, EndFIN)
	x.EndOff = 3
	if v := x.View(); v.Late != 0 || v.Complete != True {
		t.Errorf("behind the server's own end: %d late, complete %v", v.Late, v.Complete)
	}
}

func TestBodies(t *testing.T) {
	body := []byte(strings.Repeat("data: {}\n\n", 40))
	packed := encoded(t, "gzip", body)
	head := "HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream ; charset=utf-8\r\n"
	for _, tt := range []struct {
		name, response, body, err string
		events                    int
	}{
		{"plain", head + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body), string(body), "", 40},
		{"gzip", head + fmt.Sprintf("Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(packed), packed), string(body), "", 40},
		{"two fields", head + fmt.Sprintf("Content-Encoding: identity\r\ncontent-encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(packed), packed), string(body), "", 40},
		{"unknown", head + "Content-Encoding: x\r\nContent-Length: 1\r\n\r\ny", "", "unknown coding", 0},
		{"no body", head + "\r\n", "", "", 0},
		{"other media type", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream2\r\n\r\ndata: {}\n\n", "data: {}\n\n", "", 0},
		{"no head", "HTTP/1.1 200", "", "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := exchange(post, tt.response, EndFIN).View()
			for range 2 {
				got, err := v.ResponseBody()
				if string(got) != tt.body || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("body %q, %v", got, err)
				}
				if n := len(v.Events()); n != tt.events {
					t.Fatalf("%d events, want %d", n, tt.events)
				}
			}
			if v.SSE() != (tt.name != "other media type" && tt.name != "no head") {
				t.Errorf("SSE %v", v.SSE())
			}
		})
	}
	request := fmt.Sprintf("POST / HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(packed), packed)
	if got := exchange(request, ok, EndKeep).View().RequestBody(); !bytes.Equal(got, body) {
		t.Errorf("request body %q", got)
	}
}

// TestAt maps every span of a body in chunks of every size to raw bytes.
func TestAt(t *testing.T) {
	body := "abcdefghij"
	for size := 1; size <= len(body); size++ {
		var b strings.Builder
		b.WriteString("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		for chunk := range slices.Chunk([]byte(body), size) {
			fmt.Fprintf(&b, "%x;ext=1\r\n%s\r\n", len(chunk), chunk)
		}
		b.WriteString("0\r\n\r\n")
		x := exchange(post, b.String(), EndKeep)
		v := x.View()
		for off := range len(body) + 1 {
			for n := 0; off+n <= len(body); n++ {
				raw, ok := v.At(wire.ToClient, wire.Span{Off: off, Len: n})
				if !ok {
					t.Fatalf("chunks of %d: no place for %d at %d", size, n, off)
				}
				seen := string(x.Response.Raw[raw.Off:raw.End()])
				if n > 0 && (seen[0] != body[off] || seen[len(seen)-1] != body[off+n-1] || n <= size-off%size && len(seen) != n) {
					t.Fatalf("chunks of %d: %d at %d is %q", size, n, off, seen)
				}
			}
		}
		for _, outside := range []wire.Span{{Off: -1, Len: 1}, {Off: 0, Len: 11}, {Off: 11, Len: 0}, {Off: 1 << 62, Len: 1 << 62}} {
			if raw, ok := v.At(wire.ToClient, outside); ok {
				t.Errorf("chunks of %d: %v is at %v", size, outside, raw)
			}
		}
	}
}

func TestAtSides(t *testing.T) {
	v := exchange(post, ok, EndKeep).View()
	if raw, ok := v.At(wire.ToServer, wire.Span{Off: 1, Len: 1}); !ok || raw != (wire.Span{Off: len(post) - 1, Len: 1}) {
		t.Errorf("request: %v %v", raw, ok)
	}
	packed := encoded(t, "gzip", []byte("{}"))
	v = exchange(post, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(packed), packed), EndKeep).View()
	if raw, ok := v.At(wire.ToClient, wire.Span{Off: 0, Len: 2}); ok {
		t.Errorf("an encoded body: %v", raw)
	}
	if raw, ok := exchange(post, "", EndRST).View().At(wire.ToClient, wire.Span{}); ok {
		t.Errorf("no response: %v", raw)
	}
}

func TestFillDerived(t *testing.T) {
	for _, tt := range []struct {
		name, base, request, response, method, url string
		status                                     int
		media                                      string
	}{
		{"origin form", "https://a.example:8443", "GET /mcp?x=1 HTTP/1.1\r\nHost: b\r\n\r\n", ok, "GET", "https://a.example:8443/mcp?x=1", 200, "application/json"},
		{"no base", "", "GET /mcp HTTP/1.1\r\nHost: b:81\r\n\r\n", "", "GET", "http://b:81/mcp", 0, ""},
		{"absolute form", "https://a", "GET http://user:secret@b/x@y HTTP/1.1\r\n\r\n", "", "GET", "https://a/x@y", 0, ""},
		{"absolute form, no base", "", "GET http://user:secret@b?x@y HTTP/1.1\r\nHost: c\r\n\r\n", "", "GET", "http://b/?x@y", 0, ""},
		{"base with credentials", "https://u:p@a", "GET / HTTP/1.1\r\n\r\n", "", "GET", "https://a/", 0, ""},
		{"asterisk form", "https://a", "OPTIONS * HTTP/1.1\r\n\r\n", "", "OPTIONS", "https://a/", 0, ""},
		{"authority form", "https://a", "CONNECT b:443 HTTP/1.1\r\n\r\n", "", "CONNECT", "https://a/", 0, ""},
		{"bytes that no URL has", "https://a", "GET /\xff\"é HTTP/1.1\r\n\r\n", "", "GET", "https://a/%FF\"%C3%A9", 0, ""},
		{"media type", "https://a", post, "HTTP/1.1 202 Accepted\r\nContent-Type: TEXT/Event-Stream ;q=1\r\n\r\n", "POST", "https://a/mcp", 202, "text/event-stream"},
		{"interim", "https://a", post, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 No\r\n\r\n", "POST", "https://a/mcp", 404, ""},
		{"no head", "https://a", "GET /", "HTTP/1.1 2", "", "", 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := &Exchange{Request: Side{Raw: []byte(tt.request)}, Response: Side{Raw: []byte(tt.response)}}
			FillDerived(x, tt.base)
			if x.Method != tt.method || x.URL != tt.url || x.Status != tt.status || x.MediaType != tt.media {
				t.Errorf("got %q %q %d %q", x.Method, x.URL, x.Status, x.MediaType)
			}
		})
	}
}
