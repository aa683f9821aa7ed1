package wire

import "bytes"

// A memo makes the heads of one direction of a connection. Such heads mostly repeat line by line, so it brings the last
// one up to date where a line differs, and parses only that line.
//
// Only a head without a fault is remembered, so each of its lines is one field.
type memo struct {
	head   *Head // nil if nothing is remembered
	method method
	raw    []byte // the head's bytes
	lines  []int  // where its field lines begin, and behind them its blank line

	next  []int   // lines of the head at hand
	slots []*Head // those made since fresh are the first used ones, the remembered one being the last of them
	used  int
	text  text
}

// A head beyond these bounds is not remembered, and no more slots are kept.
const (
	memoBytes  = 4 << 10
	memoFields = 64
	memoSlots  = 16
)

// fresh says that no head made so far is in use any longer.
func (m *memo) fresh() {
	if m.used > 1 || m.used == 1 && m.head == nil {
		m.tidy()
	}
	m.used = 0
}

// tidy makes the remembered head the first slot, and the others hold nothing but a little room.
func (m *memo) tidy() {
	last := m.used - 1
	m.slots[0], m.slots[last] = m.slots[last], m.slots[0]
	for i, h := range m.slots[:m.used] {
		if h == m.head {
			continue
		}
		clear(h.Fields)
		if *h = (Head{Fields: h.Fields[:0]}); cap(h.Fields) > memoFields {
			h.Fields = nil
		}
		if i >= memoSlots {
			m.slots[i] = nil
		}
	}
	m.slots = m.slots[:min(len(m.slots), memoSlots)]
}

// slot gives an empty head.
func (m *memo) slot() *Head {
	if m.used == len(m.slots) {
		m.slots = append(m.slots, new(Head))
	}
	h := m.slots[m.used]
	m.used++
	*h = Head{Fields: h.Fields[:0]}
	return h
}

// find reads the head that p begins with, if that is whole, has no fault and is much like the one remembered. n is its
// length, 0 if it is not. again means that h is the same from end to end, and framed.
func (m *memo) find(p []byte, d Dir, req method) (h *Head, n int, again bool) {
	if m.head == nil {
		return nil, 0, false
	}
	at, same := m.lines[0], 0
	known := len(p) > at && bytes.Equal(p[:at], m.raw[:at])
	if known {
		same, at = m.same(p)
		if same == len(m.head.Fields) && blankAt(p, at) && m.method == req {
			m.used = max(m.used, 1)
			return m.head, at + 2, true
		}
	}
	if h = m.head; m.used > 0 {
		h = m.slot()
		fields := append(h.Fields, m.head.Fields...)
		*h = *m.head
		h.Fields = fields
	}
	m.head, m.used = nil, max(m.used, 1)
	if !known {
		if at = m.start(h, p, d); at == 0 {
			return nil, 0, false
		}
	}
	if n = m.rest(h, p, at, same); 0 < n && n <= memoBytes {
		m.lines, m.next = m.next, m.lines
		m.raw = append(m.raw[:0], p[:n]...)
		m.head, m.method = h, req
	}
	return h, n, false
}

// same counts the field lines that p begins with as the remembered head does, and says where they end.
func (m *memo) same(p []byte) (count, at int) {
	at = m.lines[0]
	for count < len(m.lines)-1 {
		next := m.lines[count+1]
		if len(p) < next || !bytes.Equal(p[at:next], m.raw[at:next]) {
			break
		}
		at = next
		count++
	}
	return count, at
}

// start parses the start line of p into h and says where it ends. It gives up, with 0, at all that is not plain.
func (m *memo) start(h *Head, p []byte, d Dir) (end int) {
	var s headScan
	if _, got := s.begin(p, d); got != whole || s.start.Off > 0 {
		return 0
	}
	var f fault
	if !h.parseStart(m.text.add(p[:s.start.Len]), d, &f) || f != 0 {
		return 0
	}
	return s.line
}

// rest brings the fields of h up to date with p from at on, of which the first same are. It gives up, with 0, at all
// that is not plain.
func (m *memo) rest(h *Head, p []byte, at, same int) (n int) {
	m.next = append(m.next[:0], m.lines[:same]...)
	i := same
	for ; !blankAt(p, at); i++ {
		m.next = append(m.next, at)
		var old []byte // the remembered line in this place
		if i < len(m.lines)-1 {
			old = m.raw[m.lines[i]:m.lines[i+1]]
			if end := at + len(old); end <= len(p) && bytes.Equal(p[at:end], old) {
				h.Fields[i].At.Off += at - m.lines[i]
				at = end
				continue
			}
		} else if i == len(h.Fields) {
			h.Fields = append(h.Fields, Field{})
		}
		end := at + bytes.IndexByte(p[at:], '\n')
		if end <= at || p[end-1] != '\r' || i == memoFields {
			return 0
		}
		if !m.value(&h.Fields[i], p[at:end-1], old, at, i) && !m.field(&h.Fields[i], p[at:end-1], at) {
			return 0
		}
		at = end + 1
	}
	m.next = append(m.next, at)
	h.Fields = h.Fields[:i]
	h.Len = at + 2
	return h.Len
}

// value reads the line that begins at at into fd, which is what was read of the line old, the i-th. It does so only if
// the lines differ in nothing but the value.
func (m *memo) value(fd *Field, line, old []byte, at, i int) bool {
	if len(old) == 0 {
		return false
	}
	off := fd.At.Off - m.lines[i]
	if fd.At.Len == 0 || len(line) <= off || !bytes.Equal(line[:off], old[:off]) || isSpace(line[off]) || isSpace(line[len(line)-1]) {
		return false
	}
	value := m.text.add(line[off:])
	if controls(value) != 0 {
		return false
	}
	fd.Value, fd.At = value, Span{Off: at + off, Len: len(value)}
	return true
}

// field reads the line that begins at at into fd.
func (m *memo) field(fd *Field, line []byte, at int) bool {
	var f fault
	var ok bool
	*fd, ok = parseField(m.text.add(line), &f)
	fd.At.Off += at
	return ok && f == 0
}

// blankAt tells whether the blank line stands at at.
func blankAt(p []byte, at int) bool { return len(p) >= at+2 && p[at] == '\r' && p[at+1] == '\n' }

// keep remembers the head h of the bytes raw, which begin with a start line of that length, or forgets all.
func (m *memo) keep(h *Head, f fault, req method, raw []byte, start int) {
	if f != 0 || len(raw) > memoBytes || len(h.Fields) > memoFields {
		m.head = nil
		return
	}
	m.head, m.method = h, req
	m.raw = append(m.raw[:0], raw...)
	m.lines = append(m.lines[:0], start)
	for at := start; at < len(raw)-2; {
		at += bytes.IndexByte(raw[at:], '\n') + 1
		m.lines = append(m.lines, at)
	}
}
