package wire

import "slices"

// A reader finds one direction's messages, one after the other, in any cut. Slicer and the Parse functions are built on
// it. Its owner calls head until a head is whole, then more while the message has a body to come.
type reader struct {
	dir    Dir
	max    int // bytes of one head
	scan   headScan
	buf    []byte // the bytes of an unfinished head
	inBody bool
	body   body
	memo   memo
}

// headWindow is how far behind an unfinished head's bytes the rest of it is looked for at a time.
const headWindow = 4 << 10

// head takes bytes of a head off p. h is not nil if it became whole with them; bad means that p is malformed behind
// them. req is the method of the request to which a response is due.
func (r *reader) head(p []byte, req method) (n int, h *Head, bad bool) {
	if len(r.buf) == 0 {
		window := p[:min(len(p), r.max)]
		h, n, again := r.memo.find(window, r.dir, req)
		if n > 0 {
			if !again {
				r.frame(h, req, 0)
			}
			r.begin(h)
			return n, h, false
		}
		at, got := r.scan.next(window, r.dir)
		if got == unfinished && len(window) < r.max {
			r.buf = append(r.buf, p...)
			return len(p), nil, false
		}
		return r.finish(window, at, got, req)
	}
	for n < len(p) {
		was := len(r.buf)
		r.buf = append(r.buf, p[n:n+min(len(p)-n, headWindow, r.max-was)]...)
		at, got := r.scan.next(r.buf, r.dir)
		if got != unfinished || len(r.buf) == r.max {
			at, h, bad = r.finish(r.buf, at, got, req)
			if cap(r.buf) > 4*headWindow {
				r.buf = nil
			}
			r.buf = r.buf[:0]
			return n + at - was, h, bad
		}
		n += len(r.buf) - was
	}
	return n, nil, false
}

// finish gives what was found at the beginning of b: a head of n bytes, or n bytes before malformed ones. An unfinished
// head is as long as a head may be.
func (r *reader) finish(b []byte, n int, got progress, req method) (int, *Head, bool) {
	scan := r.scan
	r.scan = headScan{}
	switch got {
	case malformed:
		return n, nil, true
	case unfinished:
		return len(b), nil, true
	}
	h := r.memo.slot()
	h.Fields = slices.Grow(h.Fields, scan.fields)
	f, ok := h.parse(r.memo.text.add(b[:n]), r.dir, &scan)
	if !ok {
		return scan.start.End() + 1, nil, true
	}
	f = r.frame(h, req, f)
	r.begin(h)
	r.memo.keep(h, f, req, b[:n], scan.start.End()+1)
	return n, h, false
}

// started tells whether bytes of an unfinished head were taken.
func (r *reader) started() bool { return len(r.buf) > 0 }

// frame completes the head h of a message.
func (r *reader) frame(h *Head, req method, f fault) fault {
	h.frame(r.dir, req, &f)
	if h.Faults = nil; f != 0 {
		h.Faults = f.names()
	}
	return f
}

// begin begins the message that h is the head of.
func (r *reader) begin(h *Head) {
	r.body.begin(h, r.max)
	r.inBody = !r.body.ended()
}

// more takes a run of bytes of the message's body off p.
func (r *reader) more(p []byte) (n int, k kind) {
	n, k = r.body.next(p)
	r.inBody = !r.body.ended()
	return n, k
}
