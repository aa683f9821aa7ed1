package analyze

import (
	"bytes"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// probePrefix begins the id of every probe of the TypeScript client.
const probePrefix = "server-discover-probe-"

func (f *facts) readRequest(o *observer, v *har.View) {
	if v.Request == nil {
		return
	}
	h := v.Request
	f.httpMethod = o.text(h.Method)
	r := &f.req
	r.header, r.session = o.text(h.Get("MCP-Protocol-Version")), o.text(h.Get("Mcp-Session-Id"))
	r.lastEvent, r.accept, r.agent = clip(h.Get("Last-Event-ID")), o.text(h.Get("Accept")), o.text(h.Get("User-Agent"))
	r.marks = headerMarks(h)
	if a := h.Get("Authorization"); a != "" {
		r.auth = fingerprint([]byte(a))
	}
	f.readRequestHead(v)
	f.browser = h.Get("Sec-Fetch-Site") != "" || h.Get("Referer") != ""
	if h.Method != "POST" {
		return
	}
	body := v.RequestBody()
	rpc := wire.ParseRPC(body)
	r.json = rpc.JSON
	r.read(o, &rpc)
	f.placeDuplicates(v)
	f.readMismatch(v, &rpc)
	switch r.method {
	case "initialize", "notifications/initialized":
		r.shape, r.params = shapeOf(body, 3), shapeOf(rpc.Params.Raw, 1)
	case "server/discover":
		r.marks |= firstMember(body) | probeMarks(wire.Lookup(rpc.Params.Raw, "_meta").Raw)
	default:
		r.marks |= firstMember(body)
	}
	f.conformRequest(o, v, body, &rpc)
}

// placeDuplicates maps the places of duplicate members from the body to the request's bytes.
func (f *facts) placeDuplicates(v *har.View) {
	for i := range f.req.dup {
		at := &f.req.dup[i].at
		raw, ok := v.At(wire.ToServer, wire.Span{Off: at.off, Len: at.len})
		*at = spanned{raw.Off, raw.Len, ok}
	}
}

func (r *reqFacts) read(o *observer, rpc *wire.RPC) {
	for _, d := range rpc.Duplicates {
		r.dup = append(r.dup, duplicate{clip(d.Name), spanned{d.Last.Off, len(d.Last.Raw), true}})
	}
	switch rpc.Kind {
	case wire.Batch:
		r.batch, r.kind = true, "batch"
		r.readBatch(o, rpc.Items)
		return
	case wire.Request:
		r.kind, r.requests = "request", 1
	case wire.Notification:
		r.kind = "notification"
	case wire.Result:
		r.kind = "result"
	case wire.Error:
		r.kind = "error"
	default:
		r.kind = "invalid"
		if rpc.JSON && rpc.Method != "" && rpc.ID.Present() && !rpc.ID.Null() {
			r.requests = 1
		}
	}
	r.method = methodName(rpc.Method)
	if rpc.ID.Present() {
		r.readID(rpc.ID)
		r.probeID = strings.HasPrefix(r.key, `"`+probePrefix)
	}
	r.readParams(o, rpc)
}

// readID keeps an id as sent and as a key. Most share their bytes.
func (r *reqFacts) readID(id wire.Member) {
	r.id = clip(string(id.Raw))
	switch {
	case len(r.id) != len(id.Raw) || strings.IndexByte(r.id, '\\') >= 0:
		r.key = idKey(id)
	case r.id[0] == '"':
		r.key = r.id[:len(r.id)-1]
	default:
		r.key = r.id
	}
}

// has tells whether the key is that of one of the ids.
func (r *reqFacts) has(key string) bool {
	return key != "" && key == r.key || slices.Contains(r.batchIDs, key)
}

// keys lists the keys of all ids.
func (r *reqFacts) keys() []string {
	switch {
	case r.batchIDs != nil:
		return r.batchIDs
	case r.key != "":
		return []string{r.key}
	}
	return nil
}

// readBatch takes a batch for what its first request is, or its first message if there is none.
func (r *reqFacts) readBatch(o *observer, items []wire.RPC) {
	for i := range items {
		it := &items[i]
		if it.Kind == wire.Request {
			if r.requests++; r.requests == 1 {
				r.method = methodName(it.Method)
				r.readID(it.ID)
				r.readParams(o, it)
			}
			r.batchIDs = append(r.batchIDs, idKey(it.ID))
		}
	}
	if r.requests == 0 && len(items) > 0 {
		r.method = methodName(items[0].Method)
		if items[0].Kind == wire.Result || items[0].Kind == wire.Error {
			r.kind = "result"
		}
	}
}

func (r *reqFacts) readParams(o *observer, rpc *wire.RPC) {
	p := rpc.Params.Raw
	if r.method == "initialize" {
		r.version, r.info = o.value(wire.Lookup(p, "protocolVersion")), o.info(wire.Lookup(p, "clientInfo").Raw)
	} else if meta := wire.Lookup(p, "_meta").Raw; meta != nil {
		const own = "io.modelcontextprotocol/"
		var said [2]wire.Member
		wire.Select(meta, []string{own + "protocolVersion", own + "clientInfo"}, said[:])
		r.version, r.info = o.value(said[0]), o.info(said[1].Raw)
	}
	switch {
	case r.method == "notifications/cancelled":
		if id := wire.Lookup(p, "requestId"); id.Present() {
			r.cancels = idKey(id)
		}
	case strings.HasSuffix(r.method, "/list"):
		r.cursor = wire.Lookup(p, "cursor").Present()
	}
	if r.method != "" && rpc.ID.Present() {
		r.call = callOf(r.method, p)
	}
}

// A callHash identifies a call by its method and what it asks for, so that a repetition is known as one; 0 is no call.
type callHash uint64

// callNames are the members of params that tell one call from another: not ids, not _meta.
var callNames = [...]string{"name", "uri", "arguments", "cursor", "ref", "argument", "level"}

func callOf(method string, params []byte) callHash {
	var said [len(callNames)]wire.Member
	wire.Select(params, callNames[:], said[:])
	h := callHash(14695981039346656037).add([]byte(method))
	for i := range said {
		h = h.add(said[i].Raw)
	}
	return max(h, 1)
}

// add goes on with FNV-1a over b and what ends it.
func (h callHash) add(b []byte) callHash {
	const prime = 1099511628211
	for _, c := range b {
		h = (h ^ callHash(c)) * prime
	}
	return h * prime
}

func fingerprint(b []byte) string {
	h := fnv.New64a()
	h.Write(b)
	return strconv.FormatUint(h.Sum64(), 36)
}

// shapeOf gives the names of the first n members of a JSON object as they were sent, which is a mark of the library that
// wrote it. It looks at the text only and gives "" where that is not plain.
func shapeOf(text []byte, n int) string {
	text = bytes.TrimLeft(text, " \t\r\n")
	if !isObject(text) {
		return ""
	}
	var members []string
	depth := 0
	for i := 0; i < len(text) && len(members) < n; i++ {
		switch text[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			end := stringEnd(text, i)
			rest := bytes.TrimLeft(text[min(end, len(text)):], " \t\r\n")
			if depth == 1 && len(rest) > 0 && rest[0] == ':' {
				members = append(members, clip(string(text[i+1:end-1])))
			}
			i = end - 1
		}
	}
	return strings.Join(members, ",")
}

// stringEnd gives the offset behind the JSON string that begins at i, at most the end of text.
func stringEnd(text []byte, i int) int {
	for j := i + 1; j < len(text); j++ {
		switch text[j] {
		case '\\':
			j++
		case '"':
			return j + 1
		}
	}
	return len(text) + 1
}
