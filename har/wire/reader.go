package wire

// A reader finds one direction's messages, one after the other, in any cut. Slicer and the Parse functions are built on
// it. Its owner feeds head until a head is whole, tells it how that is framed (begin), then feeds body until it ended.
type reader struct {
	dir    Dir
	max    int // bytes of one head
	scan   headScan
	buf    []byte // the bytes of an unfinished head
	inBody bool
	body   body
}

// headWindow is how far behind an unfinished head's bytes the rest of it is looked for at a time.
const headWindow = 4 << 10

// head takes bytes of a head off p. h is not nil if it became whole with them; bad means that p is malformed behind
// them.
func (r *reader) head(p []byte) (n int, h *Head, f fault, bad bool) {
	if len(r.buf) == 0 {
		at, got := r.scan.next(p[:min(len(p), r.max)], r.dir)
		switch {
		case got == whole:
			h, f = parseHead(p[:at], r.dir)
			r.scan = headScan{}
			return at, h, f, false
		case got == malformed:
			return at, nil, 0, true
		case len(p) >= r.max:
			return r.max, nil, 0, true
		}
		r.buf = append(r.buf, p...)
		return len(p), nil, 0, false
	}
	for n < len(p) {
		was := len(r.buf)
		if was == r.max {
			return n, nil, 0, true
		}
		r.buf = append(r.buf, p[n:n+min(len(p)-n, headWindow, r.max-was)]...)
		at, got := r.scan.next(r.buf, r.dir)
		switch got {
		case whole:
			h, f = parseHead(r.buf[:at], r.dir)
			r.forget()
			return n + at - was, h, f, false
		case malformed:
			r.forget()
			return n + at - was, nil, 0, true
		}
		n += len(r.buf) - was
	}
	return n, nil, 0, false
}

// started tells whether bytes of an unfinished head were taken.
func (r *reader) started() bool { return len(r.buf) > 0 }

func (r *reader) forget() {
	r.scan = headScan{}
	if cap(r.buf) > 4*headWindow {
		r.buf = nil
	}
	r.buf = r.buf[:0]
}

// begin frames the message that h begins, for a request with that method ("" if unknown).
func (r *reader) begin(h *Head, method string, f fault) fault {
	h.frame(r.dir, method, &f)
	if f != 0 {
		h.Faults = f.names()
	}
	r.body.begin(h, r.max)
	r.inBody = !r.body.ended()
	return f
}

// more takes a run of bytes of the message's body off p.
func (r *reader) more(p []byte) (n int, k kind) {
	n, k = r.body.next(p)
	r.inBody = !r.body.ended()
	return n, k
}
