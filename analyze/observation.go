package analyze

import (
	"bytes"
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// observe reads an exchange once and keeps what any policy or finding may ask. The result holds none of its bytes.
func observe(x *har.Exchange) *facts { return newObserver().observe(x) }

// observe is the function of that name.
func (o *observer) observe(x *har.Exchange) *facts {
	v := &o.view
	v.Read(x)
	if v.Stdio {
		return o.observeStdio(x, v)
	}
	at, server := o.address(x.URL), o.text(x.Server)
	o.head = headFacts{}
	f := &facts{
		head: &o.head,
		n:    x.N, conn: x.Conn, client: o.text(hostOf(x.Client)), server: server, url: at.url, query: at.query, origin: cmp.Or(at.origin, server),
		started: x.Started, end: x.End, complete: v.Complete, late: v.Late, httpMethod: o.text(x.Method),
		transport: overHTTP, reqBytes: len(x.Request.Raw), respBytes: len(x.Response.Raw),
		replyAt: -1, retryMS: -1, endpoint: anyEndpoint,
	}
	for _, note := range x.Notes {
		f.notes = append(f.notes, clip(note))
	}
	if v.Request == nil || v.Request.Proto == "HTTP/2.0" {
		f.requestAlien = alienOf(x.Request.Raw)
	}
	f.readRequest(o, v)
	f.readTimes(x, v)
	f.readAnswer(o, x, v)
	f.readAnswerHead(v)
	f.classify()
	f.readReply(v)
	f.readOAuth(v)
	if name, to := OAuthPastProxy(v); to != nil {
		f.head.past = pastFacts{name, o.text(to.Scheme + "://" + to.Host)}
	}
	f.readIfClosed(v)
	f.readLax(o, v)
	f.mcp = f.mcp || f.looksMCP()
	f.shareHead(o.sharedHead())
	return f
}

func hostOf(addr string) string {
	if i := strings.LastIndexByte(addr, ':'); i > 0 {
		addr = addr[:i]
	}
	return addr
}

// addressOf takes a URL apart; what is behind # is left out.
func addressOf(s string) address {
	s = clipLong(s)
	if i := strings.IndexByte(s, '#'); i >= 0 {
		s = s[:i]
	}
	var a address
	a.url, a.query, _ = strings.Cut(s, "?")
	a.origin = originOf(a.url)
	return a
}

// originOf gives scheme and host of an absolute URL, "" for anything else.
func originOf(s string) string {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return ""
	}
	host, _, _ := strings.Cut(rest, "/")
	return strings.ToLower(scheme + "://" + host)
}

func (f *facts) path() string { return strings.TrimPrefix(f.url, originOf(f.url)) }

// clipLong bounds a URL; longer ones keep their beginning.
func clipLong(s string) string {
	const most = 2000
	if len(s) > most {
		s = s[:most]
	}
	return strings.Clone(strings.ToValidUTF8(s, "\uFFFD"))
}

// readIfClosed reads a body that lasts until the connection ends, and was reset, as some HTTP libraries do: as whole.
func (f *facts) readIfClosed(v *har.View) {
	if v.Response == nil || v.Response.Framing != wire.ByClose || f.answer != cut || f.media == mediaStream {
		return
	}
	c := *f
	c.answer, c.conf = whole, nil
	c.readReply(v)
	f.ifClosed = &c
}

// readTimes finds when the answer began and when it was over: when it was whole, else when the exchange ended.
func (f *facts) readTimes(x *har.Exchange, v *har.View) {
	f.firstByte = -1
	last := time.Duration(0)
	got := 0
	for _, w := range x.Response.Writes {
		if got >= len(x.Response.Raw)-v.Late {
			break
		}
		if f.firstByte < 0 {
			f.firstByte = w.At
		}
		last, got = w.At, got+w.Len
	}
	for _, w := range x.Request.Writes {
		last = max(last, w.At)
	}
	if x.End != har.EndKeep && x.End != har.EndUnknown && !endsItself(v) {
		last = max(last, x.EndAt)
	}
	f.finished = x.Started.Add(last)
}

// endsItself tells whether the answer was whole by its own framing, so that the end of the connection, which may come much
// later, is no part of it.
func endsItself(v *har.View) bool {
	m := v.Response
	return m != nil && m.Complete && m.Framing != wire.ByClose && m.Status != 101
}

// arrival gives when the byte before response offset off had come.
func arrival(x *har.Exchange, off int) time.Duration {
	got := 0
	for _, w := range x.Response.Writes {
		if got += w.Len; got >= off {
			return w.At
		}
	}
	return 0
}

// readAnswer finds how much of an answer came and what kind of body it has.
func (f *facts) readAnswer(o *observer, x *har.Exchange, v *har.View) {
	f.answer = answerOf(x, v)
	for i := range v.Interim {
		f.interim = append(f.interim, v.Interim[i].Status)
	}
	if v.Response == nil {
		f.readHeadless(x, v)
		f.media = 0
		if f.answer&^(unreachable|nothing|malformed|silence) == 0 {
			f.media = mediaNone
		}
		return
	}
	h := v.Response
	f.status, f.reason, f.headBytes = h.Status, o.text(h.Reason), h.Len
	f.mediaType, f.media = mediaOf(&h.Head)
	f.served = servedBy(h)
	f.encoding = o.text(h.Get("Content-Encoding"))
	f.retry, f.challenge, f.issued = o.text(h.Get("Retry-After")), o.text(h.Get("WWW-Authenticate")), o.text(h.Get("Mcp-Session-Id"))
	f.faults = v.Response.Faults
	if p := h.Proto; p != "HTTP/1.1" && p != "HTTP/1.0" && p != "HTTP/2.0" && p != "HTTP/0.9" {
		f.faults = append(slices.Clone(f.faults), "unknown HTTP version")
	}
	if at := mediaFault(x.Response.Raw[v.Response.Off:], &h.Head); at {
		f.faults = append(slices.Clone(f.faults), spacedMedia)
	}
	if loc := h.Get("Location"); loc != "" && h.Status/100 == 3 {
		f.location = resolve(x.URL, loc)
	}
	if t := v.ResponseTail; t.Len > 0 && v.Response.Complete {
		f.extra = spanned{t.Off, t.Len, true}
	}
	if n := bytes.IndexByte(x.Response.Raw[v.Response.Off:], '\n'); n >= 0 {
		f.statusAt = spanned{v.Response.Off, n + 1, true}
	}
	f.bodyAt = spanned{v.Response.Off + v.Response.Len, v.Response.End - v.Response.Off - v.Response.Len, true}
}

