package wire

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// exchange makes an exchange of about 1 KB, as MCP clients and servers send them. Bodies and dates vary with i.
func exchange(i int) (request, response []byte) {
	pad := strings.Repeat("x", i*7%90)
	request = message("POST /mcp HTTP/1.1",
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"search","arguments":{"query":"weather %s in Tokyo","limit":5},"_meta":{"progressToken":%d}}}`, i, pad, i),
		"Host: 127.0.0.1:3000", "connection: keep-alive", "content-type: application/json",
		"accept: application/json, text/event-stream", "mcp-session-id: 5f2c1f0e-7f39-4d8b-a7ab-1f7b1e0f9f11",
		"mcp-protocol-version: 2025-06-18", "accept-language: *", "sec-fetch-mode: cors", "user-agent: node")
	response = message("HTTP/1.1 200 OK",
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"Sunny, 21 degrees, light wind from the south-west. %s"}],"isError":false}}`, i, pad),
		"X-Powered-By: Express", "Content-Type: application/json", "mcp-session-id: 5f2c1f0e-7f39-4d8b-a7ab-1f7b1e0f9f11",
		fmt.Sprintf("Date: Mon, 30 Nov 2026 17:%02d:%02d GMT", i/60%60, i%60), "Connection: keep-alive", "Keep-Alive: timeout=5")
	return request, response
}

// message puts Content-Length before the last field.
func message(start, body string, fields ...string) []byte {
	last := len(fields) - 1
	return fmt.Appendf(nil, "%s\r\n%s\r\nContent-Length: %d\r\n%s\r\n\r\n%s",
		start, strings.Join(fields[:last], "\r\n"), len(body), fields[last], body)
}

var benchRequest, benchResponse = exchange(1)

// BenchmarkSlicerExchange reads the exchanges of one connection, each in one read a side.
func BenchmarkSlicerExchange(b *testing.B) {
	var requests, responses [64][]byte
	total := 0
	for i := range requests {
		requests[i], responses[i] = exchange(i)
		total += len(requests[i]) + len(responses[i])
	}
	var s Slicer
	b.SetBytes(int64(total))
	b.ReportAllocs()
	for b.Loop() {
		for i := range requests {
			s.Feed(ToServer, requests[i])
			s.Feed(ToClient, responses[i])
		}
	}
}

// BenchmarkSlicerReads reads the exchanges of one connection in reads of 4 KiB, which cut heads.
func BenchmarkSlicerReads(b *testing.B) {
	var requests, responses []byte
	for i := range 64 {
		request, response := exchange(i)
		requests, responses = append(requests, request...), append(responses, response...)
	}
	var s Slicer
	b.SetBytes(int64(len(requests) + len(responses)))
	b.ReportAllocs()
	for b.Loop() {
		for p := range slices.Chunk(requests, 4<<10) {
			s.Feed(ToServer, p)
		}
		for p := range slices.Chunk(responses, 4<<10) {
			s.Feed(ToClient, p)
		}
	}
}

// BenchmarkSlicerConnection reads one exchange on a connection of its own.
func BenchmarkSlicerConnection(b *testing.B) {
	b.SetBytes(int64(len(benchRequest) + len(benchResponse)))
	b.ReportAllocs()
	for b.Loop() {
		var s Slicer
		s.Feed(ToServer, benchRequest)
		s.Feed(ToClient, benchResponse)
	}
}

// BenchmarkSlicerLength reads a body of 32 KiB at a time.
func BenchmarkSlicerLength(b *testing.B) {
	var s Slicer
	s.Feed(ToServer, benchRequest)
	s.Feed(ToClient, []byte("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\n"))
	p := make([]byte, 32<<10)
	b.SetBytes(int64(len(p)))
	b.ReportAllocs()
	for b.Loop() {
		s.Feed(ToClient, p)
	}
}

func BenchmarkSlicerChunks(b *testing.B) {
	for _, size := range []int{100, 1 << 10, 16 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			var s Slicer
			s.Feed(ToServer, benchRequest)
			s.Feed(ToClient, []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"))
			chunk := fmt.Appendf(nil, "%x\r\n%s\r\n", size, strings.Repeat("x", size))
			p := bytes.Repeat(chunk, 1+32<<10/len(chunk))
			b.SetBytes(int64(len(p)))
			b.ReportAllocs()
			for b.Loop() {
				s.Feed(ToClient, p)
			}
		})
	}
}

func BenchmarkParseResponse(b *testing.B) {
	b.SetBytes(int64(len(benchResponse)))
	b.ReportAllocs()
	for b.Loop() {
		ParseResponse(benchResponse, "POST", false)
	}
}

var benchEvent = "event: message\nid: 0123456789\ndata: " + strings.Repeat(`{"jsonrpc":"2.0"},`, 10) + "\n\n"

func BenchmarkSplitter(b *testing.B) {
	p := []byte(strings.Repeat(benchEvent, 100))
	var s Splitter
	b.SetBytes(int64(len(p)))
	b.ReportAllocs()
	for b.Loop() {
		s.Feed(p)
		for _, ok := s.Next(); ok; _, ok = s.Next() {
		}
	}
}

func BenchmarkSplitEvents(b *testing.B) {
	p := []byte(strings.Repeat(benchEvent, 100))
	b.SetBytes(int64(len(p)))
	b.ReportAllocs()
	for b.Loop() {
		SplitEvents(p)
	}
}

func BenchmarkParseRPC(b *testing.B) {
	request := []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"search","arguments":{"query":"weather in Tokyo","limit":5}}}`)
	result := []byte(`{"jsonrpc":"2.0","id":7,"result":{"content":[` + strings.Repeat(`{"type":"text","text":"Sunny, 21 degrees, light wind from the south-west.","annotations":{"priority":0.5}},`, 100) + `{}]}}`)
	for _, c := range []struct {
		name string
		text []byte
	}{{"request", request}, {"result", result}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				ParseRPC(c.text)
			}
		})
	}
}
