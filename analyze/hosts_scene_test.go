package analyze

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
)

//go:embed testdata/hosts.json
var hostsFile []byte

// measuredHosts is what hosts and bridges did against a scripted server; testdata/hosts/main.go writes it.
type measuredHosts struct {
	Cases    []*hostCase            `json:"cases"`
	Profiles map[string]hostProfile `json:"profiles"`
	Runs     []*hostRun             `json:"runs"`
	byCase   map[string]*hostCase
}

// A hostCase is what the server answered, by the class of the request.
type hostCase struct {
	Name      string                `json:"name"`
	Group     string                `json:"group"`
	Base      string                `json:"base"`
	Transport string                `json:"transport"`
	Caps      json.RawMessage       `json:"caps"`
	Scripts   map[string][]hostStep `json:"scripts"`
	Expired   []hostStep            `json:"expiredScript"`
}

// A hostStep writes bytes, waits, or ends the connection.
type hostStep struct {
	Head     bool   `json:"head"`
	W        string `json:"w"`
	Chunk    string `json:"chunk"`
	ChunkEnd bool   `json:"chunkEnd"`
	MS       int    `json:"ms"`
	End      string `json:"end"`
	ToStream string `json:"toSse"`
}

// A hostProfile is how a host writes its requests.
type hostProfile struct {
	Info         json.RawMessage        `json:"clientInfo"`
	Capabilities json.RawMessage        `json:"capabilities"`
	Agents       []string               `json:"userAgent"`
	First        map[string]hostWriting `json:"first"`
}

type hostWriting struct {
	Head    []string `json:"head"`
	Members []string `json:"members"`
	Params  []string `json:"params"`
	Accept  string   `json:"accept"`
}

// A hostRun is what one host did in one case.
type hostRun struct {
	Host      string   `json:"host"`
	Case      string   `json:"case"`
	Connected bool     `json:"connected"`
	Tools     bool     `json:"tools"`
	Calls     string   `json:"calls"`
	Lines     []string `json:"requests"`
}

// A hostRequest is one line of a run.
type hostRequest struct {
	class, id, session, version, header, script, path string
	t                                                 time.Duration
	conn                                              int
}

var hostsMeasured = sync.OnceValue(func() *measuredHosts {
	m := &measuredHosts{byCase: map[string]*hostCase{}}
	if err := json.Unmarshal(hostsFile, m); err != nil {
		panic(err)
	}
	for _, c := range m.Cases {
		m.byCase[c.Name] = c
	}
	return m
})

func (r *hostRun) requests(t testing.TB) []hostRequest {
	t.Helper()
	var out []hostRequest
	for _, line := range r.Lines {
		f := append(strings.Fields(line), slices.Repeat([]string{"-"}, 9)...)
		ms, err1 := strconv.Atoi(f[1])
		conn, err2 := strconv.Atoi(f[2])
		if err1 != nil || err2 != nil {
			t.Fatalf("%s %s: %q: want class, milliseconds, connection", r.Host, r.Case, line)
		}
		for i := range f {
			if f[i] == "-" {
				f[i] = ""
			}
		}
		out = append(out, hostRequest{f[0], f[3], f[4], f[5], f[6], f[7], f[8], time.Duration(ms) * time.Millisecond, conn})
	}
	return out
}

// exchanges gives the run as it would have been recorded.
func (r *hostRun) exchanges(t testing.TB) []*har.Exchange {
	t.Helper()
	m := hostsMeasured()
	s := &hostServer{c: m.byCase[r.Case], profile: m.Profiles[r.Host], base: "http://127.0.0.1:8080", run: r}
	for _, q := range r.requests(t) {
		s.take(q)
	}
	last := 2 * time.Second
	if len(s.out) > 0 {
		last += s.out[len(s.out)-1].Started.Sub(s.out[0].Started)
	}
	for _, x := range s.out {
		if x.End == har.EndClientFIN {
			x.EndAt, x.EndOff = last-x.Started.Sub(s.out[0].Started), len(x.Response.Raw)
		}
	}
	return s.out
}

