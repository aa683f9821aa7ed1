package replay

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// traceMembers are members of a request's `_meta` that are new in every run: the token that a client chooses for its
// progress notifications, and trace context (2026-07-28 basic, "_meta"; W3C Trace Context and Baggage).
var traceMembers = []string{"progressToken", "traceparent", "tracestate", "baggage"}

// identityMembers say who the client is, not what it asks: in `_meta` since 2026-07-28, in the params of initialize
// before.
var (
	identityMembers   = []string{"io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/clientCapabilities"}
	initializeMembers = []string{"clientInfo", "capabilities"}
	cancelledMembers  = []string{"requestId"} // names a request by the id that the client chose
)

// A canon writes JSON in one spelling: no white space, members sorted by name, strings without needless escapes, numbers
// as they are. Its input must have passed wire.ParseRPC; of anything else it makes something arbitrary.
type canon struct {
	in      []byte
	at      int
	out     []byte
	members []member

	method string // of the JSON-RPC message whose params are written
	loose  bool   // leave out who the client is
	names  bool   // the message says who the client is
}

// A member of an object that is being written: out[off:end] with its name and value.
type member struct {
	name     string
	off, end int
}

// appendParams appends the params of a JSON-RPC message without the members that do not matter to what it asks.
// Absent and empty params are one. names: they say who the client is.
func appendParams(out, params []byte, method string, loose bool) (_ []byte, names bool) {
	c := canon{in: params, out: out, method: method, loose: loose}
	start := len(out)
	c.value(0, "")
	if string(c.out[start:]) == "{}" || string(c.out[start:]) == "null" {
		c.out = c.out[:start]
	}
	return c.out, c.names
}

// drops tells whether the member name, at that depth below params and inside the member parent, is left out.
func (c *canon) drops(depth int, parent, name string) bool {
	names := false
	switch {
	case depth == 0 && c.method == "notifications/cancelled":
		return slices.Contains(cancelledMembers, name)
	case depth == 0 && c.method == "initialize":
		names = slices.Contains(initializeMembers, name)
	case depth == 1 && parent == "_meta":
		if slices.Contains(traceMembers, name) {
			return true
		}
		names = slices.Contains(identityMembers, name)
	}
	c.names = c.names || names
	return names && c.loose
}

func (c *canon) peek() byte {
	for c.at < len(c.in) {
		switch b := c.in[c.at]; b {
		case ' ', '\t', '\r', '\n':
			c.at++
		default:
			return b
		}
	}
	return 0
}

// value writes the value at hand. parent is the name of the member whose value it is.
func (c *canon) value(depth int, parent string) {
	switch c.peek() {
	case '{':
		c.object(depth, parent)
	case '[':
		c.array(depth)
	case '"':
		c.out = appendString(c.out, c.token())
	default:
		c.out = append(c.out, c.token()...)
	}
}

// token takes a string with its quotes, or a literal.
func (c *canon) token() []byte {
	start := c.at
	if c.peek() != '"' {
		for c.at < len(c.in) && !endsLiteral(c.in[c.at]) {
			c.at++
		}
		c.at = max(c.at, min(start+1, len(c.in)))
		return c.in[start:c.at]
	}
	for c.at++; ; {
		i := bytes.IndexByte(c.in[c.at:], '"')
		if i < 0 {
			c.at = len(c.in)
			break
		}
		if c.at += i + 1; !escaped(c.in[start+1 : c.at-1]) {
			break
		}
	}
	return c.in[start:c.at]
}

// escaped tells whether a backslash escapes what stands behind b.
func escaped(b []byte) bool {
	n := 0
	for n < len(b) && b[len(b)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

func endsLiteral(b byte) bool {
	switch b {
	case ',', ':', ']', '}', ' ', '\t', '\r', '\n':
		return true
	}
	return false
}

func (c *canon) array(depth int) {
	c.at++
	c.out = append(c.out, '[')
	for n := 0; ; n++ {
		switch c.peek() {
		case 0:
			return
		case ']':
			c.at++
			c.out = append(c.out, ']')
			return
		case ',':
			c.at++
			continue
		}
		if n > 0 {
			c.out = append(c.out, ',')
		}
		c.value(depth+1, "")
	}
}

func (c *canon) object(depth int, parent string) {
	c.at++
	c.out = append(c.out, '{')
	first, sorted := len(c.members), true
loop:
	for {
		switch c.peek() {
		case 0, '}':
			c.at++
			break loop
		case ',':
			c.at++
			continue
		}
		m := member{off: len(c.out)}
		c.out = appendString(c.out, c.token())
		m.name = string(c.out[m.off+1 : len(c.out)-1])
		if c.peek() == ':' {
			c.at++
		}
		c.out = append(c.out, ':')
		value := len(c.out)
		c.value(depth+1, m.name)
		m.end = len(c.out)
		if c.drops(depth, parent, m.name) || depth == 0 && m.name == "_meta" && string(c.out[value:]) == "{}" {
			c.out = c.out[:m.off]
			continue
		}
		sorted = sorted && (len(c.members) == first || c.members[len(c.members)-1].name <= m.name)
		c.members = append(c.members, m)
		c.out = append(c.out, ',')
	}
	if mine := c.members[first:]; len(mine) > 0 {
		c.out = c.out[:len(c.out)-1]
		if !sorted {
			c.sort(mine)
		}
	}
	c.members = c.members[:first]
	c.out = append(c.out, '}')
}

// sort puts the object's members, the last thing written, in order of their names; equal names keep their order.
func (c *canon) sort(mine []member) {
	start := mine[0].off
	was := bytes.Clone(c.out[start:])
	slices.SortStableFunc(mine, func(a, b member) int { return strings.Compare(a.name, b.name) })
	c.out = c.out[:start]
	for i, m := range mine {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		c.out = append(c.out, was[m.off-start:m.end-start]...)
	}
}

// appendString appends a JSON string in its shortest spelling.
func appendString(out, quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 || len(quoted) < 2 {
		return append(out, quoted...)
	}
	var s string
	if json.Unmarshal(quoted, &s) != nil || !utf8.ValidString(s) || bytes.Contains(quoted, []byte(`\ud`)) || bytes.Contains(quoted, []byte(`\uD`)) {
		return append(out, quoted...) // surrogates, which may be lone ones, are left as they are
	}
	out = append(out, '"')
	for i := range len(s) {
		switch b := s[i]; {
		case b == '"' || b == '\\':
			out = append(out, '\\', b)
		case b < ' ':
			out = append(out, '\\', 'u', '0', '0', "0123456789abcdef"[b>>4], "0123456789abcdef"[b&15])
		default:
			out = append(out, b)
		}
	}
	return append(out, '"')
}
