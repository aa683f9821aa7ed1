package wire

// Skip says that the next n bytes of direction d were not seen; n is negative if their number is not known. seq is the
// exchange that they belonged to, 0 if they began one that nothing else is known of. ok tells whether what follows can
// still be told: the bytes lay inside a body, between framing that was seen, or had no HTTP meaning. done: a message ended with them.
func (s *Slicer) Skip(d Dir, n int64) (seq int, done, ok bool) {
	l := &s.to[d]
	switch {
	case s.tunnel > 0:
		return s.tunnel, false, true
	case l.opaque || l.ended:
		return l.seq, false, true
	case s.Idle(d) && d == ToServer:
		return 0, false, false
	case s.Idle(d):
		return min(s.answered+1, s.begun), false, false
	case !l.inBody || !l.body.skip(n):
		return l.seq, false, false
	}
	if l.inBody = !l.body.ended(); !l.inBody && d == ToClient {
		s.answer()
	}
	return l.seq, !l.inBody, true
}

// Idle tells whether direction d is at the beginning of a message, or would be if there were one.
func (s *Slicer) Idle(d Dir) bool {
	l := &s.to[d]
	return !l.inBody && !l.started() && !l.opaque && !l.ended && s.tunnel == 0
}

// skip passes over n bytes of payload, if they are that.
func (b *body) skip(n int64) bool {
	switch {
	case b.state != chunkData:
		return false
	case b.framing == ByClose:
		return true
	case n < 0 || n > b.left:
		return false
	}
	if b.left -= n; b.left == 0 {
		b.state = dataEnd
		if b.framing == ByLength {
			b.state = bodyEnd
		}
	}
	return true
}

// BeginsRequest tells whether p begins with a request line, as far as it goes: No once it cannot, Perhaps while more
// bytes are needed. Empty lines before it count (RFC 9112 section 2.2).
func BeginsRequest(p []byte) Guess {
	for len(p) > 0 && (p[0] == '\r' || p[0] == '\n') {
		p = p[1:]
	}
	const longestMethod = 24
	for i, c := range p {
		switch {
		case c == ' ' && i > 0 && i+1 == len(p):
			return Perhaps
		case c == ' ' && i > 0:
			return guess(requestLine(p[i+1:], string(p[:i]) == "CONNECT"))
		case c < 'A' || c > 'Z' && c != '_' && c < 'a' || c > 'z' || i == longestMethod:
			if c == '-' && i > 0 {
				continue
			}
			return No
		}
	}
	return Perhaps
}

// requestLine tells whether what follows a method can be a target and a version, as far as it goes.
func requestLine(p []byte, anyTarget bool) bool {
	const version = " HTTP/1."
	if c := p[0]; c != '/' && c != '*' && c|0x20 != 'h' && !anyTarget {
		return false
	}
	for i, c := range p {
		if c == '\r' || c == '\n' {
			return false
		}
		if c == ' ' {
			rest := p[i:min(len(p), i+len(version))]
			return string(rest) == version[:len(rest)]
		}
	}
	return true
}

// BeginsResponse tells whether p begins with a status line, as BeginsRequest does.
func BeginsResponse(p []byte) Guess {
	const version = "HTTP/1."
	n := min(len(p), len(version))
	switch {
	case string(p[:n]) != version[:n]:
		return No
	case n < len(version):
		return Perhaps
	}
	return Yes
}

// A Guess is what a prefix of bytes allows to say.
type Guess uint8

const (
	Perhaps Guess = iota // more bytes are needed
	Yes
	No
)

func guess(yes bool) Guess {
	if yes {
		return Yes
	}
	return No
}
