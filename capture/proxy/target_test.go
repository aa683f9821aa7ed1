package proxy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// forwardCases are what clients send to a proxy for http://up:80, with what the server must get.
var forwardCases = []struct{ name, sent, want string }{
	{"absolute-form", "GET http://up:80/a?b=c HTTP/1.1\r\nHost: up:80\r\n\r\n", "GET /a?b=c HTTP/1.1\r\nHost: up:80\r\n\r\n"},
	{"user information", "GET http://user:pass@up/a HTTP/1.1\r\nHost: up\r\n\r\n", "GET /a HTTP/1.1\r\nHost: up\r\n\r\n"},
	{"case of the origin", "GET HTTP://UP/a HTTP/1.1\r\nHost: Up\r\n\r\n", "GET /a HTTP/1.1\r\nHost: Up\r\n\r\n"},
	{"no path", "GET http://up HTTP/1.1\r\nHost: up\r\n\r\n", "GET / HTTP/1.1\r\nHost: up\r\n\r\n"},
	{"only a query", "GET http://up?a=http://b/ HTTP/1.1\r\nHost: up\r\n\r\n", "GET /?a=http://b/ HTTP/1.1\r\nHost: up\r\n\r\n"},
	{"asterisk-form", "OPTIONS http://up HTTP/1.1\r\nHost: up\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: up\r\n\r\n"},
	{"origin-form", "GET /a?u=http://other/ HTTP/1.1\r\nHost: up\r\n\r\n", "GET /a?u=http://other/ HTTP/1.1\r\nHost: up\r\n\r\n"},
	{"a Host that contradicts", "GET http://up/ HTTP/1.1\r\nHost: other\r\n\r\n", "GET / HTTP/1.1\r\nHost: up:80\r\n\r\n"},
	{"no Host", "GET http://up/ HTTP/1.0\r\nX: y\r\n\r\n", "GET / HTTP/1.0\r\nX: y\r\n\r\n"},
	{"lines for the proxy", "GET http://up/ HTTP/1.1\r\nProxy-Authorization: Basic c2VjcmV0\r\nHost: up\r\npROXY-connection : keep-alive\r\nProxy-Auth: stays\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: up\r\nProxy-Auth: stays\r\n\r\n"},
	{"obs-fold of a line for the proxy", "GET http://up/ HTTP/1.1\r\nProxy-Authorization: Basic\r\n c2Vj\r\n\tcmV0\r\nX: y\r\n\r\n", "GET / HTTP/1.1\r\nX: y\r\n\r\n"},
	{"a long line for the proxy", "GET http://up/ HTTP/1.1\r\nProxy-Authorization: Negotiate " + strings.Repeat("a", 2*maxHostLine) + "\r\nX: y\r\n\r\n", "GET / HTTP/1.1\r\nX: y\r\n\r\n"},
	{"bare LF", "GET http://up/ HTTP/1.1\nProxy-Connection: x\nX: y\n\n", "GET / HTTP/1.1\nX: y\n\n"},
	{"empty lines before", "\r\n\r\nGET http://up/ HTTP/1.1\r\n\r\n", "\r\n\r\nGET / HTTP/1.1\r\n\r\n"},
	{"pipelined", "GET http://up/1 HTTP/1.1\r\n\r\nPOST http://up/2 HTTP/1.1\r\nContent-Length: 21\r\n\r\nGET http://up/ HTTP/1GET http://up/3 HTTP/1.1\r\n\r\n",
		"GET /1 HTTP/1.1\r\n\r\nPOST /2 HTTP/1.1\r\nContent-Length: 21\r\n\r\nGET http://up/ HTTP/1GET /3 HTTP/1.1\r\n\r\n"},
	{"another origin", "GET http://up/1 HTTP/1.1\r\n\r\nGET http://other/2 HTTP/1.1\r\nProxy-Authorization: x\r\n\r\nGET http://up/3 HTTP/1.1\r\n\r\n", "GET /1 HTTP/1.1\r\n\r\n"},
	{"another port", "GET http://up/1 HTTP/1.1\r\n\r\nGET http://up:8080/2 HTTP/1.1\r\n\r\n", "GET /1 HTTP/1.1\r\n\r\n"},
	{"CONNECT later", "GET http://up/1 HTTP/1.1\r\n\r\nCONNECT up:80 HTTP/1.1\r\n\r\n", "GET /1 HTTP/1.1\r\n\r\n"},
	{"a long target", "GET http://up/1 HTTP/1.1\r\n\r\nGET http://up/" + strings.Repeat("a", maxStartLine) + " HTTP/1.1\r\n\r\n", ""},
	{"cut off", "GET http://up/ HTTP/1.1\r\nProxy-Conn", "GET / HTTP/1.1\r\nProxy-Conn"},
}

