package analyze

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
)

// A line is one exchange of a process: what the client wrote and what came back, line ends included.
type line struct {
	req, resp string
	end       har.Ending
	notes     []string
}

// piped makes exchanges of one process of lines.
func piped(lines ...line) []*har.Exchange {
	var xs []*har.Exchange
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for i, l := range lines {
		x := &har.Exchange{N: i + 1, Conn: 1, Seq: i + 1, Started: at.Add(time.Duration(i) * time.Second), Client: "pid 1", Server: "pid 2",
			URL: "stdio:server", End: l.end, Notes: l.notes}
		if x.End == "" {
			x.End = har.EndKeep
		} else {
			x.EndAt = 500 * time.Millisecond
		}
		for _, s := range []struct {
			side *har.Side
			raw  string
		}{{&x.Request, l.req}, {&x.Response, l.resp}} {
			if s.raw != "" {
				*s.side = har.Side{Raw: []byte(s.raw), Writes: []har.Write{{Len: len(s.raw)}}}
			}
		}
		x.EndOff = len(x.Response.Raw)
		xs = append(xs, x)
	}
	return xs
}

const (
	askProbe  = `{"jsonrpc":"2.0","id":"p1","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}` + "\n"
	askInit   = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}` + "\n"
	sayInit   = `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"s","version":"1"}}}` + "\n"
	sayInited = `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	askTools  = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n"
	sayTools  = `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}` + "\n"
)

func failed(id string, code int, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, code, text) + "\n"
}

