package diff

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// Options choose what counts as a difference.
type Options struct {
	Policies []string // whose verdicts are compared; nil: recommended
	Ignore   []string // paths, as Change has them, where nothing counts; * stands for one step, what lies below is included
	Bytes    bool     // answers are compared byte for byte
	Left     bool     // what a stream brings beyond the events after which its recorded client left is no change
	Factor   float64  // an answer that takes this many times as long or as short is a change, if that is 100 ms; 0: none is
}

// ignores tells whether a path, or one above it, is to be ignored.
func (o *Options) ignores(path string) bool {
	for _, p := range o.Ignore {
		if covers(strings.Split(p, "/"), strings.Split(path, "/")) {
			return true
		}
	}
	return false
}

func covers(pattern, path []string) bool {
	if len(pattern) > len(path) {
		return false
	}
	for i, step := range pattern {
		if step != "*" && step != path[i] {
			return false
		}
	}
	return true
}

// A Change is one difference. Was and Now are as text, of at most 200 bytes; "" if there is nothing.
type Change struct {
	Kind string `json:"kind"` // Kinds has them all
	Path string `json:"path"` // in a JSON answer: a JSON pointer, with names in place of indexes where elements have names
	Was  string `json:"was"`
	Now  string `json:"now"`
}

// Kinds are the words of Change.Kind, and what they mean.
var Kinds = [][2]string{
	{"added", "asked for only in the second"},
	{"removed", "asked for only in the first"},
	{"moved", "asked for in another order"},
	{"request", "the request asks for something else in the same place"},
	{"status", "HTTP status of the answer, 0: none"},
	{"header", "a header field that clients act on"},
	{"protocol-version", "the version agreed on, or those that the server names"},
	{"capabilities", "the server's capabilities"},
	{"server-info", "the server's name and version"},
	{"tool", "a tool is new, gone or another: description, schema, annotations"},
	{"prompt", "the same of a prompt"},
	{"resource", "the same of a resource or a template"},
	{"error", "the error of an answer, or that there is one"},
	{"body", "another place of the answer"},
	{"order", "elements of the answer stand in another order"},
	{"event", "a message in the stream beside the answer"},
	{"bytes", "the bytes of the answer, with Bytes"},
	{"ending", "how the connection ended, or whether the answer is whole"},
	{"time", "how long it took, with Factor"},
	{"verdict", "a policy's verdict on the exchange"},
	{"outcome", "what becomes of the connect: observed, or predicted by a policy"},
}

