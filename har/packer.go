package har

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/klauspost/compress/zstd"
)

// packAt is from how many bytes of a chunk on it is packed while the next one is filled: enough that neither side waits for
// the other at each burst. passAt is from how many bytes of lines on they are passed on.
const (
	packAt = 512 << 10
	passAt = 128 << 10
)

// keptChunk is how large a buffer is used again.
const keptChunk = 2 * frameBytes

// A packer writes lines out in full and makes zstd frames of them, or keeps them as they are. One chunk is packed at a time,
// in a goroutine that ends with it, so that whoever writes goes on meanwhile.
type packer struct {
	out   *packedWriter
	zstd  *zstd.Encoder // nil: plain lines
	fresh bool          // the encoder is between two frames
	spare *chunk        // the one that was packed last
	buf   []byte        // lines that were not passed on

	lines, bytes int   // of the frame so far
	total        int64 // bytes of all lines
	filler       rand.ChaCha8

	busy bool       // a goroutine is at work
	done chan error // its result
}

func newPacker(out *packedWriter, plain bool) (*packer, error) {
	p := &packer{out: out, fresh: true, spare: new(chunk), done: make(chan error, 1)}
	var err error
	if !plain {
		p.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithWindowSize(frameBytes), zstd.WithEncoderCRC(true))
	}
	return p, err
}

// start packs a chunk. It returns one for the next lines, and what went wrong with the one before.
func (p *packer) start(c *chunk) (*chunk, error) {
	err := p.wait()
	next := p.spare
	p.spare = c
	next.reset()
	if err != nil {
		return next, err
	}
	p.busy = true
	go func() { p.done <- p.pack(c) }()
	return next, nil
}

// wait waits until nothing is under way, and tells how that went.
func (p *packer) wait() error {
	if !p.busy {
		return nil
	}
	p.busy = false
	return <-p.done
}

// flush packs a chunk at once, as the end of a frame or so that it can be read.
func (p *packer) flush(c *chunk, end bool) error {
	if err := p.wait(); err != nil {
		return err
	}
	if err := p.pack(c); err != nil || p.fresh {
		return err
	}
	if end {
		return p.endFrame()
	}
	return p.zstd.Flush()
}

func (p *packer) pack(c *chunk) error {
	for {
		at := len(p.buf)
		b, exchanges, ok := c.next(p.buf)
		if !ok {
			return p.pass()
		}
		p.buf = b
		if err := p.count(at, exchanges); err != nil {
			return err
		}
	}
}

// count takes account of the line in buf that begins at at, and passes on what is in buf if that is much or ends a frame.
func (p *packer) count(at, exchanges int) error {
	if err := p.keepRatio(at); err != nil {
		return err
	}
	n := len(p.buf) - at
	p.lines += exchanges
	p.bytes += n
	p.total += int64(n)
	switch {
	case p.lines >= frameLines || p.bytes >= frameBytes:
		return p.endFrame()
	case len(p.buf) >= passAt:
		return p.pass()
	}
	return nil
}

// pass passes on what is in buf.
func (p *packer) pass() (err error) {
	switch {
	case len(p.buf) == 0:
		return nil
	case p.zstd == nil:
		_, err = p.out.Write(p.buf)
	default:
		if p.fresh {
			p.zstd.Reset(p.out)
			p.fresh = false
		}
		_, err = p.zstd.Write(p.buf)
	}
	if p.buf = p.buf[:0]; cap(p.buf) > keptChunk {
		p.buf = nil
	}
	return err
}

func (p *packer) endFrame() error {
	p.lines, p.bytes = 0, 0
	if err := p.pass(); err != nil || p.fresh {
		return err
	}
	p.fresh = true
	return p.zstd.Close()
}

// keepRatio makes the file long enough for the line in buf that begins at at: readers refuse a file that is short for its lines.
func (p *packer) keepRatio(at int) error {
	total := p.total + int64(len(p.buf)-at)
	if p.zstd == nil || total <= writeFrom || p.out.n.Load() >= total/writeRatio {
		return nil
	}
	line := p.buf[at:]
	p.buf = p.buf[:at]
	err := p.endFrame()
	p.buf = append(p.buf[:0], line...)
	if size := (total+frameBytes)/writeRatio - p.out.n.Load(); err == nil && size > 0 {
		_, err = p.out.Write(p.fillerFrame(size))
	}
	return err
}

// fillerFrame is a skippable frame (RFC 8878 section 3.1.2) of size bytes that gzip cannot make shorter.
func (p *packer) fillerFrame(size int64) []byte {
	frame := make([]byte, 8+size)
	binary.LittleEndian.PutUint32(frame, skippableMagic)
	binary.LittleEndian.PutUint32(frame[4:], uint32(size))
	p.filler.Read(frame[8:]) // it never fails
	return frame
}