func analyzedPipes(t *testing.T, xs []*har.Exchange, policies ...string) *Report {
	t.Helper()
	r, err := Analyze(func(yield func(*har.Exchange, error) bool) {
		for _, x := range xs {
			if !yield(x, nil) {
				return
			}
		}
	}, Options{Policies: policies})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// stdioRows are what policies make of the last exchange. What the npm client 2.4.0 and go-sdk 1.8.0 do was measured with scripted servers.
var stdioRows = []struct {
	name  string
	lines []line
	want  map[string]string
}{
	{"probe: discover result", []line{{req: askProbe, resp: discoverLine}},
		map[string]string{"recommended": "modern@2026-07-28 probe/modern", "go-1.8.0": "modern@2026-07-28 probe/modern", "spec-2026-07-28": "modern@2026-07-28 probe/stdio-modern"}},
	{"probe: method not found", []line{{req: askProbe, resp: failed(`"p1"`, -32601, "Method not found")}},
		map[string]string{"recommended": "legacy-fallback probe/rpc-error", "go-1.8.0": "legacy-fallback probe/rpc-error", "spec-2026-07-28": "legacy-fallback probe/stdio-other"}},
	{"probe: invalid params", []line{{req: askProbe, resp: failed(`"p1"`, -32602, "Invalid request parameters")}},
		map[string]string{"recommended": "legacy-fallback probe/rpc-error", "ts-2.4.0": "legacy-fallback probe/rpc-error", "go-1.8.0": "legacy-fallback probe/rpc-error"}},
	{"probe: silence", []line{{req: askProbe, end: har.EndClientFIN}},
		map[string]string{"recommended": "legacy-fallback probe/stdio-silence", "ts-2.4.0": "legacy-fallback probe/stdio-silence", "go-1.8.0": "timeout probe/stdio-silence",
			"mcp-go-1.2.1": "legacy-fallback probe/silence", "python-main": "legacy-fallback probe/silence", "spec-2026-07-28": "legacy-fallback probe/stdio-other"}},
	{"probe: silence until a signal", []line{{req: askProbe, end: har.EndClientRST}}, map[string]string{"recommended": "legacy-fallback probe/stdio-silence"}},
	{"probe: exit", []line{{req: askProbe, end: har.EndFIN, notes: []string{"exit: 1"}}},
		map[string]string{"recommended": "legacy-fallback probe/stdio-exit", "ts-2.4.0": "legacy-fallback probe/stdio-exit", "go-1.8.0": "network-error probe/stdio-exit",
			"mcp-go-1.2.1": "network-error probe/stdio-exit", "python-main": "network-error probe/stdio-exit", "rust-3.1.4": "network-error probe/stdio-exit",
			"csharp-2.2.0": "network-error probe/stdio-exit", "spec-2026-07-28": "unspecified ", "recommended-pin": "negotiation-error probe/stdio-exit"}},
	{"probe: exit in the middle of the reply", []line{{req: askProbe, resp: `{"jsonrpc":"2.0","id":"p1","err`, end: har.EndFIN, notes: []string{"exit: 1"}}},
		map[string]string{"recommended": "legacy-fallback probe/stdio-exit", "go-1.8.0": "network-error probe/stdio-exit"}},
	{"probe: reply without a line end", []line{{req: askProbe, resp: strings.TrimSuffix(failed(`"p1"`, -32601, "x"), "\n"), end: har.EndClientFIN}},
		map[string]string{"recommended": "legacy-fallback probe/stdio-silence", "ts-2.4.0": "legacy-fallback probe/stdio-silence", "go-1.8.0": "legacy-fallback probe/rpc-error"}},
	{"probe: log output first", []line{{resp: "ready\n"}, {req: askProbe, resp: failed(`"p1"`, -32601, "x")}},
		map[string]string{"recommended": "legacy-fallback probe/rpc-error", "ts-2.4.0": "legacy-fallback probe/rpc-error", "go-1.8.0": "network-error connect/stdio-noise"}},
	{"probe: a version in common", []line{{req: askProbe, resp: `{"jsonrpc":"2.0","id":"p1","error":{"code":-32022,"message":"x","data":{"supported":["2026-07-28"],"requested":"2026-07-28"}}}` + "\n"}},
		map[string]string{"recommended": "corrective-retry@2026-07-28 probe/unsupported-version-common", "spec-2026-07-28": "corrective-retry@2026-07-28 probe/unsupported-version-common"}},
	{"probe: an invalid reply, then silence", []line{{req: askProbe, resp: `{"jsonrpc":"2.0","id":"p1"}` + "\n", end: har.EndClientFIN}},
		map[string]string{"recommended": "legacy-fallback probe/invalid-reply", "ts-2.4.0": "legacy-fallback probe/stdio-invalid"}},
	{"probe: recording stopped", []line{{req: askProbe, end: har.EndStopped}}, map[string]string{"recommended": "inconclusive ", "go-1.8.0": "inconclusive "}},
	{"initialize", []line{{req: askInit, resp: sayInit}},
		map[string]string{"recommended": "delivered initialize/delivered", "spec-2025-11-25": "delivered initialize/delivered"}},
	{"initialize in 2024-11-05", []line{{req: strings.ReplaceAll(askInit, "2025-11-25", "2024-11-05"), resp: strings.ReplaceAll(sayInit, "2025-11-25", "2024-11-05")}},
		map[string]string{"recommended": "delivered initialize/delivered", "spec-2024-11-05": "delivered initialize/stdio"}},
	{"initialized", []line{{req: askInit, resp: sayInit}, {req: sayInited}},
		map[string]string{"recommended": "delivered initialized/stdio", "go-1.8.0": "delivered initialized/stdio", "mcp-go-1.2.1": "delivered initialized/stdio", "spec-2024-11-05": "delivered initialized/stdio"}},
	{"notification", []line{{req: askInit, resp: sayInit}, {req: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n"}},
		map[string]string{"recommended": "delivered notification/stdio", "go-1.8.0": "delivered notification/stdio"}},
	{"request", []line{{req: askInit, resp: sayInit}, {req: askTools, resp: sayTools}},
		map[string]string{"recommended": "delivered request/delivered", "spec-2024-11-05": "delivered request/stdio"}},
	{"request: log output first", []line{{req: askInit, resp: sayInit}, {resp: "ready\n"}, {req: askTools, resp: sayTools}},
		map[string]string{"recommended": "delivered request/delivered", "go-1.8.0": "disconnect request/stdio-noise"}},
	{"request: log output behind the reply", []line{{req: askInit, resp: sayInit}, {req: askTools, resp: sayTools}, {resp: "ready\n"}}, map[string]string{"recommended": " "}},
	{"optional: method not found", []line{{req: askInit, resp: sayInit}, {req: askTools, resp: failed("1", -32601, "no")}},
		map[string]string{"recommended": "keep-connected optional/missing-method-stdio"}},
	{"request: session gone", []line{{req: askInit, resp: sayInit}, {req: askTools, resp: failed("1", -32000, "unknown or expired MCP session")}},
		map[string]string{"recommended": "reinitialize+retry-once session/expired-stdio", "ts-2.4.0": "pass-through session/expired-stdio",
			"ts-1.32.2": "pass-through session/expired-stdio", "rust-3.1.4": "pass-through session/expired-stdio"}},
	{"request: an invalid reply", []line{{req: askInit, resp: sayInit}, {req: askTools, resp: `{"id":1,"result":{}}` + "\n"}},
		map[string]string{"recommended": "timeout request/stdio-unreadable"}},
	{"request: half a reply", []line{{req: askInit, resp: sayInit}, {req: askTools, resp: sayTools[:20], end: har.EndFIN}},
		map[string]string{"recommended": "disconnect request/stdio-cut", "go-1.8.0": "disconnect request/stdio-exit", "mcp-go-1.2.1": "disconnect request/stdio-exit"}},
	{"initialize: half a reply", []line{{req: askInit, resp: sayInit[:20], end: har.EndFIN}},
		map[string]string{"recommended": "network-error initialize/cut-body", "go-1.8.0": "network-error initialize/stdio-cut", "mcp-go-1.2.1": "network-error initialize/transport-failure"}},
	{"initialize: the id is a string", []line{{req: askInit, resp: strings.Replace(sayInit, `"id":0`, `"id":"0"`, 1)}},
		map[string]string{"go-1.8.0": "timeout initialize/stdio-other-id", "mcp-go-1.2.1": "timeout initialize/stdio-other-id"}},
	{"request: the id is a string", []line{{req: askInit, resp: sayInit}, {req: askTools, resp: strings.Replace(sayTools, `"id":1`, `"id":"1"`, 1)}},
		map[string]string{"go-1.8.0": "timeout request/stdio-other-id", "mcp-go-1.2.1": "timeout request/stdio-other-id", "recommended": "timeout request/stdio-unreadable"}},
	{"request: exit", []line{{req: askInit, resp: sayInit}, {req: askTools, end: har.EndFIN, notes: []string{"exit: 1"}}},
		map[string]string{"recommended": "disconnect optional/transport-failure", "go-1.8.0": "disconnect request/stdio-exit", "mcp-go-1.2.1": "disconnect request/stdio-exit"}},
	{"call: half a reply", []line{{req: askInit, resp: sayInit}, {req: strings.Replace(askTools, "tools/list", "tools/call", 1), resp: sayTools[:20], end: har.EndFIN}},
		map[string]string{"recommended": "disconnect request/stdio-cut"}},
}

const discoverLine = `{"jsonrpc":"2.0","id":"p1","result":{"supportedVersions":["2026-07-28"],"capabilities":{},"serverInfo":{"name":"s","version":"1"},"resultType":"complete","ttlMs":0,"cacheScope":"public"}}` + "\n"

func TestPoliciesOverStdio(t *testing.T) {
	for _, r := range stdioRows {
		t.Run(r.name, func(t *testing.T) {
			xs := piped(r.lines...)
			x := analyzedPipes(t, xs, "all").Exchanges[len(xs)-1]
			if x.Observation().Transport != "stdio" || strings.HasPrefix(r.name, "probe") && x.Class != "probe" {
				t.Errorf("transport %s, class %s", x.Observation().Transport, x.Class)
			}
			for policy, want := range r.want {
				v := x.Verdicts[policy]
				if got := v.Verdict + " " + v.Rule; got != want {
					t.Errorf("%s: got %s, want %s", policy, got, want)
				}
			}
		})
	}
}

func TestStdioConversation(t *testing.T) {
	for _, c := range []struct {
		name    string
		lines   []line
		want    string // transport, observed, predicted
		verdict []string
	}{
		{"legacy", []line{{req: askInit, resp: sayInit}, {req: sayInited}, {req: askTools, resp: sayTools}},
			"stdio legacy 2025-11-25 legacy", []string{"delivered", "delivered", "delivered"}},
		{"probe, then the handshake, in one process", []line{{req: askProbe, resp: failed(`"p1"`, -32601, "no")}, {req: askInit, resp: sayInit}, {req: sayInited}},
			"stdio legacy 2025-11-25 legacy", []string{"legacy-fallback", "delivered", "delivered"}},
		{"a missing optional method", []line{{req: askInit, resp: sayInit}, {req: sayInited}, {req: askTools, resp: failed("1", -32601, "no")}},
			"stdio legacy 2025-11-25 legacy", []string{"delivered", "delivered", "keep-connected"}},
		{"a session that is gone behind a bridge", []line{{req: askInit, resp: sayInit}, {req: sayInited}, {req: askTools, resp: failed("1", -32000, "unknown or expired MCP session")}},
			"stdio legacy 2025-11-25 legacy", []string{"delivered", "delivered", "reinitialize+retry-once"}},
		{"a reply that is no message", []line{{req: askInit, resp: sayInit}, {req: sayInited}, {req: askTools, resp: `{"id":1,"result":{}}` + "\n"}},
			"stdio legacy 2025-11-25 legacy", []string{"delivered", "delivered", "timeout"}},
		{"exit at initialize", []line{{req: askInit, end: har.EndFIN, notes: []string{"exit: 1"}}}, "stdio failed  failed", []string{"network-error"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := analyzedPipes(t, piped(c.lines...))
			v := r.Conversations[0]
			if got := fmt.Sprintf("%s %s %s %s", v.Transport, v.Observed.Outcome, v.Observed.Version, v.Predicted[Recommended].Outcome); got != c.want || len(r.Conversations) != 1 {
				t.Errorf("got %s in %d conversations, want %s", got, len(r.Conversations), c.want)
			}
			var got []string
			for _, x := range r.Exchanges {
				got = append(got, x.Verdicts[Recommended].Verdict)
			}
			if !slices.Equal(got, c.verdict) {
				t.Errorf("verdicts %q, want %q", got, c.verdict)
			}
		})
	}
}

func TestFindingsOverStdio(t *testing.T) {
	connected := []line{{req: askInit, resp: sayInit}, {req: sayInited}}
	for _, c := range []struct {
		name string
		line line
		want string
	}{
		{"nothing wrong", line{req: askTools, resp: sayTools}, ""},
		{"a notification of the server", line{resp: `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}` + "\n"}, ""},
		{"an empty line", line{resp: "\n"}, ""},
		{"a byte order mark", line{resp: "\uFEFF" + sayTools}, "error server stdio-byte-order-mark"},
		{"a byte order mark before noise", line{resp: "\uFEFFready\n"}, "error server stdio-noise"},
		{"the client leaves at once", line{askTools, "", har.EndClientFIN, []string{"exit: 0"}}, "note unknown request-unanswered"},
		{"log output", line{resp: "Server listening on stdio\n"}, "error server stdio-noise"},
		{"log output with brackets", line{resp: "[info] ready\n"}, "error server stdio-noise"},
		{"a number", line{resp: "42\n"}, "error server stdio-noise"},
		{"JSON of something else", line{resp: `{"level":"info","msg":"ready"}` + "\n"}, "warning server stdio-not-jsonrpc"},
		{"pretty-printed, first line", line{resp: "{\n"}, "error server stdio-embedded-newline"},
		{"pretty-printed, a member", line{resp: "  \"jsonrpc\": \"2.0\",\n"}, "error server stdio-embedded-newline"},
		{"pretty-printed, last line", line{resp: "}\n"}, "error server stdio-embedded-newline"},
		{"Content-Length", line{resp: "Content-Length: 42\r\n"}, "error server stdio-content-length"},
		{"Content-Length of the client", line{req: "Content-Length: 42\r\n"}, "error client stdio-content-length-request"},
		{"no line end", line{askTools, strings.TrimSuffix(sayTools, "\n"), har.EndClientFIN, nil}, "error server stdio-no-newline"},
		{"two messages in one line", line{resp: strings.TrimSuffix(sayTools, "\n") + sayTools}, "error server stdio-no-newline"},
		{"no line end of the client", line{req: strings.TrimSuffix(askTools, "\n"), end: har.EndClientFIN}, "error client stdio-no-newline-request, note unknown request-unanswered"},
		{"half a reply", line{askTools, sayTools[:20], har.EndFIN, []string{"exit: 1"}}, "error server stdio-line-cut"},
		{"exit before the reply", line{askTools, "", har.EndFIN, []string{"exit: 1"}}, "error server stdio-exit-before-reply"},
		{"stdout closed", line{askTools, "", har.EndFIN, nil}, "error server stdio-stdout-closed"},
		{"a reply to nobody", line{resp: failed("77", -32603, "x")}, "warning server stdio-reply-uncorrelated"},
		{"a reply to null", line{resp: `{"jsonrpc":"2.0","id":null,"result":{}}` + "\n"}, "warning server stdio-reply-uncorrelated"},
		{"an id in another type", line{resp: strings.Replace(sayInit, `"id":0`, `"id":"0"`, 1)}, "error server stdio-reply-id-type"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, f := range analyzedPipes(t, piped(append(slices.Clone(connected), c.line)...)).Findings {
				got = append(got, f.Severity+" "+f.Fault+" "+f.ID)
			}
			slices.Sort(got)
			if s := strings.Join(got, ", "); s != c.want {
				t.Errorf("got %s, want %s", s, c.want)
			}
		})
	}
}

// TestPiecesOverStdio: a reply over several lines is none by the specification; a client that decodes a stream of JSON values
// finds it, which the pieces do not show one by one.
func TestPiecesOverStdio(t *testing.T) {
	r := analyzedPipes(t, piped(line{req: askProbe, end: har.EndClientFIN}, line{resp: "{\n"}, line{resp: "}\n"}), "recommended", "go-1.8.0")
	v := r.Exchanges[0].Verdicts
	if v[Recommended].Verdict != "legacy-fallback" || v["go-1.8.0"].Verdict != "inconclusive" {
		t.Errorf("got %s and %s, want legacy-fallback and inconclusive", v[Recommended].Verdict, v["go-1.8.0"].Verdict)
	}
}

// A fault that shows in one line and costs another its answer is said once.
func TestLineExplainsRequest(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []line
		want  string
	}{
		{"a byte order mark before the reply to initialize", []line{{req: askInit, end: har.EndClientFIN}, {resp: "\uFEFF" + sayInit}}, "error server stdio-byte-order-mark [2 1]"},
		{"a reply framed as the Language Server Protocol has it", []line{{req: askInit, resp: sayInit}, {resp: "Content-Length: 42\r\n"}, {resp: strings.TrimSuffix(sayTools, "\n") + "Content-Length: 42\n"}, {resp: strings.TrimSuffix(sayTools, "\n"), end: har.EndFIN}}, "error server stdio-content-length [2]"},
	} {
		var got []string
		for _, f := range analyzedPipes(t, piped(c.lines...)).Findings {
			got = append(got, fmt.Sprint(f.Severity, " ", f.Fault, " ", f.ID, " ", f.Exchanges))
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: %s, want %s", c.name, s, c.want)
		}
	}
}
