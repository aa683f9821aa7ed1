package har

import (
	"fmt"
	"strings"
	"testing"
)

// oneKilobyte is an exchange of about 1 KB each way with the given request fields.
func oneKilobyte(fields string) (request, response string) {
	body := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"search_documents","arguments":{"query":"` +
		strings.Repeat("the quick brown fox jumps over the lazy dog, ", 12) + `","limit":10},"_meta":{"progressToken":7}}}`
	request = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nAccept: application/json, text/event-stream\r\n" +
		"Content-Type: application/json\r\nUser-Agent: node\r\nAccept-Language: *\r\nSec-Fetch-Mode: cors\r\n" +
		"MCP-Protocol-Version: 2025-06-18\r\n" + fields + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
	body = `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"` + strings.Repeat("A short line of text. ", 36) + `"}],"isError":false}}`
	response = "HTTP/1.1 200 OK\r\nDate: Mon, 30 Nov 2026 12:00:00 GMT\r\nContent-Type: application/json\r\n" +
		fmt.Sprintf("Cache-Control: no-cache\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	return request, response
}

const (
	benchSession = "Mcp-Session-Id: 0b7d2f5e-6c1a-4f3e-9d2b-8a7c6e5f4d3c\r\n"
	benchBearer  = "Authorization: Bearer 9f8e7d6c5b4a39281706f5e4d3c2b1a0\r\n"
)

func BenchmarkPass(b *testing.B) {
	for _, bm := range []struct {
		name, fields string
		others       int
	}{
		{"nothing", "", 0},
		{"session", benchSession, 0},
		{"session-bearer", benchSession + benchBearer, 0},
		{"session-bearer-100-known", benchSession + benchBearer, 100},
		{"session-bearer-1000-known", benchSession + benchBearer, 1000},
	} {
		b.Run(bm.name, func(b *testing.B) {
			req, resp := oneKilobyte(bm.fields)
			x := &Exchange{Method: "POST", URL: "http://127.0.0.1:8080/mcp"}
			r := NewRedactor()
			for i := range bm.others {
				y := &Exchange{Request: Side{Raw: fmt.Appendf(nil, "GET / HTTP/1.1\r\nMcp-Session-Id: %08x-%04x-4000-8000-%012x\r\n\r\n", i*2654435761, i, i*i)}}
				r.Pass(y, [2]int{}, true)
			}
			x.Request.Raw, x.Response.Raw = []byte(req), []byte(resp)
			b.SetBytes(int64(len(req) + len(resp)))
			b.ReportAllocs()
			for b.Loop() {
				copy(x.Request.Raw, req)
				x.Redacted = x.Redacted[:0]
				r.Pass(x, [2]int{}, true)
			}
		})
	}
}

// BenchmarkPassEvent is an open stream that is given free event by event.
func BenchmarkPassEvent(b *testing.B) {
	event := []byte(`data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":50,"total":100}}` + "\n\n")
	r, from := NewRedactor(), [2]int{}
	x := &Exchange{Request: Side{Raw: []byte("GET /mcp HTTP/1.1\r\n" + benchSession + benchBearer + "\r\n")}}
	x.Response.Raw = append(x.Response.Raw, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"...)
	b.SetBytes(int64(len(event)))
	b.ReportAllocs()
	for b.Loop() {
		x.Response.Raw = append(x.Response.Raw, event...)
		from = r.Pass(x, from, false)
		n := r.Drop(x)
		x.Request.Raw, x.Response.Raw = x.Request.Raw[n[0]:], append(x.Response.Raw[:0], x.Response.Raw[n[1]:]...)
		from = [2]int{from[0] - n[0], from[1] - n[1]}
	}
}

// BenchmarkPassLarge is an answer of 1 MiB, with 100 values known.
func BenchmarkPassLarge(b *testing.B) {
	r := NewRedactor()
	for i := range 100 {
		r.Pass(&Exchange{Request: Side{Raw: fmt.Appendf(nil, "GET / HTTP/1.1\r\nMcp-Session-Id: session-id-%08d\r\n\r\n", i)}}, [2]int{}, true)
	}
	item := `{"name":"read_file","description":"Reads a file, as UTF-8 text.","inputSchema":{"type":"object","properties":{"file_path":{"type":"string"}}}},`
	x := &Exchange{Response: Side{Raw: []byte(asAnswer(jsonType, strings.Repeat(item, 1<<20/len(item))))}}
	b.SetBytes(int64(len(x.Response.Raw)))
	b.ReportAllocs()
	for b.Loop() {
		r.Pass(x, [2]int{}, true)
	}
}
