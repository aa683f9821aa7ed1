package wire

// A Slicer finds the HTTP/1.1 messages of one connection (RFC 9112), both directions at once, since where a response
// ends depends on its request. It keeps no bytes but those of an unfinished head. Cuts never change what it finds.
//
//   - A request begins an exchange with its first byte. Responses answer requests in order; 1xx responses belong to the
//     exchange of the final one.
//   - Bytes behind the last response that a request asked for belong to the last exchange begun, as Opaque. The next
//     request makes responses possible again.
//   - Empty lines behind a request belong to it, as Opaque; those before the first request, or before a response that is
//     due, to the head that follows.
//   - After 101, or 2xx to CONNECT, both directions are Opaque and belong to that exchange. What a client sends behind
//     CONNECT before the answer is Opaque too.
//   - What is malformed makes the rest of that direction Opaque; it stays with the exchange at hand. So does a framing
//     that cannot be followed, behind its head.
//   - Bytes from the server before any request open exchange 1, which then has no request until one comes.
type Slicer struct {
	// MaxHead is how many bytes a head, a chunk-size line or a trailer section may have; more is taken as malformed. 0
	// means 256 KiB. It is read at the first Feed.
	MaxHead int

	to       [2]lane
	begun    int      // exchanges begun
	answered int      // exchanges whose final response is whole
	orphan   bool     // exchange 1 was opened by the server and still has no request
	methods  []method // of the exchanges behind the answered ones, as far as their heads are known
	tunnel   int      // the exchange that turned the connection into a tunnel, or 0
	pieces   []Piece
}

// MaxPending is how many requests of one connection may wait for their response. One more is taken as malformed.
const MaxPending = 1 << 16

// A lane is one direction of a Slicer.
type lane struct {
	reader
	seq    int  // the exchange at hand, or the last one
	first  int  // the highest exchange whose first byte was seen
	opaque bool // for good
	ended  bool
}

// Feed takes the next bytes of one direction. The result is valid until the next call, the heads in it included (their
// strings are for good: see [Head.Clone]); p is not kept.
func (s *Slicer) Feed(d Dir, p []byte) []Piece {
	s.pieces = s.pieces[:0]
	l := &s.to[d]
	if l.max == 0 {
		l.dir, l.max = d, s.MaxHead
		if l.max <= 0 {
			l.max = defaultMaxHead
		}
	}
	l.memo.fresh()
	for len(p) > 0 {
		n, head, done, opaque := s.take(l, p)
		s.emit(l, n, head, done, opaque)
		p = p[n:]
	}
	return s.pieces
}

// take takes one run of bytes off p. n may be 0 if that changes how p is to be taken.
func (s *Slicer) take(l *lane, p []byte) (n int, head *Head, done, opaque bool) {
	switch {
	case s.tunnel > 0 && l.dir == ToServer && !(l.inBody && l.seq == s.tunnel):
		l.seq, l.opaque = s.tunnel, true
		return len(p), nil, false, true
	case l.opaque || l.ended:
		if l.seq == 0 {
			s.open(l)
		}
		return len(p), nil, false, true
	case l.inBody:
		n, k := l.more(p)
		if k == broken {
			l.opaque = true
		}
		if !l.inBody && l.dir == ToClient {
			s.answer()
		}
		return n, nil, !l.inBody, false
	case !l.started():
		if n, opaque = s.between(l, p); opaque {
			return n, nil, false, true
		}
	}
	n, h, bad := l.head(p, s.methodOf(l.seq))
	if bad {
		l.opaque = true
	}
	if h == nil {
		return n, nil, false, false
	}
	return n, h, s.headOf(l, h), false
}

// between decides what p is at the beginning of when no message of the lane is at hand. If it is not the next message,
// n bytes are opaque.
func (s *Slicer) between(l *lane, p []byte) (n int, opaque bool) {
	switch {
	case l.dir == ToClient && s.answered == s.begun && s.begun > 0:
		l.seq = s.begun
		return len(p), true
	case l.dir == ToClient:
		s.open(l)
		return 0, false
	case l.seq > s.answered && s.methodOf(l.seq) == connectMethod:
		return len(p), true
	case l.seq > 0:
		for n < len(p) && (p[n] == '\r' || p[n] == '\n') {
			n++
		}
		if n > 0 {
			return n, true
		}
		if s.begun-s.answered >= MaxPending {
			l.opaque = true
			return len(p), true
		}
	}
	s.open(l)
	return 0, false
}

// open puts the lane at its next exchange.
func (s *Slicer) open(l *lane) {
	switch {
	case l.dir == ToClient && s.begun == 0:
		s.begun, s.orphan = 1, true
		l.seq = 1
	case l.dir == ToClient:
		l.seq = s.answered + 1
	case s.orphan:
		s.orphan = false
		l.seq = 1
	default:
		s.begun++
		l.seq = s.begun
	}
}

// headOf takes note of a whole head and tells whether its message ends with it.
func (s *Slicer) headOf(l *lane, h *Head) (done bool) {
	if l.dir == ToServer {
		s.ask(l.seq, h.Method)
		l.opaque = h.Framing == Unframable
		return !l.inBody && !l.opaque
	}
	switch {
	case h.Interim():
		return false
	case h.Framing == Unframable:
		l.opaque = true
		return false
	case h.Framing == Tunnel:
		s.tunnel, l.opaque = l.seq, true
	}
	if !l.inBody {
		s.answer()
	}
	return !l.inBody
}

func (s *Slicer) ask(seq int, name string) {
	if seq != s.answered+len(s.methods)+1 {
		return // answered before it was asked
	}
	s.methods = append(s.methods, methodOf(name))
}

func (s *Slicer) methodOf(seq int) method {
	if i := seq - s.answered - 1; i >= 0 && i < len(s.methods) {
		return s.methods[i]
	}
	return otherMethod
}

// answer counts an exchange as answered.
func (s *Slicer) answer() {
	s.answered++
	if len(s.methods) > 0 {
		s.methods = s.methods[:copy(s.methods, s.methods[1:])]
	}
}

// emit adds a piece, joined to the one before where nothing sets them apart.
func (s *Slicer) emit(l *lane, n int, head *Head, done, opaque bool) {
	first := n > 0 && l.seq > l.first
	if first {
		l.first = l.seq
	}
	if k := len(s.pieces) - 1; k >= 0 {
		last := &s.pieces[k]
		if last.Seq == l.seq && last.Opaque == opaque && !last.Done && head == nil {
			last.N += n
			last.Done = done
			return
		}
	}
	if n > 0 || done {
		s.pieces = append(s.pieces, Piece{Seq: l.seq, N: n, First: first, Head: head, Done: done, Opaque: opaque})
	}
}

// Close says that direction d ended in good order: a close-delimited response is now whole. After a reset, do not call
// it. Bytes fed to d later are Opaque.
func (s *Slicer) Close(d Dir) []Piece {
	s.pieces = s.pieces[:0]
	l := &s.to[d]
	if l.inBody && !l.ended && !l.opaque && l.body.framing == ByClose {
		l.inBody = false
		s.answer()
		s.pieces = append(s.pieces, Piece{Seq: l.seq, Done: true})
	}
	l.ended = true
	return s.pieces
}
