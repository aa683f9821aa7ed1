package analyze

import (
	"slices"
	"testing"
)

// An exchange of OAuth names the refusal it follows from, until the client has got through.
func TestCauseOfOAuth(t *testing.T) {
	refused := initializing(answer("401 Unauthorized", "", "", "www-authenticate: Bearer resource_metadata=\"http://mcp.example.test/.well-known/oauth-protected-resource\"\r\n"))
	metadata := step{req: "GET /.well-known/oauth-protected-resource HTTP/1.1\r\nhost: mcp.example.test\r\n\r\n",
		resp: js("200 OK", `{"resource":"http://mcp.example.test/mcp"}`), url: "http://mcp.example.test/.well-known/oauth-protected-resource"}
	token := step{req: "POST /token HTTP/1.1\r\nhost: mcp.example.test\r\ncontent-length: 0\r\n\r\n", resp: js("200 OK", `{"access_token":"x"}`), url: "http://mcp.example.test/token"}
	elsewhere := metadata.from("10.9.8.7:4000")
	lacking := calling("tools/call", 3, answer("403 Forbidden", "", "", "www-authenticate: Bearer error=\"insufficient_scope\"\r\n"))
	forbidden := calling("tools/call", 4, answer("403 Forbidden", "", ""))
	for _, c := range []struct {
		name  string
		scene []step
		want  []int
	}{
		{"metadata and token", in(nil, refused, metadata, token), []int{0, 1, 1}},
		{"nothing was refused", in(nil, metadata, initializing(js("200 OK", success("0", initResult)))), []int{0, 0}},
		{"a refresh later on", in(nil, refused, token, initializing(js("200 OK", success("0", initResult))), token), []int{0, 1, 0, 0}},
		{"another client", in(nil, refused, elsewhere), []int{0, 0}},
		{"a scope is lacking", in(nil, lacking, token), []int{0, 1}},
		{"403 of another kind", in(nil, forbidden, token), []int{0, 0}},
	} {
		var got []int
		for _, x := range analyzed(t, c.scene).Exchanges {
			got = append(got, x.Observation().Cause)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
