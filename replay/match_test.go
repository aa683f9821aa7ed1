package replay

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

func askOf(t testing.TB, request string) *ask {
	t.Helper()
	m, _ := wire.ParseRequest([]byte(request))
	if m == nil {
		t.Fatalf("no request: %q", request)
	}
	return newAsk(&m.Head, bodyOf(m, []byte(request)), MatchParams)
}

func TestKey(t *testing.T) {
	list := post(call("1", "tools/list", ""))
	initialize := func(version, name string) string {
		return post(call("0", "initialize", `{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"`+name+`"}}`))
	}
	for _, tt := range []struct {
		name, a, b  string
		same, loose bool // the keys are equal; equal but for who the client is
	}{
		{"another id", list, post(call(`"x"`, "tools/list", "")), true, true},
		{"header fields", list, post(call("1", "tools/list", ""), "Mcp-Session-Id: s", "X: y"), true, true},
		{"absolute form", list, strings.Replace(list, "/mcp", "http://server.example/mcp", 1), true, true},
		{"no params, empty params", list, post(call("1", "tools/list", "{}")), true, true},
		{"a progress token alone", list, post(call("1", "tools/list", `{"_meta":{"progressToken":7}}`)), true, true},
		{"trace context", post(call("1", "tools/call", `{"_meta":{"traceparent":"00-a","tracestate":"b","baggage":"c","x":1}}`)), post(call("1", "tools/call", `{"_meta":{"x":1}}`)), true, true},
		{"a progress token that is an argument", post(call("1", "tools/call", `{"arguments":{"progressToken":1}}`)), post(call("1", "tools/call", `{"arguments":{"progressToken":2}}`)), false, false},
		{"order of members, white space, escapes", post(call("1", "tools/call", `{"a":{"x":1,"y":[1,2]},"b":"A/\n"}`)), post(call("1", "tools/call", "{ \"b\" : \"\\u0041\\/\\u000a\" ,\n\"a\":{\"y\":[ 1,2 ],\"x\":1}}")), true, true},
		{"order of elements", post(call("1", "m", `{"a":[1,2]}`)), post(call("1", "m", `{"a":[2,1]}`)), false, false},
		{"spelling of numbers", post(call("1", "m", `{"a":1}`)), post(call("1", "m", `{"a":1.0}`)), false, false},
		{"string and number", post(call("1", "m", `{"a":1}`)), post(call("1", "m", `{"a":"1"}`)), false, false},
		{"nesting", post(call("1", "m", `{"a":[[1],2]}`)), post(call("1", "m", `{"a":[1,[2]]}`)), false, false},
		{"arguments", post(call("1", "tools/call", `{"name":"a"}`)), post(call("1", "tools/call", `{"name":"b"}`)), false, false},
		{"JSON-RPC method", list, post(call("1", "prompts/list", "")), false, false},
		{"a request and a notification", list, post(`{"jsonrpc":"2.0","method":"tools/list"}`), false, false},
		{"path", list, postTo("/other", call("1", "tools/list", "")), false, false},
		{"query", list, postTo("/mcp?a=1", call("1", "tools/list", "")), false, false},
		{"HTTP method", "GET /mcp HTTP/1.1\r\n\r\n", "DELETE /mcp HTTP/1.1\r\n\r\n", false, false},
		{"a first GET and a resumption", "GET /mcp HTTP/1.1\r\n\r\n", "GET /mcp HTTP/1.1\r\nLast-Event-ID: 1\r\n\r\n", false, false},
		{"two resumptions", "GET /mcp HTTP/1.1\r\nlast-event-id: 2\r\n\r\n", "GET /mcp HTTP/1.1\r\nLast-Event-ID: 1\r\n\r\n", true, true},
		{"another client", initialize("2025-11-25", "a"), initialize("2025-11-25", "b"), false, true},
		{"another protocol version", initialize("2025-11-25", "a"), initialize("2025-06-18", "a"), false, false},
		{"another modern client", post(call("1", "m", `{"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"a"}}}`)), post(call("1", "m", `{"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"b"},"io.modelcontextprotocol/clientCapabilities":{}}}`)), false, true},
		{"another modern version", post(call("1", "m", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"a"}}`)), post(call("1", "m", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"b"}}`)), false, false},
		{"what is cancelled", post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"r"}}`), post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"r"}}`), true, true},
		{"responses to one request", post(result(`"s-1"`, "{}")), post(`{"jsonrpc":"2.0","id":"s-1","error":{"code":-1,"message":"no"}}`), true, true},
		{"responses to two requests", post(result(`"s-1"`, "{}")), post(result(`"s-2"`, "{}")), false, false},
		{"batches", post("[" + call("1", "a", "") + "," + call("2", "b", "") + "]"), post("[" + call("7", "a", "") + ", " + call("8", "b", "") + "]"), true, true},
		{"order of a batch", post("[" + call("1", "a", "") + "," + call("2", "b", "") + "]"), post("[" + call("2", "b", "") + "," + call("1", "a", "") + "]"), false, false},
		{"a batch of one", post("[" + call("1", "a", "") + "]"), post(call("1", "a", "")), true, true},
		{"bodies that are no JSON-RPC", post("a=1"), post("a=2"), false, false},
		{"JSON that is no JSON-RPC", post(`{"a":1}`), post(`{"a": 1}`), false, false},
		{"chunks", list, "POST /mcp HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(call("1", "tools/list", "")[:9]) + chunk(call("1", "tools/list", "")[9:]) + "0\r\n\r\n", true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := askOf(t, tt.a), askOf(t, tt.b)
			if same := a.key == b.key; same != tt.same {
				t.Errorf("keys equal: %v, want %v\n%q\n%q", same, tt.same, a.key, b.key)
			}
			if same := a.loose == b.loose; same != tt.loose {
				t.Errorf("loose keys equal: %v, want %v\n%q\n%q", same, tt.loose, a.loose, b.loose)
			}
		})
	}
}