// A hostServer answers the requests of one run as its case says.
type hostServer struct {
	c        *hostCase
	profile  hostProfile
	run      *hostRun
	base     string
	sessions int
	stream   *har.Exchange // the open stream of HTTP+SSE
	location string        // of the redirect that the last answer was
	seq      map[int]int
	out      []*har.Exchange
}

func (s *hostServer) take(q hostRequest) {
	if q.class == "initialize" {
		s.sessions++
	}
	if s.seq == nil {
		s.seq = map[int]int{}
	}
	s.seq[q.conn]++
	raw, method, url := s.request(q)
	x := &har.Exchange{
		N: len(s.out) + 1, Conn: uint64(q.conn), Seq: s.seq[q.conn], Client: "127.0.0.1:50000", Server: "127.0.0.1:8080", Method: method, URL: url,
		Started: time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC).Add(q.t),
		Request: har.Side{Raw: raw, Writes: []har.Write{{At: 0, Len: len(raw)}}}, End: har.EndKeep,
	}
	s.out = append(s.out, x)
	s.answer(x, q)
	_, after, _ := strings.Cut(string(x.Response.Raw), "Location: ")
	s.location, _, _ = strings.Cut(after, "\r\n")
}

// answer plays the script that the request met.
func (s *hostServer) answer(x *har.Exchange, q hostRequest) {
	script := s.script(q)
	id := q.id
	if id == "" {
		id = "null"
	}
	fill := strings.NewReplacer("{{id}}", id, "{{sid}}", fmt.Sprintf("sess-%d", s.sessions), "{{pv}}", q.version, "{{base}}", s.base)
	body := 0
	for _, p := range script {
		if !p.Head {
			body += len(fill.Replace(p.W))
		}
	}
	at := time.Millisecond
	for _, p := range script {
		at += time.Duration(p.MS) * time.Millisecond
		text := strings.ReplaceAll(fill.Replace(p.W), "{{len}}", strconv.Itoa(body))
		switch {
		case p.ToStream != "" && s.stream != nil:
			write(s.stream, x.Started.Add(at).Sub(s.stream.Started), chunked(fill.Replace(p.ToStream)))
		case p.Chunk != "":
			text = chunked(fill.Replace(p.Chunk))
		case p.ChunkEnd:
			text = "0\r\n\r\n"
		case p.End == "rst":
			x.End, x.EndAt, x.EndOff = har.EndRST, at, len(x.Response.Raw)
		case p.End == "fin":
			x.End, x.EndAt, x.EndOff = har.EndFIN, at, len(x.Response.Raw)
		case p.End == "hang":
			x.End = har.EndClientFIN
			if q.class == "GET" && s.c.Transport == "sse" {
				s.stream = x
			}
		}
		if text != "" {
			write(x, at, text)
		}
	}
}

func chunked(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }

func write(x *har.Exchange, at time.Duration, text string) {
	x.Response.Raw = append(x.Response.Raw, text...)
	x.Response.Writes = append(x.Response.Writes, har.Write{At: at, Len: len(text)})
}

