package replay

import (
	"slices"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
)

// BenchmarkPace serves a stream of 40 writes with gaps from 1 to 40 ms and measures at the client how far each gap is from the
// recorded one, and how many reads were not a recorded write.
func BenchmarkPace(b *testing.B) {
	x := taped(1, post(call("1", "tools/call", "")), har.EndFIN, sse)
	at := 5 * ms
	want := []time.Duration{at}
	for gap := 1; gap <= 40; gap++ {
		at += time.Duration(gap) * ms
		part := chunk(": tick\n\n")
		x.Response.Raw = append(x.Response.Raw, part...)
		x.Response.Writes = append(x.Response.Writes, har.Write{At: at, Len: len(part)})
		want = append(want, at)
	}
	x.Response.Writes[0].At, x.EndAt, x.EndOff = want[0], at, len(x.Response.Raw)
	var off []time.Duration
	joined := 0
	for b.Loop() {
		addr, _ := play(b, &Player{Exchanges: []*har.Exchange{x}, Pace: 1})
		c := dial(b, addr)
		c.send(string(x.Request.Raw))
		buf, last := make([]byte, 4096), time.Duration(0)
		start, got := time.Now(), 0
		for i := 0; got < len(x.Response.Raw); i++ {
			n, err := c.Read(buf)
			if err != nil {
				b.Fatal(err)
			}
			now := time.Since(start)
			if i < len(want) && n == x.Response.Writes[i].Len {
				recorded := want[i]
				if i > 0 {
					recorded -= want[i-1]
				}
				off = append(off, (now - last - recorded).Abs())
			} else {
				joined++
			}
			got, last = got+n, now
		}
	}
	slices.Sort(off)
	b.ReportMetric(float64(off[len(off)/2].Microseconds())/1000, "median-off-ms")
	b.ReportMetric(float64(off[len(off)*95/100].Microseconds())/1000, "p95-off-ms")
	b.ReportMetric(float64(joined)/float64(b.N), "joined-reads")
}
