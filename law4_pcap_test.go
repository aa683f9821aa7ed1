package mcptap

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/mcptap/mcptap/capture"
	"github.com/mcptap/mcptap/capture/pcap"
	"github.com/mcptap/mcptap/corpus"
	"github.com/mcptap/mcptap/har"
)

// Law 4, offline: a packet capture of a recorded run gives the recording's exchanges again, equal in bytes and endings on
// the server's leg. The capture is written from the recording: one packet for each write, in the order of their times. It is
// written once more with TLS on that leg, where an ending with and one without close_notify are two.
func TestCaptureOfARecordingIsTheRecording(t *testing.T) {
	cases, err := corpus.List()
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, c := range cases {
		recorded, err := corpus.Open(c.Name)
		if err != nil {
			t.Fatal(err)
		}
		want := server(recorded.Exchanges)
		t.Run(c.Name, func(t *testing.T) {
			sameExchanges(t, imported(t, pcapFile(packetsOf(want)), nil), want, seenEnd)
		})
		t.Run(c.Name+"/TLS", func(t *testing.T) {
			packets, keys := encrypted(t, packetsOf(want))
			sameExchanges(t, imported(t, pcapFile(packets), keys), want, seenTLSEnd)
		})
		compared += len(want)
	}
	if compared < 100 {
		t.Errorf("only %d exchanges were compared", compared)
	}
}

// The corpus has not every ending at every place.
func TestCaptureOfEveryEnding(t *testing.T) {
	const request, response = "POST /mcp HTTP/1.1\r\nHost: a.example\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
	for _, end := range []har.Ending{har.EndFIN, har.EndNoCloseNotify, har.EndRST, har.EndClientFIN, har.EndClientRST, har.EndStopped} {
		for _, n := range []int{0, 12, len(response)} {
			x := &har.Exchange{N: 1, Conn: 1, Seq: 1, Started: time.Unix(1785000000, 0).UTC(), Method: "POST", End: end, EndAt: time.Second}
			x.Request = har.Side{Raw: []byte(request), Writes: []har.Write{{Len: len(request)}}}
			if n > 0 {
				x.Response = har.Side{Raw: []byte(response[:n]), Writes: []har.Write{{At: time.Millisecond, Len: n}}}
			}
			if n == len(response) {
				x.Status = 200
			}
			if n == len(response) && end == har.EndStopped {
				x.End = har.EndKeep
			}
			want := []*har.Exchange{x}
			t.Run(fmt.Sprintf("%s behind %d bytes", end, n), func(t *testing.T) {
				sameExchanges(t, imported(t, pcapFile(packetsOf(want)), nil), want, seenEnd)
				packets, keys := encrypted(t, packetsOf(want))
				sameExchanges(t, imported(t, pcapFile(packets), keys), want, seenTLSEnd)
			})
		}
	}
}

// sameExchanges compares what was imported with what was recorded, whose endings packets show as seen says.
func sameExchanges(t *testing.T, got, want []*har.Exchange, seen func(*har.Exchange) har.Ending) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d exchanges, want %d", len(got), len(want))
	}
	for i, x := range got {
		w := want[i]
		if !bytes.Equal(x.Request.Raw, w.ServerLeg()) {
			t.Errorf("exchange %d: request\n%q\nwant\n%q", w.N, x.Request.Raw, w.ServerLeg())
		}
		if !bytes.Equal(x.Response.Raw, w.Response.Raw) {
			t.Errorf("exchange %d: response\n%q\nwant\n%q", w.N, x.Response.Raw, w.Response.Raw)
		}
		if end := seen(w); x.End != end {
			t.Errorf("exchange %d: end %s, want %s", w.N, x.End, end)
		}
		if x.Method != w.Method || x.Status != w.Status || x.Seq != w.Seq || len(x.Notes) > 0 {
			t.Errorf("exchange %d: %s %d, number %d on its connection, notes %q", w.N, x.Method, x.Status, x.Seq, x.Notes)
		}
	}
}

// server leaves out what never reached a server, and what packets do not carry, in order of N.
func server(all []*har.Exchange) []*har.Exchange {
	out := slices.DeleteFunc(slices.Clone(all), func(x *har.Exchange) bool { return len(x.Notes) > 0 || len(x.Request.Raw) == 0 || x.Stdio() })
	slices.SortFunc(out, func(a, b *har.Exchange) int { return cmp.Compare(a.N, b.N) })
	return out
}

// seenEnd is an ending as packets show it: without TLS there is no close_notify.
func seenEnd(x *har.Exchange) har.Ending {
	if x.End == har.EndNoCloseNotify {
		return har.EndFIN
	}
	return seenTLSEnd(x)
}

// seenTLSEnd is the same with TLS: silence and the end of the recording look alike.
func seenTLSEnd(x *har.Exchange) har.Ending {
	if x.End == har.EndHang || x.End == har.EndUnknown {
		return har.EndStopped
	}
	return x.End
}