// fields are the header fields of an answer that clients act on. Of a session only that there is one is compared.
var fields = []string{"Content-Type", "Content-Encoding", "Mcp-Session-Id", "Mcp-Protocol-Version", "WWW-Authenticate", "Allow", "Location",
	"Retry-After", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers"}

const sessionField = "Mcp-Session-Id"

// Answers compares the answers to one request, asked twice. The JSON-RPC id of a reply that is its request's own, session ids,
// cursors and ids of events differ by themselves and count as equal.
func Answers(was, now *har.Exchange, o Options) []Change {
	c := &comparer{o: &o, hidden: append(hiddenIn(was), hiddenIn(now)...)}
	a, b := was.View(), now.View()
	c.heads(was, now, a, b)
	if o.Bytes {
		c.bytes(was.Evidence(), now.Evidence())
	} else {
		c.bodies(a, b, o.Left && was.End.Open())
	}
	c.endings(was, now, a, b)
	c.times(was, now)
	return c.changes
}

func (c *comparer) heads(was, now *har.Exchange, a, b *har.View) {
	if x, y := status(a), status(b); x != y {
		c.add("status", "", fmt.Sprint(x), fmt.Sprint(y))
	}
	if a.Response == nil || b.Response == nil || a.Stdio {
		return
	}
	for _, name := range fields {
		x, had := a.Response.Lookup(name)
		y, has := b.Response.Lookup(name)
		if name == "Content-Type" && was.MediaType == now.MediaType {
			continue
		}
		if had != has || x != y && name != sessionField && !c.alike(x, y) {
			c.add("header", name, x, y)
		}
	}
}

// status is that of the answer as far as the client can have seen it.
func status(v *har.View) int {
	if v.Response == nil {
		return 0
	}
	return v.Response.Status
}

func (c *comparer) bytes(was, now []byte) {
	if !bytes.Equal(was, now) {
		i := 0
		for i < len(was) && i < len(now) && was[i] == now[i] {
			i++
		}
		c.add("bytes", fmt.Sprintf("byte %d", i), fmt.Sprintf("%d bytes: %q", len(was), head(was[i:])), fmt.Sprintf("%d bytes: %q", len(now), head(now[i:])))
	}
}

func head(b []byte) []byte { return b[:min(len(b), 60)] }

// A said is one message of an answer.
type said struct {
	text  []byte
	reply bool
	label string
}

// messages takes an answer apart: its body, or the messages of its events.
func messages(v *har.View) (list []said) {
	if !v.SSE() {
		body, _ := v.ResponseBody()
		if len(body) == 0 {
			return nil
		}
		return []said{{text: body, reply: true}}
	}
	for _, e := range v.Events() {
		if !e.Dispatched() || len(e.Data) == 0 {
			continue
		}
		rpc := wire.ParseRPC(e.Data)
		label := rpc.Method
		if e.Type != "" && e.Type != "message" {
			label = e.Type
		}
		list = append(list, said{e.Data, rpc.JSON && rpc.Method == "", label})
	}
	return list
}

// bodies compares what the answers say: replies with replies, what stands beside them in order.
func (c *comparer) bodies(a, b *har.View, left bool) {
	method := wire.ParseRPC(a.RequestBody()).Method
	split := func(v *har.View) (replies, others []said) {
		for _, m := range messages(v) {
			if m.reply {
				replies = append(replies, m)
			} else {
				others = append(others, m)
			}
		}
		return replies, others
	}
	x, besideX := split(a)
	y, besideY := split(b)
	for i := range max(len(x), len(y)) {
		switch {
		case i >= len(y):
			c.add("body", "", string(x[i].text), "")
		case i >= len(x):
			c.add("body", "", "", string(y[i].text))
		default:
			c.reply(method, a, b, x[i].text, y[i].text)
		}
	}
	if left && len(besideX) < len(besideY) {
		besideY = besideY[:len(besideX)]
	}
	c.beside(besideX, besideY)
}

// reply compares two replies, without the ids of their own requests.
func (c *comparer) reply(method string, a, b *har.View, was, now []byte) {
	c.kind = method
	c.opaque = []string{"/result/nextCursor", "/result/requestState", "/access_token", "/refresh_token", "/client_id", "/client_secret"}
	x, okX := decode(was)
	y, okY := decode(now)
	if !okX || !okY {
		if !bytes.Equal(was, now) && !c.alike(string(was), string(now)) {
			c.add("body", "", string(was), string(now))
		}
		return
	}
	if owns(x, a) && owns(y, b) {
		delete(x.(map[string]any), "id")
		delete(y.(map[string]any), "id")
	}
	c.values("", x, y)
}

// owns tells whether a reply carries the id of the request that v shows.
func owns(reply any, v *har.View) bool {
	o, ok := reply.(map[string]any)
	return ok && o["id"] != nil && text(o["id"]) == string(wire.ParseRPC(v.RequestBody()).ID.Raw)
}

// beside compares the other messages of two streams, in order.
func (c *comparer) beside(was, now []said) {
	c.kind, c.opaque = "event", nil
	for i := range max(len(was), len(now)) {
		at := fmt.Sprintf("event %d", i+1)
		switch {
		case i >= len(now):
			c.add("event", at, string(was[i].text), "")
		case i >= len(was):
			c.add("event", at, "", string(now[i].text))
		case was[i].label != now[i].label:
			c.add("event", at, was[i].label, now[i].label)
		case was[i].label != "endpoint":
			c.event(at, was[i].text, now[i].text)
		}
	}
}

func (c *comparer) event(at string, was, now []byte) {
	c.opaque = []string{at + "/id", at + "/params/progressToken"}
	x, okX := decode(was)
	y, okY := decode(now)
	if okX && okY {
		c.values(at, x, y)
	} else if !bytes.Equal(was, now) {
		c.add("event", at, string(was), string(now))
	}
}

// kindAt names the kind of a change at a path of a reply.
func (c *comparer) kindAt(path string) string {
	step := strings.Split(path+"///", "/")
	switch {
	case c.kind == "event":
		return "event"
	case step[1] == "error":
		return "error"
	case step[1] != "result":
		return "body"
	case step[2] == "protocolVersion", step[2] == "supportedVersions":
		return "protocol-version"
	case step[2] == "capabilities" && (c.kind == "initialize" || c.kind == "server/discover"):
		return "capabilities"
	case step[2] == "serverInfo", step[2] == "_meta" && step[3] == "io.modelcontextprotocol~1serverInfo":
		return "server-info"
	case c.kind == "tools/list" && step[2] == "tools":
		return "tool"
	case c.kind == "prompts/list" && step[2] == "prompts":
		return "prompt"
	case step[2] == "resources" && c.kind == "resources/list", step[2] == "resourceTemplates":
		return "resource"
	}
	return "body"
}

// endings compares how the connections ended where that made a difference: where an answer is not whole.
func (c *comparer) endings(was, now *har.Exchange, a, b *har.View) {
	if a.Complete == har.True && b.Complete == har.True || a.Complete == har.Unknown || b.Complete == har.Unknown {
		return
	}
	if a.Complete == b.Complete && (was.End == now.End || was.End.Open() && now.End.Open()) {
		return
	}
	words := func(x *har.Exchange, v *har.View) string {
		if v.Complete == har.True {
			return "whole, " + string(x.End)
		}
		return string(x.End) + ": " + v.Why
	}
	c.add("ending", "", words(was, a), words(now, b))
}

const leastTime = 100 * time.Millisecond

func (c *comparer) times(was, now *har.Exchange) {
	if c.o.Factor <= 0 {
		return
	}
	x, y := took(was), took(now)
	if long, short := max(x, y), min(x, y); long-short >= leastTime && float64(long) >= c.o.Factor*float64(short) {
		c.add("time", "", x.Round(time.Millisecond).String(), y.Round(time.Millisecond).String())
	}
}

// took is the time from the last byte of the request to the last one of the answer, without an answer to the ending.
func took(x *har.Exchange) time.Duration {
	sent, done := time.Duration(0), x.EndAt
	if n := len(x.Request.Writes); n > 0 {
		sent = x.Request.Writes[n-1].At
	}
	if n := len(x.Response.Writes); n > 0 {
		done = x.Response.Writes[n-1].At
	}
	return max(0, done-sent)
}
