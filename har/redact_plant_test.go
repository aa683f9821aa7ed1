package har

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
)

// planted is the secret of these tests.
const planted = "pL4nt3d-s3cret_0f.the~day"

// plants are places and forms in which a secret reaches an exchange. The secret stands in them as planted.
var plants = []struct{ name, req, resp string }{
	{"authorization", asPost("Authorization: Bearer "+planted+"\r\n", "{}"), ""},
	{"authorization in lower case", asPost("authorization: bearer "+planted+"\r\n", "{}"), ""},
	{"authorization in upper case", asPost("AUTHORIZATION: BEARER "+planted+"\r\n", "{}"), ""},
	{"authorization, folded", asPost("Authorization: Bearer\r\n "+planted+"\r\n", "{}"), ""},
	{"authorization, no scheme", asPost("Authorization: "+planted+"\r\n", "{}"), ""},
	{"proxy authorization", "CONNECT h.example:443 HTTP/1.1\r\nProxy-Authorization: Basic " + planted + "\r\n\r\n", "HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n"},
	{"api key", asPost("x-api-key: "+planted+"\r\n", "{}"), ""},
	{"a token field of its own", asPost("X-Example-Token: "+planted+"\r\n", "{}"), ""},
	{"cookie", asPost("Cookie: a=b; sid="+planted+"; c=d\r\n", "{}"), ""},
	{"set-cookie", asPost("", "{}"), asAnswer("Set-Cookie: sid="+planted+"; Path=/\r\n", "{}")},
	{"query", "GET /mcp?access_token=" + planted + "&x=1 HTTP/1.1\r\n\r\n", ""},
	{"query, its name encoded", "GET /mcp?Access%5FToken=" + planted + "&x=1 HTTP/1.1\r\n\r\n", ""},
	{"query, its name encoded to the end", "GET /mcp?x=1&%61pi_ke%79=" + planted + " HTTP/1.1\r\n\r\n", ""},
	{"query, all of its name encoded", "GET /mcp?%63%6F%64%65=" + planted + " HTTP/1.1\r\n\r\n", ""},
	{"proof of possession", asPost("DPoP: "+planted+"\r\n", "{}"), ""},
	{"fragment", "GET /mcp#access_token=" + planted + " HTTP/1.1\r\n\r\n", ""},
	{"userinfo", "GET http://u:" + planted + "@h.example/ HTTP/1.1\r\n\r\n", ""},
	{"userinfo in a location", asPost("", "{}"), asAnswer("Location: https://"+planted+"@h.example/\r\n", "")},
	{"query in a location", asPost("", "{}"), asAnswer("Location: https://h.example/cb?code="+planted+"&state=1\r\n", "")},
	{"form", asPost(formType, "grant_type=refresh_token&refresh_token="+planted), ""},
	{"first field of a form", asPost(formType, "code="+planted+"&grant_type=authorization_code"), ""},
	{"JSON", asPost("", "{}"), asAnswer(jsonType, `{"token_type":"Bearer","access_token":"`+planted+`"}`)},
	{"form, its name encoded", asPost(formType, "client%5fsecret="+planted+"&a=b"), ""},
	{"form, a password", asPost(formType, "grant_type=password&username=u&password="+planted), ""},
	{"JSON, its name escaped", asPost("", "{}"), asAnswer(jsonType, `{"a":"\u00e9","access\u005ftoken":"`+planted+`"}`)},
	{"JSON, all of its name escaped", asPost("", "{}"), asAnswer(jsonType, `{"\u0069\u0064\u005F\u0074\u006f\u006b\u0065\u006E" : "`+planted+`"}`)},
	{"JSON within JSON, its name escaped", asPost("", "{}"), asAnswer(jsonType, `{"text":"{\"client\\u005fsecret\": \"`+planted+`\"}"}`)},
	{"JSON, a password grant", asPost(jsonType, `{"grant_type":"password","password":"`+planted+`"}`), ""},
	{"JSON, a grant with escaped names", asPost(jsonType, `{"grant\u005ftype":"password","pass\u0077ord":"`+planted+`"}`), ""},
	{"JSON, a grant with a key", asPost(jsonType, `{"apiKey":"`+planted+`","grant_type":"client_credentials"}`), ""},
	{"JSON, pretty", asPost("", "{}"), asAnswer(jsonType, "{\n  \"access_token\" :\n    \""+planted+"\"\n}")},
	{"JSON within JSON", asPost("", "{}"), asAnswer(jsonType, `{"text":"{\"client_secret\": \"`+planted+`\"}"}`)},
	{"an event", asPost("", "{}"), "HTTP/1.1 200 OK\r\n" + eventType + "\r\ndata: {\"id_token\":\"" + planted + "\"}\n\n"},
	{"an event in two lines", asPost("", "{}"), "HTTP/1.1 200 OK\r\n" + eventType + "\r\ndata: {\"id_token\":\ndata: \"" + planted + "\"}\n\n"},
	{"an event in a stream that is cut", asPost("", "{}"), "HTTP/1.1 200 OK\r\n" + eventType + "\r\ndata: {\"id_token\":\"" + planted},
	{"text", asPost("", "{}"), asAnswer("Content-Type: text/plain\r\n", "use Bearer "+planted+", please")},
	{"trailer", asPost("", "{}"), "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Api-Key: " + planted + "\r\n\r\n"},
	{"trailer of a request", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Api-Key: " + planted + "\r\n\r\n", ""},
	{"interim response", asPost("", "{}"), "HTTP/1.1 103 Early Hints\r\nSet-Cookie: a=" + planted + "\r\n\r\n" + asAnswer("", "")},
	{"behind the end", asPost("", "{}"), asAnswer("", "{}") + "Bearer " + planted},
	{"a head behind the end", asPost("", "{}") + "GET / HTTP/1.1\r\nX-Api-Key: " + planted + "\r\n\r\n", ""},
	{"a tunnel", asPost("Upgrade: x\r\n", ""), "HTTP/1.1 101 Switching\r\n\r\n{\"access_token\":\"" + planted + "\"}"},
	{"a head that is cut", "GET / HTTP/1.1\r\nAuthorization: Bearer " + planted, ""},
	{"no HTTP", "{\"access_token\":\"" + planted + "\"}", ""},
	{"conflicting lengths", "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{\"access_token\":\"" + planted + "\"}", ""},
	{"a malformed chunk", asPost("", "{}"), "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{\"access_token\":\"" + planted + "\"}"},
	{"session", asPost("Mcp-Session-Id: "+planted+"\r\n", "{}"), ""},
	{"session of an endpoint", "GET /sse HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\n" + eventType + "\r\nevent: endpoint\ndata: /m?sessionId=" + planted + "\n\n"},
}

// echoes are places in which it comes back, in this exchange or in a later one.
var echoes = []struct{ name, req, resp string }{
	{"echoed in a body", asPost("", "{}"), asAnswer(jsonType, `{"echo":"<`+planted+`>"}`)},
	{"echoed in a field", asPost("", "{}"), asAnswer("X-Echo: 1 "+planted+" 2\r\n", "")},
	{"echoed in a path", "GET /x/" + planted + "/y HTTP/1.1\r\n\r\n", ""},
	{"echoed in a reason", asPost("", "{}"), "HTTP/1.1 401 " + planted + "\r\nContent-Length: 0\r\n\r\n"},
	{"echoed in an event", asPost("", "{}"), "HTTP/1.1 200 OK\r\n" + eventType + "\r\n: " + planted + "\ndata: " + planted + "\n\n"},
	{"echoed behind the end", asPost("", "{}"), asAnswer("", "") + "" + planted + planted},
	{"echoed in a form", asPost(formType, "a="+planted+"&b="+planted), ""},
}

// everyPlant calls f with each plant, alone and followed by each echo.
func everyPlant(f func(name string, exchanges [][2]string)) {
	for _, p := range plants {
		first := [2]string{p.req, p.resp}
		f(p.name, [][2]string{first})
		for _, e := range echoes {
			f(p.name+", "+e.name, [][2]string{first, {e.req, e.resp}})
		}
	}
}

func TestPlantedSecretsAreGone(t *testing.T) {
	everyPlant(func(name string, exchanges [][2]string) {
		r := NewRedactor()
		for _, e := range exchanges {
			x := &Exchange{Request: Side{Raw: []byte(e[0])}, Response: Side{Raw: []byte(e[1])}}
			r.Pass(x, [2]int{}, true)
			noSecret(t, name, planted, x.Request.Raw, x.Response.Raw)
			checkListed(t, x, e[0], e[1])
			sameStructure(t, x, e[0], e[1])
		}
	})
}

// TestPlantedSecretsAtEveryCut: however an exchange grows from call to call, nothing of the secret is given free.
func TestPlantedSecretsAtEveryCut(t *testing.T) {
	for _, p := range plants {
		for cut := range len(p.req) + len(p.resp) {
			_, stored := grow(t, NewRedactor(), p.req, p.resp, cut)
			noSecret(t, fmt.Sprintf("%s, cut at byte %d", p.name, cut), planted, stored[0], stored[1])
		}
	}
	r := NewRedactor()
	r.Pass(&Exchange{Request: Side{Raw: []byte(asPost("X-Api-Key: "+planted+"\r\n", "{}"))}}, [2]int{}, true)
	for _, e := range echoes {
		for cut := range len(e.req) + len(e.resp) {
			_, stored := grow(t, r, e.req, e.resp, cut)
			noSecret(t, fmt.Sprintf("%s, cut at byte %d", e.name, cut), planted, stored[0], stored[1])
		}
	}
}

func noSecret(t *testing.T, name, secret string, texts ...[]byte) {
	t.Helper()
	for _, text := range texts {
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("%s: the secret is in %q", name, text)
		}
	}
}

