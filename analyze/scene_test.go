package analyze

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
)

// A step is one exchange of a test scene as raw bytes: a request and what came back.
type step struct {
	req, resp string
	end       har.Ending // "": keep
	wait      time.Duration
	note      string
	late      int // of the response, bytes that came after the client had left
	url       string
	server    string // "": mcp.example.test:80
	client    string
}

func (s step) ends(e har.Ending) step     { s.end = e; return s }
func (s step) after(d time.Duration) step { s.wait = d; return s }
func (s step) noted(note string) step     { s.note = note; return s }
func (s step) from(client string) step    { s.client = client; return s }
func (s step) tooLate() step              { s.late = len(s.resp); s.end = har.EndClientFIN; return s }
func (s step) to(url string) step {
	s.url = url
	s.req = strings.Replace(s.req, "/mcp", pathOf(url), 1)
	return s
}
func pathOf(url string) string                  { return url[len("http://mcp.example.test"):] }
func post(body string, fields ...string) string { return message1("POST", body, fields) }

func message1(method, body string, fields []string) string {
	head := method + " /mcp HTTP/1.1\r\nhost: mcp.example.test\r\naccept: application/json, text/event-stream\r\ncontent-type: application/json\r\n"
	return head + strings.Join(fields, "") + fmt.Sprintf("content-length: %d\r\n\r\n", len(body)) + body
}

func get(fields ...string) string {
	return "GET /mcp HTTP/1.1\r\nhost: mcp.example.test\r\naccept: text/event-stream\r\n" + strings.Join(fields, "") + "\r\n"
}

func del() string {
	return "DELETE /mcp HTTP/1.1\r\nhost: mcp.example.test\r\n" + session + "\r\n"
}

const (
	session    = "mcp-session-id: 0123456789abcdef\r\n"
	v2025      = "mcp-protocol-version: 2025-11-25\r\n"
	v2026      = "mcp-protocol-version: 2026-07-28\r\n"
	clientInfo = `{"name":"example-host","version":"3.1.0"}`
	meta       = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":` + clientInfo + `,"io.modelcontextprotocol/clientCapabilities":{}}`
)

// answer writes a response with a declared length.
func answer(status, mediaType, body string, fields ...string) string {
	head := "HTTP/1.1 " + status + "\r\n"
	if mediaType != "" {
		head += "content-type: " + mediaType + "\r\n"
	}
	return head + strings.Join(fields, "") + fmt.Sprintf("content-length: %d\r\n\r\n", len(body)) + body
}

func js(status, body string, fields ...string) string {
	return answer(status, "application/json", body, fields...)
}

// sse writes an event stream that ends with its last chunk.
func sse(events string) string { return open(events) + "0\r\n\r\n" }

// open writes an event stream that goes on.
func open(events string) string {
	head := "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
	if events == "" {
		return head
	}
	return head + fmt.Sprintf("%x\r\n%s\r\n", len(events), events)
}

func event(data string) string { return "event: message\ndata: " + data + "\n\n" }

// probing is the n-th probe of the TypeScript client.
func probing(n int, resp string) step {
	return probingAs(fmt.Sprintf(`"server-discover-probe-%d"`, n), resp)
}

func probingAs(id, resp string) step {
	return step{req: post(`{"jsonrpc":"2.0","id":`+id+`,"method":"server/discover","params":{`+meta+`}}`, v2026), resp: resp}
}

const probe1 = `"server-discover-probe-1"`

func discovered(id, versions string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":{"resultType":"complete","supportedVersions":` + versions + `,"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}}`
}

func failure(id string, code int, message string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, code, message)
}

func unsupported(id, data string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32022,"message":"Unsupported protocol version"` + data + `}}`
}

func success(id, inner string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":` + inner + `}`
}

const initResult = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"example-server","version":"1.2.0"}}`

func initializing(resp string) step {
	return step{req: post(`{"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":` + clientInfo + `},"jsonrpc":"2.0","id":0}`), resp: resp}
}

func initialized1(resp string) step {
	return step{req: post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, session, v2025), resp: resp}
}

func calling(method string, id int, resp string) step {
	return step{req: post(fmt.Sprintf(`{"method":%q,"params":{},"jsonrpc":"2.0","id":%d}`, method, id), session, v2025), resp: resp}
}

func callingBare(method string, id int, resp string) step {
	return step{req: post(fmt.Sprintf(`{"method":%q,"params":{},"jsonrpc":"2.0","id":%d}`, method, id), v2025), resp: resp}
}

func callingModern(method string, id int, resp string) step {
	return step{req: post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{`+meta+`}}`, id, method), v2026), resp: resp}
}

func notifying(body, resp string) step { return step{req: post(body, session, v2025), resp: resp} }