// answerOf tells how much of the answer had come when the exchange ended.
func answerOf(x *har.Exchange, v *har.View) set {
	for _, note := range x.Notes {
		if strings.HasPrefix(note, "upstream:") && v.Response == nil {
			return unreachable
		}
	}
	switch {
	case lossy(x) && v.Response == nil:
		return anyAnswer &^ unreachable
	case lossy(x):
		return cut | stalled | whole
	case v.Response == nil:
		return headless(x, v)
	}
	m := v.Response
	switch {
	case m.Complete:
		return whole
	case m.Framing == wire.Unframable || brokenChunks(m.Faults):
		return malformed
	}
	switch x.End {
	case har.EndFIN, har.EndNoCloseNotify, har.EndRST:
		return cut
	case har.EndClientFIN, har.EndClientRST, har.EndHang:
		return stalled
	}
	return cut | stalled | whole
}

// lossy tells whether bytes of the exchange are known to be missing or doubtful: a packet capture lost them, did not keep
// them, began behind them, or holds two copies that differ.
func lossy(x *har.Exchange) bool {
	return slices.ContainsFunc(x.Notes, func(note string) bool {
		switch word, _, _ := strings.Cut(note, ":"); word {
		case har.NoteGap, har.NoteSnaplen, har.NoteStart, har.NoteConflict, har.NoteLimit:
			return true
		}
		return false
	})
}

// headless is answerOf for an exchange without a final response head.
func headless(x *har.Exchange, v *har.View) set {
	if notHTTP(headStart(x, v)) {
		return malformed
	}
	switch x.End {
	case har.EndFIN, har.EndNoCloseNotify, har.EndRST:
		return nothing
	case har.EndClientFIN, har.EndClientRST, har.EndHang:
		return silence
	}
	return anyAnswer &^ unreachable
}

// headStart gives the bytes that came where the final response's head was awaited.
func headStart(x *har.Exchange, v *har.View) []byte {
	raw := x.Response.Raw[:len(x.Response.Raw)-v.Late]
	if n := len(v.Interim); n > 0 {
		raw = raw[min(v.Interim[n-1].End, len(raw)):]
	}
	return raw
}

// readHeadless keeps where the bytes are that stand in place of a response head.
func (f *facts) readHeadless(x *har.Exchange, v *har.View) {
	raw := headStart(x, v)
	f.headless = spanned{len(x.Response.Raw) - v.Late - len(raw), len(raw), len(raw) > 0}
	f.alien = alienOf(raw)
}

// notHTTP tells whether bytes cannot be the beginning of a response head.
func notHTTP(raw []byte) bool {
	raw = bytes.TrimLeft(raw, "\r\n")
	const start = "HTTP/1."
	n := min(len(raw), len(start))
	return !strings.EqualFold(string(raw[:n]), start[:n]) || bytes.Contains(raw, []byte("\r\n\r\n")) || bytes.Contains(raw, []byte("\n\n"))
}

// brokenChunks tells whether the chunked framing was given up by the parser.
func brokenChunks(faults []string) bool {
	for _, f := range faults {
		switch f {
		case "malformed chunk size", "chunk data not followed by CRLF", "chunk-size line too long", "trailer section too long":
			return true
		}
	}
	return false
}

// mediaOf reads the Content-Type as clients do: the type alone, parameters ignored.
func mediaOf(h *wire.Head) (string, set) {
	value, ok := h.Lookup("Content-Type")
	t, _, _ := strings.Cut(value, ";")
	t = strings.ToLower(strings.TrimSpace(t))
	switch {
	case !ok || t == "":
		return "", mediaNone
	case t == "application/json":
		return t, mediaJSON
	case t == "text/event-stream":
		return t, mediaStream
	}
	return clip(t), mediaOther
}

// spacedMedia is the fault of a head whose Content-Type strict parsers do not see.
const spacedMedia = "space before the colon of Content-Type"

// mediaFault tells whether white space stands before the colon of Content-Type: strict parsers then see no such field.
func mediaFault(head []byte, h *wire.Head) bool {
	for _, fd := range h.Fields {
		if strings.EqualFold(fd.Name, "Content-Type") {
			before := bytes.TrimRight(head[:min(fd.At.Off, len(head))], " \t")
			before, colon := bytes.CutSuffix(before, []byte(":"))
			return colon && len(before) > 0 && (before[len(before)-1] == ' ' || before[len(before)-1] == '\t')
		}
	}
	return false
}

// resolve makes a Location or an endpoint absolute, "" if it is no URL.
func resolve(base, ref string) string {
	b, err := url.Parse(base)
	if err != nil {
		return ""
	}
	r, err := b.Parse(ref)
	if err != nil {
		return ""
	}
	r.Fragment = ""
	return clipLong(r.String())
}
