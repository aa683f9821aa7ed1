package har

import (
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	packAt    = 128 << 10      // from how many bytes of lines on they are packed while the next ones are written
	packHeld  = 1 << 20        // bytes of lines that wait to be packed, before whoever writes more has to wait too
	keptChunk = 2 * frameBytes // how large a buffer is used again
	keptSpare = 4              // how many are kept for that
)

// A packer makes zstd frames of lines. Chunks are packed one behind the other, in a goroutine that ends when none is left,
// so that whoever writes goes on meanwhile.
type packer struct {
	out   io.Writer
	zstd  *zstd.Encoder
	fresh bool // the encoder is between two frames

	mu      sync.Mutex // guards what follows
	packed  *sync.Cond // a chunk was
	waiting []chunk    // the first of them is being packed
	held    int        // their bytes
	spare   [][]byte   // buffers of chunks that were packed
	err     error      // the first failure; nothing is packed behind it
}

// A chunk is some lines. end: a frame ends behind them.
type chunk struct {
	lines []byte
	end   bool
}

func newPacker(out io.Writer) (*packer, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(frameBytes), zstd.WithEncoderCRC(true))
	p := &packer{out: out, zstd: z, fresh: true}
	p.packed = sync.NewCond(&p.mu)
	return p, err
}

// start lets a chunk be packed, and behind it ends the frame if end says so. It returns a buffer for the next chunk, and what
// went wrong with those before.
func (p *packer) start(lines []byte, end bool) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.held > packHeld {
		p.packed.Wait()
	}
	p.held += len(lines)
	if p.waiting = append(p.waiting, chunk{lines, end}); len(p.waiting) == 1 {
		go p.work()
	}
	n := len(p.spare)
	if n == 0 {
		return nil, p.err
	}
	next := p.spare[n-1]
	p.spare = p.spare[:n-1]
	return next, p.err
}

// work packs chunks until none waits.
func (p *packer) work() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.waiting) > 0 {
		c, err := p.waiting[0], p.err
		p.mu.Unlock()
		if err == nil {
			err = p.pack(c.lines, c.end)
		}
		p.mu.Lock()
		p.err = err
		p.held -= len(c.lines)
		p.waiting = append(p.waiting[:0], p.waiting[1:]...)
		if cap(c.lines) <= keptChunk && len(p.spare) < keptSpare {
			p.spare = append(p.spare, c.lines[:0])
		}
		p.packed.Broadcast()
	}
}

// wait waits until nothing is under way, and tells how that went.
func (p *packer) wait() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.waiting) > 0 {
		p.packed.Wait()
	}
	return p.err
}

// flush packs lines at once, as the end of a frame or so that they can be read.
func (p *packer) flush(lines []byte, end bool) error {
	if err := p.wait(); err != nil {
		return err
	}
	if err := p.pack(lines, end); err != nil || end || p.fresh {
		return err
	}
	return p.zstd.Flush()
}

func (p *packer) pack(lines []byte, end bool) error {
	if len(lines) > 0 {
		if p.fresh {
			p.zstd.Reset(p.out)
			p.fresh = false
		}
		if _, err := p.zstd.Write(lines); err != nil {
			return err
		}
	}
	if !end || p.fresh {
		return nil
	}
	p.fresh = true
	return p.zstd.Close()
}
