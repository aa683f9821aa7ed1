package caller

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// maxCarried bounds each kind of values that are carried over.
const maxCarried = 10_000

// carried are the values that a server chose, as recorded, with what the live server has chosen in their place.
type carried struct {
	sessions, events, targets map[string]string
	values                    map[string]string // raw JSON: cursors, states, tasks, tokens
	ids                       map[string]string // raw ids of the server's requests
	token                     string            // the last access token
}

func newCarried() carried {
	return carried{map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}, ""}
}

func put(m map[string]string, was, now string) {
	if was != "" && now != "" && len(m) < maxCarried {
		m[was] = now
	}
}

// chosen are the places in replies at which servers put values that come back to them.
var chosen = [][]string{{"result", "nextCursor"}, {"result", "requestState"}, {"result", "taskId"}, {"result", "task", "taskId"},
	{"access_token"}, {"refresh_token"}, {"client_id"}, {"client_secret"}}

// learn holds an answer against the recorded one. Of a stream that goes on it may be asked again.
func (c *carried) learn(was, now *har.Exchange) {
	a, b := was.View(), now.View()
	if a.Response == nil || b.Response == nil {
		return
	}
	put(c.sessions, a.Response.Get("Mcp-Session-Id"), b.Response.Get("Mcp-Session-Id"))
	x, y := dispatched(a), dispatched(b)
	for i := range min(len(x), len(y)) {
		put(c.events, x[i].ID, y[i].ID)
		if x[i].Type == "endpoint" && y[i].Type == "endpoint" {
			put(c.targets, targetOf(string(x[i].Data)), targetOf(string(y[i].Data)))
		}
	}
	repliesA, asksA := sorted(a)
	repliesB, asksB := sorted(b)
	for i := range min(len(repliesA), len(repliesB)) {
		for _, names := range chosen {
			old, found := wire.Lookup(repliesA[i], names...), wire.Lookup(repliesB[i], names...)
			put(c.values, string(old.Raw), string(found.Raw))
			if s, ok := found.String(); ok && names[0] == "access_token" {
				c.token = s
			}
		}
	}
	for method, list := range asksA {
		for i := range min(len(list), len(asksB[method])) {
			put(c.ids, list[i], asksB[method][i])
		}
	}
}

func dispatched(v *har.View) []wire.Event {
	return slices.DeleteFunc(slices.Clone(v.Events()), func(e wire.Event) bool { return !e.Dispatched() })
}

// targetOf is the request target that an endpoint event names.
func targetOf(data string) string {
	u, err := url.Parse(data)
	if err != nil {
		return ""
	}
	return u.RequestURI()
}

// sorted splits an answer's JSON texts into those without a method and the raw ids of the server's requests by method.
func sorted(v *har.View) (replies [][]byte, asks map[string][]string) {
	asks = map[string][]string{}
	for _, text := range messages(v) {
		switch rpc := wire.ParseRPC(text); {
		case rpc.Kind == wire.Request:
			asks[rpc.Method] = append(asks[rpc.Method], string(rpc.ID.Raw))
		case rpc.JSON && rpc.Method == "":
			replies = append(replies, text)
		}
	}
	return replies, asks
}

// field gives the value of a header field that is sent in place of the recorded one.
func (c *carried) field(name, value string) (string, bool) {
	switch strings.ToLower(name) {
	case "mcp-session-id":
		now, ok := c.sessions[value]
		return now, ok
	case "last-event-id":
		now, ok := c.events[value]
		return now, ok
	case "authorization":
		scheme, token, _ := strings.Cut(value, " ")
		if now, ok := c.values[strconv.Quote(token)]; ok {
			return scheme + " " + strings.Trim(now, `"`), true
		}
		if c.token != "" && strings.EqualFold(scheme, "bearer") {
			return scheme + " " + c.token, true
		}
	}
	return "", false
}

// body gives the payload that is sent in place of the recorded one.
func (c *carried) body(m *wire.Message, was []byte) []byte {
	if _, encoded := m.Lookup("Content-Encoding"); encoded || len(was) == 0 {
		return was
	}
	if har.MediaTypeOf(&m.Head) == "application/x-www-form-urlencoded" {
		return c.form(was)
	}
	rpc := wire.ParseRPC(was)
	if rpc.Kind == wire.Result || rpc.Kind == wire.Error {
		if now := c.ids[string(rpc.ID.Raw)]; now != "" {
			return replaced(was, rpc.ID, now)
		}
		return was
	}
	if !rpc.JSON || !rpc.Params.Present() {
		return was
	}
	for _, name := range []string{"cursor", "requestState", "taskId"} {
		params := wire.ParseRPC(was).Params
		member := wire.Lookup(params.Raw, name)
		if now := c.values[string(member.Raw)]; member.Present() && now != "" {
			member.Off += params.Off
			was = replaced(was, member, now)
		}
	}
	return was
}

