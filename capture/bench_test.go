package capture

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// BenchmarkExchange is what one exchange of a 1 KB JSON POST and its echo costs from the queue to the compressed cassette.
func BenchmarkExchange(b *testing.B) {
	for _, mode := range []string{"redacted", "secrets kept"} {
		b.Run(mode, func(b *testing.B) {
			w, err := har.NewWriter(io.Discard, har.Header{Tool: "bench", Mode: "reverse"}, false)
			if err != nil {
				b.Fatal(err)
			}
			var redact *har.Redactor
			if mode == "redacted" {
				redact = har.NewRedactor()
			}
			var book book
			book.init(w, redact)
			q, now := new(queue), time.Now()
			edits := []har.Edit{{Off: 27, Len: 15, New: "127.0.0.1:3000"}}
			const conns = 16
			for c := range uint64(conns) {
				q.add(&har.Event{Conn: c + 1, At: now, Open: &har.Conn{Client: "127.0.0.1:40000", Server: "127.0.0.1:3000", Base: "http://127.0.0.1:3000"}})
			}
			const batch = 32
			var messages [64][2][]byte
			for i := range messages {
				messages[i][0], messages[i][1] = echo(i)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; {
				for ; i < b.N && len(q.entries) < 2*batch; i++ {
					now = now.Add(40 * time.Microsecond)
					m := messages[i%len(messages)]
					conn := uint64(i%conns) + 1
					q.add(&har.Event{Conn: conn, Dir: wire.ToServer, At: now, Bytes: m[0], Edits: edits})
					q.add(&har.Event{Conn: conn, Dir: wire.ToClient, At: now.Add(20 * time.Microsecond), Bytes: m[1]})
				}
				book.now = now
				book.takeAll(q)
				book.keepUp()
				q = q.reset()
			}
			book.close()
			if book.err != nil {
				b.Fatal(book.err)
			}
		})
	}
}

// echo gives the i-th request and its response.
func echo(i int) (request, response []byte) {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"%s"}}}`, i, strings.Repeat("abcdefgh", 115))
	request = fmt.Appendf(nil, "POST /echo HTTP/1.1\r\nHost: 127.0.0.1:40000\r\nUser-Agent: Go-http-client/1.1\r\nContent-Length: %d\r\nContent-Type: application/json\r\nAccept-Encoding: gzip\r\n\r\n%s", len(body), body)
	response = fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: Mon, 30 Nov 2026 12:00:00 GMT\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	return request, response
}
