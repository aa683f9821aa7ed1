package replay

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
)

func TestParseFault(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"probe: status 503", "probe: status 503"},
		{" tools/call#2 :  404 session ", "tools/call#2: 404 session"},
		{"exchange 4: rst after 120 bytes", "exchange 4: rst after 120 bytes"},
		{"get-stream: hang", "get-stream: hang"},
		{"any: delay 2s", "any: delay 2s"},
		{"any: delay 1500ms", "any: delay 1.5s"},
		{"ping: error -32603 gone away", "ping: error -32603 gone away"},
		{"initialize: status 200 <html>: no</html>", "initialize: status 200 <html>: no</html>"},
		{"request#3: id null", "request#3: id null"},
		{"probe: id \"x\"", "probe: id \"x\""},
		{"any: body", "any: body"},
		{"any: type text/html; charset=utf-8", "any: type text/html; charset=utf-8"},
		{"any: drop Mcp-Session-Id", "any: drop Mcp-Session-Id"},
		{"delete: fin", "delete: fin"},
	} {
		f, err := ParseFault(tt.text)
		if err != nil || f.String() != tt.want {
			t.Errorf("%q: got %q, %v; want %q", tt.text, f.String(), err, tt.want)
		}
	}
	for _, tt := range []struct{ text, want string }{
		{"", "want SELECTOR: ACTION"},
		{"status 503", "want SELECTOR: ACTION"},
		{"prob: status 503", `"prob" selects nothing: want any, probe`},
		{"any#0: fin", "want a number from 1 behind #"},
		{"any#x: fin", "want a number from 1 behind #"},
		{"exchange 0: fin", "want exchange N"},
		{"exchange 4#2: fin", "want exchange N"},
		{"any: explode", `"explode" is no action: want status CODE`},
		{"any: status", "want status CODE"},
		{"any: status 99", "code from 200 to 599"},
		{"any: status 600", "code from 200 to 599"},
		{"any: error x", "want error CODE"},
		{"any: 404", "want 404 session"},
		{"any: fin after", "want fin, or fin after N bytes"},
		{"any: rst after -1 bytes", "want rst, or rst after N bytes"},
		{"any: delay soon", "want a duration"},
		{"any: delay 2h", "at most 1h"},
		{"any: id {", "want a JSON value"},
		{"any: type", "want type MEDIA-TYPE"},
		{"any: drop a b", "drop HEADER"},
		{"any: type a\r\nb", "want type MEDIA-TYPE"},
		{"any: body " + strings.Repeat("x", maxFault), "want at most 65536"},
	} {
		if _, err := ParseFault(tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.40q: got %v, want %q in it", tt.text, err, tt.want)
		}
	}
}

// FuzzParseFault: what is read is written so that it reads the same.
func FuzzParseFault(f *testing.F) {
	for _, s := range []string{"probe: status 503 {}", "exchange 4: rst after 120 bytes", "any#2: delay 2s", "tools/call: id null", "any: drop X", "a/b: error 1 m"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		one, err := ParseFault(s)
		if err != nil {
			return
		}
		two, err := ParseFault(one.String())
		if err != nil || two != one {
			t.Errorf("%q reads as %#v, written as %q, and that as %#v, %v", s, one, one.String(), two, err)
		}
	})
}

