package wire

import (
	"bytes"
	"slices"
)

// ParseRequest parses the bytes of one exchange's request. m is nil if there is no whole head; tail spans what follows
// the message or could not be parsed.
func ParseRequest(raw []byte) (m *Message, tail Span) {
	m = &Message{}
	tail, ok := m.ReadRequest(raw)
	if !ok {
		return nil, tail
	}
	return m, tail
}

// ParseResponse parses all that a server sent for one request with that method ("" if unknown): interim responses, the
// final one (nil without a whole head), and the bytes that belong to neither. closed: the connection ended behind raw.
func ParseResponse(raw []byte, method string, closed bool) (interim []Message, final *Message, tail Span) {
	final = &Message{}
	interim, tail, ok := final.ReadResponse(raw, method, closed)
	if !ok {
		return interim, nil, tail
	}
	return interim, final, tail
}

// ReadRequest is ParseRequest into m, whose memory it uses again. ok is false without a whole head.
func (m *Message) ReadRequest(raw []byte) (tail Span, ok bool) {
	end, ok := m.read(raw, 0, ToServer, "", false)
	return Span{Off: end, Len: len(raw) - end}, ok
}

// ReadResponse is ParseResponse with the final response in m, whose memory it uses again. ok is false if there is none.
func (m *Message) ReadResponse(raw []byte, method string, closed bool) (interim []Message, tail Span, ok bool) {
	for at := 0; ; {
		end, ok := m.read(raw, at, ToClient, method, closed)
		if !ok || !m.Interim() {
			return interim, Span{Off: end, Len: len(raw) - end}, ok
		}
		interim = append(interim, *m)
		m.Fields, at = nil, end // they are the copy's now
	}
}

// read parses the message that begins at off. ok is false without a whole head, and end is off then.
func (m *Message) read(raw []byte, off int, d Dir, method string, closed bool) (end int, ok bool) {
	r := reader{dir: d, max: defaultMaxHead}
	at, got := r.scan.next(raw[off:min(len(raw), off+r.max)], d)
	if got != whole {
		return off, false
	}
	*m = Message{Head: Head{Fields: slices.Grow(m.Fields[:0], r.scan.fields)}, Off: off}
	f, ok := m.parse(string(raw[off:off+at]), d, &r.scan)
	if !ok {
		return off, false
	}
	f = r.frame(&m.Head, methodOf(method), f)
	r.begin(&m.Head)
	trailers := m.readBody(raw, off+at, &r)
	f |= r.body.faults
	if trailers >= 0 {
		m.Trailers = appendFields(nil, string(wholeLines(raw[trailers:m.End])), 0, trailers-off, &f)
	}
	m.Complete = !r.inBody && m.Framing != Unframable || closed && m.Framing == ByClose
	m.Faults = f.names()
	for i := range m.Fields {
		m.names |= nameBit(m.Fields[i].Name)
	}
	return m.End, true
}

// Lookup is that of the head. Most names that are asked for are not there, which it sees at once.
func (m *Message) Lookup(name string) (string, bool) {
	if m.names != 0 && m.names&nameBit(name) == 0 {
		return "", false
	}
	return m.Head.Lookup(name)
}

// Get is that of the head.
func (m *Message) Get(name string) string {
	v, _ := m.Lookup(name)
	return v
}

// nameBit is one bit for a field's name in any case. Names that differ may have the same.
func nameBit(name string) uint64 {
	if name == "" {
		return 1
	}
	return 1 << ((uint(len(name))*5 + uint(name[0]|0x20)) % 64)
}

// wholeLines leaves out what is behind the last line end: of an unfinished line nothing can be said yet.
func wholeLines(b []byte) []byte { return b[:bytes.LastIndexByte(b, '\n')+1] }

// readBody finds the body's spans and end. trailers is where the trailer section begins, or -1.
func (m *Message) readBody(raw []byte, at int, r *reader) (trailers int) {
	trailers = -1
	m.Body = m.whole[:0]
	for r.inBody && at < len(raw) {
		n, k := r.more(raw[at:])
		if k == broken {
			at += n
			break
		}
		if k == payload {
			m.Body = append(m.Body, Span{Off: at, Len: n})
		}
		if at += n; r.body.state == trailerBOL && trailers < 0 {
			trailers = at
		}
	}
	m.End = at
	if len(m.Body) == 0 {
		m.Body = nil
	}
	return trailers
}

// Payload returns the body's payload: the chunks joined, transfer framing removed. It copies only if there are several.
func (m *Message) Payload(raw []byte) []byte {
	switch len(m.Body) {
	case 0:
		return nil
	case 1:
		return raw[m.Body[0].Off:m.Body[0].End()]
	}
	size := 0
	for _, s := range m.Body {
		size += s.Len
	}
	out := make([]byte, 0, size)
	for _, s := range m.Body {
		out = append(out, raw[s.Off:s.End()]...)
	}
	return out
}

// RawOffset maps an offset in the payload to one in raw; an offset at or beyond the payload's end gives the end of the
// body: the offset behind its last byte, or behind the head if it is empty.
func (m *Message) RawOffset(payload int) int {
	end := m.Off + m.Len
	for _, s := range m.Body {
		if payload < s.Len {
			return s.Off + max(payload, 0)
		}
		payload -= s.Len
		end = s.End()
	}
	return end
}
