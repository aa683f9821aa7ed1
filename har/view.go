package har

import (
	"fmt"
	"strings"

	"github.com/mcptap/mcptap/har/wire"
)

// A View is what can be read from an exchange's bytes. What came after the client had left is not looked at. It is not
// safe for concurrent use, and shows the exchange as it was when View was called.
type View struct {
	X                         *Exchange
	Request                   *wire.Message // nil without a whole request head
	Interim                   []wire.Message
	Response                  *wire.Message // the final response; nil without a whole head
	RequestTail, ResponseTail wire.Span     // bytes that belong to no message
	Late                      int           // response bytes that came after the client had left
	Complete                  Tri           // True: both whole by their own framing; False: known cut or no response
	Why                       string        // for Complete that is not True
	Stdio                     bool          // lines of a process: there are no heads, a body is a line without its end

	request, response         wire.Message
	requestBody, responseBody content
	events                    []wire.Event
	eventsDone                bool
}

// content is a body with its Content-Encoding undone, once asked for.
type content struct {
	done    bool
	encoded bool
	bytes   []byte
	err     error
}

// View parses the exchange. The result refers to the exchange's bytes.
func (x *Exchange) View() *View {
	v := &View{}
	v.Read(x)
	return v
}

// Read makes v the View of another exchange. What it showed before is no longer valid: its memory is used again.
func (v *View) Read(x *Exchange) {
	if x.Stdio() {
		*v = *x.viewStdio()
		return
	}
	*v = View{X: x, request: v.request, response: v.response}
	var ok bool
	method := x.Method
	if v.RequestTail, ok = v.request.ReadRequest(x.Request.Raw); ok {
		v.Request, method = &v.request, v.request.Method
	}
	seen := x.Evidence()
	v.Late = len(x.Response.Raw) - len(seen)
	closed := x.End == EndFIN || x.End == EndNoCloseNotify
	if v.Interim, v.ResponseTail, ok = v.response.ReadResponse(seen, method, closed); ok {
		v.Response = &v.response
	}
	v.Complete, v.Why = v.complete()
}

// Evidence is the part of the response that the client can have seen: all but what came after it had left.
func (x *Exchange) Evidence() []byte {
	if (x.End == EndClientFIN || x.End == EndClientRST) && x.EndOff < len(x.Response.Raw) {
		return x.Response.Raw[:max(x.EndOff, 0)]
	}
	return x.Response.Raw
}

// complete judges design.md's `complete` and says why it is not true. Bytes behind the end of a message do not matter.
func (v *View) complete() (Tri, string) {
	x := v.X
	for _, n := range x.Notes {
		switch word, _, _ := strings.Cut(n, ":"); word {
		case NoteLimit:
			return False, n
		case NoteGap, NoteSnaplen, NoteStart, NoteConflict, NoteHAR, NoteTunnel:
			return Unknown, n
		}
	}
	requestWhole := v.Request != nil && v.Request.Complete
	responseWhole := v.Response != nil && v.Response.Complete
	switch {
	case responseWhole && v.Response.Framing == wire.ByClose && x.End == EndNoCloseNotify:
		return Unknown, "the body lasts until the connection ends, and that came without a close_notify (RFC 9112 section 9.8)"
	case requestWhole && responseWhole:
		return True, ""
	case v.Request != nil && v.Request.Framing == wire.Unframable:
		return Unknown, "where the request ends cannot be known: " + strings.Join(v.Request.Faults, ", ")
	case v.Response != nil && v.Response.Framing == wire.Unframable:
		return Unknown, "where the response ends cannot be known: " + strings.Join(v.Response.Faults, ", ")
	}
	why := v.missing(requestWhole)
	switch {
	case x.End == EndStopped:
		return Unknown, why + " when the recording ended"
	case x.upstreamNote() != "":
		return False, why + ": " + x.upstreamNote()
	case x.End == EndUnknown || x.End == "":
		return Unknown, why + ", and how the exchange ended is not known"
	}
	return False, why
}

