package analyze

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
)

//go:embed testdata/vectors.json
var vectorFile embed.FS

// A vector is one answer and what policies make of it. The answers and most of the verdicts are the rows of a study of
// specifications and clients, in which each was read or measured; docs/policies.md says which were corrected.
type vector struct {
	Name   string              `json:"name"`
	As     string              `json:"as"`     // what was asked
	Status string              `json:"status"` // "" if no head came
	Type   string              `json:"type"`
	Head   []string            `json:"head"`
	Body   string              `json:"body"`
	Raw    string              `json:"raw"`   // the whole answer, instead of the members above
	Short  bool                `json:"short"` // the body is not whole
	Open   bool                `json:"open"`  // the stream goes on
	End    har.Ending          `json:"end"`
	Again  bool                `json:"again"`   // a further probe gets the same answer
	Then   string              `json:"then"`    // ok: what is asked next gets a good answer
	Target any                 `json:"target"`  // the URL of that, if the answer redirects; true: on the same origin
	Resume string              `json:"resumed"` // status that a GET with Last-Event-ID gets
	Note   string              `json:"note"`    // of the exchange, such as why the server was not reached
	Want   map[string][]string `json:"want"`    // policies by verdict
}

func vectors(t testing.TB) []vector {
	t.Helper()
	data, err := vectorFile.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// answer writes the response to a request with this id.
func (v *vector) answer(id string) string {
	body := strings.ReplaceAll(v.Body, "{{id}}", id)
	switch {
	case v.Raw != "":
		return strings.ReplaceAll(v.Raw, "{{id}}", id)
	case v.Status == "":
		return ""
	}
	var fields []string
	for _, f := range v.Head {
		fields = append(fields, f+"\r\n")
	}
	if v.Type == "text/event-stream" && body != "" {
		head := "HTTP/1.1 " + v.Status + "\r\ncontent-type: " + v.Type + "\r\n" + strings.Join(fields, "") + "transfer-encoding: chunked\r\n\r\n"
		s := head + fmt.Sprintf("%x\r\n%s\r\n", len(body), body)
		if v.Open {
			return s
		}
		return s + "0\r\n\r\n"
	}
	if v.Type == "text/event-stream" && v.Open {
		return open("")
	}
	s := answer(v.Status, v.Type, body, fields...)
	if v.Short {
		s = strings.Replace(s, fmt.Sprintf("content-length: %d", len(body)), "content-length: 500", 1)
	}
	return s
}

// scene gives the exchanges, and the number of the first that is judged.
func (v *vector) scene(t testing.TB) ([]step, int) {
	t.Helper()
	var before []step
	var s step
	modern := one(probing(1, js("200 OK", discovered(probe1, `["2026-07-28"]`))))
	stream := in(nil, httpSSE(event(success("0", initResult))), overMessages(initializing(answer("202 Accepted", "", ""))))
	notice := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
	switch v.As {
	case "probe":
		s = probing(1, v.answer(probe1))
	case "probe-number":
		s = probingAs("1", v.answer("1"))
	case "probe-sse":
		before, s = one(httpSSE("")), overMessages(probing(1, v.answer(probe1)))
	case "initialize":
		s = initializing(v.answer("0"))
	case "initialize-stream":
		before, s = one(httpSSE(event(success("0", initResult)))), overMessages(initializing(v.answer("0")))
	case "initialize-session":
		s = step{req: post(`{"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":`+clientInfo+`},"jsonrpc":"2.0","id":0}`, session), resp: v.answer("0")}
	case "initialize-sse":
		before, s = one(httpSSE("")), overMessages(initializing(v.answer("0")))
	case "initialized":
		before, s = handshake()[:1], initialized1(v.answer("null"))
	case "call":
		before, s = handshake(), calling("tools/call", 3, v.answer("3"))
	case "call-again":
		again := renewed(v.answer("4"))
		before, s = again[:len(again)-1], again[len(again)-1]
	case "call-bare":
		before, s = handshake(), callingBare("tools/call", 3, v.answer("3"))
	case "call-modern":
		before, s = modern, callingModern("tools/call", 3, v.answer("3"))
	case "subscribe-modern":
		before, s = modern, callingModern("subscriptions/listen", 3, v.answer("3"))
	case "call-sse":
		before, s = stream, overMessages(calling("tools/call", 3, v.answer("3")))
	case "optional":
		before, s = handshake(), calling("prompts/list", 2, v.answer("2"))
	case "optional-bare":
		before, s = handshake(), callingBare("prompts/list", 2, v.answer("2"))
	case "optional-modern":
		before, s = modern, callingModern("prompts/list", 2, v.answer("2"))
	case "optional-sse":
		before, s = stream, overMessages(calling("prompts/list", 2, v.answer("2")))
	case "notification":
		before, s = handshake(), notifying(notice, v.answer("null"))
	case "get":
		before, s = handshake(), step{req: get(session), resp: v.answer("null")}
	case "get-sse":
		s = step{req: get(), resp: v.answer("null")}
	case "resume":
		before, s = handshake(), step{req: get(session, "last-event-id: 1\r\n"), resp: v.answer("null")}
	case "delete":
		before, s = handshake(), step{req: del(), resp: v.answer("null")}
	default:
		t.Fatalf("%s: %q is nothing that can be asked", v.Name, v.As)
	}
	s.end, s.note = v.End, v.Note
	if s.end == har.EndClientFIN {
		s.wait = time.Minute
	}
	return v.sequel(append(before, s)), len(before) + 1
}

// sequel adds what the client asks next.
func (v *vector) sequel(scene []step) []step {
	const second = `"server-discover-probe-2"`
	good := js("200 OK", discovered(second, `["2026-07-28"]`))
	switch url, elsewhere := v.Target.(string); {
	case v.Again:
		return append(scene, probing(2, v.answer(second)))
	case elsewhere:
		s := probing(1, js("200 OK", discovered(probe1, `["2026-07-28"]`)))
		s.url = url
		return append(scene, s)
	case v.Target == true && v.As != "probe":
		s := scene[len(scene)-1]
		s.resp = answer("202 Accepted", "", "")
		return append(scene, s.to("http://mcp.example.test/other"))
	case v.Target == true:
		return append(scene, probing(1, js("200 OK", discovered(probe1, `["2026-07-28"]`))).to("http://mcp.example.test/other"))
	case v.Then == "ok":
		return append(scene, probing(2, good))
	case v.Resume != "":
		return append(scene, step{req: get("last-event-id: ev-1\r\n"), resp: answer(v.Resume, "", "")})
	}
	return scene
}

// TestVectors holds every policy against the answers that it is known to judge.
func TestVectors(t *testing.T) {
	known := map[string]bool{}
	for _, v := range vectors(t) {
		scene, n := v.scene(t)
		a := factsOf(scene)
		for verdict, names := range v.Want {
			for _, name := range names {
				p := policies().byName[name]
				if p == nil {
					t.Fatalf("%s: there is no policy %s", v.Name, name)
				}
				known[name] = true
				got := p.judge(a.numbered(n))
				if next := a.numbered(n + 1); next != nil && verdict != got.Verdict && goesOn(got) {
					got = p.judge(next)
				}
				if got.Verdict != verdict {
					t.Errorf("%s: %s says %s by %s, want %s", v.Name, name, got.Verdict, got.Rule, verdict)
				}
			}
		}
	}
	for _, p := range Policies() {
		if !known[p.Name] && p.Base == "" && p.Name != Recommended {
			t.Errorf("no vector names policy %s", p.Name)
		}
	}
}

// goesOn tells whether the next request of the same step decides.
func goesOn(v Verdict) bool {
	return strings.HasPrefix(v.Verdict, "corrective-retry") || strings.HasSuffix(v.Rule, "/redirect-followed")
}

// ownRules tells which rules a policy's file states.
func ownRules(t testing.TB, name string) []string {
	t.Helper()
	data, err := policyFiles.ReadFile("policies/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	p, err := parsePolicy(data)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, x := range p.Rules {
		ids = append(ids, x.ID)
	}
	return slices.Compact(ids)
}
