package pcap

import (
	"encoding/binary"
	"net/netip"
	"time"
)

// A wireSegment is a TCP segment to be built.
type wireSegment struct {
	src, dst netip.AddrPort
	seq, ack uint32
	flags    string // of "SAFR"
	data     string
	options  []byte
}

var (
	clientEnd = netip.MustParseAddrPort("192.0.2.1:40001")
	serverEnd = netip.MustParseAddrPort("192.0.2.2:3000")
	epoch     = time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)
)

// tcpBytes is the segment's TCP header and payload, its checksum left 0 as on a machine that offloads it.
func (s *wireSegment) tcpBytes() []byte {
	b := binary.BigEndian.AppendUint16(nil, s.src.Port())
	b = binary.BigEndian.AppendUint16(b, s.dst.Port())
	b = binary.BigEndian.AppendUint32(b, s.seq)
	b = binary.BigEndian.AppendUint32(b, s.ack)
	var flags byte
	for _, f := range s.flags {
		flags |= map[rune]byte{'F': 1, 'S': 2, 'R': 4, 'A': 16}[f]
	}
	b = append(b, byte(5+len(s.options)/4)<<4, flags, 0xFF, 0xFF, 0, 0, 0, 0)
	return append(append(b, s.options...), s.data...)
}

// ipBytes puts an IP header before b.
func ipBytes(src, dst netip.Addr, proto byte, b []byte) []byte {
	if src.Is6() {
		h := append([]byte{0x60, 0, 0, 0}, byte(len(b)>>8), byte(len(b)), proto, 64)
		return join(h, src.AsSlice(), dst.AsSlice(), b)
	}
	n := 20 + len(b)
	h := []byte{0x45, 0, byte(n >> 8), byte(n), 0, 7, 0, 0, 64, proto, 0, 0}
	return join(h, src.AsSlice(), dst.AsSlice(), b)
}

func (s *wireSegment) ip() []byte {
	return ipBytes(s.src.Addr(), s.dst.Addr(), protoTCP, s.tcpBytes())
}

func ethernet(kind uint16, b []byte) []byte {
	return join(make([]byte, 12), binary.BigEndian.AppendUint16(nil, kind), b)
}

func (s *wireSegment) packet(at time.Time) *Packet {
	b := ethernet(etherIPv4, s.ip())
	return &Packet{At: at, Link: 1, Data: b, Len: len(b)}
}
