package replay

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
)

// BenchmarkServe serves 1 KB answers to clients on plain sockets: a Player, and between its rounds a net/http handler that
// writes the same body. "ratio" is how much faster the Player is in this very run.
func BenchmarkServe(b *testing.B) {
	for _, conns := range []int{1, 32} {
		b.Run(fmt.Sprintf("conns=%d", conns), func(b *testing.B) { benchmarkServe(b, conns) })
	}
}

func benchmarkServe(b *testing.B, conns int) {
	const round = 20000 // requests
	body := result("1", `{"content":[{"type":"text","text":"`+strings.Repeat("x", 960)+`"}]}`)
	request := post(call("1", "tools/call", `{"name":"echo","arguments":{"text":"ping"}}`))
	exchanges := make([]*har.Exchange, round)
	for i := range exchanges {
		exchanges[i] = taped(i+1, request, har.EndKeep, ok(body))
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, body)
	})
	var player, plain time.Duration
	done := 0
	b.ResetTimer()
	for done = 0; done < b.N; done += round {
		b.StopTimer()
		p := &Player{Exchanges: exchanges}
		p.Endpoint()
		player += load(b, conns, round, request, p.Serve, func() { p.Close() })
		s := &http.Server{Handler: handler}
		plain += load(b, conns, round, request, s.Serve, func() { s.Close() })
		b.StartTimer()
	}
	b.ReportMetric(float64(done)/player.Seconds(), "replay-req/s")
	b.ReportMetric(float64(done)/plain.Seconds(), "nethttp-req/s")
	b.ReportMetric(plain.Seconds()/player.Seconds(), "ratio")
}

// load sends n requests over so many connections and says how long that took.
func load(b *testing.B, conns, n int, request string, serve func(net.Listener) error, stop func()) time.Duration {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go serve(l)
	defer stop()
	clients := make([]*client, conns)
	for i := range clients {
		clients[i] = dial(b, l.Addr().String())
	}
	clients[0].send(request)
	size := len(clients[0].answer())
	b.StartTimer()
	start := time.Now()
	var wg sync.WaitGroup
	for i, c := range clients {
		mine := (n - 1) / conns
		if i == 0 {
			mine += (n - 1) % conns
		}
		wg.Go(func() {
			out, in := []byte(request), make([]byte, size)
			for range mine {
				if _, err := c.Write(out); err != nil {
					b.Error(err)
					return
				}
				if _, err := io.ReadFull(c, in); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	b.StopTimer()
	return took
}
