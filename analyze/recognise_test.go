package analyze

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/har"
)

// TestHostsRecognised holds who is recognised in every measured run, from its first requests on: the host, its policy, how
// surely.
func TestHostsRecognised(t *testing.T) {
	want := map[string]string{
		"qwen-list": "qwen-code typescript qwen-code-0.24.4 likely", "qwen-p": "qwen-code typescript qwen-code-0.24.4 likely",
		"gemini-list": "gemini-cli typescript gemini-cli-0.61.0-list likely", "gemini-p": "gemini-cli typescript gemini-cli-0.61.0 certain",
		"opencode-list": "opencode typescript opencode-1.18.33 certain", "opencode-run": "opencode typescript opencode-1.18.33 certain",
		"codex": "codex rust codex-0.171.0 certain", "codex-2026": "codex rust codex-0.171.0-2026 certain",
		"mcporter": "mcporter typescript mcporter-0.12.3 certain", "langchain": "langchain typescript langchain-mcp-adapters-1.1.4 certain",
		"inspector": "inspector typescript inspector-2.12.0 certain", "inspector-auto": "inspector typescript inspector-2.12.0-auto certain",
		"aisdk": "ai-sdk unknown ai-sdk-2.0.99 certain", "supergateway": "supergateway typescript supergateway-4.0.0 guess",
	}
	for _, r := range hostsMeasured().Runs {
		for _, v := range r.analysis(t).conversations {
			c := v.first()
			got := strings.Join([]string{v.client.host, v.client.sdk, v.client.policy, string(v.client.confidence)}, " ")
			wanted := want[r.Host]
			switch {
			case strings.HasPrefix(r.Host, "mcp-remote"):
				wanted = "mcp-remote typescript mcp-remote-0.15.1 certain"
				if c.info.name == "mcp-remote-fallback-test" {
					wanted = "mcp-remote typescript mcp-remote-0.15.1 likely" // the bridge's version is not in it
				}
				if len(c.inits) == 0 {
					continue // GET alone names nobody
				}
			case len(c.inits)+len(c.probes) == 0:
				continue
			case r.Host == "supergateway" && len(c.requests) == 0:
				wanted = " typescript ts-1.32.2 likely" // so far it writes as the SDK below it
				if len(c.inited) == 0 {
					wanted = " typescript ts-2.4.0-legacy guess"
				}
			}
			if got != wanted {
				t.Errorf("%s %s, conversation %d: %q, want %q (%s)", r.Host, r.Case, v.id, got, wanted, v.client.why)
			}
		}
	}
}

// TestTwoHandshakesOfABridge: mcp-remote tests the server under a name of its own before the host's handshake, and passes
// the host's probe on as it was.
func TestTwoHandshakesOfABridge(t *testing.T) {
	for _, r := range hostsMeasured().Runs {
		if !strings.HasPrefix(r.Host, "mcp-remote") || r.Case != "l-init-2024" {
			continue
		}
		var names []string
		for _, v := range r.analysis(t).conversations {
			names = append(names, v.first().info.name)
		}
		if len(names) != 2 || names[0] != "mcp-remote-fallback-test" || !strings.HasPrefix(names[1], "lab-host") {
			t.Errorf("%s: conversations of %q", r.Host, names)
		}
	}
}

// named gives a connect in which a client calls itself so, with a User-Agent and the members of initialize in an order.
func named(name, version, agent, members string) []step {
	parts := map[string]string{
		"jsonrpc": `"jsonrpc":"2.0"`, "id": `"id":0`, "method": `"method":"initialize"`,
		"params": `"params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"` + name + `","version":"` + version + `"}}`,
		"info":   `"params":{"clientInfo":{"name":"` + name + `","version":"` + version + `"},"protocolVersion":"2025-11-25","capabilities":{}}`,
	}
	var body []string
	for _, m := range strings.Split(members, ",") {
		body = append(body, parts[m])
	}
	var fields []string
	if agent != "" {
		fields = []string{"user-agent: " + agent + "\r\n"}
	}
	return one(step{req: post("{"+strings.Join(body, ",")+"}", fields...), resp: js("200 OK", success("0", initResult))})
}

