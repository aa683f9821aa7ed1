package corpus

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/analyze"
	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// recordedRun is a run in which the client did what the recording has.
func recordedRun(t *testing.T, k har.Case) *run {
	xs := opened(t, k.Name).Exchanges
	return &run{k: k, recorded: xs, seen: xs}
}

// unlike are the cases whose story is that the client does not do as recommended.
var unlike = map[string]string{
	"session-404-kept":          "did not initialize again",
	"session-404-not-repeated":  "did not send its request again",
	"session-404-retried-again": "the client began anew",
	"session-404-old-id-sent":   "did not send its request again",
}

// The recorded clients are found to do as recommended, but for those whose story says otherwise. Those of reports did as
// they did.
func TestMatrixOfRecordedClients(t *testing.T) {
	for _, k := range listed(t) {
		if k.Row == "field" || k.Row == "lab" || k.Row == FindingRow {
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			m := &Matrix{Policy: analyze.Recommended}
			if strings.HasPrefix(k.Name, "pinned-") {
				m.Policy = "recommended-pin"
			}
			x := m.judge(recordedRun(t, k))
			why, differs := unlike[k.Name]
			if (x.Result == Differ) != differs || x.Result == Error || !strings.Contains(x.Why, why) {
				t.Errorf("%s: %s, differing wanted: %v %s", x.Result, x.Why, differs, why)
			}
		})
	}
}

// What a client did is held against another client's policy: where their ways part, that is a difference.
func TestMatrixTellsClientsApart(t *testing.T) {
	tests := []struct{ name, policy, result, why string }{
		{"probe-error-id-null", "ts-2.4.0", Differ, "ts-2.4.0 predicts failed"},
		{"probe-error-id-null", "recommended", Agree, ""},
		{"probe-503-empty", "ts-2.4.0", Differ, "the client's connect ended legacy"},
		{"pinned-probe-503", "recommended", Differ, "recommended predicts legacy"},
		{"session-404-expired", "ts-2.4.0", Differ, "pass-through"},
		{"optional-404-method-not-found", "spec-2024-11-05", Inconclusive, "unspecified"},
	}
	for _, tt := range tests {
		t.Run(tt.name+" by "+tt.policy, func(t *testing.T) {
			x := (&Matrix{Policy: tt.policy}).judge(recordedRun(t, *opened(t, tt.name).Header.Case))
			if x.Result != tt.result || !strings.Contains(x.Why, tt.why) {
				t.Errorf("%s: %s, want %s: %s", x.Result, x.Why, tt.result, tt.why)
			}
		})
	}
}

// A client is one client in all cases, and what it shows in one tells what it is in another.
func TestMatrixChoosesPolicy(t *testing.T) {
	tests := []struct {
		name, asked, want string
		cases             []string
	}{
		{"mode auto, which falls back", "", "ts-2.4.0", []string{"probe-html-page", "probe-error-method-not-found", "probe-modern"}},
		{"pinned, which never does", "", "ts-2.4.0-pin", []string{"probe-modern", "pinned-probe-503", "pinned-probe-method-not-found"}},
		{"what one would take for pinned", "", "ts-2.4.0", []string{"pinned-probe-method-not-found", "probe-error-method-not-found"}},
		{"an older library", "", "ts-1.32.2", []string{"session-404-expired", "tool-error-rpc"}},
		{"asked for", "go-1.8.0", "go-1.8.0", []string{"probe-modern"}},
		{"nothing to tell by", "", "recommended", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var runs []*run
			for _, name := range tt.cases {
				runs = append(runs, recordedRun(t, *opened(t, name).Header.Case))
			}
			m := &Matrix{}
			m.choose(tt.asked, runs)
			if m.Policy != tt.want {
				t.Errorf("%s (client %+v), want %s", m.Policy, m.Client, tt.want)
			}
		})
	}
}