// TestPlantedSecretsInChunks cuts the response's body into chunks at every place, and into chunks of one byte.
func TestPlantedSecretsInChunks(t *testing.T) {
	for _, p := range plants {
		head, body, ok := strings.Cut(p.resp, "\r\n\r\n")
		at := strings.Index(body, planted)
		if !ok || at < 0 || strings.Contains(head, "chunked") || strings.Contains(head, " 101 ") || strings.Contains(head, "103") || strings.Contains(p.name, "behind") {
			continue
		}
		var fields []string
		for _, f := range strings.SplitAfter(head+"\r\n", "\r\n")[1:] {
			if !strings.HasPrefix(f, "Content-Length:") {
				fields = append(fields, f)
			}
		}
		for cut := at; cut <= at+len(planted); cut++ {
			checkChunks(t, fmt.Sprintf("%s, chunk at byte %d", p.name, cut), p.req, strings.Join(fields, ""), body, cut)
		}
		checkChunks(t, p.name+", byte by byte", p.req, strings.Join(fields, ""), body, every(len(body))...)
	}
}

func checkChunks(t *testing.T, name, req, fields, body string, cuts ...int) {
	t.Helper()
	resp := asChunked(fields, body, cuts...)
	x := &Exchange{Request: Side{Raw: []byte(req)}, Response: Side{Raw: []byte(resp)}}
	NewRedactor().Pass(x, [2]int{}, true)
	v := x.View()
	noSecret(t, name, planted, v.Response.Payload(x.Response.Raw))
	checkListed(t, x, req, resp)
	sameStructure(t, x, req, resp)
}