// healthy is a legacy session with a probe, an event stream, a chunked answer and a GET stream that is refused.
func healthy() []*har.Exchange {
	get := "GET /mcp HTTP/1.1\r\nHost: server.example\r\nAccept: text/event-stream\r\n\r\n"
	return []*har.Exchange{
		taped(1, post(call(`"p"`, "server/discover", "")), har.EndKeep, ok(`{"jsonrpc":"2.0","id":"p","error":{"code":-32601,"message":"no"}}`)),
		taped(2, post(call("0", "initialize", "{}")), har.EndKeep, ok(result("0", "{}"))),
		taped(3, post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`), har.EndKeep, accepted),
		taped(4, get, har.EndKeep, "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n"),
		taped(5, post(call("1", "tools/call", `{"name":"a"}`)), har.EndKeep, sse, chunk("data: "+result("1", "{}")+"\n\n"), "0\r\n\r\n"),
		taped(6, post(call("2", "tools/call", `{"name":"a"}`)), har.EndKeep, ok(result("2", `{"second":true}`))),
	}
}

// visit sends the recorded requests of a healthy session one after the other, each on a connection of its own, and says
// what a client of net/http makes of each answer.
func visit(t *testing.T, url string, xs []*har.Exchange) (saw []string) {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 500 * time.Millisecond}
	for _, x := range xs {
		req, err := http.ReadRequest(bufio.NewReader(strings.NewReader(string(x.Request.Raw))))
		if err != nil {
			t.Fatal(err)
		}
		again, err := http.NewRequest(req.Method, url, req.Body)
		if err != nil {
			t.Fatal(err)
		}
		again.ContentLength, again.Header = req.ContentLength, req.Header
		r, err := c.Do(again)
		if err != nil {
			saw = append(saw, kindOf(err))
			continue
		}
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		text := fmt.Sprintf("%d %s %s", r.StatusCode, r.Header.Get("Content-Type"), body)
		if err != nil {
			text += " " + kindOf(err)
		}
		saw = append(saw, text)
	}
	return saw
}

func kindOf(err error) string {
	switch {
	case os.IsTimeout(err):
		return "timeout"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "cut"
	case strings.Contains(err.Error(), "reset"):
		return "reset"
	case errors.Is(err, io.EOF):
		return "closed"
	}
	return err.Error()
}

// Each fault against a real client: what it makes of the one answer that is disturbed, all others being healthy.
func TestFaults(t *testing.T) {
	was := visitWith(t)
	for _, tt := range []struct {
		fault string
		n     int // the exchange that is disturbed
		want  string
	}{
		{"probe: status 503", 1, "503  "},
		{"probe: status 400 no such thing", 1, "400 text/plain; charset=utf-8 no such thing"},
		{`probe: status 400 {"a":1}`, 1, `400 application/json {"a":1}`},
		{"initialize: status 200 <html></html>", 2, "200 text/html; charset=utf-8 <html></html>"},
		{"tools/call#2: 404 session", 6, `404 application/json {"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`},
		{"exchange 5: error -32602 bad \"name\"", 5, `200 application/json {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"bad \"name\""}}`},
		{"get-stream: hang", 4, "timeout"},
		{"get-stream: rst", 4, "reset"},
		{"notification: fin", 0, ""},
		{"initialized: fin", 3, "closed"},
		{"exchange 6: rst after 110 bytes", 6, `200 application/json {"jsonrpc":"2.0","id":2,"result":{"seco reset`},
		{"exchange 6: fin after 110 bytes", 6, `200 application/json {"jsonrpc":"2.0","id":2,"result":{"seco cut`},
		{"exchange 6: hang after 110 bytes", 6, `200 application/json {"jsonrpc":"2.0","id":2,"result":{"seco timeout`},
		{"exchange 5: fin after 100 bytes", 5, "200 text/event-stream data: {\"jsonrpc\" cut"},
		{"probe: id null", 1, `200 application/json {"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no"}}`},
		{"tools/call#1: id 99999", 5, "200 text/event-stream data: " + result("99999", "{}") + "\n\n"},
		{"exchange 5: type application/json", 5, "200 application/json data: " + result("1", "{}") + "\n\n"},
		{"delete: status 500", 0, ""},
		{"exchange 4: type text/html", 4, "405 text/html "},
		{"exchange 2: drop Content-Type", 2, "200  " + result("0", "{}")},
		{"exchange 5: body {}", 5, "200 text/event-stream {}"},
		{"any#3: body gone", 3, "202  gone"},
		{"probe: delay 5s", 1, "timeout"},
	} {
		t.Run(tt.fault, func(t *testing.T) {
			t.Parallel()
			saw := visitWith(t, tt.fault)
			for i := range saw {
				want := was[i]
				if i+1 == tt.n {
					want = tt.want
				}
				if saw[i] != want {
					t.Errorf("exchange %d: the client saw %q\nwant %q", i+1, saw[i], want)
				}
			}
		})
	}
}

// visitWith lets a client visit the healthy session with faults, and checks that what they did is said.
func visitWith(t *testing.T, faults ...string) []string {
	t.Helper()
	xs := healthy()
	p := &Player{Exchanges: xs}
	for _, text := range faults {
		f, err := ParseFault(text)
		if err != nil {
			t.Fatal(err)
		}
		p.Faults = append(p.Faults, f)
	}
	var notices []string
	p.Notice = func(s string) { notices = append(notices, s) }
	addr, _ := play(t, p)
	saw := visit(t, "http://"+addr+"/mcp", xs)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	r := p.Result()
	if len(r.Unserved)+len(r.Misses) > 0 {
		t.Errorf("%d exchanges count as not asked for, %d misses", len(r.Unserved), len(r.Misses))
	}
	for _, u := range r.Faults {
		if u.Why != "" {
			t.Errorf("fault %q could not be: %s", u.Fault, u.Why)
		}
		if !strings.Contains(strings.Join(notices, "\n"), fmt.Sprintf("exchange %d: disturbed by fault %q", u.N, u.Fault)) {
			t.Errorf("nobody is told of %+v: %q", u, notices)
		}
	}
	for _, f := range r.Unused {
		if who, _, _ := strings.Cut(f.String(), ":"); who != "notification" && who != "delete" {
			t.Errorf("fault %q met no request", f)
		}
	}
	return saw
}

// A server that has recovered answers the request that comes again; a request that was not recorded can meet a fault, too.
func TestFaultLeavesRecording(t *testing.T) {
	list := call("1", "tools/list", "")
	f := &trial{}
	s := &Server{Exchanges: []*har.Exchange{taped(1, post(list), har.EndKeep, ok(result("1", "[]")))}}
	for _, text := range []string{"tools/list#1: status 503", "prompts/list: error -32601", "ping: fin"} {
		fault, err := ParseFault(text)
		if err != nil {
			t.Fatal(err)
		}
		s.Player.Faults = append(s.Player.Faults, fault)
	}
	s.Start(f)
	for _, want := range []struct {
		body   string
		status int
	}{{list, 503}, {list, 200}, {call("2", "prompts/list", ""), 200}} {
		if status, body := postJSON(t, http.DefaultClient, s.URL, want.body); status != want.status {
			t.Errorf("%s was answered %d %s, want %d", want.body, status, body, want.status)
		}
	}
	wantErrors(t, f.end(), `fault "ping: fin" met no request`)
}

// Faults that do not fit an answer are said, and the answer is served as recorded.
func TestFaultThatCannotBe(t *testing.T) {
	for fault, why := range map[string]string{
		"any: drop X-Nothing": "its answer has no X-Nothing",
		"any: id 7":           "it answers no JSON-RPC request",
	} {
		f, err := ParseFault(fault)
		if err != nil {
			t.Fatal(err)
		}
		p := &Player{Exchanges: healthy()[2:3], Faults: []Fault{f}}
		addr, _ := play(t, p)
		saw := visit(t, "http://"+addr+"/mcp", p.Exchanges)
		if r := p.Result(); len(r.Faults) != 1 || r.Faults[0].Why != why || saw[0] != "202  " {
			t.Errorf("%s: got %+v, and the client saw %q", fault, r.Faults, saw)
		}
	}
}
