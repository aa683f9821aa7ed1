package har

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/klauspost/compress/gzip"
)

// A source gives the lines of a cassette whatever it is packed in, and holds the limits.
type source struct {
	file *countingReader // the packed file
	r    io.Reader       // its lines
	lim  Limits

	buf        []byte
	start, end int   // what is unread of buf
	total      int64 // bytes of lines so far
	line       int   // number of the last line given out
	err        error // what r ended with
	packed     string
	frames     *frameReader // nil: not zstd
}

type countingReader struct {
	r   io.Reader
	n   int64
	err error // other than io.EOF
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if err != nil && err != io.EOF {
		c.err = err
	}
	return n, err
}

// Sizes of buffers. Reads larger than a bufio.Reader's go past its buffer.
const (
	readChunk = 64 << 10 // what is read at a time, and what the buffer of lines begins with
	peekAhead = 4 << 10  // what is looked at to tell what a file is
)

// openSource finds out by its first bytes how the file is packed. A zstd cassette inside gzip is read as well: trackers
// take .gz files only.
func openSource(r io.Reader, lim Limits, live bool) (*source, error) {
	s := &source{file: &countingReader{r: r}, lim: lim}
	in := bufio.NewReaderSize(s.file, peekAhead)
	for range 2 {
		unpacked, name, err := unpack(in, live)
		if s.file.err != nil {
			return nil, fmt.Errorf("line 1: %w", s.file.err)
		}
		if err != nil {
			return nil, &FormatError{Line: 1, Want: "a cassette", Err: err}
		}
		if unpacked == nil {
			break
		}
		s.frames, _ = unpacked.(*frameReader)
		if s.packed == "" {
			s.packed = name
		} else {
			s.packed = name + " in " + s.packed
		}
		in = bufio.NewReaderSize(unpacked, peekAhead)
	}
	s.r = in
	return s, foreign(in, live)
}

// foreign says what a file is that is no cassette, as far as its first bytes tell. live: only those that are there.
func foreign(in *bufio.Reader, live bool) error {
	look := peekAhead
	if live {
		in.Peek(1)
		look = in.Buffered()
	}
	head, _ := in.Peek(look)
	for _, f := range foreignFiles {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return &FormatError{Line: 1, Want: "a cassette", Err: errors.New(f.what)}
		}
	}
	if head = bytes.TrimLeft(head, " \t\r\n"); bytes.HasPrefix(head, []byte{'{'}) && harLog.Match(head) {
		return &FormatError{Line: 1, Want: "a cassette", Err: errors.New("it is a HAR file: convert it with mcptap import")}
	}
	return nil
}

// harLog is how HAR 1.2 begins: an object whose first member is log.
var harLog = regexp.MustCompile(`^\{\s*"log"\s*:`)

var foreignFiles = []struct{ magic, what string }{
	{"\xEF\xBB\xBF", "it begins with a byte order mark: save it as UTF-8 without one"},
	{"\xFF\xFE", "it is UTF-16: save it as UTF-8"},
	{"\xFE\xFF", "it is UTF-16: save it as UTF-8"},
	{"\xD4\xC3\xB2\xA1", pcapFile},
	{"\xA1\xB2\xC3\xD4", pcapFile},
	{"\x4D\x3C\xB2\xA1", pcapFile},
	{"\xA1\xB2\x3C\x4D", pcapFile},
	{"\x0A\x0D\x0D\x0A", "it is a pcapng file: convert it with mcptap import"},
	{"PK\x03\x04", "it is a zip file: unpack it first"},
}

const pcapFile = "it is a pcap file: convert it with mcptap import"

// unpack returns nil if in is not packed.
func unpack(in *bufio.Reader, live bool) (r io.Reader, name string, err error) {
	magic, _ := in.Peek(4)
	switch {
	case bytes.HasPrefix(magic, []byte{0x28, 0xB5, 0x2F, 0xFD}), len(magic) == 4 && magic[0]&0xF0 == 0x50 && bytes.HasPrefix(magic[1:], []byte{0x2A, 0x4D, 0x18}):
		f, err := newFrameReader(in, live)
		return f, "zstd", err
	case bytes.HasPrefix(magic, []byte{0x1F, 0x8B}):
		d, err := gzip.NewReader(in)
		return d, "gzip", err
	}
	return nil, "", nil
}

// next returns the next line without its LF, valid until the next call. whole is false for a last line without one; the
// end of the file is io.EOF. What stands between the last LF and damage in the packing is left out.
func (s *source) next() (line []byte, whole bool, err error) {
	scanned := s.start
	for {
		if i := bytes.IndexByte(s.buf[scanned:s.end], '\n'); i >= 0 {
			line = s.buf[s.start : scanned+i]
			if len(line) > s.lim.Line {
				return nil, false, s.longLine()
			}
			s.start = scanned + i + 1
			s.line++
			return line, true, nil
		}
		scanned = s.end
		if s.end-s.start > s.lim.Line {
			return nil, false, s.longLine()
		}
		if s.err != nil {
			break
		}
		scanned -= s.fill()
		if err := s.bounded(); err != nil {
			return nil, false, err
		}
	}
	line, s.start = s.buf[s.start:s.end], s.end
	if len(line) == 0 || s.err != io.EOF {
		return nil, false, s.err
	}
	s.line++
	return line, false, nil
}

// fill reads more, and returns by how much it moved what is unread.
func (s *source) fill() (moved int) {
	if s.start > 0 {
		moved = s.start
		s.end = copy(s.buf, s.buf[s.start:s.end])
		s.start = 0
	}
	if s.end == len(s.buf) {
		s.buf = append(s.buf, make([]byte, max(readChunk, len(s.buf)))...)
	}
	n, err := s.r.Read(s.buf[s.end:])
	s.end += n
	s.total += int64(n)
	s.err = err
	return moved
}

func (s *source) bounded() error {
	if s.total > s.lim.Total {
		return s.limit("at most %d bytes of lines", s.lim.Total)
	}
	if s.packed != "" && s.total > ratioFrom && s.total/int64(s.lim.Ratio) > s.file.n {
		return s.limit("at most %d bytes out of each packed byte", int64(s.lim.Ratio))
	}
	return nil
}

func (s *source) longLine() error { return s.limit("a line of at most %d bytes", int64(s.lim.Line)) }

func (s *source) limit(want string, n int64) error {
	return &FormatError{Line: s.line + 1, Want: fmt.Sprintf(want, n), Err: errUnvouched}
}

// errUnvouched ends the reading of what is beyond a limit.
var errUnvouched = errors.New("more is not read from a file that nobody vouches for")

// resume goes on behind a damaged zstd frame, and tells whether it can.
func (s *source) resume() bool {
	if s.frames == nil || s.err == nil || s.err == io.EOF || s.file.err != nil || !s.frames.resume() {
		return false
	}
	s.start, s.end, s.err = 0, 0, nil
	return true
}

// torn tells whether the file broke off where it could not be unpacked any further.
func (s *source) torn() bool {
	return s.file.err == nil && errors.Is(s.err, io.ErrUnexpectedEOF)
}
