package proxy

import (
	"slices"
	"strings"
	"testing"
)

// An endpoint event is seen wherever reads cut it, and named once.
func TestEndpointPastTheDoor(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, tt := range []struct{ name, bytes, want string }{
		{"absolute", head + "3e\r\nevent: endpoint\ndata: http://server.example:3000/m?s=1\n\n\r\n", "http://server.example:3000"},
		{"CRLF, chunks between the lines", head + "10\r\nevent:endpoint\r\n\r\n22\r\ndata:https://server.example/m\r\n\r\n\r\n", "https://server.example"},
		{"twice", head + strings.Repeat("event: endpoint\ndata: http://server.example/m\n\n", 2), "http://server.example"},
		{"a path", head + "event: endpoint\ndata: /m?s=1\n\n", ""},
		{"the door's own", head + "event: endpoint\ndata: http://localhost:4000/m\n\n", ""},
		{"another event", head + "event: message\ndata: http://server.example/\n\n", ""},
		{"in JSON", `{"text":"event: endpoint\ndata: http://server.example/\n\n"}` + "\n", ""},
		{"behind other events", head + "event: hello\ndata: 1\n\nevent: endpoint\ndata: http://server.example/\n\n", "http://server.example"},
		{"no end", head + "event: " + strings.Repeat("x", 3*endpointLine), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for cut := range len(tt.bytes) + 1 {
				var said []string
				w := endpointWatch{own: func(host string) bool { return host == "localhost:4000" }, say: func(s string) { said = append(said, s) }}
				s := w.scan()
				s.saw([]byte(tt.bytes[:cut]))
				s.saw([]byte(tt.bytes[cut:]))
				if len(s.held) > endpointLine {
					t.Fatalf("cut at byte %d: %d bytes are held", cut, len(s.held))
				}
				if tt.want == "" && len(said) > 0 || tt.want != "" && (len(said) != 1 || !slices.Contains(strings.Fields(said[0]), tt.want+",")) {
					t.Fatalf("cut at byte %d: said %q, want %q", cut, said, tt.want)
				}
			}
		})
	}
}
