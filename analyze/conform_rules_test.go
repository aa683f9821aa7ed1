package analyze

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/har"
)

// A talk writes the steps of a session that conforms to one revision.
type talk struct {
	rev                    string
	clientHas, serverHas   string
	sessionID              string
	uninitialized          bool
	leaveOut, instead, put string // of the request's fields: a line begins so, is replaced by, and is added
}

func talking(rev string) talk {
	return talk{rev: rev, clientHas: `{"sampling":{},"roots":{}}`,
		serverHas: `{"tools":{},"prompts":{},"resources":{},"completions":{},"logging":{}}`, sessionID: "0123456789abcdef"}
}

func (k talk) modern() bool { return k.rev == firstModern }

// opened begins the session.
func (k talk) opened() []step {
	if k.modern() {
		return one(k.asks(`"d"`, "server/discover", "", k.ok(`"d"`, `"supportedVersions":["2026-07-28"],"capabilities":`+k.serverHas+`,`+cacheable)))
	}
	first := step{req: post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + k.rev + `","capabilities":` + k.clientHas + `,"clientInfo":` + clientInfo + `}}`),
		resp: js("200 OK", success("0", `{"protocolVersion":"`+k.rev+`","capabilities":`+k.serverHas+`,"serverInfo":{"name":"s","version":"1"}}`), "mcp-session-id: "+k.sessionID+"\r\n")}
	if k.uninitialized {
		return one(first)
	}
	return []step{first, k.tells("notifications/initialized", "", answer("202 Accepted", "", ""))}
}

const cacheable = `"ttlMs":0,"cacheScope":"private"`

// fields are those of the session, changed as the talk says.
func (k talk) fields(method, name string) []string {
	list := []string{"mcp-session-id: " + k.sessionID + "\r\n", "mcp-protocol-version: " + k.rev + "\r\n"}
	if k.modern() {
		list = []string{"mcp-protocol-version: " + k.rev + "\r\n", "mcp-method: " + method + "\r\n"}
		if name != "" {
			list = append(list, "mcp-name: "+name+"\r\n")
		}
	}
	for i := range list {
		if k.leaveOut != "" && strings.HasPrefix(list[i], k.leaveOut) {
			list[i] = k.instead
		}
	}
	return append(list, k.put)
}

