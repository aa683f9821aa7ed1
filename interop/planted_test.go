package interop_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/mcptap/mcptap/har"
)

// planted is a secret for each place of a recording, by place.
type planted map[string]string

func (p planted) at(place string) string {
	p[place] = fmt.Sprintf("Q%02dz.pL4nt3d-%02dx~s3cret", len(p), 97-len(p))
	return p[place]
}

// absent checks that no secret is in what a recording and its log hold: the lines as they were written, the bytes of each
// exchange, and what was said on stderr.
func (p planted) absent(t *testing.T, file, stderr string) {
	t.Helper()
	packed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	lines, err := io.ReadAll(z)
	if err != nil || !bytes.Contains(lines, []byte(`"request"`)) {
		t.Fatalf("%s does not unpack to lines: %v", file, err)
	}
	c, err := har.Read(bytes.NewReader(packed), har.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	written := map[string][]byte{"the file": packed, "its lines": lines, "the log": []byte(stderr)}
	for _, x := range c.Exchanges {
		written[fmt.Sprintf("request %d", x.N)], written[fmt.Sprintf("response %d", x.N)] = x.Request.Raw, x.Response.Raw
		body, _ := x.View().ResponseBody()
		written[fmt.Sprintf("body %d", x.N)] = body
	}
	for i, q := range c.Processes {
		written[fmt.Sprintf("stderr of process %d", i+1)] = q.Stderr.Raw
	}
	for place, secret := range p {
		for where, text := range written {
			if bytes.Contains(text, []byte(secret)) {
				t.Errorf("%s: the secret is in %s", place, where)
			}
		}
	}
}

// A gossip is a server that answers each request with the bytes that belong to its path and notes all that it was sent.
type gossip struct {
	net.Listener
	answers map[string]string
	mu      sync.Mutex
	seen    bytes.Buffer
}

func (g *gossip) serve() {
	for {
		c, err := g.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			var raw bytes.Buffer
			req, err := http.ReadRequest(bufio.NewReader(io.TeeReader(c, &raw)))
			if err != nil {
				return
			}
			io.Copy(io.Discard, req.Body)
			g.mu.Lock()
			g.seen.Write(raw.Bytes())
			g.mu.Unlock()
			io.WriteString(c, g.answers[req.URL.Path])
		}()
	}
}

// through sends a request through the proxy, in a tunnel with TLS if the server wants one, and returns all that came back.
func through(t *testing.T, proxy, server, request string, secure bool, field string) string {
	t.Helper()
	c, err := net.Dial("tcp", proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if secure {
		fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n%s\r\n", server, field)
		resp, err := http.ReadResponse(bufio.NewReader(byteByByte{c}), &http.Request{Method: "CONNECT"})
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("CONNECT: %v, %v", resp, err)
		}
		c = tls.Client(c, &tls.Config{InsecureSkipVerify: true})
	}
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(c)
	return string(got)
}

