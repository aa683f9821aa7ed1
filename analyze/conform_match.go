package analyze

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcptap/mcptap/har/wire"
)

// A breach is a place where a message departs from its shape, in one or several revisions.
type breach struct {
	in      set    // revisions whose shape it breaks
	pointer string // JSON pointer (RFC 6901) of the member, the missing one included
	want    string
	found   string
	at      spanned // of the value, or of the object that lacks it; within the message's text
}

// maxBreaches is how many breaches of one message are kept; more are counted.
const maxBreaches = 8

// A shapeMatch holds one message against its shape, for several revisions in one walk over its bytes.
type shapeMatch struct {
	text     []byte
	path     []pathStep
	room     [12]pathStep // for the paths of most messages
	breaches []breach
	more     int
}

// shapeMatches are matches that are not at work.
var shapeMatches = sync.Pool{New: func() any { return &shapeMatch{} }}

// A pathStep is one step of a path: a member's name as written, or an index.
type pathStep struct {
	name  []byte
	index int
}

// match checks a whole message. The text must have passed wire.ParseRPC.
func match(text []byte, s *shape, in set) []breach {
	at := wire.ValueStart(text, 0)
	if at >= len(text) || text[at] != '{' {
		return nil
	}
	return matchAt(text, at, s, in)
}

// matchAt is match for the message at an offset of a longer text.
func matchAt(text []byte, at int, s *shape, in set) []breach {
	if in == 0 {
		return nil
	}
	m := shapeMatches.Get().(*shapeMatch)
	m.text, m.path = text, m.room[:0]
	m.object(at, s, in)
	breaches := m.breaches
	m.text, m.breaches, m.more = nil, nil, 0
	shapeMatches.Put(m)
	return breaches
}

// value checks the value at an offset and gives the offset behind it.
func (m *shapeMatch) value(at int, t *valueType, in set) int {
	if at >= len(m.text) {
		return at
	}
	switch c := m.text[at]; {
	case t.any:
	case t.never:
	case c == '{' && t.shape != nil:
		return m.object(at, t.shape, in)
	case c == '{' && t.values != nil:
		return wire.WalkObject(m.text, at, func(name []byte, at int) int { return m.inner(pathStep{name: name}, at, t.values, in) })
	case c == '[' && t.elem != nil:
		return wire.WalkArray(m.text, at, func(i, at int) int { return m.inner(pathStep{index: i}, at, t.elem, in) })
	case c == '{' && t.object, c == '"' && t.str, (c == 't' || c == 'f') && t.boolean, c == 'n' && t.null:
	case c == '"' && len(t.literals) > 0:
		end := wire.ValueEnd(m.text, at)
		if !t.literal(m.text[at:end]) {
			m.breach(at, end, t.words(), in)
		}
		return end
	case (c == '-' || c >= '0' && c <= '9') && t.num != nil:
		end := wire.ValueEnd(m.text, at)
		if want := t.num(m.text[at:end]); want != "" {
			m.breach(at, end, want, in)
		}
		return end
	default:
		end := wire.ValueEnd(m.text, at)
		m.breach(at, end, t.words(), in)
		return end
	}
	end := wire.ValueEnd(m.text, at)
	if t.never {
		m.breach(at, end, "no such member", in)
	}
	return end
}

func (m *shapeMatch) inner(s pathStep, at int, t *valueType, in set) int {
	m.path = append(m.path, s)
	end := m.value(at, t, in)
	m.path = m.path[:len(m.path)-1]
	return end
}

// object checks an object, chosen among several types by one of its members where the shape has that.
func (m *shapeMatch) object(at int, s *shape, in set) int {
	if s.by == "" {
		return m.members(at, s, in)
	}
	value, where := m.chooser(at, s.by)
	end := 0
	for _, group := range [...]set{in & s.byIn, in &^ s.byIn} {
		if group == 0 {
			continue
		}
		v := value
		if v == "" || group&s.byIn == 0 {
			v = s.usual
		}
		end = m.chosen(at, s, v, where, group)
	}
	return end
}

// chooser gives the value of the member that chooses a type, as text, and where it stands; "" where there is none.
func (m *shapeMatch) chooser(at int, by string) (value string, where int) {
	wire.WalkObject(m.text, at, func(name []byte, at int) int {
		end := wire.ValueEnd(m.text, at)
		if string(name) == by {
			value, where = unescaped(m.text[at:end]), at
		}
		return end
	})
	return value, where
}

func (m *shapeMatch) chosen(at int, s *shape, value string, where int, in set) int {
	left, end := in, 0
	for _, c := range s.cases {
		if c.value == value && c.in&left != 0 {
			end = m.members(at, c.shape, c.in&left)
			left &^= c.in
		}
	}
	switch {
	case left == 0:
		return end
	case s.other != nil:
		return m.members(at, s.other, left)
	}
	end = wire.ValueEnd(m.text, at)
	m.path = append(m.path, pathStep{name: []byte(s.by)})
	if want := "one of " + s.values(left); where > 0 {
		m.breach(where, wire.ValueEnd(m.text, where), want, left)
	} else {
		m.missing(at, end, want, left)
	}
	m.path = m.path[:len(m.path)-1]
	return end
}

