package corpus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/mcptap/mcptap/analyze"
	"github.com/mcptap/mcptap/har"
)

func minimized(t *testing.T, xs []*har.Exchange, id string) *Minimized {
	t.Helper()
	keep, _, err := Symptom(xs, id)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Minimize(t.Context(), xs, keep, Minimizing{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The cases of reports and two more of each finding are minimized: the finding stays, nothing grows, framing stays what it was, what is left replays,
// and minimizing that again changes nothing.
func TestMinimizeCases(t *testing.T) {
	done := map[string]int{}
	for i, k := range listed(t) {
		id := k.Expect[0].Finding
		if done[id]++; id == "" || k.Row == FindingRow && i%10 != 0 || done[id] > 2 && k.Row != "field" {
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			c := opened(t, k.Name)
			was := printed(c.Exchanges)
			m := minimized(t, c.Exchanges, id)
			if printed(c.Exchanges) != was {
				t.Fatal("the original was altered")
			}
			if m.After > m.Before || m.Bounded || size(m.Exchanges) != m.After {
				t.Errorf("%d bytes became %d, bounded %v", m.Before, m.After, m.Bounded)
			}
			r, err := analyze.Analyze(all(m.Exchanges), analyze.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !has(r, id) {
				t.Errorf("finding %s is gone", id)
			}
			for _, x := range m.Exchanges {
				i := indexOf(c.Exchanges, x.N)
				if !sameFraming(c.Exchanges[i], x) {
					t.Errorf("exchange %d: framing differs", x.N)
				}
			}
			replays(t, &har.Cassette{Exchanges: m.Exchanges, Processes: c.Processes})
			if i%4 > 0 {
				return // the last round of the first time did the same
			}
			again := minimized(t, m.Exchanges, id)
			if printed(again.Exchanges) != printed(m.Exchanges) {
				t.Errorf("minimized again it differs:\n%s\n%s", printed(m.Exchanges), printed(again.Exchanges))
			}
		})
	}
}

func has(r *analyze.Report, id string) bool {
	for _, f := range r.Findings {
		if f.ID == id {
			return true
		}
	}
	return false
}

func indexOf(xs []*har.Exchange, n int) int {
	for i, x := range xs {
		if x.N == n {
			return i
		}
	}
	return -1
}

func printed(xs []*har.Exchange) string {
	var b bytes.Buffer
	for _, x := range xs {
		fmt.Fprintf(&b, "%+v\n", *x)
	}
	return b.String()
}

func TestMinimizeStops(t *testing.T) {
	xs := opened(t, "optional-404-reconnect-loop").Exchanges
	yes := func([]*har.Exchange) bool { return true }
	if _, err := Minimize(t.Context(), xs, func([]*har.Exchange) bool { return false }, Minimizing{}); !errors.Is(err, ErrNothingToKeep) {
		t.Errorf("error %v, want %v", err, ErrNothingToKeep)
	}
	if m, err := Minimize(t.Context(), xs, func(xs []*har.Exchange) bool { return len(xs) == 18 }, Minimizing{Tries: 7}); err != nil || !m.Bounded || m.Tries != 7 {
		t.Errorf("%+v, %v: want 7 tries that were not enough", m, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	told := 0
	m, err := Minimize(ctx, xs, yes, Minimizing{Progress: func(tries, bytes int) {
		if told = tries; tries == 1 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || told != 1 || m.Tries != 1 {
		t.Errorf("%+v, %v after %d tries, want a stop after one", m, err, told)
	}
}

func TestSymptomOfAFindingThatIsNotThere(t *testing.T) {
	xs := opened(t, "get-stream-403").Exchanges
	if _, _, err := Symptom(xs, "probe-silence"); err == nil || err.Error() != "want a finding of the recording: get-stream-refused" {
		t.Errorf("error %v", err)
	}
	if _, f, err := Symptom(xs, ""); err != nil || f.ID != "get-stream-refused" {
		t.Errorf("finding %q, %v: want the only one", f.ID, err)
	}
}
