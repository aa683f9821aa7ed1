package pcap

import (
	"errors"
	"io"
)

// A source reads a capture's bytes and knows where it is. Its buffer grows with what is asked for, at most to MaxPacket
// and a little.
type source struct {
	r        io.Reader
	buf      []byte
	from, to int // what of buf was read and not taken
	offset   int64
	err      error // of r, once it has failed or ended
}

const readSize = 256 << 10

func newSource(r io.Reader) *source { return &source{r: r, buf: make([]byte, readSize)} }

// peek returns the next n bytes without taking them, or as many as there are with the error that stands behind them.
func (s *source) peek(n int) ([]byte, error) {
	for s.to-s.from < n && s.err == nil {
		s.fill(n)
	}
	if have := s.to - s.from; have < n {
		return s.buf[s.from:s.to], s.err
	}
	return s.buf[s.from : s.from+n], nil
}

// fill reads once, with room for n bytes.
func (s *source) fill(n int) {
	if s.from > 0 && len(s.buf)-s.from < n {
		s.to = copy(s.buf, s.buf[s.from:s.to])
		s.from = 0
	}
	if len(s.buf) < n {
		// Grown step by step: a lying length costs no more than twice what the file holds.
		grown := make([]byte, min(n, 2*len(s.buf)))
		s.to = copy(grown, s.buf[s.from:s.to])
		s.buf, s.from = grown, 0
	}
	if s.from == s.to {
		s.from, s.to = 0, 0
	}
	got, err := s.r.Read(s.buf[s.to:])
	s.to += got
	s.err = err
}

// take takes n bytes. They are valid until the next call.
func (s *source) take(n int) ([]byte, error) {
	b, err := s.peek(n)
	if err != nil {
		return b, err
	}
	s.from += n
	s.offset += int64(n)
	return b, nil
}

// skip passes over n bytes, however many they are.
func (s *source) skip(n int64) error {
	for n > 0 {
		b, err := s.take(int(min(n, readSize)))
		if err != nil {
			return err
		}
		n -= int64(len(b))
	}
	return nil
}

// whole turns the error of a read inside a record into the one that the user gets; at a record's beginning, have is
// nothing and the end of the file is the end.
func (s *source) whole(have []byte, err error, at int64, what string) error {
	switch {
	case err == nil:
		return nil
	case len(have) == 0 && s.offset == at && err == io.EOF:
		return io.EOF
	case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
		return &DamageError{Offset: at, Want: what, Cut: true}
	}
	return err
}
