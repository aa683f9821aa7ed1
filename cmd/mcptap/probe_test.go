package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// A server that answers everything alike fails the connect under every policy that judges it: what comes behind a probe or a
// refused initialize is asked, not taken to succeed.
func TestProbeOfUselessServers(t *testing.T) {
	for _, c := range []struct {
		name, media, body string
		status            int
		gone              bool
	}{
		{name: "501", status: 501, media: "text/plain", body: "no"},
		{name: "500", status: 500, media: "application/json", body: `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"x"}}`},
		{name: "404", status: 404, media: "text/html", body: "<html></html>"},
		{name: "405", status: 405},
		{name: "a page", status: 200, media: "text/html", body: "<html></html>"},
		{name: "nobody listens", gone: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", c.media)
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
			}))
			defer origin.Close()
			if c.gone {
				origin.Close()
			}
			var out, notices bytes.Buffer
			args := []string{"probe", origin.URL + "/mcp", "--format", "json", "--wait", "5s", "-q", "--out", filepath.Join(t.TempDir(), "p.mcptap")}
			if code := run(args, strings.NewReader(""), &out, &notices, nil); code != codeFailed {
				t.Errorf("exit code %d, want %d: %s", code, codeFailed, &notices)
			}
			var p probeReport
			if err := json.Unmarshal(out.Bytes(), &p); err != nil {
				t.Fatal(err)
			}
			for _, o := range p.Policies {
				if o.Outcome == "legacy" || o.Outcome == "modern" {
					t.Errorf("%s: %s by %s, assumed %v", o.Policy, o.Outcome, o.Rule, o.Assumed)
				}
			}
		})
	}
}
