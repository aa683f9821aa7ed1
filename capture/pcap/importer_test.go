package pcap

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/har"
)

const (
	mcpAsk    = "POST /mcp HTTP/1.1\r\nContent-Length: 40\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
	mcpAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 36\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"
	pageAsk   = "GET /page HTTP/1.1\r\n\r\n"
	page      = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage"
)

// A flow makes the segments of a connection.
type flow struct {
	port     uint16
	server   netip.AddrPort
	seq, ack uint32
	out      []*wireSegment
}

func newFlow(port uint16) *flow { return &flow{port: port, server: serverEnd, seq: 5, ack: 9} }

func (f *flow) open() *flow {
	f.put(true, "S", "")
	f.put(false, "SA", "")
	return f
}

func (f *flow) put(up bool, flags, data string) {
	client := netip.AddrPortFrom(clientEnd.Addr(), f.port)
	n := uint32(len(data))
	if strings.ContainsAny(flags, "SF") {
		n++
	}
	if up {
		f.out = append(f.out, &wireSegment{src: client, dst: f.server, seq: f.seq, ack: f.ack, flags: flags, data: data})
		f.seq += n
	} else {
		f.out = append(f.out, &wireSegment{src: f.server, dst: client, seq: f.ack, ack: f.seq, flags: flags, data: data})
		f.ack += n
	}
}

func (f *flow) asks(data string) *flow    { f.put(true, "A", data); return f }
func (f *flow) answers(data string) *flow { f.put(false, "A", data); return f }

// told writes an exchange as "conn METHOD status end complete notes".
func toldOf(x *har.Exchange) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s %d %s %d %s", x.Conn, x.Method, x.Status, x.End, x.View().Complete, strings.Join(x.Notes, ", ")))
}

