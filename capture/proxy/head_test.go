package proxy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/har"
)

var longHost = "Host: " + strings.Repeat("a", maxHostLine) + "\r\n"

// hostCases are what clients send, with what the server must get. "<<response>>" is where the server's bytes come.
var hostCases = []struct{ name, sent, response, want string }{
	{"one line", "GET / HTTP/1.1\r\nHost: a:1\r\nX: y\r\n\r\n", "", "GET / HTTP/1.1\r\nHost: up:80\r\nX: y\r\n\r\n"},
	{"case and spacing", "GET / HTTP/1.1\r\nhOST:\t a:1 \t\r\n\r\n", "", "GET / HTTP/1.1\r\nhOST:\t up:80 \t\r\n\r\n"},
	{"no space", "GET / HTTP/1.1\r\nhost:a\r\n\r\n", "", "GET / HTTP/1.1\r\nhost:up:80\r\n\r\n"},
	{"space before the colon", "GET / HTTP/1.1\r\nHost \t: a\r\n\r\n", "", "GET / HTTP/1.1\r\nHost \t: up:80\r\n\r\n"},
	{"empty value", "GET / HTTP/1.1\r\nHost:\r\nHost: \r\n\r\n", "", "GET / HTTP/1.1\r\nHost:up:80\r\nHost: up:80\r\n\r\n"},
	{"several lines", "GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", "", "GET / HTTP/1.1\r\nHost: up:80\r\nhost: up:80\r\n\r\n"},
	{"right already", "GET / HTTP/1.1\r\nHost: up:80\r\n\r\n", "", "GET / HTTP/1.1\r\nHost: up:80\r\n\r\n"},
	{"no line", "GET / HTTP/1.0\r\nX: Host: a\r\n\r\n", "", "GET / HTTP/1.0\r\nX: Host: a\r\n\r\n"},
	{"names that begin alike", "GET / HTTP/1.1\r\nHostess: a\r\nHos: b\r\nHost-X: c\r\nHost x: d\r\nHost\r\n\r\n", "", "GET / HTTP/1.1\r\nHostess: a\r\nHos: b\r\nHost-X: c\r\nHost x: d\r\nHost\r\n\r\n"},
	{"bare LF", "GET / HTTP/1.1\nHost: a\n\n", "", "GET / HTTP/1.1\nHost: up:80\n\n"},
	{"obs-fold", "GET / HTTP/1.1\r\nHost: a\r\n b\r\nX: 1\r\n Host: c\r\n\r\n", "", "GET / HTTP/1.1\r\nHost: up:80\r\n b\r\nX: 1\r\n Host: c\r\n\r\n"},
	{"empty lines before", "\r\n\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "", "\r\n\nGET / HTTP/1.1\r\nHost: up:80\r\n\r\n"},
	{"body", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 13\r\n\r\n\r\nHost: a\r\n\r\n", "", "POST / HTTP/1.1\r\nHost: up:80\r\nContent-Length: 13\r\n\r\n\r\nHost: a\r\n\r\n"},
	{"chunks and trailers", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nHost: a\r\n\r\n0\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "",
		"POST / HTTP/1.1\r\nHost: up:80\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nHost: a\r\n\r\n0\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: up:80\r\n\r\n"},
	{"pipelined", "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: bb\r\n\r\n\r\nGET /3 HTTP/1.1\r\nHost: ccc\r\n\r\n", "",
		"GET /1 HTTP/1.1\r\nHost: up:80\r\n\r\nGET /2 HTTP/1.1\r\nHost: up:80\r\n\r\n\r\nGET /3 HTTP/1.1\r\nHost: up:80\r\n\r\n"},
	{"malformed", "GET / SIP/2.0\r\nHost: a\r\n\r\n", "", "GET / SIP/2.0\r\nHost: a\r\n\r\n"},
	{"malformed behind a request", "GET / HTTP/1.1\r\nHost: a\r\n\r\n\x16\x03\x01\r\nHost: b\r\n\r\n", "", "GET / HTTP/1.1\r\nHost: up:80\r\n\r\n\x16\x03\x01\r\nHost: b\r\n\r\n"},
	{"a line without colon", "GET / HTTP/1.1\r\nnothing\r\nHost: a\r\n\r\n", "", "GET / HTTP/1.1\r\nnothing\r\nHost: up:80\r\n\r\n"},
	{"a long line", "GET / HTTP/1.1\r\n" + longHost + "Host: b\r\n\r\n", "", "GET / HTTP/1.1\r\n" + longHost + "Host: up:80\r\n\r\n"},
	{"cut off", "GET / HTTP/1.1\r\nHost: a", "", "GET / HTTP/1.1\r\nHost: a"},
	{"upgraded", "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: x\r\n\r\n<<response>>GET / HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 101 Switching Protocols\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: up:80\r\nUpgrade: x\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"},
	{"not upgraded", "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: x\r\n\r\n<<response>>GET / HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: up:80\r\nUpgrade: x\r\n\r\nGET / HTTP/1.1\r\nHost: up:80\r\n\r\n"},
	{"tunnel", "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n<<response>>GET / HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n",
		"CONNECT a:1 HTTP/1.1\r\nHost: up:80\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"},
}

func TestHostAtEveryCut(t *testing.T) {
	for _, tt := range hostCases {
		t.Run(tt.name, func(t *testing.T) {
			before, behind, _ := strings.Cut(tt.sent, "<<response>>")
			sent := before + behind
			for cut := range len(sent) + 1 {
				if len(sent) > 1000 && cut%97 != 0 && cut > 40 {
					continue
				}
				e := editing{host: headEditor{authority: "up:80"}, t: t}
				for _, part := range []string{before[:min(cut, len(before))], before[min(cut, len(before)):], "<", behind[:max(0, cut-len(before))], behind[max(0, cut-len(before)):]} {
					if part == "<" {
						e.host.response([]byte(tt.response))
					} else if part != "" {
						e.feed(part)
					}
				}
				e.check(fmt.Sprintf("cut at byte %d", cut), sent, tt.want)
			}
			e := editing{host: headEditor{authority: "up:80"}, t: t}
			for i := range len(before) {
				e.feed(before[i : i+1])
			}
			e.host.response([]byte(tt.response))
			for i := range len(behind) {
				e.feed(behind[i : i+1])
			}
			e.check("one byte at a time", sent, tt.want)
		})
	}
}

// An editing feeds a headEditor and keeps what comes of it.
type editing struct {
	host      headEditor
	t         *testing.T
	sent, got string
	edits     []har.Edit
	forward   bool
}

func (e *editing) feed(part string) {
	p := []byte(part)
	out, edits := e.host.request(p)
	if string(p) != part {
		e.t.Fatalf("the client's bytes were altered to %q", p)
	}
	for _, x := range edits {
		x.Off += len(e.sent)
		e.edits = append(e.edits, x)
	}
	e.sent += part
	e.got += string(out)
	if held := string(e.host.held); !e.forward && (strings.Contains(held, "\n") || !strings.HasSuffix(e.sent, held) || len(held) > 0 && !strings.EqualFold(held[:min(4, len(held))], "host"[:min(4, len(held))])) {
		e.t.Fatalf("behind %q, %q is held back", e.sent, held)
	}
}

func (e *editing) check(how, sent, want string) {
	e.t.Helper()
	if got := e.got + string(e.host.flush(0)); got != want {
		e.t.Errorf("%s: passed on\n%.300q, want\n%.300q", how, got, want)
	}
	x := har.Exchange{Request: har.Side{Raw: []byte(sent)}, Edits: e.edits}
	if got := string(x.ServerLeg()); got != want {
		e.t.Errorf("%s: edits %v give\n%.300q, want\n%.300q", how, e.edits, got, want)
	}
}

func TestHostWithoutEditIsNotCopied(t *testing.T) {
	h := headEditor{authority: "up:80"}
	p := []byte("POST / HTTP/1.1\r\nHost: up:80\r\nContent-Length: 3\r\n\r\nabc")
	if out, edits := h.request(p); &out[0] != &p[0] || edits != nil {
		t.Errorf("got other bytes, or edits %v", edits)
	}
}

// However bytes are cut, the same are passed on, and the edits explain every difference.
func FuzzHost(f *testing.F) {
	for _, tt := range hostCases {
		f.Add([]byte(strings.Replace(tt.sent, "<<response>>", "", 1)), 20, 30)
	}
	f.Fuzz(func(t *testing.T, sent []byte, a, b int) {
		whole := editing{host: headEditor{authority: "up:80"}, t: t}
		whole.feed(string(sent))
		want := whole.got + string(whole.host.flush(0))
		whole.got = want
		whole.check("whole", string(sent), want)
		cuts := []int{0, min(max(a, 0), len(sent)), min(max(b, 0), len(sent)), len(sent)}
		slices.Sort(cuts)
		parts := editing{host: headEditor{authority: "up:80"}, t: t}
		for i := range cuts[:3] {
			if cuts[i] < cuts[i+1] {
				parts.feed(string(sent[cuts[i]:cuts[i+1]]))
			}
		}
		parts.check(fmt.Sprintf("cut at %v", cuts), string(sent), want)
	})
}
