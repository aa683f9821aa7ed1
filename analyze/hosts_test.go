package analyze

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/har"
)

// hostPolicies are the policies of the ways in which hosts were run.
var hostPolicies = map[string]string{
	"qwen-list": "qwen-code-0.24.4", "qwen-p": "qwen-code-0.24.4", "gemini-list": "gemini-cli-0.61.0-list", "gemini-p": "gemini-cli-0.61.0",
	"opencode-list": "opencode-1.18.33", "opencode-run": "opencode-1.18.33", "codex": "codex-0.171.0", "codex-2026": "codex-0.171.0-2026",
	"mcporter": "mcporter-0.12.3", "inspector": "inspector-2.12.0", "inspector-auto": "inspector-2.12.0-auto", "mcp-remote": "mcp-remote-0.15.1",
	"mcp-remote-probe": "mcp-remote-0.15.1", "supergateway": "supergateway-4.0.0", "aisdk": "ai-sdk-2.0.99", "langchain": "langchain-mcp-adapters-1.1.4",
}

// A hostCheck is one thing that a host was seen to do, and the words that say so.
type hostCheck struct {
	n    int // exchange; 0: the outcome of the connect that begins with exchange of
	of   int
	what string
	want []string // one of these verdicts or outcomes
	not  []string // none of these
}

// checks tells what a run shows of a policy.
func (r *hostRun) checks(a *analysis) []hostCheck {
	var out []hostCheck
	for _, v := range a.conversations {
		for _, c := range v.connects {
			if len(c.probes)+len(c.inits) > 0 {
				out = append(out, r.checkHandshake(a, c)...)
			}
			for _, f := range c.requests {
				out = append(out, r.checkRequest(a, f)...)
			}
			for _, f := range c.streams {
				out = append(out, r.checkStream(f)...)
			}
		}
	}
	return out
}

// onlyLists are the ways to run a host that ask for no tools.
func (r *hostRun) onlyLists() bool { return r.Host == "qwen-list" || r.Host == "gemini-list" }

// mostLines is how many requests of a run the data holds.
const mostLines = 60

// checkHandshake compares how far the client came.
func (r *hostRun) checkHandshake(a *analysis, c *connect) []hostCheck {
	if len(r.Lines) >= mostLines {
		return nil // the end of the run is not in the data
	}
	taken := len(c.inited) > 0 && c.inited[0].status/100 == 2
	stream := taken && slices.ContainsFunc(c.streams, func(f *facts) bool { return f.n > c.inited[0].n })
	bridge := taken && strings.HasPrefix(r.Host, "mcp-remote") // its first handshake is only a test
	wentOn := len(c.requests) > 0 || stream || r.Connected && bridge || r.Connected && (c == a.connects[len(a.connects)-1] || a.triesStream(c.last()))
	want := []string{"failed"}
	switch {
	case wentOn && len(c.inits) == 0:
		want = []string{"modern"}
	case wentOn:
		want = []string{"legacy"}
	}
	out := []hostCheck{{0, c.first().n, "outcome", want, nil}}
	for _, f := range slices.Concat(c.inits, c.inited) {
		tried := a.triesStream(f) && (f.class == initialize || f.status/100 != 2)
		failed := !wentOn && f == c.lastOf(initialized, initialize)
		switch {
		case f.transport != overHTTP || f.followed != nil:
		case f.superseded || tried && (failed || f.status/100 != 2):
			want = []string{"legacy-fallback"}
			if f.status == 401 { // hangs on what the OAuth registration is answered
				want = append(want, "auth-error")
			}
			out = append(out, hostCheck{f.n, f.n, f.class.String() + ", then HTTP+SSE", want, nil})
		case failed:
			out = append(out, hostCheck{f.n, f.n, f.class.String() + " failed", nil, []string{"delivered", "legacy-fallback"}})
		default:
			out = append(out, hostCheck{f.n, f.n, f.class.String() + " taken", []string{"delivered"}, nil})
		}
	}
	return out
}

// lastOf gives the last exchange of the first class that the connect has.
func (c *connect) lastOf(classes ...class) *facts {
	for _, k := range classes {
		for _, f := range slices.Backward(c.all) {
			if f.class == k {
				return f
			}
		}
	}
	return nil
}