// goProbe is the connect of a client that needs no handshake, as both libraries in Go write it: maps sorted by their keys.
func goProbe(agent, capabilities string) []step {
	const own = `"io.modelcontextprotocol/`
	return one(step{
		req: post(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{`+own+`clientCapabilities":`+capabilities+`,`+own+`clientInfo":{"name":"app","version":"1"},`+own+`protocolVersion":"2026-07-28"}}}`,
			"user-agent: "+agent+"\r\n", "mcp-protocol-version: 2026-07-28\r\n"),
		resp: js("200 OK", discovered("1", `["2026-07-28"]`)),
	})
}

// TestRecognise holds marks that the measured hosts do not leave: SDKs by themselves, and versions that were not measured.
func TestRecognise(t *testing.T) {
	rust := named("rmcp", "3.1.4", "", "jsonrpc,id,method,params")
	rust[0].req = strings.Replace(rust[0].req, "application/json, text/event-stream", "text/event-stream, application/json", 1)
	pin := one(probing(1, js("200 OK", failure(probe1, -32601, noMethod))))
	for _, c := range []struct {
		name  string
		scene []step
		want  string
	}{
		{"go-sdk", named("app", "1", "Go-http-client/1.1", "jsonrpc,id,method,info"), " go go-1.8.0 likely"},
		{"mcp-go", named("app", "1", "Go-http-client/1.1", "jsonrpc,id,method,params"), " mcp-go mcp-go-1.2.1 likely"},
		{"go-sdk without a handshake", goProbe("Go-http-client/1.1", `{"roots":{"listChanged":true}}`), " go go-1.8.0 guess"},
		{"mcp-go without a handshake", goProbe("Go-http-client/1.1", `{}`), " mcp-go mcp-go-1.2.1 guess"},
		{"another client in Go without a handshake", goProbe("Go-http-client/1.1", `{"sampling":{}}`), " unknown  unknown"},
		{"a probe written so elsewhere", goProbe("axios/1", `{}`), " unknown  unknown"},
		{"mcp-go that listens", in(named("app", "1", "Go-http-client/1.1", "jsonrpc,id,method,params"), step{req: get(session), resp: open("")}), " mcp-go mcp-go-1.2.1-listen likely"},
		{"rmcp", rust, " rust rust-3.1.4 certain"},
		{"Python by its default name", named("mcp", "0.1.0", "", "jsonrpc,id,method,params"), " python python-main likely"},
		{"Python by name and library", named("mcp", "0.1.0", "python-httpx/0.28.1", "jsonrpc,id,method,params"), " python python-main certain"},
		{"httpx alone", named("app", "1", "python-httpx/0.28.1", "jsonrpc,id,method,params"), " python python-main guess"},
		{"Java", named("app", "1", "Java-http-client/21", "jsonrpc,id,method,params"), " java java-main guess"},
		{"Kotlin", named("app", "1", "ktor-client", "jsonrpc,id,method,params"), " kotlin kotlin-main guess"},
		{"TypeScript 2.x", in(named("app", "1", "node", "method,params,jsonrpc,id"), initialized1(answer("202 Accepted", "", ""))), " typescript ts-2.4.0-legacy likely"},
		{"TypeScript of either", named("app", "1", "node", "method,params,jsonrpc,id"), " typescript ts-2.4.0-legacy guess"},
		{"TypeScript that probes", one(fellBackWith()), " typescript ts-2.4.0 certain"},
		{"TypeScript, pinned", pin, " typescript ts-2.4.0-pin likely"},
		{"a host without a policy", in(named("cursor-vscode", "1", "node", "method,params,jsonrpc,id"), initialized1(answer("202 Accepted", "", ""))), "cursor typescript ts-2.4.0-legacy likely"},
		{"a newer codex", named("codex-mcp-client", "0.180.2", "codex-mcp-client/0.180.2", "jsonrpc,id,method,params"), "codex rust codex-0.171.0 guess"},
		{"an older gemini-cli", named("gemini-cli-mcp-client", "0.9.0", "node", "method,params,jsonrpc,id"), "gemini-cli typescript gemini-cli-0.61.0 guess"},
		{"AI SDK under another name", named("my-app", "1", "ai-sdk/2.1.0 node.js/24", "method,params,jsonrpc,id"), "ai-sdk unknown ai-sdk-2.0.99 likely"},
		{"mcp-remote of another version", named("x (via mcp-remote 0.16.0)", "1", "undici", "jsonrpc,id,method,params"), "mcp-remote typescript mcp-remote-0.15.1 guess"},
		{"nobody", named("app", "1", "", "id,jsonrpc,method,params"), " unknown  unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := factsOf(c.scene).conversations[0]
			got := strings.Join([]string{v.client.host, v.client.sdk, v.client.policy, string(v.client.confidence)}, " ")
			if got != c.want {
				t.Errorf("%q, want %q (%s)", got, c.want, v.client.why)
			}
			newer := strings.Contains(c.name, "newer") || strings.Contains(c.name, "older") || strings.Contains(c.name, "another version")
			if newer != strings.Contains(v.client.why, "was not measured") && c.name != "AI SDK under another name" {
				t.Errorf("the reason does not say that the version was not measured, or says it without need: %s", v.client.why)
			}
		})
	}
}

