package replay

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/har"
)

// A client that has read a stream up to an event is sent what the recording has behind that, though nobody resumed when it
// was recorded; under the ids of this replay, in whole chunks, to the recorded end.
func TestResumedFromTheRecordedEvents(t *testing.T) {
	numbered := func(id int, data string) string { return fmt.Sprintf("id: e%d\ndata: %s\n\n", id, data) }
	note := numbered(1, `{"jsonrpc":"2.0","method":"n"}`)
	more := numbered(2, `{"jsonrpc":"2.0","method":"m"}`)
	reply := func(id string) string { return numbered(3, result(id, "{}")) }
	request := func(id string) string { return post(call(id, "tools/call", ""), "Mcp-Session-Id: s") }
	resume := func(session, event string) string {
		return "GET /mcp HTTP/1.1\r\nHost: server.example\r\nMcp-Session-Id: " + session + "\r\nLast-Event-ID: " + event + "\r\n\r\n"
	}
	const open = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
	for _, tt := range []struct {
		name, resumes string
		live          string // the id of the call
		answer        []string
		end           har.Ending
		want          string // "": a miss
	}{
		{"an event a chunk", resume("s", "e1"), "1", []string{sse, chunk(note), chunk(more), chunk(reply("1")) + "0\r\n\r\n"}, har.EndKeep, sse + chunk(more) + chunk(reply("1")) + "0\r\n\r\n"},
		{"all in one write", resume("s", "e2"), "1", []string{sse + chunk(note) + chunk(more) + chunk(reply("1")) + "0\r\n\r\n"}, har.EndKeep, sse + chunk(reply("1")) + "0\r\n\r\n"},
		{"under another id", resume("s", "e2"), `"live"`, []string{sse, chunk(note), chunk(more), chunk(reply("1")) + "0\r\n\r\n"}, har.EndKeep, sse + chunk(reply(`"live"`)) + "0\r\n\r\n"},
		{"in the middle of a chunk", resume("s", "e1"), "1", []string{sse, chunk(note + more), chunk(reply("1")) + "0\r\n\r\n"}, har.EndKeep, sse + chunk(more) + chunk(reply("1")) + "0\r\n\r\n"},
		{"in the middle of a chunk that changes", resume("s", "e2"), `"live"`, []string{sse, chunk(note), chunk(more+reply("1")) + "0\r\n\r\n"}, har.EndKeep, ""},
		{"behind the last event", resume("s", "e3"), "1", []string{sse, chunk(note), chunk(reply("1")) + "0\r\n\r\n"}, har.EndKeep, sse + "0\r\n\r\n"},
		{"a stream until the end", resume("s", "e1"), "1", []string{open, note, more + reply("1")}, har.EndFIN, open + more + reply("1")},
		{"with a length", resume("s", "e1"), "1", []string{strings.Replace(open, "\r\n\r\n", fmt.Sprintf("\r\nContent-Length: %d\r\n\r\n", len(note+more)), 1), note + more}, har.EndKeep, ""},
		{"another session", resume("other", "e1"), "1", []string{sse, chunk(note), chunk(reply("1")) + "0\r\n\r\n"}, har.EndKeep, ""},
		{"an event that never was", resume("s", "e"), "1", []string{sse, chunk(note), chunk(reply("1")) + "0\r\n\r\n"}, har.EndKeep, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &Player{Exchanges: []*har.Exchange{taped(1, request("1"), tt.end, tt.answer...)}}
			addr, _ := play(t, p)
			c := dial(t, addr)
			c.send(resume("s", "e1"))
			if got := c.answer(); !strings.HasPrefix(got, "HTTP/1.1 501 ") {
				t.Errorf("before the stream was served: %q", got)
			}
			asked := dial(t, addr)
			asked.send(request(tt.live))
			asked.expect(tt.answer[0])
			asked.Close()
			c = dial(t, addr)
			c.send(tt.resumes)
			if tt.want == "" {
				if got := c.answer(); !strings.HasPrefix(got, "HTTP/1.1 501 ") {
					t.Errorf("got %q, want a miss", got)
				}
				return
			}
			c.expect(tt.want)
			c.Conn.(*net.TCPConn).CloseWrite()
			if got, _ := c.rest(); got != "" {
				t.Errorf("got %q too", got)
			}
		})
	}
}

// A stream that a fault breaks off goes on where the client resumes it; with Exact nothing is left out of a recording.
func TestResumedBehindFault(t *testing.T) {
	x := taped(1, post(call("1", "tools/call", "")), har.EndKeep, sse, chunk("id: 7\ndata: {}\n\n"), chunk(event(result("1", "{}")))+"0\r\n\r\n")
	f, err := ParseFault(fmt.Sprintf("tools/call: rst after %d bytes", len(sse+chunk("id: 7\ndata: {}\n\n"))))
	if err != nil {
		t.Fatal(err)
	}
	for exact, want := range map[bool]string{false: sse + chunk(event(result("1", "{}"))) + "0\r\n\r\n", true: "HTTP/1.1 501 "} {
		addr, _ := play(t, &Player{Exchanges: []*har.Exchange{x}, Faults: []Fault{f}, Exact: exact})
		c := dial(t, addr)
		c.send(post(call("1", "tools/call", "")))
		c.expect(sse + chunk("id: 7\ndata: {}\n\n"))
		c = dial(t, addr)
		c.send("GET /mcp HTTP/1.1\r\nHost: server.example\r\nLast-Event-ID: 7\r\n\r\n")
		c.expect(want)
	}
}
