package replay

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/mcptap/mcptap/har"
)

// Five hundred streams are served at once: each has sent its first event before any may go on.
func TestManyStreams(t *testing.T) {
	const streams = 500
	get := func(i int) string {
		return fmt.Sprintf("GET /mcp?stream=%d HTTP/1.1\r\nHost: server.example\r\nAccept: text/event-stream\r\n\r\n", i)
	}
	event := func(i, k int) string { return chunk(fmt.Sprintf("data: {\"stream\":%d,\"event\":%d}\n\n", i, k)) }
	var recorded []*har.Exchange
	for i := range streams {
		// What follows the first event answers a request that the test sends when all streams are open.
		answer := chunk("data: " + result(fmt.Sprint(i+1), "{}") + "\n\n")
		recorded = append(recorded, taped(i+1, get(i), har.EndFIN, sse, event(i, 1), answer, "0\r\n\r\n"))
	}
	for i := range streams {
		x := taped(streams+i+1, post(call(fmt.Sprint(i+1), "tools/list", "")), har.EndKeep, accepted)
		x.Started = recorded[i].Started // while the stream was open
		recorded = append(recorded, x)
	}
	p := &Player{Exchanges: recorded}
	addr, _ := play(t, p)
	var opened, done sync.WaitGroup
	opened.Add(streams)
	for i := range streams {
		done.Go(func() {
			c := dial(t, addr)
			c.send(get(i))
			first, whole := sse+event(i, 1), sse+event(i, 1)+chunk("data: "+result(fmt.Sprint(i+1), "{}")+"\n\n")+"0\r\n\r\n"
			got := make([]byte, len(first))
			_, err := io.ReadFull(c, got)
			opened.Done()
			rest, end := c.rest()
			if err != nil || string(got)+rest != whole || end != har.EndFIN {
				t.Errorf("stream %d: %v, %q, %s", i, err, string(got)+rest, end)
			}
		})
	}
	opened.Wait()
	c := dial(t, addr)
	for i := range streams {
		c.send(post(call(fmt.Sprint(i+1), "tools/list", "")))
		if a := c.answer(); !strings.HasPrefix(a, "HTTP/1.1 202") {
			t.Errorf("request %d: %s", i+1, a)
		}
	}
	done.Wait()
	if r := p.Result(); r.Served != 2*streams || len(r.Misses) > 0 {
		t.Errorf("%d served, %d misses", r.Served, len(r.Misses))
	}
}
