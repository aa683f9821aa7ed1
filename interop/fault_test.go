package interop_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/interop/scripted"
)

// faulty are faults of every kind that docs/faults.md lists, mostly where a client connects, and where it calls a tool. connect stands for
// the probe, or for initialize where the client sends none.
var faulty = []string{
	"connect: status 503", "connect: status 400 no such method", "connect: status 401", "connect: status 400 " + nullID,
	"connect: 404 session", "connect: error -32601", "connect: error -32603 broken", "connect: fin", "connect: rst", "connect: hang",
	"connect: fin after 20 bytes", "connect: rst after 60 bytes", "connect: delay 30ms", "connect: body {}", "connect: body <html>",
	"connect: id null", "connect: id 4711", "connect: type text/html", "connect: drop Content-Type",
	"tools/call: status 503", "tools/call: 404 session", "tools/call: error -32602 no such tool", "tools/call: fin", "tools/call: rst",
	"tools/call: rst after 40 bytes", "tools/call: delay 30ms", "tools/call: body {", "tools/call: id null", "tools/call: type text/html",
	"initialized: status 500", "get-stream: status 500", "any: delay 5ms", "exchange 1: status 500",
	"request: status 503", "notification: status 500", "delete: status 500", "tools/call#2: fin",
}

// What a real client does about each fault is what its policy predicts: whether it connects, and whether its call is answered.
func TestFaults(t *testing.T) {
	for _, tt := range []struct{ client, policy, connect string }{
		{goClient, "go-1.8.0", "probe"}, {"v2-auto", "ts-2.4.0", "probe"}, {"v1", "ts-1.32.2", "initialize"},
	} {
		t.Run(tt.client, func(t *testing.T) {
			t.Parallel()
			c := startClient(t, tt.client)
			file := filepath.Join(t.TempDir(), "healthy.mcptap")
			c.visit(t, startServer(t, scenario{legacy: true}, nil).URL()) // a client that has just started is slow
			// The first visit is a healthy one; the second has what a client that falls back asks for.
			server := startServer(t, scenario{name: "healthy", legacy: tt.connect == "initialize", script: script{"server/discover#2": scripted.JSON(400, nullID)}}, nil)
			record := startTap(t, "record", "--out", file, "--to", server.URL())
			for range 2 {
				if o := c.visit(t, record.url); o.Era == "failed" || !o.step("tools/call") {
					t.Fatalf("without a fault: %v", o)
				}
			}
			record.stop()
			for _, fault := range faulty {
				fault = strings.Replace(fault, "connect", tt.connect, 1)
				t.Run(fault, func(t *testing.T) { meetFault(t, c, file, fault, tt.policy) })
			}
		})
	}
}

// step tells whether a step succeeded.
func (o outcome) step(name string) bool {
	for _, s := range o.Steps {
		if s.Step == name {
			return s.OK
		}
	}
	return false
}

// meetFault runs a client against a recording with a fault, and holds what it did against what its policy says of that very run.
func meetFault(t *testing.T, c *client, file, fault, policy string) {
	log := filepath.Join(t.TempDir(), "faulty.mcptap")
	replay := startTap(t, "replay", file, "--pace", "fast", "--repeat-last", "--fault", fault, "--log", log)
	did := c.visit(t, replay.url)
	replay.stop()
	if met := strings.Contains(replay.stderr.String(), "disturbed by fault"); !met && !strings.Contains(replay.stderr.String(), "met no request") {
		t.Errorf("nothing is said of the fault: %s", replay.stderr)
	}
	_, out, stderr := run(t, "analyze", log, "--format", "json", "--policy", policy, "--fail-on", "never")
	var report struct {
		Conversations []struct {
			Predicted map[string]struct {
				Outcome string
				Assumed bool
			}
		}
		Exchanges []struct {
			Class       string
			Observation struct {
				RPCMethod string `json:"rpc_method"`
			}
			Verdicts map[string]struct{ Verdict, Rule string }
		}
	}
	if err := json.Unmarshal(out, &report); err != nil || len(report.Conversations) == 0 {
		t.Fatalf("%v, %d conversations: %s", err, len(report.Conversations), stderr)
	}
	if p := report.Conversations[0].Predicted[policy]; p.Outcome != did.Era || p.Assumed {
		t.Errorf("predicted is %+v, but the client did %v", p, did)
	}
	for _, x := range report.Exchanges {
		if v := x.Verdicts[policy]; x.Observation.RPCMethod == "tools/call" && (v.Verdict == "delivered") != did.step("tools/call") {
			t.Errorf("the verdict on the call is %+v, but the client did %v", v, did)
		}
	}
}

// A stream that is reset in the middle of a call is resumed by the clients behind the last event that they have, and the replay
// sends them the rest, which nobody had asked for so when it was recorded.
func TestResumeBehindFault(t *testing.T) {
	for _, name := range []string{goClient, "v2-auto", "v1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startClient(t, name)
			server := startServer(t, scenario{legacy: true, script: only("tools/call",
				scripted.EventStream(), scripted.Chunk("id: 1\nevent: message\ndata: "+progress+"\n\n"), scripted.Chunk("id: 2\nevent: message\ndata: "+called+"\n\n"), scripted.Chunk(""))}, nil)
			file := filepath.Join(t.TempDir(), "healthy.mcptap")
			record := startTap(t, "record", "--out", file, "--to", server.URL())
			want := c.visit(t, record.url)
			record.stop()
			after := 0
			for _, x := range readCassette(t, file) {
				if i := strings.Index(string(x.Response.Raw), "id: 2"); i > 0 {
					after = i - 3 // before the size of its chunk
				}
			}
			replay := startTap(t, "replay", file, "--pace", "fast", "--fault", fmt.Sprintf("tools/call: rst after %d bytes", after))
			got := c.visit(t, replay.url)
			replay.stop()
			if got.String() != want.String() || !strings.Contains(replay.stderr.String(), `resumes its stream behind event "1"`) {
				t.Errorf("got  %v\nwant %v\n%s", got, want, replay.stderr)
			}
		})
	}
}
