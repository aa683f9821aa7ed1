package analyze

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
)

// BenchmarkAnalyze judges conforming sessions of both eras: by recommended alone, with one client's policy beside it, by
// what is recognised, and by all policies.
func BenchmarkAnalyze(b *testing.B) {
	xs := exchanges(typical(50))
	for _, c := range []struct {
		name     string
		policies []string
	}{{"recommended", []string{Recommended}}, {"two", []string{Recommended, "ts-2.4.0"}}, {"recognised", nil}, {"all", []string{"all"}}} {
		b.Run(c.name, func(b *testing.B) { benchmarkAnalyze(b, xs, Options{Policies: c.policies}) })
	}
}

// BenchmarkAnalyzeOdd judges answers that nothing conforming sends.
func BenchmarkAnalyzeOdd(b *testing.B) {
	benchmarkAnalyze(b, exchanges(unusual(50)), Options{Policies: []string{Recommended, "ts-2.4.0"}})
}

func benchmarkAnalyze(b *testing.B, xs []*har.Exchange, o Options) {
	b.ReportAllocs()
	before := cpuTime()
	for b.Loop() {
		r, err := Analyze(sequence(xs), o)
		if err != nil {
			b.Fatal(err)
		}
		for i := range r.Exchanges {
			r.Exchanges[i].Observation()
		}
	}
	n := float64(len(xs) * b.N)
	b.ReportMetric(n/b.Elapsed().Seconds(), "exchanges/s")
	if used := cpuTime() - before; used > 0 {
		b.ReportMetric(n/used.Seconds(), "exchanges/cpu-s")
	}
}

// BenchmarkKept reports how many bytes of heap an exchange costs while it is analyzed and in the report.
func BenchmarkKept(b *testing.B) {
	xs := exchanges(typical(200))
	heap := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	chosen, err := choose([]string{Recommended, "ts-2.4.0"})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		empty := heap()
		all := observed(xs)
		a := newAnalysis(all, chosen, Options{})
		facts := heap()
		r := a.report()
		both := heap()
		runtime.KeepAlive(a)
		runtime.KeepAlive(r)
		b.ReportMetric((facts-empty)/float64(len(xs)), "facts-B/exchange")
		b.ReportMetric((both-facts)/float64(len(xs)), "report-B/exchange")
	}
	runtime.KeepAlive(xs)
}

// observed gives the facts of exchanges.
func observed(xs []*har.Exchange) []*facts {
	var all []*facts
	observer := newObserver()
	for _, x := range xs {
		all = append(all, observer.observe(x))
	}
	return all
}

