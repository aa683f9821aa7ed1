package wire

import "strings"

// A text makes strings in blocks, since an allocation for each would cost more than to fill it.
type text struct {
	block strings.Builder
}

// textBlock is the size of the largest block, unless one string needs more. Blocks grow up to it, so that a short
// connection has a small one.
const textBlock = 4 << 10

// add copies b.
func (t *text) add(b []byte) string {
	at := t.block.Len()
	if t.block.Cap()-at < len(b) {
		size := min(2*t.block.Cap(), textBlock)
		t.block = strings.Builder{}
		t.block.Grow(max(len(b), size))
		at = 0
	}
	t.block.Write(b)
	return t.block.String()[at:]
}
