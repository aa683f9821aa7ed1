package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/har"
)

func TestBypass(t *testing.T) {
	for _, tt := range []struct{ name, target, answer, want string }{
		{"a challenge", "/mcp", "401 No\r\nWWW-Authenticate: Bearer resource_metadata=\"https://mcp.example/.well-known/oauth-protected-resource\"\r\n\r\n", "resource_metadata names https://mcp.example/"},
		{"a challenge that comes back", "/mcp", "401 No\r\nWWW-Authenticate: Bearer resource_metadata=\"http://127.0.0.1:9/.well-known/x\"\r\n\r\n", ""},
		{"a challenge without", "/mcp", "401 No\r\nWWW-Authenticate: Bearer\r\n\r\n", ""},
		{"an authorization server", "/.well-known/oauth-protected-resource", "200 OK\r\n\r\n{\"authorization_servers\":[\"https://login.example\"]}", "authorization_servers names https://login.example"},
		{"an endpoint", "/.well-known/oauth-authorization-server", "200 OK\r\n\r\n{\"issuer\":\"http://127.0.0.1:9\",\"token_endpoint\":\"https://login.example/token\"}", "token_endpoint names https://login.example/token"},
		{"JSON of another kind", "/mcp", "200 OK\r\n\r\n{\"issuer\":\"https://login.example\"}", ""},
	} {
		x := &har.Exchange{End: har.EndFIN, URL: "https://mcp.example" + tt.target}
		x.Request.Raw = fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:9\r\n\r\n", tt.target)
		x.Response.Raw = []byte("HTTP/1.1 " + tt.answer)
		if got := bypass(x.View()); !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		x.URL = "http://127.0.0.1:9" + tt.target // the client asked the server itself, as through the forward door
		if got := bypass(x.View()); got != "" {
			t.Errorf("%s, at the server itself: %q", tt.name, got)
		}
	}
}
