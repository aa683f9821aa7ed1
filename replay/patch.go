package replay

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// subscriptionID is the `_meta` member that names the subscriptions/listen request by its id (2026-07-28).
const subscriptionID = "io.modelcontextprotocol/subscriptionId"

// A site is a place in a response's payload where a value stands that the client chose: the id or the progress token of
// its i-th request.
type site struct {
	off, len int
	owner    *recording
	i        int
	token    bool
}

// want is the value that the live client chose; "" if it chose none.
func (s *site) want() string {
	list := s.owner.live.ids
	if s.token {
		list = s.owner.live.tokens
	}
	if s.i >= len(list) {
		return ""
	}
	return list[s.i]
}

// A claim says whose value a raw JSON value is; owner is nil if it is nobody's.
type claim func(raw string, token bool) (owner *recording, i int)

// own claims the values of r's own requests.
func (r *recording) own(raw string, token bool) (owner *recording, i int) {
	list := r.ask.values.ids
	if token {
		list = r.ask.values.tokens
	}
	if i = slices.Index(list, raw); i < 0 || raw == "" {
		return nil, 0
	}
	return r, i
}

// messageSites finds the sites in one JSON text: the id of an answer, the progressToken of a progress notification, and
// the subscriptionId of whatever has one. at maps an offset in text to one in the payload.
func messageSites(text []byte, at func(int) int, whose claim) (found []site) {
	add := func(m wire.Member, token bool) {
		if !m.Present() {
			return
		}
		if owner, i := whose(string(m.Raw), token); owner != nil {
			found = append(found, site{off: at(m.Off), len: len(m.Raw), owner: owner, i: i, token: token})
		}
	}
	rpc := wire.ParseRPC(text)
	messages := rpc.Items
	if rpc.Kind != wire.Batch {
		messages = []wire.RPC{rpc}
	}
	for i := range messages {
		m := &messages[i]
		body := m.Params
		if m.Method == "" {
			add(m.ID, false)
			body = m.Result
		} else if m.Method == "notifications/progress" {
			add(inner(body, "progressToken"), true)
		}
		if bytes.Contains(body.Raw, []byte(subscriptionID)) {
			add(inner(body, "_meta", subscriptionID), false)
		}
	}
	slices.SortFunc(found, func(a, b site) int { return a.off - b.off })
	return found
}

// inner looks up a member of a member; the offset counts from where m's own does.
func inner(m wire.Member, names ...string) wire.Member {
	if !m.Present() {
		return wire.Member{}
	}
	found := wire.Lookup(m.Raw, names...)
	found.Off += m.Off
	return found
}

// sites finds where the values of r's own requests stand in its response.
func (r *recording) sites(v *har.View) []site {
	body, _ := v.ResponseBody()
	if !v.SSE() {
		return messageSites(body, func(off int) int { return off }, r.own)
	}
	var found []site
	for _, e := range v.Events() {
		found = append(found, eventSites(body, &e, r.own)...)
	}
	return found
}

// eventSites finds the sites in one event of a stream.
func eventSites(body []byte, e *wire.Event, whose claim) []site {
	if !e.Dispatched() || len(e.Data) == 0 {
		return nil
	}
	lines := dataLines(body[e.Off:e.End()])
	return messageSites(e.Data, func(off int) int {
		for _, l := range lines {
			if off <= l.Len {
				return e.Off + l.Off + off
			}
			off -= l.Len + 1
		}
		return e.End()
	}, whose)
}

// dataLines spans the values of an event's data lines (WHATWG HTML section 9.2.6), which joined by LF are its data.
func dataLines(event []byte) (lines []wire.Span) {
	at := 0
	if bytes.HasPrefix(event, []byte("\ufeff")) {
		at = len("\ufeff")
	}
	for at < len(event) {
		line := event[at:]
		next := len(event)
		if i := bytes.IndexAny(line, "\r\n"); i >= 0 {
			line, next = line[:i], at+i+1
		}
		if value, ok := bytes.CutPrefix(line, []byte("data")); ok && (len(value) == 0 || value[0] == ':') {
			value = bytes.TrimPrefix(value, []byte(":"))
			value = bytes.TrimPrefix(value, []byte(" "))
			lines = append(lines, wire.Span{Off: at + len(line) - len(value), Len: len(value)})
		}
		at = next
	}
	return lines
}

// An edit replaces bytes of a recorded response.
type edit struct {
	off, len int
	new      string
	why      string // in words, for an edit that cannot be shown; "" for one that says it all
}

