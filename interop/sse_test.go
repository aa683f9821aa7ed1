package interop_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
)

// The reference server over HTTP+SSE (2024-11-05): the npm client comes to the same end through record and against the replay, and
// its messages are tied to the stream that replies to them.
func TestServerEverythingOverSSE(t *testing.T) {
	needNode(t)
	server := startEverythingAs(t, "sse", "sse")
	c := startClient(t, "v1-sse")
	want := c.visit(t, server)
	if want.Era != "legacy" {
		t.Fatalf("the client does not come through by itself: %v", want)
	}
	file := filepath.Join(t.TempDir(), "first.mcptap")
	record := startTap(t, "record", "--keep-secrets", "--out", file, "--to", server)
	got := c.visit(t, record.url)
	if code := record.stop(); code != 0 {
		t.Errorf("record ended with %d: %s", code, record.stderr)
	}
	if got.String() != want.String() {
		t.Errorf("through record the client came to another end\n got: %v\nwant: %v", got, want)
	}
	conforms(t, file)
	code, out, stderr := run(t, "analyze", file, "--fail-on", "error")
	if text := string(out); code != 0 || !strings.Contains(text, "over http+sse") || !strings.Contains(text, "legacy") {
		t.Errorf("analyze ended with %d: %s%s", code, out, stderr)
	}
	replayed(t, c, file, readCassette(t, file), want)
}

// A server that names its own address for messages: the npm client refuses that behind a proxy, and mcptap says so at once and
// in the report.
func TestEndpointPastTheProxy(t *testing.T) {
	needNode(t)
	behind, err := url.Parse(startEverythingAs(t, "sse", "sse"))
	if err != nil {
		t.Fatal(err)
	}
	origin := &url.URL{Scheme: "http", Host: behind.Host}
	absolute := httputil.NewSingleHostReverseProxy(origin)
	absolute.FlushInterval = -1
	var server *httptest.Server
	absolute.ModifyResponse = func(r *http.Response) error {
		if r.Request.Method == http.MethodGet {
			r.Body = &naming{ReadCloser: r.Body, origin: server.URL}
		}
		return nil
	}
	server = httptest.NewServer(absolute)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	c := startClient(t, "v1-sse")
	if alone := c.visit(t, server.URL+"/sse"); alone.Era != "legacy" {
		t.Fatalf("the client does not come through by itself: %v", alone)
	}
	file := filepath.Join(t.TempDir(), "past.mcptap")
	record := startTap(t, "record", "--out", file, "--to", server.URL+"/sse")
	got := c.visit(t, record.url)
	if code := record.stop(); code != 0 {
		t.Errorf("record ended with %d: %s", code, record.stderr)
	}
	if got.Era != "failed" {
		t.Errorf("the client took an endpoint of another origin: %v", got)
	}
	if n := strings.Count(record.stderr.String(), "names "+server.URL); n != 1 {
		t.Errorf("record said %d times that the endpoint leads past it: %s", n, record.stderr)
	}
	if _, out, _ := run(t, "analyze", file, "--fail-on", "never"); !strings.Contains(string(out), "endpoint-past-proxy") {
		t.Errorf("analyze does not say why: %s", out)
	}
}

// naming is a stream whose endpoint event is made to name an origin.
type naming struct {
	io.ReadCloser
	origin string
	read   bool
	rest   []byte
}

func (n *naming) Read(p []byte) (int, error) {
	if !n.read {
		buf := make([]byte, 4096)
		size, err := n.ReadCloser.Read(buf)
		if err != nil && size == 0 {
			return 0, err
		}
		n.read, n.rest = true, bytes.Replace(buf[:size], []byte("data: /"), []byte("data: "+n.origin+"/"), 1)
	}
	if len(n.rest) > 0 {
		size := copy(p, n.rest)
		n.rest = n.rest[size:]
		return size, nil
	}
	return n.ReadCloser.Read(p)
}
