package replay

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

func event(data string) string { return "event: message\ndata: " + data + "\n\n" }

func gzipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(s))
	w.Close()
	return b.String()
}

func TestPatch(t *testing.T) {
	params := func(token string) string { return `{"_meta":{"progressToken":` + token + `}}` }
	progress := func(token string) string {
		return `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,"progress":1}}`
	}
	subscribed := func(id string) string {
		return `{"jsonrpc":"2.0","method":"notifications/x","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `}}}`
	}
	one, x := call("1", "tools/list", ""), func(id string) string { return call(id, "tools/list", "") }
	end := "0\r\n\r\n"
	for _, tt := range []struct {
		name      string
		was, now  string // request bodies
		recorded  []string
		want      string // "" for the recorded bytes
		patches   int
		exactMiss bool
	}{
		{"the same id", one, x("1"), []string{ok(result("1", "{}"))}, "", 0, false},
		{"equal length", one, x("7"), []string{ok(result("1", "{}"))}, ok(result("7", "{}")), 1, true},
		{"longer", one, x(`"abc"`), []string{ok(result("1", "{}"))}, ok(result(`"abc"`, "{}")), 2, true},
		{"shorter", x("1234"), x("7"), []string{ok(result("1234", "{}"))}, ok(result("7", "{}")), 2, true},
		{"Content-Length gets another digit", one, x(`"1234567890123456789012345678901234567890123456789012345678901234567890"`),
			[]string{ok(result("1", "{}"))}, ok(result(`"1234567890123456789012345678901234567890123456789012345678901234567890"`, "{}")), 2, true},
		{"another value of the same look is left alone", one, x("2"), []string{ok(`{"jsonrpc":"2.0","id":1,"result":{"id":1,"x":"1"}}`)}, ok(`{"jsonrpc":"2.0","id":2,"result":{"id":1,"x":"1"}}`), 1, true},
		{"another id in the answer is left alone", one, x("2"), []string{ok(result("9", "{}"))}, "", 0, false},
		{"id null is left alone", one, x("2"), []string{ok(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse Error"}}`)}, "", 0, false},
		{"a malformed answer", one, x("2"), []string{ok(`{"id":1,"result":1,"error":{}}`)}, ok(`{"id":2,"result":1,"error":{}}`), 1, true},
		{"a request of the server is left alone", one, x("2"), []string{ok(call("1", "ping", ""))}, "", 0, false},
		{"no JSON", one, x("2"), []string{ok("<html>1</html>")}, "", 0, false},
		{"white space and order", one, x("22"), []string{ok("{ \"result\":{} ,\n \"id\" : 1 }")}, ok("{ \"result\":{} ,\n \"id\" : 22 }"), 2, true},
		{"cut short of Content-Length", one, x("22"), []string{strings.Replace(ok(result("1", "{}")), "Content-Length: 36", "Content-Length: 99", 1)}, strings.Replace(ok(result("22", "{}")), "Content-Length: 37", "Content-Length: 100", 1), 2, true},
		{"a batch", "[" + x("1") + "," + x("2") + "]", "[" + x("11") + "," + x("2") + "]", []string{ok("[" + result("2", "{}") + "," + result("1", "{}") + "]")}, ok("[" + result("2", "{}") + "," + result("11", "{}") + "]"), 2, true},
		{"a batch that swaps its ids", "[" + x("1") + "," + x("2") + "]", "[" + x("2") + "," + x("1") + "]", []string{ok("[" + result("1", "{}") + "," + result("2", "{}") + "]")}, ok("[" + result("2", "{}") + "," + result("1", "{}") + "]"), 2, true},
		{"a chunk", one, x("22"), []string{sse, chunk(event(result("1", "{}"))), end}, sse + chunk(event(result("22", "{}"))) + end, 2, true},
		{"leading zeros and capitals of a size", one, x("22"), []string{sse, "00002F; a=b\r\n" + event(`{"jsonrpc":"2.0","id":1}`) + "\r\n", end},
			sse + "000030; a=b\r\n" + event(`{"jsonrpc":"2.0","id":22}`) + "\r\n" + end, 2, true},
		{"an id cut by chunks", x("123456"), x("777"), []string{sse, chunk(`data: {"jsonrpc":"2.0","id":12`), chunk(`345`), chunk("6,\"result\":{}}\n\n"), end},
			sse + chunk(`data: {"jsonrpc":"2.0","id":77`) + chunk(`7`) + "0" + chunk(",\"result\":{}}\n\n") + end, 0, true},
		{"an id cut by chunks, longer", x("123"), x("77777"), []string{sse, chunk(`data: {"jsonrpc":"2.0","id":12`), chunk("3,\"result\":{}}\n\n"), end},
			sse + chunk(`data: {"jsonrpc":"2.0","id":77`) + chunk("777,\"result\":{}}\n\n") + end, 0, true},
		{"an id cut by writes", x("123"), x("7777"), []string{ok(result("123", "{}"))[:len(ok(""))+1+len(`{"jsonrpc":"2.0","id":12`)], ok(result("123", "{}"))[len(ok(""))+1+len(`{"jsonrpc":"2.0","id":12`):]}, ok(result("7777", "{}")), 2, true},
		{"several data lines", one, x("22"), []string{sse, chunk("data: {\"jsonrpc\":\"2.0\",\ndata:\"id\":1,\ndata: \"result\":{}}\n\n"), end}, sse + chunk("data: {\"jsonrpc\":\"2.0\",\ndata:\"id\":22,\ndata: \"result\":{}}\n\n") + end, 2, true},
		{"CRLF, a BOM, comments, other fields", one, x("22"), []string{sse, chunk("\ufeff: c\r\nid: 1\r\ndata: " + result("1", "1") + "\r\nretry: 1\r\n\r\n"), end}, sse + chunk("\ufeff: c\r\nid: 1\r\ndata: "+result("22", "1")+"\r\nretry: 1\r\n\r\n") + end, 2, true},
		{"lone CR", one, x("2"), []string{sse, chunk("event: message\rdata: " + result("1", "1") + "\r\r"), end}, sse + chunk("event: message\rdata: "+result("2", "1")+"\r\r") + end, 1, true},
		{"a close-delimited stream", one, x("22"), []string{"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", event(result("1", "{}"))}, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + event(result("22", "{}")), 1, true},
		{"progress", call("1", "m", params("1")), call("1", "m", params(`"t"`)), []string{sse, chunk(event(progress("1"))), chunk(event(result("1", "{}"))), end},
			sse + chunk(event(progress(`"t"`))) + chunk(event(result("1", "{}"))) + end, 2, true},
		{"progress that the client did not ask for", call("1", "m", params("1")), call("1", "m", ""), []string{sse, chunk(event(progress("1"))), chunk(event(result("1", "{}"))), end}, "", 0, false},
		{"progress and id", call("1", "m", params("1")), call("2", "m", params("22")), []string{sse, chunk(event(progress("1")) + event(progress("1"))), chunk(event(result("1", "{}"))), end},
			sse + chunk(event(progress("22"))+event(progress("22"))) + chunk(event(result("2", "{}"))) + end, 4, true},
		{"a subscription", one, x(`"l:2"`), []string{sse, chunk(event(subscribed("1"))), end}, sse + chunk(event(subscribed(`"l:2"`))) + end, 2, true},
		{"behind 1xx", one, x("22"), []string{"HTTP/1.1 103 Early Hints\r\n\r\n", ok(result("1", "{}"))}, "HTTP/1.1 103 Early Hints\r\n\r\n" + ok(result("22", "{}")), 2, true},
		{"two lengths", one, x("22"), []string{"HTTP/1.1 200 OK\r\nContent-Length: 24\r\nContent-Length: 24\r\n\r\n" + `{"jsonrpc":"2.0","id":1}`}, "HTTP/1.1 200 OK\r\nContent-Length: 25\r\nContent-Length: 25\r\n\r\n" + `{"jsonrpc":"2.0","id":22}`, 3, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.want
			if want == "" {
				want = strings.Join(tt.recorded, "")
			}
			x := taped(1, post(tt.was), har.EndFIN, tt.recorded...)
			p := &Player{Exchanges: []*har.Exchange{x}}
			addr, _ := play(t, p)
			c := dial(t, addr)
			c.send(post(tt.now))
			if got, _ := c.rest(); got != want {
				t.Errorf("got %q\nwant %q", got, want)
			}
			r := p.Result()
			if tt.patches > 0 && len(r.Patches) != tt.patches {
				t.Errorf("patches: %+v, want %d", r.Patches, tt.patches)
			}
			if got := applied(x.Response.Raw, r.Patches); got != want {
				t.Errorf("the listed patches give %q\nwant %q", got, want)
			}
			testExact(t, x, post(tt.now), tt.exactMiss)
		})
	}
}

