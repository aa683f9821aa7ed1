package analyze

import (
	"strings"
)

// classify says what the exchange is for, from itself alone; what depends on its neighbours (probe or discover, the
// kind of stream) is settled when it joins a connect.
func (f *facts) classify() {
	f.class = other
	switch f.httpMethod {
	case "POST":
		f.class = postClass(&f.req)
		if f.class == other && f.isOAuth() {
			f.class = oauth
		}
	case "GET":
		switch {
		case f.isOAuth():
			f.class = oauth
		case f.req.lastEvent != "" && f.wantsStream():
			f.class = resume
		case f.wantsStream() || f.req.session != "" || f.req.header != "":
			f.class = getStream
		}
	case "DELETE":
		if f.req.session != "" || f.req.header != "" {
			f.class = deletion
		}
	}
}

func postClass(r *reqFacts) class {
	switch r.kind {
	case "result", "error":
		return response
	case "notification":
		return notificationClass(r.method)
	case "request", "batch", "invalid":
		if r.requests > 0 {
			return requestClass(r.method)
		}
		if r.kind == "batch" && r.method != "" {
			return notificationClass(r.method)
		}
	}
	return other
}

func requestClass(method string) class {
	switch method {
	case "initialize":
		return initialize
	case "server/discover":
		return discover
	case "ping", "tools/call":
		return request
	}
	return optional
}

func notificationClass(method string) class {
	if method == "notifications/initialized" {
		return initialized
	}
	return notification
}

func (f *facts) wantsStream() bool {
	return strings.Contains(strings.ToLower(f.req.accept), "text/event-stream") || f.media == mediaStream
}

// isOAuth tells whether the exchange is a step of OAuth 2: metadata (RFC 8414, RFC 9728), registration (RFC 7591),
// authorization or token.
func (f *facts) isOAuth() bool {
	p := f.path()
	if strings.Contains(p, "/.well-known/oauth-") || strings.Contains(p, "/.well-known/openid-configuration") {
		return true
	}
	last := p[strings.LastIndexByte(p, '/')+1:]
	switch f.httpMethod {
	case "POST":
		return last == "token" || last == "register" || last == "revoke" || last == "introspect"
	case "GET":
		return last == "authorize"
	}
	return false
}

// looksMCP tells whether the exchange by itself shows that its origin speaks MCP: a header of MCP's, a JSON-RPC method of
// MCP's, or a request for an event stream that was not answered by a stream of something else.
func (f *facts) looksMCP() bool {
	r := &f.req
	switch {
	case r.session != "" || r.header != "" || f.issued != "":
		return true
	case f.head.preflight != nil && strings.Contains(f.head.preflight.headers, "mcp-"):
		return true
	case f.class == initialize || f.class == discover || f.class == initialized:
		return true
	case f.class == request || f.class == optional || f.class == notification:
		return mcpMethod(r.method)
	case f.class == getStream || f.class == resume:
		return f.endpoint == endpointSame || f.endpoint == endpointForeign || len(f.stream) > 0 || f.serverRequests > 0 ||
			f.media != mediaStream || f.events == 0 || !f.browser
	}
	return false
}

// mcpMethod tells JSON-RPC methods of MCP from those of other protocols.
func mcpMethod(method string) bool {
	space, _, _ := strings.Cut(method, "/")
	switch space {
	case "initialize", "ping", "server", "tools", "prompts", "resources", "notifications", "logging", "completion",
		"sampling", "elicitation", "roots", "tasks", "subscriptions":
		return true
	}
	return false
}
