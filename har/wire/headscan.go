package wire

import "bytes"

// defaultMaxHead is the size beyond which a head or a trailer section is taken as malformed.
const defaultMaxHead = 256 << 10

// A headScan finds the end of a head in bytes that grow, without looking at any byte twice.
//
// It also finds the byte from which on a head is known to be malformed. That place depends on the bytes alone, never on
// how they were cut: the first byte that fits no start line, or the one behind a start line that is none. Field lines
// never make a head malformed; what is wrong with them is a fault.
type headScan struct {
	stage  stage
	target bool // the space behind the method was seen
	pos    int  // bytes looked at
	line   int  // where the line at hand begins
	start  Span // the start line without its LF, from the stage unchecked on
	fields int  // field lines so far
}

type stage uint8

const (
	leading   stage = iota // in empty lines before the start line (RFC 9112 section 2.2)
	starting               // in the start line
	unchecked              // behind the start line, which was not parsed
	checked                // behind a start line that is one
)

type progress uint8

const (
	unfinished progress = iota
	whole
	malformed
)

// next looks at b, which begins with all bytes of earlier calls. n is the length of the whole head, or of the part
// before the malformed rest. The start line of a whole head may still be malformed: then it is so from start.End()+1 on.
func (s *headScan) next(b []byte, d Dir) (n int, got progress) {
	if s.stage < unchecked {
		if n, got = s.begin(b, d); got != whole {
			return n, got
		}
	}
	for {
		i := bytes.IndexByte(b[s.pos:], '\n')
		if i < 0 {
			s.pos = len(b)
			break
		}
		end := s.pos + i
		empty := end == s.line || end == s.line+1 && b[s.line] == '\r'
		s.pos, s.line = end+1, end+1
		if empty {
			return s.pos, whole
		}
		s.fields++
	}
	if s.stage == unchecked {
		var h Head
		var f fault
		if !h.parseStart(string(b[s.start.Off:s.start.End()]), d, &f) {
			return s.start.End() + 1, malformed
		}
		s.stage = checked
	}
	return 0, unfinished
}

// begin looks for the end of the start line.
func (s *headScan) begin(b []byte, d Dir) (n int, got progress) {
	if s.stage == leading {
		if n, got = s.skipEmpty(b); got != whole {
			return n, got
		}
		s.stage = starting
	}
	if n, got = s.prefix(b, d); got != whole {
		return n, got
	}
	i := bytes.IndexByte(b[s.pos:], '\n')
	if i < 0 {
		s.pos = len(b)
		return 0, unfinished
	}
	end := s.pos + i
	s.start = Span{Off: s.line, Len: end - s.line}
	s.pos, s.line = end+1, end+1
	s.stage = unchecked
	return 0, whole
}

func (s *headScan) skipEmpty(b []byte) (n int, got progress) {
	for ; s.pos < len(b); s.pos++ {
		switch c := b[s.pos]; {
		case c == '\n':
			s.line = s.pos + 1
		case s.pos > s.line:
			return s.pos, malformed // a CR that ends no line
		case c != '\r':
			return 0, whole
		}
	}
	return 0, unfinished
}

// prefix looks at the bytes that tell a start line from anything else: a method and a space, or "HTTP/".
func (s *headScan) prefix(b []byte, d Dir) (n int, got progress) {
	if d == ToClient {
		for ; s.pos < s.line+len("HTTP/"); s.pos++ {
			if s.pos == len(b) {
				return 0, unfinished
			}
			if b[s.pos] != "HTTP/"[s.pos-s.line] {
				return s.pos, malformed
			}
		}
		return 0, whole
	}
	for ; !s.target; s.pos++ {
		if s.pos == len(b) {
			return 0, unfinished
		}
		if c := b[s.pos]; c == ' ' && s.pos > s.line {
			s.target = true
		} else if !isToken[c] {
			return s.pos, malformed
		}
	}
	return 0, whole
}
