package replay

import (
	"io"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
)

// A reply passes another whose request the client has not sent, a second after it was due; that one comes when its own request
// does, and the end of the stream behind both. What follows a reply stays behind it.
func TestStreamOvertakes(t *testing.T) {
	init, note := chunk(event(result("0", `"init"`))), chunk(event(`{"jsonrpc":"2.0","method":"notifications/x"}`))
	tool := chunk(event(result("1", `"call"`)))
	const ended = "0\r\n\r\n"
	for _, tt := range []struct {
		name string
		pace float64
		id   string // of the call
		more []string
		late time.Duration // when initialize is sent; 0: never
		want []read        // behind the endpoint
	}{
		{"never", 1, "1", nil, 0, []read{{5200 * ms, tool}}},
		{"never, fast", 0, "1", nil, 0, []read{{5 * time.Second, tool}}},
		{"never, another id", 1, `"x"`, nil, 0, []read{{5200 * ms, chunk(event(result(`"x"`, `"call"`)))}}},
		{"in time", 1, "1", nil, 4900 * ms, []read{{5400 * ms, init}, {6900 * ms, note}, {6900 * ms, tool}}},
		{"late", 1, "1", nil, 9000 * ms, []read{{5200 * ms, tool}, {9500 * ms, init}, {11000 * ms, note}}},
		{"late, with the end of the stream", 0, "1", []string{ended}, 9000 * ms, []read{{5 * time.Second, tool}, {9 * time.Second, init}, {9 * time.Second, note}, {9 * time.Second, ended}}},
		{"never, with the end of the stream", 0, "1", []string{ended}, 0, []read{{5 * time.Second, tool}}},
		{"two writes", 0, "1", []string{note}, 9000 * ms, []read{{5 * time.Second, tool}, {5 * time.Second, note}, {9 * time.Second, init}, {9 * time.Second, note}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			xs := older()
			for _, more := range tt.more {
				side := &xs[0].Response
				side.Raw = append(side.Raw, more...)
				side.Writes = append(side.Writes, har.Write{At: 4200 * ms, Len: len(more)})
				xs[0].EndOff += len(more)
			}
			var said []string
			p := &Player{Exchanges: xs, Pace: tt.pace, Notice: func(s string) { said = append(said, s) }}
			within(t, p, func(t *testing.T, l *pipes) {
				s, a := l.dial(), l.dial()
				io.WriteString(s, openStream)
				time.Sleep(4 * time.Second)
				io.WriteString(a, postTo("/message?sessionId=abc", call(tt.id, "tools/call", "{}")))
				if tt.late > 0 {
					time.Sleep(tt.late - 4*time.Second)
					a.Write(xs[1].Request.Raw)
				}
				time.Sleep(time.Hour)
				want := []read{{10 * ms, sse}, {20 * ms, chunk(endpoint)}}
				if tt.pace == 0 {
					want[0].at, want[1].at = 0, 0
				}
				expectReads(t, s, append(want, tt.want...)...)
			})
			const overtook = "exchange 1: what answers exchange 3 is sent before what answers exchange 2, which has not been asked for"
			if got := len(said) > 0 && said[0] == overtook; got != (tt.name != "in time") {
				t.Errorf("notices: %q", said)
			}
		})
	}
}

// A part that shares a chunk with what is cut, or whose chunk is not whole, passes nothing: the framing would break.
func TestStreamOvertakesByChunks(t *testing.T) {
	tool := event(result("1", `"call"`))
	for _, tt := range []struct{ name, last string }{
		{"the last chunk is cut", chunk(tool + "data: more\n\n")[:len(tool)+8]},
		{"one chunk has both", chunk(event(result("0", `"init"`)) + tool)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			xs := older()
			init := chunk(event(result("0", `"init"`)))
			parts := []string{sse, chunk(endpoint), init, tt.last}
			if tt.name == "one chunk has both" {
				parts = []string{sse, chunk(endpoint), tt.last}
			}
			xs[0] = taped(1, openStream, har.EndClientFIN, parts...)
			xs[0].Started = epoch
			for i := 2; i < len(parts); i++ {
				xs[0].Response.Writes[i].At = 4500 * ms
			}
			within(t, &Player{Exchanges: xs}, func(t *testing.T, l *pipes) {
				s, a := l.dial(), l.dial()
				io.WriteString(s, openStream)
				a.Write(xs[2].Request.Raw)
				time.Sleep(time.Hour)
				expectReads(t, s, read{0, sse}, read{0, chunk(endpoint)})
			})
		})
	}
}
