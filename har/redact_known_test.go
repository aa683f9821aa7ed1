package har

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/har/wire"
)

// redacted passes one whole exchange.
func redacted(r *Redactor, req, resp string) (string, string) {
	x := &Exchange{Request: Side{Raw: []byte(req)}, Response: Side{Raw: []byte(resp)}}
	r.Pass(x, [2]int{}, true)
	return string(x.Request.Raw), string(x.Response.Raw)
}

func TestSpellings(t *testing.T) {
	for _, tt := range []struct{ name, value, spelled string }{
		{"as it is", "abc/def+ghi=", "abc/def+ghi="},
		{"percent-encoded", "abc/def+ghi=", "abc%2Fdef%2Bghi%3D"},
		{"percent-encoded in lower case", "abc/def+ghi=", "abc%2fdef%2bghi%3d"},
		{"a form's space", "abc def ghi!", "abc+def+ghi%21"},
		{"JavaScript", "abc*def/ghi!", "abc*def%2Fghi!"},
		{"a path", "abc=def/ghi+", "abc=def%2Fghi+"},
		{"a path's space", "abc def ghi!", "abc%20def%20ghi%21"},
		{"JSON with an escaped slash", "abc/def/ghi", `abc\/def\/ghi`},
		{"JSON with quotes and a backslash", `abc"def\ghi`, `abc\"def\\ghi`},
		{"JSON in ASCII", "abcdé€😀", `abcd\u00e9\u20ac\ud83d\ude00`},
		{"JSON as Go writes it", "abc<def>&ghi", `abc\u003cdef\u003e\u0026ghi`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := NewRedactor()
			redacted(r, asPost("X-Api-Key: "+tt.value+"\r\n", ""), "")
			_, got := redacted(r, "", asAnswer(jsonType, `{"a":"`+tt.spelled+`"}`))
			want := []byte(tt.spelled)
			blank(want, 0, false)
			sameBytes(t, "response", got, asAnswer(jsonType, `{"a":"`+string(want)+`"}`))
			if strings.Contains(got, tt.spelled) {
				t.Error("nothing was replaced")
			}
		})
	}
}

func TestSessionSpellings(t *testing.T) {
	r := NewRedactor()
	redacted(r, asPost("Mcp-Session-Id: 01234567/89+ab\r\n", ""), "")
	for in, want := range map[string]string{
		"/m?sessionId=01234567/89+ab&x":     "/m?sessionId=session-/1x+xx&x",
		"/m?sessionId=01234567%2F89%2Bab&x": "/m?sessionId=session-%2F1x%2Bxx&x",
		`{"s":"01234567\/89+ab"}`:           `{"s":"session-\/1x+xx"}`,
	} {
		_, got := redacted(r, "", asAnswer("", in))
		sameBytes(t, in, got, asAnswer("", want))
	}
}

// TestSessionsAreNumbered: by first appearance, the same in all exchanges, and never two alike.
func TestSessionsAreNumbered(t *testing.T) {
	for _, digits := range []string{"abcdefgh", "0123456789"} {
		r, seen := NewRedactor(), map[string]string{}
		rng := rand.New(rand.NewPCG(1, 2))
		var ids []string
		for range 1500 {
			id := make([]byte, 8+rng.IntN(4))
			for i := range id {
				id[i] = digits[rng.IntN(len(digits))]
			}
			if seen[string(id)] == "" {
				ids = append(ids, string(id))
				seen[string(id)] = "new"
			}
		}
		for n, id := range ids {
			got, _ := redacted(r, "GET / HTTP/1.1\r\nMcp-Session-Id: "+id+"\r\n\r\n", "")
			got = strings.TrimSuffix(strings.TrimPrefix(got, "GET / HTTP/1.1\r\nMcp-Session-Id: "), "\r\n\r\n")
			if len(got) != len(id) || got == id || !strings.Contains(got, fmt.Sprint(n+1)) {
				t.Fatalf("session %d: %q for %q", n+1, got, id)
			}
			if was, ok := seen[got]; ok {
				t.Fatalf("%q stands for %q and for %q", got, id, was)
			}
			seen[got], seen[id] = id, got
		}
		// All of them again, in another order: the first ones are no longer among the values looked for.
		rng.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		for _, id := range ids {
			_, got := redacted(r, "", "HTTP/1.1 200 OK\r\nMcp-Session-Id: "+id+"\r\n\r\n"+id)
			sameBytes(t, id, got, "HTTP/1.1 200 OK\r\nMcp-Session-Id: "+seen[id]+"\r\n\r\n"+seen[id])
		}
	}
}