// applied makes the listed patches in recorded bytes.
func applied(raw []byte, patches []Patch) string {
	patches = slices.Clone(patches)
	slices.SortFunc(patches, func(a, b Patch) int { return b.Off - a.Off })
	s := string(raw)
	for _, p := range patches {
		if s[p.Off:p.Off+len(p.Old)] != p.Old {
			return fmt.Sprintf("%+v is not there", p)
		}
		s = s[:p.Off] + p.New + s[p.Off+len(p.Old):]
	}
	return s
}

func testExact(t *testing.T, x *har.Exchange, request string, miss bool) {
	t.Helper()
	p := &Player{Exchanges: []*har.Exchange{x}, Exact: true}
	addr, _ := play(t, p)
	c := dial(t, addr)
	c.send(request)
	if miss {
		c.answer()
	} else if got, _ := c.rest(); got != string(x.Response.Raw) {
		t.Errorf("exact: got %q", got)
	}
	r := p.Result()
	if got := len(r.Misses) == 1 && len(r.Unserved) == 1 && r.Served == 0; got != miss {
		t.Errorf("exact: %+v, want a miss: %v", r, miss)
	}
}

func TestPatchRefused(t *testing.T) {
	body := result("1", "{}")
	zipped := gzipped(body)
	for _, tt := range []struct {
		name, response, differs string
	}{
		{"compressed, with a digest", fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Digest: sha-256=:x:\r\nContent-Length: %d\r\n\r\n%s", len(zipped), zipped), "id is 22 here and 1 in the recorded answer, which cannot be changed: its Content-Encoding is gzip"},
		{"digest", fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Digest: sha-256=:AAAA:\r\nContent-Length: %d\r\n\r\n%s", len(body), body), "id is 22 here and 1 in the recorded answer, which cannot be changed: it carries a Content-Digest"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &Player{Exchanges: []*har.Exchange{taped(1, post(call("1", "m", "")), har.EndKeep, tt.response)}}
			if got := each(t, p, post(call("22", "m", ""))); got[0] != "501" {
				t.Errorf("got %q", got)
			}
			r := p.Result()
			if len(r.Misses) != 1 || r.Misses[0].Differs != tt.differs || len(r.Unserved) != 1 || r.Served != 0 {
				t.Errorf("result: %+v", r)
			}
		})
	}
	p := &Player{Exact: true, Exchanges: []*har.Exchange{taped(1, post(call("1", "m", "")), har.EndKeep, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(zipped), zipped))}}
	if got := each(t, p, post(call("22", "m", ""))); got[0] != "501" {
		t.Errorf("under Exact: got %q", got)
	}
	// What is compressed and does not hold the id needs no change.
	zipped = gzipped("{}")
	p = &Player{Exchanges: []*har.Exchange{taped(1, post(call("1", "m", "")), har.EndKeep, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(zipped), zipped))}}
	if got := each(t, p, post(call("22", "m", ""))); got[0] != zipped {
		t.Errorf("got %q", got)
	}
}