// triesStream tells whether the client's next step after f is the stream of HTTP+SSE.
func (a *analysis) triesStream(f *facts) bool {
	for _, g := range a.facts {
		if g.n <= f.n || g.class == other || g.class == oauth {
			continue
		}
		return g.class == getStream && g.req.session == ""
	}
	return false
}

// checkRequest compares what became of the connection after an answer to a request.
func (r *hostRun) checkRequest(a *analysis, f *facts) []hostCheck {
	plain := f.kind == replyResult && f.status != 202 || f.via == viaStream && f.kind == replyResult
	call := f.req.method == "tools/call"
	renewed, repeated := a.renewedAfter(f)
	if slices.Contains([]string{"mcporter", "inspector", "inspector-auto"}, r.Host) {
		renewed, repeated = false, false // each command is a session of its own
	}
	lost := []string{"disconnect", "reinitialize", "reinitialize+retry-once"}
	is := func(what string, want, not []string) []hostCheck {
		return []hostCheck{{f.n, f.n, f.req.method + " " + what, want, not}}
	}
	switch {
	case plain:
		return is("answered", []string{"delivered"}, nil)
	case f.answer&(silence|stalled) != 0 || r.onlyLists():
		return nil
	case f.again && r.Host != "qwen-p": // which connects anew for every call
		return is("failed once more", nil, []string{"reinitialize", "reinitialize+retry-once"})
	case r.Case == "x-404-rpc-readonly" && r.Host == "qwen-p" && call && renewed:
		return is("given up or repeated, as the tool's annotations say", []string{"reinitialize"}, nil)
	case renewed && repeated && (r.Calls == "" || r.Calls[0] == 'y' || !call || r.Host != "qwen-p"):
		return is("repeated in a new session", []string{"reinitialize+retry-once"}, nil)
	case renewed && (call || r.Host != "qwen-p"):
		return is("given up, new session", []string{"reinitialize"}, nil)
	case call:
		return is("failed", []string{"pass-through"}, nil)
	case f.req.method == "tools/list" && !r.Connected && !r.Tools && f.status/100 != 2:
		return is("ends the connection", []string{"disconnect"}, nil)
	case (r.Host == "qwen-p" || r.Host == "gemini-p") && f.status/100 != 2:
		return is("ends the connection", []string{"disconnect"}, nil)
	case f.req.method == "tools/list" && !r.Connected && !r.Tools && r.Host != "qwen-p" && r.Host != "gemini-p":
		return is("ends the connection", []string{"disconnect"}, nil)
	case r.Connected || r.Tools:
		return is("does no harm", nil, lost)
	}
	return nil
}

// renewedAfter tells whether the client began a new session after f in the same connection of a user, and whether it
// repeated the call.
func (a *analysis) renewedAfter(f *facts) (renewed, repeated bool) {
	for _, g := range a.facts {
		switch {
		case g.n <= f.n || g.connect == nil || g.connect.conv != f.connect.conv:
		case g.class == initialize && g.connect != f.connect:
			if renewed {
				return renewed, repeated
			}
			renewed = true
		case g.class == request && !renewed:
			return false, false
		case renewed && g.req.call == f.req.call:
			return true, true
		}
	}
	return renewed, repeated
}

// checkStream compares what a refused stream does to the connection.
func (r *hostRun) checkStream(f *facts) []hostCheck {
	if f.transport != overHTTP || f.req.session == "" || f.answer&(silence|stalled) != 0 || hostsMeasured().byCase[r.Case].Group != "get-stream" {
		return nil
	}
	if r.Connected {
		return []hostCheck{{f.n, f.n, "GET does no harm", []string{"post-only", "delivered"}, nil}}
	}
	return []hostCheck{{f.n, f.n, "GET ends the connection", []string{"disconnect"}, nil}}
}

// analysis reads the run.
func (r *hostRun) analysis(t testing.TB) *analysis {
	t.Helper()
	var all []*facts
	for _, x := range r.exchanges(t) {
		all = append(all, observe(x))
	}
	return newAnalysis(all, nil, Options{})
}