func TestPseudonym(t *testing.T) {
	for _, tt := range []struct {
		id   string
		n    int
		want string
	}{
		{"abcdefghijkl", 1, "session-1xxx"},
		{"abcdefghijkl", 123, "session-123x"},
		{"abcdefgh", 1, "sessio-1"},
		{"abcdefgh", 1234567, "-1234567"},
		{"abcdefgh", 123456789, "-3456789"},
		{"12345678", 12, "90000012"},
		{"ab/cd/ef/gh", 3, "se/ss/io/-3"},
		{"//////abcd", 3, "session-3x"},
		{"abc def \xe9", 1, "ses s-1 \xe9"},
		{"\x01\x02\x03\x04\x05\x06\x07z", 1, "sessio-1"},
	} {
		got := pseudonym(tt.id, tt.n)
		if got != tt.want {
			t.Errorf("pseudonym(%q, %d) = %q, want %q", tt.id, tt.n, got, tt.want)
		}
		if tt.n < 1e7 && !isPseudonym([]byte(got)) {
			t.Errorf("%q is not known as a pseudonym", got)
		}
	}
	for _, id := range []string{"session-01xx", "session-1xxy", "session-xxxx", "sessions-1xx", "90000000", "90123456", "80000001", "s3ssion-1xxx"} {
		if isPseudonym([]byte(id)) {
			t.Errorf("%q is taken for a pseudonym", id)
		}
	}
}

// TestValuesAreBounded: the values used last are looked for, and no more than the bound.
func TestValuesAreBounded(t *testing.T) {
	r := NewRedactor()
	value := func(i int) string { return fmt.Sprintf("value-%08d-%08x", i, i*2654435761%(1<<32)) }
	const n = 3 * valuesMost
	for i := range n {
		redacted(r, asPost("X-Api-Key: "+value(i)+"\r\nX-Auth-Token: "+value(0)+"\r\n", ""), "")
	}
	if len(r.values.list) != valuesMost || len(r.values.byText) != valuesMost || len(r.values.spellings) > 3*valuesMost {
		t.Errorf("%d values, %d to be found, %d spellings", len(r.values.list), len(r.values.byText), len(r.values.spellings))
	}
	for _, tt := range []struct {
		i    int
		gone bool
	}{{0, true}, {1, false}, {n - valuesMost - 10, false}, {n - valuesMost + 10, true}, {n - 1, true}} {
		if _, got := redacted(r, "", asAnswer("", value(tt.i))); strings.Contains(got, value(tt.i)) == tt.gone {
			t.Errorf("value %d: replaced is %v, want %v", tt.i, !tt.gone, tt.gone)
		}
	}
}

func TestLongValue(t *testing.T) {
	r := NewRedactor()
	long := strings.Repeat("0123456789abcdef", 200)
	redacted(r, asPost("Authorization: Bearer "+long+"\r\n", ""), "")
	_, got := redacted(r, "", asAnswer("", "["+long+"]"))
	if strings.Contains(got, "0123456789abcdef") {
		t.Errorf("left of a long value: %q", got)
	}
	if !strings.HasPrefix(got[strings.IndexByte(got, '['):], "[redactedxxx") {
		t.Errorf("the text around it: %q", got)
	}
}

func TestEditsAreRedacted(t *testing.T) {
	r := NewRedactor()
	for range 2 {
		x := &Exchange{
			Request: Side{Raw: []byte("GET http://h.example/?token=abcdefgh HTTP/1.1\r\nHost: h.example\r\n\r\n")},
			URL:     "http://h.example/?token=abcdefgh",
			Edits:   []Edit{{Off: 4, Len: 33, New: "/?token=abcdefgh"}, {Off: 50, Len: 9, New: "abcdefgh:8080"}},
		}
		r.Pass(x, [2]int{}, true)
		sameBytes(t, "URL", x.URL, "http://h.example/?token=redacted")
		sameBytes(t, "target", x.Edits[0].New, "/?token=redacted")
		sameBytes(t, "host", x.Edits[1].New, "abcdefgh:8080")
	}
}

