package analyze

import (
	"fmt"
	"testing"
)

// TestRefusedHeads: whose HTTP parser refuses which head of an answer to the probe, as measured.
func TestRefusedHeads(t *testing.T) {
	const goes, npm = "go-1.8.0", "ts-2.4.0"
	for _, c := range []struct {
		field   string
		refused []string
	}{
		{"transfer-encoding: chunked", nil},
		{"transfer-encoding: gzip, chunked", []string{goes, "mcp-go-1.2.1"}},
		{"transfer-encoding: chunked, chunked", []string{goes, "mcp-go-1.2.1"}},
		{"transfer-encoding: chunked;q=1", []string{goes, "mcp-go-1.2.1", npm}},
		{"transfer-encoding: gzip", []string{goes, "mcp-go-1.2.1"}},
		{"x: a\x01b\r\ntransfer-encoding: chunked", []string{goes, "mcp-go-1.2.1", npm}},
		{"x: a\rb\r\ntransfer-encoding: chunked", []string{goes, "mcp-go-1.2.1", npm}},
		{"nocolon\r\ntransfer-encoding: chunked", []string{goes, "mcp-go-1.2.1", npm}},
	} {
		t.Run(c.field, func(t *testing.T) {
			body := discovered(probe1, `["2026-07-28"]`)
			answer := "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n" + c.field + "\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
			verdicts := analyzed(t, one(probing(1, answer)), goes, "mcp-go-1.2.1", npm).Exchanges[0].Verdicts
			want := map[string]bool{}
			for _, p := range c.refused {
				want[p] = true
			}
			for _, p := range []string{goes, "mcp-go-1.2.1", npm} {
				if got := verdicts[p].Rule == "probe/refused-framing"; got != want[p] {
					t.Errorf("%s: %s by %s", p, verdicts[p].Verdict, verdicts[p].Rule)
				}
			}
		})
	}
}

// TestRefusedHeadsLater: so it is with initialize and calls.
func TestRefusedHeadsLater(t *testing.T) {
	head := func(coding, body string) string {
		return fmt.Sprintf("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: %s\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", coding, len(body), body)
	}
	for _, c := range []struct{ policy, coding, call string }{
		{"go-1.8.0", "gzip, chunked", "pass-through"}, {"mcp-go-1.2.1", "gzip, chunked", "pass-through"}, {"ts-2.4.0", "chunked;q=1", "pass-through"},
	} {
		xs := analyzed(t, one(initializing(head(c.coding, success("0", initResult)))), c.policy).Exchanges
		if v := xs[0].Verdicts[c.policy]; v.Verdict != "network-error" || v.Rule != "initialize/refused-framing" {
			t.Errorf("initialize, %s: %s by %s", c.policy, v.Verdict, v.Rule)
		}
		scene := in(handshake(), calling("tools/call", 3, head(c.coding, success("3", `{"content":[]}`))))
		xs = analyzed(t, scene, c.policy).Exchanges
		if v := xs[len(xs)-1].Verdicts[c.policy]; v.Verdict != c.call || v.Rule != "request/refused-framing" {
			t.Errorf("call, %s: %s by %s", c.policy, v.Verdict, v.Rule)
		}
	}
}
