package wire

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/tidwall/gjson"
)

// ParseRPC looks at one JSON text. It survives any bytes: size, nesting, UTF-8 and syntax are checked before any value is
// read, and nothing below the top level (of each batch element) is interpreted but the error member.
func ParseRPC(text []byte) RPC {
	why := refuse(text)
	if why != "" {
		return RPC{Why: why}
	}
	top := gjson.Parse(view(text))
	if top.IsArray() {
		rpc := RPC{Kind: Batch, JSON: true}
		top.ForEach(func(_, v gjson.Result) bool {
			if len(rpc.Items) == MaxBatch {
				return false
			}
			rpc.Items = append(rpc.Items, parseOne(text, v))
			return true
		})
		return rpc
	}
	return parseOne(text, top)
}

// Why texts are not parsed although they may be JSON.
const (
	whyLong = "longer than 64 MiB"
	whyDeep = "nested deeper than 256 levels"
)

// TooLarge tells whether the text was not parsed because of MaxJSON or MaxDepth, so that it may be JSON all the same.
func (r *RPC) TooLarge() bool { return !r.JSON && (r.Why == whyLong || r.Why == whyDeep) }

// refuse says why text must not be given to gjson, whose recursion on deep nesting cannot be caught (gjson #391), or
// that it is no JSON.
func refuse(text []byte) string {
	switch {
	case blank(text):
		return "empty"
	case len(text) > MaxJSON:
		return whyLong
	case tooDeep(text):
		return whyDeep
	case !utf8.Valid(text):
		return "not UTF-8"
	case !gjson.ValidBytes(text):
		return "not JSON"
	}
	return ""
}

// blank tells whether text is nothing but white space.
func blank(text []byte) bool {
	for _, c := range text {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return false
		}
	}
	return true
}

// tooDeep tells whether text nests arrays and objects beyond MaxDepth.
func tooDeep(text []byte) bool {
	if len(text) <= MaxDepth || bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) <= MaxDepth {
		return false
	}
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			if depth++; depth > MaxDepth {
				return true
			}
		case '}', ']':
			depth--
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		}
	}
	return false
}

// view shares text with gjson, which would copy it. gjson writes to no string.
func view(text []byte) string { return unsafe.String(unsafe.SliceData(text), len(text)) }

// member takes a value that gjson found in text.
func member(text []byte, v gjson.Result) Member {
	return Member{Raw: text[v.Index : v.Index+len(v.Raw) : v.Index+len(v.Raw)], Off: v.Index}
}

// parseOne looks at one element, top, of text.
func parseOne(text []byte, top gjson.Result) RPC {
	rpc := RPC{JSON: true}
	switch {
	case top.IsArray():
		rpc.Why = "an array inside a batch"
		return rpc
	case !top.IsObject():
		rpc.Why = "not an object"
		return rpc
	}
	m := members{text: text}
	WalkObject(text, top.Index, func(name []byte, at int) int {
		end := ValueEnd(text, at)
		m.add(name, Member{Raw: text[at:end:end], Off: at})
		return end
	})
	rpc.ID, rpc.Params, rpc.Result = m.known[idMember], m.known[paramsMember], m.known[resultMember]
	if v := m.known[versionMember]; string(v.Raw) == `"2.0"` {
		rpc.Version = "2.0"
	} else {
		rpc.Version, _ = v.String()
	}
	rpc.Method, _ = m.known[methodMember].String()
	rpc.Extra, rpc.Duplicates = m.extra, m.duplicates
	if e := m.known[errorMember]; e.Present() {
		rpc.Error = parseError(text, e)
	}
	rpc.Kind, rpc.Why = m.judge(&rpc)
	if rpc.Why != "" {
		rpc.Kind = Invalid
	}
	return rpc
}

// The members that JSON-RPC 2.0 defines.
const (
	versionMember = iota
	idMember
	methodMember
	paramsMember
	resultMember
	errorMember
	knownMembers
)

var memberNames = [knownMembers]string{"jsonrpc", "id", "method", "params", "result", "error"}

// MaxExtra is how many undefined members of a message are named, and looked at for duplicates.
const MaxExtra = 64

// members collects an object's members.
type members struct {
	text       []byte
	known      [knownMembers]Member
	extra      []string
	extraAt    map[string]Member
	duplicates []Duplicate
}

func (m *members) add(key []byte, val Member) {
	if bytes.IndexByte(key, '\\') >= 0 {
		key = unescapeName(key)
	}
	for i, name := range memberNames {
		if string(key) == name {
			if m.known[i].Present() {
				m.duplicate(name, m.known[i], val)
			}
			m.known[i] = val
			return
		}
	}
	if first, ok := m.extraAt[string(key)]; ok {
		m.duplicate(string(key), first, val)
	} else if len(m.extra) < MaxExtra {
		if m.extraAt == nil {
			m.extraAt = map[string]Member{}
		}
		name := string(key)
		m.extra = append(m.extra, name)
		m.extraAt[name] = val
	}
}

func (m *members) duplicate(name string, first, last Member) {
	for i := range m.duplicates {
		if m.duplicates[i].Name == name {
			m.duplicates[i].Last = last
			return
		}
	}
	m.duplicates = append(m.duplicates, Duplicate{Name: strings.Clone(name), First: first, Last: last})
}