// hostExchanges gives the measured exchanges, one for each answer.
func hostExchanges(t testing.TB) map[string]*facts {
	t.Helper()
	one := map[string]*facts{}
	for _, r := range hostsMeasured().Runs {
		for _, f := range r.analysis(t).facts {
			one[fmt.Sprint(r.Case, " ", f.class, f.req.method, f.status, f.again, f.superseded)] = f
		}
	}
	return one
}

func TestHosts(t *testing.T) {
	for _, r := range hostsMeasured().Runs {
		a := r.analysis(t)
		p := policies().byName[hostPolicies[r.Host]]
		if p == nil {
			t.Fatalf("%s has no policy", r.Host)
		}
		for _, c := range r.checks(a) {
			got, rule := "", ""
			if c.n == 0 {
				d := p.predict(a.numbered(c.of).connect)
				got, rule = string(d.Outcome), d.Rule
			} else {
				v := p.judge(a.numbered(c.n))
				got, rule = v.Verdict, v.Rule
			}
			if c.want != nil && !slices.Contains(c.want, got) || slices.Contains(c.not, got) {
				t.Errorf("%s %s: exchange %d, %s: %s by %s, want %s not %s", r.Host, r.Case, max(c.n, c.of), c.what, got, rule, strings.Join(c.want, "|"), strings.Join(c.not, "|"))
			}
		}
	}
}

// TestHostsTotal asks every policy of a host about every status with every kind of body and ending: none may be silent, but
// where its file says that nothing is known.
func TestHostsTotal(t *testing.T) {
	bodies := []struct{ media, body string }{
		{"", ""}, {"application/json", ""}, {"application/json", "{"}, {"application/json", `{"error":"gone"}`}, {"application/json", failure("7", -32601, noMethod)},
		{"application/json", failure("null", -32001, "Session not found")}, {"application/json", success("7", `{}`)}, {"application/json", success("8", `{}`)},
		{"text/html", htmlPage}, {"text/plain", quoted}, {"text/event-stream", ""}, {"text/event-stream", event(failure("7", -32601, noMethod))},
	}
	ask := map[string]func(string) step{
		"initialize": func(resp string) step {
			return rawStep(`{"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":`+clientInfo+`},"jsonrpc":"2.0","id":7}`, resp)
		},
		"initialized": initialized1, "call": func(resp string) step { return calling("tools/call", 7, resp) },
		"tools": func(resp string) step { return calling("tools/list", 7, resp) }, "optional": func(resp string) step { return calling("prompts/list", 7, resp) },
		"get": func(resp string) step { return step{req: get(session), resp: resp} }, "delete": func(resp string) step { return step{req: del(), resp: resp} },
		"cancel": func(resp string) step { return notifying(`{"jsonrpc":"2.0","method":"notifications/cancelled"}`, resp) },
		"probe":  func(resp string) step { return probingAs("7", resp) },
	}
	names := map[string]bool{}
	for _, name := range hostPolicies {
		names[name] = true
	}
	var endings = []har.Ending{"", har.EndRST, har.EndClientFIN}
	silent := map[string]int{}
	for what, asking := range ask {
		before := handshake()
		if what == "initialize" || what == "probe" {
			before = nil
		}
		for _, status := range []int{200, 201, 202, 204, 206, 226, 300, 301, 302, 304, 307, 308, 400, 401, 402, 403, 404, 405, 406, 409, 410, 415, 422, 429, 451, 500, 501, 502, 503, 504, 599} {
			for _, b := range bodies {
				for _, end := range endings {
					resp := answer(fmt.Sprint(status, " X"), b.media, b.body)
					if end != "" {
						resp = strings.Replace(resp, fmt.Sprintf("content-length: %d", len(b.body)), "content-length: 5000", 1)
					}
					x := exchanges(in(before, asking(resp).ends(end)))[len(before)]
					f := observe(x)
					if what == "probe" {
						f.class = probe
					}
					for name := range names {
						if v := policies().byName[name].judge(f); v.Verdict == "unspecified" && v.Rule != "probe/other-answer" {
							silent[name+" "+what+" "+v.Rule]++
						}
					}
				}
			}
		}
	}
	for k, n := range silent {
		t.Error(k, n)
	}
}

func rawStep(body, resp string) step { return step{req: post(body), resp: resp} }
