package pcap

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
)

// conversation is one call with a long answer, cut into segments of so many bytes. The sequence numbers begin at seq.
func conversation(seq uint32, most int) []*wireSegment {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"text":"%s"}}`, strings.Repeat("0123456789", 10_000))
	answer := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	f := &flow{port: 40001, server: serverEnd, seq: seq, ack: seq}
	f.open().asks(mcpAsk)
	for part := range slices.Chunk([]byte(answer), most) {
		f.answers(string(part))
	}
	f.put(false, "AF", "")
	f.put(true, "AF", "")
	return f.out
}

// at is when the i-th segment was seen.
func at(i int) time.Duration { return time.Duration(i) * 1500 * time.Microsecond }

// classic writes frames of one segment each to a pcap file; snaplen 0 stands for none.
func classic(segments []*wireSegment, link uint32, frames func(*wireSegment) [][]byte) []byte {
	out := pcapHeader(be, magicMicro, 0, link)
	for i, s := range segments {
		for _, b := range frames(s) {
			out = append(out, pcapRecord(be, uint32(at(i)/time.Second), uint32(at(i)%time.Second/time.Microsecond), uint32(len(b)), uint32(len(b)), string(b))...)
		}
	}
	return out
}

// sections writes a pcapng file in which what each end sends was seen on an interface of its own, with clocks of their own and other
// link types, and which begins anew in the middle. The kernel dropped 7 packets.
func sections(segments []*wireSegment) []byte {
	micros := func(d time.Duration) uint64 { return uint64(d / time.Microsecond) }
	nanos := func(d time.Duration) uint64 { return uint64(d) }
	twenty := func(d time.Duration) uint64 { return (uint64(d)<<20 + 1e9 - 1) / 1e9 }
	begin := func(o order, res byte) []byte {
		return join(ngSection(o), ngInterface(o, 1, 0), ngInterface(o, 101, 0, ngOption(o, 9, []byte{res})))
	}
	out, o, other := begin(le, 9), order(le), nanos
	for i, s := range segments {
		if i == len(segments)/2 {
			out = append(out, ngBlock(le, statsBlock, append(make([]byte, 12), ngOption(le, 5, le.AppendUint64(nil, 7))...))...)
			out, o, other = append(out, begin(be, 0x80|20)...), be, twenty
		}
		if s.src == serverEnd {
			out = append(out, ngPacket(o, 1, other(at(i)), string(s.ip()), uint32(len(s.ip())))...)
		} else {
			b := ethernet(etherIPv4, s.ip())
			out = append(out, ngPacket(o, 0, micros(at(i)), string(b), uint32(len(b)))...)
		}
	}
	return out
}

// However packets were wrapped and captured, the recording is the same.
func TestDisguises(t *testing.T) {
	one := func(f func([]byte) []byte) func(*wireSegment) [][]byte {
		return func(s *wireSegment) [][]byte { return [][]byte{f(s.ip())} }
	}
	as := func(proto byte, before ...byte) func(*wireSegment) [][]byte {
		return one(func(b []byte) []byte {
			return ipBytes(netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), proto, join(before, b))
		})
	}
	vxlan := append([]byte{0, 1, 0x12, 0xB5, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 5, 0}, ethernet(etherIPv4, nil)...)
	small := conversation(5, 1400)
	const raw = 101
	want, wantM := recordingOf(t, classic(small, raw, one(slices.Clip)))
	if len(want) != 1 || toldOf(want[0]) != "1 POST 200 fin 1" || wantM.Counters.Unexplained() != 0 {
		t.Fatalf("%d exchanges, %s, %+v", len(want), toldOf(want[0]), wantM.Counters)
	}
	for name, file := range map[string][]byte{
		"sections and clocks": sections(small),
		"GRE":                 classic(small, raw, as(47, 0, 0, 8, 0)),
		"VXLAN":               classic(small, raw, as(17, vxlan...)),
		"IP in IP":            classic(small, raw, as(4)),
		"fragments":           classic(small, raw, func(s *wireSegment) [][]byte { return fragmented(s, 512) }),
		"sequence wraps":      classic(conversation(1<<32-50_000, 1400), raw, one(slices.Clip)),
		"larger than IP": classic(conversation(5, 1<<20), raw, one(func(b []byte) []byte {
			if len(b) > 1<<16 {
				b[2], b[3] = 0, 0 // what segmentation offload leaves
			}
			return b
		})),
		"wrong checksums": classic(small, raw, one(func(b []byte) []byte {
			binary.BigEndian.PutUint16(b[10:], 0xBEEF)
			binary.BigEndian.PutUint16(b[36:], 0xBEEF)
			return b
		})),
	} {
		got, m := recordingOf(t, file)
		if len(got) != 1 || toldOf(got[0]) != toldOf(want[0]) || m.Counters.Unexplained() != 0 {
			t.Errorf("%s: %d exchanges, %+v", name, len(got), m.Counters)
			continue
		}
		x, w := got[0], want[0]
		if !bytes.Equal(x.Request.Raw, w.Request.Raw) || !bytes.Equal(x.Response.Raw, w.Response.Raw) || x.Client != w.Client || !x.Started.Equal(w.Started) {
			t.Errorf("%s: %s at %v, %d bytes", name, x.Client, x.Started, len(x.Response.Raw))
		}
		if dropped := m.Counters.Dropped; (dropped == 7) != (name == "sections and clocks") {
			t.Errorf("%s: %d packets were dropped", name, dropped)
		}
		if name != "larger than IP" && !slices.Equal(x.Response.Writes, w.Response.Writes) {
			t.Errorf("%s: the answer was cut or timed in another way", name)
		}
	}
}

// What contradicts itself on the wire, up to what the recording says of it.
func TestContradictions(t *testing.T) {
	opened := func() *flow { return newFlow(40001).open() }
	half := len(mcpAnswer) / 2
	answered := opened().asks(mcpAsk).answers(mcpAnswer)
	seq, ack := answered.seq, answered.ack
	reset := func(f *flow, seq, ack uint32) []*wireSegment {
		return append(f.out, &wireSegment{src: serverEnd, dst: netip.AddrPortFrom(clientEnd.Addr(), f.port), seq: seq, ack: ack, flags: "R"})
	}
	twice := opened().asks(mcpAsk)
	twice.answers(mcpAnswer)
	twice.ack -= uint32(half)
	twice.answers(strings.Repeat("?", half))
	again := opened().asks(mcpAsk).answers(mcpAnswer)
	again.seq, again.ack = 700_000, 900_000
	again.open().asks(mcpAsk).answers(mcpAnswer)
	ahead := opened().asks(mcpAsk)
	ahead.out = reset(ahead, ahead.ack+uint32(len(mcpAnswer)), ahead.seq)
	ahead.answers(mcpAnswer)
	for name, tt := range map[string]struct {
		segments []*wireSegment
		want     []string
		check    func(*Counters) bool
	}{
		"conflicting copies":        {twice.out, []string{"1 POST 200 keep 0 conflict"}, func(n *Counters) bool { return n.Conflicts == 1 }},
		"port reuse":                {again.out, []string{"1 POST 200 keep 1", "2 POST 200 keep 1"}, func(n *Counters) bool { return n.Conns == 2 }},
		"reset":                     {reset(answered, ack, seq), []string{"1 POST 200 rst 1"}, func(n *Counters) bool { return n.Stale == 0 }},
		"stale reset":               {reset(answered, ack-9, seq), []string{"1 POST 200 keep 1"}, func(n *Counters) bool { return n.Stale == 1 }},
		"reset ahead of the answer": {ahead.out, []string{"1 POST 200 rst 1"}, nil},
	} {
		got, m := recordingOf(t, classic(tt.segments, 101, func(s *wireSegment) [][]byte { return [][]byte{s.ip()} }))
		var told []string
		for _, x := range got {
			told = append(told, toldOf(x))
		}
		if !slices.Equal(told, tt.want) || tt.check != nil && !tt.check(&m.Counters) {
			t.Errorf("%s: %q, want %q; %+v", name, told, tt.want, m.Counters)
		}
	}
}

// recordingOf imports a file.
func recordingOf(t *testing.T, file []byte) ([]*har.Exchange, *Importer) {
	t.Helper()
	r, err := NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	xs, m, _ := importedFrom(t, r)
	return xs, m
}