// asks sends a request; params is without its braces.
func (k talk) asks(id, method, params, resp string) step {
	_, name, _ := strings.Cut(params, `"name":"`)
	name, _, _ = strings.Cut(name, `"`)
	if k.modern() {
		if params != "" {
			params += ","
		}
		params += meta
	}
	return step{req: post(`{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`","params":{`+params+`}}`, k.fields(method, name)...), resp: resp}
}

func (k talk) tells(method, params, resp string) step {
	return step{req: post(`{"jsonrpc":"2.0","method":"`+method+`","params":{`+params+`}}`, k.fields(method, "")...), resp: resp}
}

// result writes a result; inner is without its braces.
func (k talk) result(id, inner string) string {
	if k.modern() {
		if inner != "" {
			inner += ","
		}
		inner += `"resultType":"complete"`
	}
	return success(id, "{"+inner+"}")
}

func (k talk) ok(id, inner string) string { return js("200 OK", k.result(id, inner)) }

const echoed = `"content":[{"type":"text","text":"pong"}]`

// calls calls a tool, whose answer is a stream of these messages and the result.
func (k talk) calls(id string, before ...string) step {
	events := ""
	for _, m := range before {
		events += event(m)
	}
	return k.asks(id, "tools/call", `"name":"echo","arguments":{}`, sse(events+event(k.result(id, echoed))))
}

func (k talk) lists(id, tools string) step {
	return k.asks(id, "tools/list", "", k.ok(id, `"tools":[`+tools+`],`+cacheable))
}

func (k talk) gets(events string, fields ...string) step {
	return step{req: get(append(k.fields("", ""), fields...)...), resp: sse(events)}
}

// healthy is a session with about everything in it that conforms to its revision.
func healthy(rev string) []step {
	k := talking(rev)
	log := `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`
	progress := func(n int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":%d}}`, n)
	}
	call := k.asks("3", "tools/call", `"name":"echo","arguments":{}`, sse(event(log)+event(progress(1))+event(progress(2))+event(k.result("3", echoed))))
	call.req = strings.Replace(call.req, `"arguments":{}`, `"arguments":{},"_meta":{"progressToken":"t"}`, 1)
	if k.modern() {
		call = k.asks("3", "tools/call", `"name":"echo","arguments":{}`, sse(event(log)+event(progress(1))+event(progress(2))+event(k.result("3", echoed))))
		call.req = strings.Replace(call.req, `"_meta":{`, `"_meta":{"progressToken":"t","io.modelcontextprotocol/logLevel":"info",`, 1)
	}
	call.req = sized(call.req)
	s := append(k.opened(), k.lists("1", `{"name":"echo","inputSchema":{"type":"object"}}`),
		k.asks("2", "prompts/list", "", k.ok("2", `"prompts":[],`+cacheable)), call,
		k.asks("4", "resources/read", `"uri":"file:///a"`, js("200 OK", failure("4", -32602, "not there"))))
	if k.modern() {
		s[4].req = strings.Replace(s[4].req, "mcp-method: resources/read\r\n", "mcp-method: resources/read\r\nmcp-name: =?base64?ZmlsZTovLy9h?=\r\n", 1)
		return s
	}
	return append(s, k.gets(event(`{"jsonrpc":"2.0","id":"s","method":"roots/list"}`)),
		step{req: post(success(`"s"`, `{"roots":[{"uri":"file:///a"}]}`), k.fields("", "")...), resp: answer("202 Accepted", "", "")})
}

// sized puts the right Content-Length into a request.
func sized(req string) string {
	head, body, _ := strings.Cut(req, "\r\n\r\n")
	at := strings.Index(head, "content-length: ")
	return head[:at] + fmt.Sprintf("content-length: %d", len(body)) + "\r\n\r\n" + body
}

// ruleScenes break one rule each, whatever the revision; where the revision does not have the rule nothing is found.
var ruleScenes = []struct {
	id    string
	scene func(k talk) []step
}{
	{"accept-post", func(k talk) []step {
		s := k.calls("3")
		s.req = strings.Replace(s.req, "application/json, text/event-stream", "application/json", 1)
		return append(k.opened(), s)
	}},
	{"accept-get", func(k talk) []step {
		s := k.gets("")
		s.req = strings.Replace(s.req, "accept: text/event-stream", "accept: application/json", 1)
		return append(k.opened(), s)
	}},
	{"batch", func(k talk) []step {
		s := k.calls("3")
		s.req = sized(strings.Replace(s.req, "\r\n\r\n{", "\r\n\r\n[{", 1) + "]")
		return append(k.opened(), s)
	}},
	{"batch-answer", func(k talk) []step {
		return append(k.opened(), k.asks("3", "tools/call", `"name":"echo"`, js("200 OK", "["+k.result("3", echoed)+"]")))
	}},
	{"cancel-initialize", func(k talk) []step {
		return append(k.opened(), k.tells("notifications/cancelled", `"requestId":0`, answer("202 Accepted", "", "")))
	}},
	{"client-capability", func(k talk) []step {
		k.clientHas = `{}`
		return append(k.opened(), k.calls("3", `{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`))
	}},
	{"client-response", func(k talk) []step {
		return append(k.opened(), step{req: post(success(`"s"`, `{}`), k.fields("", "")...), resp: answer("202 Accepted", "", "")})
	}},
	{"completion-values", func(k talk) []step {
		return append(k.opened(), k.asks("3", "completion/complete", `"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"b"}`,
			k.ok("3", `"completion":{"values":["x"`+strings.Repeat(`,"x"`, 100)+`]}`)))
	}},
	{"error-code", func(k talk) []step {
		return append(k.opened(), k.asks("3", "tools/call", `"name":"echo"`, js("200 OK", failure("3", -32002, "not there"))),
			k.asks("4", "tools/call", `"name":"echo"`, js("200 OK", failure("4", -32099, "own"))), k.asks("5", "tools/call", `"name":"echo"`, js("400 Bad Request", failure("5", -32020, "headers"))))
	}},
	{"initialized", func(k talk) []step {
		k.uninitialized = true
		return append(k.opened(), k.calls("3"))
	}},
	{"log-level and logging-capability", func(k talk) []step {
		k.serverHas = `{"tools":{}}`
		return append(k.opened(), k.calls("3", `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`))
	}},
	{"method-header", func(k talk) []step {
		s := k.opened()
		k.leaveOut = "mcp-method"
		return append(s, k.calls("3"))
	}},
	{"method-not-found", func(k talk) []step {
		return append(k.opened(), k.asks("3", "tools/call", `"name":"echo"`, js("200 OK", failure("3", -32601, "Method not found"))))
	}},
	{"name-header", func(k talk) []step {
		s := k.opened()
		k.leaveOut = "mcp-name"
		return append(s, k.calls("3"))
	}},
	{"progress-increases", func(k talk) []step {
		p := `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":2}}`
		s := k.calls("3", p, p)
		s.req = sized(strings.Replace(s.req, `"arguments":{}`, `"arguments":{},"_meta":{"progressToken":"t"}`, 1))
		if k.modern() {
			s = k.calls("3", p, p)
			s.req = sized(strings.Replace(s.req, `"_meta":{`, `"_meta":{"progressToken":"t",`, 1))
		}
		return append(k.opened(), s)
	}},
	{"progress-token", func(k talk) []step {
		return append(k.opened(), k.calls("3", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}`))
	}},
	{"request-id", func(k talk) []step { return append(k.opened(), k.calls("3"), k.calls("3")) }},
	{"request-too-soon", func(k talk) []step {
		s := append(k.opened(), k.calls("3"))
		s[len(s)-1].note = tooSoon
		return s
	}},
	{"response-on-stream", func(k talk) []step {
		return append(k.opened(), k.asks("3", "tools/call", `"name":"echo"`, answer("202 Accepted", "", "")), k.gets(event(failure("3", 1, "late"))))
	}},
	{"root-uri", func(k talk) []step {
		return append(k.opened(), k.gets(event(`{"jsonrpc":"2.0","id":"s","method":"roots/list"}`)),
			step{req: post(success(`"s"`, `{"roots":[{"uri":"https://example.test"}]}`), k.fields("", "")...), resp: answer("202 Accepted", "", "")})
	}},
	{"server-capability", func(k talk) []step {
		k.serverHas = `{"tools":{}}`
		return append(k.opened(), k.asks("3", "prompts/list", "", k.ok("3", `"prompts":[],`+cacheable)))
	}},
	{"server-request", func(k talk) []step {
		return append(k.opened(), k.calls("3", `{"jsonrpc":"2.0","id":"s","method":"ping"}`))
	}},
	{"session-header", func(k talk) []step {
		s := k.opened()
		s[len(s)-1] = s[len(s)-1].ends(har.EndFIN)
		k.leaveOut = "mcp-session-id" // on another connection, which may be another client's
		return append(s, k.calls("3"))
	}},
	{"error-status", func(k talk) []step {
		return append(k.opened(), k.asks("3", "tools/call", `"name":"echo"`, js("200 OK", `{"jsonrpc":"2.0","id":3,"error":{"code":-32021,"message":"Missing capability","data":{"requiredCapabilities":{}}}}`)))
	}},
	{"event-id", func(k talk) []step {
		asked := func(id string) step {
			return k.asks(id, "tools/call", `"name":"echo"`, sse("id: 1\n"+event(k.result(id, `"content":[]`))))
		}
		return append(k.opened(), asked("3"), asked("4"))
	}},
	{"origin", func(k talk) []step {
		s := k.opened()
		k.put = "origin: http://evil.example.test\r\n"
		return append(s, k.calls("3"))
	}},
	{"session-id", func(k talk) []step {
		k.sessionID = "0123 4567"
		return append(k.opened(), k.calls("3"))
	}},
	{"structured-content", func(k talk) []step {
		return append(k.opened(), k.lists("1", `{"name":"echo","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}`), k.calls("3"))
	}},
	{"structured-text", func(k talk) []step {
		return append(k.opened(), k.asks("3", "tools/call", `"name":"echo"`, k.ok("3", `"content":[],"structuredContent":{}`)))
	}},
	{"subscription-acknowledged", func(k talk) []step {
		return append(k.opened(), k.asks("3", "subscriptions/listen", `"notifications":{}`, sse(event(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))))
	}},
	{"tool-name", func(k talk) []step {
		return append(k.opened(), k.lists("1", `{"name":"an echo","inputSchema":{"type":"object"}}`))
	}},
	{"version-header and version-header-body", func(k talk) []step {
		s := k.opened()
		k.leaveOut = "mcp-protocol-version"
		return append(s, k.calls("3"))
	}},
	{"version-header-negotiated", func(k talk) []step {
		s := k.opened()
		k.leaveOut, k.instead = "mcp-protocol-version", "mcp-protocol-version: 2024-10-07\r\n"
		return append(s, k.calls("3"))
	}},
}

// tooSoon marks a step that begins together with the first.
const tooSoon = "too soon"

// conformanceOf gives what is said of conformance in a session of one revision, one line for each finding.
func conformanceOf(t *testing.T, scene []step, rules []ConformanceRule) string {
	t.Helper()
	var all []*facts
	xs := exchanges(scene)
	for i, x := range xs {
		if scene[i].note == tooSoon {
			x.Started, x.Notes = xs[0].Started, nil
		}
		all = append(all, observe(x))
	}
	a := newAnalysis(all, nil, Options{})
	a.find()
	known := slices.DeleteFunc(a.findings, ofConformance)
	var b strings.Builder
	for _, f := range a.withConformance(known, rules) {
		if ofConformance(f) {
			fmt.Fprintf(&b, "  %s %s %s %v: %s\n", f.Severity, f.Fault, f.ID, f.Exchanges, f.Message)
			checkFinding(t, &f, scene)
		}
	}
	return b.String()
}

func TestHealthySessionsConform(t *testing.T) {
	for _, rev := range revisionNames {
		if got := conformanceOf(t, healthy(rev), conformanceRules()); got != "" {
			t.Errorf("%s:\n%s", rev, got)
		}
	}
	unknown := strings.ReplaceAll("2025-06-18", "06", "07")
	for _, c := range ruleScenes {
		if got := conformanceOf(t, c.scene(talking(unknown)), conformanceRules()); got != "" {
			t.Errorf("%s is judged in a revision that the tables do not know:\n%s", c.id, got)
		}
	}
}

// What each scene breaks in each revision is written down, and every rule is broken by one.
func TestConformanceRules(t *testing.T) {
	var b bytes.Buffer
	for _, c := range ruleScenes {
		for _, rev := range revisionNames {
			fmt.Fprintf(&b, "%s in %s\n%s", c.id, rev, conformanceOf(t, c.scene(talking(rev)), conformanceRules()))
		}
	}
	golden(t, "testdata/conform/rules.txt", b.Bytes())
	for _, r := range conformanceRules() {
		if r.Finding == "" && !strings.Contains(b.String(), " "+r.FindingID()+" ") {
			t.Errorf("no scene breaks %s", r.ID)
		}
		if r.Finding != "" && !slices.Contains(FindingIDs(), r.Finding) {
			t.Errorf("%s names the finding %s, which there is not", r.ID, r.Finding)
		}
	}
}

// Each row of the rules, left out or turned into another, changes what is found in some scene.
func TestEveryConformanceRuleCounts(t *testing.T) {
	rules := ConformanceRules()
	found := func(id string) string {
		var b strings.Builder
		for _, c := range ruleScenes {
			if !strings.Contains(c.id, strings.TrimPrefix(id, "conform/")) {
				continue
			}
			for _, rev := range revisionNames {
				b.WriteString(conformanceOf(t, c.scene(talking(rev)), rules))
			}
		}
		return b.String()
	}
	for i, was := range rules {
		if was.Finding != "" {
			continue
		}
		want := found(was.ID)
		for what, change := range map[string]func(r *ConformanceRule){
			"gone":       func(r *ConformanceRule) { r.in = 0 },
			"level":      func(r *ConformanceRule) { r.Level = map[string]string{"MUST": "SHOULD", "SHOULD": "MUST"}[r.Level] },
			"fault":      func(r *ConformanceRule) { r.Fault = byNobody },
			"one less":   func(r *ConformanceRule) { r.in &= r.in - 1 },
			"the others": func(r *ConformanceRule) { r.in = allRevisions &^ r.in },
		} {
			change(&rules[i])
			if found(was.ID) == want {
				t.Errorf("%s: %s changes nothing", was.ID, what)
			}
			rules[i] = was
		}
	}
}

func TestConformanceDocument(t *testing.T) {
	golden(t, "../docs/conformance.md", []byte(ConformanceMarkdown()))
}

// The evidence of a bad session id is its line.
func TestEvidenceOfASessionID(t *testing.T) {
	scene := one(initializing(js("200 OK", success("0", initResult), "mcp-session-id: 0123 4567\r\n")))
	for _, f := range analyzed(t, scene).Findings {
		if f.ID != "conform-session-id" {
			continue
		}
		e := f.Evidence[0]
		if got := scene[0].resp[e.Offset : e.Offset+e.Length]; got != "mcp-session-id: 0123 4567" {
			t.Errorf("evidence is %q", got)
		}
		return
	}
	t.Error("no conform-session-id")
}
