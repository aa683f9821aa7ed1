package pcap

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
)

var (
	plain = wireSegment{src: clientEnd, dst: serverEnd, seq: 7, ack: 9, flags: "A", data: "payload"}
	six   = wireSegment{src: netip.MustParseAddrPort("[2001:db8::1]:40001"), dst: netip.MustParseAddrPort("[2001:db8::2]:3000"), seq: 7, ack: 9, flags: "A", data: "payload"}
)

func found(s *segment, f finding) string {
	if f != isTCP {
		return []string{"tcp", "other", "fragment", "broken", "unknown"}[f]
	}
	return fmt.Sprintf("%d>%d %d %d %s+%d", s.src.Port(), s.dst.Port(), s.seq, s.ack, s.data, s.cut)
}

const good = "40001>3000 7 9 payload+0"

func TestDecode(t *testing.T) {
	ip, ip6 := plain.ip(), six.ip()
	tcp := plain.tcpBytes()
	withOptions := plain
	withOptions.options = []byte{1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2}
	badOptions := plain
	badOptions.options = []byte{5, 1, 9, 99}
	edit := func(b []byte, at int, v ...byte) []byte {
		b = bytes.Clone(b)
		copy(b[at:], v)
		return b
	}
	ext := func(first byte, headers ...[]byte) []byte {
		return ipBytes(six.src.Addr(), six.dst.Addr(), first, join(append(headers, six.tcpBytes())...))
	}
	long := append(edit(ip, 0, 0x46, 0, 0, byte(len(ip)+4))[:20:20], append([]byte{0x94, 4, 0, 0}, tcp...)...)
	outer := func(proto byte, b []byte) []byte {
		return ethernet(etherIPv4, ipBytes(netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), proto, b))
	}
	vxlan := join([]byte{0, 1, 0x12, 0xB5, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 5, 0}, ethernet(etherIPv4, ip))
	udp := edit(vxlan, 2, 0, 53)
	tests := []struct {
		name string
		link Link
		data []byte
		more int // bytes that were not captured
		want string
	}{
		{"ethernet", 1, ethernet(etherIPv4, ip), 0, good},
		{"padding", 1, append(ethernet(etherIPv4, ip), 0, 0, 0, 0), 0, good},
		{"vlan", 1, ethernet(etherVLAN, join([]byte{0, 5, 8, 0}, ip)), 0, good},
		{"qinq", 1, ethernet(etherQinQ, join([]byte{0, 5, 0x81, 0, 0, 6, 8, 0}, ip)), 0, good},
		{"pppoe", 1, ethernet(etherPPPoE, join([]byte{0x11, 0, 0, 1, 0, 0, 0, 0x21}, ip)), 0, good},
		{"mpls", 1, ethernet(etherMPLS, join([]byte{0, 1, 0, 9, 0, 2, 1, 9}, ip)), 0, good},
		{"ethernet ipv6", 1, ethernet(etherIPv6, ip6), 0, good},
		{"sll", 113, join(make([]byte, 14), []byte{8, 0}, ip), 0, good},
		{"sll2", 276, join([]byte{8, 0}, make([]byte, 18), ip), 0, good},
		{"sll2 vlan", 276, join([]byte{0x81, 0}, make([]byte, 18), ip), 0, "other"},
		{"null little", 0, join([]byte{2, 0, 0, 0}, ip), 0, good},
		{"null big", 0, join([]byte{0, 0, 0, 30}, ip6), 0, good},
		{"loop", 108, join([]byte{0, 0, 0, 2}, ip), 0, good},
		{"raw 12", 12, ip, 0, good},
		{"raw 14", 14, ip6, 0, good},
		{"raw 101", 101, ip6, 0, good},
		{"ipv4 228", 228, ip, 0, good},
		{"ipv6 229", 229, ip6, 0, good},
		{"ppp", 9, join([]byte{0xFF, 3, 0, 0x21}, ip), 0, good},
		{"tcp options", 101, withOptions.ip(), 0, good},
		{"bad tcp options", 101, badOptions.ip(), 0, good},
		{"ip options", 101, long, 0, good},
		{"bad ip options", 101, edit(long, 21, 1), 0, good},
		{"zero total length", 101, edit(ip, 2, 0, 0), 0, good},
		{"zero ipv6 length", 101, edit(ip6, 4, 0, 0), 0, good},
		{"snaplen", 101, ip[:43], len(ip) - 43, "40001>3000 7 9 pay+4"},
		{"snaplen, zero length", 101, edit(ip, 2, 0, 0)[:43], 4, "40001>3000 7 9 pay+4"},
		{"snaplen in the header", 101, ip[:35], 10, "broken"},
		{"hop by hop, routing, destination", 101, ext(0, []byte{43, 0, 0, 0, 0, 0, 0, 0}, []byte{60, 0, 0, 0, 0, 0, 0, 0}, []byte{6, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), 0, good},
		{"authentication", 101, ext(51, []byte{6, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), 0, good},
		{"atomic fragment", 101, ext(44, []byte{6, 0, 0, 0, 0, 0, 0, 1}), 0, good},
		{"gre", 1, outer(47, join([]byte{0, 0, 8, 0}, ip)), 0, good},
		{"gre with key and number", 1, outer(47, join([]byte{0x30, 0, 0x86, 0xDD, 0, 0, 0, 1, 0, 0, 0, 2}, ip6)), 0, good},
		{"gre with ethernet", 1, outer(47, join([]byte{0, 0, 0x65, 0x58}, ethernet(etherIPv4, ip))), 0, good},
		{"short gre", 1, outer(47, []byte{0xB0, 0, 8}), 0, "broken"},
		{"vxlan", 1, outer(17, vxlan), 0, good},
		{"ip in ip", 1, outer(4, ip), 0, good},
		{"ipv6 in ip", 1, outer(41, ip6), 0, good},
		{"two tunnels", 1, outer(4, outer(4, ip)[14:]), 0, "other"},
		{"udp", 1, outer(17, udp), 0, "other"},
		{"arp", 1, ethernet(0x0806, make([]byte, 28)), 0, "other"},
		{"short ethernet", 1, make([]byte, 9), 0, "broken"},
		{"empty", 101, nil, 0, "broken"},
		{"short ip", 101, ip[:19], 0, "broken"},
		{"short ip header", 101, edit(ip, 0, 0x4F), 0, "broken"},
		{"bad header length", 101, edit(ip, 0, 0x41), 0, "broken"},
		{"bad data offset", 101, edit(ip, 32, 0x10), 0, "broken"},
		{"data offset beyond", 101, edit(ip, 32, 0xF0), 0, "broken"},
		{"wifi", 105, ip, 0, "unknown"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var d decoder
			s, f := d.decode(&Packet{At: epoch, Link: tt.link, Data: tt.data, Len: len(tt.data) + tt.more})
			if got := found(s, f); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// fragmented cuts the IP payload of a segment into fragments of n bytes, a multiple of 8.
func fragmented(s *wireSegment, n int) [][]byte {
	var out [][]byte
	whole := s.tcpBytes()
	for off := 0; off < len(whole); off += n {
		part := whole[off:min(len(whole), off+n)]
		more := off+n < len(whole)
		if s.src.Addr().Is6() {
			h := []byte{6, 0, byte(off >> 8), byte(off), 0, 0, 0, 5}
			if more {
				h[3] |= 1
			}
			out = append(out, ipBytes(s.src.Addr(), s.dst.Addr(), protoFragment, join(h, part)))
			continue
		}
		b := ipBytes(s.src.Addr(), s.dst.Addr(), protoTCP, part)
		bits := uint16(off / 8)
		if more {
			bits |= 0x2000
		}
		binary.BigEndian.PutUint16(b[6:], bits)
		out = append(out, b)
	}
	return out
}

func TestFragments(t *testing.T) {
	for _, s := range []wireSegment{plain, six} {
		s.data = "a payload that is somewhat longer than before"
		parts := fragmented(&s, 16)
		for round := range 100 {
			order := rand.New(rand.NewPCG(1, uint64(round))).Perm(len(parts))
			var d decoder
			for i, k := range order {
				p := &Packet{At: epoch, Link: 101, Data: parts[k], Len: len(parts[k])}
				if i > 0 { // one comes twice
					again := parts[order[i-1]]
					if g, f := d.decode(&Packet{At: epoch, Link: 101, Data: again, Len: len(again)}); f != isFragment {
						t.Fatalf("order %v: twice: got %s", order, found(g, f))
					}
				}
				g, f := d.decode(p)
				if last := i == len(parts)-1; last && found(g, f) != "40001>3000 7 9 "+s.data+"+0" || !last && f != isFragment {
					t.Fatalf("order %v, fragment %d: got %s", order, i, found(g, f))
				}
			}
		}
	}
}

// What is kept of packets that never become whole is bounded, and said.
func TestFragmentsAreBounded(t *testing.T) {
	var d decoder
	for i := range 5 * maxFragmented {
		b := fragmented(&plain, 16)[0]
		binary.BigEndian.PutUint16(b[4:], uint16(i))
		d.decode(&Packet{At: epoch, Link: 101, Data: b, Len: len(b)})
	}
	if n := len(d.frags.parts); n != maxFragmented || d.frags.lost != 4*maxFragmented {
		t.Errorf("%d packets are kept and %d given up", n, d.frags.lost)
	}
}

func FuzzDecode(f *testing.F) {
	for _, link := range []uint32{1, 101, 113, 276, 0, 9} {
		f.Add(link, ethernet(etherIPv4, plain.ip()))
		f.Add(link, six.ip())
	}
	f.Add(uint32(1), ethernet(etherVLAN, join([]byte{0, 5, 8, 0}, plain.ip())))
	f.Add(uint32(101), fragmented(&six, 16)[0])
	var d decoder
	f.Fuzz(func(t *testing.T, link uint32, b []byte) {
		if s, found := d.decode(&Packet{At: epoch, Link: Link(link), Data: b, Len: len(b)}); found == isTCP && s.cut < 0 {
			t.Fatal("a negative number of bytes is missing")
		}
	})
}
