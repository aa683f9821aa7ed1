package corpus

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/har"
)

// A client is how one client writes its requests, copied from the bytes of the released packages.
type client struct {
	info      string // clientInfo
	caps      string // capabilities
	agent     string // User-Agent: Node's own fetch says "node", the undici package "undici"
	acceptGET string // the field's name on GET
	ownLast   bool   // session and version come behind Accept and Content-Type, version first
	notify    string // how notifications/initialized is written
}

var (
	// hostApp uses @modelcontextprotocol/client 2.4.0 in mode auto.
	hostApp = client{info: `{"name":"example-host","version":"3.1.0"}`, caps: `{}`, agent: "node", acceptGET: "accept",
		notify: `{"jsonrpc":"2.0","method":"notifications/initialized"}`}
	// qwen is qwen-code 0.24.4: client 2.x, mode legacy.
	qwen = client{info: `{"name":"qwen-cli-mcp-client-tracker","version":"0.0.1"}`, agent: "undici", acceptGET: "accept", ownLast: true,
		caps:   `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}},"roots":{}}`,
		notify: `{"jsonrpc":"2.0","method":"notifications/initialized"}`}
	// gateway pools clients of @modelcontextprotocol/sdk 1.32.2.
	gateway = client{info: `{"name":"example-gateway","version":"0.9.2"}`, caps: `{}`, agent: "node", acceptGET: "Accept",
		notify: `{"method":"notifications/initialized","jsonrpc":"2.0"}`}
)

const modern = "2026-07-28"

// head writes a request's head: own are the session's fields, media those of Accept and Content-Type, extra stand behind
// User-Agent; length < 0 is none.
func (s *scene) head(method, path string, own []string, media, extra string, length int) string {
	var mine strings.Builder
	for _, field := range own {
		mine.WriteString(field + "\r\n")
	}
	first, second := mine.String(), media
	if s.client.ownLast {
		first, second = second, first
	}
	_, host, _ := strings.Cut(s.origin, "://")
	h := method + " " + path + " HTTP/1.1\r\nhost: " + host + "\r\nconnection: keep-alive\r\n" + first + second +
		"accept-language: *\r\nsec-fetch-mode: cors\r\nuser-agent: " + s.client.agent + "\r\n" + extra + "accept-encoding: gzip, deflate\r\n"
	if length >= 0 {
		h += "content-length: " + strconv.Itoa(length) + "\r\n"
	}
	return h + "\r\n"
}

// own gives the session's fields in this client's order.
func (s *scene) own() (lines []string) {
	if s.session != "" {
		lines = append(lines, "mcp-session-id: "+s.session)
	}
	if s.version != "" {
		lines = append(lines, "mcp-protocol-version: "+s.version)
	}
	if s.client.ownLast && len(lines) == 2 {
		lines[0], lines[1] = lines[1], lines[0]
	}
	return lines
}

// post sends one JSON-RPC message.
func (s *scene) post(own []string, body string, a answer) *har.Exchange {
	both := "content-type: application/json\r\naccept: application/json, text/event-stream\r\n"
	if s.client.ownLast {
		both = "accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n"
	}
	return s.exchange("POST", s.path, s.head("POST", s.path, own, both, "", len(body))+body, a)
}

// meta is what every request of revision 2026-07-28 carries.
func (s *scene) meta() string {
	return `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + modern + `","io.modelcontextprotocol/clientInfo":` + s.client.info +
		`,"io.modelcontextprotocol/clientCapabilities":` + s.client.caps + `}`
}

// probe asks server/discover before anything else.
func (s *scene) probe(a answer) {
	s.probes++
	s.post([]string{"mcp-protocol-version: " + modern, "mcp-method: server/discover"},
		fmt.Sprintf(`{"jsonrpc":"2.0","id":"server-discover-probe-%d","method":"server/discover","params":{%s}}`, s.probes, s.meta()), a)
}

// initialize begins a 2025 session; with a good answer the session and version are in use from now on.
func (s *scene) initialize(a answer) {
	s.session, s.version, s.ids = "", "", 1
	if s.next() != "" {
		a = a.with("mcp-session-id: $SESSION\r\n")
	}
	x := s.post(nil, s.initializeBody(), a)
	if x.Status == 200 {
		s.session, s.version = s.next(), "2025-11-25"
		s.sessions = s.sessions[min(1, len(s.sessions)):]
	}
}

