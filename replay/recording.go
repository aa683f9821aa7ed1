package replay

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// A recording is an exchange made ready to be served. What stands behind taken is guarded by Player.mu.
type recording struct {
	x        *har.Exchange
	end      int           // response bytes that are served
	seen     int           // of those, what came before the client left; the rest is for clients that are still there
	ask      *ask          // nil without a whole request head; its keys are digests
	affinity string        // the session id and Last-Event-ID that its request carried
	whole    bool          // the request is whole by its own framing
	headLen  int           // of the request; 0 without a whole head
	reqEnd   int           // where the request message ends in Request.Raw, tunnel bytes behind it excluded
	wholeAt  time.Duration // when the byte before reqEnd had come, since Started
	early    int           // response bytes that had come before that
	cut      bool          // the server ended the connection before that
	streams  bool          // a GET that asks for an event stream
	length   string        // how the request's length is said, for requests that are known by their head alone
	refused  bool          // the server was never reached: the connection is reset
	tunnel   bool          // a CONNECT whose tunnel was not opened: a client of the server does not ask for it
	short    bool          // a fault ends it before its end
	greeted  bool          // its first bytes were sent when a connection opened

	open bool // while loading: it goes on in what is not loaded

	pattern, loosePattern string // the keys with hidden marks; "" where redaction hid nothing of them
	stream                *stream
	gates                 bool    // gates wait for it
	repliedOn             []*gate // where streams answer this one's requests

	taken     bool
	disturbed bool      // a fault was served in its place
	live      values    // what the client chose
	takenAt   time.Time // when the client's request was whole
	servedAt  time.Time // when the last recorded byte had been sent
	waiting   []*conn
}

// newRecording reads an exchange's request; the response is only read when it must be. known shares what equal requests
// ask.
func newRecording(x *har.Exchange, known *asks) *recording {
	r := &recording{x: x, end: len(x.Evidence()), reqEnd: len(x.Request.Raw)}
	r.seen = r.end
	for _, n := range x.Notes {
		r.tunnel = r.tunnel || strings.HasPrefix(n, har.NoteTunnel+":")
		r.refused = r.refused || strings.HasPrefix(n, har.NoteUpstream+":") && r.end == 0
	}
	m, _ := wire.ParseRequest(x.Request.Raw)
	if m != nil {
		r.headLen = m.Off + m.Len
		r.whole = m.Complete
		r.affinity = affinity(&m.Head)
		r.length = length(&m.Head)
		r.streams = m.Method == "GET" && (x.MediaType == "text/event-stream" || strings.Contains(m.Get("Accept"), "text/event-stream"))
		if m.Complete {
			r.reqEnd = m.End
		}
		r.ask = known.read(&m.Head, bodyOf(m, x.Request.Raw))
		r.hide(m)
	}
	r.wholeAt = atOffset(x.Request.Writes, r.reqEnd-1)
	if r.ask == nil {
		return r
	}
	r.end += r.onItsWay()
	for _, w := range x.Response.Writes {
		if w.At >= r.wholeAt {
			break
		}
		r.early = min(r.early+max(w.Len, 0), r.end)
	}
	r.cut = r.early == r.end && r.serverEnds() && x.EndAt < r.wholeAt
	return r
}

// lateTime is how long after the client had left bytes still count as sent before the server knew; and how soon after its
// request a client leaves that did not wait for the answer.
const lateTime = 100 * time.Millisecond

// onItsWay is how many bytes came so shortly after the client had left that they were on their way, and that make no
// difference to why it left: the rest of a response whose head the client had, on an event stream behind an answer; or the
// answer to a client that did not wait for it. What came later, or on a stream that a GET had opened, may well have come
// because the client left.
func (r *recording) onItsWay() (n int) {
	x := r.x
	if r.end == len(x.Response.Raw) || r.ask == nil || !r.whole {
		return 0
	}
	v := x.View()
	m := v.Response
	switch {
	case m == nil:
		_, m, _ = wire.ParseResponse(x.Response.Raw, r.ask.method, false)
		if m == nil || x.EndAt-r.wholeAt > lateTime || strings.HasPrefix(m.Get("Content-Type"), "text/event-stream") {
			return 0
		}
	case m.Complete, v.SSE() && (r.streams || !replied(v)):
		return 0
	}
	off := 0
	for _, w := range x.Response.Writes {
		off += max(w.Len, 0)
		if off > len(x.Response.Raw) || w.At > x.EndAt+lateTime {
			break
		}
		n = max(off-r.end, 0)
	}
	return n
}

// answer is the response as it is served, nil without a whole head: with what was on its way when the recorded client left.
func (r *recording) answer() *wire.Message {
	if r.end == r.seen {
		return r.x.View().Response
	}
	_, m, _ := wire.ParseResponse(r.x.Response.Raw[:r.end], r.ask.method, false)
	return m
}

// replied tells whether there is an answer among the events that v shows, be it under another id: that too makes clients
// leave.
func replied(v *har.View) bool {
	for _, e := range v.Events() {
		if rpc := wire.ParseRPC(e.Data); e.Dispatched() && rpc.JSON && rpc.Method == "" {
			return true
		}
	}
	return false
}

