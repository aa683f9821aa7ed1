package analyze

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// A reader is how a client takes an answer apart. Most clients hold each message against a schema and split event streams
// by the standard, which is how facts are read (and the TypeScript ones compare ids as numbers); the two Go clients fill structs with what they find and split streams at
// line feeds only. What that changes hangs on several members at once, so it is one reading and not a row per member.
type reader uint8

const (
	bySchema     reader = iota
	byGoSDK             // go-sdk v1.8.0 mcp/streamable.go, mcp/event.go, internal/jsonrpc2
	byMCPGo             // mcp-go v1.2.1 client/transport/streamable_http.go
	byTypeScript        // by schema, but a reply belongs to the request whose number its id converts to: npm sdk 1.32.2 and client 2.4.0
	readers
)

var readerNames = names{"schema", "go-sdk", "mcp-go", "typescript"}

// seenBy gives the facts as the policy's client reads them.
func (f *facts) seenBy(p *Policy) *facts {
	if p.MediaByText && f.media == mediaOther && f.status/100 == 2 && strings.Contains(f.mediaType, "application/json") {
		return f.asJSON()
	}
	alt := f.lax[p.reader]
	if p.reader == byTypeScript && f.class == probe && !p.NumericProbe { // a probe's id is compared as it is
		alt = nil
	}
	if alt == nil && p.TakesResetAsEnd {
		alt = f.ifClosed
	}
	if alt == nil || f.via == viaStream {
		return f
	}
	c := *alt
	c.class, c.transport, c.again, c.followed, c.superseded = f.class, f.transport, f.again, f.followed, f.superseded
	return &c
}

// asJSON gives the facts of a client that takes the answer for JSON.
func (f *facts) asJSON() *facts {
	c := *f
	c.media = mediaJSON
	if f.kind == replyResult || f.kind == replyError {
		c.via = viaBody
	}
	return &c
}

// readByNumber takes the reply as clients do that look it up by Number(id).
func (f *facts) readByNumber() {
	if f.kind != replyOtherID || !f.req.hasNumber(f.reply.key) {
		return
	}
	c := *f
	c.kind = f.reply.kind
	c.via = viaEvent
	if f.media != mediaStream {
		c.via = viaBody
	}
	f.lax[byTypeScript] = &c
}

// hasNumber tells whether an id is that of the request once both are numbers.
func (r *reqFacts) hasNumber(key string) bool {
	id, ok := numberOf(key)
	return ok && slices.ContainsFunc(r.keys(), func(k string) bool {
		asked, err := strconv.ParseFloat(k, 64)
		return err == nil && asked == id
	})
}

