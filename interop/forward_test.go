package interop_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
)

// fetch is a program in each language that prints the body of the URL that is its last argument.
var fetch = []struct {
	name, needs string
	argv        []string
	old         func(*testing.T) bool // the runtime reads no proxy variable
}{
	{"curl", "curl", []string{"curl", "-sS"}, nil},
	{"python", "python3", []string{"python3", "-c", "import sys, urllib.request; sys.stdout.write(urllib.request.urlopen(sys.argv[1]).read().decode())"}, nil},
	{"node", "node", []string{"node", "-e", "fetch(process.argv[1]).then(r => r.text()).then(t => process.stdout.write(t))"}, oldNode},
}

// oldNode tells whether this Node does not know NODE_USE_ENV_PROXY.
func oldNode(t *testing.T) bool {
	out, err := exec.Command("node", "-p", "require('node:process').allowedNodeEnvironmentFlags.has('--use-env-proxy')").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out)) != "true"
}

// Programs that are only told of the proxy by their environment go through it, to a loopback server over TLS, and trust it.
func TestChildrenOfForwardDoor(t *testing.T) {
	origin := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello "+r.URL.Path) }))
	defer origin.Close()
	pemFile := pemOf(t, origin)
	for _, f := range fetch {
		t.Run(f.name, func(t *testing.T) {
			if _, err := exec.LookPath(f.needs); err != nil {
				t.Skipf("%s is not installed", f.needs)
			}
			if f.old != nil && f.old(t) {
				t.Skipf("this %s reads no proxy variable", f.needs)
			}
			dir := t.TempDir()
			file := filepath.Join(dir, "child.mcptap")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			args := append([]string{"record", "--forward", "--ca-file", pemFile, "--out", file, "--"}, f.argv...)
			cmd := exec.CommandContext(ctx, mcptap, append(args, origin.URL+"/from/"+f.name)...)
			cmd.Env = append(os.Environ(), "MCPTAP_HOME="+dir, "NO_PROXY=localhost,127.0.0.1", "no_proxy=localhost,127.0.0.1")
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if want := "hello /from/" + f.name; err != nil || !strings.HasSuffix(string(out), want) {
				t.Fatalf("%v: got %q, want %q at the end; stderr: %s", err, out, want, &stderr)
			}
			xs := readCassette(t, file)
			if len(xs) != 1 || xs[0].URL != origin.URL+"/from/"+f.name || xs[0].Status != 200 {
				t.Errorf("recorded %d exchanges: %+v", len(xs), xs)
			}
		})
	}
}

// The real Go client gets through the forward door: HTTPS_PROXY alone is told to net/http, and SSL_CERT_FILE, to a server
// whose name is not loopback for Go.
func TestGoThroughForwardDoor(t *testing.T) {
	origin := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: one\n\n")
		w.(http.Flusher).Flush()
		io.WriteString(w, "data: two\n\n")
	}))
	defer origin.Close()
	dir := t.TempDir()
	t.Setenv("MCPTAP_HOME", dir)
	file := filepath.Join(dir, "go.mcptap")
	record := startTap(t, "record", "--forward", "--ca-file", pemOf(t, origin), "--out", file)
	_, path, _ := run(t, "ca", "path")
	client := &http.Client{Transport: proxied(t, record.url, strings.TrimSpace(string(path)))}
	r, err := client.Get(origin.URL + "/events")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil || string(body) != "data: one\n\ndata: two\n\n" || r.ProtoMajor != 1 {
		t.Errorf("got %q over %s, %v", body, r.Proto, err)
	}
	client.CloseIdleConnections()
	if code := record.stop(); code != 0 {
		t.Errorf("record ended with %d: %s", code, record.stderr)
	}
	xs := readCassette(t, file)
	if len(xs) != 1 || xs[0].MediaType != "text/event-stream" || xs[0].End == har.EndUnknown {
		t.Errorf("recorded %d exchanges: %+v", len(xs), xs)
	}
}

// secrets are planted in a recording of the forward door, each in another place.
var secrets = []string{"plantedBearer0001secret", "plantedCookie0002secret", "plantedApiKey0003secret", "plantedQuery0004secret",
	"plantedUserInfo0005secret", "plantedSetCookie0006secret", "plantedProxyAuth0007secret"}

// No credential reaches a written byte, in whatever part of a proxied request it stands.
func TestForwardDoorKeepsNoSecrets(t *testing.T) {
	for _, scheme := range []string{"http", "https"} {
		t.Run(scheme, func(t *testing.T) {
			handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Proxy-Authorization") != "" {
					t.Error("the server got Proxy-Authorization")
				}
				w.Header().Set("Set-Cookie", "session="+secrets[5]+"; HttpOnly")
				io.WriteString(w, "data: again "+secrets[0]+"\n\n")
			})
			origin := httptest.NewServer(handler)
			if scheme == "https" {
				origin.Close()
				origin = httptest.NewTLSServer(handler)
			}
			defer origin.Close()
			dir := t.TempDir()
			t.Setenv("MCPTAP_HOME", dir)
			file := filepath.Join(dir, "secrets.mcptap")
			args := []string{"record", "--forward", "--out", file}
			if scheme == "https" {
				args = append(args, "--ca-file", pemOf(t, origin))
			}
			record := startTap(t, args...)
			_, path, _ := run(t, "ca", "path")
			transport := proxied(t, strings.Replace(record.url, "http://", "http://user:"+secrets[6]+"@", 1), strings.TrimSpace(string(path)))
			client := &http.Client{Transport: transport}
			target := strings.Replace(origin.URL, "://", "://user:"+secrets[4]+"@", 1) + "/mcp?access_token=" + secrets[3]
			r, err := http.NewRequest("POST", target, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"`+secrets[0]+`"}}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header["aUTHORIZATION"] = []string{"Bearer " + secrets[0]}
			r.Header.Set("Cookie", "c="+secrets[1])
			r.Header["X-API-KEY"] = []string{secrets[2]}
			res, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, res.Body)
			res.Body.Close()
			client.CloseIdleConnections()
			record.stop()
			text := ""
			for _, args := range [][]string{{"show", file, "1"}, {"show", file, "1", "--raw", "request"}, {"show", file, "1", "--raw", "response"}, {"show", file, "--json"}, {"har", file, "--out", "-"}} {
				_, out, _ := run(t, args...)
				text += string(out)
			}
			for _, x := range readCassette(t, file) {
				text += string(x.Request.Raw) + string(x.Response.Raw) + x.URL + string(x.ServerLeg())
			}
			text += record.stderr.String()
			if !strings.Contains(text, "ping") {
				t.Fatalf("the request is not in the recording: %.300q", text)
			}
			for _, s := range secrets {
				if strings.Contains(text, s) {
					t.Errorf("%s was written", s)
				}
			}
		})
	}
}

// proxied is a transport that goes through the proxy for every host and trusts that certificate alone.
func proxied(t *testing.T, proxy, caFile string) *http.Transport {
	t.Helper()
	pool, err := certPool(caFile)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Transport{Proxy: http.ProxyURL(u), TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
}

func certPool(file string) (*x509.CertPool, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(raw) {
		return nil, fmt.Errorf("%s: no certificate", file)
	}
	return pool, nil
}

// pemOf writes who vouches for a server.
func pemOf(t *testing.T, s *httptest.Server) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "origin.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
