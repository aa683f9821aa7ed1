package replay

import (
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// An ask is what a request asks for, however it is spelled. Two requests with equal keys are answered by the same
// recordings, in recorded order.
//
// The key holds the HTTP method, the target, for a GET whether it resumes a stream, and of each JSON-RPC message: the
// method with the params, or that it is a response with its id. A body that is no JSON-RPC stands in it as it is.
// Header fields and the ids of requests are no part of it.
type ask struct {
	method, target string // the target in origin form
	rpc            string // the JSON-RPC methods, for people
	key            string // the whole key
	loose          string // the key without who the client is; equal to key where that is not said
	values         values
	responses      []string // the raw ids of the server's requests that it answers
	mcp            bool     // holds a JSON-RPC message
	body           []byte
	match          Match

	group, looseGroup *group // of recordings: those with the same key
}

// values are what the client chose and the server sends back: the raw ids of its requests and their progress tokens,
// one each per request, in order; "" where there is none.
type values struct{ ids, tokens []string }

func (v values) equal(w values) bool {
	return slices.Equal(v.ids, w.ids) && slices.Equal(v.tokens, w.tokens)
}

// newAsk reads a request: its head, and its body with all encodings undone.
func newAsk(h *wire.Head, body []byte, match Match) *ask {
	a := &ask{method: h.Method, target: origin(h.Target), body: body, match: match}
	defer a.coarsen()
	if _, resumes := h.Lookup("Last-Event-ID"); resumes && h.Method == "GET" {
		a.rpc = "(resuming)"
	}
	prefix := a.method + " " + a.target + "\n" + a.rpc + "\n"
	if len(body) == 0 {
		a.key, a.loose = prefix, prefix
		return a
	}
	rpc := wire.ParseRPC(body)
	messages := rpc.Items
	if rpc.Kind != wire.Batch {
		messages = []wire.RPC{rpc}
	}
	invalid := func(m wire.RPC) bool { return m.Kind == wire.Invalid }
	if len(messages) == 0 || len(messages) == wire.MaxBatch || slices.ContainsFunc(messages, invalid) {
		a.key = prefix + "body " + string(body)
		a.loose = a.key
		return a
	}
	a.mcp = true
	names := false
	key := append(make([]byte, 0, len(prefix)+len(body)), prefix...)
	for i := range messages {
		a.add(&messages[i])
		named := false
		key, named = appendMessage(key, &messages[i], false, match)
		names = names || named
	}
	a.key = string(key)
	a.loose = a.key
	if names {
		key = key[:len(prefix)]
		for i := range messages {
			key, _ = appendMessage(key, &messages[i], true, match)
		}
		a.loose = string(key)
	}
	return a
}

// coarsen cuts the keys down to what the coarser ways of matching look at.
func (a *ask) coarsen() {
	switch a.match {
	case MatchMethod:
		a.key = a.method + " " + path(a.target)
	case MatchOrder:
		a.key = ""
	default:
		return
	}
	a.loose = a.key
}

// add takes note of one JSON-RPC message.
func (a *ask) add(m *wire.RPC) {
	word := m.Method
	if m.Kind == wire.Result || m.Kind == wire.Error {
		word = "response"
		a.responses = append(a.responses, string(m.ID.Raw))
	}
	if a.rpc != "" {
		word = " " + word
	}
	if len(a.rpc) < 200 {
		a.rpc += word
	}
	if m.Kind == wire.Request {
		a.values.ids = append(a.values.ids, string(m.ID.Raw))
		a.values.tokens = append(a.values.tokens, string(wire.Lookup(m.Params.Raw, "_meta", "progressToken").Raw))
	}
}

// appendMessage appends the part of a key that stands for one JSON-RPC message. names: it says who the client is.
func appendMessage(key []byte, m *wire.RPC, loose bool, match Match) (_ []byte, names bool) {
	if m.Kind == wire.Result || m.Kind == wire.Error {
		key = append(key, "response "...)
		key = append(key, m.ID.Raw...)
		return append(key, '\n'), false
	}
	kind := "request "
	if m.Kind == wire.Notification {
		kind = "notification "
	}
	key = append(key, kind...)
	key = append(key, m.Method...)
	key = append(key, ' ')
	if match != MatchParams {
		return append(key, '\n'), false
	}
	key, names = appendParams(key, m.Params.Raw, m.Method, loose)
	return append(key, '\n'), names
}

// origin cuts the absolute form of a request target (RFC 9112 section 3.2.2), which a client sends to a proxy, down to
// the origin form that the same client sends to a replay.
func origin(target string) string {
	scheme, rest, ok := strings.Cut(target, "://")
	if !ok || !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return target
	}
	if i := strings.IndexAny(rest, "/?"); i < 0 {
		return "/"
	} else if rest[i] == '?' {
		return "/" + rest[i:]
	} else {
		return rest[i:]
	}
}

// label names a request for people, such as "POST /mcp tools/call".
func (a *ask) label() string {
	s := a.method + " " + a.target
	if a.rpc != "" {
		s += " " + a.rpc
	}
	return clip(s)
}

// digest keeps a map of keys small: long keys are kept by their SHA-256.
func digest(key string) string {
	if len(key) <= 256 {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return string(sum[:])
}

// hidden stands in a key for a value that redaction replaced: it matches any run of bytes without a quotation mark. It
// is a private-use character, U+F8FF.
const hidden = "\uf8ff"

// matchesHidden tells whether s is the pattern with something in each hidden place.
func matchesHidden(pattern, s string) bool {
	parts := strings.Split(pattern, hidden)
	if !strings.HasPrefix(s, parts[0]) {
		return false
	}
	s = s[len(parts[0]):]
	for i, part := range parts[1:] {
		at := strings.Index(s, part)
		if i == len(parts)-2 {
			at = len(s) - len(part)
		}
		if at < 0 || s[at:at+len(part)] != part || strings.IndexByte(s[:at], '"') >= 0 && part != "" {
			return false
		}
		s = s[at+len(part):]
	}
	return true
}

// hide puts one hidden mark in place of each redacted range of b. Ranges are in order of their offsets.
func hide(b []byte, ranges []wire.Span) []byte {
	out := make([]byte, 0, len(b)+len(ranges)*len(hidden))
	at := 0
	for _, r := range ranges {
		if r.Off < at || r.End() > len(b) {
			continue
		}
		out = append(append(out, b[at:r.Off]...), hidden...)
		at = r.End()
	}
	return append(out, b[at:]...)
}

// bodyOf is the payload of a request with its Content-Encoding undone as far as it goes.
func bodyOf(m *wire.Message, raw []byte) []byte {
	body := m.Payload(raw)
	encoding, encoded := m.Lookup("Content-Encoding")
	if !encoded || len(body) == 0 {
		return body
	}
	if plain, err := har.DecodeContent(encoding, body, maxRequest); err == nil {
		return plain
	}
	return body
}

// clip bounds a text that is shown to people.
func clip(s string) string {
	const most = 160
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}