// typical are sessions as a Streamable HTTP client has them, n that fell back to initialize and n without a handshake: lists,
// calls answered in JSON and in streams, a stream for notifications, and one call in 20 that fails.
func typical(n int) []step {
	const agent = "accept-language: *\r\nsec-fetch-mode: cors\r\nuser-agent: node\r\naccept-encoding: gzip, deflate\r\nconnection: keep-alive\r\n"
	const text = `{"content":[{"type":"text","text":"pong, and some more words as tools give them back"}]}`
	var tools strings.Builder
	for i := range 20 {
		fmt.Fprintf(&tools, `,{"name":"tool_%d","description":"does what its name says, with some words more","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}`, i)
	}
	list := `"tools":[` + tools.String()[1:] + `]`
	var scene []step
	for s := range n {
		id := fmt.Sprintf("mcp-session-id: 8f14e45f-ceea-467f-a0e6-%012d\r\n", s)
		legacy := func(body string, resp string) step {
			return step{req: post(body, agent, id, v2025), resp: resp, client: client(s)}
		}
		refused := probing(1, js("200 OK", failure(probe1, -32601, "Method not found")))
		refused.client = client(s)
		refused.req = strings.Replace(refused.req, v2026, v2026+"mcp-method: server/discover\r\n"+agent, 1)
		hello := initializing(js("200 OK", success("0", strings.Replace(initResult, `"tools":{}`, `"tools":{},"prompts":{}`, 1)), id))
		hello.client = client(s)
		scene = append(scene, refused, hello, legacy(`{"method":"notifications/initialized","jsonrpc":"2.0"}`, answer("202 Accepted", "", "")),
			step{req: get(agent, id, v2025), resp: open(": ping\n\n"), end: har.EndClientFIN, client: client(s)},
			legacy(`{"method":"tools/list","jsonrpc":"2.0","id":1}`, js("200 OK", success("1", "{"+list+"}"))),
			legacy(`{"method":"prompts/list","jsonrpc":"2.0","id":2}`, js("200 OK", failure("2", -32601, "Method not found"))))
		for i := range 20 {
			call := fmt.Sprintf(`{"method":"tools/call","params":{"name":"tool_%d","arguments":{"text":"ping %d"}},"jsonrpc":"2.0","id":%d}`, i, s, i+3)
			scene = append(scene, legacy(call, reply(i, success(fmt.Sprint(i+3), text))))
		}
		scene = append(scene, step{req: strings.Replace(del(), session, agent+id+v2025, 1), resp: answer("200 OK", "", ""), client: client(s)})

		modern := func(method, params string, id int, resp string) step {
			named := "mcp-method: " + method + "\r\n"
			if method == "tools/call" {
				named += fmt.Sprintf("mcp-name: tool_%d\r\n", id-2)
			}
			return step{req: post(fmt.Sprintf(`{"method":%q,"params":{%s%s},"jsonrpc":"2.0","id":%d}`, method, params, meta, id), agent, v2026, named), resp: resp, client: client(n + s)}
		}
		scene = append(scene, modern("server/discover", "", 0, js("200 OK", discovered("0", `["2026-07-28"]`))),
			modern("tools/list", "", 1, js("200 OK", success("1", `{"resultType":"complete","ttlMs":0,"cacheScope":"private",`+list+`}`))))
		for i := range 20 {
			call := fmt.Sprintf(`"name":"tool_%d","arguments":{"text":"ping %d"},`, i, s)
			scene = append(scene, modern("tools/call", call, i+2, reply(i, success(fmt.Sprint(i+2), `{"resultType":"complete",`+text[1:]))))
		}
	}
	return scene
}

func client(i int) string { return fmt.Sprintf("10.0.%d.%d", i/250, i%250) }

// reply answers the i-th call: in a stream, in JSON, or not at all.
func reply(i int, body string) string {
	switch {
	case i == 13:
		return answer("500 Internal Server Error", "text/plain", "try later")
	case i%2 == 0:
		return sse(event(body))
	}
	return js("200 OK", body)
}

// unusual are answers that break framing, JSON, JSON-RPC, streams and shapes.
func unusual(n int) []step {
	deep := `{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "}"
	good := success("3", `{"content":[]}`)
	odd := []string{
		answer("502 Bad Gateway", "text/html", htmlPage), js("200 OK", "{"), js("200 OK", success("4", deep)), js("200 OK", "["+good+","+good+"]"),
		js("200 OK", `{"jsonrpc":"2.0","id":3,"id":3,"result":{"content":[{"type":"image"}],"isError":1}}`), js("400 Bad Request", errIDNull),
		sse("id: 7\ndata: " + good + "\r\r"), sse("event: other\ndata: " + good + "\n\n"), open("data: " + good[:20] + "\n\n: x\n\ndata: nope\n\n"),
		"HTTP/1.1 100 Continue\r\n\r\n" + js("200 OK", good), "HTTP/1.1 200 OK\nContent-Type : application/json\nContent-Length: 3\n\n{}\n\n",
		js("200 OK", good, "content-encoding: gzip\r\n"), js("404 Not Found", missing), answer("202 Accepted", "text/plain", "ok"), "garbage\r\n\r\n", "",
	}
	var scene []step
	for range n {
		scene = in(scene, handshake()...)
		for _, resp := range odd {
			scene = append(scene, calling("tools/call", 3, resp).ends(har.EndClientFIN).after(time.Second))
		}
	}
	return scene
}