// TestHoldsBack: what an unfinished exchange gives free.
func TestHoldsBack(t *testing.T) {
	sse := "HTTP/1.1 200 OK\r\n" + eventType + "\r\n"
	sseChunked := "HTTP/1.1 200 OK\r\n" + eventType + "Transfer-Encoding: chunked\r\n\r\n"
	text := "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
	long := strings.Repeat("some words, ", 5000)
	open := `{"access_token":"` + strings.Repeat("abcd", 10000)
	for _, tt := range []struct {
		name, resp string
		want       int
	}{
		{"half a head", "HTTP/1.1 200 OK\r\nX: y\r\n", 0},
		{"a head", sse, len(sse)},
		{"half an event", sse + "data: a\n", len(sse)},
		{"an event", sse + "data: a\n\n", len(sse) + 9},
		{"an event and half of one", sse + "data: a\r\n\r\n: b\r\n", len(sse) + 11},
		{"an event in a chunk", sseChunked + "9\r\ndata: a\n\n\r\n", len(sseChunked) + 14},
		{"an event in two chunks, half of one", sseChunked + "2\r\nda\r\n9\r\nta: a\n\nda\r\n", len(sseChunked) + 7 + 3 + 7},
		{"text", text + long, len(text) + len(long) - heldTail},
		{"a secret that goes on", text + long + open, len(text) + len(long) + strings.IndexByte(open, ':') + 2},
		{"a whole message", asAnswer("", "{}"), len(asAnswer("", "{}"))},
		{"a long head", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", headMost), 20 + headMost - heldTail},
		{"a long event", sse + "data: " + strings.Repeat("y ", heldMost/2+heldTail), len(sse) + 6 + heldMost + heldTail},
		{"a long secret", text + `{"access_token":"` + strings.Repeat("y", 2*heldMost), len(text) + 17 + 2*heldMost},
		{"a compressed body", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nabc", len("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n")},
		{"a long compressed body", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + strings.Repeat("y", heldMost+1), len("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n") + heldMost + 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := &Exchange{Request: Side{Raw: []byte(asPost("", "{}"))}, Response: Side{Raw: []byte(tt.resp)}}
			upTo := NewRedactor().Pass(x, [2]int{}, false)
			if want := [2]int{len(x.Request.Raw), tt.want}; upTo != want {
				t.Errorf("up to %v of %d, want %v", upTo, len(tt.resp), want)
			}
			if held := len(tt.resp) - upTo[1]; held > heldMost {
				t.Errorf("%d bytes are held back", held)
			}
		})
	}
}

// TestAnswerToHalfAHead: what answers a head that is still coming may hold its secrets.
func TestAnswerToHalfAHead(t *testing.T) {
	req, resp := asPost("Authorization: Bearer "+planted+"\r\n", "{}"), asAnswer("", "you are "+planted)
	r, x := NewRedactor(), &Exchange{Request: Side{Raw: []byte(req[:70])}, Response: Side{Raw: []byte(resp)}}
	from := r.Pass(x, [2]int{}, false)
	if from != [2]int{} {
		t.Errorf("up to %v of half a head and its answer", from)
	}
	x.Request.Raw = append(x.Request.Raw, req[70:]...)
	r.Pass(x, from, false)
	noSecret(t, "whole", planted, x.Request.Raw, x.Response.Raw)
}

// TestStream: a stream is given free event by event, and what was stored can be dropped.
func TestStream(t *testing.T) {
	for _, coding := range []string{"", "Transfer-Encoding: chunked\r\n"} {
		r := NewRedactor()
		x := &Exchange{Request: Side{Raw: []byte("GET / HTTP/1.1\r\nMcp-Session-Id: 0123456789ab\r\n\r\n")}}
		head := "HTTP/1.1 200 OK\r\n" + eventType + coding + "\r\n"
		var sent, stored strings.Builder
		var from, dropped [2]int
		listed := 0
		give := func(p string, final bool) {
			sent.WriteString(p)
			x.Response.Raw = append(x.Response.Raw, p...)
			upTo := r.Pass(x, from, final)
			stored.Write(x.Response.Raw[from[1]:upTo[1]])
			for _, rd := range x.Redacted {
				if rd.Dir == wire.ToClient {
					listed++
					sameBytes(t, "was", sent.String()[dropped[1]+rd.Off:][:rd.Len], "0123456789ab")
				}
			}
			x.Redacted = nil
			n := r.Drop(x)
			x.Request.Raw, x.Response.Raw = x.Request.Raw[n[0]:], x.Response.Raw[n[1]:]
			from = [2]int{upTo[0] - n[0], upTo[1] - n[1]}
			dropped[1] += n[1]
			if !final && len(x.Response.Raw) > 100 {
				t.Fatalf("%d bytes are kept", len(x.Response.Raw))
			}
		}
		give(head, false)
		for i := range 1000 {
			event := fmt.Sprintf("data: %d 0123456789ab\n\n", i)
			if coding != "" {
				event = fmt.Sprintf("%x\r\n%s\r\n", len(event), event)
			}
			give(event[:i%len(event)], false)
			give(event[i%len(event):], false)
			if stored.Len() != sent.Len() {
				t.Fatalf("event %d: %d of %d bytes are free", i, stored.Len(), sent.Len())
			}
		}
		give("", true)
		sameBytes(t, "stream", stored.String(), strings.ReplaceAll(sent.String(), "0123456789ab", "session-1xxx"))
		if listed != 1000 || len(r.open) != 0 {
			t.Errorf("%d ranges are listed, %d exchanges are open", listed, len(r.open))
		}
	}
}

// TestDropAtEveryCut: dropping changes nothing.
func TestDropAtEveryCut(t *testing.T) {
	for _, tt := range redactCases {
		if tt.uncut {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			whole, answer := redacted(NewRedactor(), tt.req, tt.resp)
			r, x := NewRedactor(), &Exchange{}
			var from [2]int
			var stored [2][]byte
			for i := range len(tt.req) + len(tt.resp) + 1 {
				if i < len(tt.req) {
					x.Request.Raw = append(x.Request.Raw, tt.req[i])
				} else if i < len(tt.req)+len(tt.resp) {
					x.Response.Raw = append(x.Response.Raw, tt.resp[i-len(tt.req)])
				}
				upTo := r.Pass(x, from, i == len(tt.req)+len(tt.resp))
				n := r.Drop(x)
				for d, s := range []*Side{&x.Request, &x.Response} {
					stored[d] = append(stored[d], s.Raw[from[d]:upTo[d]]...)
					s.Raw = s.Raw[n[d]:]
					from[d] = upTo[d] - n[d]
				}
			}
			sameBytes(t, "request", string(stored[0]), whole)
			sameBytes(t, "response", string(stored[1]), answer)
		})
	}
}

