package interop_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The reference server, which is no script of ours: the clients come to the same end through record and against the
// replay as directly, and the replay serves the recorded bytes. Its session ids differ from run to run.
func TestServerEverything(t *testing.T) {
	needNode(t)
	url := startEverything(t)
	for _, name := range append([]string{goClient}, npmClients...) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startClient(t, name)
			want := c.visit(t, url)
			file := filepath.Join(t.TempDir(), "first.mcptap")
			record := startTap(t, "record", "--keep-secrets", "--out", file, "--to", url)
			got := c.visit(t, record.url)
			if code := record.stop(); code != 0 {
				t.Errorf("record ended with %d: %s", code, record.stderr)
			}
			if got.String() != want.String() {
				t.Errorf("through record the client came to another end\n got: %v\nwant: %v", got, want)
			}
			conforms(t, file)
			replayed(t, c, file, readCassette(t, file), want)
		})
	}
}

// conforms wants no finding of conformance: what both sides send is what their revision asks for.
func conforms(t *testing.T, file string) {
	t.Helper()
	code, out, stderr := run(t, "analyze", file, "--format", "json", "--fail-on", "never")
	var report struct {
		Findings []struct{ ID, Message string }
	}
	if err := json.Unmarshal(out, &report); err != nil || code != 0 {
		t.Fatalf("analyze ended with %d, %v: %s", code, err, stderr)
	}
	for _, f := range report.Findings {
		if f.ID == "nonconforming-message" || strings.HasPrefix(f.ID, "conform-") {
			t.Errorf("a healthy session gets %s: %s", f.ID, f.Message)
		}
	}
}

// startEverything starts server-everything on a free port and returns its URL.
func startEverything(t *testing.T) string { return startEverythingAs(t, "streamableHttp", "mcp") }

// startEverythingAs starts it with another transport, which has another path.
func startEverythingAs(t *testing.T, transport, path string) string {
	t.Helper()
	for range 5 {
		port := freePort(t)
		cmd := exec.Command("node", "node_modules/@modelcontextprotocol/server-everything/dist/index.js", transport)
		cmd.Env = append(os.Environ(), fmt.Sprint("PORT=", port))
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var said []string
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			said = append(said, lines.Text())
			if strings.Contains(lines.Text(), "on port") {
				go func() {
					for lines.Scan() {
					}
				}()
				t.Cleanup(func() {
					cmd.Process.Kill()
					cmd.Wait()
				})
				return fmt.Sprintf("http://127.0.0.1:%d/%s", port, path)
			}
		}
		cmd.Wait()
		if !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, "in use") }) {
			t.Fatalf("server-everything did not start: %q", said)
		}
	}
	t.Fatal("no free port for server-everything in five tries")
	return ""
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
