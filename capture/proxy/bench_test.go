package proxy

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcptap/mcptap/capture"
	"github.com/mcptap/mcptap/har"
)

// The benchmarks hold three ways through one hop against each other, in turns within one process: the bare relay, which
// copies both ways and knows nothing; ours, recording to a compressed cassette with redaction; and httputil.ReverseProxy.
// What counts are the ratios, which are medians over all turns (-benchtime 20x makes 20 of them).

const turn = 100 * time.Millisecond

// A hop is a way to the origin.
type hop struct{ name, addr string }

func hops(b *testing.B, origin string) []hop {
	bare, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { bare.Close() })
	go serveBare(bare, origin)
	to := &url.URL{Scheme: "http", Host: origin}
	file, err := os.Create(filepath.Join(b.TempDir(), "bench.mcptap"))
	if err != nil {
		b.Fatal(err)
	}
	w, err := har.NewWriter(file, har.Header{Tool: "bench", Mode: "reverse"}, false)
	if err != nil {
		b.Fatal(err)
	}
	rec := capture.NewRecorder(w, har.NewRedactor())
	ours, stop := openDoor(b, &Reverse{To: to, Record: rec.Record, Offer: rec.Offer})
	b.Cleanup(func() {
		stop()
		if err := rec.Close(); err != nil {
			b.Error(err)
		}
		file.Close()
	})
	proxy := httptest.NewServer(httputil.NewSingleHostReverseProxy(to))
	b.Cleanup(proxy.Close)
	return []hop{{"bare", bare.Addr().String()}, {"ours", ours}, {"ReverseProxy", proxy.Listener.Addr().String()}}
}

// serveBare is the bare relay.
func serveBare(l net.Listener, origin string) {
	pass := func(dst, src *net.TCPConn) {
		if _, err := io.Copy(dst, src); err != nil {
			dst.Close()
			src.Close()
			return
		}
		dst.CloseWrite()
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			up, err := net.Dial("tcp", origin)
			if err != nil {
				return
			}
			defer up.Close()
			var wg sync.WaitGroup
			wg.Go(func() { pass(up.(*net.TCPConn), c.(*net.TCPConn)) })
			pass(c.(*net.TCPConn), up.(*net.TCPConn))
			wg.Wait()
		}()
	}
}

// BenchmarkPOST counts 1 KB JSON POSTs that are echoed.
func BenchmarkPOST(b *testing.B) {
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Write(body)
	}))
	defer origin.Close()
	body := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` + strings.Repeat("abcdefgh", 115) + `"}}}`)
	for _, conns := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("conns=%d", conns), func(b *testing.B) {
			hops := hops(b, origin.Listener.Addr().String())
			var rates [3][]float64
			for b.Loop() {
				for i, h := range hops {
					rates[i] = append(rates[i], posts(b, h.addr, conns, body))
				}
			}
			b.ReportMetric(median(rates[0]), "bare/s")
			b.ReportMetric(median(ratios(rates[1], rates[0])), "ours/bare")
			b.ReportMetric(median(ratios(rates[2], rates[0])), "ReverseProxy/bare")
		})
	}
}

// posts returns how many POSTs per second pass in one turn.
func posts(b *testing.B, addr string, conns int, body []byte) float64 {
	var n atomic.Int64
	var wg sync.WaitGroup
	warm := time.Now().Add(turn / 4)
	end := warm.Add(turn)
	for range conns {
		wg.Go(func() {
			tr := &http.Transport{MaxIdleConnsPerHost: 1, DisableCompression: true}
			defer tr.CloseIdleConnections()
			c := &http.Client{Transport: tr}
			for t := time.Now(); t.Before(end); t = time.Now() {
				r, err := c.Post("http://"+addr+"/echo", "application/json", bytes.NewReader(body))
				if err != nil {
					b.Error(err)
					return
				}
				got, err := io.Copy(io.Discard, r.Body)
				if r.Body.Close(); err != nil || got != int64(len(body)) {
					b.Errorf("%d bytes, %v", got, err)
				}
				if t.After(warm) {
					n.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return float64(n.Load()) / turn.Seconds()
}

// BenchmarkSSE measures how long events of a stream are under way, 5 ms apart.
func BenchmarkSSE(b *testing.B) {
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for range 40 {
			fmt.Fprintf(w, "data: %d\n\n", time.Now().UnixNano())
			w.(http.Flusher).Flush()
			<-tick.C
		}
	}))
	defer origin.Close()
	hops := hops(b, origin.Listener.Addr().String())
	var delays [3][]float64
	for b.Loop() {
		for i, h := range hops {
			delays[i] = append(delays[i], eventDelay(b, h.addr))
		}
	}
	b.ReportMetric(median(delays[0]), "bare-µs")
	b.ReportMetric(median(ratios(delays[1], delays[0])), "ours/bare")
	b.ReportMetric(median(ratios(delays[2], delays[0])), "ReverseProxy/bare")
}

// eventDelay returns the median one-way delay of one stream's events in microseconds.
func eventDelay(b *testing.B, addr string) float64 {
	r, err := http.Get("http://" + addr + "/sse")
	if err != nil {
		b.Fatal(err)
	}
	defer r.Body.Close()
	var all []float64
	for lines := bufio.NewScanner(r.Body); lines.Scan(); {
		if v, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			sent, err := strconv.ParseInt(v, 10, 64)
			if err != nil {
				b.Fatal(err)
			}
			all = append(all, float64(time.Now().UnixNano()-sent)/1000)
		}
	}
	if len(all) != 40 {
		b.Errorf("%d events", len(all))
	}
	return median(all)
}

func ratios(a, b []float64) []float64 {
	r := make([]float64, len(a))
	for i := range a {
		r[i] = a[i] / b[i]
	}
	return r
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Clone(v)
	slices.Sort(v)
	return v[len(v)/2]
}
