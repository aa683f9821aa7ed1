package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
)

// A planting makes a recording with secrets in it, each in its own place and form.
type planting struct {
	k       har.Cassette
	secrets map[string]string // by place
}

// secret makes the secret of a place.
func (p *planting) secret(place string) string {
	s := fmt.Sprintf("Q%02dz.pL4nt3d-%02dx~s3cret", len(p.secrets), 97-len(p.secrets))
	p.secrets[place] = s
	return s
}

func (p *planting) exchange(req, resp string) *har.Exchange {
	n := len(p.k.Exchanges) + 1
	x := &har.Exchange{N: n, Conn: uint64(n), Seq: 1, Started: time.Date(2026, 11, 1, 10, 0, n, 0, time.UTC), Client: "127.0.0.1:5000", Server: "127.0.0.1:80", End: har.EndFIN}
	for _, s := range []struct {
		side *har.Side
		raw  string
	}{{&x.Request, req}, {&x.Response, resp}} {
		if s.raw != "" {
			*s.side = har.Side{Raw: []byte(s.raw), Writes: []har.Write{{At: time.Millisecond, Len: len(s.raw)}}}
		}
	}
	x.EndOff = len(resp)
	har.FillDerived(x, "http://127.0.0.1:80")
	p.k.Exchanges = append(p.k.Exchanges, x)
	return x
}

const plainCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{}}}`

func message(start, fields, body string) string {
	return fmt.Sprintf("%s\r\n%sContent-Length: %d\r\n\r\n%s", start, fields, len(body), body)
}

// request and response plant in fields and bodies of a call.
func (p *planting) request(fields, body string) {
	p.exchange(message("POST /mcp HTTP/1.1", "Host: 127.0.0.1\r\nContent-Type: application/json\r\n"+fields, body), message("HTTP/1.1 202 Accepted", "", ""))
}

func (p *planting) response(fields, body string) {
	p.exchange(message("POST /mcp HTTP/1.1", "Host: 127.0.0.1\r\n", plainCall), message("HTTP/1.1 200 OK", fields, body))
}

const jsonField = "Content-Type: application/json\r\n"

// tool is the answer of a tool with that text.
func tool(text string) string {
	return `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + text + `"}]}}`
}

