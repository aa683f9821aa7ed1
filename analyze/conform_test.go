package analyze

import (
	"slices"
	"strings"
	"testing"
)

// beyondConformance leaves out findings of conformance, for tests of others whose scenes are terse.
func beyondConformance(list []Finding) []Finding {
	return slices.DeleteFunc(slices.Clone(list), ofConformance)
}

func ofConformance(f Finding) bool {
	return f.ID == nonconforming.id || strings.HasPrefix(f.ID, "conform-")
}

// What departs from a shape is named by pointer, with the exact bytes, wherever the message stands; what another finding
// says already gets the pointer.
func TestNonconformingMessages(t *testing.T) {
	k := talking("2025-06-18")
	bad := `"content":[{"type":"text","text":7}]`
	elsewhere := func(id, inner string) string { return success(id, "{"+inner+"}") }
	noInfo := k.opened()[:1]
	noInfo[0].resp = js("200 OK", success("0", `{"protocolVersion":"2025-06-18","capabilities":{}}`))
	for _, c := range []struct {
		name     string
		scene    []step
		id, says string
		bytes    string
	}{
		{"in a body", append(k.opened(), k.asks("3", "tools/call", `"name":"echo"`, k.ok("3", bad))), nonconforming.id,
			"the result of tools/call departs from the shape of 2025-06-18: /result/content/0/text is 7, want string (server/tools, Calling Tools)", "7"},
		{"in an event", append(k.opened(), k.asks("3", "tools/call", `"name":"echo"`, sse(event(k.result("3", bad))))), nonconforming.id, "/result/content/0/text is 7", "7"},
		{"left out", append(k.opened(), k.lists("3", `{"name":"t"}`)), nonconforming.id, "/result/tools/0/inputSchema is missing, want an object (InputSchema)", `{"name":"t"}`},
		{"several alike", append(k.opened(), k.lists("3", `{"name":"t"},{"name":"u"},{"name":"v"}`)), nonconforming.id, "(2 more like this)", `{"name":"t"}`},
		{"in a request", append(k.opened(), k.asks("3", "tools/call", `"name":["echo"]`, k.ok("3", echoed))), nonconforming.id, "tools/call departs from the shape of 2025-06-18: /params/name is an array, want string", `["echo"]`},
		{"an id of null", append(k.opened(), k.asks("null", "ping", "", k.ok("3", ""))), nonconforming.id, "/id is null, want a string or an integer", "null"},
		{"of the server's request", append(k.opened(), k.calls("3", `{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{"messages":[]}}`)), nonconforming.id, "/params/maxTokens is missing", `{"messages":[]}`},
		{"of the client's answer", append(k.opened(), k.gets(event(`{"jsonrpc":"2.0","id":"s","method":"roots/list"}`)),
			step{req: post(elsewhere(`"s"`, `"roots":[{}]`), k.fields("", "")...), resp: answer("202 Accepted", "", "")}), nonconforming.id, "the result of roots/list departs from the shape of 2025-06-18: /result/roots/0/uri is missing", "{}"},
		{"over HTTP+SSE", overSSEConnectedTo(event(elsewhere("3", bad))), nonconforming.id, "the result of tools/call departs from the shape of 2025-11-25: /result/content/0/text is 7", "7"},
		{"said already", noInfo, "initialize-result-invalid", "; /result/serverInfo is nothing, want an object (Implementation)", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := analyzed(t, c.scene)
			i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.ID == c.id && strings.Contains(f.Message, c.says) })
			if i < 0 {
				t.Fatalf("no %s that says %q among %+v", c.id, c.says, r.Findings)
			}
			f := &r.Findings[i]
			checkFinding(t, f, c.scene)
			if c.bytes == "" {
				if slices.ContainsFunc(r.Findings, ofConformance) {
					t.Errorf("said twice: %+v", r.Findings)
				}
				return
			}
			e, text := f.Evidence[0], ""
			if text = c.scene[e.Exchange-1].resp; e.Side == "request" {
				text = c.scene[e.Exchange-1].req
			}
			if got := text[e.Offset : e.Offset+e.Length]; got != c.bytes {
				t.Errorf("evidence %q, want %q", got, c.bytes)
			}
		})
	}
}

// overSSEConnectedTo is a session over HTTP+SSE whose stream carries these events behind the handshake, and a call.
func overSSEConnectedTo(events ...string) []step {
	return append(overSSEConnected(events...), overMessages(calling("tools/call", 3, answer("202 Accepted", "text/plain", "Accepted"))))
}
