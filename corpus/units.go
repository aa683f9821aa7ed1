package corpus

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// Bounds of what is looked at in one exchange.
const (
	maxDepth   = 12      // levels of JSON
	maxUnits   = 4096    // that one pass finds
	longString = 48      // bytes of a JSON string from which it is shortened
	shortTo    = 16      // about this many
	maxText    = 8 << 20 // bytes of a body that is taken apart
	maxGap     = 256     // bytes of white space between a member's name and its value
)

// A unit is what can be left out at once: one of the spans of a group.
type unit struct {
	x     int // index of the exchange
	group *group
	i     int
}

// A group is the parts of one thing: the lines of a head, the members of an object.
type group struct {
	dir   wire.Dir
	head  bool        // spans are in the raw bytes, else in the payload
	joins bool        // leaving out a span means joining the chunks on both sides of it
	list  bool        // spans are apart by commas
	spans []wire.Span // side by side, in order
}

func (g *group) units(x int) (units []unit) {
	for i := range min(len(g.spans), maxUnits) {
		units = append(units, unit{x, g, i})
	}
	return units
}

// A pass finds units in the exchange at index i. Passes for what does not nest find nothing below depth 0.
type pass func(x *har.Exchange, i, depth int) []unit

var passes = []pass{headUnits, eventUnits, jsonUnits, stringUnits, lineUnits, chunkUnits}

// kept are fields that frame a message, or that clients act on.
var kept = map[wire.Dir][]string{
	wire.ToServer: {"content-length", "transfer-encoding", "host", "expect"},
	wire.ToClient: {"content-length", "transfer-encoding", "trailer", "connection", "keep-alive", "upgrade", "content-type",
		"content-encoding", "www-authenticate", "location", "retry-after", "mcp-session-id", "mcp-protocol-version"},
}

// headUnits are the lines of both heads.
func headUnits(x *har.Exchange, i, depth int) (units []unit) {
	if depth > 0 || x.Stdio() {
		return nil
	}
	v := x.View()
	for _, side := range []struct {
		dir wire.Dir
		m   *wire.Message
		raw []byte
	}{{wire.ToServer, v.Request, x.Request.Raw}, {wire.ToClient, v.Response, x.Response.Raw}} {
		d, m, raw := side.dir, side.m, side.raw
		if m == nil {
			continue
		}
		g := &group{dir: d, head: true}
		for _, f := range m.Fields {
			if slices.Contains(kept[d], strings.ToLower(f.Name)) {
				continue
			}
			if span, ok := lineOf(raw, m.Off, m.Off+m.Len, wire.Span{Off: m.Off + f.At.Off, Len: f.At.Len}); ok {
				g.spans = append(g.spans, span)
			}
		}
		units = append(units, g.units(i)...)
	}
	return units
}

// lineOf is the header line, line end included, that holds a field's value.
func lineOf(raw []byte, from, to int, value wire.Span) (wire.Span, bool) {
	start := bytes.LastIndexByte(raw[from:value.Off], '\n') + 1
	end := bytes.IndexByte(raw[value.End():to], '\n') + 1
	if start == 0 || end == 0 {
		return wire.Span{}, false
	}
	return wire.Span{Off: from + start, Len: value.End() + end - from - start}, true
}

// payload is the text of a response's body as it was sent, nil if that cannot be taken apart.
func payload(x *har.Exchange, v *har.View) []byte {
	if v.Stdio {
		text, _ := v.ResponseBody()
		return text
	}
	m := v.Response
	if m == nil || len(m.Faults) > 0 || m.Get("Content-Encoding") != "" {
		return nil
	}
	if text := m.Payload(x.Evidence()); len(text) <= maxText {
		return text
	}
	return nil
}

// eventUnits are the events of a stream.
func eventUnits(x *har.Exchange, i, depth int) []unit {
	v := x.View()
	if depth > 0 || !v.SSE() {
		return nil
	}
	g := &group{dir: wire.ToClient}
	for _, e := range wire.SplitEvents(payload(x, v)) {
		g.spans = append(g.spans, e.Span)
	}
	return g.units(i)
}

// texts are the JSON texts of a response and where they begin in its payload.
func texts(x *har.Exchange, v *har.View) (all []wire.Span, in []byte) {
	in = payload(x, v)
	if !v.SSE() {
		if wire.ParseRPC(in).JSON {
			all = append(all, wire.Span{Len: len(in)})
		}
		return all, in
	}
	for _, e := range wire.SplitEvents(in) {
		at := bytes.Index(in[e.Off:e.End()], e.Data)
		if len(e.Data) > 0 && at >= 0 && wire.ParseRPC(e.Data).JSON {
			all = append(all, wire.Span{Off: e.Off + at, Len: len(e.Data)})
		}
	}
	return all, in
}

