package analyze

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// readReply finds the answer to the request in the exchange's own response.
func (f *facts) readReply(v *har.View) {
	f.kind, f.via, f.eventEnd = replyNone, viaNothing, eventPlain
	const headless = unreachable | nothing | malformed | silence
	switch {
	case v.Response == nil:
		if f.answer&^headless != 0 {
			f.kind, f.via = anyReply, anyVia
		}
		f.endpoint = endpointAbsent
		if f.answer&^headless != 0 {
			f.endpoint = anyEndpoint
		}
	case f.media == mediaStream && f.status/100 == 2 && f.answer != malformed:
		f.readStream(v)
	default:
		f.endpoint = endpointAbsent
		f.readBody(v)
	}
}

// readBody reads a body that is one JSON text, or claims to be.
func (f *facts) readBody(v *har.View) {
	body, err := v.ResponseBody()
	if err != nil && !knownCoding(f.encoding) {
		if raw := v.Response.Payload(v.X.Response.Raw); wire.ParseRPC(raw).JSON {
			body, err, f.mislabelled = raw, nil, true // clients hand out what they do not know how to decode
		}
	}
	if err != nil {
		f.undecoded, f.body = clip(err.Error()), "encoded"
	}
	text := bytes.TrimPrefix(body, []byte(bom))
	off := len(body) - len(text)
	exact := utf8.Valid(text)
	f.odd = off > 0 || !exact
	if !exact {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	var rpc wire.RPC
	if err == nil {
		rpc = wire.ParseRPC(text)
		f.badUTF8 = rpc.JSON && !exact
		if off > 0 && rpc.JSON {
			f.bom = bomAt(v)
		}
		f.body = bodyWord(text, rpc.JSON)
	}
	if f.limit = limitOf(err, &rpc); f.limit != "" && f.answer == whole {
		f.kind, f.via, f.undecoded = anyReply, anyVia, ""
		return
	}
	if f.answer != whole {
		if f.answer&whole != 0 {
			f.kind, f.via = anyReply, anyVia
		}
		return
	}
	at := func(s spanned) spanned {
		if !s.ok || !exact {
			return spanned{}
		}
		raw, ok := v.At(wire.ToClient, wire.Span{Off: s.off + off, Len: s.len})
		return spanned{raw.Off, raw.Len, ok}
	}
	switch {
	case len(body) == 0 && err == nil:
		f.kind = replyEmpty
	case !rpc.JSON:
		f.kind = replyNotJSON
		f.reply = message{kind: replyNotJSON, why: rpc.Why, at: f.bodyAt}
		// Of an error status, clients put the body into the error's text, whatever its form.
		f.reply.gone = f.status >= 400 && saysGone(string(text[:min(len(text), maxText)]))
		if f.undecoded != "" {
			f.reply.why = f.undecoded
		} else {
			f.reply.text = clip(string(text[:min(len(text), maxText+4)]))
			f.reply.gone = saysGone(string(text[:min(len(text), 4096)]))
		}
	default:
		f.reply, f.kind = f.pick(&rpc)
		if f.class != other && f.class != oauth {
			f.conformText(text, &rpc, true, at)
		}
		f.reply.relocate(at)
		f.reply.at = f.bodyAt
		if f.kind&(replyResult|replyError) != 0 && f.media == mediaJSON {
			f.via = viaBody
		}
	}
	if len(v.X.Response.Writes) > 0 {
		f.replyAt = arrival(v.X, v.Response.End)
	}
}

const bom = "\uFEFF"

// bomAt gives the place of the body's first three bytes.
func bomAt(v *har.View) spanned {
	raw, ok := v.At(wire.ToClient, wire.Span{Off: 0, Len: len(bom)})
	return spanned{raw.Off, raw.Len, ok}
}

// limitOf says which limit kept a body from being read, "" if none did.
func limitOf(err error, rpc *wire.RPC) string {
	switch {
	case errors.Is(err, har.ErrContentLimit):
		return err.Error()
	case err == nil && rpc.TooLarge():
		return rpc.Why
	}
	return ""
}

// relocate maps spans within a body to spans of the exchange's bytes.
func (m *message) relocate(at func(spanned) spanned) {
	m.errAt = at(m.errAt)
	for i := range m.dup {
		m.dup[i].at = at(m.dup[i].at)
	}
}

// pick takes from one JSON text, a batch included, the message that a client would act on. One invalid element makes the
// whole batch invalid (typescript-sdk #2571).
func (f *facts) pick(rpc *wire.RPC) (message, set) {
	if rpc.Kind != wire.Batch {
		m := readMessage(rpc, &f.req)
		return m, f.correlate(&m)
	}
	f.odd, f.batch = true, true
	best, kind := message{kind: replyNo, why: "an array without a reply"}, replyNo
	for i := range rpc.Items {
		m := readMessage(&rpc.Items[i], &f.req)
		k := f.correlate(&m)
		if k == replyInvalid {
			m.why = "an element of the array is not valid: " + m.why
			return m, k
		}
		if k > kind {
			best, kind = m, k
		}
	}
	return best, kind
}

// correlate says what a message is to this exchange's request.
func (f *facts) correlate(m *message) set {
	if m.kind != replyResult && m.kind != replyError {
		return m.kind
	}
	switch {
	case m.idState != "present":
		return replyIDAbsent
	case f.req.has(m.key):
		return m.kind
	}
	return replyOtherID
}

// bodyWord says what a body is, by its bytes alone.
func bodyWord(text []byte, json bool) string {
	t := bytes.TrimLeft(text, " \t\r\n")
	switch {
	case len(text) == 0:
		return "empty"
	case json:
		return "json"
	case len(t) > 0 && t[0] == '<' && bytes.Contains(bytes.ToLower(t[:min(len(t), 512)]), []byte("<html")),
		bytes.HasPrefix(bytes.ToLower(t[:min(len(t), 16)]), []byte("<!doctype html")):
		return "html"
	}
	return "text"
}

// readStream reads an event stream by the standard: events that a blank line ended, of type message, with data.
func (f *facts) readStream(v *har.View) {
	f.body = "event-stream"
	f.endpoint = endpointAbsent
	events := v.Events()
	own := f.req.key != ""
	found := false
	flow := f.newFlow(v)
	for i := range events {
		e := &events[i]
		f.readFields(e)
		if !e.Complete && e.Len >= wire.MaxJSON {
			f.limit = "an event of the stream is longer than 64 MiB"
		}
		if len(e.Data) == 0 || found {
			f.readBehind(v, e, found)
			flow.item(e, nil)
			continue
		}
		if e.Type == "endpoint" && e.Complete {
			f.readEndpoint(v, string(e.Data))
			continue
		}
		if !e.Complete || e.Type != "" && e.Type != "message" {
			f.readOddEvent(v, e)
			continue
		}
		var m message
		m, found = f.readEvent(v, e)
		found = found && own
		flow.item(e, &m)
	}
	flow.end()
	f.jsonInStream = len(events) < 2 && f.plainJSON(v)
	body, err := v.ResponseBody()
	if bytes.HasPrefix(body, []byte(bom)) {
		f.bom = bomAt(v)
	}
	if limitOf(err, &wire.RPC{}) != "" {
		f.limit = err.Error()
	} else if err != nil && f.answer == whole {
		f.undecoded = clip(err.Error())
	}
	if f.limit != "" && !found {
		f.kind, f.via = anyReply, anyVia
		return
	}
	ended := f.answer&^(whole|cut|stalled) == 0 && f.answer&(f.answer-1) == 0
	if !ended && !found {
		f.kind |= replyResult | replyError
		f.endpoint |= endpointSame
	}
}

func (f *facts) readFields(e *wire.Event) {
	f.comments += e.Comments
	if !e.Complete {
		return
	}
	if e.Data != nil {
		f.events++
	}
	if e.HasID && e.ID != "" {
		f.eventID, f.lastEventID = true, clip(e.ID)
	}
	if e.Retry >= 0 {
		f.retryMS = e.Retry
	}
}

func (f *facts) readEndpoint(v *har.View, data string) {
	if f.endpointURL != "" {
		return
	}
	f.endpointURL = resolve(v.X.URL, data)
	f.endpoint = endpointForeign
	if o := originOf(f.endpointURL); o != "" && o == originOf(v.X.URL) {
		f.endpoint = endpointSame
	}
	if f.endpoint == endpointSame && v.Request != nil && strings.Contains(data, "://") {
		if asked := v.Request.Get("Host"); asked != "" && !strings.EqualFold(asked, hostIn(v.X.URL)) {
			f.endpoint, f.endpointPast = endpointForeign, true
		}
	}
}

// hostIn is the host and port of an absolute URL as they stand there.
func hostIn(raw string) string {
	_, rest, _ := strings.Cut(raw, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// plainJSON tells whether the whole body is one JSON object or array.
func (f *facts) plainJSON(v *har.View) bool {
	body, err := v.ResponseBody()
	text := bytes.TrimLeft(body, " \t\r\n")
	return err == nil && len(text) > 0 && (text[0] == '{' || text[0] == '[') && wire.ParseRPC(text).JSON
}

// readBehind looks at an event behind the reply for a second one.
func (f *facts) readBehind(v *har.View, e *wire.Event, found bool) {
	if !found || len(e.Data) == 0 || !e.Complete || f.flow.doubled.ok {
		return
	}
	if m, kind := f.eventMessage(v, e); kind&(replyResult|replyError) != 0 {
		f.flow.doubled = m.at
	}
}

// readEvent reads one message event and tells whether it answered the request.
func (f *facts) readEvent(v *har.View, e *wire.Event) (message, bool) {
	m, kind := f.eventMessage(v, e)
	switch kind {
	case replyResult, replyError:
		f.reply, f.kind, f.via = m, kind, viaEvent
		f.replyAt = f.eventTime(v, e)
		body, _ := v.ResponseBody()
		if e.End() == len(body) && body[e.End()-1] == '\r' {
			f.eventEnd = eventLoneCR
		} else {
			f.eventEnd = eventPlain
		}
		f.odd = f.odd || lineWithoutColon(body[:e.End()])
		return m, true
	case replyOtherID:
		f.keepReply(v, e, m)
	case replyNo:
		if m.idState == "present" {
			f.serverRequests++
		}
	}
	if kind == replyInvalid && !m.rpc20 && !f.flow.junk.ok {
		f.flow.junk = m.at
	}
	f.badEvent = f.badEvent || kind == replyInvalid
	f.odd = f.odd || f.badEvent
	if rank(kind) > rank(f.kind) {
		f.reply, f.kind = m, kind
	}
	return m, false
}

// rank orders what a stream without a reply is taken for: a malformed reply before anything else.
func rank(kind set) int {
	return slices.Index([]set{replyNone, replyNo, replyOtherID, replyIDAbsent, replyInvalid}, kind)
}

func (f *facts) eventMessage(v *har.View, e *wire.Event) (message, set) {
	rpc := wire.ParseRPC(e.Data)
	f.conformEvent(v, e, &rpc)
	if rpc.TooLarge() {
		f.limit = clip(rpc.Why)
	}
	m := readMessage(&rpc, &f.req)
	kind := f.correlate(&m)
	if rpc.Kind == wire.Batch || !rpc.JSON {
		kind = replyInvalid // an event carries one message
		m.kind = kind
	}
	raw, ok := v.At(wire.ToClient, e.Span)
	m.at = spanned{raw.Off, raw.Len, ok}
	m.errAt, m.dup = spanned{}, nil
	for _, d := range rpc.Duplicates {
		m.dup = append(m.dup, duplicate{clip(d.Name), m.at})
	}
	return m, kind
}

// readOddEvent looks for the reply where the standard does not: under another event type, or without the blank line. Some
// clients read it there, so it is kept as a fact and not as the reply.
func (f *facts) readOddEvent(v *har.View, e *wire.Event) {
	m, kind := f.eventMessage(v, e)
	if kind&(replyResult|replyError) == 0 || f.kind&(replyResult|replyError) != 0 {
		return
	}
	f.eventEnd = eventTyped
	if !e.Complete {
		f.eventEnd = eventUnterminated
	}
	f.reply.at = m.at
}

func (f *facts) keepReply(v *har.View, e *wire.Event, m message) {
	if len(f.stream) >= maxStreamReplies {
		f.dropped++
		return
	}
	f.stream = append(f.stream, streamReply{key: m.key, at: f.started.Add(f.eventTime(v, e)), msg: m})
}

// eventTime gives when an event's last byte had come.
func (f *facts) eventTime(v *har.View, e *wire.Event) time.Duration {
	if raw, ok := v.At(wire.ToClient, e.Span); ok {
		return arrival(v.X, raw.End())
	}
	return arrival(v.X, v.Response.End)
}

// lineWithoutColon tells whether an event stream has a field without a value, or begins with a BOM: some clients break
// there.
func lineWithoutColon(stream []byte) bool {
	if bytes.HasPrefix(stream, []byte(bom)) {
		return true
	}
	for len(stream) > 0 {
		line := stream
		if n := bytes.IndexByte(stream, '\n'); n >= 0 {
			line, stream = stream[:n], stream[n+1:]
		} else {
			stream = nil
		}
		for part := range bytes.SplitSeq(line, []byte("\r")) {
			if len(part) > 0 && bytes.IndexByte(part, ':') < 0 {
				return true
			}
		}
	}
	return false
}

// knownCoding tells whether a Content-Encoding is one that HTTP libraries undo.
func knownCoding(encoding string) bool {
	last := strings.ToLower(strings.TrimSpace(encoding[strings.LastIndexByte(encoding, ',')+1:]))
	return last == "gzip" || last == "x-gzip" || last == "deflate" || last == "br"
}
