package har

import (
	"io"

	"github.com/klauspost/compress/zstd"
)

// packAt is from how many bytes of lines on they are packed while the next ones are written.
const packAt = 128 << 10

// keptChunk is how large a buffer is used again.
const keptChunk = 2 * frameBytes

// A packer makes zstd frames of lines. One chunk is packed at a time, in a goroutine that ends with it, so that whoever
// writes goes on meanwhile.
type packer struct {
	out   io.Writer
	zstd  *zstd.Encoder
	fresh bool   // the encoder is between two frames
	spare []byte // the buffer of the chunk that was packed last

	busy bool       // a goroutine is at work
	done chan error // its result
}

func newPacker(out io.Writer) (*packer, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(frameBytes), zstd.WithEncoderCRC(true))
	return &packer{out: out, zstd: z, fresh: true, done: make(chan error, 1)}, err
}

// start packs a chunk, and behind it ends the frame if end says so. It returns a buffer for the next chunk, and what went
// wrong with the one before.
func (p *packer) start(chunk []byte, end bool) ([]byte, error) {
	err := p.wait()
	next := p.spare
	if p.spare = chunk[:0]; cap(chunk) > keptChunk {
		p.spare = nil
	}
	if err != nil {
		return next, err
	}
	p.busy = true
	go func() { p.done <- p.pack(chunk, end) }()
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
func (p *packer) flush(chunk []byte, end bool) error {
	if err := p.wait(); err != nil {
		return err
	}
	if err := p.pack(chunk, end); err != nil || end || p.fresh {
		return err
	}
	return p.zstd.Flush()
}

func (p *packer) pack(chunk []byte, end bool) error {
	if len(chunk) > 0 {
		if p.fresh {
			p.zstd.Reset(p.out)
			p.fresh = false
		}
		if _, err := p.zstd.Write(chunk); err != nil {
			return err
		}
	}
	if !end || p.fresh {
		return nil
	}
	p.fresh = true
	return p.zstd.Close()
}