// edits says how the response that v shows is changed so that the sites hold what the live client chose: there, and in
// Content-Length or in the size lines of the chunks they stand in. It fails where that cannot be done.
func edits(v *har.View, sites []site) ([]edit, error) {
	body, _ := v.ResponseBody()
	var out []edit
	grown := map[int]int{} // by how many bytes each span of the body grows
	for i := range sites {
		s := &sites[i]
		want, old := s.want(), string(body[s.off:s.off+s.len])
		if want == "" || want == old {
			continue
		}
		what := fmt.Sprintf("%s is %s here and %s in the recorded answer", s.name(), clip(want), clip(old))
		if recodable(v) {
			return recode(v, sites)
		}
		if why := unpatchable(v); why != "" {
			return nil, fmt.Errorf("%s, which cannot be changed: %s", what, why)
		}
		parts, err := splice(v.Response, s, want, grown)
		if err != nil {
			return nil, fmt.Errorf("%s, which cannot be changed: %w", what, err)
		}
		out = append(out, parts...)
	}
	frames, err := reframe(v, grown)
	if err != nil {
		return nil, err
	}
	out = append(out, frames...)
	slices.SortFunc(out, func(a, b edit) int { return cmp.Compare(a.off, b.off) })
	return out, nil
}

func (s *site) name() string {
	if s.token {
		return "progressToken"
	}
	return "id"
}

// unpatchable says why no byte of the body may change, "" if it may.
func unpatchable(v *har.View) string {
	if _, ok := v.At(wire.ToClient, wire.Span{}); !ok {
		return "its Content-Encoding is " + v.Response.Get("Content-Encoding")
	}
	return digested(v.Response)
}

// digested says which digest or signature over its body a response carries, "" for none.
func digested(m *wire.Message) string {
	for _, name := range []string{"Content-Digest", "Repr-Digest", "Digest", "Content-MD5", "Signature"} {
		if _, ok := m.Lookup(name); ok {
			return "it carries a " + name
		}
	}
	return ""
}

// splice makes the edits of one site, which may lie across chunks, and counts how the spans of the body grow.
func splice(m *wire.Message, s *site, want string, grown map[int]int) (out []edit, err error) {
	off, left := s.off, s.len
	for i, span := range m.Body {
		if off >= span.Len {
			off -= span.Len
			continue
		}
		n := min(left, span.Len-off)
		if left -= n; left > 0 {
			part := want[:min(n, len(want))]
			out = append(out, edit{off: span.Off + off, len: n, new: part})
			want = want[len(part):]
		} else {
			out = append(out, edit{off: span.Off + off, len: n, new: want})
		}
		grown[i] += len(out[len(out)-1].new) - n
		if span.Len+grown[i] <= 0 {
			return nil, fmt.Errorf("the chunk at byte %d would become empty", span.Off)
		}
		if off = 0; left == 0 {
			return out, nil
		}
	}
	return nil, fmt.Errorf("it lies outside the recorded body")
}

// reframe makes the edits that keep the framing right: of Content-Length, or of the size lines of grown chunks. Bytes
// that the recorded body lacks, it goes on lacking.
func reframe(v *har.View, grown map[int]int) (out []edit, err error) {
	m, raw := v.Response, v.X.Response.Raw
	switch total := 0; {
	case m == nil:
	case m.Framing == wire.ByLength:
		for _, n := range grown {
			total += n
		}
		for i := range m.Fields {
			f := &m.Fields[i]
			if total == 0 || !strings.EqualFold(f.Name, "Content-Length") {
				continue
			}
			n, err := strconv.ParseInt(f.Value, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("the recorded Content-Length %q cannot be changed", clip(f.Value))
			}
			out = append(out, edit{off: m.Off + f.At.Off, len: f.At.Len, new: strconv.FormatInt(n+int64(total), 10)})
		}
	case m.Framing == wire.ByChunks:
		for i, n := range grown {
			if n == 0 {
				continue
			}
			line := sizeLine(m, raw, i)
			digits := hexDigits(raw[line:m.Body[i].Off])
			size, err := strconv.ParseInt(string(digits), 16, 64)
			if err != nil {
				return nil, fmt.Errorf("the recorded chunk size %q cannot be changed", clip(string(digits)))
			}
			verb := "%0*x"
			if bytes.ContainsAny(digits, "ABCDEF") {
				verb = "%0*X"
			}
			out = append(out, edit{off: line, len: len(digits), new: fmt.Sprintf(verb, len(digits), size+int64(n))})
		}
	}
	return out, nil
}

// sizeLine is where the size line of the i-th chunk begins.
func sizeLine(m *wire.Message, raw []byte, i int) int {
	begin := m.Off + m.Len
	if i > 0 {
		begin = m.Body[i-1].End()
	}
	at := m.Body[i].Off
	return max(begin, bytes.LastIndexByte(raw[:max(at-1, 0)], '\n')+1)
}

func hexDigits(line []byte) []byte {
	n := 0
	for n < len(line) && strings.IndexByte("0123456789abcdefABCDEF", line[n]) >= 0 {
		n++
	}
	return line[:n]
}
