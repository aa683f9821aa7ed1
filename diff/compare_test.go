package diff

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// A step is one exchange of a test: what was asked, and the raw answer.
type step struct {
	ask, answer string
	end         har.Ending
	took        time.Duration
	hidden      string // in the answer, what redaction has put there
}

func post(body string) string {
	return fmt.Sprintf("POST /mcp HTTP/1.1\r\nhost: a.test\r\naccept: application/json, text/event-stream\r\ncontent-length: %d\r\n\r\n%s", len(body), body)
}

func ok(mediaType, body string, fields ...string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\ncontent-type: %s\r\n%scontent-length: %d\r\n\r\n%s", mediaType, strings.Join(fields, ""), len(body), body)
}

func js(body string, fields ...string) string { return ok("application/json", body, fields...) }

func initializing(id string) string {
	return post(`{"jsonrpc":"2.0","id":` + id + `,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"client","version":"1"}}}`)
}

func initResult(id, version, caps, server string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":{"protocolVersion":"` + version + `","capabilities":` + caps + `,"serverInfo":{"name":"` + server + `","version":"1"}}}`
}

func asking(id, method, params string) string {
	return post(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`)
}

func result(id, inner string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":` + inner + `}`
}

func exchanges(steps []step) (xs []*har.Exchange) {
	for i, s := range steps {
		x := &har.Exchange{N: i + 1, Conn: 1, Seq: i + 1, Started: time.Date(2026, 7, 28, 12, 0, i, 0, time.UTC), Client: "127.0.0.1:5", Server: "a.test:80", End: har.EndKeep}
		x.Request = har.Side{Raw: []byte(s.ask), Writes: []har.Write{{Len: len(s.ask)}}}
		if s.answer != "" {
			x.Response = har.Side{Raw: []byte(s.answer), Writes: []har.Write{{At: s.took, Len: len(s.answer)}}}
		}
		if s.end != "" {
			x.End, x.EndAt, x.EndOff = s.end, s.took, len(s.answer)
		}
		if at := strings.Index(s.answer, s.hidden); s.hidden != "" {
			x.Redacted = []har.Redaction{{Dir: wire.ToClient, Off: at, Len: len(s.hidden), Kind: "token"}}
		}
		har.FillDerived(x, "http://a.test")
		xs = append(xs, x)
	}
	return xs
}

var (
	start = step{ask: initializing("0"), answer: js(initResult("0", "2025-11-25", `{"tools":{}}`, "server"), "mcp-session-id: one\r\n")}
	tools = step{ask: asking("1", "tools/list", "{}"), answer: js(result("1", `{"tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"b","inputSchema":{"type":"object"}}]}`))}
	ping  = step{ask: asking("2", "ping", "{}"), answer: js(result("2", "{}"))}
)

func listed(inner string) step {
	return step{ask: tools.ask, answer: js(result("1", `{"tools":[`+inner+`]}`))}
}

func calling(arguments, answer string) step {
	return step{ask: asking("3", "tools/call", `{"name":"a","arguments":`+arguments+`}`), answer: answer}
}

func stream(events ...string) string {
	return ok("text/event-stream", "id: 7\ndata: "+strings.Join(events, "\n\ndata: ")+"\n\n")
}

// left is a stream that its client left after n events.
func left(n int) []step {
	return []step{{ask: "GET /mcp HTTP/1.1\r\nhost: a.test\r\naccept: text/event-stream\r\n\r\n", end: har.EndClientFIN,
		answer: "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + strings.Repeat("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n", n)}}
}

var compareCases = []struct {
	name     string
	was, now []step
	o        Options
	want     []string // kind, path
}{
	{"nothing", []step{start, tools, ping}, []step{start, tools, ping}, Options{}, nil},
	{"ids and sessions alone", []step{start, tools}, []step{
		{ask: initializing(`"x"`), answer: js(initResult(`"x"`, "2025-11-25", `{"tools":{}}`, "server"), "mcp-session-id: two\r\n")},
		{ask: asking("9", "tools/list", "{}"), answer: strings.Replace(tools.answer, `"id":1`, `"id":9`, 1)}}, Options{}, nil},
	{"members in another order", []step{tools}, []step{listed(`{"inputSchema":{"type":"object"},"name":"a"}, {"name":"b","inputSchema":{"type":"object"}}`)}, Options{}, nil},
	{"an id that is not the request's", []step{ping}, []step{{ask: ping.ask, answer: js(result("77", "{}"))}}, Options{}, []string{"outcome observed", "outcome recommended", "body /id", "verdict recommended"}},
	{"removed and added", []step{start, tools}, []step{start, ping}, Options{}, []string{"removed ", "added "}},
	{"moved", []step{start, tools, ping}, []step{start, ping, tools}, Options{}, []string{"moved "}},
	{"other arguments", []step{calling(`{"x":1}`, js(result("3", "{}")))}, []step{calling(`{"x":2}`, js(result("3", "{}")))}, Options{}, []string{"request /params/arguments/x"}},
	{"status", []step{start, ping}, []step{start, {ask: ping.ask, answer: "HTTP/1.1 503 Down\r\ncontent-length: 0\r\n\r\n"}}, Options{},
		[]string{"status ", "header Content-Type", "body ", "verdict recommended"}},
	{"version, capabilities, server", []step{start}, []step{{ask: start.ask, answer: js(initResult("0", "2025-06-18", `{}`, "other"), "mcp-session-id: x\r\n")}}, Options{},
		[]string{"capabilities /result/capabilities/tools", "protocol-version /result/protocolVersion", "server-info /result/serverInfo/name"}},
	{"a tool is gone, one is new, one is another", []step{tools}, []step{listed(`{"name":"c"},{"name":"b","inputSchema":{"type":"array"}}`)}, Options{},
		[]string{"tool /result/tools/a", "tool /result/tools/b/inputSchema/type", "tool /result/tools/c"}},
	{"tools in another order", []step{tools}, []step{listed(`{"name":"b","inputSchema":{"type":"object"}},{"name":"a","inputSchema":{"type":"object"}}`)}, Options{}, []string{"order /result/tools"}},
	{"prompts and resources", []step{{ask: asking("4", "prompts/list", "{}"), answer: js(result("4", `{"prompts":[]}`))}, {ask: asking("5", "resources/list", "{}"), answer: js(result("5", `{"resources":[]}`))}},
		[]step{{ask: asking("4", "prompts/list", "{}"), answer: js(result("4", `{"prompts":[{"name":"p"}]}`))}, {ask: asking("5", "resources/list", "{}"), answer: js(result("5", `{"resources":[{"uri":"u:/1"}]}`))}}, Options{},
		[]string{"prompt /result/prompts/p", "resource /result/resources/u:~11"}},
	{"error for result", []step{ping}, []step{{ask: ping.ask, answer: js(`{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no"}}`)}}, Options{},
		[]string{"error /error", "body /result", "verdict recommended"}},
	{"cursors", []step{{ask: tools.ask, answer: js(result("1", `{"tools":[],"nextCursor":"a"}`))}}, []step{{ask: tools.ask, answer: js(result("1", `{"tools":[],"nextCursor":"b"}`))}}, Options{}, nil},
	{"stream for JSON", []step{ping}, []step{{ask: ping.ask, answer: stream(result("2", "{}"))}}, Options{}, []string{"header Content-Type"}},
	{"events", []step{{ask: ping.ask, answer: stream(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}`, result("2", "{}"))}},
		[]step{{ask: ping.ask, answer: stream(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"y"}}`, `{"jsonrpc":"2.0","method":"notifications/more"}`, result("2", "{}"))}}, Options{},
		[]string{"event event 1/params/data", "event event 2"}},
	{"one event more before the client left", left(1), left(2), Options{}, []string{"event event 2"}},
	{"one event more, which does not count", left(1), left(2), Options{Left: true}, nil},
	{"one event less before the client left", left(2), left(1), Options{Left: true}, []string{"event event 2"}},
	{"ignored", []step{tools}, []step{listed(`{"name":"a","inputSchema":{"type":"x"}},{"name":"b","inputSchema":{"type":"y"}}`)}, Options{Ignore: []string{"/result/tools/*/inputSchema"}}, nil},
	{"ignored elsewhere", []step{tools}, []step{listed(`{"name":"a","inputSchema":{"type":"x"}},{"name":"b","inputSchema":{"type":"object"}}`)}, Options{Ignore: []string{"/result/tools/b"}},
		[]string{"tool /result/tools/a/inputSchema/type"}},
	{"bytes", []step{tools}, []step{listed(`{"name":"a","inputSchema":{"type":"object"}},{"name":"b","inputSchema" :{"type":"object"}}`)}, Options{Bytes: true}, []string{"bytes byte 67"}},
	{"text", []step{{ask: ping.ask, answer: ok("text/plain", "x")}}, []step{{ask: ping.ask, answer: ok("text/plain", "y")}}, Options{}, []string{"body "}},
	{"ending", []step{ping}, []step{{ask: ping.ask, answer: ping.answer[:len(ping.answer)-5], end: har.EndRST}}, Options{}, []string{"outcome observed", "outcome recommended", "body ", "ending ", "verdict recommended"}},
	{"client left both times", []step{{ask: ping.ask, end: har.EndClientFIN}}, []step{{ask: ping.ask, end: har.EndClientRST}}, Options{}, nil},
	{"redacted", []step{{ask: ping.ask, answer: js(result("2", `{"token":"Bearer xxxxxxxx"}`)), hidden: "xxxxxxxx"}}, []step{{ask: ping.ask, answer: js(result("2", `{"token":"Bearer of-the-test"}`))}}, Options{}, nil},
	{"redacted, and another", []step{{ask: ping.ask, answer: js(result("2", `{"token":"Bearer xxxxxxxx"}`)), hidden: "xxxxxxxx"}}, []step{{ask: ping.ask, answer: js(result("2", `{"token":"Basic of-the-test"}`))}}, Options{},
		[]string{"body /result/token"}},
	{"slower, unasked", []step{ping}, []step{{ask: ping.ask, answer: ping.answer, took: time.Minute}}, Options{}, nil},
	{"slower", []step{{ask: ping.ask, answer: ping.answer, took: 200 * time.Millisecond}}, []step{{ask: ping.ask, answer: ping.answer, took: 600 * time.Millisecond}}, Options{Factor: 3}, []string{"time "}},
	{"slower, not enough", []step{{ask: ping.ask, answer: ping.answer, took: 200 * time.Millisecond}}, []step{{ask: ping.ask, answer: ping.answer, took: 599 * time.Millisecond}}, Options{Factor: 3}, nil},
	{"fast", []step{{ask: ping.ask, answer: ping.answer, took: time.Millisecond}}, []step{{ask: ping.ask, answer: ping.answer, took: 100 * time.Millisecond}}, Options{Factor: 3}, nil},
}

func TestCompare(t *testing.T) {
	kinds := map[string]bool{}
	for _, tt := range compareCases {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Compare(exchanges(tt.was), exchanges(tt.now), tt.o)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			note := func(list []Change) {
				for _, c := range list {
					got = append(got, c.Kind+" "+c.Path)
					kinds[c.Kind] = true
				}
			}
			for _, c := range r.Conversations {
				note(c.Changes)
			}
			for _, p := range r.Exchanges {
				note(p.Changes)
			}
			if !slices.Equal(got, tt.want) || r.Same() != (len(tt.want) == 0) {
				t.Errorf("got  %q\nwant %q\n%+v", got, tt.want, r.Exchanges)
			}
		})
	}
	for _, k := range Kinds {
		if !kinds[k[0]] {
			t.Errorf("no case gives the kind %q", k[0])
		}
		delete(kinds, k[0])
	}
	if len(kinds) > 0 {
		t.Errorf("kinds that Kinds does not list: %v", kinds)
	}
}