// missing says what is not whole.
func (v *View) missing(requestWhole bool) string {
	x := v.X
	switch {
	case v.Request == nil && len(x.Request.Raw) == 0:
		return "there is no request"
	case v.Request == nil:
		return "the request's head is not whole"
	case !requestWhole:
		return "the request's body is not whole: " + v.bodySoFar(v.Request)
	case len(x.Response.Raw)-v.Late == 0:
		return "there is no response"
	case v.Response == nil && v.ResponseTail.Len == 0:
		return "there is no response but interim ones"
	case v.Response == nil:
		return "the response's head is not whole"
	}
	return "the response's body is not whole: " + v.bodySoFar(v.Response)
}

func (v *View) bodySoFar(m *wire.Message) string {
	have := 0
	for _, s := range m.Body {
		have += s.Len
	}
	switch m.Framing {
	case wire.ByLength:
		return fmt.Sprintf("%d of %d bytes", have, m.Length)
	case wire.ByChunks:
		return fmt.Sprintf("%d bytes without the last chunk", have)
	}
	return fmt.Sprintf("%d bytes", have)
}

// upstreamNote returns the note that says that the server was never reached, "" if there is none.
func (x *Exchange) upstreamNote() string {
	for _, n := range x.Notes {
		if strings.HasPrefix(n, NoteUpstream+":") {
			return n
		}
	}
	return ""
}

// RequestBody returns the request's payload with Content-Encoding undone as far as it goes.
func (v *View) RequestBody() []byte {
	v.requestBody.load(v.Request, v.X.Request.Raw)
	return v.requestBody.bytes
}

// ResponseBody returns the final response's payload with Content-Encoding undone as far as it goes. err says what was
// left undone: an unknown or corrupt encoding, or a limit.
func (v *View) ResponseBody() ([]byte, error) {
	v.responseBody.load(v.Response, v.X.Response.Raw)
	return v.responseBody.bytes, v.responseBody.err
}

func (c *content) load(m *wire.Message, raw []byte) {
	if c.done {
		return
	}
	c.done = true
	if m == nil {
		return
	}
	encoding := contentEncoding(m)
	c.encoded = encoding != "" && !strings.EqualFold(encoding, "identity")
	c.bytes, c.err = DecodeContent(encoding, m.Payload(raw), 0)
}

// contentEncoding joins the lines of the Content-Encoding field (RFC 9110 section 5.3).
func contentEncoding(m *wire.Message) string {
	list := ""
	for i := range m.Fields {
		if f := &m.Fields[i]; strings.EqualFold(f.Name, "Content-Encoding") {
			if list != "" {
				list += ", "
			}
			list += f.Value
		}
	}
	return list
}

// SSE tells whether the final response is an event stream.
func (v *View) SSE() bool {
	return v.Response != nil && MediaTypeOf(&v.Response.Head) == "text/event-stream"
}

// Events returns the events of an event-stream response; offsets are within ResponseBody.
func (v *View) Events() []wire.Event {
	if !v.eventsDone && v.SSE() {
		body, _ := v.ResponseBody()
		v.events = wire.SplitEvents(body)
	}
	v.eventsDone = true
	return v.events
}

// At maps a span of a body to a span of the exchange's raw bytes: from the first byte to behind the last, chunk framing
// between them included. ok is false where the body was encoded, and for a span that is not within the body.
func (v *View) At(d wire.Dir, body wire.Span) (raw wire.Span, ok bool) {
	m, c, bytes := v.Request, &v.requestBody, v.X.Request.Raw
	if d == wire.ToClient {
		m, c, bytes = v.Response, &v.responseBody, v.X.Response.Raw
	}
	c.load(m, bytes)
	if v.Stdio {
		return body, body.Off >= 0 && body.Len >= 0 && body.Off <= len(c.bytes)-body.Len
	}
	if m == nil || c.encoded || body.Off < 0 || body.Len < 0 || body.Off > len(c.bytes)-body.Len {
		return wire.Span{}, false
	}
	raw.Off = m.RawOffset(body.Off)
	if body.Len > 0 {
		raw.Len = m.RawOffset(body.End()-1) + 1 - raw.Off
	}
	return raw, true
}
