package analyze

import (
	"bytes"
	"encoding/json"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// observeStdio reads an exchange of lines: what the client wrote with the line that replied to it, or a line that the server
// wrote by itself, which is nobody's answer (class other).
func (o *observer) observeStdio(x *har.Exchange, v *har.View) *facts {
	f := &facts{
		head: noHead,
		n:    x.N, conn: x.Conn, client: o.text(x.Client), server: o.text(x.Server), url: o.place(x.URL), origin: o.place(x.URL),
		started: x.Started, end: x.End, complete: v.Complete, late: v.Late, transport: overStdio,
		reqBytes: len(x.Request.Raw), respBytes: len(x.Response.Raw), replyAt: -1, retryMS: -1,
		endpoint: endpointAbsent, media: mediaNone, eventEnd: eventPlain, kind: replyNone, via: viaNothing,
	}
	for _, note := range x.Notes {
		f.notes = append(f.notes, clip(note))
	}
	f.readTimes(x, v)
	f.readAsked(o, x, v)
	f.readAnswered(x, v)
	f.class = postClass(&f.req)
	f.mcp = f.class != other && f.class != response && mcpMethod(f.req.method)
	return f
}

// readAsked reads the client's line.
func (f *facts) readAsked(o *observer, x *har.Exchange, v *har.View) {
	if len(x.Request.Raw) == 0 {
		return
	}
	line := v.RequestBody()
	r := &f.req
	rpc := wire.ParseRPC(line)
	r.json = rpc.JSON
	r.read(o, &rpc)
	if r.method == "initialize" || r.method == "notifications/initialized" {
		r.shape, r.params = shapeOf(line, 3), shapeOf(rpc.Params.Raw, 1)
	}
	f.clientLine = formOf(line, &rpc, bytes.HasSuffix(x.Request.Raw, []byte("\n")))
	if rpc.JSON {
		k := f.conform()
		k.rpc20 = rpc.Version == "2.0"
		k.readParams(o, f, &rpc)
		f.conformText(line, &rpc, false, asItStands)
	}
}

// asItStands maps a span of a line to the exchange's bytes: a line has no head and no coding.
func asItStands(s spanned) spanned { return s }

// readAnswered reads the server's line.
func (f *facts) readAnswered(x *har.Exchange, v *har.View) {
	f.answer = stdioAnswer(x)
	raw := x.Evidence()
	if len(raw) == 0 {
		return
	}
	text, _ := v.ResponseBody()
	rpc := wire.ParseRPC(text)
	f.bodyAt, f.body = spanned{0, len(raw), true}, bodyWord(text, rpc.JSON)
	f.serverLine = formOf(text, &rpc, bytes.HasSuffix(raw, []byte("\n")))
	f.headless = spanned{0, min(len(raw), maxText), true}
	if f.serverLine == lineRPC {
		f.conform().rpc20 = f.conform().rpc20 || len(x.Request.Raw) == 0
		f.conformText(text, &rpc, true, asItStands)
	}
	m, kind := f.pick(&rpc)
	m.at = f.bodyAt
	if len(x.Request.Raw) == 0 {
		f.reply = m // nobody's
		if m.text == "" && !rpc.JSON {
			f.reply.text = clip(string(text[:min(len(text), maxText)]))
		}
		if f.serverLine == lineMarked {
			behind := wire.ParseRPC(unmarked(text))
			f.reply.key = har.IDKey(behind.ID)
		}
		return
	}
	if f.serverLine == lineOpen {
		f.readOpen(m, kind, x)
	}
	if f.answer != whole {
		return
	}
	f.reply, f.kind = m, kind
	if kind&(replyResult|replyError) != 0 {
		f.via = viaBody
	}
	f.replyAt = arrival(x, len(raw))
}

// readOpen keeps how go-sdk reads a message without its line end: it decodes a stream of JSON values, not lines.
func (f *facts) readOpen(m message, kind set, x *har.Exchange) {
	if kind&(replyResult|replyError) == 0 {
		return
	}
	c := *f
	c.answer, c.reply, c.kind, c.via, c.replyAt = whole, m, kind, viaBody, arrival(x, len(x.Response.Raw))
	f.lax[byGoSDK] = &c
}

// spoil marks the requests of a process that were answered behind a line that is no message, or not at all: some clients end
// the connection at such a line.
func (c *connect) spoil() {
	for _, part := range c.all {
		if part.serverLine == linePiece || part.serverLine == lineJoined {
			c.doubt(part)
		}
	}
	for _, bad := range c.all {
		if bad.reqBytes > 0 || !bad.spoils() {
			continue
		}
		for _, f := range c.all {
			if f.req.requests > 0 && f.conn == bad.conn && !bad.started.After(f.until()) {
				f.badEvent = true
				for _, l := range f.lax {
					if l != nil {
						l.badEvent = true
					}
				}
			}
		}
		return // what comes later makes no difference
	}
}

// doubt notes that a client which decodes a stream of JSON values may have found a reply where lines hold none: what it made of
// the pieces cannot be told from them one by one.
func (c *connect) doubt(part *facts) {
	for _, f := range c.all {
		if f.req.requests > 0 && f.kind == replyNone && f.conn == part.conn && f.n < part.n && f.lax[byGoSDK] == nil {
			l := *f
			l.answer, l.kind, l.via = whole|silence, anyReply, anyVia
			f.lax[byGoSDK] = &l
		}
	}
}

// spoils tells whether a line of the server is no message, nor a piece of one.
func (f *facts) spoils() bool {
	return f.serverLine == lineNoise || f.serverLine == lineMarked || f.serverLine == lineFramed || f.serverLine == lineJSON
}

// stdioAnswer tells how much of an answer had come when the exchange ended. A server that is gone has answered nothing; one
// whose client has left was silent.
func stdioAnswer(x *har.Exchange) set {
	raw := x.Evidence()
	gone, left := nothing, silence
	switch {
	case bytes.HasSuffix(raw, []byte("\n")):
		return whole
	case len(raw) > 0:
		gone, left = cut, stalled
	}
	switch x.End {
	case har.EndFIN, har.EndRST, har.EndNoCloseNotify:
		return gone
	case har.EndClientFIN, har.EndClientRST, har.EndHang:
		return left
	case har.EndKeep:
		return whole // nothing is awaited: a notification
	}
	return gone | left | whole
}

// A lineForm is what a line of a process is.
type lineForm uint8

const (
	noLine     lineForm = iota
	lineRPC             // a JSON-RPC message
	lineJSON            // JSON, but no JSON-RPC message
	lineNoise           // no JSON
	linePiece           // the beginning or a part of a JSON text that goes over several lines
	lineFramed          // a header of the Language Server Protocol's framing
	lineBlank           // nothing but white space
	lineOpen            // JSON without the line end that makes it a message
	lineJoined          // several JSON texts without a line end between them
	lineCut             // a line without its end
	lineMarked          // a JSON text behind a byte order mark
)

// formOf tells what a line is, by its text without the line end.
func formOf(text []byte, rpc *wire.RPC, ended bool) lineForm {
	t := bytes.TrimSpace(text)
	switch {
	case len(t) == 0:
		return lineBlank
	case !ended && rpc.JSON:
		return lineOpen
	case rpc.JSON && rpc.Kind != wire.Invalid:
		return lineRPC
	case rpc.JSON && (t[0] == '{' || t[0] == '['):
		return lineJSON
	case ended && wire.ParseRPC(unmarked(t)).JSON && len(unmarked(t)) < len(t):
		return lineMarked
	case hasPrefixFold(t, "content-length:"), hasPrefixFold(t, "content-type:"):
		return lineFramed
	case !ended:
		return lineCut
	case joined(t):
		return lineJoined
	case t[0] == '{' || t[0] == '[' && bytes.IndexByte(t, '"') >= 0, len(t) == 1 && t[0] == '[', isMember(t), bytes.Trim(t, "}],") == nil:
		return linePiece
	}
	return lineNoise
}

// unmarked is a text without the byte order mark that it begins with.
func unmarked(t []byte) []byte { return bytes.TrimPrefix(t, []byte("\uFEFF")) }

// maxJoined is how long a line is in which several messages are looked for.
const maxJoined = 1 << 20

// joined tells whether a line begins with a whole JSON object and goes on with another.
func joined(t []byte) bool {
	if t[0] != '{' || len(t) > maxJoined {
		return false
	}
	dec := json.NewDecoder(bytes.NewReader(t))
	var first json.RawMessage
	if dec.Decode(&first) != nil {
		return false
	}
	rest := bytes.TrimLeft(t[dec.InputOffset():], " \t")
	return len(rest) > 0 && rest[0] == '{'
}

// isMember tells whether a line looks like a member of a JSON object that has a line of its own.
func isMember(t []byte) bool {
	end := 0
	if t[0] == '"' {
		end = stringEnd(t, 0)
	}
	return end > 0 && end < len(t) && bytes.HasPrefix(bytes.TrimLeft(t[end:], " \t"), []byte(":"))
}

func hasPrefixFold(t []byte, prefix string) bool {
	return len(t) >= len(prefix) && bytes.EqualFold(t[:len(prefix)], []byte(prefix))
}