// fellBackWith is a probe of the TypeScript client that was not answered yet.
func fellBackWith() step { return probing(1, "").ends(har.EndStopped) }

// TestOthers holds which policies are shown beside the client's own, and that a pinned client is not blamed.
func TestOthers(t *testing.T) {
	r := analyzed(t, one(probing(1, js("200 OK", errIDNull))))
	if got := r.Conversations[0].Others[Legacy]; !slices.Contains(got, Recommended) || slices.Contains(got, "ts-2.4.0") || slices.Contains(got, "ts-main") {
		t.Errorf("others that fall back: %v", got)
	}
	if named := analyzed(t, one(probing(1, js("200 OK", errIDNull))), "ts-2.4.0"); named.Conversations[0].Others != nil {
		t.Errorf("others although a policy was asked for: %v", named.Conversations[0].Others)
	}
	pinned := analyzed(t, one(probing(1, js("200 OK", failure(probe1, -32601, noMethod)))))
	if i := slices.IndexFunc(pinned.Findings, func(f Finding) bool { return f.ID == "policy-differs" || f.ID == "policy-unexpected" }); i >= 0 {
		t.Errorf("a pinned client is blamed: %+v", pinned.Findings[i])
	}
}

func TestServerRecognised(t *testing.T) {
	for field, want := range map[string]string{
		"server: uvicorn\r\n": "python guess", "server: Kestrel\r\n": "csharp guess", "x-powered-by: Express\r\n": "typescript guess",
		"server: nginx/1.27\r\n": "unknown unknown",
	} {
		v := analyzed(t, one(initializing(js("200 OK", success("0", initResult), field)))).Conversations[0]
		if got := v.Server.SDK + " " + string(v.Server.Confidence); got != want || v.Server.Why == "" {
			t.Errorf("%q: %s, want %s; why %q", field, got, want, v.Server.Why)
		}
	}
	named := strings.Replace(initResult, "example-server", "rmcp", 1)
	if v := analyzed(t, one(initializing(js("200 OK", success("0", named))))).Conversations[0]; v.Server.SDK != "rust" || v.Server.Confidence != Likely {
		t.Errorf("rmcp: %+v", v.Server)
	}
}

func TestNearest(t *testing.T) {
	measured := []string{"1.10.0", "1.9.2", "2.0.0"}
	for version, want := range map[string]string{"": "2.0.0", "1.10.0": "1.10.0", "1.9.9": "1.9.2", "1.11": "1.10.0", "9": "2.0.0", "0.1": "1.9.2", "x": "1.9.2"} {
		if got := nearest(version, slices.Clone(measured)); got != want {
			t.Errorf("%q: %s, want %s", version, got, want)
		}
	}
}

// TestClientsData holds the words and policies of clients.json against those that exist.
func TestClientsData(t *testing.T) {
	used := map[string]bool{}
	for _, k := range slices.Concat(knownClients().Hosts, knownClients().SDKs) {
		for _, w := range slices.Concat(k.Marks, k.Confirm) {
			used[w] = true
			if !slices.Contains(markWords, w) {
				t.Errorf("%s%s: no mark is called %q", k.Host, k.SDK, w)
			}
		}
		names := []string{k.Policy}
		for _, p := range k.Policies {
			names = append(names, p)
		}
		for _, name := range names {
			if name != "" && policies().byName[name] == nil {
				t.Errorf("%s%s: there is no policy %s", k.Host, k.SDK, name)
			}
		}
		if k.Names == nil && k.Agents == nil && k.Marks == nil {
			t.Errorf("%s%s: fits everybody", k.Host, k.SDK)
		}
	}
	for _, w := range markWords {
		if !used[w] {
			t.Errorf("mark %q is asked for nowhere", w)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{{"a*", "abc", true}, {"a*", "ba", false}, {"abc", "abc", true}, {"abc", "abcd", false}, {"* (via x *)", "host (via x 1)", true}, {"* (via x *)", "host (via y 1)", false}, {"*", "", true}, {"a*a", "a", false}} {
		if got := matches(c.pattern, c.s); got != c.want {
			t.Errorf("%q, %q: %v", c.pattern, c.s, got)
		}
	}
}
