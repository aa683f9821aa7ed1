package pcap

import (
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// A segment is one TCP segment as a packet showed it.
type segment struct {
	at                 time.Time
	src, dst           netip.AddrPort
	seq, ack           uint32
	syn, fin, rst, has bool   // has: ack is valid
	data               []byte // payload, valid until the next packet
	cut                int    // payload bytes behind data that the capture did not keep
}

// A finding says what a packet was.
type finding uint8

const (
	isTCP      finding = iota
	isOther            // another protocol: nothing that could be HTTP/1.1
	isFragment         // of an IP packet that is not whole yet
	isBroken           // headers that make no sense, or that the capture did not keep
	isUnknown          // a link type that is not read
)

// Protocol numbers (IANA).
const (
	protoHopByHop = 0
	protoIPv4     = 4
	protoTCP      = 6
	protoUDP      = 17
	protoIPv6     = 41
	protoRouting  = 43
	protoFragment = 44
	protoGRE      = 47
	protoAuth     = 51
	protoDest     = 60
	protoMobility = 135
)

// Ethernet types.
const (
	etherIPv4  = 0x0800
	etherVLAN  = 0x8100
	etherTrans = 0x6558 // transparent Ethernet bridging, in GRE
	etherIPv6  = 0x86DD
	etherMPLS  = 0x8847
	etherPPPoE = 0x8864
	etherQinQ  = 0x88A8
	etherOld   = 0x9100 // QinQ before it was a standard
)

// A decoder finds TCP segments in packets. Checksums are not looked at: on the sending machine the card fills them in
// behind the capture.
type decoder struct {
	ip4   layers.IPv4
	tcp   layers.TCP
	frags fragments
	seg   segment
	depth int // tunnels around what is at hand
}

// decode finds the segment of a packet, which is valid until the next call.
func (d *decoder) decode(p *Packet) (*segment, finding) {
	d.depth = 0
	d.seg = segment{at: p.At}
	b, cut := p.Data, p.Len-len(p.Data)
	switch p.Link {
	case 1:
		return d.ethernet(b, cut)
	case 0, 108: // null, loop: four bytes of address family, whose values and order differ between systems
		return d.network(b, 4, cut)
	case 12, 14, 101, 228, 229: // raw IP
		return d.network(b, 0, cut)
	case 113: // SLL
		return d.typed(b, 14, 16, cut)
	case 276: // SLL2
		return d.typed(b, 0, 20, cut)
	case 9, 50: // PPP, with or without HDLC's address and control
		return d.ppp(b, 0, cut)
	}
	return nil, isUnknown
}

// ethernet reads an Ethernet frame.
func (d *decoder) ethernet(b []byte, cut int) (*segment, finding) { return d.typed(b, 12, 14, cut) }

// typed reads what stands at off, whose Ethernet type stands at kindOff.
func (d *decoder) typed(b []byte, kindOff, off, cut int) (*segment, finding) {
	for {
		if len(b) < off {
			return nil, isBroken
		}
		switch kind := binary.BigEndian.Uint16(b[kindOff:]); kind {
		case etherIPv4, etherIPv6:
			return d.network(b, off, cut)
		case etherVLAN, etherQinQ, etherOld:
			kindOff, off = off+2, off+4
		case etherPPPoE:
			return d.ppp(b, off+6, cut)
		case etherMPLS:
			for len(b) >= off+4 && b[off+2]&1 == 0 {
				off += 4
			}
			return d.network(b, off+4, cut)
		default:
			return nil, isOther
		}
	}
}

// ppp reads the PPP frame (RFC 1661) at off.
func (d *decoder) ppp(b []byte, off, cut int) (*segment, finding) {
	if len(b) >= off+2 && b[off] == 0xFF && b[off+1] == 3 {
		off += 2
	}
	if len(b) < off+2 {
		return nil, isBroken
	}
	switch binary.BigEndian.Uint16(b[off:]) {
	case 0x21, 0x57:
		return d.network(b, off+2, cut)
	}
	return nil, isOther
}

// network reads the IP packet at off; its version tells which. cut is how much of the frame was not captured.
func (d *decoder) network(b []byte, off, cut int) (*segment, finding) {
	if len(b) <= off {
		return nil, isBroken
	}
	switch b = b[off:]; b[0] >> 4 {
	case 4:
		return d.ipv4(b, cut)
	case 6:
		return d.ipv6(b, cut)
	}
	return nil, isOther
}

func (d *decoder) ipv4(b []byte, cut int) (*segment, finding) {
	if len(b) < 20 {
		return nil, isBroken
	}
	// A segment that the card is to cut has a total length of 0: what there is counts. Else what lies behind it is padding.
	length := int(binary.BigEndian.Uint16(b[2:]))
	if length == 0 {
		length = len(b) + cut
	}
	header := int(b[0]&15) * 4
	if header < 20 || length < header || len(b) < header {
		return nil, isBroken
	}
	d.ip4.Payload = nil
	// What it may find wrong are the options, which do not matter here.
	_ = d.ip4.DecodeFromBytes(b[:min(len(b), header)], gopacket.NilDecodeFeedback)
	src, _ := netip.AddrFromSlice(b[12:16])
	dst, _ := netip.AddrFromSlice(b[16:20])
	payload, missing := extent(b[header:], length-header)
	if d.ip4.FragOffset != 0 || d.ip4.Flags&layers.IPv4MoreFragments != 0 {
		if missing > 0 {
			return nil, isBroken
		}
		whole := d.frags.add(fragment{
			key: fragKey{src, dst, uint32(d.ip4.Id), uint8(d.ip4.Protocol)}, at: d.seg.at,
			off: int(d.ip4.FragOffset) * 8, last: d.ip4.Flags&layers.IPv4MoreFragments == 0, data: payload,
		})
		if whole == nil {
			return nil, isFragment
		}
		payload = whole
	}
	return d.transport(uint8(d.ip4.Protocol), payload, missing, src, dst)
}

// extent is the part of b that belongs to something of that length, and how much of it is missing.
func extent(b []byte, length int) (part []byte, missing int) {
	if len(b) >= length {
		return b[:length], 0
	}
	return b, length - len(b)
}

func (d *decoder) ipv6(b []byte, cut int) (*segment, finding) {
	if len(b) < 40 {
		return nil, isBroken
	}
	length := int(binary.BigEndian.Uint16(b[4:]))
	if length == 0 { // to be cut by the card, or a jumbogram (RFC 2675)
		length = len(b) - 40 + cut
	}
	src, _ := netip.AddrFromSlice(b[8:24])
	dst, _ := netip.AddrFromSlice(b[24:40])
	next := b[6]
	payload, missing := extent(b[40:], length)
	for {
		size := 0
		switch next {
		case protoHopByHop, protoRouting, protoDest, protoMobility:
			if len(payload) >= 2 {
				size = 8 + 8*int(payload[1])
			}
		case protoAuth:
			if len(payload) >= 2 {
				size = 8 + 4*int(payload[1])
			}
		case protoFragment:
			if len(payload) < 8 || missing > 0 {
				return nil, isBroken
			}
			bits := binary.BigEndian.Uint16(payload[2:])
			if bits&^7 == 0 && bits&1 == 0 { // an atomic fragment (RFC 6946)
				size = 8
				break
			}
			whole := d.frags.add(fragment{
				key: fragKey{src, dst, binary.BigEndian.Uint32(payload[4:]), payload[0]}, at: d.seg.at,
				off: int(bits &^ 7), last: bits&1 == 0, data: payload[8:],
			})
			if whole == nil {
				return nil, isFragment
			}
			next, payload = payload[0], whole
			continue
		default:
			return d.transport(next, payload, missing, src, dst)
		}
		if size == 0 || size > len(payload) {
			return nil, isBroken
		}
		next, payload = payload[0], payload[size:]
	}
}

// transport reads what an IP packet carries: TCP, or one level of a tunnel in which there may be TCP.
func (d *decoder) transport(proto uint8, b []byte, missing int, src, dst netip.Addr) (*segment, finding) {
	switch {
	case proto == protoTCP:
		return d.segment(b, missing, src, dst)
	case d.depth > 0:
		return nil, isOther
	}
	d.depth++
	switch proto {
	case protoIPv4, protoIPv6:
		return d.network(b, 0, missing)
	case protoGRE:
		return d.gre(b, missing)
	case protoUDP:
		const vxlan = 4789
		if len(b) >= 16 && binary.BigEndian.Uint16(b[2:]) == vxlan && b[8]&8 != 0 {
			return d.ethernet(b[16:], missing)
		}
	}
	return nil, isOther
}

// gre reads a GRE packet (RFC 2784, RFC 2890). gopacket's own decoder reads behind the end of a short one.
func (d *decoder) gre(b []byte, missing int) (*segment, finding) {
	if len(b) < 4 {
		return nil, isBroken
	}
	off := 4
	for _, bit := range []byte{0x80, 0x20, 0x10} { // checksum, key, sequence number
		if b[0]&bit != 0 {
			off += 4
		}
	}
	if b[0]&0x40 != 0 || b[1]&7 != 0 || len(b) < off {
		return nil, isOther
	}
	switch binary.BigEndian.Uint16(b[2:]) {
	case etherIPv4, etherIPv6:
		return d.network(b, off, missing)
	case etherTrans:
		return d.ethernet(b[off:], missing)
	}
	return nil, isOther
}

func (d *decoder) segment(b []byte, missing int, src, dst netip.Addr) (*segment, finding) {
	d.tcp.Payload, d.tcp.Contents = nil, nil
	// Options that make no sense are an error to gopacket, but what lies behind them is known by then.
	if err := d.tcp.DecodeFromBytes(b, gopacket.NilDecodeFeedback); err != nil && len(d.tcp.Contents) < 20 || int(d.tcp.DataOffset)*4 > len(b) {
		return nil, isBroken
	}
	s := &d.seg
	s.src = netip.AddrPortFrom(src, uint16(d.tcp.SrcPort))
	s.dst = netip.AddrPortFrom(dst, uint16(d.tcp.DstPort))
	s.seq, s.ack = d.tcp.Seq, d.tcp.Ack
	s.syn, s.fin, s.rst, s.has = d.tcp.SYN, d.tcp.FIN, d.tcp.RST, d.tcp.ACK
	s.data, s.cut = d.tcp.Payload, missing
	return s, isTCP
}
