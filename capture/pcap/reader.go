package pcap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// A Reader reads the packets of a capture: pcap or pcapng, as it is or inside gzip or zstd.
type Reader struct {
	src    *source
	next   func(*Packet) error
	closer func()
	ng     *ngFile // nil for pcap

	// Secrets gets the TLS key log lines that a pcapng file holds (decryption secrets blocks). It may be nil. The bytes are
	// valid during the call.
	Secrets func([]byte)
}

// maxWindow bounds what a zstd frame may ask for in memory.
const maxWindow = 32 << 20

// NewReader begins to read a capture. The error is a *DamageError if the bytes are no capture.
func NewReader(r io.Reader) (*Reader, error) {
	c := &Reader{src: newSource(r), closer: func() {}}
	if err := c.unpack(); err != nil {
		return nil, err
	}
	head, err := c.src.peek(4)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if !IsCapture(head) {
		return nil, &DamageError{Want: "a pcap or pcapng file", Got: fmt.Sprintf("it begins with % x", head)}
	}
	if binary.BigEndian.Uint32(head) == sectionBlock {
		c.ng = &ngFile{src: c.src, secrets: func(b []byte) {
			if c.Secrets != nil {
				c.Secrets(b)
			}
		}}
		c.next = c.ng.next
		return c, nil
	}
	f := &file{src: c.src}
	if err := f.header(); err != nil {
		return nil, err
	}
	c.next = f.next
	return c, nil
}

// IsCapture tells whether a file that begins with these bytes (at least four) is a capture, compression aside.
func IsCapture(head []byte) bool {
	if len(head) < 4 {
		return false
	}
	be, le := binary.BigEndian.Uint32(head), binary.LittleEndian.Uint32(head)
	for _, m := range []uint32{magicMicro, magicNano, magicModified} {
		if be == m || le == m {
			return true
		}
	}
	return be == sectionBlock
}

// Unpacked gives what is inside gzip or zstd, or r itself where it is neither. closer must be called at the end.
func Unpacked(r io.Reader) (out io.Reader, closer func(), err error) {
	s := newSource(r)
	c := &Reader{src: s, closer: func() {}}
	if err := c.unpack(); err != nil {
		return nil, nil, err
	}
	return c.src, c.closer, nil
}

// Read reads what was not taken. It makes a source an io.Reader.
func (s *source) Read(p []byte) (int, error) {
	if s.from == s.to && s.err == nil && len(p) >= len(s.buf)/2 { // no need to go through the buffer
		n, err := s.r.Read(p)
		s.offset += int64(n)
		s.err = err
		return n, err
	}
	if s.from == s.to && s.err == nil {
		s.fill(1)
	}
	if s.from == s.to {
		return 0, s.err
	}
	n := copy(p, s.buf[s.from:s.to])
	s.from += n
	s.offset += int64(n)
	return n, nil
}

// unpack takes the compression off.
func (c *Reader) unpack() error {
	head, err := c.src.peek(4)
	if err != nil && err != io.EOF {
		return err
	}
	switch {
	case len(head) >= 2 && head[0] == 0x1F && head[1] == 0x8B:
		z, err := gzip.NewReader(c.src)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return &DamageError{Want: "the header of gzip", Cut: true}
		}
		if err != nil {
			return &DamageError{Want: "a gzip member", Got: err.Error()}
		}
		c.closer = func() { z.Close() }
		c.src = newSource(&unpacker{z: z, from: c.src, name: "gzip"})
	case len(head) == 4 && binary.LittleEndian.Uint32(head) == 0xFD2FB528:
		z, err := zstd.NewReader(c.src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return &DamageError{Want: "a zstd frame", Got: err.Error()}
		}
		c.closer = z.Close
		c.src = newSource(&unpacker{z: z, from: c.src, name: "zstd"})
	}
	return nil
}

// An unpacker gives what a decompressor does. What that cannot unpack is damage of the capture; a failure of what it reads from is
// none.
type unpacker struct {
	z    io.Reader
	from *source
	name string
	n    int64 // bytes that it gave
}

func (u *unpacker) Read(p []byte) (int, error) {
	n, err := u.z.Read(p)
	u.n += int64(n)
	switch {
	case err == nil, err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF), u.from.err != nil && u.from.err != io.EOF:
		return n, err
	}
	return n, &DamageError{Offset: u.n, Want: "intact " + u.name, Got: err.Error()}
}

// Next reads the next packet into p. It gives io.EOF at the end, and a *DamageError where the file was cut or is damaged.
func (c *Reader) Next(p *Packet) error { return c.next(p) }

// Offset is how many bytes of the capture, without compression, were read.
func (c *Reader) Offset() int64 { return c.src.offset }

// Drops is how many packets the capturing program and system say they lost; 0 where the capture says nothing.
func (c *Reader) Drops() uint64 {
	if c.ng == nil {
		return 0
	}
	return c.ng.drops()
}

// Close lets go of what decompression holds. It does not close the reader that was given.
func (c *Reader) Close() { c.closer() }