// numberOf converts an id as JavaScript's Number does.
func numberOf(key string) (float64, bool) {
	text := strings.TrimSpace(strings.TrimPrefix(key, `"`))
	if text == "" {
		return 0, key != ""
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil
}

// readLax reads the answer as the lenient readers do, and keeps what comes out differently.
func (f *facts) readLax(o *observer, v *har.View) {
	if v.Response == nil || f.limit != "" || f.answer == 0 || f.answer&(f.answer-1) != 0 || f.class == other {
		return
	}
	f.readByNumber()
	negotiates := f.class == discover || f.class == initialize
	if !negotiates && f.plainReply(v) {
		return
	}
	body := v.Response.Payload(v.X.Response.Raw)
	if strings.EqualFold(f.encoding, "gzip") {
		body, _ = v.ResponseBody()
		if f.undecoded != "" {
			body = nil
		}
	}
	for by := byGoSDK; by <= byMCPGo; by++ {
		l := laxReading{by: by, f: f, whole: f.answer == whole}
		o.readLaxly(&l, body)
		if !l.differs() {
			continue
		}
		c := *f
		c.kind, c.reply, c.via, c.eventEnd = l.kind, l.msg, l.via, eventPlain
		c.eventID = f.eventID || l.eventID
		c.reply.at, c.reply.text, c.reply.gone, c.reply.toolErr = f.reply.at, f.reply.text, f.reply.gone, f.reply.toolErr
		f.lax[by] = &c
	}
}

// A laxKey is all that a lenient reading rests on.
type laxKey struct {
	by     reader
	class  class
	media  set
	status int
	whole  bool
	ids    string
	body   string
}

// maxLax bounds the readings that an observer keeps, and the body of each: handshakes, which servers answer alike.
const (
	maxLax     = 64
	maxLaxBody = 4 << 10
)

// readLaxly fills l from the body, or as an equal answer was read before.
func (o *observer) readLaxly(l *laxReading, body []byte) {
	f := l.f
	if len(body) == 0 || len(body) > maxLaxBody {
		l.read(body)
		return
	}
	key := laxKey{l.by, f.class, f.media, f.status, l.whole, strings.Join(f.req.keys(), "\x00"), string(body)}
	if was, ok := o.lax[key]; ok {
		l.kind, l.via, l.msg, l.eventID = was.kind, was.via, was.msg, was.eventID
		return
	}
	l.read(body)
	if len(o.lax) == maxLax {
		clear(o.lax)
	}
	o.lax[key] = laxReading{kind: l.kind, via: l.via, msg: l.msg, eventID: l.eventID}
}

// plainReply tells whether the answer is one that every reader takes in the same way.
func (f *facts) plainReply(v *har.View) bool {
	if f.kind&(replyResult|replyError) == 0 || f.odd || f.encoding != "" || len(f.stream) > 0 || f.eventEnd != eventPlain {
		return false
	}
	body, _ := v.ResponseBody()
	return f.via == viaBody || f.via == viaEvent && bytes.IndexByte(body, '\r') < 0
}

// differs compares what conditions of rules can see of this reading and of the strict one.
func (l *laxReading) differs() bool {
	f := l.f
	a, b := &l.msg, &f.reply
	return l.kind != f.kind || l.via != f.via || l.eventID && !f.eventID || f.eventEnd != eventPlain || a.codeOK != b.codeOK || a.code != b.code ||
		a.rpc20 != b.rpc20 || a.named != b.named || a.discover != b.discover || a.init != b.init
}

// A laxReading is one answer as one lenient reader takes it.
type laxReading struct {
	by    reader
	f     *facts
	whole bool

	kind    set
	via     set
	msg     message
	eventID bool
}

func (l *laxReading) read(body []byte) {
	l.kind, l.via = replyNone, viaNothing
	status := l.f.status
	switch {
	case l.f.media == mediaStream && (status == 200 || status == 202 || l.by == byGoSDK && status/100 == 2):
		l.readStream(body)
	case status/100 != 2 || l.by == byMCPGo && status != 200 && status != 202:
		l.readRefusal(body)
	case l.by == byGoSDK && !l.whole:
	default:
		l.take(l.decode(body, true))
		if l.kind&(replyResult|replyError) != 0 && l.f.media == mediaJSON {
			l.via = viaBody
		}
	}
}

// readRefusal reads the body of an error status: whose reply it is does not matter there.
func (l *laxReading) readRefusal(body []byte) {
	kind, msg := l.decode(body, l.by == byGoSDK)
	if kind == replyOtherID {
		kind = replyResult
		if msg.codeOK {
			kind = replyError
		}
	}
	if l.by == byGoSDK && kind == replyResult {
		kind = replyInvalid
	}
	l.take(kind, msg)
	if kind == replyResult {
		l.via = viaBody
	}
}

func (l *laxReading) take(kind set, msg message) {
	msg.kind = kind
	l.kind, l.msg = kind, msg
}

// A laxMessage is the struct that both clients fill, with the types that they demand.
type laxMessage struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  json.RawMessage `json:"method"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

type laxError struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// decode reads one message. Where prefix is set, bytes behind the first JSON value do not matter.
func (l *laxReading) decode(text []byte, prefix bool) (set, message) {
	if len(bytes.TrimSpace(text)) == 0 {
		return replyEmpty, message{}
	}
	var m laxMessage
	var err error
	if prefix {
		err = json.NewDecoder(bytes.NewReader(text)).Decode(&m)
	} else {
		err = json.Unmarshal(text, &m)
	}
	switch {
	case err != nil && !json.Valid(text):
		return replyNotJSON, message{why: clip(err.Error())}
	case err != nil:
		return replyInvalid, message{why: clip(err.Error())}
	}
	if l.by == byGoSDK {
		return l.goMessage(&m)
	}
	return l.mcpgoMessage(&m)
}

func (l *laxReading) goMessage(m *laxMessage) (set, message) {
	msg := message{rpc20: m.JSONRPC == "2.0", idState: "present"}
	id, ok := laxID(m.ID)
	e, bad := m.error()
	switch {
	case bad:
		return replyInvalid, message{why: "the error member does not fit"}
	case !msg.rpc20:
		return replyInvalid, message{why: "jsonrpc is not \"2.0\""}
	case !ok:
		return replyInvalid, message{why: "id has no usable type"}
	case len(m.Method) > 0 && m.Method[0] != '"' && string(m.Method) != "null":
		return replyInvalid, message{why: "method is not a string"}
	case len(m.Method) > 0:
		return replyNo, msg
	case id == "":
		return replyInvalid, message{why: "a reply without an id"}
	}
	return l.answer(m, e, id, msg)
}

// mcpgoMessage reads a message without regard to jsonrpc and method; an id of null is none.
func (l *laxReading) mcpgoMessage(m *laxMessage) (set, message) {
	msg := message{rpc20: m.JSONRPC == "2.0", idState: "present"}
	id, ok := laxID(m.ID)
	e, bad := m.error()
	if bad {
		var text string
		if json.Unmarshal(m.Error, &text) != nil {
			return replyInvalid, message{why: "the error member does not fit"}
		}
		e = &laxError{Code: -32603, Message: text}
	}
	refusal := l.f.status != 200 && l.f.status != 202
	if !ok || id == "" && !refusal {
		return replyInvalid, message{why: "a reply without an id"}
	}
	return l.answer(m, e, "", msg)
}

// answer tells result from error, and whose it is; id is "" where that does not matter.
func (l *laxReading) answer(m *laxMessage, e *laxError, id string, msg message) (set, message) {
	if e != nil {
		msg.code, msg.codeOK = e.Code, true
		var data struct {
			Supported []string `json:"supported"`
			Requested string   `json:"requested"`
		}
		if e.Code == codeUnsupportedVersion && json.Unmarshal(e.Data, &data) == nil {
			msg.versions, msg.named = clipVersions(data.Supported), len(data.Supported) > 0
		}
	} else {
		msg.readShapes(m.Result, l.f.class)
		msg.named = msg.named && (l.by == byMCPGo || spelled(m.Result))
	}
	switch {
	case id != "" && !l.own(id):
		return replyOtherID, msg
	case e != nil:
		return replyError, msg
	}
	return replyResult, msg
}

func (l *laxReading) own(id string) bool {
	for _, key := range l.f.req.keys() {
		if n, err := strconv.ParseFloat(key, 64); err == nil && key[0] != '"' {
			key = strconv.FormatInt(int64(n), 10)
		}
		if key == id {
			return true
		}
	}
	return false
}

// error reads the error member; bad tells that its types do not fit.
func (m *laxMessage) error() (e *laxError, bad bool) {
	if len(m.Error) == 0 || string(m.Error) == "null" {
		return nil, false
	}
	e = &laxError{}
	if json.Unmarshal(m.Error, e) != nil {
		return nil, true
	}
	return e, false
}

// laxID gives an id in the form of idKey, numbers cut to integers; "" for none. ok is false for a type that is no id.
func laxID(raw json.RawMessage) (key string, ok bool) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", true
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return `"` + clip(s), true
	}
	var n float64
	if json.Unmarshal(raw, &n) == nil {
		return strconv.FormatInt(int64(n), 10), true
	}
	return "", false
}

