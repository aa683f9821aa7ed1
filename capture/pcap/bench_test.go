package pcap

import (
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/capture"
	"github.com/mcptap/mcptap/har"
)

// traffic is a capture of so many MCP calls on 16 connections that are open all the time: every third answer is an event
// stream of four events, each segment is acknowledged. The shape is that of a loopback capture, with segments as large as messages.
func traffic(calls int) []byte {
	out := bytes.NewBuffer(pcapHeader(le, magicMicro, 262144, 1))
	var seqs [16][2]uint32
	now := 0
	put := func(conn int, fromClient bool, flags, data string) {
		w := wireSegment{src: netip.AddrPortFrom(clientEnd.Addr(), 40000+uint16(conn)), dst: serverEnd, seq: seqs[conn][0], ack: seqs[conn][1], flags: flags, data: data}
		i := 0
		if !fromClient {
			w.src, w.dst, w.seq, w.ack, i = w.dst, w.src, w.ack, w.seq, 1
		}
		seqs[conn][i] += uint32(len(data))
		if strings.ContainsAny(flags, "SF") {
			seqs[conn][i]++
		}
		b := ethernet(etherIPv4, w.ip())
		now += 20
		out.Write(pcapRecord(le, uint32(now/1e6), uint32(now%1e6), uint32(len(b)), uint32(len(b)), string(b)))
	}
	for conn := range seqs {
		put(conn, true, "S", "")
		put(conn, false, "SA", "")
		put(conn, true, "A", "")
	}
	text := strings.Repeat("some words of an answer, ", 24)
	for n := range calls {
		conn := n % 16
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"%.200s"}}}`, n, text)
		put(conn, true, "A", fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: localhost:3000\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
		put(conn, false, "A", "")
		if n%3 != 0 {
			answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%s"}]}}`, n, text)
			put(conn, false, "A", fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(answer), answer))
			put(conn, true, "A", "")
			continue
		}
		put(conn, false, "A", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
		for event := range 4 {
			data := fmt.Sprintf("event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progress\":%d,\"text\":\"%.150s\"}}\n\n", event, text)
			put(conn, false, "A", fmt.Sprintf("%x\r\n%s\r\n", len(data), data))
			put(conn, true, "A", "")
		}
		put(conn, false, "A", "0\r\n\r\n")
		put(conn, true, "A", "")
	}
	return out.Bytes()
}

func BenchmarkImport(b *testing.B) {
	const calls = 20000
	file := traffic(calls)
	for name, start := range map[string]func() *capture.Recorder{
		"count": func() *capture.Recorder { return capture.NewRecorder(nil, nil) },
		"write": func() *capture.Recorder {
			w, err := har.NewWriter(io.Discard, har.Header{Tool: "bench", Mode: "pcap"}, false)
			if err != nil {
				b.Fatal(err)
			}
			return capture.NewRecorder(w, har.NewRedactor())
		},
		"packets": func() *capture.Recorder { return nil },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(file)))
			b.ReportAllocs()
			for b.Loop() {
				r, err := NewReader(bytes.NewReader(file))
				if err != nil {
					b.Fatal(err)
				}
				recorder := start()
				m := &Importer{Record: func(har.Event) {}}
				if recorder != nil {
					m.Record = recorder.Record
				}
				if err := m.Read(r); err != nil {
					b.Fatal(err)
				}
				m.Close()
				if recorder == nil {
					continue
				}
				if err := recorder.Close(); err != nil {
					b.Fatal(err)
				}
				if all, whole := recorder.Exchanges(); all != calls || whole != calls {
					b.Fatalf("%d exchanges, %d whole, want %d", all, whole, calls)
				}
			}
		})
	}
}