func TestImporter(t *testing.T) {
	elsewhere := newFlow(1)
	elsewhere.server = netip.MustParseAddrPort("192.0.2.9:80")
	bytewise := newFlow(1).open()
	for _, b := range []byte(mcpAsk) {
		bytewise.asks(string(b))
	}
	bytewise.answers(mcpAnswer)
	big := newFlow(1).open()
	for range 400 {
		big.asks(pageAsk).answers("HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n" + strings.Repeat("x", 9000))
	}
	big.asks(mcpAsk).answers(mcpAnswer)
	tests := []struct {
		name     string
		all      bool
		segments []*wireSegment
		want     []string
		check    func(*Counters) bool
	}{
		{"MCP", false, newFlow(1).open().asks(mcpAsk).answers(mcpAnswer).out, []string{"1 POST 200 keep 1"}, func(n *Counters) bool { return n.HTTP == 1 && n.Kept == 1 && n.Unexplained() == 0 }},
		{"byte by byte", false, bytewise.out, []string{"1 POST 200 keep 1"}, nil},
		{"no MCP", false, newFlow(1).open().asks(pageAsk).answers(page).out, nil, func(n *Counters) bool { return n.LeftOut == 1 && n.Unexplained() == 0 }},
		{"no MCP, all", true, newFlow(1).open().asks(pageAsk).answers(page).out, []string{"1 GET 200 keep 1"}, nil},
		{"the origin's page before", false, slices.Concat(newFlow(1).open().asks(pageAsk).answers(page).out, newFlow(2).open().asks(mcpAsk).answers(mcpAnswer).out),
			[]string{"1 GET 200 keep 1", "2 POST 200 keep 1"}, nil},
		{"another origin's page", false, slices.Concat(elsewhere.open().asks(pageAsk).answers(page).out, newFlow(2).open().asks(mcpAsk).answers(mcpAnswer).out),
			[]string{"1 POST 200 keep 1"}, func(n *Counters) bool { return n.LeftOut == 1 && n.Kept == 1 }},
		{"no SYN", false, newFlow(1).asks(mcpAsk).answers(mcpAnswer).out, []string{"1 POST 200 keep 1 inferred"}, func(n *Counters) bool { return n.Midstream == 2 }},
		{"met in an answer", false, newFlow(1).answers("data: x\n\n").asks(mcpAsk).answers(mcpAnswer).out,
			[]string{"1  0 unknown 0 inferred, start", "1 POST 200 keep 1 inferred"}, nil},
		{"met in a stream, of a server that is known", false, slices.Concat(newFlow(1).open().asks(mcpAsk).answers(mcpAnswer).out, newFlow(2).answers("data: x\n\n").out),
			[]string{"1 POST 200 keep 1", "2  0 capture-stopped 0 inferred, start"}, nil},
		{"something else", false, newFlow(1).open().answers("220 mail\r\n").asks("\x00\x01\x02").out, nil, func(n *Counters) bool { return n.Other == 1 && n.OtherData == 13 }},
		{"HTTP/2", false, newFlow(1).open().asks("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").answers("\x00\x00\x00\x04\x00\x00\x00\x00\x00").out, nil, func(n *Counters) bool { return n.Other == 1 && n.Unexplained() > 0 }},
		{"no bytes", false, newFlow(1).open().out, nil, func(n *Counters) bool { return n.Conns == 1 && n.Other == 0 }},
		{"much before MCP", false, big.out, nil, func(n *Counters) bool { return n.Early > maxEarly && n.Kept == 1 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &Importer{AllHTTP: tt.all}
			var got []string
			for _, x := range exchangesOf(t, tt.segments, m) {
				got = append(got, toldOf(x))
			}
			if tt.want != nil && !slices.Equal(got, tt.want) || tt.want == nil && tt.name != "much before MCP" && len(got) > 0 {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			if tt.name == "much before MCP" && (len(got) == 0 || got[len(got)-1] != "1 POST 200 keep 1") {
				t.Errorf("got %d exchanges: %q", len(got), got)
			}
			if tt.check != nil && !tt.check(&m.Counters) {
				t.Errorf("counters %+v", m.Counters)
			}
		})
	}
}

func TestShows(t *testing.T) {
	for text, want := range map[string]bool{
		`{"jsonrpc":"2.0"`: true, `{"jsonrpc" : "2.0"`: true, `{"jsonrpc":"1.0"`: false, `"jsonrpc", "jsonrpc":"2.0"`: true, `{\"jsonrpc\":\"2.0\"`: false,
		"GET / HTTP/1.1\r\nMCP-Protocol-Version: x\r\n": true, "GET / HTTP/1.1\r\nmcp-session-id:x": true, "x-mcp-session-id: a": false, "\r\nmcp-sess": false, "": false,
	} {
		if shows([]byte(text)) != want {
			t.Errorf("%q: got %t", text, !want)
		}
	}
}

func TestFilter(t *testing.T) {
	here := newFlow(1).open().asks(mcpAsk).answers(mcpAnswer).out
	there := newFlow(2)
	there.server = netip.MustParseAddrPort("192.0.2.9:80")
	there.open().asks(mcpAsk).answers(mcpAnswer)
	host := func(s string) []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix(s)} }
	tests := []struct {
		name   string
		filter Filter
		want   []string // servers
	}{
		{"none", Filter{}, []string{serverEnd.String(), "192.0.2.9:80"}},
		{"port of a server", Filter{Ports: []uint16{80}}, []string{"192.0.2.9:80"}},
		{"port of a client", Filter{Ports: []uint16{1, 7}}, []string{serverEnd.String()}},
		{"host", Filter{Hosts: host("192.0.2.9/32")}, []string{"192.0.2.9:80"}},
		{"network of both", Filter{Hosts: host("192.0.2.0/24")}, []string{serverEnd.String(), "192.0.2.9:80"}},
		{"host and port of different connections", Filter{Hosts: host("192.0.2.9/32"), Ports: []uint16{1}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &Importer{Filter: tt.filter}
			var got []string
			for _, x := range exchangesOf(t, slices.Concat(here, there.out), m) {
				got = append(got, x.Server)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if left := int64(4 * (2 - len(tt.want))); m.Counters.Filtered != left || m.Counters.Unexplained() != 0 {
				t.Errorf("%d packets were left out, want %d; %+v", m.Counters.Filtered, left, m.Counters)
			}
		})
	}
}