func clipVersions(list []string) []string {
	list = list[:min(len(list), maxVersions)]
	for i := range list {
		list[i] = clip(list[i])
	}
	return list
}

// laxCapabilities are the members of ServerCapabilities that must have a type.
type laxCapabilities struct {
	Experimental map[string]any `json:"experimental"`
	Extensions   map[string]any `json:"extensions"`
	Completions  *struct{}      `json:"completions"`
	Logging      *struct{}      `json:"logging"`
	Prompts      *laxChanging   `json:"prompts"`
	Resources    *laxChanging   `json:"resources"`
	Tools        *laxChanging   `json:"tools"`
}

type laxChanging struct {
	ListChanged bool `json:"listChanged"`
	Subscribe   bool `json:"subscribe"`
}

// readShapes reads the result of a negotiation: nothing must be there, but what is there must have its type.
func (m *message) readShapes(result json.RawMessage, c class) {
	switch c {
	case discover:
		var d struct {
			Meta         map[string]any   `json:"_meta"`
			ResultType   string           `json:"resultType"`
			TTL          int64            `json:"ttlMs"`
			CacheScope   string           `json:"cacheScope"`
			Versions     []string         `json:"supportedVersions"`
			Capabilities *laxCapabilities `json:"capabilities"`
			Instructions string           `json:"instructions"`
		}
		if json.Unmarshal(result, &d) == nil {
			m.versions, m.named, m.discover = clipVersions(d.Versions), true, true
		}
	case initialize:
		var d struct {
			Meta         map[string]any   `json:"_meta"`
			Version      string           `json:"protocolVersion"`
			Capabilities *laxCapabilities `json:"capabilities"`
			Info         *struct {
				Name    string `json:"name"`
				Version string `json:"version"`
				Title   string `json:"title"`
			} `json:"serverInfo"`
			Instructions string `json:"instructions"`
		}
		if json.Unmarshal(result, &d) == nil {
			m.versions, m.named, m.init = []string{clip(d.Version)}, true, true
		}
	}
}