// A compressed JSON body whose id is another is encoded anew, whatever its framing, and that is said.
func TestPatchCompressed(t *testing.T) {
	plain := result("1", `{"text":"a longer text, a longer text, a longer text"}`)
	var deflated strings.Builder
	z := zlib.NewWriter(&deflated)
	io.WriteString(z, plain)
	z.Close()
	for _, tt := range []struct{ name, coding, framing, body string }{
		{"gzip by length", "gzip", fmt.Sprintf("Content-Length: %d", len(gzipped(plain))), gzipped(plain)},
		{"gzip in chunks", "gzip", "Transfer-Encoding: chunked", chunk(gzipped(plain)[:20]) + chunk(gzipped(plain)[20:]) + "0\r\n\r\n"},
		{"deflate", "deflate", fmt.Sprintf("Content-Length: %d", deflated.Len()), deflated.String()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			response := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: " + tt.coding + "\r\n" + tt.framing + "\r\n\r\n" + tt.body
			var notices []string
			p := &Player{Exchanges: []*har.Exchange{taped(1, post(call("1", "m", "")), har.EndKeep, response[:100], response[100:])}, Notice: func(s string) { notices = append(notices, s) }}
			addr, _ := play(t, p)
			c := dial(t, addr)
			c.send(post(call("12345", "m", "")))
			got := c.answer()
			_, m, _ := wire.ParseResponse([]byte(got), "POST", false)
			body, err := har.DecodeContent(tt.coding, m.Payload([]byte(got)), 0)
			if want := strings.Replace(plain, `"id":1,`, `"id":12345,`, 1); err != nil || string(body) != want {
				t.Errorf("got %q, %v\nwant %q", body, err, want)
			}
			c.send(post(call("12345", "m", ""))) // the connection is still in step
			if miss := c.answer(); !strings.HasPrefix(miss, "HTTP/1.1 501") {
				t.Errorf("behind it came %q", miss)
			}
			p.Close()
			if want := "is encoded anew, since id 1 is sent as 12345"; !strings.Contains(strings.Join(notices, "\n"), want) {
				t.Errorf("the notices are %q, want %q among them", notices, want)
			}
		})
	}
}

// A chunk that would become empty would end the body.
func TestPatchKeepsChunks(t *testing.T) {
	x := taped(1, post(call("123", "m", "")), har.EndKeep, sse, chunk(`data: {"jsonrpc":"2.0","id":1`), chunk("2"), chunk("3}\n\n"), "0\r\n\r\n")
	p := &Player{Exchanges: []*har.Exchange{x}}
	if got := each(t, p, post(call("7", "m", ""))); got[0] != "501" {
		t.Errorf("got %q", got)
	}
	if d := p.Result().Misses[0].Differs; !strings.Contains(d, "would become empty") {
		t.Errorf("differs: %q", d)
	}
}