// values lists the cases of a choice.
func (s *shape) values(in set) string {
	var list []string
	for _, c := range s.cases {
		if c.in&in != 0 {
			list = append(list, c.value)
		}
	}
	return strings.Join(list, ", ")
}

// members checks an object against the rows of one type.
func (m *shapeMatch) members(at int, s *shape, in set) int {
	var seen uint64
	var names [16]string // those of needs, few
	met := names[:0]
	end := wire.WalkObject(m.text, at, func(name []byte, at int) int {
		end := -1
		key := name
		if slices.Contains(name, '\\') {
			key = []byte(unescaped(slices.Concat([]byte(`"`), name, []byte(`"`))))
		}
		for i := range s.rows {
			r := &s.rows[i]
			if r.in&in == 0 || r.name != string(key) {
				continue
			}
			seen |= 1 << i
			end = m.inner(pathStep{name: name}, at, r.typ, in&r.in)
		}
		for i := range s.needs {
			for _, want := range s.needs[i].names {
				if want == string(key) && len(met) < cap(met) {
					met = append(met, want)
				}
			}
		}
		if end < 0 {
			end = wire.ValueEnd(m.text, at)
		}
		return end
	})
	for i := range s.rows {
		if r := &s.rows[i]; r.required && r.in&in != 0 && seen&(1<<i) == 0 {
			m.path = append(m.path, pathStep{name: []byte(r.name)})
			m.missing(at, end, r.typ.words(), in&r.in)
			m.path = m.path[:len(m.path)-1]
		}
	}
	for i := range s.needs {
		if n := &s.needs[i]; n.in&in != 0 && !slices.ContainsFunc(n.names, func(x string) bool { return slices.Contains(met, x) }) {
			m.path = append(m.path, pathStep{name: []byte(n.names[0])})
			m.missing(at, end, "one of the members "+strings.Join(n.names, ", "), in&n.in)
			m.path = m.path[:len(m.path)-1]
		}
	}
	return end
}

func (m *shapeMatch) missing(at, end int, want string, in set) {
	m.add(breach{in: in, want: want, found: "nothing", at: spanned{at, end - at, true}})
}

func (m *shapeMatch) breach(at, end int, want string, in set) {
	m.add(breach{in: in, want: want, found: foundWords(m.text[at:end]), at: spanned{at, end - at, true}})
}

func (m *shapeMatch) add(b breach) {
	if len(m.breaches) == maxBreaches {
		m.more++
		return
	}
	b.pointer = m.pointer()
	m.breaches = append(m.breaches, b)
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// pointer writes the path as RFC 6901 has it.
func (m *shapeMatch) pointer() string {
	var b strings.Builder
	for _, s := range m.path {
		if b.WriteByte('/'); s.name == nil {
			b.WriteString(strconv.Itoa(s.index))
		} else {
			b.WriteString(pointerEscapes.Replace(string(s.name)))
		}
	}
	return clip(b.String())
}

// literal tells whether a JSON string is one of those allowed.
func (t *valueType) literal(raw []byte) bool {
	if bytes.IndexByte(raw, '\\') >= 0 {
		return slices.Contains(t.literals, unescaped(raw))
	}
	raw = raw[1 : len(raw)-1]
	return slices.ContainsFunc(t.literals, func(s string) bool { return s == string(raw) })
}

// words says a type as a person reads it.
func (t *valueType) words() string {
	switch {
	case t.shape != nil && t.elem == nil:
		return "an object (" + t.text + ")"
	case t.text == "id":
		return "a string or an integer"
	case t.text == "object":
		return "an object"
	}
	return t.text
}

// foundWords says what stands in place of what was wanted.
func foundWords(raw []byte) string {
	const most = 40
	switch {
	case len(raw) == 0:
		return "nothing"
	case raw[0] == '{':
		return "an object"
	case raw[0] == '[':
		return "an array"
	case len(raw) > most:
		return clip(string(raw[:most])) + "…"
	}
	return clip(string(raw))
}

// unescaped gives the value of a JSON string, any other value as written.
func unescaped(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return string(raw)
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	s, _ := wire.Member{Raw: raw}.String()
	return s
}

func integerFault(raw []byte) string {
	if !validID(wire.Member{Raw: raw}) {
		return "an integer"
	}
	return ""
}

func nonnegativeFault(raw []byte) string {
	if raw[0] == '-' && bytes.ContainsAny(raw, "123456789") {
		return "a number of 0 or more"
	}
	return ""
}

func unitFault(raw []byte) string {
	if f, err := strconv.ParseFloat(string(raw), 64); err != nil || f < 0 || f > 1 {
		return "a number from 0 to 1"
	}
	return ""
}
