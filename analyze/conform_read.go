package analyze

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// conformed is what conformance keeps of one exchange; nothing of it grows with the bodies beyond its bounds.
type conformed struct {
	said      []said
	dropped   int    // messages beyond maxSaid
	in        set    // revisions that the messages were held against
	rpc20     bool   // the request's body says that it is JSON-RPC 2.0
	methodIs  string // Mcp-Method
	nameIs    string // Mcp-Name, decoded
	name      string // params.name or params.uri of the request
	token     string // progressToken of the request, "" for none
	logLevel  bool   // the request's _meta names a level
	clientHas []string
	serverHas []string
	typed     bool     // a result has a resultType
	outputs   []string // tools of a tools/list result that declare an outputSchema
	oddTools  []string // tools whose names the specification advises against
	content   set      // of a tools/call result
	asked     map[string]string
}

// What a tools/call result holds.
const (
	hasContent set = 1 << iota
	hasStructured
	hasText
	isError
)

// Bounds of what is kept of one exchange.
const (
	maxSaid  = 4096 // messages
	maxTools = 1024 // tools that declare an outputSchema
	maxOdd   = 8
)

// A said is one JSON-RPC message that conformance has something to say of.
type said struct {
	byServer bool
	kind     wire.Kind
	method   string // of the message; of a result, that of its request, "" where another exchange knows it
	key      string // its id, or for a cancellation the id that it names
	at       spanned
	section  string
	breaches []breach
	others   map[string][]breach // of a result whose request is not known yet: what it breaks, by method
	token    string              // of a progress notification
	progress float64
	code     int64 // of an error
	rootURI  spanned
	values   int // of a completion
}

// inRevisions are the revisions whose shapes the messages of an exchange may have to follow: which of the legacy ones was
// negotiated is known only when all exchanges are.
func (f *facts) inRevisions() set {
	r := &f.req
	if f.transport == overStdio && f.reqBytes == 0 {
		return allRevisions // the server's own line names none
	}
	if r.era() == eraModern {
		if r.version != "" {
			return revisionOf(r.version)
		}
		return revisionOf(r.header)
	}
	return allRevisions &^ revisionOf(firstModern)
}

func (f *facts) conform() *conformed {
	if f.conf == nil {
		f.conf = &conformed{in: f.inRevisions()}
	}
	return f.conf
}

// conformRequest holds the messages of a POST against their shapes.
func (f *facts) conformRequest(o *observer, v *har.View, body []byte, rpc *wire.RPC) {
	if !rpc.JSON {
		return
	}
	k := f.conform()
	h := v.Request
	k.methodIs, k.nameIs = o.text(h.Get("Mcp-Method")), o.text(headerText(h.Get("Mcp-Name")))
	k.rpc20 = rpc.Version == "2.0"
	k.readParams(o, f, rpc)
	f.conformText(body, rpc, false, func(s spanned) spanned {
		raw, ok := v.At(wire.ToServer, wire.Span{Off: s.off, Len: s.len})
		return spanned{raw.Off, raw.Len, ok}
	})
}

// headerText undoes the Base64 form of a header value (2026-07-28 streamable-http, Value Encoding).
func headerText(s string) string {
	const before, behind = "=?base64?", "?="
	if inner, ok := strings.CutPrefix(s, before); ok && strings.HasSuffix(inner, behind) {
		if text, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(inner, behind)); err == nil {
			return clip(string(text))
		}
	}
	return s
}

func (k *conformed) readParams(o *observer, f *facts, rpc *wire.RPC) {
	p := rpc.Params.Raw
	if !isObject(p) {
		return
	}
	names := [...]string{"name", "_meta"}
	if rpc.Method == "resources/read" {
		names[0] = "uri"
	}
	var said [len(names)]wire.Member
	wire.Select(p, names[:], said[:])
	k.name = o.value(said[0])
	meta := said[1].Raw
	if token := wire.Lookup(meta, "progressToken"); token.Present() {
		k.token = idKey(token)
	}
	k.logLevel = wire.Lookup(meta, "io.modelcontextprotocol/logLevel").Present()
	if f.req.method == "initialize" {
		k.clientHas = capabilityNames(wire.Lookup(p, "capabilities").Raw)
	}
}

// capabilityNames lists the capabilities that an object declares, resources.subscribe with them.
func capabilityNames(raw []byte) []string {
	if !isObject(raw) {
		return []string{}
	}
	names := []string{}
	wire.WalkObject(raw, 0, func(name []byte, at int) int {
		end := wire.ValueEnd(raw, at)
		if len(names) < 64 && isObject(raw[at:end]) {
			names = append(names, clip(string(name)))
			if string(name) == "resources" && string(wire.Lookup(raw[at:end], "subscribe").Raw) == "true" {
				names = append(names, "resources.subscribe")
			}
		}
		return end
	})
	return names
}