// judge says what the message is, and why it is none.
func (m *members) judge(rpc *RPC) (k Kind, why string) {
	method, result, failure := m.known[methodMember], rpc.Result, m.known[errorMember]
	switch {
	case !m.known[versionMember].Present():
		return k, "jsonrpc is missing"
	case rpc.Version != "2.0":
		return k, `jsonrpc is not "2.0"`
	case method.Present() && (result.Present() || failure.Present()):
		return k, "method together with result or error"
	case result.Present() && failure.Present():
		return k, "both result and error"
	case !method.Present() && !result.Present() && !failure.Present():
		return k, "neither method, result nor error"
	case !method.Present() && rpc.Params.Present():
		return k, "params in a response"
	case len(rpc.Extra) > 0:
		return k, "undefined member " + strconv.Quote(rpc.Extra[0])
	case rpc.ID.Null():
		return k, "id is null"
	case rpc.ID.Present() && !validID(rpc.ID):
		return k, "id is neither a string nor an integer"
	case method.Present():
		return m.judgeCall(rpc)
	case failure.Present():
		return Error, rpc.Error.refuse()
	case !rpc.ID.Present():
		return k, "a result without an id"
	}
	return Result, ""
}

func (m *members) judgeCall(rpc *RPC) (k Kind, why string) {
	if m.known[methodMember].Raw[0] != '"' {
		return k, "method is not a string"
	}
	if p := rpc.Params; p.Present() && p.Raw[0] != '{' && p.Raw[0] != '[' {
		return k, "params is neither an object nor an array"
	}
	if rpc.ID.Present() {
		return Request, ""
	}
	return Notification, ""
}

// validID tells whether id is a string or an integer, as the MCP schema's RequestId asks.
func validID(id Member) bool {
	if id.Raw[0] == '"' {
		return true
	}
	_, ok := integer(id.Raw)
	return ok
}

// integer reads a JSON number without fraction that fits an int64; `1.0` and `1e2` are such numbers.
func integer(raw []byte) (int64, bool) {
	s := string(raw)
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// parseError reads what there is to read of an error member.
func parseError(text []byte, e Member) *RPCError {
	out := &RPCError{Member: e}
	if e.Raw[0] != '{' {
		return out
	}
	object := gjson.Parse(view(e.Raw))
	object.ForEach(func(k, v gjson.Result) bool {
		val := member(e.Raw, v)
		val.Off += e.Off
		switch k.Str {
		case "code":
			out.Code, out.CodeOK = integer(val.Raw)
		case "message":
			out.Message, out.MessageOK = val.String()
		case "data":
			out.Data = val
		}
		return true
	})
	return out
}

// refuse says what makes it no JSON-RPC error, "" if nothing does.
func (e *RPCError) refuse() string {
	switch {
	case e.Raw[0] != '{':
		return "error is not an object"
	case !e.CodeOK:
		return "error.code is not an integer"
	case !e.MessageOK:
		return "error.message is not a string"
	}
	return ""
}

// Lookup walks objects by member names, exactly as written (no path syntax), the last of duplicates winning. text must
// have passed ParseRPC (RPC.JSON, or a Member of one). In anything else it finds nothing or something arbitrary, but
// does not fail.
func Lookup(text []byte, names ...string) Member {
	at := Member{Raw: text}
	for i := range names {
		var found [1]Member
		Select(at.Raw, names[i:i+1], found[:])
		if !found[0].Present() {
			return Member{}
		}
		found[0].Off += at.Off
		at = found[0]
	}
	return at
}

// Select is Lookup for several members of one object, in one walk: found takes them in the order of names.
func Select(text []byte, names []string, found []Member) {
	clear(found)
	start := ValueStart(text, 0)
	if start == len(text) || text[start] != '{' {
		return
	}
	WalkObject(text, start, func(name []byte, at int) int {
		end := ValueEnd(text, at)
		if bytes.IndexByte(name, '\\') >= 0 {
			name = unescapeName(name)
		}
		for i, want := range names {
			if len(want) == len(name) && string(name) == want && end > at {
				found[i] = Member{Raw: text[at:end:end], Off: at}
			}
		}
		return end
	})
}

// MaxElements is how many elements of an array Elements gives at most.
const MaxElements = 1 << 16

// Elements returns the elements of a JSON array, nil if text is none. What Lookup says of text holds here too.
func Elements(text []byte) []Member {
	top := gjson.Parse(view(text))
	if !top.IsArray() {
		return nil
	}
	out := []Member{}
	top.ForEach(func(_, v gjson.Result) bool {
		out = append(out, member(text, v))
		return len(out) < MaxElements
	})
	return out
}

// unescapeName gives the value of a member's name that has escapes.
func unescapeName(name []byte) []byte {
	quoted := slices.Concat([]byte(`"`), name, []byte(`"`))
	s, _ := Member{Raw: quoted}.String()
	return []byte(s)
}

// String returns the value of a JSON string, unescaped; ok is false for anything else.
func (m Member) String() (s string, ok bool) {
	if len(m.Raw) < 2 || m.Raw[0] != '"' {
		return "", false
	}
	if inner := m.Raw[1 : len(m.Raw)-1]; plain(inner) && m.Raw[len(m.Raw)-1] == '"' {
		return string(inner), true
	}
	if !gjson.ValidBytes(m.Raw) {
		return "", false
	}
	return gjson.ParseBytes(m.Raw).Str, true
}

// plain tells whether the inside of a JSON string stands for itself.
func plain(inner []byte) bool {
	for _, c := range inner {
		if c < ' ' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
