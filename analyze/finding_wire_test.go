package analyze

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/har"
)

// bomb is a gzip text that unpacks to more than is read of a body.
func bomb() string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	zeros := make([]byte, 1<<20)
	for range 65 {
		w.Write(zeros)
	}
	w.Close()
	return b.String()
}

// TestUnreadMessages holds the words of findings about answers without a head.
func TestUnreadMessages(t *testing.T) {
	for _, c := range []struct {
		name, want, fix string
		step            step
	}{
		{"refused", "mcptap could not reach the server: connection refused", "start the server", initializing("").noted("upstream: refused")},
		{"TLS", "did not trust the server's certificate", "--ca-file", initializing("").noted("upstream: tls")},
		{"DNS", "the server's name was not found", "host", initializing("").noted("upstream: dns")},
		{"a note of a later version", "mcptap could not reach the server", "network", initializing("").noted("upstream: policy")},
		{"TLS alert", "the server speaks TLS on this port", "https://", initializing("\x15\x03\x01\x00\x02\x02\x16").ends(har.EndFIN)},
		{"banner", "initialize was answered with 12 bytes that are no HTTP/1.1", "HTTP/1.1", initializing("220 mail ok\n").ends(har.EndClientFIN)},
		{"head unfinished", "had 23 bytes and was not whole when the client left", "empty line", initializing("HTTP/1.1 200 OK\r\nx: abc").ends(har.EndClientFIN)},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := analyzed(t, one(c.step))
			r.Findings = beyondConformance(r.Findings)
			if len(r.Findings) != 1 {
				t.Fatalf("%d findings, want 1: %+v", len(r.Findings), r.Findings)
			}
			f := r.Findings[0]
			if !strings.Contains(f.Message, c.want) || !strings.Contains(f.Fix, c.fix) {
				t.Errorf("%q, fix %q; want %q, fix %q", f.Message, f.Fix, c.want, c.fix)
			}
			if c.step.resp != "" && (len(f.Evidence) != 1 || f.Evidence[0].Offset != 0 || f.Evidence[0].Length != len(c.step.resp)) {
				t.Errorf("evidence %+v, want all %d bytes", f.Evidence, len(c.step.resp))
			}
		})
	}
}

// TestLimitsAreInconclusive: what the analysis does not read is not held against the server, whatever the policy.
func TestLimitsAreInconclusive(t *testing.T) {
	deep := js("200 OK", success("2", `{"a":`+strings.Repeat("[", 300)+strings.Repeat("]", 300)+"}"))
	deepEvent := sse(event(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`) + event(success("2", `{"a":`+strings.Repeat("[", 300)+strings.Repeat("]", 300)+"}")))
	for name, resp := range map[string]string{"deep": deep, "unpacks to too much": js("200 OK", bomb(), "content-encoding: gzip\r\n"), "deep event": deepEvent,
		"long event": sse(event(success("2", `{"a":"`+strings.Repeat("x", 64<<20)+`"}`)))} {
		r := analyzed(t, in(handshake(), calling("tools/call", 2, resp)), Recommended, "ts-2.4.0", "go-1.8.0")
		for policy, v := range r.Exchanges[2].Verdicts {
			if v.Verdict != "inconclusive" {
				t.Errorf("%s: %s says %s (%s), want inconclusive", name, policy, v.Verdict, v.Rule)
			}
		}
		r.Findings = beyondConformance(r.Findings)
		if len(r.Findings) != 1 || r.Findings[0].ID != "beyond-limit" {
			t.Errorf("%s: %+v, want beyond-limit alone", name, r.Findings)
		}
	}
}

// TestEndingsRead holds that no text of a finding ends in a blank or lacks its punctuation.
func TestEndingsRead(t *testing.T) {
	for _, s := range []step{
		initializing("").ends(har.EndFIN), initializing("").ends(har.EndRST), calling("tools/list", 2, "").ends(har.EndRST), calling("tools/call", 2, "").ends(har.EndFIN),
	} {
		for _, f := range analyzed(t, one(s)).Findings {
			if strings.TrimSpace(f.Message) != f.Message || strings.Contains(f.Message, "  ") {
				t.Errorf("%q", f.Message)
			}
		}
	}
}
