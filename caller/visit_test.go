package caller

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

var idMember = regexp.MustCompile(`"id":("[^"]*"|[0-9]+)`)

// good answers as a server of that era would, GET with a stream that stays silent.
func good(n int, c net.Conn, r *http.Request, body []byte) bool {
	id, head, result := "null", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n", "{}"
	if m := idMember.FindSubmatch(body); m != nil {
		id = string(m[1])
	}
	switch methodOf(body) {
	case "initialize":
		head += "Mcp-Session-Id: of-the-test\r\n"
		result = `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"stub","version":"1"}}`
	case "notifications/initialized":
		fmt.Fprint(c, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
		return true
	case "":
		if r.Method == "GET" {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: silent\n\n")
			return true
		}
	}
	text := `{"jsonrpc":"2.0","id":` + id + `,"result":` + result + `}`
	fmt.Fprintf(c, "%sContent-Length: %d\r\n\r\n%s", head, len(text), text)
	return true
}

const legacyLists = "POST tools/list, POST prompts/list, POST resources/list"

func TestVisit(t *testing.T) {
	tests := []struct {
		name, policy string
		verdicts     map[string]string // by JSON-RPC method; delivered where there is none
		want         string            // what is asked, in order
	}{
		{"auto, modern", "ts-2.4.0", map[string]string{"server/discover": "modern@2026-07-28"}, "POST server/discover, " + legacyLists},
		{"auto, legacy", "ts-2.4.0", map[string]string{"server/discover": "legacy-fallback"},
			"POST server/discover, POST initialize, POST notifications/initialized, GET, " + legacyLists},
		{"auto, corrective retry without end", "ts-2.4.0", map[string]string{"server/discover": "corrective-retry@2026-07-28"}, "POST server/discover, POST server/discover"},
		{"auto, failed", "ts-2.4.0", map[string]string{"server/discover": "network-error"}, "POST server/discover"},
		{"auto, refused", "ts-2.4.0", map[string]string{"server/discover": "legacy-fallback", "initialize": "disconnect"}, "POST server/discover, POST initialize"},
		{"pin", "ts-2.4.0-pin", map[string]string{"server/discover": "negotiation-error"}, "POST server/discover"},
		{"legacy", "ts-2.4.0-legacy", nil, "POST initialize, POST notifications/initialized, GET, " + legacyLists},
		{"1.x on to HTTP+SSE", "ts-1.32.2", map[string]string{"initialize": "legacy-fallback"}, "POST initialize, GET"},
		{"1.x, not let in", "ts-1.32.2", map[string]string{"notifications/initialized": "disconnect"}, "POST initialize, POST notifications/initialized"},
		{"go-sdk", "go-1.8.0", map[string]string{"server/discover": "legacy-fallback"},
			"POST server/discover, POST initialize, GET, POST notifications/initialized, " + legacyLists + ", DELETE"},
		{"mcp-go", "mcp-go-1.2.1", map[string]string{"server/discover": "legacy-fallback"},
			"POST server/discover, POST initialize, POST notifications/initialized, " + legacyLists + ", DELETE"},
		{"mcp-go, listening", "mcp-go-1.2.1-listen", nil, "POST initialize, POST notifications/initialized, GET, " + legacyLists + ", DELETE"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStub(t, good)
			xs, err := visitor(t, s, tt.verdicts).Visit(script(t, tt.policy))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(s.seen, ", "); got != tt.want {
				t.Errorf("asked %s\nwant  %s", got, tt.want)
			}
			if len(xs) != len(s.seen) {
				t.Errorf("%d exchanges for %d requests", len(xs), len(s.seen))
			}
			for i, x := range xs {
				checkRequest(t, i, x, s.raw[i])
			}
		})
	}
}

