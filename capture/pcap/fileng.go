package pcap

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"time"
)

// Block types of pcapng (draft-ietf-opsawg-pcapng section 4 and 11.1).
const (
	sectionBlock   = 0x0A0D0D0A
	interfaceBlock = 1
	packetBlock    = 2 // obsolete
	simpleBlock    = 3
	statsBlock     = 5
	enhancedBlock  = 6
	secretsBlock   = 10
)

// Bounds of one section, and of blocks that are not packets.
const (
	maxInterfaces = 1 << 16
	maxSecrets    = 16 << 20
)

// An ngFile is a pcapng file: sections, each with its byte order and its interfaces.
type ngFile struct {
	src     *source
	secrets func([]byte)

	order  binary.ByteOrder
	faces  []face
	before uint64    // drops of earlier sections
	last   time.Time // of the last packet that had a time
}

// A face is an interface of a section.
type face struct {
	link    Link
	snaplen uint32
	res     byte  // if_tsresol: a power of 10, or with the highest bit a power of 2
	offset  int64 // if_tsoffset, seconds
	drops   uint64
}

func (f *ngFile) drops() uint64 {
	n := f.before
	for i := range f.faces {
		n += f.faces[i].drops
	}
	return n
}

// next reads blocks up to the next packet.
func (f *ngFile) next(p *Packet) error {
	for {
		found, err := f.block(p)
		if found || err != nil {
			return err
		}
	}
}

// block reads one block.
func (f *ngFile) block(p *Packet) (found bool, err error) {
	at := f.src.offset
	h, err := f.src.peek(12)
	if err != nil {
		return false, f.src.whole(h, err, at, "a block")
	}
	if binary.BigEndian.Uint32(h) == sectionBlock {
		if err := f.begin(h[8:], at); err != nil {
			return false, err
		}
	}
	kind, length := f.order.Uint32(h), f.order.Uint32(h[4:])
	if length < 12 || length%4 != 0 {
		return false, &DamageError{Offset: at, Want: "a block", Got: fmt.Sprintf("its length is %d", length)}
	}
	if !known(kind) || length > MaxPacket+1024 {
		return false, f.pass(at, length, kind)
	}
	b, err := f.src.take(int(length))
	if err != nil {
		return false, f.src.whole(b, err, at, "a block")
	}
	if end := f.order.Uint32(b[length-4:]); end != length {
		return false, &DamageError{Offset: at, Want: fmt.Sprintf("a block that ends with its length, %d", length), Got: fmt.Sprintf("it ends with %d", end)}
	}
	found, want := f.content(kind, b[8:length-4], p)
	if want != "" {
		return false, &DamageError{Offset: at, Want: want, Got: "it is too short or names what is not there"}
	}
	return found, nil
}

func known(kind uint32) bool {
	switch kind {
	case sectionBlock, interfaceBlock, packetBlock, simpleBlock, statsBlock, enhancedBlock, secretsBlock:
		return true
	}
	return false
}

// begin begins a section, whose byte order the magic number behind the length tells.
func (f *ngFile) begin(magic []byte, at int64) error {
	f.before = f.drops()
	f.faces = f.faces[:0]
	switch {
	case binary.BigEndian.Uint32(magic) == 0x1A2B3C4D:
		f.order = binary.BigEndian
	case binary.LittleEndian.Uint32(magic) == 0x1A2B3C4D:
		f.order = binary.LittleEndian
	default:
		return &DamageError{Offset: at, Want: "a section header with the byte order magic", Got: fmt.Sprintf("it has % x", magic)}
	}
	return nil
}

// pass passes over a block that says nothing to us, whatever its size. A packet block must not be that large.
func (f *ngFile) pass(at int64, length, kind uint32) error {
	if kind == enhancedBlock || kind == simpleBlock || kind == packetBlock {
		return &DamageError{Offset: at, Want: "a packet", Got: fmt.Sprintf("its block has %d bytes", length)}
	}
	if err := f.src.skip(int64(length)); err != nil {
		return f.src.whole([]byte{0}, err, at, "a block")
	}
	return nil
}

// content reads the body of a block. want is not "" if it is not what it must be.
func (f *ngFile) content(kind uint32, b []byte, p *Packet) (found bool, want string) {
	ok := true
	switch kind {
	case sectionBlock:
		ok = len(b) >= 16
	case interfaceBlock:
		ok = f.addInterface(b)
	case enhancedBlock:
		if len(b) < 20 {
			return false, "an enhanced packet block"
		}
		id := f.order.Uint32(b)
		found = f.packet(p, id, b[4:], b[20:])
		ok = found
	case packetBlock:
		if len(b) < 20 {
			return false, "a packet block"
		}
		id := uint32(f.order.Uint16(b))
		found = f.packet(p, id, b[4:], b[20:])
		if drops := f.order.Uint16(b[2:]); found && drops != math.MaxUint16 {
			f.faces[id].drops += uint64(drops)
		}
		ok = found
	case simpleBlock:
		found = f.simple(p, b)
		ok = found
	case statsBlock:
		f.statistics(b)
	case secretsBlock:
		f.secret(b)
	}
	if !ok {
		return false, fmt.Sprintf("a block of type %d", kind)
	}
	return found, ""
}

