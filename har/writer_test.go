package har

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"
	"time"
)

func sample(n int) *Exchange {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"x"}}`, n)
	req := fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	res := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
	x := &Exchange{N: n, Conn: uint64(n), Seq: 1, Started: time.Date(2026, 7, 28, 1, 2, 3, n*1000, time.UTC), Client: "127.0.0.1:1", Server: "127.0.0.1:2",
		Request:  Side{Raw: []byte(req), Writes: []Write{{0, len(req)}}},
		Response: Side{Raw: []byte(res), Writes: []Write{{5 * time.Millisecond, len(res) - 1}, {6 * time.Millisecond, 1}}},
		End:      EndFIN, EndAt: 7 * time.Millisecond, EndOff: len(res)}
	FillDerived(x, "http://a")
	return x
}

func TestQuick(t *testing.T) {
	for _, plain := range []bool{true, false} {
		var b bytes.Buffer
		w, err := NewWriter(&b, Header{Tool: "t", Started: time.Now().UTC().Truncate(time.Microsecond)}, plain)
		if err != nil {
			t.Fatal(err)
		}
		var want []*Exchange
		for n := 1; n <= 300; n++ {
			x := sample(n)
			want = append(want, x)
			if err := w.Write(x); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(End{At: time.Now()}); err != nil {
			t.Fatal(err)
		}
		c, err := Read(bytes.NewReader(b.Bytes()), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(c.Exchanges, want) {
			t.Fatalf("got %+v want %+v", c.Exchanges[0], want[0])
		}
		if c.Cut != "" || c.End == nil || c.End.Exchanges != 300 || c.End.Conns != 300 {
			t.Fatal(c.Cut, c.End)
		}
		if v := c.Exchanges[0].View(); v.Complete != True || c.Exchanges[0].URL != "http://a/mcp" || c.Exchanges[0].MediaType != "application/json" {
			t.Fatal(v.Complete, v.Why)
		}
	}
}
