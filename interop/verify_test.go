package interop_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/interop/scripted"
)

type verification struct {
	Sent, Differing int
	Drift           []struct{ Kind, Path string }
	Exchanges       []struct {
		What    string
		Changes []struct{ Kind, Path, Was, Now string }
	}
}

func verify(t *testing.T, wantCode int, args ...string) *verification {
	t.Helper()
	code, out, stderr := run(t, append([]string{"verify", "--format", "json"}, args...)...)
	var v verification
	if err := json.Unmarshal(out, &v); err != nil || code != wantCode {
		t.Fatalf("verify ended with %d, want %d; %v: %s%s", code, wantCode, err, stderr, out)
	}
	return &v
}

// What a real client asked server-everything, in a session with a stream, is asked again in another session: the answers are
// the recorded ones. The client opens its stream when the server has its `initialized`: where both are under way at once, as
// with the Go SDK, what the server says at that moment finds a stream or does not.
func TestVerifyServerEverything(t *testing.T) {
	needNode(t)
	url := startEverything(t)
	file := filepath.Join(t.TempDir(), "session.mcptap")
	record := startTap(t, "record", "--out", file, "--to", url)
	startClient(t, npmClients[0]).visit(t, record.url)
	if code := record.stop(); code != 0 {
		t.Fatalf("record ended with %d: %s", code, record.stderr)
	}
	if v := verify(t, 0, file, "--to", url); v.Sent < 7 {
		t.Errorf("%d requests were sent", v.Sent)
	}
}

func TestVerifyNamesDrift(t *testing.T) {
	tools := func(list string) []scripted.Step {
		return scripted.JSON(200, `{"jsonrpc":"2.0","id":{{id}},"result":{"tools":[`+list+`]}}`)
	}
	before := scriptedServer(t, &scripted.Server{Legacy: true, Script: map[string][]scripted.Step{"tools/list": tools(`{"name":"a","inputSchema":{"type":"object"}},{"name":"b","inputSchema":{"type":"object"}}`)}})
	after := scriptedServer(t, &scripted.Server{Legacy: true, Script: map[string][]scripted.Step{
		"tools/list": tools(`{"name":"b","inputSchema":{"type":"object","required":["x"]}},{"name":"c","inputSchema":{"type":"object"}}`),
		"initialize": scripted.Head("HTTP/1.1 200 OK", `{"jsonrpc":"2.0","id":{{id}},"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"scripted","version":"2"}}}`, "Content-Type: application/json"),
	}})
	file := filepath.Join(t.TempDir(), "session.mcptap")
	record := startTap(t, "record", "--out", file, "--to", before.URL())
	startClient(t, goClient).visit(t, record.url)
	if code := record.stop(); code != 0 {
		t.Fatalf("record ended with %d: %s", code, record.stderr)
	}
	v := verify(t, 1, file, "--to", after.URL())
	var got []string
	for _, d := range v.Drift {
		got = append(got, d.Kind+" "+d.Path)
	}
	want := "capabilities /result/capabilities/prompts, capabilities /result/capabilities/resources, protocol-version /result/protocolVersion, " +
		"server-info /result/serverInfo/version, tool /result/tools/a, tool /result/tools/b/inputSchema/required, tool /result/tools/c"
	if strings.Join(got, ", ") != want {
		t.Errorf("drift\n%s\nwant\n%s", strings.Join(got, ", "), want)
	}
}

// Hostile servers: the run ends in the time that --wait gives, and says what came.
func TestVerifyHostileServers(t *testing.T) {
	before := scriptedServer(t, &scripted.Server{Legacy: true})
	file := filepath.Join(t.TempDir(), "session.mcptap")
	record := startTap(t, "record", "--out", file, "--to", before.URL())
	startClient(t, goClient).visit(t, record.url)
	record.stop()
	var endless []scripted.Step
	for range 40 {
		endless = append(endless, scripted.Text(strings.Repeat("x", 1<<20)))
	}
	tests := []struct {
		name  string
		steps []scripted.Step
		want  string // a kind of change and what is there now
	}{
		{"endless body", append([]scripted.Step{scripted.Text("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")}, endless...), "ending client-fin"},
		{"huge head", append([]scripted.Step{scripted.Text("HTTP/1.1 200 OK\r\nX-Filler: ")}, endless...), "status 0"},
		{"slow", []scripted.Step{scripted.Text("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{"), scripted.Hang}, "ending client-fin"},
		{"redirect", scripted.Head("HTTP/1.1 307 Temporary Redirect", "", "Location: http://127.0.0.1:1/"), "status 307"},
		{"wrong type", scripted.Head("HTTP/1.1 200 OK", "<html>", "Content-Type: text/html"), "header text/html"},
		{"no HTTP", []scripted.Step{scripted.Text("SSH-2.0-OpenSSH_9.6\r\n"), scripted.FIN}, "status 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := scriptedServer(t, &scripted.Server{Legacy: true, Script: map[string][]scripted.Step{"tools/list": tt.steps}})
			v := verify(t, 1, file, "--to", s.URL(), "--wait", "1s", "-q")
			for _, x := range v.Exchanges {
				if strings.Contains(x.What, "tools/list") {
					for _, c := range x.Changes {
						if strings.HasPrefix(c.Kind+" "+c.Now, tt.want) {
							return
						}
					}
				}
			}
			t.Errorf("want %q: %+v", tt.want, v.Exchanges)
		})
	}
}
