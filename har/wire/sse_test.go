package wire

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// streams holds event streams; each event is written as its raw bytes and what was read of it.
var streams = []struct {
	name   string
	stream string
	want   []string
}{
	{"empty", "", nil},
	{"one event", "data: a\n\n", []string{`"data: a\n\n" data="a"`}},
	{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", []string{`"data: a\r\n\r\n" data="a"`, `"data: b\r\n\r\n" data="b"`}},
	{"lone CR", "data: a\r\rdata: b\r\r", []string{`"data: a\r\r" data="a"`, `"data: b\r\r" data="b"`}},
	{"mixed line ends", "data: a\r\ndata: b\rdata: c\n\rdata: d\n\r\n",
		[]string{`"data: a\r\ndata: b\rdata: c\n\r" data="a\nb\nc"`, `"data: d\n\r\n" data="d"`}},
	{"all fields", "event: message\nid: 7\nretry: 1500\ndata: {}\n\n", []string{`"event: message\nid: 7\nretry: 1500\ndata: {}\n\n" type="message" data="{}" id="7" retry=1500`}},
	{"several data lines", "data: a\ndata\ndata:\ndata:  b\n\n", []string{`"data: a\ndata\ndata:\ndata:  b\n\n" data="a\n\n\n b"`}},
	{"data without a value", "data\n\ndata:\n\ndata: \n\n", []string{`"data\n\n" data=""`, `"data:\n\n" data=""`, `"data: \n\n" data=""`}},
	{"BOM", "\ufeffdata: a\n\n\ufeffdata: b\n\n", []string{`"\ufeffdata: a\n\n" data="a"`, `"\ufeffdata: b\n\n"`}},
	{"two BOMs", "\ufeff\ufeffdata: a\n\n", []string{`"\ufeff\ufeffdata: a\n\n"`}},
	{"only a BOM", "\ufeff", []string{`"\ufeff" incomplete`}},
	{"BOM and a blank line", "\ufeff\ndata: a\n\n", []string{`"\ufeff\ndata: a\n\n" data="a"`}},
	{"comment", ": ping\n\n", []string{`": ping\n\n" comments=1`}},
	{"comments before and in an event", ":\n: a\ndata: b\n:c\n\n", []string{`":\n: a\ndata: b\n:c\n\n" data="b" comments=3`}},
	{"blank lines before, between and behind", "\n\ndata: a\n\n\n\ndata: b\n\n\n", []string{`"\n\ndata: a\n\n" data="a"`, `"\n\ndata: b\n\n" data="b"`, `"\n" incomplete`}},
	{"no space, one space, two spaces", "data:a\ndata: b\ndata:  c\n\n", []string{`"data:a\ndata: b\ndata:  c\n\n" data="a\nb\n c"`}},
	{"colon in the value", "data: a: b\n\n", []string{`"data: a: b\n\n" data="a: b"`}},
	{"unknown fields, other case, leading space", "Data: a\nfoo: b\n data: c\n\n", []string{`"Data: a\nfoo: b\n data: c\n\n"`}},
	{"last event and id win", "event: a\nevent: b\nid: 1\nid: 2\ndata: x\n\n", []string{`"event: a\nevent: b\nid: 1\nid: 2\ndata: x\n\n" type="b" data="x" id="2"`}},
	{"empty event and id", "event\nid\ndata: x\n\n", []string{`"event\nid\ndata: x\n\n" data="x" id=""`}},
	{"id with NUL", "id: 1\nid: a\x00b\ndata: x\n\n", []string{`"id: 1\nid: a\x00b\ndata: x\n\n" data="x" id="1"`}},
	{"id alone", "id: 1\n\n", []string{`"id: 1\n\n" id="1"`}},
	{"retry", "retry: 10\n\nretry: 1x\n\nretry: -1\n\nretry\n\nretry:  5\n\nretry: 0\nretry: z\n\nretry: 99999999999999999999\n\n",
		[]string{`"retry: 10\n\n" retry=10`, `"retry: 1x\n\n"`, `"retry: -1\n\n"`, `"retry\n\n"`, `"retry:  5\n\n"`, `"retry: 0\nretry: z\n\n" retry=0`,
			`"retry: 99999999999999999999\n\n" retry=2147483647`}},
	{"unterminated: no blank line", "data: a\n", []string{`"data: a\n" data="a" incomplete`}},
	{"unterminated: in a line", "data: a\n\ndata: {\"x\"", []string{`"data: a\n\n" data="a"`, `"data: {\"x\"" data="{\"x\"" incomplete`}},
	{"unterminated: comment", "data: a\n\n: pi", []string{`"data: a\n\n" data="a"`, `": pi" comments=1 incomplete`}},
	{"ends with the CR of a blank line", "data: a\r\n\r", []string{`"data: a\r\n\r" data="a"`}},
	{"ends with the CR of a line", "data: a\r", []string{`"data: a\r" data="a" incomplete`}},
	{"bytes that are no UTF-8", "data: \xff\xfe\n\n", []string{`"data: \xff\xfe\n\n" data="\xff\xfe"`}},
}

func eventText(stream []byte, e *Event) string {
	var sb strings.Builder
	fmt.Fprintf(&sb, "%q", stream[e.Off:e.End()])
	if e.Type != "" {
		fmt.Fprintf(&sb, " type=%q", e.Type)
	}
	if e.Data != nil {
		fmt.Fprintf(&sb, " data=%q", e.Data)
	}
	if e.HasID {
		fmt.Fprintf(&sb, " id=%q", e.ID)
	}
	if e.Retry >= 0 {
		fmt.Fprintf(&sb, " retry=%d", e.Retry)
	}
	if e.Comments > 0 {
		fmt.Fprintf(&sb, " comments=%d", e.Comments)
	}
	if !e.Complete {
		sb.WriteString(" incomplete")
	}
	return sb.String()
}

// split feeds parts to a Splitter and takes all events, those that need the end included.
func split(s *Splitter, parts ...[]byte) []Event {
	var events []Event
	for _, p := range parts {
		s.Feed(p)
		for e, ok := s.Next(); ok; e, ok = s.Next() {
			events = append(events, e)
		}
	}
	for e, ok := s.Close(); ok; e, ok = s.Close() {
		events = append(events, e)
	}
	return events
}

func checkTiles(t testing.TB, stream []byte, events []Event) {
	t.Helper()
	at := 0
	for _, e := range events {
		if e.Off != at || e.Len <= 0 {
			t.Fatalf("event spans %v, want it to begin at %d", e.Span, at)
		}
		at = e.End()
	}
	if at != len(stream) {
		t.Fatalf("events end at %d of %d bytes", at, len(stream))
	}
}

func TestSplit(t *testing.T) {
	for _, tt := range streams {
		t.Run(tt.name, func(t *testing.T) {
			stream := []byte(tt.stream)
			check := func(how string, events []Event) {
				t.Helper()
				checkTiles(t, stream, events)
				var got []string
				for i := range events {
					got = append(got, eventText(stream, &events[i]))
				}
				if !reflect.DeepEqual(got, tt.want) {
					t.Fatalf("%s:\n got %s\nwant %s", how, strings.Join(got, " | "), strings.Join(tt.want, " | "))
				}
			}
			check("SplitEvents", SplitEvents(stream))
			for cut := range len(stream) + 1 {
				check(fmt.Sprintf("cut at byte %d", cut), split(new(Splitter), stream[:cut], stream[cut:]))
			}
			var single [][]byte
			for i := range stream {
				single = append(single, stream[i:i+1])
			}
			check("byte by byte", split(new(Splitter), single...))
		})
	}
}

func TestNextIsPrompt(t *testing.T) {
	for _, tt := range []struct {
		fed  string
		want bool
	}{
		{"data: a\n\n", true},
		{"data: a\r\n\r\n", true},
		{"data: a\r\r", false}, // an LF may follow
		{"data: a\r\r\r", true},
		{"data: a\n", false},
	} {
		var s Splitter
		s.Feed([]byte(tt.fed))
		if _, ok := s.Next(); ok != tt.want {
			t.Errorf("%q: event given out %v, want %v", tt.fed, ok, tt.want)
		}
	}
}

func TestDispatched(t *testing.T) {
	for _, tt := range []struct {
		stream string
		want   bool
	}{
		{"data: a\n\n", true},
		{"data\n\n", true}, // the example "fires two events" of section 9.2.6
		{"id: 1\n\n", false},
		{": a\n\n", false},
		{"data: a\n", false},
	} {
		events := SplitEvents([]byte(tt.stream))
		if len(events) != 1 || events[0].Dispatched() != tt.want {
			t.Errorf("%q: %+v, want dispatched %v", tt.stream, events, tt.want)
		}
	}
}

func TestMaxEvent(t *testing.T) {
	const max = 10
	for _, tt := range []struct {
		name, stream string
		want         []string
	}{
		{"just fits", "data: ab\n\ndata: c\n\n", []string{`"data: ab\n\n" data="ab"`, `"data: c\n\n" data="c"`}},
		{"in a line", "data: abcdefghij\n\ndata: c\n\n", []string{`"data: abcd" incomplete`, `"efghij\n\n" incomplete`, `"data: c\n\n" data="c"`}},
		{"between lines", "data: abc\ndata: d\n\ndata: c\n\n", []string{`"data: abc\n" data="abc" incomplete`, `"data: d\n\n" incomplete`, `"data: c\n\n" data="c"`}},
		{"in a CRLF", "data: abc\r\n\r\ndata: c\n\n", []string{`"data: abc\r" incomplete`, `"\n\r\n" incomplete`, `"data: c\n\n" data="c"`}},
		{"more than twice", "data: 0123456789data: 89data: ab\n\n:\n\n", []string{`"data: 0123" incomplete`, `"456789data" incomplete`, `": 89data: " incomplete`,
			`"ab\n\n" incomplete`, `":\n\n" comments=1`}},
		{"unterminated", "data: abcdef", []string{`"data: abcd" incomplete`, `"ef" incomplete`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stream := []byte(tt.stream)
			for cut := range len(stream) + 1 {
				events := split(&Splitter{MaxEvent: max}, stream[:cut], stream[cut:])
				checkTiles(t, stream, events)
				var got []string
				for i := range events {
					got = append(got, eventText(stream, &events[i]))
				}
				if !reflect.DeepEqual(got, tt.want) {
					t.Fatalf("cut at byte %d:\n got %s\nwant %s", cut, strings.Join(got, " | "), strings.Join(tt.want, " | "))
				}
			}
		})
	}
}

func TestMaxEvents(t *testing.T) {
	stream := bytes.Repeat([]byte("a\n\n"), MaxEvents+2)
	events := SplitEvents(stream)
	checkTiles(t, stream, events)
	if last := events[len(events)-1]; len(events) != MaxEvents+1 || last.Len != 6 || last.Complete {
		t.Errorf("%d events, the last %+v", len(events), last)
	}
}

func TestSplitterKeepsNothing(t *testing.T) {
	var s Splitter
	event := []byte("data: " + strings.Repeat("x", 1000) + "\n\n")
	for range 1000 {
		s.Feed(event)
		if e, ok := s.Next(); !ok || len(e.Data) != 1000 {
			t.Fatalf("got %v, %v", e.Span, ok)
		}
	}
	if cap(s.buf) > 8*len(event) {
		t.Errorf("the buffer grew to %d bytes for events of %d", cap(s.buf), len(event))
	}
}