func (s *scene) initializeBody() string {
	return `{"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` + s.client.caps +
		`,"clientInfo":` + s.client.info + `},"jsonrpc":"2.0","id":0}`
}

func (s *scene) initialized() { s.post(s.own(), s.client.notify, accepted()) }

// get asks for the GET stream. One that opens stays beside the requests that follow.
func (s *scene) get(a answer) *har.Exchange {
	accept := s.client.acceptGET + ": text/event-stream\r\n"
	x := s.exchange("GET", s.path, s.head("GET", s.path, s.own(), accept, "", -1), a)
	if x.Status == 200 && a.open {
		s.stream, s.line = s.line, nil
	}
	return x
}

// del ends the session.
func (s *scene) del(a answer) {
	s.exchange("DELETE", s.path, s.head("DELETE", s.path, s.own(), "accept: */*\r\n", "", -1), a)
}

// ask sends a request of the era in use; params is without its braces.
func (s *scene) ask(method, params string, a answer) {
	own := s.own()
	if s.version == modern {
		own = []string{"mcp-protocol-version: " + modern, "mcp-method: " + method}
		if name, isCall := strings.CutPrefix(params, `"name":"`); isCall {
			own = append(own, "mcp-name: "+name[:strings.IndexByte(name, '"')])
			params += ","
		}
		params += s.meta()
	}
	s.post(own, s.request(method, params), a)
}

// request writes a request under the next id.
func (s *scene) request(method, params string) string {
	s.ids++
	return fmt.Sprintf(`{"method":%q,"params":{%s},"jsonrpc":"2.0","id":%d}`, method, params, s.ids-1)
}

// openStream begins a session of the HTTP+SSE transport (revision 2024-11-05): a GET stream whose first event names where to post.
func (s *scene) openStream() {
	s.session, s.version, s.ids, s.entrance = "", "", 1, "/sse"
	id := s.next()
	s.sessions = s.sessions[1:]
	a := stream("event: endpoint\r\ndata: /messages/?session_id=" + id + "\r\n\r\n").with("connection: keep-alive\r\nx-accel-buffering: no\r\n")
	a.open = true
	s.exchange("GET", "/sse", s.head("GET", "/sse", nil, "Accept: text/event-stream\r\n", "pragma: no-cache\r\ncache-control: no-cache\r\n", -1), a)
	s.stream, s.line = s.line, nil
	s.path = "/messages/?session_id=" + id
}

// closeStream leaves the session of an open GET stream.
func (s *scene) closeStream() {
	x := s.stream.last
	x.End, x.EndOff, x.EndAt = har.EndClientFIN, len(x.Response.Raw), start.Add(s.now).Sub(x.Started)
	s.stream = nil
	s.now += s.jitter(2 * time.Millisecond)
}

// postSSE sends one message of the HTTP+SSE transport; event, unless empty, comes on the stream a little later.
func (s *scene) postSSE(body string, a answer, event string) {
	var own []string
	if s.version != "" {
		own = []string{"mcp-protocol-version: " + s.version}
	}
	id := rawID("\r\n\r\n" + body)
	s.exchange("POST", s.path, s.head("POST", s.path, own, "content-type: application/json\r\naccept: */*\r\n", "", len(body))+body, a)
	if event != "" {
		g := s.stream.last
		add(&g.Response, start.Add(s.now).Sub(g.Started), chunk("event: message\r\ndata: "+strings.ReplaceAll(event, "$ID", id)+"\r\n\r\n"))
		s.now += s.jitter(2 * time.Millisecond)
	}
}

// initializeSSE is the handshake of the HTTP+SSE transport on an open stream.
func (s *scene) initializeSSE() {
	s.postSSE(s.initializeBody(), acceptedText(), result(`{"protocolVersion":"2024-11-05","capabilities":{"tools":{"listChanged":false}},"serverInfo":{"name":"tracker","version":"1.2.0"}}`))
	s.version = "2024-11-05"
	s.postSSE(s.client.notify, acceptedText(), "")
}

// askSSE sends a request over HTTP+SSE.
func (s *scene) askSSE(method, params string, a answer, event string) {
	s.postSSE(s.request(method, params), a, event)
}

func acceptedText() answer { return reply("202 Accepted", "text/plain; charset=utf-8", "Accepted") }
