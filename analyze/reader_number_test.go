package analyze

import "testing"

// TypeScript clients look a reply up by Number(id): npm client 2.4.0 and sdk 1.32.2 took all of these, to tools/call and to
// initialize. Go clients and the text do not.
func TestReplyByNumber(t *testing.T) {
	for _, id := range []string{`"3"`, `3.0`, `" 3 "`} {
		steps := append(handshake(), calling("tools/call", 3, js("200 OK", success(id, `{"content":[]}`))))
		for policy, want := range map[string]string{"ts-2.4.0": "delivered", "ts-1.32.2": "delivered", "recommended": "timeout"} {
			r := analyzed(t, steps, policy)
			if got := r.Exchanges[2].Verdicts[policy].Verdict; got != want {
				t.Errorf("%s, id %s: %s (%s), want %s", policy, id, got, r.Exchanges[2].Verdicts[policy].Rule, want)
			}
		}
		initID := map[string]string{`"3"`: `"0"`, `3.0`: `0.0`, `" 3 "`: `" 0 "`}[id]
		steps = []step{initializing(js("200 OK", success(initID, initResult), session)), initialized1(answer("202 Accepted", "", ""))}
		r := analyzed(t, steps, "ts-2.4.0")
		if c := r.Conversations[0]; c.Observed.Outcome != Legacy || c.Predicted["ts-2.4.0"].Outcome != Legacy {
			t.Errorf("initialize, id %s: observed %s, predicted %s (%s), want legacy", initID, c.Observed.Outcome,
				c.Predicted["ts-2.4.0"].Outcome, c.Predicted["ts-2.4.0"].Rule)
		}
	}
	steps := append(handshake(), calling("tools/call", 3, js("200 OK", success(`"4"`, "{}"))))
	if got := analyzed(t, steps, "ts-2.4.0").Exchanges[2].Verdicts["ts-2.4.0"].Verdict; got != "timeout" {
		t.Errorf("another number: %s, want timeout", got)
	}
}