func base(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func everyEscaped(s, format string) (out string) {
	for i := range len(s) {
		out += fmt.Sprintf(format, s[i])
	}
	return out
}

// packers compress a body.
var packers = map[string]func(*testing.T, string) string{
	"deflate": func(t *testing.T, s string) string { var b bytes.Buffer; return packed(t, &b, zlib.NewWriter(&b), s) },
	"gzip":    func(t *testing.T, s string) string { var b bytes.Buffer; return packed(t, &b, gzip.NewWriter(&b), s) },
}

func packed(t *testing.T, b *bytes.Buffer, w io.WriteCloser, s string) string {
	t.Helper()
	if _, err := io.WriteString(w, s); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// plant makes the recording.
func plant(t *testing.T) *planting {
	t.Helper()
	p := &planting{secrets: map[string]string{}}
	s := p.secret
	// Values that come before what tells that they are secret, in all forms.
	known := s("an API key, before it is known")
	p.response(jsonField, tool("you are "+known))
	p.response(jsonField, tool(base("<"+known+">")))
	p.response(jsonField, tool(base("1234"+base("<<"+known))))
	p.response(jsonField, tool(everyEscaped(known, "%%%02x")))
	p.response(jsonField, tool(everyEscaped(known, `\u%04x`)))
	p.response(jsonField, tool(everyEscaped(known, `\\u%04X`)))
	p.exchange("GET /x/"+known+" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", message("HTTP/1.1 404 "+known, "X-Echo: "+known+"\r\n", ""))
	p.request("X-Api-Key: "+known+"\r\n", plainCall)
	// Fields.
	p.request("Authorization: Bearer "+s("bearer")+"\r\n", plainCall)
	p.request("Authorization: Basic "+base("user:"+s("basic"))+"\r\n", plainCall)
	p.request("Proxy-Authorization: Bearer "+s("proxy")+"\r\n", plainCall)
	p.request("Cookie: a=1; sid="+s("cookie")+"\r\n", plainCall)
	p.response(jsonField+"Set-Cookie: sid="+s("set-cookie")+"; Path=/\r\n", tool(""))
	p.request("X-Vendor-Token: "+s("a token field")+"\r\n", plainCall)
	p.request("Mcp-Session-Id: "+s("session")+"\r\n", plainCall)
	// URLs.
	p.exchange("GET /mcp?access_token="+s("query")+" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", message("HTTP/1.1 405 No", "", ""))
	p.response("Location: https://h.example/cb?code="+s("location")+"\r\n", "")
	p.response(jsonField, tool("https://user:"+s("userinfo")+"@h.example/"))
	// Bodies.
	p.exchange(message("POST /token HTTP/1.1", "Host: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n",
		"grant_type=password&username=u&password="+s("form")), message("HTTP/1.1 200 OK", jsonField, `{"access_token":"`+s("OAuth")+`"}`))
	p.request("", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"login","arguments":{"password":"`+s("an argument")+`"}}}`)
	p.response(jsonField, tool(`{\"client_secret\": \"`+s("JSON in JSON")+`\"}`))
	p.response(jsonField, tool(base(`{"apiKey":"`+s("JSON in base64")+`"}`)))
	p.response(jsonField, tool("curl -H 'Authorization: Bearer "+s("bearer in text")+"'"))
	p.response(jsonField, tool("Authorization: Basic "+base("user:"+s("basic in text"))))
	p.response(jsonField, tool(`PATH=/bin\nDB_PASSWORD=`+s("a variable")+`\n`))
	jwt := base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"` + s("JWT") + `"}`))
	p.response(jsonField, tool("it is eyJhbGciOiJIUzI1NiJ9."+jwt+".c2lnbmF0dXJl"))
	p.response(jsonField, tool("-----BEGIN "+"PRIVATE KEY-----\\nMIIE"+s("private key")+"\\n-----END PRIVATE KEY-----"))
	p.response(jsonField, tool("sk-"+"proj-"+strings.NewReplacer(".", "", "~", "").Replace(s("provider's key"))))
	// Framing.
	e := `data: {"id_token":"` + s("an event") + "\"}\n\n"
	p.response("Content-Type: text/event-stream\r\n", e)
	e = "data: {\"id_token\":\ndata: \"" + s("an event in two lines") + "\"}\n\n"
	p.response("Content-Type: text/event-stream\r\n", e)
	body := `{"access_token":"` + s("chunks") + `"}`
	chunks := ""
	for _, c := range []string{body[:20], body[20:23], body[23:]} {
		chunks += fmt.Sprintf("%x\r\n%s\r\n", len(c), c)
	}
	p.exchange(message("POST /mcp HTTP/1.1", "", plainCall), "HTTP/1.1 200 OK\r\n"+jsonField+"Transfer-Encoding: chunked\r\n\r\n"+chunks+"0\r\nX-Auth-Token: "+s("trailer")+"\r\n\r\n")
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	fmt.Fprint(w, tool("Bearer "+s("gzip")+strings.Repeat(" and so on", 50)))
	w.Close()
	p.response(jsonField+"Content-Encoding: gzip\r\n", packed.String())
	raw := `{"refresh_token":"` + s("zstd, cut") + `","x":"` + strings.Repeat("abc 123 ", 9) + `"}`
	z := "\x28\xB5\x2F\xFD\x20" + string([]byte{byte(len(raw)), byte(len(raw)<<3 | 1), byte(len(raw) >> 5), 0}) + raw // one block, not compressed
	torn := message("HTTP/1.1 200 OK", jsonField+"Content-Encoding: zstd\r\n", z)
	x := p.exchange(message("POST /mcp HTTP/1.1", "", plainCall), torn[:len(torn)-9])
	x.End = har.EndRST
	p.exchange(message("POST /mcp HTTP/1.1", "", plainCall), "HTTP/1.1 103 Early\r\nSet-Cookie: a="+s("interim")+"\r\n\r\n"+message("HTTP/1.1 200 OK", jsonField, tool("")))
	p.exchange("GET /mcp HTTP/1.1\r\nAuthorization: Bearer "+s("a head that is cut"), "")
	// What repeats a value that is known, where it frames or names something.
	named := s("a name and an id")
	p.request("X-API-KEY: "+named+"\r\nMcp-Name: "+named+"\r\nLast-Event-ID: 1-"+named+"\r\nX-"+strings.ReplaceAll(named, ":", "")+": 1\r\n", plainCall)
	p.request("x-api-key:"+s("a field in small letters")+"\r\nAUTHORIZATION: bearer "+s("a field in capitals")+"\r\n", plainCall)
	p.exchange("GET http://u:"+s("an absolute target")+"@h.example/mcp HTTP/1.1\r\nHost: "+named+".example\r\n\r\n", message("HTTP/1.1 404 No", "", ""))
	p.exchange("GET /mcp/"+named+"/sse#"+url.QueryEscape(named)+" HTTP/1.1\r\nHost: h\r\n\r\n", message("HTTP/1.1 404 No", "", ""))
	p.exchange(message("POST /mcp HTTP/1.1", "", plainCall), "HTTP/1.1 200 OK\r\n"+jsonField+"Transfer-Encoding: chunked\r\n\r\n2;x="+named+"\r\n{}\r\n0\r\n\r\n")
	p.exchange(message("POST /mcp HTTP/1.1", "", plainCall), message("HTTP/1.1 200 OK", jsonField, tool(""))+"behind it "+named)
	p.exchange(message("POST /mcp HTTP/1.1", "", plainCall), named)
	p.response("WWW-Authenticate: Bearer resource_metadata=\"https://h.example/?token="+s("a challenge")+"\"\r\n", "")
	p.response("Link: <https://h.example/?api_key="+s("a link")+">; rel=next\r\n", "")
	p.response("Content-Type: text/html\r\n", "<input type=hidden value=\""+html.EscapeString(named)+"\">")
	for coding, pack := range packers {
		p.response(jsonField+"Content-Encoding: "+coding+"\r\n", pack(t, tool("Bearer "+s("whole "+coding)+strings.Repeat(" and so on", 50))))
		b := pack(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"password":"`+s("a request in "+coding)+`"}}}`)
		p.request(jsonField+"Content-Encoding: "+coding+"\r\n", b)
	}
	p.more()
	// Beside the bytes.
	p.k.Header = har.Header{Tool: "test", Mode: "reverse", KeepSecrets: true, Started: p.k.Exchanges[0].Started, To: "http://127.0.0.1/mcp?api_key=" + s("--to")}
	p.k.Header.Servers = []har.Server{{Name: "one", To: "http://u:" + s("--to of several") + "@127.0.0.1/"}}
	p.k.Exchanges[0].Name = "one"
	p.k.Exchanges[0].Notes = []string{"upstream: tried https://u:" + s("a note") + "@h.example/"}
	first := p.k.Exchanges[0]
	first.Edits = []har.Edit{{Off: bytes.Index(first.Request.Raw, []byte("127.")), Len: 9, New: "h.example?token=" + s("an edit")}}
	p.k.End = &har.End{At: p.k.Header.Started, Error: "no Bearer " + s("an end line")}
	p.k.Processes = []*har.Process{{Conn: 99, Started: p.k.Header.Started, Command: []string{"server", "--api-key", s("a command line")},
		Stderr: har.Side{Raw: []byte("token=x TOKEN=" + s("stderr") + "\n"), Writes: nil}}}
	return p
}

// forms are ways in which a secret must not stand in anything that is written.
func forms(secret string) (list []string) {
	list = []string{secret, url.QueryEscape(secret), everyEscaped(secret, "%%%02x"), everyEscaped(secret, "%%%02X"), everyEscaped(secret, `\u%04x`),
		everyEscaped(secret, `\u%04X`), everyEscaped(secret, `\\u%04x`), strings.NewReplacer(".", "", "~", "").Replace(secret), plain(secret), strings.ToUpper(plain(secret))}
	for skip := range 3 {
		chars := base64.RawURLEncoding.EncodeToString([]byte(secret[skip:]))
		list = append(list, chars[:len(chars)-3])
	}
	return list
}

// unfolded gives all that stands in what a command wrote: files, those packed in them, and bodies that are compressed.
func unfolded(t *testing.T, files map[string][]byte) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for name, b := range files {
		out[name] = b
		if z, err := zip.NewReader(bytes.NewReader(b), int64(len(b))); err == nil {
			inner := map[string][]byte{}
			for _, f := range z.File {
				r, err := f.Open()
				if err != nil {
					t.Fatal(err)
				}
				inner[name+"/"+f.Name], _ = io.ReadAll(r)
			}
			for n, b := range unfolded(t, inner) {
				out[n] = b
			}
		}
		k, err := har.Read(bytes.NewReader(b), har.Limits{})
		if err != nil {
			continue
		}
		for _, x := range k.Exchanges {
			v := x.View()
			body, _ := v.ResponseBody()
			at := fmt.Sprintf("%s, exchange %d", name, x.N)
			out[at+", answer"], out[at+", request"], out[at+", body"] = x.Response.Raw, x.Request.Raw, body
			if v.Response != nil {
				out[at+", payload"] = v.Response.Payload(x.Response.Raw)
			}
		}
		lines, _, closer, err := unpacked(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if out[name+", lines"], err = io.ReadAll(lines); err != nil {
			t.Fatal(err)
		}
		closer()
	}
	return out
}

// runs runs a command in a folder of its own and gives what it wrote, stdout and stderr included.
func runs(t *testing.T, want int, stdin string, args ...string) map[string][]byte {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(args, strings.NewReader(stdin), &stdout, &stderr, nil); code != want {
		t.Fatalf("%v: exit code %d, want %d\n%s", args, code, want, stderr.String())
	}
	return map[string][]byte{strings.Join(args[:1], " ") + " stdout": stdout.Bytes(), args[0] + " stderr": stderr.Bytes()}
}

func isPacked(place string) bool {
	for coding := range packers {
		if strings.Contains(place, coding) || strings.Contains(place, "zstd") {
			return true
		}
	}
	return false
}

// No secret is in anything that redact, share and import write, whatever its place and form.
func TestNothingPlantedIsWritten(t *testing.T) {
	p := plant(t)
	if len(p.secrets) < 30 {
		t.Fatalf("%d places", len(p.secrets))
	}
	dir := t.TempDir()
	in := filepath.Join(dir, "in.mcptap")
	var b bytes.Buffer
	if err := writeCassette(&b, &p.k, false); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	if err := writeCassette(&lines, &p.k, true); err != nil {
		t.Fatal(err)
	}
	out := func(name string) string { return filepath.Join(dir, "out-"+name) }
	files := map[string][]byte{}
	for _, args := range [][]string{
		{"redact", in, "--out", out("redacted.mcptap")},
		{"redact", in, "--out", out("strict.mcptap"), "--strict"},
		{"redact", in, "--dry-run"},
		{"share", in, "--out", out("shared.zip")},
		{"share", in, "--text"},
		{"import", "-", "--out", out("imported.mcptap")},
		{"corpus", "add", in, "--name", "planted", "--story", "x", "--out", out("case.mcptap")},
		{"har", out("redacted.mcptap"), "--out", out("redacted.har")},
		{"export", out("redacted.mcptap"), "--format", "perfetto", "--out", out("redacted.trace.json")},
		{"export", out("redacted.mcptap"), "--format", "otlp-json", "--out", out("redacted.otlp.json")},
		{"analyze", out("redacted.mcptap"), "--format", "html", "--fail-on", "never", "--out", out("redacted.html")},
		{"analyze", out("redacted.mcptap"), "--format", "markdown", "--fail-on", "never", "--out", out("redacted.md")},
	} {
		stdin := ""
		if args[0] == "import" {
			stdin = pasteable(lines.Bytes())
		}
		for name, text := range runs(t, 0, stdin, args...) {
			files[name+fmt.Sprint(len(files))] = text
		}
	}
	names, err := filepath.Glob(out("*"))
	if err != nil || len(names) != 10 {
		t.Fatalf("%v, %v", names, err)
	}
	for _, name := range names {
		if files[name], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	all := unfolded(t, files)
	for place, secret := range p.secrets {
		seen := false
		for _, form := range forms(secret) {
			seen = seen || bytes.Contains(lines.Bytes(), []byte(form)) || isPacked(place)
			for name, text := range all {
				if bytes.Contains(text, []byte(form)) {
					t.Errorf("%s: %q is in %s", place, form, name)
				}
			}
		}
		if !seen && place != "chunks" && !strings.Contains(place, "base64") && !strings.Contains(place, "JWT") && !strings.Contains(place, "basic") {
			t.Errorf("%s: it was not planted", place)
		}
	}
}
