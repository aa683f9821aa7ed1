package har

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

// benchExchanges are n exchanges of one connection, each a POST of 1 KB of JSON and an answer of the same size.
func benchExchanges(n int) []*Exchange {
	list := make([]*Exchange, n)
	started := time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)
	for i := range list {
		var args strings.Builder
		for k := range 12 {
			fmt.Fprintf(&args, `"row %d":"value=%08x status=ok, in table %d",`, k, uint32(i*7919+k*104729)*2654435761, i%7)
		}
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"tool_%d","arguments":{%s"limit":10}}}`, i, i%20, args.String())
		answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%s"}]}}`, i, strings.ReplaceAll(args.String(), `"`, `\"`))
		request := fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: server.example\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		response := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(answer), answer)
		list[i] = &Exchange{
			N: i + 1, Conn: 1, Seq: i + 1, Started: started.Add(time.Duration(i) * 317 * time.Microsecond),
			Client: "127.0.0.1:41234", Server: "203.0.113.7:443", Method: "POST", URL: "https://server.example/mcp",
			Status: 200, MediaType: "application/json", End: EndKeep, EndOff: len(response),
			Request:  Side{Raw: []byte(request), Writes: []Write{{0, len(request)}}},
			Response: Side{Raw: []byte(response), Writes: []Write{{time.Duration(150+i%37) * time.Microsecond, len(response)}}},
		}
	}
	return list
}

// echoExchanges are n exchanges whose bodies are 1 KB of JSON that holds one long, regular text.
func echoExchanges(n int) []*Exchange {
	list := benchExchanges(n)
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` + strings.Repeat("abcdefgh", 115) + `"}}}`
	for _, x := range list {
		for _, s := range []*Side{&x.Request, &x.Response} {
			head, _, _ := bytes.Cut(s.Raw, []byte("\r\n\r\n"))
			s.Raw = append(head[:len(head):len(head)], "\r\n\r\n"+body...)
			s.Writes[0].Len = len(s.Raw)
		}
		x.EndOff = len(x.Response.Raw)
	}
	return list
}

func exchangeBytes(list []*Exchange) (n int64) {
	for _, x := range list {
		n += int64(len(x.Request.Raw) + len(x.Response.Raw))
	}
	return n / int64(len(list))
}

// BenchmarkWriter writes exchanges of about 2 KB, flushed every 32: ns and B of the file per exchange.
func BenchmarkWriter(b *testing.B) {
	for _, input := range []struct {
		name string
		list []*Exchange
	}{{"dense", benchExchanges(1024)}, {"echo", echoExchanges(1024)}} {
		for _, plain := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/plain=%v", input.name, plain), func(b *testing.B) { benchWriter(b, input.list, plain) })
		}
	}
}

func benchWriter(b *testing.B, list []*Exchange, plain bool) {
	out := &countingWriter{}
	w, err := NewWriter(out, Header{Tool: "bench"}, plain)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(exchangeBytes(list))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		x := list[i%len(list)]
		x.N, x.Seq = i+1, i+1
		if err := w.Write(x); err != nil {
			b.Fatal(err)
		}
		if i%32 == 31 {
			if err := w.Flush(); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(out.n)/float64(b.N), "file-B/op")
}

// BenchmarkReader reads a cassette of 10,000 exchanges of about 2 KB: ns per exchange, without and with a View of each.
func BenchmarkReader(b *testing.B) {
	for _, plain := range []bool{false, true} {
		for _, view := range []bool{false, true} {
			b.Run(fmt.Sprintf("plain=%v/view=%v", plain, view), func(b *testing.B) {
				const n = 10000
				list := benchExchanges(n)
				var file bytes.Buffer
				w, err := NewWriter(&file, Header{}, plain)
				if err != nil {
					b.Fatal(err)
				}
				for _, x := range list {
					if err := w.Write(x); err != nil {
						b.Fatal(err)
					}
				}
				if err := w.Close(End{}); err != nil {
					b.Fatal(err)
				}
				b.SetBytes(exchangeBytes(list) * n)
				b.ReportAllocs()
				for b.Loop() {
					rd, err := NewReader(bytes.NewReader(file.Bytes()), Limits{})
					if err != nil {
						b.Fatal(err)
					}
					for x, err := range rd.All() {
						if err != nil {
							b.Fatal(err)
						}
						if view {
							x.View().ResponseBody()
						}
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/exchange")
			})
		}
	}
}

// BenchmarkEncode is the line encoding alone.
func BenchmarkEncode(b *testing.B) {
	x := benchExchanges(1)[0]
	var buf []byte
	b.SetBytes(exchangeBytes([]*Exchange{x}))
	for b.Loop() {
		buf = appendPart(buf[:0], &part{x: x, request: x.Request, response: x.Response, method: true, status: true, last: true, allBytes: len(x.Response.Raw)})
	}
}

type countingWriter struct{ n int64 }

func (c *countingWriter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}
