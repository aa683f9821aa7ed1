package main

import (
	"testing"

	"github.com/mcptap/mcptap/analyze"
)

// To fall back is something else behind a refused handshake than behind a probe.
func TestWouldText(t *testing.T) {
	for _, tt := range []struct{ verdict, rule, want string }{
		{"legacy-fallback", "probe/rpc-error", "fallen back to initialize at once"},
		{"legacy-fallback", "initialize/try-http-sse", "gone on to HTTP+SSE"},
		{"legacy-fallback", "initialized/try-http-sse", "gone on to HTTP+SSE"},
		{"modern@2026-07-28", "probe/modern", "connected with 2026-07-28, without a handshake"},
		{"corrective-retry@2026-07-28", "probe/unsupported-version-common", "asked once more, with 2026-07-28"},
		{"odd", "x", "come to odd"},
	} {
		if got := wouldText(analyze.Expected{Verdict: tt.verdict, Rule: tt.rule}); got != tt.want {
			t.Errorf("%s by %s: %q, want %q", tt.verdict, tt.rule, got, tt.want)
		}
	}
}