// handshake connects in the legacy era, with a session.
func handshake() []step {
	return []step{
		initializing(js("200 OK", success("0", initResult), session)),
		initialized1(answer("202 Accepted", "", "")),
	}
}

// stateless connects in the legacy era to a server that issues no session.
func stateless() []step {
	return []step{
		initializing(js("200 OK", success("0", initResult))),
		{req: post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, v2025), resp: answer("202 Accepted", "", "")},
	}
}

// httpSSE opens the stream of HTTP+SSE, which answers the requests with the given events.
func httpSSE(events string) step {
	s := step{req: get(), resp: open("event: endpoint\ndata: /messages?sessionId=abc\n\n" + events), end: har.EndClientFIN}
	return s.to(sseURL)
}

// oauthPast is a challenge that names metadata at the server's own address, for a client that asked at host.
func oauthPast(host string) step {
	s := initializing(answer("401 Unauthorized", "", "", "www-authenticate: Bearer resource_metadata=\"http://mcp.example.test/.well-known/oauth-protected-resource\"\r\n"))
	s.req = strings.Replace(s.req, "mcp.example.test", host, 1)
	return s
}

// pastDoor is a stream whose endpoint event has the server's own address, for a client that asked at host.
func pastDoor(host string) step {
	s := step{req: get(), resp: open("event: endpoint\ndata: " + messagesURL + "\n\n"), end: har.EndClientFIN}.to(sseURL)
	s.req = strings.Replace(s.req, "mcp.example.test", host, 1)
	return s
}

const (
	endpointURL = "http://mcp.example.test/mcp"
	sseURL      = "http://mcp.example.test/sse"
	messagesURL = "http://mcp.example.test/messages?sessionId=abc"
)

func overMessages(s step) step {
	s.url = messagesURL
	s.req = strings.Replace(strings.Replace(s.req, "/mcp", "/messages?sessionId=abc", 1), session, "", 1)
	return s
}

// exchanges lays a scene out in time: each request comes when the response before it is over, on the same connection as
// long as that goes on. Streams that the client ends last until the end of the scene.
func exchanges(scene []step) []*har.Exchange {
	at := time.Date(2026, 10, 5, 9, 0, 0, 0, time.UTC)
	conn, seq := uint64(1), 0
	var out []*har.Exchange
	for i, s := range scene {
		seq++
		wait := s.wait
		if wait == 0 {
			wait = 10 * time.Millisecond
		}
		url := s.url
		if url == "" {
			url = endpointURL
		}
		method, _, _ := strings.Cut(s.req, " ")
		server := s.server
		if server == "" {
			server = "mcp.example.test:80"
		}
		client := s.client
		if client == "" {
			client = "127.0.0.1"
		}
		x := &har.Exchange{
			N: i + 1, Conn: conn, Seq: seq, Started: at, Client: client + ":50000", Server: server, Method: method, URL: url,
			Request: har.Side{Raw: []byte(s.req), Writes: []har.Write{{At: 0, Len: len(s.req)}}}, End: har.EndKeep,
		}
		if s.resp != "" {
			x.Response = har.Side{Raw: []byte(s.resp), Writes: []har.Write{{At: wait, Len: len(s.resp)}}}
		}
		if s.end == har.EndClientFIN && strings.Contains(s.resp, "event: endpoint") {
			x.Response.Writes = eventByEvent(s.resp, wait)
		}
		if s.note != "" {
			x.Notes, x.End = []string{s.note}, har.EndUnknown
		}
		if s.end != "" {
			x.End, x.EndAt, x.EndOff = s.end, wait, len(s.resp)-s.late
			if s.late > 0 {
				x.EndAt = wait / 2
			}
			conn, seq = conn+1, 0
		}
		at = at.Add(wait)
		out = append(out, x)
	}
	return out
}

// eventByEvent cuts a stream behind each event; the k-th comes when the k-th request after the stream's has been sent.
func eventByEvent(resp string, step time.Duration) []har.Write {
	var writes []har.Write
	at := step
	for _, part := range strings.SplitAfter(resp, "\n\n") {
		if part != "" {
			writes = append(writes, har.Write{At: at, Len: len(part)})
		}
		at += step
	}
	return writes
}

func sequence(xs []*har.Exchange) func(func(*har.Exchange, error) bool) {
	return func(yield func(*har.Exchange, error) bool) {
		for _, x := range xs {
			if !yield(x, nil) {
				return
			}
		}
	}
}

func analyzed(t testing.TB, scene []step, policies ...string) *Report {
	t.Helper()
	r, err := Analyze(sequence(exchanges(scene)), Options{Policies: policies})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// factsOf gives the facts of a scene's exchanges, connects and conversations found.
func factsOf(scene []step) *analysis {
	var all []*facts
	for _, x := range exchanges(scene) {
		all = append(all, observe(x))
	}
	return newAnalysis(all, nil, Options{})
}
