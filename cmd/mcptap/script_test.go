package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"mcptap":    main,
		"my-client": client,
	})
}

// Each script is one topic, as a user meets it. $ORIGIN is the endpoint of a well-behaved server, $NOBODY one where nobody
// listens, $LONG a number of seconds that no other run sleeps; my-client is a client (see client).
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			origin := httptest.NewServer(http.HandlerFunc(answer))
			env.Defer(origin.Close)
			env.Setenv("ORIGIN", origin.URL+"/mcp")
			env.Setenv("LONG", strconv.Itoa(1_000_000+os.Getpid()))
			env.Setenv("NOBODY", "http://127.0.0.1:1/mcp") // a port that was free a moment ago may be another program's now
			env.Setenv("TLS_NOBODY", "https://127.0.0.1:1/mcp")
			return behindTLS(env)
		},
		Condition: condition,
		Cmds:      map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// condition knows hup: SIGHUP arrives, which it does not behind nohup.
func condition(name string) (bool, error) {
	if name != "hup" {
		return false, fmt.Errorf("unknown condition %q", name)
	}
	return !signal.Ignored(syscall.SIGHUP), nil
}

// behindTLS sets $TLS_ORIGIN, the same server over TLS, $TLS_CA, who vouches for it, and $VIA, the host:port of a proxy that
// wants user:secret-of-the-proxy.
func behindTLS(env *testscript.Env) error {
	origin := httptest.NewUnstartedServer(http.HandlerFunc(answer))
	origin.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes fail by design
	origin.StartTLS()
	env.Defer(origin.Close)
	file := filepath.Join(env.WorkDir, "origin.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: origin.Certificate().Raw})
	if err := os.WriteFile(file, block, 0o600); err != nil {
		return err
	}
	proxy := httptest.NewServer(http.HandlerFunc(tunnel))
	env.Defer(proxy.Close)
	env.Setenv("TLS_ORIGIN", origin.URL+"/mcp")
	env.Setenv("TLS_CA", file)
	env.Setenv("VIA", strings.TrimPrefix(proxy.URL, "http://"))
	return nil
}

// tunnel is a proxy that only knows CONNECT.
func tunnel(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Proxy-Authorization") != "Basic dXNlcjpzZWNyZXQtb2YtdGhlLXByb3h5" {
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	server, err := net.Dial("tcp", r.Host)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	client, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		server.Close()
		return
	}
	io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
	go func() {
		io.Copy(server, client)
		server.Close()
	}()
	io.Copy(client, server)
	client.Close()
}

// exits runs a command that must end with the given exit code, 128 and the number of a signal included: exits CODE CMD ARG...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE CMD ARG...")
	}
	got := 0
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = childCode(exit.ProcessState)
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if want, err := strconv.Atoi(args[0]); err != nil || got != want {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

var idMember = regexp.MustCompile(`"id":([0-9]+)`)

// answer is a server of revision 2025-11-25 with a session.
func answer(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	id := idMember.FindSubmatch(body)
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case id == nil:
		w.WriteHeader(http.StatusAccepted)
	default:
		w.Header().Set("Content-Type", "application/json")
		result := `{}`
		if bytes.Contains(body, []byte(`"initialize"`)) {
			w.Header().Set("Mcp-Session-Id", "5b1f0c6a9d3e4f72")
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"origin","version":"1"}}`
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id[1], result)
	}
}

// client is an MCP client: my-client [-extra N] [-proxy] [-unix PATH] URL sends initialize, notifications/initialized, tools/list and N calls with
// 64 KiB of argument each, and fails unless all are answered well. With -proxy it goes through HTTPS_PROXY, to loopback too.
// my-client -env prints its environment, -certs how many certificates SSL_CERT_FILE holds.
func client() {
	extra := flag.Int("extra", 0, "more calls")
	proxied := flag.Bool("proxy", false, "through HTTPS_PROXY")
	env := flag.Bool("env", false, "print the environment")
	certs := flag.Bool("certs", false, "count certificates")
	socket := flag.String("unix", "", "a socket to connect to, whatever the URL says")
	flag.Parse()
	switch {
	case *env:
		fmt.Println(strings.Join(os.Environ(), "\n"))
		return
	case *certs:
		file, _ := os.ReadFile(os.Getenv("SSL_CERT_FILE"))
		fmt.Println(bytes.Count(file, []byte("BEGIN CERTIFICATE")), "certificates")
		return
	case *proxied:
		http.DefaultTransport.(*http.Transport).Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(os.Getenv("HTTPS_PROXY")) }
	}
	endpoint := flag.Arg(0)
	if *socket != "" {
		endpoint = "http://localhost/mcp"
		http.DefaultTransport.(*http.Transport).DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", *socket)
		}
	}
	post := func(body string) {
		r, err := http.Post(endpoint, "application/json", strings.NewReader(body))
		if err == nil {
			_, err = io.Copy(io.Discard, r.Body)
			r.Body.Close()
		}
		if err != nil || r.StatusCode >= 300 {
			fmt.Fprintln(os.Stderr, "my-client:", err, r)
			os.Exit(3)
		}
	}
	post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"my-client","version":"1"}}}`)
	post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	noise := make([]byte, 32<<10)
	for n := range *extra {
		rand.Read(noise)
		post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"%x"}}}`, n+2, noise))
	}
	fmt.Println("my-client: done")
}

var shBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// The commands of the README work as they stand there, against a server at the address that it names.
func TestREADME(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	const address = "http://127.0.0.1:3000/mcp"
	if !bytes.Contains(readme, []byte(address)) {
		t.Errorf("README.md does not name %s", address)
	}
	blocks := shBlock.FindAllSubmatch(readme, -1)
	if len(blocks) == 0 {
		t.Fatal("README.md has no sh block")
	}
	origin := httptest.NewServer(http.HandlerFunc(answer))
	defer origin.Close()
	var script strings.Builder
	for _, b := range blocks {
		script.WriteString(strings.ReplaceAll(string(b[1]), address, origin.URL+"/mcp"))
	}
	sh := exec.Command("sh", "-e", "-x", "-c", script.String())
	sh.Dir = t.TempDir()
	if out, err := sh.CombinedOutput(); err != nil {
		left, _ := filepath.Glob(filepath.Join(sh.Dir, "*"))
		t.Errorf("%v\n%s\nfiles: %v", err, out, left)
	}
}
