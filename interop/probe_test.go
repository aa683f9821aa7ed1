package interop_test

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/mcptap/mcptap/interop/scripted"
)

// What probe asks as a client is what that client asks, byte for byte but for its name, the host and the lengths.
func TestProbeAsksAsClientsDo(t *testing.T) {
	policies := map[string]string{"v2-auto": "ts-2.4.0", "v2-pin": "ts-2.4.0-pin", "v2-legacy": "ts-2.4.0-legacy", "v1": "ts-1.32.2", goClient: "go-1.8.0"}
	eras := map[bool]map[string][]scripted.Exchange{}
	for _, legacy := range []bool{false, true} {
		s := scriptedServer(t, &scripted.Server{Legacy: legacy})
		if code, out, stderr := run(t, "probe", s.URL(), "--out", filepath.Join(t.TempDir(), "probe.mcptap")); code != 0 {
			t.Fatalf("probe ended with %d: %s%s", code, out, stderr)
		}
		eras[legacy] = visitsOf(s.Seen())
	}
	for name, policy := range policies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startClient(t, name)
			for legacy, visits := range eras {
				s := scriptedServer(t, &scripted.Server{Legacy: legacy})
				c.visit(t, s.URL())
				want, got := normalRequests(s.Seen()), normalRequests(visits[policy])
				if len(want) == 0 || len(got) != len(want) {
					t.Errorf("probe asks %d times, the client %d times", len(got), len(want))
				}
				for i := range min(len(got), len(want)) {
					if got[i] != want[i] {
						t.Errorf("probe asks\n%s\n\nthe client asks\n%s", got[i], want[i])
					}
				}
			}
		})
	}
}

func scriptedServer(t *testing.T, s *scripted.Server) *scripted.Server {
	t.Helper()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

var probeName = regexp.MustCompile(`"name":"mcptap-probe-([^"]*)"`)

// visitsOf splits what probe sent by the client that it was sent as.
func visitsOf(seen []scripted.Exchange) map[string][]scripted.Exchange {
	visits, now := map[string][]scripted.Exchange{}, ""
	for _, x := range seen {
		if m := probeName.FindSubmatch(x.Request); m != nil {
			now = string(m[1])
		}
		visits[now] = append(visits[now], x)
	}
	return visits
}

var variable = regexp.MustCompile(`(?i)(host: |content-length: |"clientInfo":\{|/clientInfo":\{)[^\r\n}]*`)

// normalRequests are requests without what differs by itself, sorted, for the stream is opened beside other requests. Probe
// calls no tools.
func normalRequests(seen []scripted.Exchange) (list []string) {
	for _, x := range seen {
		if x.Class != "tools/call" {
			list = append(list, variable.ReplaceAllString(string(x.Request), "$1*"))
		}
	}
	slices.Sort(list)
	return list
}

type probeReport struct {
	Policies []struct {
		Policy, Outcome, Verdict, Fix string
		Assumed                       bool
		Afterwards                    []struct{ What, Verdict string }
	}
	Sessions []struct {
		Session string
		Status  int
	}
}

func (r *probeReport) outcome(policy string) string {
	for _, p := range r.Policies {
		if p.Policy == policy {
			return p.Outcome
		}
	}
	return "not there"
}

func probe(t *testing.T, wantCode int, args ...string) *probeReport {
	t.Helper()
	code, out, stderr := run(t, append([]string{"probe", "--format", "json", "--out", filepath.Join(t.TempDir(), "probe.mcptap")}, args...)...)
	var r probeReport
	if err := json.Unmarshal(out, &r); err != nil || code != wantCode {
		t.Fatalf("probe ended with %d, want %d; %v: %s", code, wantCode, err, stderr)
	}
	return &r
}

func TestProbeServerEverything(t *testing.T) {
	needNode(t)
	r := probe(t, 0, startEverything(t), "--intrusive")
	for policy, want := range map[string]string{"recommended": "legacy", "ts-2.4.0": "legacy", "ts-2.4.0-pin": "failed", "ts-1.32.2": "legacy", "go-1.8.0": "legacy",
		"mcp-go-1.2.1": "legacy", "gemini-cli-0.61.0": "legacy", "qwen-code-0.24.4": "legacy", "codex-0.171.0": "legacy"} {
		if got := r.outcome(policy); got != want {
			t.Errorf("%s: %s, want %s", policy, got, want)
		}
	}
	if len(r.Sessions) != 2 || r.Sessions[0].Status/100 != 4 || r.Sessions[1].Status/100 != 4 {
		t.Errorf("lost sessions: %+v", r.Sessions)
	}
}

// Servers that misbehave, and whom they lose.
func TestProbeTroubledServers(t *testing.T) {
	tests := []struct {
		name   string
		script map[string][]scripted.Step
		code   int
		want   map[string]string
	}{
		{"probe answered by HTML 500", map[string][]scripted.Step{"server/discover": scripted.Head("HTTP/1.1 500 Internal Server Error", "<html>", "Content-Type: text/html")}, 0,
			map[string]string{"recommended": "legacy", "ts-2.4.0-pin": "failed", "ts-1.32.2": "legacy"}},
		{"redirect", map[string][]scripted.Step{"initialize": scripted.Head("HTTP/1.1 307 Temporary Redirect", "", "Location: http://127.0.0.1:1/mcp"),
			"server/discover": scripted.Head("HTTP/1.1 307 Temporary Redirect", "", "Location: http://127.0.0.1:1/mcp")}, 1,
			map[string]string{"ts-1.32.2": "failed", "recommended": "failed"}},
		{"reset", map[string][]scripted.Step{"server/discover": {scripted.RST}, "initialize": {scripted.RST}}, 1,
			map[string]string{"recommended": "failed", "ts-1.32.2": "failed", "go-1.8.0": "failed"}},
		{"silence", map[string][]scripted.Step{"server/discover": {scripted.Hang}, "initialize": {scripted.Hang}}, 1, map[string]string{"recommended": "failed", "ts-1.32.2": "failed"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := scriptedServer(t, &scripted.Server{Script: tt.script, Legacy: true})
			r := probe(t, tt.code, s.URL(), "--wait", "300ms")
			for policy, want := range tt.want {
				if got := r.outcome(policy); got != want {
					t.Errorf("%s: %s, want %s", policy, got, want)
				}
			}
		})
	}
}