func replaced(text []byte, m wire.Member, now string) []byte {
	return slices.Concat(text[:m.Off], []byte(now), text[m.Off+len(m.Raw):])
}

// form carries values of an OAuth request over.
func (c *carried) form(was []byte) []byte {
	pairs := strings.Split(string(was), "&")
	for i, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		plain, err := url.QueryUnescape(value)
		if now := c.values[strconv.Quote(plain)]; err == nil && now != "" {
			pairs[i] = name + "=" + url.QueryEscape(strings.Trim(now, `"`))
		}
	}
	return []byte(strings.Join(pairs, "&"))
}

// An editor writes a recorded request with changes; all other bytes stay.
type editor struct {
	raw    []byte
	m      *wire.Message
	header []string
	edits  []har.Edit
	named  map[string]bool // fields that header has replaced
}

func (e *editor) edit(off, n int, now string) {
	e.edits = append(e.edits, har.Edit{Off: off, Len: n, New: now})
}

func (e *editor) target(now string) {
	if at := bytes.Index(e.raw[e.m.Off:], []byte(" "+e.m.Target)); at >= 0 && now != e.m.Target {
		e.edit(e.m.Off+at+1, len(e.m.Target), now)
	}
}

// given is the value of a header line for a field, if there is one.
func (e *editor) given(name string) (string, bool) {
	for _, line := range e.header {
		if n, value, _ := strings.Cut(line, ":"); strings.EqualFold(n, name) {
			return strings.TrimSpace(value), true
		}
	}
	return "", false
}

func (e *editor) field(f *wire.Field, now string) {
	if _, ok := e.given(f.Name); !ok {
		e.edit(e.m.Off+f.At.Off, f.At.Len, now)
	}
}

// body replaces the payload, and what frames it.
func (e *editor) body(now []byte) {
	was := e.m.Payload(e.raw)
	if bytes.Equal(was, now) {
		return
	}
	begin := e.m.Off + e.m.Len
	if e.m.Framing == wire.ByChunks {
		e.edit(begin, e.m.End-begin, fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(now), now))
		return
	}
	e.edit(begin, e.m.End-begin, string(now))
	for i := range e.m.Fields {
		if f := &e.m.Fields[i]; strings.EqualFold(f.Name, "Content-Length") {
			e.edit(e.m.Off+f.At.Off, f.At.Len, strconv.Itoa(len(now)))
		}
	}
}

// extra puts the further header lines in.
func (e *editor) extra() {
	e.named = map[string]bool{}
	for i := range e.m.Fields {
		f := &e.m.Fields[i]
		if value, ok := e.given(f.Name); ok {
			e.named[strings.ToLower(f.Name)] = true
			e.edit(e.m.Off+f.At.Off, f.At.Len, value)
		}
	}
	end := e.m.Off + e.m.Len
	end -= len("\n")
	if end > 0 && e.raw[end-1] == '\r' {
		end--
	}
	for _, line := range e.header {
		if name, _, _ := strings.Cut(line, ":"); !e.named[strings.ToLower(name)] {
			e.edit(end, 0, line+"\r\n")
		}
	}
}

func (e *editor) apply() []byte {
	slices.SortStableFunc(e.edits, func(a, b har.Edit) int { return a.Off - b.Off })
	var out []byte
	at := 0
	for _, d := range e.edits {
		if d.Off < at {
			continue
		}
		out = append(append(out, e.raw[at:d.Off]...), d.New...)
		at = d.Off + d.Len
	}
	return append(out, e.raw[at:e.m.End]...)
}

// lost says which secrets the recording does not hold and nothing was put in place of.
func (e *editor) lost(x *har.Exchange) (notes []string) {
	for _, r := range x.Redacted {
		for _, d := range x.Edits { // redactions are in the bytes of the client's leg
			if d.Off+d.Len <= r.Off {
				r.Off += len(d.New) - d.Len
			}
		}
		held := slices.ContainsFunc(e.edits, func(d har.Edit) bool { return d.Off <= r.Off && d.Off+d.Len >= r.Off+r.Len })
		if r.Dir == wire.ToClient || r.Kind == "session" || held {
			continue
		}
		note := "sent without its secret (" + r.Kind + "), which the recording does not hold"
		if !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	return notes
}