func forwarding(t *testing.T) *editing {
	return &editing{host: headEditor{authority: "up:80", forward: true}, t: t, forward: true}
}

func TestForwardEditsAtEveryCut(t *testing.T) {
	for _, tt := range forwardCases {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want == "" { // whether it is refused depends on how it was cut: one read may be longer than what is held
				return
			}
			for cut := range len(tt.sent) + 1 {
				if len(tt.sent) > 1000 && cut%97 != 0 && cut > 60 {
					continue
				}
				e := forwarding(t)
				for _, part := range []string{tt.sent[:cut], tt.sent[cut:]} {
					if part != "" {
						e.feed(part)
					}
				}
				e.check(fmt.Sprintf("cut at byte %d", cut), tt.sent, tt.want)
			}
			e := forwarding(t)
			for i := range len(tt.sent) {
				e.feed(tt.sent[i : i+1])
			}
			e.check("one byte at a time", tt.sent, tt.want)
		})
	}
}

// A request line of which no end comes is not held for ever, and nothing of it is sent to a server that it may not be for.
func TestLongTargetIsRefused(t *testing.T) {
	e := forwarding(t)
	line := "GET http://other/" + strings.Repeat("a", 3*maxStartLine)
	for i := 0; i < len(line); i += 1000 {
		e.feed(line[i:min(i+1000, len(line))])
		if len(e.host.held) > maxStartLine {
			t.Fatalf("%d bytes are held", len(e.host.held))
		}
	}
	e.check("long", line, "")
	if !e.host.refused() {
		t.Error("it is not refused")
	}
}

// However bytes are cut, the same are passed on, the edits explain every difference, and no line for the proxy gets through.
func FuzzForwardEdits(f *testing.F) {
	for _, tt := range forwardCases {
		f.Add([]byte(tt.sent), 20, 30)
	}
	f.Fuzz(func(t *testing.T, sent []byte, a, b int) {
		whole := forwarding(t)
		whole.feed(string(sent))
		want := whole.got + string(whole.host.flush(0))
		whole.got = want
		whole.check("whole", string(sent), want)
		if whole.host.other == "a request line of more than 64 KiB" {
			return
		}
		cuts := []int{0, min(max(a, 0), len(sent)), min(max(b, 0), len(sent)), len(sent)}
		slices.Sort(cuts)
		parts := forwarding(t)
		for i := range cuts[:3] {
			if cuts[i] < cuts[i+1] {
				parts.feed(string(sent[cuts[i]:cuts[i+1]]))
			}
		}
		if parts.host.other != "a request line of more than 64 KiB" {
			parts.check(fmt.Sprintf("cut at %v", cuts), string(sent), want)
		}
	})
}

func TestNoProxy(t *testing.T) {
	for _, tt := range []struct {
		list, addr string
		want       bool
	}{
		{"", "a.example:443", false}, {"*", "a.example:443", true}, {"a.example", "a.example:443", true}, {"A.example", "x.a.EXAMPLE:80", true},
		{".a.example", "x.a.example:80", true}, {".a.example", "a.example:80", false}, {"*.a.example", "x.a.example:80", true}, {"a.example", "ba.example:80", false},
		{"b, a.example:8080", "a.example:8080", true}, {"a.example:8080", "a.example:80", false}, {"10.0.0.0/8", "10.1.2.3:80", true},
		{"10.0.0.0/8", "11.1.2.3:80", false}, {"127.0.0.1", "127.0.0.1:80", true}, {"0.0.1", "127.0.0.1:80", false}, {"::1", "[::1]:80", true},
		{"[::1]:80", "[::1]:80", true}, {"fe80::/10", "[fe80::1]:80", true}, {"localhost", "localhost:80", true}, {",,", "a:1", false},
	} {
		if got := exempt(tt.list, tt.addr); got != tt.want {
			t.Errorf("%q and %s: %v", tt.list, tt.addr, got)
		}
	}
}