// Two clients are held against the client of the same name, in whichever order they came.
func TestConversationsByClient(t *testing.T) {
	of := func(name string) step {
		s := start
		s.ask = post(strings.Replace(s.ask[strings.Index(s.ask, "{"):], `"client"`, `"`+name+`"`, 1))
		return s
	}
	a, b := of("first"), of("second")
	b.answer = js(initResult("0", "2025-06-18", `{}`, "server"))
	r, err := Compare(exchanges([]step{a, b}), exchanges([]step{b, a}), Options{})
	if err != nil || !r.Same() || r.Compared != 2 {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestHostileJSON(t *testing.T) {
	deep := step{ask: ping.ask, answer: js(strings.Repeat("[", 100_000))}
	wide := step{ask: ping.ask, answer: js(result("2", "["+strings.Repeat("1,", 50_000)+"1]"))}
	r, err := Compare(exchanges([]step{deep, wide}), exchanges([]step{wide, deep}), Options{})
	if err != nil || r.Differing != 2 {
		t.Fatalf("got %+v, %v", r, err)
	}
	other := step{ask: ping.ask, answer: js(result("2", "["+strings.Repeat("2,", 50_000)+"1]"))}
	if r, err = Compare(exchanges([]step{wide}), exchanges([]step{other}), Options{}); err != nil || len(r.Exchanges[0].Changes) != maxChanges {
		t.Errorf("got %d changes, %v", len(r.Exchanges[0].Changes), err)
	}
}
