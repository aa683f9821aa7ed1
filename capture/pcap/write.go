package pcap

import (
	"bufio"
	"encoding/binary"
	"io"
	"net/netip"
	"slices"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// A Dialogue is one TCP connection to be written as packets: it is opened at Opened, and what its ends did follows, in order,
// with times that do not fall.
type Dialogue struct {
	Client, Server netip.AddrPort // of one family
	Opened         time.Time
	Comment        string // of the packet that opens it; "" for none
	Acts           []Act
}

// An Act is what one end did: it sent bytes, or ended its direction.
type Act struct {
	Dir     wire.Dir
	At      time.Time
	Bytes   []byte
	End     har.Ending // har.EndFIN or har.EndRST; Bytes are none then
	Comment string     // of its first packet; "" for none
}

const (
	rawLink       = 101     // LINKTYPE_RAW: packets begin with an IP header
	maxSegment    = 65_000  // payload of one packet, so that its IP header can hold the length
	maxComment    = 8 << 10 // bytes of a comment
	firstToServer = 1000    // first sequence numbers
	firstToClient = 5000
)

// The flags of a TCP header (RFC 9293 section 3.1).
const (
	flagFIN = 1
	flagSYN = 2
	flagRST = 4
	flagPSH = 8
	flagACK = 16
)

// Write writes connections as a pcapng file (draft-ietf-opsawg-pcapng) of raw IP packets in the order of time, with handshakes and
// acknowledgements made up. comment is that of the file.
func Write(w io.Writer, comment string, dialogues []Dialogue) error {
	type step struct {
		d   int
		act int // -1 opens
		at  time.Time
	}
	var steps []step
	for i := range dialogues {
		steps = append(steps, step{i, -1, dialogues[i].Opened})
		for k := range dialogues[i].Acts {
			steps = append(steps, step{i, k, dialogues[i].Acts[k].At})
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return a.at.Compare(b.at) })
	out := &packetWriter{out: bufio.NewWriter(w)}
	out.head(comment)
	spoken := make([]speaker, len(dialogues))
	for _, s := range steps {
		if t := &spoken[s.d]; s.act < 0 {
			t.open(out, &dialogues[s.d])
		} else {
			t.act(&dialogues[s.d].Acts[s.act])
		}
	}
	return out.out.Flush()
}

// A speaker writes the packets of one connection.
type speaker struct {
	out  *packetWriter
	ends [2]netip.AddrPort // by wire.Dir: who sends in that direction
	next [2]uint32         // sequence numbers
	id   uint16
}

func (t *speaker) open(out *packetWriter, d *Dialogue) {
	*t = speaker{out: out}
	t.ends[wire.ToServer], t.ends[wire.ToClient] = d.Client, d.Server
	t.next[wire.ToServer], t.next[wire.ToClient] = firstToServer, firstToClient
	t.send(wire.ToServer, d.Opened, flagSYN, nil, d.Comment)
	t.next[wire.ToServer]++
	t.send(wire.ToClient, d.Opened, flagSYN|flagACK, nil, "")
	t.next[wire.ToClient]++
	t.send(wire.ToServer, d.Opened, flagACK, nil, "")
}

func (t *speaker) act(a *Act) {
	switch a.End {
	case har.EndRST:
		t.send(a.Dir, a.At, flagRST|flagACK, nil, a.Comment)
		return
	case har.EndFIN:
		t.send(a.Dir, a.At, flagFIN|flagACK, nil, a.Comment)
		t.next[a.Dir]++
		t.send(1-a.Dir, a.At, flagACK, nil, "")
		return
	}
	comment := a.Comment
	for part := range slices.Chunk(a.Bytes, maxSegment) {
		t.send(a.Dir, a.At, flagPSH|flagACK, part, comment)
		t.next[a.Dir] += uint32(len(part))
		t.send(1-a.Dir, a.At, flagACK, nil, "")
		comment = ""
	}
}

// send writes one segment with its headers.
func (t *speaker) send(d wire.Dir, at time.Time, flags byte, data []byte, comment string) {
	src, dst := t.ends[d], t.ends[1-d]
	tcp := binary.BigEndian.AppendUint16(nil, src.Port())
	tcp = binary.BigEndian.AppendUint16(tcp, dst.Port())
	tcp = binary.BigEndian.AppendUint32(tcp, t.next[d])
	ack := uint32(0)
	if flags&flagACK != 0 {
		ack = t.next[1-d]
	}
	tcp = binary.BigEndian.AppendUint32(tcp, ack)
	tcp = append(tcp, 5<<4, flags, 0xFF, 0xFF, 0, 0, 0, 0)
	tcp = append(tcp, data...)
	pseudo := append(src.Addr().AsSlice(), dst.Addr().AsSlice()...)
	pseudo = binary.BigEndian.AppendUint32(pseudo, uint32(len(tcp)))
	pseudo = binary.BigEndian.AppendUint32(pseudo, protoTCP)
	binary.BigEndian.PutUint16(tcp[16:], checksum(pseudo, tcp))
	t.id++
	t.out.packet(at, append(ipHeader(src.Addr(), dst.Addr(), t.id, len(tcp)), tcp...), comment)
}

// ipHeader is that of a TCP segment of n bytes (RFC 791, RFC 8200).
func ipHeader(src, dst netip.Addr, id uint16, n int) []byte {
	if src.Is6() {
		h := binary.BigEndian.AppendUint16([]byte{0x60, 0, 0, 0}, uint16(n))
		h = append(h, protoTCP, 64)
		return append(append(h, src.AsSlice()...), dst.AsSlice()...)
	}
	h := binary.BigEndian.AppendUint16([]byte{0x45, 0}, uint16(20+n))
	h = binary.BigEndian.AppendUint16(h, id)
	h = append(h, 0x40, 0, 64, protoTCP, 0, 0)
	h = append(append(h, src.AsSlice()...), dst.AsSlice()...)
	binary.BigEndian.PutUint16(h[10:], checksum(h))
	return h
}

// checksum is that of RFC 1071 over parts, of which all but the last have an even length.
func checksum(parts ...[]byte) uint16 {
	sum := uint64(0)
	for _, b := range parts {
		for ; len(b) > 1; b = b[2:] {
			sum += uint64(binary.BigEndian.Uint16(b))
		}
		if len(b) == 1 {
			sum += uint64(b[0]) << 8
		}
	}
	for sum > 0xFFFF {
		sum = sum&0xFFFF + sum>>16
	}
	return ^uint16(sum)
}

// A packetWriter writes blocks of one section with one interface. Errors are kept by out.
type packetWriter struct{ out *bufio.Writer }

// head writes the section header and the interface, whose times are in microseconds.
func (p *packetWriter) head(comment string) {
	b := binary.LittleEndian.AppendUint32(nil, 0x1A2B3C4D)
	b = append(b, 1, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, ^uint64(0)) // the section's length is not given
	p.block(sectionBlock, appendComment(b, comment))
	p.block(interfaceBlock, []byte{rawLink, 0, 0, 0, 0, 0, 0, 0})
}

func (p *packetWriter) packet(at time.Time, data []byte, comment string) {
	us := uint64(max(at.UnixMicro(), 0))
	b := make([]byte, 4, 24+len(data))
	b = binary.LittleEndian.AppendUint32(b, uint32(us>>32))
	b = binary.LittleEndian.AppendUint32(b, uint32(us))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	b = padded(append(b, data...))
	p.block(enhancedBlock, appendComment(b, comment))
}

func (p *packetWriter) block(kind uint32, body []byte) {
	length := binary.LittleEndian.AppendUint32(nil, uint32(len(body)+12))
	p.out.Write(binary.LittleEndian.AppendUint32(nil, kind))
	p.out.Write(length)
	p.out.Write(body)
	p.out.Write(length)
}

// appendComment adds the option opt_comment, and the end of options.
func appendComment(b []byte, s string) []byte {
	if s == "" {
		return b
	}
	s = s[:min(len(s), maxComment)]
	b = binary.LittleEndian.AppendUint16(b, 1)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(s)))
	b = padded(append(b, s...))
	return append(b, 0, 0, 0, 0)
}

// padded adds zeros up to a multiple of four bytes. What is before the options of a block is one.
func padded(b []byte) []byte {
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}
