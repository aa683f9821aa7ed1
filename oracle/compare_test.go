package main

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/har/wire"
)

// A difference of any kind is found, and what only one of both can show is none.
func TestCompared(t *testing.T) {
	p := pair{netip.MustParseAddrPort("192.0.2.1:1"), netip.MustParseAddrPort("192.0.2.2:80")}
	talkOf := func(stream string, messages ...message) map[pair]*talk {
		t := &talk{}
		t.stream[wire.ToClient], t.messages[wire.ToClient] = []byte(stream), messages
		return map[pair]*talk{p: t}
	}
	ok := message{what: "200", body: []byte("a"), known: true}
	tests := []struct {
		name         string
		ours, theirs map[pair]*talk
		want         string
	}{
		{"the same", talkOf("x", ok), talkOf("x", ok), ""},
		{"stream", talkOf("xy", ok), talkOf("xz", ok), "response stream: 2 bytes, tshark has 2, equal up to 1"},
		{"one more", talkOf("x", ok), talkOf("x", ok, ok), "responses: 1, tshark has 2"},
		{"one fewer", talkOf("x", ok, ok), talkOf("x", ok), "responses: 2, tshark has 1"},
		{"an unfinished one", talkOf("x", ok, message{what: "200", unfinished: true}), talkOf("x", ok), ""},
		{"status", talkOf("x", ok), talkOf("x", message{what: "404"}), "number 1 is 200, to tshark 404"},
		{"body", talkOf("x", ok), talkOf("x", message{what: "200", body: []byte("ab"), known: true}), "the body of number 1 (200) has 1 bytes, tshark has 2"},
		{"body not shown", talkOf("x", ok), talkOf("x", message{what: "200"}), ""},
		{"only theirs", nil, talkOf("x", ok), "responses: 0, tshark has 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, got := compared(tt.ours, tt.theirs)
			if all := strings.Join(got, "; "); (all == "") != (tt.want == "") || !strings.Contains(all, tt.want) {
				t.Errorf("got %q, want %q", all, tt.want)
			}
		})
	}
}

// What tshark prints: a message in the middle of a packet, and a stream with a hole whose second end it does not name.
func TestReadsTshark(t *testing.T) {
	const pdml = `<?xml version="1.0"?><pdml><packet>
<proto name="ip"><field name="ip.src" show="192.0.2.2"/><field name="ip.dst" show="192.0.2.1"/></proto>
<proto name="tcp"><field name="tcp.srcport" show="80"/><field name="tcp.dstport" show="1"/><field name="tcp.stream" show="0"/></proto>
<proto name="http"><field name="" show="HTTP/1.1 200 OK"><field name="http.response.code" show="200"/></field><field name="http.file_data" show="hi" value="6869"/></proto>
</packet></pdml>`
	const followed = "\n=====\nFollow: tls,raw\nFilter: tcp.stream eq 0\nNode 0: 192.0.2.1:1\nNode 1: :0\n4745\n\t4854\n\t5b32206279746573206d697373696e6720696e20636170747572652066696c655d00\n\t5450\n=====\n"
	p := pair{netip.MustParseAddrPort("192.0.2.1:1"), netip.MustParseAddrPort("192.0.2.2:80")}
	talks := map[pair]*talk{}
	streams, err := readPDML(strings.NewReader(pdml), talks)
	if err != nil || len(streams) != 1 || talks[p] == nil || len(talks[p].messages[wire.ToClient]) != 1 {
		t.Fatalf("%v, streams %v, talks %v", err, streams, talks)
	}
	if m := talks[p].messages[wire.ToClient][0]; m.what != "200" || string(m.body) != "hi" {
		t.Errorf("got %+v", m)
	}
	if err := readFollowed(strings.NewReader(followed), false, streams, talks); err != nil {
		t.Fatal(err)
	}
	if got := talks[p].stream; string(got[wire.ToServer]) != "GE" || string(got[wire.ToClient]) != "HTTP" {
		t.Errorf("streams %q", got)
	}
}