// Secrets go through the forward door untouched, and stand in nothing that it writes.
func TestPlantedThroughForwardDoor(t *testing.T) {
	pemFile, cert := certificate(t)
	p := planted{}
	const js, sse = "Content-Type: application/json\r\n", "Content-Type: text/event-stream\r\n"
	body := `{"access_token":"` + p.at("chunks") + `"}`
	chunks := fmt.Sprintf("%x\r\n%s\r\n%x\r\n%s\r\n0\r\nX-Auth-Token: %s\r\n\r\n", 25, body[:25], len(body)-25, body[25:], p.at("a trailer"))
	answers := map[string]string{
		"/mcp":    "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		"/chunks": "HTTP/1.1 200 OK\r\n" + js + "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + chunks,
		"/sse":    "HTTP/1.1 200 OK\r\n" + sse + "Connection: close\r\n\r\ndata: {\"id_token\":\"" + p.at("an event") + "\"}\n\n",
	}
	var doors [2]*gossip // plain, TLS
	for i := range doors {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{*cert}})
		}
		doors[i] = &gossip{Listener: l, answers: answers}
		t.Cleanup(func() { l.Close() })
		go doors[i].serve()
	}
	t.Setenv("MCPTAP_HOME", t.TempDir())
	file := filepath.Join(t.TempDir(), "planted.mcptap")
	tap := startTap(t, "record", "--forward", "-v", "--ca-file", pemFile, "--out", file)
	proxy := strings.TrimPrefix(tap.url, "http://")
	sent := func(target, fields, body string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: mcp\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", target, fields, len(body), body)
	}
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{%s}}}`
	for i, g := range doors {
		server, name, origin := g.Addr().String(), [2]string{"plain, ", "TLS, "}[i], ""
		if i == 0 {
			origin = "http://" + server
		}
		var got strings.Builder
		for _, r := range []string{
			sent(origin+"/mcp", "Authorization: Bearer "+p.at(name+"Authorization")+"\r\n", fmt.Sprintf(call, "")),
			sent(origin+"/mcp", "authorization: Bearer "+p.at(name+"authorization")+"\r\n", fmt.Sprintf(call, "")),
			sent(origin+"/mcp", "AUTHORIZATION: Bearer "+p.at(name+"AUTHORIZATION")+"\r\n", fmt.Sprintf(call, "")),
			sent(origin+"/mcp", "", fmt.Sprintf(call, `"header":"Authorization: Bearer `+p.at(name+"a body")+`"`)),
			sent(origin+"/mcp?access_token="+p.at(name+"a query"), "", fmt.Sprintf(call, "")),
			sent(origin+"/chunks", "", fmt.Sprintf(call, "")),
			sent(origin+"/sse", "", fmt.Sprintf(call, `"url":"https://user:`+p.at(name+"userinfo")+`@h.example/"`)),
		} {
			field := ""
			if i == 1 {
				field = "Proxy-Authorization: Bearer " + p.at(fmt.Sprint("CONNECT ", len(p))) + "\r\n"
			}
			got.WriteString(through(t, proxy, server, strings.Replace(r, "Host: mcp", "Host: "+server, 1), i == 1, field))
		}
		g.mu.Lock()
		all := got.String() + g.seen.String()
		g.mu.Unlock()
		for place, secret := range p {
			answered := place == "a trailer" || place == "an event"
			if (answered || strings.HasPrefix(place, name)) && !strings.Contains(all, secret) {
				t.Errorf("%s: it did not pass", place)
			}
		}
	}
	through(t, proxy, "", "GET http://user:"+p.at("userinfo of a target")+"@"+doors[0].Addr().String()+"/mcp HTTP/1.1\r\nHost: "+doors[0].Addr().String()+"\r\nConnection: close\r\n\r\n", false, "")
	if code := tap.stop(); code != 0 {
		t.Fatalf("record ended with %d: %s", code, tap.stderr)
	}
	if n := len(readCassette(t, file)); n < 14 {
		t.Errorf("%d exchanges", n)
	}
	p.absent(t, file, tap.stderr.String())
}

// Nor do they stand in anything that the stdio door writes, where a server also prints its environment.
func TestPlantedThroughStdioDoor(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("sh is not installed")
	}
	p := planted{}
	file := filepath.Join(t.TempDir(), "planted.mcptap")
	const server = `read line
printf '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"PATH=/bin\\nDB_PASSWORD=%s\\n"}]}}\n' "$DB_PASSWORD"
echo "API_TOKEN=$API_TOKEN" >&2`
	cmd := exec.Command(mcptap, "record", "--stdio", "-v", "--out", file, "--", "sh", "-c", server, "sh", "--api-key", p.at("an argument of the command"))
	cmd.Env = append(os.Environ(), "DB_PASSWORD="+p.at("a variable in a reply"), "API_TOKEN="+p.at("a variable on stderr"), "OTHER_SECRET="+p.at("a variable"))
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"login","arguments":{"header":"Authorization: Bearer ` + p.at("an argument") + `","url":"https://user:` + p.at("userinfo") + `@h.example/?access_token=` + p.at("a query") + `"}}}` + "\n")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	if !strings.Contains(stdout.String(), p["a variable in a reply"]) || !strings.Contains(stderr.String(), p["a variable on stderr"]) {
		t.Errorf("the secrets did not pass: %s%s", &stdout, &stderr)
	}
	// What the server writes to stderr passes as it is; the log is the rest.
	p.absent(t, file, strings.Replace(stderr.String(), "API_TOKEN="+p["a variable on stderr"]+"\n", "", 1))
}

// byteByByte reads no further than was asked for: what follows a head is left to others.
type byteByByte struct{ io.Reader }

func (r byteByByte) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(1, len(p))]) }