// TestCompressedStream: a compressed body is looked into whenever a MiB of it has come, and replaced from where a secret
// was found.
func TestCompressedStream(t *testing.T) {
	noise := make([]byte, 3*heldMost)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range noise {
		noise[i] = "0123456789abcdef \n"[rng.IntN(18)]
	}
	body := zipped(string(noise) + `{"access_token":"` + planted + `"}` + string(noise))
	head := "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"
	x := &Exchange{}
	x.Response.Raw = append(x.Response.Raw, head...)
	r, from := NewRedactor(), [2]int{}
	for at := 0; at < len(body); at += 300_000 {
		x.Response.Raw = append(x.Response.Raw, body[at:min(len(body), at+300_000)]...)
		from = r.Pass(x, from, false)
		if held := len(x.Response.Raw) - from[1]; held > heldMost {
			t.Fatalf("%d bytes are held back", held)
		}
		n := r.Drop(x)
		if n[1] > len(head) && !bytes.HasSuffix(x.Response.Raw, []byte("xxx")) {
			t.Fatalf("%d bytes are dropped before a secret was found", n[1])
		}
		x.Response.Raw, from[1] = x.Response.Raw[n[1]:], from[1]-n[1]
	}
	r.Pass(x, from, true)
	if !bytes.HasSuffix(x.Response.Raw, []byte("xxxxxxxx")) {
		t.Errorf("the body's end was not replaced: %q", x.Response.Raw[len(x.Response.Raw)-40:])
	}
	if n := len(x.Redacted); n == 0 || x.Redacted[n-1].Kind != "body-encoded" {
		t.Errorf("listed: %v", x.Redacted)
	}
}

// TestManyUnderWay: exchanges beyond those whose place is kept are read again from their beginning.
func TestManyUnderWay(t *testing.T) {
	r := NewRedactor()
	head := "HTTP/1.1 200 OK\r\n" + eventType + "\r\n"
	var open []*Exchange
	var from [][2]int
	for i := range underWay + 10 {
		x := &Exchange{Response: Side{Raw: fmt.Appendf(nil, "%sdata: %d\n\n", head, i)}}
		open, from = append(open, x), append(from, r.Pass(x, [2]int{}, false))
	}
	for i, x := range open {
		if n := r.Drop(x); (n[1] > 0) != (i < underWay) {
			t.Fatalf("%d bytes of exchange %d can be dropped", n[1], i)
		} else {
			x.Response.Raw, from[i][1] = x.Response.Raw[n[1]:], from[i][1]-n[1]
		}
		x.Response.Raw = append(x.Response.Raw, "data: {\"access_token\":\"abc\"}\n\n"...)
		r.Pass(x, from[i], true)
		if !bytes.HasSuffix(x.Response.Raw, []byte("\"red\"}\n\n")) {
			t.Fatalf("exchange %d: %q", i, x.Response.Raw)
		}
	}
	if len(r.open) > 0 {
		t.Errorf("%d exchanges are still open", len(r.open))
	}
}
