package analyze

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
)

// A reply whose id has another JSON type than its request's is what it is over HTTP, see TestReplyByNumber: nobody's, but for
// clients that compare numbers.
func TestStdioReplyByNumber(t *testing.T) {
	for _, c := range []struct {
		id   string
		want map[string]string
	}{
		{`"1"`, map[string]string{"recommended": "timeout", "ts-2.4.0": "delivered", "ts-1.32.2": "delivered", "go-1.8.0": "timeout", "mcp-go-1.2.1": "timeout"}},
		{`" 1 "`, map[string]string{"recommended": "timeout", "ts-2.4.0": "delivered", "go-1.8.0": "timeout"}},
		{`1.0`, map[string]string{"recommended": "timeout", "ts-2.4.0": "delivered", "go-1.8.0": "delivered", "mcp-go-1.2.1": "delivered"}},
		{`"2"`, map[string]string{"recommended": "disconnect", "go-1.8.0": "disconnect", "mcp-go-1.2.1": "disconnect"}},
	} {
		for _, end := range []har.Ending{har.EndFIN, har.EndClientFIN} {
			if c.id == `"2"` && end == har.EndClientFIN {
				continue
			}
			xs := piped(line{req: askInit, resp: sayInit}, line{req: sayInited}, line{req: askTools, end: end},
				line{resp: strings.Replace(sayTools, `"id":1`, `"id":`+c.id, 1)})
			xs[2].EndAt = 5 * time.Second
			r := analyzedPipes(t, xs, "all")
			for policy, want := range c.want {
				if v := r.Exchanges[2].Verdicts[policy]; v.Verdict != want {
					t.Errorf("id %s, %s, %s: got %s (%s), want %s", c.id, end, policy, v.Verdict, v.Rule, want)
				}
			}
			if c.id == `"2"` {
				continue
			}
			if o := r.Exchanges[2].Observation(); o.ReplyIn != 4 || o.Reply != "other-id" {
				t.Errorf("id %s: reply %s in exchange %d, want other-id in 4", c.id, o.Reply, o.ReplyIn)
			}
			if n := len(r.Findings); n != 1 || r.Findings[0].ID != "stdio-reply-id-type" || !slices.Equal(r.Findings[0].Exchanges, []int{3, 4}) {
				t.Errorf("id %s: findings %+v, want stdio-reply-id-type of exchanges 3 and 4", c.id, r.Findings)
			}
		}
	}
}

// An initialize that is answered under "0" for 0 connects a TypeScript client and nobody else.
func TestStdioInitializeByNumber(t *testing.T) {
	xs := piped(line{req: askInit}, line{resp: strings.Replace(sayInit, `"id":0`, `"id":"0"`, 1)}, line{req: sayInited})
	r := analyzedPipes(t, xs, "all")
	if c := r.Conversations[0]; c.Predicted["ts-2.4.0"].Outcome != Legacy || c.Observed.Outcome != Legacy || c.Predicted["go-1.8.0"].Outcome != Failed {
		t.Errorf("ts-2.4.0 %+v, observed %+v, go-1.8.0 %+v", c.Predicted["ts-2.4.0"], c.Observed, c.Predicted["go-1.8.0"])
	}
}

// The shapes and rules of the revision hold over stdio, in both directions, for lines that answer nothing, too.
func TestConformanceOverStdio(t *testing.T) {
	connected := []line{{req: askInit, resp: sayInit}, {req: sayInited}}
	for _, c := range []struct {
		name  string
		lines []line
		want  string // finding, side and bytes
	}{
		{"a result", []line{{req: askTools, resp: strings.Replace(sayTools, "[]", `[{"name":5,"inputSchema":{"type":"object"}}]`, 1)}}, `nonconforming-message 3 response 5`},
		{"a request", []line{{req: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":7}}` + "\n", resp: sayTools}}, `nonconforming-message 3 request 7`},
		{"a notification of the server", []line{{resp: `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"loud","data":1}}` + "\n"}}, `nonconforming-message 3 response "loud"`},
		{"a notification of the client", []line{{req: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}` + "\n"}}, `nonconforming-message 3 request []`},
		{"an error", []line{{req: askTools, resp: `{"jsonrpc":"2.0","id":1,"error":{"code":-1.5,"message":"x"}}` + "\n"}}, ``},
		{"a request of the server", []line{{resp: `{"jsonrpc":"2.0","id":"a","method":"roots/list"}` + "\n"}, {req: `{"jsonrpc":"2.0","id":"a","result":{"roots":[{"uri":7}]}}` + "\n"}},
			`conform-client-capability 3 response {"jsonrpc":"2.0","id":"a","method":"roots/list"}, nonconforming-message 4 request 7`},
		{"a reply under another id", []line{{req: askTools, end: har.EndClientFIN}, {resp: strings.Replace(strings.Replace(sayTools, "[]", "5", 1), `"id":1`, `"id":"1"`, 1)}}, `nonconforming-message 4 response 5`},
		{"an id used again", []line{{req: askTools, resp: sayTools}, {req: askTools, resp: sayTools}}, `conform-request-id 4 request ` + strings.TrimSpace(askTools)},
	} {
		xs := piped(append(slices.Clone(connected), c.lines...)...)
		var got []string
		for _, f := range analyzedPipes(t, xs).Findings {
			if f.ID != nonconforming.id && !strings.HasPrefix(f.ID, "conform-") {
				continue
			}
			for _, e := range f.Evidence {
				x := xs[e.Exchange-1]
				raw := x.Request.Raw
				if e.Side == "response" {
					raw = x.Response.Raw
				}
				got = append(got, strings.TrimSpace(strings.Join([]string{f.ID, string(rune('0' + e.Exchange)), e.Side, string(raw[e.Offset : e.Offset+e.Length])}, " ")))
			}
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: got %s, want %s", c.name, s, c.want)
		}
	}
}
