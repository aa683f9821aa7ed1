package proxy

import "sync"

var buffers = map[int]*sync.Pool{
	smallRead: {New: func() any { b := make([]byte, smallRead); return &b }},
	largeRead: {New: func() any { b := make([]byte, largeRead); return &b }},
}

func getBuffer(size int) *[]byte { return buffers[size].Get().(*[]byte) }

func putBuffer(b *[]byte) { buffers[len(*b)].Put(b) }

// fitBuffer exchanges b for one of the other size where the last read of n bytes suggests it.
func fitBuffer(b *[]byte, n int) *[]byte {
	size := len(*b)
	switch {
	case size == smallRead && n == smallRead:
		size = largeRead
	case size == largeRead && n <= smallRead/4:
		size = smallRead
	default:
		return b
	}
	putBuffer(b)
	return getBuffer(size)
}