// atOffset is when the byte at off was seen.
func atOffset(writes []har.Write, off int) (at time.Duration) {
	for _, w := range writes {
		at = max(at, w.At)
		if off -= w.Len; off < 0 {
			break
		}
	}
	return at
}

// affinity is what ties a request to a conversation: the session it names and the event after which it goes on. Both
// were chosen by the server, so that the client sends back what was recorded.
func affinity(h *wire.Head) string {
	session, event := h.Get("Mcp-Session-Id"), h.Get("Last-Event-ID")
	if session == "" && event == "" {
		return ""
	}
	return session + "\n" + event
}

func length(h *wire.Head) string {
	return h.Get("Content-Length") + "/" + h.Get("Transfer-Encoding")
}

// headKey is what is known of a request before its body has come.
func (a *ask) headKey(length string) string { return a.method + " " + a.target + "\n" + length }

// hide makes patterns of the keys where redaction replaced parts of the target or of the body.
func (r *recording) hide(m *wire.Message) {
	target, body, all := r.hiddenIn(m)
	if len(target)+len(body) == 0 {
		return
	}
	h := m.Head
	h.Target = string(hide([]byte(m.Target), target))
	if all {
		a := newAsk(&h, nil, r.ask.match)
		r.pattern, r.loosePattern = a.key+hidden, a.loose+hidden
		return
	}
	masked := newAsk(&h, hide(m.Payload(r.x.Request.Raw), body), r.ask.match)
	if masked.mcp == r.ask.mcp {
		r.pattern, r.loosePattern = masked.key, masked.loose
	}
}

// redacted are the redactions of the request that lie within it.
func (r *recording) redacted() (within []har.Redaction) {
	size := len(r.x.Request.Raw)
	for _, red := range r.x.Redacted {
		if red.Dir == wire.ToServer && red.Off >= 0 && red.Off < size && red.Len > 0 && red.Len <= size-red.Off {
			within = append(within, red)
		}
	}
	return within
}

// hiddenIn spans what redaction replaced of the target and of the payload, in order. all: the payload as a whole.
func (r *recording) hiddenIn(m *wire.Message) (target, body []wire.Span, all bool) {
	raw, at := r.x.Request.Raw, -1
	for _, red := range r.redacted() {
		if at < 0 {
			at = m.Off + bytes.Index(raw[m.Off:m.Off+m.Len], []byte(m.Method)) + len(m.Method)
			at += max(bytes.Index(raw[at:], []byte(m.Target)), 0)
		}
		if red.Off >= at && red.Off+red.Len <= at+len(m.Target) {
			target = append(target, wire.Span{Off: red.Off - at, Len: red.Len})
		}
		base := 0
		for _, s := range m.Body {
			from, to := max(red.Off, s.Off), min(red.Off+red.Len, s.End())
			if from < to {
				body = append(body, wire.Span{Off: base + from - s.Off, Len: to - from})
			}
			base += s.Len
		}
		all = all || red.Kind == "body-encoded" && len(body) > 0 || len(body) == 1 && body[0].Len == base
	}
	byOffset := func(a, b wire.Span) int { return a.Off - b.Off }
	slices.SortFunc(target, byOffset)
	slices.SortFunc(body, byOffset)
	return target, body, all
}

// answered is when the last byte of the response came, by the recording's own clock.
func (r *recording) answered() time.Time {
	at := time.Duration(0)
	if n := len(r.x.Response.Writes); r.end > 0 && n > 0 {
		at = atOffset(r.x.Response.Writes, r.end-1)
	} else if r.x.End != har.EndKeep && r.x.End != har.EndUnknown {
		at = r.x.EndAt
	}
	return r.x.Started.Add(at)
}

// serverEnds tells whether it was the server that ended the connection.
func (r *recording) serverEnds() bool {
	switch r.x.End {
	case har.EndFIN, har.EndNoCloseNotify, har.EndRST:
		return true
	}
	return r.refused
}

// covers tells whether what has come of a request, with its head of that length, begins with the recorded request.
func (r *recording) covers(got []byte, headLen int) bool {
	return len(got)-headLen >= len(r.x.Request.Raw)-r.headLen && r.agrees(got, headLen)
}

// agrees tells whether what has come of a request, with its head of that length, and the recorded one are the same behind
// their heads, as far as both go. What redaction has replaced is compared by length.
func (r *recording) agrees(got []byte, headLen int) bool {
	want, from := r.x.Request.Raw, r.headLen
	n := min(len(want)-from, len(got)-headLen)
	want, got = want[:from+n], got[headLen:headLen+n]
	for _, red := range r.redacted() {
		if red.Off+red.Len <= from || red.Off >= len(want) {
			continue
		}
		if red.Off > from && !bytes.Equal(got[:red.Off-from], want[from:red.Off]) {
			return false
		}
		skip := min(red.Off+red.Len, len(want)) - from
		got, from = got[skip:], from+skip
	}
	return bytes.Equal(got, want[from:])
}
