package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
)

// A request that is answered 202 has its answer on a stream, over HTTP+SSE; that stream has not ended when the live view judges.
func TestCourtAwaitsAnswersOnStreams(t *testing.T) {
	posted := func(status string) *har.Exchange {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
		request := fmt.Sprintf("POST /messages?sessionId=1 HTTP/1.1\r\nHost: a.test\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		response := "HTTP/1.1 " + status + "\r\nContent-Length: 0\r\n\r\n"
		x := &har.Exchange{N: 1, Conn: 1, Seq: 1, Started: time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC), Client: "127.0.0.1:5", Server: "a.test:80", End: har.EndKeep,
			Request: har.Side{Raw: []byte(request), Writes: []har.Write{{Len: len(request)}}}, Response: har.Side{Raw: []byte(response), Writes: []har.Write{{At: time.Millisecond, Len: len(response)}}}}
		har.FillDerived(x, "http://a.test")
		return x
	}
	for status, want := range map[string]string{
		"202 Accepted":  "~> recommended: timeout, unless its answer is on a stream that goes on",
		"404 Not Found": "-> recommended: disconnect",
	} {
		if j := new(court).judge(posted(status)); j.words() != want {
			t.Errorf("%s: %q, want %q", status, j.words(), want)
		}
	}
}
