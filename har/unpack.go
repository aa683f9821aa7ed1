package har

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// maxUnchecked is how many bytes of a zstd frame are held back until its checksum has been seen to match. What a longer
// frame has beyond them is given out before that.
const maxUnchecked = 16 << 20

// A frameReader unpacks zstd frame by frame and gives out a frame's bytes once its checksum matched, or once the file broke
// off in the frame, where there is none to check.
type frameReader struct {
	in   frameInput
	dec  *zstd.Decoder
	held []byte // of the frame
	next int    // what of held has been given out
	loud bool   // the frame is too long to be held back
	live bool   // no frame is
	open bool   // dec is within a frame
	err  error  // what ends the reading, once held is given out

	lines, first int // LFs that were unpacked; the number of the line in which the frame begins
}

func newFrameReader(in *bufio.Reader, live bool) (*frameReader, error) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
	return &frameReader{in: frameInput{in: in}, dec: dec, live: live}, err
}

func (f *frameReader) Read(p []byte) (int, error) {
	for f.next == len(f.held) {
		if f.err != nil {
			return 0, f.err
		}
		f.load()
	}
	n := copy(p, f.held[f.next:])
	f.next += n
	return n, nil
}

// load fills held with the rest of a frame, or with as much of it as may be held.
func (f *frameReader) load() {
	f.held, f.next = f.held[:0], 0
	if !f.open {
		if f.err = f.in.begin(); f.err != nil {
			return
		}
		f.open, f.loud, f.first = true, f.live, f.lines+1
		if f.err = f.dec.Reset(&f.in); f.err != nil {
			return
		}
	}
	size := maxUnchecked
	if f.loud {
		size = readChunk
	}
	for len(f.held) < size {
		if len(f.held) == cap(f.held) {
			f.held = append(f.held, make([]byte, max(readChunk, len(f.held)))...)[:len(f.held)]
		}
		n, err := f.dec.Read(f.held[len(f.held):min(cap(f.held), size)])
		f.lines += bytes.Count(f.held[len(f.held):len(f.held)+n], []byte{'\n'})
		f.held = f.held[:len(f.held)+n]
		if err != nil {
			f.open = false
			f.frameEnd(err)
			return
		}
		if f.live {
			return
		}
	}
	f.loud = true
}

// frameEnd takes what the decoder ended a frame with.
func (f *frameReader) frameEnd(err error) {
	switch {
	case err == io.EOF:
		return
	case f.in.err != nil:
		f.err = f.in.err
		return
	case errors.Is(err, zstd.ErrCRCMismatch):
		err = errors.New("damaged: the checksum of the zstd frame does not match")
	default:
		err = errors.New(err.Error()) // the decoder's io.ErrUnexpectedEOF is damage too: the file goes on
	}
	f.held = f.held[:0]
	if f.loud {
		err = fmt.Errorf("%w; what was read from line %d on is of that frame and cannot be trusted", err, f.first)
	}
	f.err = err
}

// resume goes on with the next frame behind damage, wherever that is, and tells whether there is one. A frame that merely looks like
// one does not have the checksum.
func (f *frameReader) resume() bool {
	if f.err == nil || f.err == io.EOF || f.err == io.ErrUnexpectedEOF {
		return false
	}
	for {
		b, err := f.in.in.Peek(4)
		if err != nil {
			return false
		}
		if binary.LittleEndian.Uint32(b) == zstdMagic {
			break
		}
		f.in.in.Discard(1)
	}
	f.held, f.next, f.open, f.err = f.held[:0], 0, false, nil
	return true
}

// A frameInput gives one zstd frame (RFC 8878 section 3.1.1) and then io.EOF. It knows by the block headers where the frame
// ends, and so whether the file broke off within it.
type frameInput struct {
	in       *bufio.Reader
	left     int  // bytes of the frame's header, or of the block, still to be given
	checksum bool // the frame has one
	last     bool // what is given is the last block or the checksum
	done     bool
	err      error // why the frame is not there: io.ErrUnexpectedEOF if the file broke off
}

const (
	zstdMagic      = 0xFD2FB528
	skippableMagic = 0x184D2A50 // and the 15 behind it
)

// begin goes to the next frame that is not skippable; io.EOF: there is none.
func (f *frameInput) begin() error {
	for {
		if _, err := f.in.Peek(1); err != nil {
			return err
		}
		b, err := f.peek(5)
		if err != nil {
			return err
		}
		magic := binary.LittleEndian.Uint32(b)
		switch {
		case magic == zstdMagic:
			*f = frameInput{in: f.in, left: frameHeader(b[4]), checksum: b[4]&4 != 0}
			return nil
		case magic&^15 != skippableMagic:
			return errors.New("damaged: what stands behind a zstd frame is none")
		}
		if b, err = f.peek(8); err != nil {
			return err
		}
		size := int64(binary.LittleEndian.Uint32(b[4:]))
		if _, err := io.CopyN(io.Discard, f.in, 8+size); err != nil {
			return broken(err)
		}
	}
}

// frameHeader is the length of a frame header with that descriptor (RFC 8878 section 3.1.1.1).
func frameHeader(descriptor byte) int {
	size := 5 + [4]int{0, 1, 2, 4}[descriptor&3] + [4]int{0, 2, 4, 8}[descriptor>>6]
	if single := descriptor&0x20 != 0; !single {
		size++
	} else if descriptor>>6 == 0 {
		size++
	}
	return size
}

func (f *frameInput) peek(n int) ([]byte, error) {
	b, err := f.in.Peek(n)
	return b, broken(err)
}

func broken(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (f *frameInput) Read(p []byte) (n int, err error) {
	if f.left == 0 && f.err == nil && !f.done {
		f.err = f.block()
	}
	switch {
	case f.err != nil:
		return 0, f.err
	case f.done:
		return 0, io.EOF
	}
	n, err = f.in.Read(p[:min(len(p), f.left)])
	f.left -= n
	f.err = broken(err)
	return n, f.err
}

// block goes on behind the header or a block: to a block (RFC 8878 section 3.1.1.2), the checksum or the end.
func (f *frameInput) block() error {
	if f.last {
		f.done = !f.checksum
		f.left, f.checksum = 4, false
		return nil
	}
	b, err := f.peek(3)
	if err != nil {
		return err
	}
	head := int(b[0]) | int(b[1])<<8 | int(b[2])<<16
	f.last, f.left = head&1 != 0, 3+head>>3
	if rle := head>>1&3 == 1; rle {
		f.left = 4
	}
	return nil
}