// conformText holds one JSON text, a batch included, against the shapes. at maps a span of the text to the exchange's
// bytes.
func (f *facts) conformText(text []byte, rpc *wire.RPC, byServer bool, at func(spanned) spanned) {
	start := wire.ValueStart(text, 0)
	if rpc.Kind != wire.Batch {
		f.conformMessage(text, start, rpc, byServer, at)
		return
	}
	wire.WalkArray(text, start, func(i, from int) int {
		if i < len(rpc.Items) {
			f.conformMessage(text, from, &rpc.Items[i], byServer, at)
		}
		return wire.ValueEnd(text, from)
	})
}

func (f *facts) conformMessage(text []byte, from int, rpc *wire.RPC, byServer bool, at func(spanned) spanned) {
	k := f.conform()
	if k.in == 0 || from >= len(text) || text[from] != '{' {
		return
	}
	s := said{byServer: byServer, kind: rpc.Kind, method: methodName(rpc.Method)}
	if rpc.ID.Present() {
		s.key = f.req.keyOf(rpc.ID)
	}
	switch {
	case rpc.Result.Present():
		s.kind = wire.Result
		f.conformResult(&s, text, from, rpc)
	case rpc.Error != nil && rpc.Version == "" && f.status >= 400:
		return // the body of an error status may be anything
	case rpc.Error != nil:
		s.kind = wire.Error
		s.code = rpc.Error.Code
		s.section = "basic, Responses"
		s.breaches = matchAt(text, from, shapes().failure, k.in)
	default:
		s.kind = wire.Request
		if !rpc.ID.Present() {
			s.kind = wire.Notification
		}
		s.breaches, s.section = callBreaches(text, from, rpc, byServer, k.in)
		s.readCall(rpc)
		if !byServer && rpc.ID.Present() && f.req.batch {
			if k.asked == nil {
				k.asked = map[string]string{}
			}
			k.asked[s.key] = s.method
		}
	}
	if !s.matters() {
		return
	}
	if len(k.said) == maxSaid {
		k.dropped++
		return
	}
	s.place(text, from, at)
	k.said = append(k.said, s)
}

// matters tells whether anything later looks at the message.
func (s *said) matters() bool {
	if len(s.breaches) > 0 || len(s.others) > 0 || s.values > 0 || s.rootURI.ok {
		return true
	}
	if s.byServer {
		return s.kind != wire.Result
	}
	return s.kind == wire.Notification || s.kind == wire.Result || s.kind == wire.Error
}

// place maps all spans to the exchange's bytes.
func (s *said) place(text []byte, from int, at func(spanned) spanned) {
	s.at = at(spanned{from, wire.ValueEnd(text, from) - from, true})
	move := func(list []breach) {
		for i := range list {
			list[i].at = at(list[i].at)
			if !list[i].at.ok {
				list[i].at = s.at
			}
		}
	}
	move(s.breaches)
	for _, list := range s.others {
		move(list)
	}
	if s.rootURI.ok {
		s.rootURI = at(s.rootURI)
		s.rootURI.ok = true
	}
}

// callBreaches holds a request or notification against the shape of its method, or of any where the revision does not
// know it from this side.
func callBreaches(text []byte, from int, rpc *wire.RPC, byServer bool, in set) ([]breach, string) {
	t := shapes()
	any := t.call
	if !rpc.ID.Present() && rpc.Method != "" {
		any = t.notice
	}
	row := t.byMethod[rpc.Method]
	if row == nil || !row.sentBy(byServer) {
		return matchAt(text, from, any, in), "basic, Messages"
	}
	breaches := matchAt(text, from, row.message, in&row.in)
	if rest := in &^ row.in; rest != 0 {
		breaches = append(breaches, matchAt(text, from, any, rest)...)
	}
	return breaches, row.Section
}

func (m *messageRow) sentBy(server bool) bool {
	return m.From == "both" || (m.From == "server") == server
}

// readCall takes what rules ask of a request or notification.
func (s *said) readCall(rpc *wire.RPC) {
	switch rpc.Method {
	case "notifications/progress":
		s.token = idKey(orEmpty(wire.Lookup(rpc.Params.Raw, "progressToken")))
		s.progress, _ = strconv.ParseFloat(string(wire.Lookup(rpc.Params.Raw, "progress").Raw), 64)
	case "notifications/cancelled":
		s.key = idKey(orEmpty(wire.Lookup(rpc.Params.Raw, "requestId")))
	}
}

func orEmpty(m wire.Member) wire.Member {
	if !m.Present() {
		m.Raw = []byte("null")
	}
	return m
}