func (f *ngFile) addInterface(b []byte) bool {
	if len(b) < 8 || len(f.faces) == maxInterfaces {
		return false
	}
	i := face{link: Link(f.order.Uint16(b)), snaplen: f.order.Uint32(b[4:]), res: 6}
	f.options(b[8:], func(code uint16, v []byte) {
		switch {
		case code == 9 && len(v) >= 1:
			i.res = v[0]
		case code == 14 && len(v) >= 8:
			i.offset = int64(f.order.Uint64(v))
		}
	})
	f.faces = append(f.faces, i)
	return true
}

// packet reads the fields that enhanced and obsolete packet blocks share: time, captured and original length.
func (f *ngFile) packet(p *Packet, id uint32, b, data []byte) bool {
	have, length := f.order.Uint32(b[8:]), f.order.Uint32(b[12:])
	if int64(id) >= int64(len(f.faces)) || int64(have) > int64(len(data)) {
		return false
	}
	i := &f.faces[id]
	f.last = i.time(uint64(f.order.Uint32(b))<<32 | uint64(f.order.Uint32(b[4:])))
	*p = Packet{At: f.last, Link: i.link, Data: data[:have], Len: wireLen(length, int(have))}
	return true
}

// simple reads a simple packet block, which has no time: that of the packet before it is taken.
func (f *ngFile) simple(p *Packet, b []byte) bool {
	if len(b) < 4 || len(f.faces) == 0 {
		return false
	}
	i := &f.faces[0]
	length := f.order.Uint32(b)
	have := min(int64(length), int64(len(b)-4))
	if i.snaplen > 0 {
		have = min(have, int64(i.snaplen))
	}
	if f.last.IsZero() {
		f.last = stamp(0, 0)
	}
	*p = Packet{At: f.last, Link: i.link, Data: b[4 : 4+have], Len: wireLen(length, int(have))}
	return true
}

// statistics takes over the counters of lost packets: isb_ifdrop and isb_osdrop. Later blocks hold later totals.
func (f *ngFile) statistics(b []byte) {
	if len(b) < 12 || int64(f.order.Uint32(b)) >= int64(len(f.faces)) {
		return
	}
	i, n := &f.faces[f.order.Uint32(b)], uint64(0)
	f.options(b[12:], func(code uint16, v []byte) {
		if (code == 5 || code == 7) && len(v) >= 8 {
			n += f.order.Uint64(v)
		}
	})
	i.drops = max(i.drops, n)
}

// secret hands on a TLS key log (secrets type "TLSK").
func (f *ngFile) secret(b []byte) {
	const tlsKeyLog = 0x544C534B
	if len(b) < 8 || f.order.Uint32(b) != tlsKeyLog || len(b) > maxSecrets {
		return
	}
	if n := int64(f.order.Uint32(b[4:])); n <= int64(len(b)-8) {
		f.secrets(b[8 : 8+n])
	}
}

// options calls yield for each option of a block, as far as they make sense.
func (f *ngFile) options(b []byte, yield func(code uint16, value []byte)) {
	for len(b) >= 4 {
		code, n := f.order.Uint16(b), int(f.order.Uint16(b[2:]))
		if code == 0 || n > len(b)-4 {
			return
		}
		yield(code, b[4:4+n])
		b = b[min(len(b), 4+(n+3)/4*4):]
	}
}

// time turns a time stamp of the interface into a time, exactly but for what is below a nanosecond.
func (i *face) time(t uint64) time.Time {
	n := uint(i.res & 0x7F)
	var sec, ns uint64
	switch {
	case i.res&0x80 == 0:
		sec, ns = decimal(t, n)
	case n < 64:
		sec = t >> n
		hi, lo := bits.Mul64(t&(1<<n-1), 1e9)
		if n > 0 {
			lo = lo>>n | hi<<(64-n)
		}
		ns = lo
	default:
		hi, _ := bits.Mul64(t, 1e9)
		ns = hi >> (n - 64)
	}
	if sec > latest {
		sec = latest
	}
	off := min(max(i.offset, -latest), latest)
	return stamp(int64(sec)+off, int64(ns))
}

// decimal splits t, which counts units of 10^-n seconds.
func decimal(t uint64, n uint) (sec, ns uint64) {
	if n <= 9 {
		unit := pow10(n)
		return t / unit, t % unit * pow10(9-n)
	}
	if n > 19+9 {
		return 0, 0
	}
	if n > 19 {
		return 0, t / pow10(n-9)
	}
	unit := pow10(n)
	return t / unit, t % unit / pow10(n-9)
}

func pow10(n uint) uint64 {
	p := uint64(1)
	for range n {
		p *= 10
	}
	return p
}
