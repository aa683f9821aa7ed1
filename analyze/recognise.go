package analyze

import "strings"

// recognised is what is known of a client beyond what it says of itself.
type recognised struct {
	sdk, host, policy, why string
}

// hosts are the names that hosts give in clientInfo; a trailing * stands for any rest.
var hosts = []struct{ name, host string }{
	{"qwen-cli-mcp-client-*", "qwen-code"}, {"gemini-cli-mcp-client*", "gemini-cli"}, {"opencode*", "opencode"},
	{"codex-mcp-client*", "codex"}, {"mcporter*", "mcporter"}, {"inspector-*", "inspector"}, {"mcp-inspector*", "inspector"},
	{"mcp-remote*", "mcp-remote"}, {"ai-sdk-mcp-client", "ai-sdk"}, {"@langchain/mcp-adapters", "langchain"},
	{"claude-code*", "claude-code"}, {"claude-ai*", "claude"}, {"Claude*", "claude"}, {"cursor*", "cursor"},
	{"Visual Studio Code*", "vscode"}, {"Zed*", "zed"}, {"goose*", "goose"}, {"cline*", "cline"},
}

// recognise names the library and the host behind a connect. In order of confidence: the probe's id, the name in
// clientInfo (which names the host, not the library), the order of members, the User-Agent (which names the HTTP library).
func recognise(c *connect) recognised {
	r := recognised{sdk: "unknown", host: hostName(c.info.name)}
	m := marksOf(c)
	switch {
	case m.probeID:
		r.sdk, r.policy, r.why = "typescript", "ts-2.4.0", "the probe's id begins with "+probePrefix+", as only the TypeScript SDK 2.x writes it"
	case r.host == "codex":
		r.sdk, r.why = "rust", "clientInfo names codex, which is built on rmcp"
	case strings.HasPrefix(m.initShape, "method,params,jsonrpc"):
		r.sdk, r.why = "typescript", "requests are written method, params, jsonrpc, as the TypeScript SDK does"
		if m.initedShape == "jsonrpc,method" {
			r.policy = "ts-2.4.0"
			r.why += "; notifications jsonrpc first, as its 2.x does"
		}
	case strings.HasPrefix(m.agent, "Go-http-client") && m.params == "clientInfo":
		r.sdk, r.policy, r.why = "go", "go-1.8.0", "User-Agent of net/http, and initialize's params begin with clientInfo, as go-sdk writes them"
	case strings.HasPrefix(m.agent, "Go-http-client") && m.params == "protocolVersion":
		r.sdk, r.policy, r.why = "mcp-go", "mcp-go-1.2.1", "User-Agent of net/http, and initialize's params begin with protocolVersion, as mcp-go writes them"
	case strings.HasPrefix(m.agent, "python-httpx"):
		r.sdk, r.policy, r.why = "python", "python-main", "User-Agent of httpx"
	case strings.HasPrefix(m.agent, "Java-http-client"):
		r.sdk, r.policy, r.why = "java", "java-main", "User-Agent of java.net.http"
	case strings.HasPrefix(strings.ToLower(m.agent), "ktor"):
		r.sdk, r.policy, r.why = "kotlin", "kotlin-main", "User-Agent of ktor"
	case c.info.name == "rmcp" || strings.HasPrefix(m.accept, "text/event-stream, application/json") && m.agent == "":
		r.sdk, r.policy, r.why = "rust", "rust-3.1.4", "Accept names text/event-stream first, or clientInfo is rmcp's own"
	case c.info.name == "mcp" && c.info.version == "0.1.0":
		r.sdk, r.policy, r.why = "python", "python-main", "clientInfo is the Python SDK's default"
	default:
		r.why = "nothing in the traffic tells one library from another"
	}
	if policies().byName[r.policy] == nil {
		r.policy = ""
	}
	return r
}

func hostName(name string) string {
	for _, h := range hosts {
		if prefix, any := strings.CutSuffix(h.name, "*"); any && strings.HasPrefix(name, prefix) || name == h.name {
			return h.host
		}
	}
	return ""
}

// marks are what a library leaves in every request.
type marks struct {
	probeID                                       bool
	agent, accept, initShape, initedShape, params string
}

func marksOf(c *connect) marks {
	var m marks
	for _, f := range c.all {
		m.probeID = m.probeID || f.req.probeID
		if m.agent == "" {
			m.agent = f.req.agent
		}
		if m.accept == "" && f.httpMethod == "POST" {
			m.accept = f.req.accept
		}
	}
	if len(c.inits) > 0 {
		m.initShape, m.params = c.inits[0].req.shape, c.inits[0].req.params
	}
	if len(c.inited) > 0 {
		m.initedShape = c.inited[0].req.shape
	}
	return m
}