// Whatever way a client takes, the server of a case goes along: each usual request at its endpoint has an answer that is
// HTTP and, but for refusals, JSON-RPC under the request's id.
func TestEveryWayIsServed(t *testing.T) {
	for _, k := range listed(t) {
		xs := opened(t, k.Name).Exchanges
		if len(xs) == 0 || xs[0].Stdio() || k.Row == FindingRow {
			continue
		}
		all := withRest(xs)
		first := slices.MinFunc(all, func(a, b *har.Exchange) int { return a.N - b.N })
		if first.Method == "GET" && first.MediaType == "text/event-stream" {
			continue
		}
		have := map[string]int{}
		for _, x := range all[:len(xs)] {
			have[kindOf(x)]++
		}
		for _, x := range all[len(xs):] {
			have[kindOf(x)]++
			if have[kindOf(x)] > 1 {
				t.Errorf("%s: %s is answered by the case and beside it", k.Name, kindOf(x))
			}
			if slices.ContainsFunc(first.Notes, func(note string) bool { return strings.HasPrefix(note, "upstream: ") }) {
				if len(x.Response.Raw) > 0 || !slices.Equal(x.Notes, first.Notes) {
					t.Errorf("%s: nobody was there, and %s is answered", k.Name, kindOf(x))
				}
				continue
			}
			_, final, _ := wire.ParseResponse(x.Response.Raw, x.Method, false)
			if final == nil || final.Status != http.StatusMethodNotAllowed && final.Status != http.StatusAccepted &&
				string(wire.ParseRPC(final.Payload(x.Response.Raw)).ID.Raw) != "0" {
				t.Errorf("%s: the answer to %s is\n%s", k.Name, kindOf(x), x.Response.Raw)
			}
		}
		path := "POST " + strings.Fields(kindOf(first))[1] + " "
		for _, want := range []string{"server/discover", "initialize", "notifications/initialized", "tools/list", "prompts/list", "resources/list", "tools/call"} {
			if have[path+want] == 0 {
				t.Errorf("%s: %s has no answer", k.Name, path+want)
			}
		}
	}
}

func TestConsequence(t *testing.T) {
	tests := []struct {
		verdict string
		then    sequel
		want    string
	}{
		{"keep-connected", sequel{asked: true}, Agree},
		{"keep-connected", sequel{}, Inconclusive},
		{"keep-connected", sequel{initialized: true, repeated: true}, Differ},
		{"disconnect", sequel{}, Agree},
		{"disconnect", sequel{initialized: true, repeated: true}, Agree},
		{"disconnect", sequel{asked: true}, Differ},
		{"reinitialize+retry-once", sequel{initialized: true, repeated: true}, Agree},
		{"reinitialize+retry-once", sequel{initialized: true}, Differ},
		{"reinitialize+retry-once", sequel{asked: true}, Differ},
		{"reinitialize+retry-once", sequel{late: true}, Inconclusive},
		{"reinitialize", sequel{initialized: true}, Agree},
		{"pass-through", sequel{}, Agree},
		{"pass-through", sequel{initialized: true}, Differ},
		{"post-only", sequel{asked: true}, Agree},
		{"post-only", sequel{}, Inconclusive},
		{"resume", sequel{resumed: true}, Agree},
		{"resume", sequel{asked: true}, Inconclusive},
		{"clean-close", sequel{}, Agree},
		{"timeout", sequel{}, Agree},
		{"unspecified", sequel{asked: true}, Inconclusive},
	}
	for _, tt := range tests {
		if got, why := consequence(tt.verdict, tt.then); got != tt.want {
			t.Errorf("%s, then %+v: %s (%s), want %s", tt.verdict, tt.then, got, why, tt.want)
		}
	}
}

// What went wrong with a run is not taken for what the client did.
func TestMatrixOfSpoiltRuns(t *testing.T) {
	k := *opened(t, "probe-silence").Header.Case
	whole := recordedRun(t, k)
	tests := []struct {
		name, result, why string
		run               run
	}{
		{"waiting when its time was up", Inconclusive, "still waiting", run{late: true, seen: whole.seen}},
		{"sent nothing", Error, "exit code 3", run{exit: Exit{Code: 3}}},
		{"sent nothing and hung", Error, "until its time was up", run{late: true}},
		{"not started", Error, "no such file", run{exit: Exit{Err: errors.New("no such file")}}},
		{"too much traffic", Inconclusive, "more than", run{err: errors.New("more than is kept"), seen: whole.seen}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.run.k, tt.run.recorded = k, whole.recorded
			x := (&Matrix{Policy: analyze.Recommended}).judge(&tt.run)
			if x.Result != tt.result || !strings.Contains(x.Why, tt.why) {
				t.Errorf("%s: %s, want %s: %s", x.Result, x.Why, tt.result, tt.why)
			}
		})
	}
}