// each serves the exchanges and sends the requests one after the other, each on a connection of its own. It returns the
// answers' bodies.
func each(t *testing.T, p *Player, requests ...string) (bodies []string) {
	t.Helper()
	addr, _ := play(t, p)
	for _, q := range requests {
		c := dial(t, addr)
		c.send(q)
		got := c.answer()
		_, m, _ := wire.ParseResponse([]byte(got), "", true)
		if m.Status != 200 {
			bodies = append(bodies, fmt.Sprint(m.Status))
		} else {
			bodies = append(bodies, string(m.Payload([]byte(got))))
		}
		c.Close()
	}
	p.Close()
	return bodies
}

func TestOrder(t *testing.T) {
	list, call1 := post(call("1", "tools/list", "")), post(call("1", "tools/call", `{"name":"a"}`))
	inSession := func(s string) string { return post(call("1", "tools/list", ""), "Mcp-Session-Id: "+s) }
	resume := func(id string) string { return "GET /mcp HTTP/1.1\r\nLast-Event-ID: " + id + "\r\n\r\n" }
	concurrent := func(n int, request, answer string) *har.Exchange {
		x := taped(n, request, har.EndKeep, answer)
		x.Started = epoch.Add(time.Duration(n) * 10 * time.Microsecond)
		return x
	}
	for _, tt := range []struct {
		name      string
		exchanges []*har.Exchange
		requests  []string
		want      []string
	}{
		{"the n-th request gets the n-th recording", []*har.Exchange{taped(3, list, har.EndKeep, ok("3")), taped(1, list, har.EndKeep, ok("1")), taped(2, list, har.EndKeep, ok("2"))},
			[]string{list, list, list, list}, []string{"1", "2", "3", "501"}},
		{"keys do not wait for one another", []*har.Exchange{taped(1, list, har.EndKeep, ok("1")), taped(2, call1, har.EndKeep, ok("2")), taped(3, list, har.EndKeep, ok("3"))},
			[]string{call1, list, list}, []string{"2", "1", "3"}},
		{"the session breaks a tie", []*har.Exchange{taped(1, inSession("a"), har.EndKeep, ok("a1")), taped(2, inSession("b"), har.EndKeep, ok("b1")), taped(3, inSession("a"), har.EndKeep, ok("a2")), taped(4, inSession("b"), har.EndKeep, ok("b2"))},
			[]string{inSession("b"), inSession("b"), inSession("a"), inSession("new")}, []string{"b1", "b2", "a1", "a2"}},
		{"the event to resume from breaks a tie", []*har.Exchange{taped(1, resume("1"), har.EndKeep, ok("1")), taped(2, resume("2"), har.EndKeep, ok("2"))},
			[]string{resume("2"), resume("2")}, []string{"2", "1"}},
		{"the id breaks a tie of requests that were under way together", []*har.Exchange{concurrent(1, post(call("5", "m", "")), ok("one")), concurrent(2, post(call("6", "m", "")), ok("two"))},
			[]string{post(call("6", "m", "")), post(call("5", "m", ""))}, []string{"two", "one"}},
		{"the id does not, one after the other", []*har.Exchange{taped(1, post(call("5", "m", "")), har.EndKeep, ok("one")), taped(2, post(call("6", "m", "")), har.EndKeep, ok("two"))},
			[]string{post(call("6", "m", "")), post(call("5", "m", ""))}, []string{"one", "two"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := each(t, &Player{Exchanges: tt.exchanges}, tt.requests...); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// A stream that is resumed behind another event than it was recorded is served, and that is said.
func TestResumedElsewhere(t *testing.T) {
	resume := func(id string) string { return "GET /mcp HTTP/1.1\r\nLast-Event-ID: " + id + "\r\n\r\n" }
	for id, want := range map[string][]string{
		"5": nil,
		"4": {`exchange 1: it resumed behind event "5", the client asks for what is behind "4": events between the two are not served`},
	} {
		var notices []string
		p := &Player{Exchanges: []*har.Exchange{taped(1, resume("5"), har.EndKeep, ok("six"))}, Notice: func(s string) { notices = append(notices, s) }}
		if got := each(t, p, resume(id)); !slices.Equal(got, []string{"six"}) || !slices.Equal(notices, want) {
			t.Errorf("resumed behind %s: got %q, notices %q", id, got, notices)
		}
	}
}

func TestMiss(t *testing.T) {
	exchanges := []*har.Exchange{
		taped(1, post(call("1", "tools/call", `{"name":"echo","arguments":{"text":"ping","n":[1,2]}}`)), har.EndKeep, ok("{}")),
		taped(2, post(call("2", "tools/list", "")), har.EndKeep, ok("{}")),
		taped(3, "GET /mcp HTTP/1.1\r\n\r\n", har.EndKeep, ok("{}")),
		taped(4, post("grant_type=a"), har.EndKeep, ok("{}")),
		taped(5, post(result("7", "{}")), har.EndKeep, ok("{}")),
		taped(6, post("["+call("8", "a", "{}")+","+call("9", "b", `{"x":1}`)+"]"), har.EndKeep, ok("{}")),
	}
	long := strings.Repeat("é", 1000)
	for _, tt := range []struct {
		name, request string
		nearest       int
		differs       string
	}{
		{"argument", post(call("1", "tools/call", `{"name":"echo","arguments":{"text":"pong","n":[1,2]}}`)), 1, `params.arguments.text: recorded "ping", sent "pong"`},
		{"element", post(call("1", "tools/call", `{"name":"echo","arguments":{"text":"ping","n":[1,3]}}`)), 1, `params.arguments.n[1]: recorded 2, sent 3`},
		{"length of an array", post(call("1", "tools/call", `{"name":"echo","arguments":{"text":"ping","n":[1]}}`)), 1, `params.arguments.n: recorded 2 elements, sent 1`},
		{"missing member", post(call("1", "tools/call", `{"name":"echo","arguments":{"n":[1,2]}}`)), 1, `params.arguments.text: recorded "ping", not sent`},
		{"new member", post(call("1", "tools/call", `{"name":"echo","arguments":{"text":"ping","n":[1,2]},"task":{}}`)), 1, `params.task: not recorded, sent {}`},
		{"another kind of value", post(call("1", "tools/call", `{"name":"echo","arguments":[]}`)), 1, `params.arguments: recorded {"n":[1,2],"text":"ping"}, sent []`},
		{"long value", post(call("1", "tools/call", `{"name":"`+long+`","arguments":{"text":"ping","n":[1,2]}}`)), 1, `params.name: recorded "echo", sent "` + long[:158] + `…`},
		{"method", post(call("1", "tools/nope", "")), 1, "JSON-RPC: recorded tools/call, sent tools/nope"},
		{"target", postTo("/mcp?x", call("1", "tools/list", "")), 2, "target: recorded /mcp, sent /mcp?x"},
		{"no JSON", post("abc"), 4, "body at byte 0: recorded grant_type=a, sent abc"},
		{"HTTP method", "DELETE /mcp HTTP/1.1\r\n\r\n", 3, "HTTP method: recorded GET, sent DELETE"},
		{"resumption", "GET /mcp HTTP/1.1\r\nLast-Event-ID: 4\r\n\r\n", 3, "Last-Event-ID: recorded none, sent (resuming)"},
		{"form", post("grant_type=b"), 4, "body at byte 11: recorded a, sent b"},
		{"response", post(result("8", "{}")), 5, "id: recorded 7, sent 8"},
		{"batch", post("[" + call("8", "a", "{}") + "," + call("9", "b", `{"x":2}`) + "]"), 6, "message 2 of the batch: params.x: recorded 1, sent 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var notices []string
			p := &Player{Exchanges: exchanges, Notice: func(s string) { notices = append(notices, s) }}
			addr, _ := play(t, p)
			c := dial(t, addr)
			c.send(tt.request)
			got := c.answer()
			if !strings.HasPrefix(got, "HTTP/1.1 501 ") {
				t.Errorf("got %q", got)
			}
			_, m, _ := wire.ParseResponse([]byte(got), "", true)
			if rpc := wire.ParseRPC(m.Payload([]byte(got))); rpc.Error == nil || rpc.Error.Code != -32603 {
				t.Errorf("the body is no JSON-RPC error: %q", got)
			}
			r := p.Result()
			if len(r.Misses) != 1 || r.Served != 0 || len(r.Unserved) != len(exchanges) {
				t.Fatalf("result: %+v", r)
			}
			if m := r.Misses[0]; m.Nearest == nil || m.Nearest.N != tt.nearest || m.Differs != tt.differs {
				t.Errorf("miss: %+v\nwant nearest %d, differs %q", m, tt.nearest, tt.differs)
			}
			if len(notices) != 1 || !strings.HasPrefix(notices[0], "miss: ") || !strings.Contains(notices[0], tt.differs) {
				t.Errorf("notices: %q", notices)
			}
			// The connection lives on.
			c.send(string(exchanges[1].Request.Raw))
			c.expect(ok("{}"))
		})
	}
}

func TestMissWithoutAnythingNear(t *testing.T) {
	p := &Player{}
	if got := each(t, p, "GET /favicon.ico HTTP/1.1\r\n\r\n"); got[0] != "501" {
		t.Errorf("got %q", got)
	}
	if m := p.Result().Misses; len(m) != 1 || m[0].Nearest != nil || m[0].Request != "GET /favicon.ico" {
		t.Errorf("misses: %+v", m)
	}
}

// The id of the request stands in the error, so that the client's call fails at once.
func TestMissCarriesTheID(t *testing.T) {
	addr, _ := play(t, &Player{})
	c := dial(t, addr)
	c.send(post(call(`"abc"`, "tools/list", "")))
	got := c.answer()
	if !strings.Contains(got, `"id":"abc"`) {
		t.Errorf("got %q", got)
	}
}

func TestMissAfterAllWereServed(t *testing.T) {
	list := post(call("1", "tools/list", ""))
	p := &Player{Exchanges: []*har.Exchange{taped(1, list, har.EndKeep, ok("{}")), taped(2, list, har.EndKeep, ok("{}"))}}
	each(t, p, list, list, list)
	if m := p.Result().Misses; len(m) != 1 || m[0].Differs != "all 2 recordings of it have been served already" {
		t.Errorf("misses: %+v", m)
	}
}

// Who the client is does not matter to what it is answered, unless bytes are to be exact.
func TestAnotherClient(t *testing.T) {
	was := post(call("0", "initialize", `{"protocolVersion":"2025-11-25","clientInfo":{"name":"a","version":"1"},"capabilities":{}}`))
	now := post(call("0", "initialize", `{"protocolVersion":"2025-11-25","clientInfo":{"name":"a","version":"2"},"capabilities":{"roots":{}}}`))
	exchanges := []*har.Exchange{taped(1, was, har.EndKeep, ok("{}"))}
	var notices []string
	p := &Player{Exchanges: exchanges, Notice: func(s string) { notices = append(notices, s) }}
	if got := each(t, p, now); got[0] != "{}" || len(notices) != 1 {
		t.Errorf("got %q, notices %q", got, notices)
	}
	p = &Player{Exchanges: exchanges, Exact: true}
	if got := each(t, p, now); got[0] != "501" {
		t.Errorf("exact: got %q", got)
	}
	if d := p.Result().Misses[0].Differs; d != `params.capabilities.roots: not recorded, sent {}` {
		t.Errorf("exact: differs %q", d)
	}
}

// What redaction replaced matches whatever the live client has in its place.
func TestRedacted(t *testing.T) {
	redact := func(x *har.Exchange, values ...string) *har.Exchange {
		for _, v := range values {
			i := strings.Index(string(x.Request.Raw), v)
			if i < 0 {
				panic(v)
			}
			x.Redacted = append(x.Redacted, har.Redaction{Dir: wire.ToServer, Off: i, Len: len(v), Kind: "token"})
		}
		return x
	}
	encoded := taped(1, "POST /mcp HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nXXXX", har.EndKeep, ok("1"))
	encoded.Redacted = []har.Redaction{{Dir: wire.ToServer, Off: len(encoded.Request.Raw) - 4, Len: 4, Kind: "body-encoded"}}
	for _, tt := range []struct {
		name, request string
		x             *har.Exchange
		want          string
	}{
		{"query", postTo("/mcp?token=s3cret-longer&a=1", call("1", "m", "")), redact(taped(1, postTo("/mcp?token=XXXXXX&a=1", call("1", "m", "")), har.EndKeep, ok("1")), "XXXXXX"), "1"},
		{"query, another member", postTo("/mcp?token=s3cret&a=2", call("1", "m", "")), redact(taped(1, postTo("/mcp?token=XXXXXX&a=1", call("1", "m", "")), har.EndKeep, ok("1")), "XXXXXX"), "501"},
		{"query, echoed", postTo("/mcp?token=XXXXXX", call("1", "m", "")), redact(taped(1, postTo("/mcp?token=XXXXXX", call("1", "m", "")), har.EndKeep, ok("1")), "XXXXXX"), "1"},
		{"argument", post(call("1", "m", `{"k":"s\u00e9cret","a":"1"}`)), redact(taped(1, post(call("1", "m", `{"a":"1","k":"XXXXXX"}`)), har.EndKeep, ok("1")), "XXXXXX"), "1"},
		{"argument, another", post(call("1", "m", `{"k":"secret","a":"2"}`)), redact(taped(1, post(call("1", "m", `{"a":"1","k":"XXXXXX"}`)), har.EndKeep, ok("1")), "XXXXXX"), "501"},
		{"two arguments", post(call("1", "m", `{"k":"b","a":"aaaaaaaaaa"}`)), redact(taped(1, post(call("1", "m", `{"a":"XXXX","k":"YY"}`)), har.EndKeep, ok("1")), "YY", "XXXX"), "1"},
		{"part of a string", post(call("1", "m", `{"k":"Bearer abc, please"}`)), redact(taped(1, post(call("1", "m", `{"k":"Bearer XXXXXX, please"}`)), har.EndKeep, ok("1")), "XXXXXX"), "1"},
		{"form", post("code=zzz&a=b"), redact(taped(1, post("code=XXXX&a=b"), har.EndKeep, ok("1")), "XXXX"), "1"},
		{"header", post(call("1", "m", ""), "Authorization: Bearer zz"), redact(taped(1, post(call("1", "m", ""), "Authorization: Bearer XXXX"), har.EndKeep, ok("1")), "XXXX"), "1"},
		{"encoded body", post(call("1", "m", "")), encoded, "1"},
		{"another client's", post(call("1", "initialize", `{"clientInfo":{"name":"b"},"k":"secret"}`)), redact(taped(1, post(call("1", "initialize", `{"clientInfo":{"name":"a"},"k":"XXXXXX"}`)), har.EndKeep, ok("1")), "XXXXXX"), "1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := each(t, &Player{Exchanges: []*har.Exchange{tt.x}}, tt.request); got[0] != tt.want {
				t.Errorf("got %q, want %q", got[0], tt.want)
			}
		})
	}
}

func TestEndpoint(t *testing.T) {
	get := func(target, accept string) string {
		return "GET " + target + " HTTP/1.1\r\nHost: a\r\nAccept: " + accept + "\r\n\r\n"
	}
	for _, tt := range []struct {
		name     string
		requests []string
		want     string
	}{
		{"nothing", nil, "/"},
		{"no MCP", []string{get("/favicon.ico", "*/*"), post("a=b")}, "/"},
		{"a POST with JSON-RPC", []string{get("/.well-known/x", "application/json"), postTo("/s/mcp?k=v", call("1", "a", ""))}, "/s/mcp?k=v"},
		{"HTTP+SSE", []string{get("/sse", "text/event-stream"), postTo("/message?s=1", call("1", "a", ""))}, "/sse"},
		{"absolute form", []string{postTo("http://server.example/mcp", call("1", "a", ""))}, "/mcp"},
		{"not HTTP", []string{"\x16\x03\x01", postTo("/mcp", call("1", "a", ""))}, "/mcp"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &Player{}
			for i, q := range tt.requests {
				p.Exchanges = append(p.Exchanges, taped(i+1, q, har.EndKeep, ok("{}")))
			}
			if got := p.Endpoint(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