func TestCompressedBodies(t *testing.T) {
	noise := strings.Repeat("0123456789 abcdef ", 500)
	for _, tt := range []struct {
		name, coding, req, body string
		whole                   bool // replaced
	}{
		{"a secret", "gzip", asPost("", "{}"), zipped(`{"access_token":"` + planted + `"}`), true},
		{"an echo", "gzip", asPost("X-Api-Key: "+planted+"\r\n", "{}"), zipped("you are " + planted), true},
		{"an event in two lines", "gzip", asPost("", "{}"), zipped("data: {\"id_token\":\ndata: \"" + planted + "\"}\n\n"), true},
		{"behind much text", "GZIP", asPost("", "{}"), zipped(noise + planted + `{"access_token":"x"}`), true},
		{"no secret", "gzip", asPost("X-Api-Key: "+planted+"\r\n", "{}"), zipped(noise), false},
		{"cut", "gzip", asPost("", "{}"), zipped(`{"access_token":"` + planted + `"}` + noise)[:60], true},
		{"not gzip", "gzip", asPost("", "{}"), "no gzip at all, no secret", false},
		{"no known coding", "x-unknown", asPost("", "{}"), "nothing to be read here", false},
		{"identity", "identity", asPost("", "{}"), `{"a":"b","c":"no secret"}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fields := eventType + "Content-Encoding: " + tt.coding + "\r\n"
			for _, resp := range []string{asAnswer(fields, tt.body), asChunked(fields, tt.body, 3, 20), "HTTP/1.1 200 OK\r\n" + fields + "\r\n" + tt.body} {
				x := &Exchange{Request: Side{Raw: []byte(tt.req)}, Response: Side{Raw: []byte(resp)}}
				NewRedactor().Pass(x, [2]int{}, true)
				body, had := x.View().Response.Payload(x.Response.Raw), tt.body
				if tt.whole {
					had = "redacted" + strings.Repeat("x", len(had)-len("redacted"))
				}
				sameBytes(t, "body", string(body), had)
				if n := len(x.Redacted); (n > 0 && x.Redacted[n-1].Kind == "body-encoded") != tt.whole {
					t.Errorf("listed: %v", x.Redacted)
				}
				checkListed(t, x, tt.req, resp)
				for cut := len(tt.req); cut < len(tt.req)+len(resp); cut += 7 {
					_, stored := grow(t, NewRedactor(), tt.req, resp, cut)
					sameBytes(t, fmt.Sprintf("cut at byte %d", cut), string(stored[1]), string(x.Response.Raw))
				}
			}
		})
	}
}

func zipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	fmt.Fprint(w, s)
	w.Close()
	return b.String()
}
