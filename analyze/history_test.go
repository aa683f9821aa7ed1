package analyze

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
)

// TestHistory holds what a report says of a conversation's course.
func TestHistory(t *testing.T) {
	refused := func() []step {
		return in(stateless(), callingBare("tools/call", 2, answer("503 Service Unavailable", "", "")).after(30*time.Second))
	}
	page := func(id int, cursor string) step {
		return step{req: post(fmt.Sprintf(`{"method":"tools/list","params":{%s},"jsonrpc":"2.0","id":%d}`, cursor, id), v2025), resp: js("200 OK", success("2", `{"tools":[],"nextCursor":"b"}`))}
	}
	asked := open(event(`{"jsonrpc":"2.0","id":"s1","method":"roots/list"}`) + event(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))
	for _, c := range []struct {
		name  string
		scene []step
		want  string
	}{
		{"a session lost and renewed", in(renewed(js("200 OK", success("4", "{}"))), step{req: del(), resp: answer("200 OK", "", "")}),
			`{"sessions":[{"id":"0123456789abcdef","issued":1,"uses":3,"lost":3,"renewed":4,"deleted":7},{"id":"fedcba9876543210","issued":4,"uses":2}],"replies_elsewhere":0,"duplicate_replies":0,"replies_after_the_client":0}`},
		{"a stream, resumed", in(handshake(), step{req: get(session), resp: open("id: 7\ndata: {}\n\n"), end: har.EndRST, wait: time.Second}, step{req: get(session, "last-event-id: 7\r\n"), resp: sse("")}),
			`{"sessions":[{"id":"0123456789abcdef","issued":1,"uses":3}],"streams":[{"exchange":3,"status":200,"events":1,"ms":1000,"end":"rst"},{"exchange":4,"after":"7","status":200,"events":0,"ms":10,"end":"keep"}],"replies_elsewhere":0,"duplicate_replies":0,"replies_after_the_client":0}`},
		{"the server asks, the client answers", in(handshake(), step{req: get(session), resp: asked, end: har.EndClientFIN}, notifying(`{"jsonrpc":"2.0","id":"s1","result":{"roots":[]}}`, answer("202 Accepted", "", ""))),
			`{"sessions":[{"id":"0123456789abcdef","issued":1,"uses":3}],"streams":[{"exchange":3,"status":200,"events":2,"ms":10,"end":"client-fin"}],"server_requests":[{"exchange":3,"method":"roots/list","answer":4}],"updates":1,"replies_elsewhere":0,"duplicate_replies":0,"replies_after_the_client":0}`},
		{"pages, a ping, a cancellation", in(stateless(), page(2, ""), page(2, `"cursor":"a"`), calling("ping", 3, js("200 OK", success("3", "{}"))).asking(session, ""), cancelling("3").asking(session, "")),
			`{"cancellations":[{"exchange":6,"of":5,"answered":true}],"pages":[{"method":"tools/list","from":3,"pages":2}],"pings":1,"replies_elsewhere":0,"duplicate_replies":0,"replies_after_the_client":0}`},
		{"a loop", in(in(refused(), refused()...), refused()...),
			`{"loops":[{"connects":3,"period_ms":30020,"cause":3,"answered":"HTTP 503"}],"replies_elsewhere":0,"duplicate_replies":0,"replies_after_the_client":0}`},
		{"away for a while", in(stateless(), callingBare("tools/call", 2, "").noted("upstream: refused").after(time.Second), callingBare("tools/call", 3, js("200 OK", success("3", "{}")))),
			`{"restarts":[{"before":4,"why":"it could not be reached for 1.0 s (from exchange 3 on)"}],"unanswered":[3],"replies_elsewhere":0,"duplicate_replies":0,"replies_after_the_client":0}`},
	} {
		got, err := json.Marshal(analyzed(t, c.scene).Conversations[0].History)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}
