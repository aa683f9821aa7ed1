package replay

import (
	"net/http"
	"testing"

	"github.com/mcptap/mcptap/har"
)

// What a request and its recording must agree in, from the finest to the coarsest.
func TestMatch(t *testing.T) {
	recorded := func() []*har.Exchange {
		return []*har.Exchange{
			taped(1, postTo("/mcp?a=1", call("1", "tools/call", `{"name":"a"}`)), har.EndKeep, ok(result("1", `"first"`))),
			taped(2, postTo("/mcp?a=1", call("2", "prompts/list", "")), har.EndKeep, ok(result("2", `"second"`))),
		}
	}
	for _, tt := range []struct {
		name, target, body string
		want               map[string]string // the result by the word of --match; none is a miss
	}{
		{"the same", "/mcp?a=1", call("1", "tools/call", `{"name":"a"}`), map[string]string{"params": "first", "rpc": "first", "method": "first", "order": "first"}},
		{"other params", "/mcp?a=1", call("1", "tools/call", `{"name":"b"}`), map[string]string{"rpc": "first", "method": "first", "order": "first"}},
		{"another method", "/mcp?a=1", call("1", "resources/list", ""), map[string]string{"method": "first", "order": "first"}},
		{"the second method", "/mcp?a=1", call("1", "prompts/list", ""), map[string]string{"params": "second", "rpc": "second", "method": "first", "order": "first"}},
		{"another query", "/mcp?a=2", call("1", "tools/call", `{"name":"a"}`), map[string]string{"method": "first", "order": "first"}},
		{"another path", "/other", call("1", "tools/call", `{"name":"a"}`), map[string]string{"order": "first"}},
	} {
		for _, word := range matchWords {
			t.Run(tt.name+", "+word, func(t *testing.T) {
				m, err := ParseMatch(word)
				if err != nil || m.String() != word {
					t.Fatalf("ParseMatch: %v, %v", m, err)
				}
				p := &Player{Exchanges: recorded(), Match: m}
				addr, _ := play(t, p)
				status, body := postJSON(t, http.DefaultClient, "http://"+addr+tt.target, tt.body)
				want, served := tt.want[word]
				if !served {
					if status != 501 || len(p.Result().Misses) != 1 || p.Result().Misses[0].Nearest == nil {
						t.Errorf("got %d %s, want a miss that names the nearest recording", status, body)
					}
				} else if got := result("1", `"`+want+`"`); status != 200 || body != got {
					t.Errorf("got %d %s, want %s", status, body, got)
				}
			})
		}
	}
}

func TestRepeat(t *testing.T) {
	list := func(id string) string { return call(id, "tools/list", "") }
	recorded := []*har.Exchange{
		taped(1, post(list("1")), har.EndKeep, ok(result("1", `"first"`))),
		taped(2, post(list("2")), har.EndKeep, ok(result("2", `"last"`))),
	}
	for _, tt := range []struct {
		repeat bool
		want   []string // results; "" is a miss
	}{
		{false, []string{"first", "last", "", ""}},
		{true, []string{"first", "last", "last", "last"}},
	} {
		p := &Player{Exchanges: recorded, Repeat: tt.repeat}
		addr, _ := play(t, p)
		for i, want := range tt.want {
			id := string(rune('1' + i))
			status, body := postJSON(t, http.DefaultClient, "http://"+addr+"/mcp", list(id))
			if want == "" && status != 501 || want != "" && body != result(id, `"`+want+`"`) {
				t.Errorf("repeat %v, request %d: got %d %s, want %q", tt.repeat, i+1, status, body, want)
			}
		}
		if r := p.Result(); tt.repeat && (r.Served != 4 || r.Repeated != 2 || len(r.Unserved) > 0) {
			t.Errorf("got %d served, %d again, %d left", r.Served, r.Repeated, len(r.Unserved))
		}
		if r := p.Result(); !tt.repeat && r.Misses[0].Differs != "all 2 recordings of it have been served already" {
			t.Errorf("the miss says %q", r.Misses[0].Differs)
		}
	}
	q := &Player{Exchanges: recorded, Repeat: true}
	addr, _ := play(t, q)
	if status, body := postJSON(t, http.DefaultClient, "http://"+addr+"/mcp", call("1", "prompts/list", "")); status != 501 {
		t.Errorf("a request that was never recorded got %d %s", status, body)
	}
}