// A sent is a packet to be written.
type sent struct {
	at    time.Time
	conn  uint64
	down  bool // from the server
	flags byte
	bare  bool // a FIN without close_notify
	data  []byte
}

// packetsOf lists the packets of a recording, in the order of their times.
func packetsOf(all []*har.Exchange) []sent {
	var packets []sent
	last := map[uint64]time.Time{}
	add := func(p sent) {
		if p.at.Before(last[p.conn]) { // a connection's packets keep their order
			p.at = last[p.conn]
		}
		last[p.conn] = p.at
		packets = append(packets, p)
	}
	opened := map[uint64]bool{}
	for _, x := range all {
		if !opened[x.Conn] {
			opened[x.Conn] = true
			add(sent{at: x.Started, conn: x.Conn, flags: 2})
			add(sent{at: x.Started, conn: x.Conn, flags: 0x12, down: true})
		}
		add(sent{at: x.Started, conn: x.Conn, flags: 0x10, data: x.ServerLeg()})
		off := 0
		for _, w := range x.Response.Writes {
			add(sent{at: x.Started.Add(w.At), conn: x.Conn, flags: 0x10, down: true, data: x.Response.Raw[off : off+w.Len]})
			off += w.Len
		}
		end := x.Started.Add(x.EndAt)
		switch x.End {
		case har.EndFIN, har.EndNoCloseNotify:
			add(sent{at: end, conn: x.Conn, flags: 0x11, down: true, bare: x.End == har.EndNoCloseNotify})
		case har.EndRST:
			add(sent{at: end, conn: x.Conn, flags: 0x14, down: true})
		case har.EndClientFIN:
			add(sent{at: end, conn: x.Conn, flags: 0x11})
		case har.EndClientRST:
			add(sent{at: end, conn: x.Conn, flags: 0x14})
		}
	}
	slices.SortStableFunc(packets, func(a, b sent) int { return a.at.Compare(b.at) })
	return packets
}

// pcapFile writes raw IP packets.
func pcapFile(packets []sent) []byte {
	var out []byte
	for _, v := range []uint32{0xA1B2C3D4, 0x00020004, 0, 0, 0, 101} {
		out = binary.BigEndian.AppendUint32(out, v)
	}
	type way struct {
		conn uint64
		down bool
	}
	next := map[way]uint32{}
	for _, p := range packets {
		const most = 60000 // bytes of a segment
		for first := true; first || len(p.data) > 0; first = false {
			data := p.data[:min(len(p.data), most)]
			p.data = p.data[len(data):]
			flags := p.flags
			if len(p.data) > 0 {
				flags &^= 1
			}
			me, peer := way{p.conn, p.down}, way{p.conn, !p.down}
			b := segment(p, next[me], next[peer], flags, data)
			next[me] += uint32(len(data)) + uint32(flags&1) + uint32(flags>>1&1)
			out = binary.BigEndian.AppendUint32(out, uint32(p.at.Unix()))
			out = binary.BigEndian.AppendUint32(out, uint32(p.at.Nanosecond()/1000))
			out = binary.BigEndian.AppendUint32(out, uint32(len(b)))
			out = binary.BigEndian.AppendUint32(out, uint32(len(b)))
			out = append(out, b...)
		}
	}
	return out
}

func segment(p sent, seq, ack uint32, flags byte, data []byte) []byte {
	client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, 1}), 20000+uint16(p.conn))
	from, to := client, netip.MustParseAddrPort("192.0.2.2:3000")
	if p.down {
		from, to = to, from
	}
	size := 40 + len(data)
	b := append([]byte{0x45, 0, byte(size >> 8), byte(size), 0, 0, 0, 0, 64, 6, 0, 0}, from.Addr().AsSlice()...)
	b = append(b, to.Addr().AsSlice()...)
	b = binary.BigEndian.AppendUint16(b, from.Port())
	b = binary.BigEndian.AppendUint16(b, to.Port())
	b = binary.BigEndian.AppendUint32(b, seq)
	b = binary.BigEndian.AppendUint32(b, ack)
	return append(append(b, 0x50, flags, 1, 0, 0, 0, 0, 0), data...)
}

// imported gives the exchanges that the importer finds in a capture.
func imported(t *testing.T, file []byte, keys *pcap.KeyLog) []*har.Exchange {
	t.Helper()
	var cassette bytes.Buffer
	w, err := har.NewWriter(&cassette, har.Header{Tool: "test", Mode: "pcap", KeepSecrets: true}, true)
	if err != nil {
		t.Fatal(err)
	}
	recorder := capture.NewRecorder(w, nil)
	m := &pcap.Importer{Record: recorder.Record, AllHTTP: true, Keys: keys}
	r, err := pcap.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Read(r); err != nil {
		t.Fatal(err)
	}
	m.Close()
	if err := recorder.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := har.Read(&cassette, har.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(c.Exchanges, func(a, b *har.Exchange) int { return cmp.Compare(a.N, b.N) })
	return c.Exchanges
}
