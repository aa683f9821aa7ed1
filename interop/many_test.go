package interop_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// All servers of a host's configuration, two over HTTP and one over stdio, are recorded at once, and each is replayed by itself to
// the client that it was recorded with.
func TestThreeServers(t *testing.T) {
	needNode(t)
	process := []string{"node", "node_modules/@modelcontextprotocol/server-everything/dist/index.js", "stdio"}
	servers := map[string]any{
		"first":  map[string]any{"url": startEverything(t)},
		"second": map[string]any{"type": "http", "url": startEverything(t)},
		"third":  map[string]any{"command": process[0], "args": process[1:]},
	}
	text, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config, file := filepath.Join(dir, "mcp.json"), filepath.Join(dir, "host.mcptap")
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	clients := map[string]*client{"first": startClient(t, goClient), "second": startClient(t, "v1"), "third": startClient(t, "v2-legacy")}

	record := startTap(t, "record", "--keep-secrets", "--config", config, "--out", file)
	var host struct {
		McpServers map[string]struct {
			URL, Command string
			Args         []string
		}
	}
	text, err = os.ReadFile(strings.TrimPrefix(record.url, "config "))
	if err == nil {
		err = json.Unmarshal(text, &host)
	}
	if err != nil {
		t.Fatal(err)
	}
	record.line()
	record.line()
	want := map[string]outcome{}
	for name, s := range host.McpServers {
		at := s.URL
		if at == "" {
			at = commandLine(t, append([]string{s.Command}, s.Args...)...)
		}
		if want[name] = clients[name].visit(t, at); want[name].Era != "legacy" {
			t.Errorf("%s did not connect: %v", name, want[name])
		}
	}
	if code := record.stop(); code != 0 {
		t.Errorf("record ended with %d: %s", code, record.stderr)
	}

	replay := startTap(t, "replay", file, "--pace", "fast")
	for _, line := range []string{replay.url, replay.line()} {
		name, at, _ := strings.Cut(line, " ")
		if got := clients[name].visit(t, at); got.String() != want[name].String() {
			t.Errorf("against the replay of %s the client came to another end\n got: %v\nwant: %v", name, got, want[name])
		}
	}
	if code := replay.stop(); code != 0 {
		t.Errorf("replay ended with %d: %s", code, replay.stderr)
	}
	files, err := filepath.Glob(filepath.Join(dir, "host.stdio", "third", "*.mcptap"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the process was recorded to %q: %v", files, err)
	}
	readPipes(t, files[0])
	got := clients["third"].visit(t, commandLine(t, mcptap, "replay", "--stdio", "-q", "--pace", "fast", files[0]))
	if got.String() != want["third"].String() {
		t.Errorf("against the replay of the process the client came to another end\n got: %v\nwant: %v", got, want["third"])
	}
}
