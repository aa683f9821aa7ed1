package har

import (
	"reflect"
	"testing"
)

// TestCopiesThatDiffer reads copied members that differ from the bytes: the bytes are right, but for the URL's origin.
func TestCopiesThatDiffer(t *testing.T) {
	for _, tt := range []struct {
		name, members string
		differ        func(x *Exchange)
	}{
		{"none", "", func(*Exchange) {}},
		{"method", "method", func(x *Exchange) { x.Method = "GET" }},
		{"path", "url", func(x *Exchange) { x.URL = "http://a.example/other" }},
		{"longer path", "url", func(x *Exchange) { x.URL = "http://a.example/v2/mcp" }},
		{"query", "url", func(x *Exchange) { x.URL = "http://a.example?x=1" }},
		{"status", "status", func(x *Exchange) { x.Status = 404 }},
		{"status that begins alike", "status", func(x *Exchange) { x.Status = 20 }},
		{"media type", "mimeType", func(x *Exchange) { x.MediaType = "text/html" }},
		{"all", "method, url, status, mimeType", func(x *Exchange) {
			x.Method, x.URL, x.Status, x.MediaType = "DELETE", "http://a.example/", 500, ""
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x, want := onConn(1, 1, 1, EndFIN), onConn(1, 1, 1, EndFIN)
			tt.differ(x)
			if tt.members != "" {
				want.Notes = append(want.Notes, "copy: the file's copy of "+tt.members+" differed from the bytes")
			}
			if got := mustRead(t, cassette(t, true, x)).Exchanges[0]; !reflect.DeepEqual(got, want) {
				t.Errorf("got %s %s, %d %s, %q", got.Method, got.URL, got.Status, got.MediaType, got.Notes)
			}
		})
	}
	t.Run("not HTTP", func(t *testing.T) {
		x := onConn(1, 1, 1, EndFIN)
		x.Response = Side{Raw: []byte("hello")}
		x.EndOff = 5
		if got := mustRead(t, cassette(t, true, x)).Exchanges[0]; got.Status != x.Status || got.MediaType != x.MediaType || got.Notes != nil {
			t.Errorf("got %d %s %q", got.Status, got.MediaType, got.Notes)
		}
	})
}
