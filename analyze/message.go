package analyze

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/mcptap/mcptap/har/wire"
)

// A message is what one JSON-RPC message of a server says, as far as any policy asks.
type message struct {
	kind    set    // replyInvalid, replyNo, replyResult, replyError (whatever its id), replyNotJSON
	key     string // id for comparison, "" if absent
	idState string // present, null, absent
	why     string // for replyInvalid: the first reason
	rpc20   bool   // the jsonrpc member is exactly "2.0"

	code     int64
	codeOK   bool // a readable error code, also of an invalid message
	text     string
	gone     bool     // the error's text says that the session is gone
	versions []string // supportedVersions, data.supported or protocolVersion
	named    bool     // versions is usable: a list of strings, or a string
	list     set      // of data.supported, where that names no version
	discover bool     // a valid DiscoverResult
	typed    bool     // its resultType, ttlMs and cacheScope are as the schema has them
	init     bool     // a valid InitializeResult
	toolErr  bool     // isError is true
	info     implementation
	method   string // of a request or notification
	dup      []duplicate
	at       spanned
	errAt    spanned // the error member
}

// A duplicate is a member name that stands twice in one object.
type duplicate struct {
	name string
	at   spanned
}

// maxText is how much of a server's text is kept.
const maxText = 200

// maxVersions is how many version strings of a list are kept.
const maxVersions = 32

// readMessage judges one message as MCP clients with a strict schema do: JSON-RPC 2.0, no further top-level members, an
// id that is a string or an integer, a result that is an object, an error with an integer code and a message.
func readMessage(r *wire.RPC, asked *reqFacts) message {
	m := message{kind: replyInvalid, why: r.Why, rpc20: r.Version == "2.0", idState: "absent"}
	switch {
	case r.ID.Null():
		m.idState = "null"
	case r.ID.Present():
		m.idState, m.key = "present", asked.keyOf(r.ID)
	}
	if !r.JSON {
		m.kind = replyNotJSON
		return m
	}
	m.readError(r)
	m.method = methodName(r.Method)
	for _, d := range r.Duplicates {
		m.dup = append(m.dup, duplicate{clip(d.Name), spanned{d.Last.Off, len(d.Last.Raw), true}})
	}
	var result [resultMembers]wire.Member
	if r.Result.Present() {
		wire.Select(r.Result.Raw, resultNames[:], result[:])
	}
	if m.why = schemaFault(r, result[metaMember]); m.why != "" {
		return m
	}
	switch r.Kind {
	case wire.Result:
		m.kind = replyResult
		m.readResult(r.Result.Raw, &result)
	case wire.Error:
		m.kind = replyError
	default:
		m.kind = replyNo
	}
	return m
}

// The members of a result that every result is asked for.
const (
	metaMember = iota
	supportedMember
	protocolMember
	isErrorMember
	resultMembers
)

var resultNames = [resultMembers]string{"_meta", "supportedVersions", "protocolVersion", "isError"}

// schemaFault says in words why a message is not valid, "" if it is. meta is the _meta of its result.
func schemaFault(r *wire.RPC, meta wire.Member) string {
	if r.Kind == wire.Invalid || r.Kind == wire.Batch {
		if r.Why == "" {
			return "not a JSON-RPC 2.0 message"
		}
		return r.Why
	}
	if len(r.Extra) > 0 {
		return "member " + quote(r.Extra[0]) + " is not part of JSON-RPC"
	}
	if r.ID.Present() && !validID(r.ID) {
		return "id is neither a string nor an integer"
	}
	switch r.Kind {
	case wire.Result:
		if !isObject(r.Result.Raw) {
			return "result is not an object"
		}
		if meta.Present() && !isObject(meta.Raw) {
			return "_meta is not an object"
		}
	case wire.Error:
		if _, ok := wire.Lookup(r.Error.Raw, "message").String(); !ok {
			return "error has no message"
		}
		if !r.Error.CodeOK {
			return "error code is not an integer"
		}
	case wire.Request, wire.Notification:
		if r.Params.Present() && !isObject(r.Params.Raw) {
			return "params is not an object"
		}
	}
	return ""
}

func (m *message) readError(r *wire.RPC) {
	if r.Error == nil {
		return
	}
	m.errAt = spanned{r.Error.Off, len(r.Error.Raw), true}
	m.code, m.codeOK, m.text = r.Error.Code, r.Error.CodeOK, clip(r.Error.Message)
	if m.text == "" && len(r.Error.Raw) > 0 && r.Error.Raw[0] == '"' {
		s, _ := r.Error.Member.String()
		m.text = clip(s)
	}
	m.gone = saysGone(m.text)
	if m.codeOK && m.code == codeUnsupportedVersion {
		supported := wire.Lookup(r.Error.Data.Raw, "supported")
		m.versions, m.named = stringList(supported)
		switch {
		case !supported.Present():
			m.list = listAbsent
		case !m.named:
			m.list = listMalformed
		case len(m.versions) == 0:
			m.list = listEmpty
		}
		m.named = m.named && len(m.versions) > 0
	}
}

