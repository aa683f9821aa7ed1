package interop_test

import (
	"path/filepath"
	"testing"
)

// A real client that fails on a recording fails the same way on what corpus minimize leaves of it.
func TestMinimizedFailsTheSameWay(t *testing.T) {
	for _, name := range []string{goClient, "v2-auto"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startClient(t, name)
			for _, tt := range []struct{ kase, finding string }{
				{"probe-error-id-null", "probe-reply-id-null"},
				{"lab-c-json-invalid", "probe-reply-not-json"},
				{"probe-json-short", "probe-reset-mid-body"},
				{"probe-401-bearer", "probe-auth"},
				{"probe-not-http", "probe-not-http"},
				{"probe-unsupported-disjoint", "probe-versions-disjoint"},
			} {
				t.Run(tt.kase, func(t *testing.T) {
					small := filepath.Join(t.TempDir(), "small.mcptap")
					if code, _, stderr := run(t, "corpus", "minimize", "corpus:"+tt.kase, "--finding", tt.finding, "--out", small); code != 0 {
						t.Fatalf("exit code %d: %s", code, stderr)
					}
					whole, left := connected(t, c, "corpus:"+tt.kase), connected(t, c, small)
					if whole.String() != left.String() {
						t.Errorf("with the recording %v, with what was left of it %v", whole, left)
					}
				})
			}
		})
	}
}

// connected is what a client's connect came to against a replay. What it asks behind it is cut off: a small recording has no answer.
func connected(t *testing.T, c *client, recording string) outcome {
	t.Helper()
	replay := startTap(t, "replay", recording, "--pace", "fast", "--repeat-last")
	o := c.visit(t, replay.url)
	replay.stop()
	o.Steps = o.Steps[:min(1, len(o.Steps))]
	return o
}