func (s *hostServer) script(q hostRequest) []hostStep {
	switch {
	case q.script == "expired":
		return s.c.Expired
	case q.script != "":
		return s.c.Scripts[q.script]
	case s.c.Transport == "sse":
		return s.overStream(q.class)
	}
	capabilities := string(s.c.Caps)
	if capabilities == "" {
		capabilities = `{"tools":{},"prompts":{},"resources":{}}`
	}
	lists, isModern := "", ""
	if modern(q.header) {
		lists, isModern = `,"ttlMs":0,"cacheScope":"private"`, `"resultType":"complete",`
	}
	switch q.class {
	case "server/discover":
		if s.c.Base == "legacy" {
			return whole200(failure("{{id}}", -32601, noMethod))
		}
		return whole200(success("{{id}}", `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":`+capabilities+`,"ttlMs":0,"cacheScope":"private"}`))
	case "initialize":
		return whole200(success("{{id}}", `{"protocolVersion":"{{pv}}","capabilities":`+capabilities+`,"serverInfo":{"name":"example-server","version":"1.0.0"}}`), "Mcp-Session-Id: {{sid}}\r\n")
	case "tools/list":
		return whole200(success("{{id}}", `{`+isModern+`"tools":[{"name":"echo","inputSchema":{"type":"object"}}]`+lists+`}`))
	case "prompts/list":
		return whole200(success("{{id}}", `{`+isModern+`"prompts":[{"name":"p1"}]`+lists+`}`))
	case "resources/list":
		return whole200(success("{{id}}", `{`+isModern+`"resources":[{"uri":"test://r1","name":"r1"}]`+lists+`}`))
	case "tools/call":
		return whole200(success("{{id}}", `{`+isModern+`"content":[{"type":"text","text":"pong"}]}`))
	case "ping":
		return whole200(success("{{id}}", `{}`))
	case "GET", "GET-RESUME":
		return []hostStep{{W: "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n"}}
	case "WELLKNOWN", "HEAD", "POST":
		return []hostStep{{W: "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"}}
	case "DELETE":
		return []hostStep{{W: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"}}
	}
	return []hostStep{{W: "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"}}
}

func whole200(body string, fields ...string) []hostStep {
	return []hostStep{{Head: true, W: "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + strings.Join(fields, "") + "Content-Length: {{len}}\r\n\r\n"}, {W: body}}
}

// overStream answers a message of HTTP+SSE on the stream.
func (s *hostServer) overStream(class string) []hostStep {
	accepted := hostStep{W: "HTTP/1.1 202 Accepted\r\nContent-Length: 8\r\n\r\nAccepted"}
	reply := func(result string) []hostStep {
		return []hostStep{accepted, {MS: 5, ToStream: event(success("{{id}}", result))}}
	}
	switch class {
	case "GET":
		return []hostStep{
			{W: "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"},
			{Chunk: "event: endpoint\ndata: /message?sessionId=abc\n\n"}, {End: "hang"},
		}
	case "initialize":
		return reply(`{"protocolVersion":"2024-11-05","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"example-server","version":"1.0.0"}}`)
	case "tools/list":
		return reply(`{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`)
	case "prompts/list", "resources/list", "resources/templates/list":
		return reply(`{"prompts":[],"resources":[],"resourceTemplates":[]}`)
	case "tools/call":
		return reply(`{"content":[{"type":"text","text":"pong"}]}`)
	case "ping":
		return reply(`{}`)
	case "DELETE":
		return []hostStep{{W: "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n"}}
	case "WELLKNOWN", "HEAD", "POST":
		return []hostStep{{W: "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"}}
	}
	if strings.HasPrefix(class, "notifications/") {
		return []hostStep{accepted}
	}
	return []hostStep{accepted, {MS: 5, ToStream: event(failure("{{id}}", -32601, noMethod))}}
}

// request writes a request as the host does: its fields and members in their order.
func (s *hostServer) request(q hostRequest) (raw []byte, method, url string) {
	method, path := "POST", "/mcp"
	switch q.class {
	case "GET", "DELETE", "HEAD":
		method = q.class
	case "GET-RESUME", "WELLKNOWN":
		method = "GET"
	}
	if s.c.Transport == "sse" {
		path = "/sse"
		if method == "POST" && !strings.HasSuffix(q.script, "@/sse") {
			path = "/message?sessionId=abc"
		}
	}
	if q.path != "" && q.class != "HEAD" {
		path = q.path
	}
	if s.location != "" && len(s.out) > 0 && strings.Contains(string(s.out[len(s.out)-1].Request.Raw), strconv.Quote(q.class)) {
		path = s.location
	}
	body := ""
	if method == "POST" && q.class != "POST" {
		body = s.body(q)
	}
	w := s.writing(q.class)
	if q.session != "" && !slices.ContainsFunc(w.Head, func(name string) bool { return strings.EqualFold(name, "mcp-session-id") }) {
		w.Head = append(slices.Clone(w.Head), "mcp-session-id") // the one request of its class in the profile was sent without
	}
	head := method + " " + path + " HTTP/1.1\r\n"
	for _, name := range w.Head {
		if value := s.field(strings.ToLower(name), q, w, body); value != "" {
			head += name + ": " + value + "\r\n"
		}
	}
	return []byte(head + "\r\n" + body), method, s.base + path
}

// writing gives how the host writes requests of a class, or of the nearest one that was seen.
func (s *hostServer) writing(class string) hostWriting {
	similar := map[string][]string{"GET-RESUME": {"GET"}, "HEAD": {"GET"}, "POST": {"initialize"}, "WELLKNOWN": {"GET"}, "ping": {"tools/list"}, "notifications/cancelled": {"notifications/initialized"}, "DELETE": {"GET"}, "prompts/list": {"tools/list"}, "resources/list": {"tools/list"}, "tools/call": {"tools/list"}, "GET": {"initialize"}}
	for _, name := range append([]string{class}, append(similar[class], "initialize")...) {
		if w, ok := s.profile.First[name]; ok {
			return w
		}
	}
	return hostWriting{Head: []string{"host"}}
}

func (s *hostServer) field(name string, q hostRequest, w hostWriting, body string) string {
	switch name {
	case "host":
		return "127.0.0.1:8080"
	case "accept":
		if q.session != "" && q.class == "GET" {
			return strings.Replace(w.Accept, "application/json, ", "", 1)
		}
		return w.Accept
	case "user-agent":
		if q.class == "WELLKNOWN" {
			return s.profile.Agents[len(s.profile.Agents)-1]
		}
		return s.profile.Agents[0]
	case "content-type":
		return "application/json"
	case "content-length":
		if body == "" {
			return ""
		}
		return strconv.Itoa(len(body))
	case "mcp-session-id":
		return q.session
	case "mcp-protocol-version":
		return q.header
	case "mcp-method":
		return q.class
	case "connection":
		return "keep-alive"
	case "accept-language":
		return "*"
	case "sec-fetch-mode":
		return "cors"
	case "accept-encoding":
		return "gzip, deflate"
	}
	return ""
}

// body writes the message with its members in the host's order.
func (s *hostServer) body(q hostRequest) string {
	w := s.writing(q.class)
	if q.class == "initialize" && s.sessions > 1 && strings.HasPrefix(s.run.Host, "mcp-remote") {
		w.Members = []string{"jsonrpc", "id", "method", "params"}
	}
	var members []string
	for _, m := range w.Members {
		value := map[string]string{"jsonrpc": `"2.0"`, "method": strconv.Quote(q.class), "id": q.id, "params": s.params(q, w)}[m]
		if value != "" {
			members = append(members, strconv.Quote(m)+":"+value)
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

func (s *hostServer) info(q hostRequest) string {
	if s.sessions > 1 && strings.HasPrefix(s.run.Host, "mcp-remote") {
		return `{"name":"lab-host (via mcp-remote 0.15.1)","version":"1.0.0"}`
	}
	if q.class == "server/discover" && strings.HasPrefix(s.run.Host, "mcp-remote") {
		return `{"name":"lab-host","version":"1.0.0"}`
	}
	return strings.Replace(string(s.profile.Info), "l-plain", s.c.Name, 1)
}

func (s *hostServer) params(q hostRequest, w hostWriting) string {
	var members []string
	for _, m := range w.Params {
		value := map[string]string{
			"protocolVersion": strconv.Quote(q.version), "capabilities": string(s.profile.Capabilities), "clientInfo": s.info(q),
			"name": `"echo"`, "arguments": `{"text":"ping"}`, "requestId": "2", "reason": `"AbortError"`, "_meta": `{"progressToken":1}`,
		}[m]
		if q.class == "server/discover" {
			value = `{"io.modelcontextprotocol/protocolVersion":` + strconv.Quote(q.version) + `,"io.modelcontextprotocol/clientInfo":` + s.info(q) + `,"io.modelcontextprotocol/clientCapabilities":{}}`
		}
		members = append(members, strconv.Quote(m)+":"+value)
	}
	if modern(q.header) && q.class != "server/discover" {
		members = append(members, `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":`+s.info(q)+`}`)
	}
	return "{" + strings.Join(members, ",") + "}"
}