// codeUnsupportedVersion is UnsupportedProtocolVersion of revision 2026-07-28.
const codeUnsupportedVersion = -32022

const codeMethodNotFound = -32601

func (m *message) readResult(result []byte, members *[resultMembers]wire.Member) {
	if v := members[supportedMember]; v.Present() {
		m.versions, m.named = stringList(v)
		m.discover = m.named && validDiscover(result)
		m.typed = m.discover && typedDiscover(result)
		m.info = readInfo(wire.Lookup(result, "_meta", "io.modelcontextprotocol/serverInfo").Raw)
	} else if s, ok := members[protocolMember].String(); ok {
		info := wire.Lookup(result, "serverInfo").Raw
		m.info = readInfo(info)
		m.versions, m.named = []string{clip(s)}, true
		m.init = isObject(wire.Lookup(result, "capabilities").Raw) && validInfo(info)
	}
	m.toolErr = string(members[isErrorMember].Raw) == "true"
}

// validDiscover tells whether a result is a DiscoverResult: capabilities is an object of objects, instructions a string.
// Measured on most clients, ttlMs, cacheScope and resultType may be anything.
func validDiscover(result []byte) bool {
	caps := wire.Lookup(result, "capabilities")
	if !isObject(caps.Raw) {
		return false
	}
	for _, name := range []string{"tools", "prompts", "resources", "logging", "completions", "experimental", "extensions"} {
		if c := wire.Lookup(caps.Raw, name); c.Present() && !isObject(c.Raw) {
			return false
		}
	}
	instructions := wire.Lookup(result, "instructions")
	return !instructions.Present() || instructions.Raw[0] == '"'
}

// typedDiscover tells whether a DiscoverResult has a resultType that asks for nothing, a number for ttlMs and a known
// cacheScope, the last two if it has them at all.
func typedDiscover(result []byte) bool {
	kind, ok := wire.Lookup(result, "resultType").String()
	if !ok || kind == "input_required" {
		return false
	}
	if ttl := wire.Lookup(result, "ttlMs"); ttl.Present() && !isNumber(ttl.Raw) {
		return false
	}
	scope := wire.Lookup(result, "cacheScope")
	word, _ := scope.String()
	return !scope.Present() || word == "public" || word == "private"
}

func isNumber(raw []byte) bool {
	return len(raw) > 0 && (raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9')
}

func readInfo(raw []byte) implementation {
	name, _ := wire.Lookup(raw, "name").String()
	version, _ := wire.Lookup(raw, "version").String()
	return implementation{clip(name), clip(version)}
}

func validInfo(raw []byte) bool {
	_, name := wire.Lookup(raw, "name").String()
	_, version := wire.Lookup(raw, "version").String()
	return name && version
}

// stringList reads a list of strings; ok is false for anything else.
func stringList(m wire.Member) (list []string, ok bool) {
	if len(m.Raw) == 0 || m.Raw[0] != '[' {
		return nil, false
	}
	for _, e := range wire.Elements(m.Raw) {
		s, isString := e.String()
		if !isString {
			return nil, false
		}
		if len(list) < maxVersions {
			list = append(list, clip(s))
		}
	}
	return list, true
}

// saysGone tells whether an error's text says that the session is gone, in the words that gateways and SDKs look for
// (gateway #20).
func saysGone(text string) bool {
	t := strings.ToLower(text)
	return strings.Contains(t, "unknown or expired mcp session") || strings.Contains(t, "session not found")
}

// methodName is clip for the name of a JSON-RPC method: one that a revision knows needs no copy.
func methodName(s string) string {
	if row := shapes().byMethod[s]; row != nil {
		return row.Method
	}
	return clip(s)
}

// keyOf is idKey for a message that most likely answers r.
func (r *reqFacts) keyOf(id wire.Member) string {
	if r.id != "" && string(id.Raw) == r.id {
		return r.key
	}
	return idKey(id)
}

// idKey makes ids comparable: strings by their value, everything else as sent.
func idKey(id wire.Member) string {
	if s, ok := id.String(); ok {
		return `"` + clip(s)
	}
	return clip(string(id.Raw))
}

// validID tells whether an id is a string or an integer, which may be written with a fraction of zero.
func validID(id wire.Member) bool {
	if id.Raw[0] == '"' {
		return true
	}
	if c := id.Raw[0]; c != '-' && (c < '0' || c > '9') {
		return false
	}
	_, fraction, _ := bytes.Cut(id.Raw, []byte("."))
	return !bytes.ContainsAny(id.Raw, "eE") && len(bytes.Trim(fraction, "0")) == 0
}

func isObject(raw []byte) bool { return len(raw) > 0 && raw[0] == '{' }

func quote(s string) string { return `"` + clip(s) + `"` }

// clip bounds a text of the traffic and copies it, so that the body it stands in can be freed.
func clip(s string) string {
	if len(s) > maxText {
		cutAt := maxText
		for cutAt > 0 && !utf8.RuneStart(s[cutAt]) {
			cutAt--
		}
		return strings.ToValidUTF8(s[:cutAt], "\uFFFD") + "…"
	}
	return strings.Clone(strings.ToValidUTF8(s, "\uFFFD"))
}