// spelled tells whether the versions stand under exactly their name: go-sdk looks at case, encoding/json does not.
func spelled(result json.RawMessage) bool {
	return wire.Lookup(result, "supportedVersions").Present() || wire.Lookup(result, "protocolVersion").Present()
}

// readStream splits at line feeds, and at the end hands out an event that no blank line ended.
func (l *laxReading) readStream(stream []byte) {
	var event, data string
	var hasData bool
	dispatch := func() bool {
		done := hasData && data != "" && l.event(event, data)
		event, data, hasData = "", "", false
		return done
	}
	br := bytes.NewBuffer(stream)
	for {
		line, err := br.ReadString('\n')
		switch {
		case err == io.EOF && !l.whole:
			return
		case err == io.EOF && l.by == byMCPGo:
			dispatch() // a last line without a line feed is lost
			return
		}
		line = strings.TrimRight(line, "\r\n")
		field, value, colon := strings.Cut(line, ":")
		if l.by == byGoSDK {
			value = strings.TrimSpace(value)
		} else {
			value = strings.TrimPrefix(value, " ")
		}
		switch {
		case line == "":
			if dispatch() {
				return
			}
		case !colon && l.by == byGoSDK:
			l.take(replyInvalid, message{why: "a line without a colon"})
			return
		case !colon:
		case field == "event":
			event = strings.TrimSpace(value)
		case field == "data" && hasData && (data != "" || l.by == byGoSDK):
			data += "\n" + value
		case field == "data":
			data, hasData = value, true
		case field == "id" && l.by == byGoSDK && value != "":
			l.eventID = true
		}
		if err == io.EOF {
			dispatch()
			return
		}
	}
}

// event takes one event and tells whether the reader stops there.
func (l *laxReading) event(name, data string) bool {
	if l.by == byGoSDK && name != "" && name != "message" {
		return false
	}
	kind, msg := l.decode([]byte(data), l.by == byGoSDK)
	switch kind {
	case replyResult, replyError:
		if l.by == byMCPGo && serverRequest(data) {
			return false
		}
		l.take(kind, msg)
		l.via = viaEvent
		return true
	case replyInvalid, replyNotJSON, replyEmpty:
		if l.by == byGoSDK {
			l.take(replyInvalid, msg)
			return true
		}
	case replyOtherID, replyNo:
		if rank(kind) > rank(l.kind) {
			l.take(kind, msg)
		}
	}
	return false
}

func serverRequest(data string) bool {
	var m map[string]json.RawMessage
	return json.Unmarshal([]byte(data), &m) == nil && m["method"] != nil
}
