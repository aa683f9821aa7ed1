package analyze

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
)

// told sums a choice up: who, what next, and whether recommended and ts-2.4.0 say so.
func told(c Choice) string {
	word := func(b *bool) string {
		switch {
		case b == nil:
			return "?"
		case *b:
			return "yes"
		}
		return "no"
	}
	return fmt.Sprintf("%d %s %d %s %s", c.Exchange, c.Did, c.Next, word(c.Policies[Recommended].Agrees), word(c.Policies["ts-2.4.0"].Agrees))
}

func TestCourse(t *testing.T) {
	refused := calling("prompts/list", 2, js("503 Service Unavailable", missing)).ends(har.EndClientFIN)
	tests := []struct {
		name  string
		scene []step
		want  []string
	}{
		{"probe, fallback", in(one(probing(1, js("200 OK", errIDNull))), handshake()...), []string{"1 initialize 2 yes no"}},
		{"probe, gave up", one(probing(1, js("200 OK", errIDNull)).ends(har.EndClientFIN)), []string{"1 stop 0 no yes"}},
		{"probe, modern, went on", in(one(probing(1, js("200 OK", discovered(probe1, `["2026-07-28"]`)))), callingModern("tools/list", 1, js("200 OK", success("1", `{"tools":[]}`)))),
			[]string{"1 continue 2 yes yes"}},
		{"probe, corrected", in(nil, probing(1, js("400 Bad Request", unsupported(probe1, common))), probing(2, js("200 OK", discovered(`"server-discover-probe-2"`, `["2026-07-28"]`)))),
			[]string{"1 retry 2 yes yes", "2 stop 0 ? ?"}},
		{"probe, silence, then the recording ended", one(probing(1, "").ends(har.EndStopped)), []string{"1 unknown 0 ? ?"}},
		{"initialize refused", one(initializing(answer("503 Service Unavailable", "", ""))), []string{"1 stop 0 yes yes"}},
		{"optional method missing, went on", in(list(js("404 Not Found", missing)), calling("tools/call", 3, js("200 OK", success("3", `{"content":[]}`)))), []string{"3 continue 4 yes yes"}},
		{"outage, began anew", in(in(handshake(), refused), handshake()...), []string{"3 reconnect 4 yes no"}},
		{"session renewed, call repeated", renewed(js("200 OK", success("4", `{"content":[]}`))), []string{"3 reconnect 4 yes no"}},
		{"delivered", handshake(), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, c := range analyzed(t, tt.scene, Recommended, "ts-2.4.0").Conversations[0].Course {
				got = append(got, told(c))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// What a choice cost: the time on the answer, what was asked once more, what was opened for it.
func TestCourseConsequence(t *testing.T) {
	refused := calling("prompts/list", 2, "").ends(har.EndRST).after(2 * time.Second)
	scene := in(in(handshake(), refused), in(handshake(), calling("prompts/list", 2, js("200 OK", success("2", `{"prompts":[]}`))))...)
	course := analyzed(t, scene, Recommended).Conversations[0].Course
	if len(course) != 1 {
		t.Fatalf("got %+v, want one choice", course)
	}
	c := course[0]
	if c.Did != Reconnect || c.WaitedMS != 2000 || c.Repeated != 2 || c.Connections != 1 {
		t.Errorf("got %+v, want: reconnect after 2000 ms, initialize and prompts/list once more, 1 connection", c)
	}
}

func TestCourseIsBounded(t *testing.T) {
	scene := handshake()
	for i := range 2 * maxChoices {
		scene = in(scene, calling("prompts/list", i+2, js("404 Not Found", missing)))
	}
	if n := len(analyzed(t, scene, Recommended).Conversations[0].Course); n != maxChoices {
		t.Errorf("got %d choices, want %d", n, maxChoices)
	}
}

// Behind a refused handshake, to fall back is to ask for the stream of HTTP+SSE.
func TestCourseToStream(t *testing.T) {
	refused := initializing(answer("404 Not Found", "text/plain", "no"))
	stream := step{req: get(), resp: answer("405 Method Not Allowed", "", "")}
	const policy = "langchain-mcp-adapters-1.1.4"
	for name, scene := range map[string][]step{"true": in(nil, refused, stream), "false": one(refused)} {
		x := analyzed(t, scene, policy).Conversations[0].Course[0].Policies[policy]
		if x.Verdict != "legacy-fallback" || x.Agrees == nil || fmt.Sprint(*x.Agrees) != name {
			t.Errorf("%+v, want legacy-fallback, %s", x, name)
		}
	}
}