// jsonUnits are the members of objects and the elements of arrays at that depth.
func jsonUnits(x *har.Exchange, i, depth int) (units []unit) {
	all, in := texts(x, x.View())
	for _, t := range all {
		eachValue(in[t.Off:t.End()], func(level, at int, parts []wire.Span) {
			if level != depth || len(units) >= maxUnits {
				return
			}
			g := &group{dir: wire.ToClient, list: true}
			for _, p := range parts {
				g.spans = append(g.spans, wire.Span{Off: t.Off + p.Off, Len: p.Len})
			}
			units = append(units, g.units(i)...)
		}, nil)
	}
	return units
}

// stringUnits are what is behind the beginning of long strings.
func stringUnits(x *har.Exchange, i, depth int) (units []unit) {
	if depth > 0 {
		return nil
	}
	all, in := texts(x, x.View())
	g := &group{dir: wire.ToClient}
	for _, t := range all {
		eachValue(in[t.Off:t.End()], nil, func(s wire.Span) {
			if s.Len < longString {
				return
			}
			text := in[t.Off+s.Off : t.Off+s.End()]
			if from := cutAt(text); from < len(text)-1 {
				g.spans = append(g.spans, wire.Span{Off: t.Off + s.Off + from, Len: len(text) - 1 - from})
			}
		})
	}
	return g.units(i)
}

// cutAt is where a JSON string can be cut behind about shortTo bytes: not within a character or an escape.
func cutAt(text []byte) int {
	at := 1
	for at < len(text)-1 && at < shortTo {
		switch {
		case text[at] == '\\' && text[at+1] == 'u':
			at += 6
			if bytes.HasPrefix(text[at:], []byte(`\u`)) { // may be half of a pair
				at += 6
			}
		case text[at] == '\\':
			at += 2
		default:
			at++
		}
	}
	for at < len(text)-1 && text[at]&0xC0 == 0x80 {
		at++
	}
	return at
}

// lineUnits are the lines of a body that is neither JSON nor an event stream, and pieces of lines that are long.
func lineUnits(x *har.Exchange, i, depth int) []unit {
	v := x.View()
	text := payload(x, v)
	if depth > 0 || len(text) == 0 || v.SSE() || v.Stdio || wire.ParseRPC(text).JSON {
		return nil
	}
	g := &group{dir: wire.ToClient}
	for at := 0; at < len(text); {
		n := bytes.IndexByte(text[at:], '\n') + 1
		if n == 0 {
			n = len(text) - at
		}
		n = min(n, max(64, len(text)/maxUnits+1))
		g.spans = append(g.spans, wire.Span{Off: at, Len: n})
		at += n
	}
	return g.units(i)
}

// chunkUnits are the places between chunks, but for those between events: what a client does may hang on each.
func chunkUnits(x *har.Exchange, i, depth int) []unit {
	v := x.View()
	if depth > 0 || v.Response == nil || v.Response.Framing != wire.ByChunks || len(v.Response.Faults) > 0 {
		return nil
	}
	g := &group{dir: wire.ToClient, joins: true}
	ends := map[int]bool{}
	if v.SSE() {
		for _, e := range wire.SplitEvents(payload(x, v)) {
			ends[e.End()] = true
		}
	}
	at := 0
	for k := 1; k < len(v.Response.Body); k++ {
		if at += v.Response.Body[k-1].Len; ends[at] {
			continue
		}
		g.spans = append(g.spans, wire.Span{Off: k})
	}
	return g.units(i)
}

// eachValue walks a JSON text: list is called for each object and array that holds something, with how deep it lies and the
// spans of its members, str for each string that is a value.
func eachValue(text []byte, list func(level, at int, parts []wire.Span), str func(wire.Span)) {
	var value func(level, at int) int
	value = func(level, at int) int {
		at = wire.ValueStart(text, at)
		end := wire.ValueEnd(text, at)
		if at >= len(text) || end > len(text) {
			return end
		}
		var parts []wire.Span
		switch text[at] {
		case '"':
			if str != nil {
				str(wire.Span{Off: at, Len: end - at})
			}
			return end
		case '{':
			if level < maxDepth {
				wire.WalkObject(text, at, func(name []byte, v int) int {
					near := max(at, v-len(name)-maxGap)
					from := near + bytes.LastIndex(text[near:v], slices.Concat([]byte(`"`), name, []byte(`"`)))
					stop := value(level+1, v)
					parts = append(parts, wire.Span{Off: from, Len: stop - from})
					return stop
				})
			}
		case '[':
			if level < maxDepth {
				wire.WalkArray(text, at, func(_, v int) int {
					v = wire.ValueStart(text, v)
					stop := value(level+1, v)
					parts = append(parts, wire.Span{Off: v, Len: stop - v})
					return stop
				})
			}
		}
		if list != nil && len(parts) > 0 {
			list(level, at, parts)
		}
		return end
	}
	value(0, 0)
}
