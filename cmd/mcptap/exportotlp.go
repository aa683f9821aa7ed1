package main

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/mcptap/mcptap/analyze"
)

// An otlpSpan is a span of OpenTelemetry in the JSON form of its protocol (OTLP 1.x, "JSON Protobuf Encoding"): ids in hex,
// 64-bit numbers as strings.
type otlpSpan struct {
	Trace  string      `json:"traceId"`
	Span   string      `json:"spanId"`
	Parent string      `json:"parentSpanId,omitempty"`
	Name   string      `json:"name"`
	Kind   int         `json:"kind"`
	Start  string      `json:"startTimeUnixNano"`
	End    string      `json:"endTimeUnixNano"`
	Attrs  otlpAttrs   `json:"attributes"`
	Events []otlpEvent `json:"events,omitempty"`
	Status *otlpStatus `json:"status,omitempty"`
}

type otlpEvent struct {
	At    string    `json:"timeUnixNano"`
	Name  string    `json:"name"`
	Attrs otlpAttrs `json:"attributes"`
}

type otlpStatus struct {
	Code    int    `json:"code"`
	Message string `json:"message,omitempty"`
}

// The numbers of SpanKind and Status.
const (
	otlpInternal = 1
	otlpClient   = 3
	otlpError    = 2
)

type otlpAttr struct {
	Key   string            `json:"key"`
	Value map[string]string `json:"value"`
}

type otlpAttrs []otlpAttr

// text adds an attribute unless it is empty.
func (l *otlpAttrs) text(key, value string) {
	if value != "" {
		*l = append(*l, otlpAttr{key, map[string]string{"stringValue": value}})
	}
}

func (l *otlpAttrs) number(key string, value int) {
	*l = append(*l, otlpAttr{key, map[string]string{"intValue": strconv.Itoa(value)}})
}

// otlpTime is nanoseconds since 1970, forced into what 64 bits hold.
func otlpTime(t time.Time) string {
	switch y := t.UTC().Year(); {
	case y < 1970:
		return "0"
	case y > 2261:
		return strconv.FormatInt(math.MaxInt64, 10)
	}
	return strconv.FormatInt(t.UnixNano(), 10)
}

// id makes an id of so many bytes from the recording and what it is for, so that the same recording has the same ids.
func (t *timeline) id(size int, what string, n int) string {
	sum := sha256.Sum256(fmt.Appendf(t.digest[:len(t.digest):len(t.digest)], "%s %d", what, n))
	return hex.EncodeToString(sum[:size])
}

// writeOTLP writes a recording as spans: a trace per conversation, whose span is above those of its exchanges.
func (a *app) writeOTLP(w io.Writer, name string) error {
	t, err := a.timeline(name)
	if err != nil {
		return err
	}
	var resource otlpAttrs
	resource.text("service.name", "mcptap")
	head, err := json.Marshal(resource)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, `{"resourceSpans":[{"resource":{"attributes":%s},"scopeSpans":[{"scope":{"name":"github.com/mcptap/mcptap"},"spans":[`, head)
	list := &jsonList{w: out}
	periods := t.periods()
	for i := range t.Conversations {
		c := &t.Conversations[i]
		list.add(t.conversationSpan(c, periods[c.ID]))
	}
	for i := range t.spans {
		list.add(t.exchangeSpan(&t.spans[i]))
	}
	if list.err != nil {
		return list.err
	}
	io.WriteString(out, "\n]}]}]}\n")
	return out.Flush()
}

// A period is from the first exchange of a conversation to the end of its last.
type period struct{ begin, end time.Time }

func (t *timeline) periods() map[int]period {
	all := map[int]period{}
	for i := range t.spans {
		x := &t.spans[i]
		p, met := all[x.Conversation]
		if !met || x.began.Before(p.begin) {
			p.begin = x.began
		}
		if over := x.began.Add(x.lasted); over.After(p.end) {
			p.end = over
		}
		all[x.Conversation] = p
	}
	return all
}

func (t *timeline) conversationSpan(c *analyze.Conversation, p period) *otlpSpan {
	s := &otlpSpan{Trace: t.id(16, "trace", c.ID), Span: t.id(8, "conversation", c.ID), Name: conversationTitle(c), Kind: otlpInternal, Start: otlpTime(p.begin), End: otlpTime(p.end)}
	s.Attrs.text("mcptap.transport", c.Transport)
	s.Attrs.text("url.full", c.Endpoint)
	s.Attrs.text("mcptap.client.name", c.Client.Name)
	s.Attrs.text("mcptap.client.version", c.Client.Version)
	s.Attrs.text("mcptap.server.name", c.Server.Name)
	s.Attrs.text("mcptap.server.version", c.Server.Version)
	s.Attrs.text("mcptap.outcome", string(c.Observed.Outcome))
	return s
}

func (t *timeline) exchangeSpan(x *timed) *otlpSpan {
	o, v := x.Observation(), x.verdict()
	s := &otlpSpan{Trace: t.id(16, "trace", x.Conversation), Span: t.id(8, "exchange", x.N), Name: x.title(), Kind: otlpClient,
		Start: otlpTime(x.began), End: otlpTime(x.began.Add(x.lasted)), Status: failure(o)}
	if x.Conversation > 0 {
		s.Parent = t.id(8, "conversation", x.Conversation)
	}
	s.Attrs.number("mcptap.exchange", x.N)
	s.Attrs.number("mcptap.connection", int(x.conn))
	s.Attrs.text("mcptap.class", x.Class)
	s.Attrs.text("mcptap.verdict", v.Verdict)
	s.Attrs.text("mcptap.rule", v.Rule)
	s.Attrs.text("mcptap.end", o.End)
	s.Attrs.text("mcp.method.name", o.RPCMethod)
	s.Attrs.text("mcp.session.id", o.Session)
	s.Attrs.text("mcp.protocol.version", cmp.Or(o.Header, o.Version))
	s.Attrs.text("jsonrpc.request.id", string(o.RPCID))
	s.Attrs.text("http.request.method", o.Method)
	s.Attrs.text("url.full", o.URL)
	if o.Status > 0 {
		s.Attrs.number("http.response.status_code", o.Status)
	}
	s.Attrs.number("mcptap.request.size", o.Request)
	s.Attrs.number("mcptap.response.size", o.Response)
	for _, e := range x.events {
		var attrs otlpAttrs
		attrs.number("mcptap.data.size", e.size)
		s.Events = append(s.Events, otlpEvent{otlpTime(x.began.Add(e.at)), e.kind, attrs})
	}
	return s
}

// failure is the status of a span whose exchange went wrong by itself, whatever a policy makes of it; nil for others.
func failure(o *analyze.Observation) *otlpStatus {
	switch {
	case o.Complete != nil && !*o.Complete:
		return &otlpStatus{otlpError, words("incomplete: " + o.End)}
	case o.Error != nil:
		return &otlpStatus{otlpError, words(o.Error.Message)}
	case o.Status >= 400:
		return &otlpStatus{otlpError, "HTTP " + strconv.Itoa(o.Status)}
	}
	return nil
}
