package pcap

import (
	"encoding/binary"
	"fmt"
)

// The magic numbers of pcap files (draft-ietf-opsawg-pcap section 4); the last is that of an old patch to libpcap, whose
// record headers have eight bytes more.
const (
	magicMicro    = 0xA1B2C3D4
	magicNano     = 0xA1B23C4D
	magicModified = 0xA1B2CD34
)

// A file is a pcap file.
type file struct {
	src   *source
	order binary.ByteOrder
	link  Link
	unit  int64 // nanoseconds of one unit of a record's fraction
	head  int   // bytes of a record header
}

func (f *file) header() error {
	b, err := f.src.take(24)
	if err != nil {
		return f.src.whole(b, err, f.src.offset, "the file header")
	}
	f.order = binary.LittleEndian
	if m := binary.BigEndian.Uint32(b); m == magicMicro || m == magicNano || m == magicModified {
		f.order = binary.BigEndian
	}
	f.unit, f.head = 1000, 16
	switch f.order.Uint32(b) {
	case magicNano:
		f.unit = 1
	case magicModified:
		f.head = 24
	}
	// The upper bits tell of a frame check sequence (draft-ietf-opsawg-pcap section 4). The snaplen is not looked at: files
	// have 0 there, and packets above it.
	f.link = Link(f.order.Uint32(b[20:]) & 0xFFFF)
	return nil
}

func (f *file) next(p *Packet) error {
	at := f.src.offset
	h, err := f.src.peek(f.head)
	if err != nil {
		return f.src.whole(h, err, at, "a packet's header")
	}
	sec, frac := f.order.Uint32(h), f.order.Uint32(h[4:])
	have, length := f.order.Uint32(h[8:]), f.order.Uint32(h[12:])
	if have > MaxPacket {
		return &DamageError{Offset: at, Want: "a packet", Got: fmt.Sprintf("its header says %d bytes", have)}
	}
	b, err := f.src.peek(f.head + int(have))
	if err != nil {
		return f.src.whole(b, err, at, "a packet")
	}
	f.src.take(f.head + int(have))
	*p = Packet{
		At:   stamp(int64(sec), int64(frac)*f.unit),
		Link: f.link, Data: b[f.head:], Len: wireLen(length, int(have)),
	}
	return nil
}

// wireLen is the length on the wire: what the capture says, if that can be.
func wireLen(said uint32, have int) int {
	if said > MaxPacket {
		return have
	}
	return max(int(said), have)
}
