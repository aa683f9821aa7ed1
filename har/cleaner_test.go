package har

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// secretForms are ways in which a text with a secret in it can be written.
var secretForms = []struct {
	name  string
	write func(string) string
}{
	{"as it is", func(s string) string { return s }},
	{"in base64", func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }},
	{"in base64 behind a path", func(s string) string { return "/a/b2/" + base64.StdEncoding.EncodeToString([]byte(s)) }},
	{"in base64, shifted by one", func(s string) string { return base64.StdEncoding.EncodeToString([]byte("." + s)) }},
	{"in base64, shifted by two", func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte("\xff\xfe" + s)) }},
	{"in base64 in lines", func(s string) string {
		return wrapped(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("noise ", 15) + s + " and more noise")))
	}},
	{"in base64 twice", func(s string) string {
		return base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(s))))
	}},
	{"percent-encoded, every byte", func(s string) string { return percentAll(s) }},
	{"in base64, percent-encoded", func(s string) string { return percentUpper(base64.StdEncoding.EncodeToString([]byte(s + "?>~~"))) }},
	{"escaped for JSON, every byte", jsonAll},
	{"in JSON in JSON, every byte escaped", func(s string) string { return strings.ReplaceAll(jsonAll(s), `\`, `\\`) }},
	{"in JSON in base64", func(s string) string {
		return base64.StdEncoding.EncodeToString([]byte(`{"text":"` + jsonAll(s) + `"}`))
	}},
}

func wrapped(s string) string {
	var b strings.Builder
	for len(s) > 76 {
		b.WriteString(s[:76] + "\n")
		s = s[76:]
	}
	return b.String() + s
}

func percentAll(s string) (out string) {
	for i := range len(s) {
		out += fmt.Sprintf("%%%02X", s[i])
	}
	return out
}

func jsonAll(s string) (out string) {
	for i := range len(s) {
		out += fmt.Sprintf(`\u%04x`, s[i])
	}
	return out
}

// spelled gives the ways in which a secret must not stand in what is written.
func spelled(secret string) (list []string) {
	for _, f := range secretForms {
		switch {
		case f.name == "in base64 in lines", strings.Contains(f.name, "JSON in base64"), strings.Contains(f.name, "behind"), f.name == "in base64 twice":
		default:
			list = append(list, f.write(secret))
		}
	}
	for skip := range 3 { // in the middle of base64, whatever stands beside it
		list = append(list, base64.RawStdEncoding.EncodeToString([]byte(secret[skip:]))[:len(secret)-4])
	}
	return list
}

func noSpelling(t *testing.T, name, secret string, texts ...[]byte) {
	t.Helper()
	for _, s := range spelled(secret) {
		for _, text := range texts {
			if bytes.Contains(text, []byte(s)) {
				t.Errorf("%s: %q is in %q", name, s, text)
			}
		}
	}
}

func cassetteOf(exchanges ...[2]string) *Cassette {
	k := &Cassette{Header: Header{Mode: "reverse", KeepSecrets: true}}
	for i, e := range exchanges {
		x := &Exchange{N: i + 1, Conn: uint64(i + 1), Seq: 1, Request: whole([]byte(e[0]), 0), Response: whole([]byte(e[1]), 1), End: EndFIN, EndOff: len(e[1])}
		FillDerived(x, "http://h.example")
		k.Exchanges = append(k.Exchanges, x)
	}
	return k
}

// cleanedTwice cleans a recording, by a Cleaner that then finds nothing, and checks that another one changes nothing.
func cleanedTwice(t *testing.T, name string, k *Cassette, rules []Rule, strict bool) {
	t.Helper()
	c := NewCleaner(rules, strict)
	c.Clean(k)
	var again Cassette
	for _, x := range k.Exchanges {
		again.Exchanges = append(again.Exchanges, x.copied())
		if leaks := c.Left(x); len(leaks) > 0 {
			t.Errorf("%s: left: %v in %q, %q", name, leaks, x.Request.Raw, x.Response.Raw)
		}
		for _, side := range [][]byte{x.Request.Raw, x.Response.Raw} {
			if leaks := c.Known(side); len(leaks) > 0 {
				t.Errorf("%s: known: %v in %q", name, leaks, side)
			}
		}
		for d, side := range []*Side{&x.Request, &x.Response} {
			if len(side.Raw) > 0 && !side.adds() {
				t.Errorf("%s: the writes of side %d do not add up", name, d)
			}
		}
	}
	NewCleaner(rules, strict).Clean(&again)
	for i, x := range k.Exchanges {
		sameBytes(t, name+": request, twice", string(again.Exchanges[i].Request.Raw), string(x.Request.Raw))
		sameBytes(t, name+": response, twice", string(again.Exchanges[i].Response.Raw), string(x.Response.Raw))
		if !reflect.DeepEqual(again.Exchanges[i].Redacted, x.Redacted) {
			t.Errorf("%s: twice, it lists %v, once %v", name, again.Exchanges[i].Redacted, x.Redacted)
		}
	}
}

// Wherever a secret shows what it is, it is gone from the answer to an earlier request, in every form.
func TestCleanPlanted(t *testing.T) {
	for _, p := range plants {
		for _, f := range secretForms {
			name := p.name + "; " + f.name
			body, _ := json.Marshal(map[string]string{"echo": "x " + f.write(planted) + " y"})
			k := cassetteOf([2]string{asPost("", "{}"), asAnswer(jsonType, string(body))}, [2]string{p.req, p.resp})
			cleanedTwice(t, name, k, nil, false)
			for _, x := range k.Exchanges {
				noSpelling(t, name, planted, x.Request.Raw, x.Response.Raw)
			}
			if got := len(k.Exchanges[0].Response.Raw); got != len(asAnswer(jsonType, string(body))) {
				t.Errorf("%s: the length has changed", name)
			}
			if v := k.Exchanges[0].View(); !json.Valid(v.Response.Payload(k.Exchanges[0].Response.Raw)) {
				t.Errorf("%s: no JSON any more: %q", name, k.Exchanges[0].Response.Raw)
			}
		}
	}
}

// shaped are texts with secrets that nothing but the text tells of.
var shaped = []struct{ name, text, secret string }{
	{"bearer", "curl -H 'Authorization: Bearer " + planted + "'", planted},
	{"basic", "Authorization: Basic dTpwTDRudDNkLXMzY3JldC0wZg== please", "dTpwTDRudDNkLXMzY3JldC0wZg"},
	{"JWT", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJwNG50M2QifQ.c2lnbmF0dXJl is it", "eyJzdWIiOiJwNG50M2QifQ"},
	{"key", "the key is sk-" + "abcdefgh12345678 and so on", "abcdefgh12345678"},
	{"private key", "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEpAIBAAKCAQEAplanted\n-----END RSA PRIVATE KEY-----", "MIIEpAIBAAKCAQEAplanted"},
	{"URL", "see https://user:pL4nt3d-0f@h.example/x?access_token=" + planted, planted},
	{"member", `{"db":{"dbUser":"u","password": "pL4nt3d.word"}}`, "pL4nt3d.word"},
	{"member in camel case", `{"secretAccessKey":"pL4nt3d+word/x"}`, "pL4nt3d+word/x"},
	{"member of Python", `{'api_key': 'pL4nt3d.word'}`, "pL4nt3d.word"},
	{"variable", "PATH=/bin\nDB_PASSWORD=pL4nt3d.word\nHOME=/", "pL4nt3d.word"},
}

func TestCleanShapes(t *testing.T) {
	for _, s := range shaped {
		for _, f := range secretForms {
			name := s.name + "; " + f.name
			body, _ := json.Marshal(map[string]string{"text": f.write(s.text)})
			k := cassetteOf([2]string{asPost("", "{}"), asAnswer(jsonType, string(body))},
				[2]string{asPost("", "{}"), asChunked(jsonType, string(body), 5, len(body)/2, len(body)/2+3)})
			cleanedTwice(t, name, k, nil, false)
			for _, x := range k.Exchanges {
				noSpelling(t, name, s.secret, x.View().Response.Payload(x.Response.Raw))
			}
		}
	}
}

func TestCleanCompressed(t *testing.T) {
	text := `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"Bearer ` + planted + `"}],"filler":"` + strings.Repeat("0123456789 abc ", 60) + `"}}`
	for _, coding := range []string{"gzip", "deflate", "br", "zstd", "gzip, br"} {
		body, err := encodeContent(coding, nil, []byte(text), true)
		if err != nil {
			t.Fatal(err)
		}
		fields := jsonType + "Content-Encoding: " + coding + "\r\n"
		for name, resp := range map[string]string{
			"length":  asAnswer(fields, string(body)),
			"chunks":  asChunked(fields, string(body), 3, 20),
			"close":   "HTTP/1.1 200 OK\r\n" + fields + "\r\n" + string(body),
			"interim": "HTTP/1.1 103 Early Hints\r\n\r\n" + asAnswer(fields, string(body)),
		} {
			t.Run(coding+" by "+name, func(t *testing.T) {
				k := cassetteOf([2]string{asPost("", "{}"), resp})
				x := k.Exchanges[0]
				x.Response.Writes = []Write{{1, 10}, {2, len(resp) - 15}, {3, 5}}
				cleanedTwice(t, name, k, nil, false)
				v := x.View()
				got, err := v.ResponseBody()
				want := strings.Replace(text, planted, "redacted"+strings.Repeat("x", len(planted)-8), 1)
				if string(got) != want || err != nil || v.Complete != True || x.EndOff != len(x.Response.Raw) || v.ResponseTail.Len != 0 {
					t.Errorf("body %q, %v, complete %v, ended at %d of %d, tail %v", got, err, v.Complete, x.EndOff, len(x.Response.Raw), v.ResponseTail)
				}
				if n := len(x.Redacted); n != 1 || x.Redacted[0].Kind != "body-recoded" || len(x.Notes) != 1 || !strings.HasPrefix(x.Notes[0], "recoded: ") {
					t.Errorf("listed %v, notes %q", x.Redacted, x.Notes)
				}
				if w := x.Response.Writes; w[0] != (Write{1, 10}) || w[len(w)-1].At != 3 {
					t.Errorf("writes %v", w)
				}
			})
		}
	}
}

// A compressed body that was cut stays cut, and its secret is gone.
func TestCleanCompressedCut(t *testing.T) {
	noise := strings.Repeat("0123456789 abcdef ", 500)
	for _, coding := range []string{"gzip", "zstd"} {
		body, err := encodeContent(coding, nil, []byte(`{"access_token":"`+planted+`"}`+noise), true)
		if err != nil {
			t.Fatal(err)
		}
		fields := jsonType + "Content-Encoding: " + coding + "\r\n"
		for _, whole := range []string{asAnswer(fields, string(body)), asChunked(fields, string(body), 10, 40)} {
			k := cassetteOf([2]string{asPost("", "{}"), whole[:len(whole)-20]})
			cleanedTwice(t, coding, k, nil, false)
			x := k.Exchanges[0]
			got, _ := x.View().ResponseBody()
			noSpelling(t, coding, planted, got, x.Response.Raw)
			if x.View().Complete == True {
				t.Errorf("%s: complete", coding)
			}
		}
	}
}

func TestRules(t *testing.T) {
	for _, tt := range []struct{ rule, req, resp, secret string }{
		{"header:X-Foo", asPost("x-foo: pL4nt3d.here\r\n", "{}"), "", "pL4nt3d.here"},
		{"query:tenant", "GET /mcp?tenant=pL4nt3d.here&x=1 HTTP/1.1\r\n\r\n", "", "pL4nt3d.here"},
		{"query:tenant", asPost(formType, "tenant=pL4nt3d.here"), "", "pL4nt3d.here"},
		{"member:street_name", asPost("", `{"a":[{"streetName":"pL4nt3d here"}]}`), "", "pL4nt3d here"},
		{"member:age", asPost("", `{"a":[{"age": 4711}]}`), "", "4711"},
		{"json:/params/street", asPost("", `{"params":{"street":"pL4nt3d \"here\""}}`), "", "pL4nt3d"},
		{"json:/params/*/x", asPost("", `[{"params":[{"x":{"y":["pL4nt3d.here"]}}]}]`), "", "pL4nt3d.here"},
		{"json:/result/text", asPost("", "{}"), "HTTP/1.1 200 OK\r\n" + eventType + "\r\ndata: {\"a\":1,\ndata: \"result\":{\"text\":\"pL4nt3d.here\"}}\n\n", "pL4nt3d.here"},
		{"text:Project Falcon", asPost("", `{"a":"Project Falcon"}`), "", "Falcon"},
		{"text:Project Falcon", asPost("", `{"a":"`+base64.StdEncoding.EncodeToString([]byte("our Project Falcon"))+`"}`), "", "Falcon"},
		{`regexp:CUST-\d+`, "GET /CUST-4711 HTTP/1.1\r\n\r\n", "", "CUST-4711"},
		{`regexp:customer=(\d+)`, asPost("", `customer=4711`), "", "4711"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			r, err := ParseRule(tt.rule)
			if err != nil {
				t.Fatal(err)
			}
			k := cassetteOf([2]string{tt.req, tt.resp})
			cleanedTwice(t, tt.rule, k, []Rule{r}, false)
			x := k.Exchanges[0]
			noSecret(t, tt.rule, tt.secret, x.Request.Raw, x.Response.Raw)
			if len(x.Request.Raw) != len(tt.req) || len(x.Response.Raw) != len(tt.resp) {
				t.Error("lengths have changed")
			}
			if len(x.Redacted) != 1 || x.Redacted[0].Kind != "rule" {
				t.Errorf("listed: %v", x.Redacted)
			}
		})
	}
}

func TestParseRule(t *testing.T) {
	for _, tt := range []struct{ rule, want string }{
		{"X-Foo", "want KIND:WHAT"},
		{"heder:X-Foo", "want KIND:WHAT"},
		{"header:", "want KIND:WHAT"},
		{"header:content-length", "never altered"},
		{"json:params", "begins with /"},
		{"text:ab", "at least 3"},
		{"regexp:(", "missing closing"},
		{"regexp:x*", "everywhere"},
	} {
		if _, err := ParseRule(tt.rule); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.rule, err, tt.want)
		}
	}
	rules, err := ParseRules("# mine\r\n\r\nheader:X-Foo\r\ntext:a b c\n")
	if len(rules) != 2 || err != nil || rules[1].text != "text:a b c" {
		t.Errorf("%v, %v", rules, err)
	}
	if _, err := ParseRules("\nmember:a\nx\n"); err == nil || !strings.HasPrefix(err.Error(), "line 3: ") {
		t.Errorf("%v, want line 3", err)
	}
}

func TestCleanStrict(t *testing.T) {
	req := "POST /mcp HTTP/1.1\r\nHost: mcp.corp-x.io:8080\r\nOrigin: https://app.corp-x.io\r\nContent-Length: %d\r\n\r\n%s"
	body := `{"a":"jane.doe@corp-x.io and JANE at /home/jane/x, C:\\Users\\jane\\y","b":"10.1.2.3:80 is mcp.corp-x.io, not 127.0.0.1 nor fe80::1c2d:3","c":"see https://json-schema.org/draft me@example.com 1.2.3"}`
	k := cassetteOf([2]string{fmt.Sprintf(req, len(body), body), asAnswer("Location: http://mcp.corp-x.io/2\r\n", "")})
	x := k.Exchanges[0]
	x.URL, x.Client, x.Server = "http://mcp.corp-x.io:8080/mcp", "10.1.2.3:5000", "mcp.corp-x.io:8080"
	k.Header.To = x.URL
	cleanedTwice(t, "strict", k, nil, true)
	text := string(x.Request.Raw) + string(x.Response.Raw) + x.URL + x.Client + x.Server + k.Header.To
	for _, left := range []string{"corp-x", "jane", "10.1.2.3", "1c2d"} {
		if strings.Contains(text, left) {
			t.Errorf("%s is left in %q", left, text)
		}
	}
	for _, kept := range []string{"127.0.0.1", "json-schema.org", "me@example.com", "1.2.3\""} {
		if !strings.Contains(text, kept) {
			t.Errorf("%s is gone from %q", kept, text)
		}
	}
	v := x.View()
	name := v.Request.Get("Host")
	if x.URL != "http://"+name+"/mcp" || x.Server != name || k.Header.To != x.URL || !strings.HasPrefix(name, "host-") || v.Response.Get("Location") != "http://"+strings.TrimSuffix(name, ":8080")+"/2" {
		t.Errorf("one host has several names: Host %s, URL %s, server %s, to %s, Location %s", name, x.URL, x.Server, k.Header.To, v.Response.Get("Location"))
	}
	if !json.Valid(v.RequestBody()) || len(x.Request.Raw) != len(fmt.Sprintf(req, len(body), body)) {
		t.Errorf("no JSON of the same length: %q", x.Request.Raw)
	}
}

// FuzzClean: whatever the bytes, cleaning twice changes nothing, and the writes add up.
func FuzzClean(f *testing.F) {
	for _, tt := range redactCases {
		f.Add([]byte(tt.req), []byte(tt.resp), false)
	}
	for _, s := range shaped {
		for _, form := range secretForms {
			f.Add([]byte(asPost("", form.write(s.text))), []byte(asAnswer("", s.text)), true)
		}
	}
	rules, err := ParseRules("json:/params/*\nmember:x\nquery:x\nheader:x-foo\nregexp:CUST-\\d+")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, req, resp []byte, strict bool) {
		c := NewCleaner(rules, strict)
		k := cassetteOf([2]string{string(req), string(resp)})
		c.Clean(k)
		x := k.Exchanges[0]
		if len(x.Request.Raw)+len(x.Response.Raw) > 0 && !(x.Request.adds() && x.Response.adds()) {
			t.Errorf("writes do not add up: %v, %v", x.Request, x.Response)
		}
		if _, err := check(x, extent{}); err != nil {
			t.Error(err)
		}
	})
}