// checkRequest wants what was sent to be a whole request without places that were not filled, and with the session.
func checkRequest(t *testing.T, i int, x *har.Exchange, raw []byte) {
	t.Helper()
	m, tail := wire.ParseRequest(x.Request.Raw)
	if string(x.Request.Raw) != string(raw) || x.N != i+1 || m == nil || !m.Complete || tail.Len > 0 || len(m.Faults) > 0 {
		t.Errorf("exchange %d, number %d, is not what was sent or no whole request: %q", i+1, x.N, raw)
	}
	if body := m.Payload(x.Request.Raw); len(body) > 0 && wire.ParseRPC(body).Kind == wire.Invalid || strings.Contains(string(raw), "{}{") || regexp.MustCompile(`\{[a-z]+\}`).Match(raw) {
		t.Errorf("exchange %d: %q", i+1, raw)
	}
	session := m.Get("Mcp-Session-Id")
	if after := i > 1 && m.Get("Mcp-Protocol-Version") == "2025-11-25"; after != (session == "of-the-test") && i > 1 {
		t.Errorf("exchange %d: session %q", i+1, session)
	}
}

func visitor(t *testing.T, s *stub, verdicts map[string]string) *Visitor {
	u, err := url.Parse("http://" + s.Addr().String() + "/mcp?x=1")
	if err != nil {
		t.Fatal(err)
	}
	return &Visitor{Caller: s.caller(t), URL: u, Wait: 20 * time.Second, Judge: func(_ string, xs []*har.Exchange) string {
		if v := verdicts[methodOf(xs[len(xs)-1].Request.Raw)]; v != "" {
			return v
		}
		return "delivered"
	}}
}

func script(t *testing.T, policy string) *Script {
	t.Helper()
	i := slices.IndexFunc(Scripts(), func(s Script) bool { return s.Policy == policy })
	if i < 0 {
		t.Fatalf("no script %s", policy)
	}
	return &Scripts()[i]
}

func TestHeader(t *testing.T) {
	s := newStub(t, good)
	v := visitor(t, s, map[string]string{"server/discover": "network-error"})
	v.Header = []string{"Authorization: Bearer of-the-test", "User-Agent: other"}
	if _, err := v.Visit(script(t, "ts-2.4.0")); err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(s.raw[0]), "\r\n\r\n")
	if !strings.HasPrefix(head, "POST /mcp?x=1 HTTP/1.1\r\nhost: ") || !strings.Contains(head, "\r\nAuthorization: Bearer of-the-test") ||
		strings.Count(strings.ToLower(head), "user-agent:") != 1 || !strings.HasSuffix(head, "\r\nUser-Agent: other") {
		t.Errorf("sent %q", head)
	}
}

func TestLoseSession(t *testing.T) {
	s := newStub(t, good)
	xs, err := visitor(t, s, nil).LoseSession(script(t, "ts-2.4.0-legacy"))
	if err != nil {
		t.Fatal(err)
	}
	want := "POST initialize, POST notifications/initialized, DELETE, POST tools/list, POST tools/list"
	if got := strings.Join(s.seen, ", "); got != want || len(xs) != 5 {
		t.Fatalf("asked %s\nwant  %s", got, want)
	}
	for i, session := range []string{"", "of-the-test", "of-the-test", "of-the-test", "mcptap-no-such-session"} {
		if m, _ := wire.ParseRequest(xs[i].Request.Raw); m.Get("Mcp-Session-Id") != session {
			t.Errorf("exchange %d has the session %q, want %q", i+1, m.Get("Mcp-Session-Id"), session)
		}
	}
}

// A reply in a stream that the server leaves open is an answer: nothing is waited for behind it.
func TestReplyInOpenStream(t *testing.T) {
	s := newStub(t, func(n int, c net.Conn, r *http.Request, body []byte) bool {
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n\n", idMember.FindSubmatch(body)[1])
		return true
	})
	v := visitor(t, s, map[string]string{"server/discover": "network-error"})
	v.Wait = time.Hour
	if _, err := v.Visit(script(t, "ts-2.4.0")); err != nil {
		t.Fatal(err)
	}
}