// conformResult holds a result against the shape of what its request asked for. Where another exchange knows that, it is
// held against each shape that it may have.
func (f *facts) conformResult(s *said, text []byte, from int, rpc *wire.RPC) {
	k, t := f.conform(), shapes()
	method := ""
	if s.byServer {
		method = f.askedOf(s.key)
	}
	if method != "" {
		s.method = method
		if row := t.byMethod[method]; row != nil && row.result != nil && row.sentBy(false) {
			s.breaches, s.section = inResult(matchAt(text, from, row.result, k.in&row.in)), row.Section
			f.readResult(s, method, rpc.Result.Raw)
		}
		return
	}
	for _, name := range t.results {
		row := t.byMethod[name]
		if !row.sentBy(!s.byServer) {
			continue
		}
		if list := inResult(matchAt(text, from, row.result, k.in&row.in)); len(list) > 0 {
			if s.others == nil {
				s.others = map[string][]breach{}
			}
			s.others[name] = list
		}
	}
	if !s.byServer {
		s.readRoots(text, rpc)
	}
}

// askedOf gives the method of the exchange's own request with this id, "" if there is none.
func (f *facts) askedOf(key string) string {
	if f.conf != nil && f.conf.asked != nil {
		return f.conf.asked[key]
	}
	if f.req.has(key) {
		return f.req.method
	}
	return ""
}

// inResult leaves out what concerns the message around a result: other findings speak of that.
func inResult(list []breach) []breach {
	return slices.DeleteFunc(list, func(b breach) bool { return !strings.HasPrefix(b.pointer, "/result") })
}

func (s *said) readRoots(text []byte, rpc *wire.RPC) {
	for _, root := range wire.Elements(wire.Lookup(rpc.Result.Raw, "roots").Raw) {
		uri := wire.Lookup(root.Raw, "uri")
		if value, ok := uri.String(); ok && !strings.HasPrefix(value, "file://") && !s.rootURI.ok {
			s.rootURI = spanned{bytes.Index(text, uri.Raw), len(uri.Raw), true}
		}
	}
}

// readResult takes what rules ask of a server's result.
func (f *facts) readResult(s *said, method string, result []byte) {
	k := f.conf
	if f.req.era() == eraModern && wire.Lookup(result, "resultType").Present() {
		k.typed = true
	}
	switch method {
	case "initialize":
		k.serverHas = capabilityNames(wire.Lookup(result, "capabilities").Raw)
	case "tools/list":
		k.readTools(wire.Lookup(result, "tools").Raw)
	case "tools/call":
		k.readContent(result)
	case "completion/complete":
		if n := len(wire.Elements(wire.Lookup(result, "completion", "values").Raw)); n > 100 {
			s.values = n
		}
	}
}

func (k *conformed) readTools(tools []byte) {
	if len(tools) == 0 || tools[0] != '[' {
		return
	}
	wire.WalkArray(tools, 0, func(_, at int) int {
		end := wire.ValueEnd(tools, at)
		if tools[at] != '{' {
			return end
		}
		var called []byte
		output := false
		wire.WalkObject(tools, at, func(name []byte, at int) int {
			end := wire.ValueEnd(tools, at)
			switch string(name) {
			case "name":
				called = tools[at:end]
			case "outputSchema":
				output = true
			}
			return end
		})
		if len(called) == 0 || called[0] != '"' {
			return end
		}
		if output && len(k.outputs) < maxTools {
			k.outputs = append(k.outputs, clip(unescaped(called)))
		}
		if name := called[1 : len(called)-1]; !plainToolName(name) && len(k.oddTools) < maxOdd {
			k.oddTools = append(k.oddTools, clip(unescaped(called)))
		}
		return end
	})
}

// plainToolName follows 2025-11-25 server/tools, Tool Names.
func plainToolName(name []byte) bool {
	for _, c := range name {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.') {
			return false
		}
	}
	return len(name) >= 1 && len(name) <= 128
}

func (k *conformed) readContent(result []byte) {
	wire.WalkObject(result, 0, func(name []byte, at int) int {
		end := wire.ValueEnd(result, at)
		switch string(name) {
		case "content":
			k.content |= hasContent
			if bytes.Contains(result[at:end], []byte(`"text"`)) {
				k.content |= hasText
			}
		case "structuredContent":
			k.content |= hasStructured
		case "isError":
			if string(result[at:end]) == "true" {
				k.content |= isError
			}
		}
		return end
	})
}

// conformEvent holds the message of one event against its shape.
func (f *facts) conformEvent(v *har.View, e *wire.Event, rpc *wire.RPC) {
	if !rpc.JSON || rpc.Kind == wire.Batch || !e.Complete {
		return
	}
	body, _ := v.ResponseBody()
	data := bytes.Index(body[e.Off:e.End()], e.Data) // -1 where several lines carry it
	f.conformText(e.Data, rpc, true, func(s spanned) spanned {
		span := e.Span
		if data >= 0 {
			span = wire.Span{Off: e.Off + data + s.off, Len: s.len}
		}
		raw, ok := v.At(wire.ToClient, span)
		return spanned{raw.Off, raw.Len, ok}
	})
}
