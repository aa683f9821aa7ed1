package corpus

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// A case holds the way of the client that recorded it. Another client takes another one: it begins with initialize where the
// recording begins with a probe, or asks for a list that was not asked for. What stands here is what the server of a case
// says then, so that every policy's way can be walked to its end. Policies take a step that was not recorded to succeed
// (analyze.Prediction), and so it does.

// A restAnswer is one answer of the server beyond its case, to a request whose id is 0; the player puts the live id in.
type restAnswer struct {
	method string // HTTP
	rpc    string // JSON-RPC; "" for none
	resume bool   // the GET carries Last-Event-ID
	status string
	body   string
}

const (
	restHandshake = `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{}},` +
		`"serverInfo":{"name":"corpus","version":"1.0.0"}}}`
	restUnknown = `{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"Method not found"}}`
)

// rest are the answers of a server of both eras that is well.
var rest = []restAnswer{
	{method: "POST", rpc: "initialize", status: "200 OK", body: restHandshake},
	{method: "POST", rpc: "notifications/initialized", status: "202 Accepted"},
	{method: "POST", rpc: "notifications/cancelled", status: "202 Accepted"},
	{method: "POST", rpc: "notifications/roots/list_changed", status: "202 Accepted"},
	{method: "POST", rpc: "server/discover", status: "200 OK", body: restUnknown},
	{method: "POST", rpc: "ping", status: "200 OK", body: restResult(``)},
	{method: "POST", rpc: "tools/list", status: "200 OK", body: restList(`"tools":[{"name":"echo","description":"Says it again","inputSchema":{"type":"object"}}]`)},
	{method: "POST", rpc: "prompts/list", status: "200 OK", body: restList(`"prompts":[]`)},
	{method: "POST", rpc: "resources/list", status: "200 OK", body: restList(`"resources":[]`)},
	{method: "POST", rpc: "resources/templates/list", status: "200 OK", body: restList(`"resourceTemplates":[]`)},
	{method: "POST", rpc: "tools/call", status: "200 OK", body: restResult(`"resultType":"complete","content":[{"type":"text","text":"pong"}]`)},
	{method: "POST", rpc: "logging/setLevel", status: "200 OK", body: restResult(``)},
	{method: "GET", status: "405 Method Not Allowed"},
	{method: "GET", resume: true, status: "405 Method Not Allowed"},
	{method: "DELETE", status: "405 Method Not Allowed"},
}

// restOverSSE are the answers of an HTTP+SSE server to a client that speaks Streamable HTTP to the path of its stream.
var restOverSSE = []restAnswer{
	{method: "POST", rpc: "initialize", status: "405 Method Not Allowed"},
	{method: "POST", rpc: "server/discover", status: "405 Method Not Allowed"},
}

func restResult(members string) string { return `{"jsonrpc":"2.0","id":0,"result":{` + members + `}}` }

// restList is a result as both eras want it.
func restList(member string) string {
	return restResult(`"resultType":"complete",` + member + `,"ttlMs":0,"cacheScope":"private"`)
}

// withRest gives the exchanges of a case followed by what its server says beyond them: those answers for whose kind of
// request, by HTTP method, JSON-RPC method and path, the case has none.
func withRest(xs []*har.Exchange) []*har.Exchange {
	if len(xs) == 0 {
		return nil
	}
	first := slices.MinFunc(xs, func(a, b *har.Exchange) int { return a.N - b.N })
	endpoint, err := url.Parse(first.URL)
	if err != nil {
		return xs
	}
	answers := rest
	if first.Method == "GET" && first.MediaType == "text/event-stream" {
		answers = restOverSSE
	}
	have := map[string]bool{}
	last, reached := first, false
	for _, x := range xs {
		have[kindOf(x)] = true
		reached = reached || !neverReached(x)
		if x.N > last.N {
			last = x
		}
	}
	all := slices.Clone(xs)
	for _, a := range answers {
		x := a.exchange(last.N+1+len(all)-len(xs), endpoint, last)
		if !reached {
			x.Response, x.End, x.EndOff, x.Notes = har.Side{}, first.End, 0, first.Notes
		}
		if !have[kindOf(x)] {
			all = append(all, x)
		}
	}
	return all
}

// neverReached tells whether the server could not be reached at all.
func neverReached(x *har.Exchange) bool {
	return slices.ContainsFunc(x.Notes, func(note string) bool { return strings.HasPrefix(note, har.NoteUpstream+": ") })
}

// exchange is the answer as if it had been recorded behind the last exchange.
func (a *restAnswer) exchange(n int, endpoint *url.URL, last *har.Exchange) *har.Exchange {
	x := &har.Exchange{N: n, Conn: last.Conn + uint64(n-last.N), Seq: 1, Started: last.Started, Client: last.Client, Server: last.Server,
		Method: a.method, URL: endpoint.String(), End: har.EndKeep}
	head := a.method + " " + endpoint.RequestURI() + " HTTP/1.1\r\nHost: " + endpoint.Host + "\r\n"
	if a.resume {
		head += "Last-Event-ID: 1\r\n"
	}
	body := ""
	switch {
	case strings.HasPrefix(a.rpc, "notifications/"):
		body = fmt.Sprintf(`{"jsonrpc":"2.0","method":%q}`, a.rpc)
	case a.rpc != "":
		body = fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":%q}`, a.rpc)
	}
	if body != "" {
		head += fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	whole(&x.Request, head+"\r\n"+body)
	answer := "HTTP/1.1 " + a.status + "\r\n"
	if a.body != "" {
		answer += "Content-Type: application/json\r\n"
	}
	whole(&x.Response, fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", answer, len(a.body), a.body))
	x.EndOff = len(x.Response.Raw)
	return x
}

func whole(side *har.Side, bytes string) {
	side.Raw, side.Writes = []byte(bytes), []har.Write{{Len: len(bytes)}}
}

// kindOf says what kind of request an exchange is: HTTP method, path, JSON-RPC method, and whether it resumes a stream.
func kindOf(x *har.Exchange) string {
	path := x.URL
	if u, err := url.Parse(x.URL); err == nil {
		path = u.Path
	}
	return x.Method + " " + path + " " + rpcOf(x)
}

// rpcOf is the JSON-RPC method of a request, for a GET whether it resumes a stream, "" if there is neither.
func rpcOf(x *har.Exchange) string {
	m, _ := wire.ParseRequest(x.Request.Raw)
	if m == nil {
		return ""
	}
	if _, resumes := m.Lookup("Last-Event-ID"); resumes && x.Method == "GET" {
		return "(resuming)"
	}
	return wire.ParseRPC(m.Payload(x.Request.Raw)).Method
}
