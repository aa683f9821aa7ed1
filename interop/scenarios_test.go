package interop_test

import (
	"time"

	"github.com/mcptap/mcptap/interop/scripted"
)

// A scenario is one kind of server.
type scenario struct {
	name      string
	script    map[string][]scripted.Step
	legacy    bool // the server knows no server/discover
	tls       bool
	predicted string // the outcome of the recommended policy for a client that probes
	forGo     string // the same for the Go SDK's probe, which has an ordinary id, where it differs
}

const (
	notFound    = `{"jsonrpc":"2.0","id":{{id}},"error":{"code":-32601,"message":"Method not found"}}`
	nullID      = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`
	unsupported = `{"jsonrpc":"2.0","id":{{id}},"error":{"code":-32022,"message":"Unsupported protocol version",` +
		`"data":{"supported":["2026-07-28"],"requested":"2026-07-28"}}}`
	called     = `{"jsonrpc":"2.0","id":{{id}},"result":{"resultType":"complete","content":[{"type":"text","text":"pong"}]}}`
	progress   = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"working"}}`
	unterminal = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
)

type steps = []scripted.Step
type script = map[string][]scripted.Step

// only answers one class of requests by script.
func only(class string, s ...scripted.Step) script { return script{class: s} }

var scenarios = []scenario{
	{name: "modern", predicted: "modern"},
	{name: "modern-over-tls", tls: true, predicted: "modern"},
	{name: "legacy", legacy: true, predicted: "legacy"},
	{name: "probe-answered-in-pieces", predicted: "modern", script: only("server/discover",
		scripted.EventStream(), scripted.Chunk(": wait\n\n"), scripted.Pause(30*time.Millisecond), scripted.Chunk("event: mess"),
		scripted.Pause(10*time.Millisecond), scripted.Chunk("age\ndata: "+scripted.Discovered+"\n"), scripted.Chunk("\n"), scripted.Chunk(""))},
	{name: "probe-400-id-null", predicted: "legacy", script: script{"server/discover": scripted.JSON(400, nullID)}},
	{name: "probe-200-id-null", predicted: "legacy", script: script{"server/discover": scripted.JSON(200, nullID)}},
	{name: "probe-502-page", predicted: "legacy", script: script{"server/discover": scripted.Head("HTTP/1.1 502 Bad Gateway",
		"<html><body>bad gateway</body></html>", "Content-Type: text/html")}},
	{name: "probe-401", predicted: "failed", script: script{"server/discover": scripted.Head("HTTP/1.1 401 Unauthorized", "", "WWW-Authenticate: Bearer")}},
	{name: "probe-202", predicted: "legacy", forGo: "failed", script: script{"server/discover": scripted.Head("HTTP/1.1 202 Accepted", "")}},
	{name: "probe-reset-in-body", predicted: "failed", script: only("server/discover",
		scripted.Text("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 400\r\n\r\n{\"jsonrpc\":"), scripted.RST)},
	{name: "probe-corrected", predicted: "modern", script: script{"server/discover#1": scripted.JSON(400, unsupported)}},
	{name: "tools-only-404", legacy: true, predicted: "legacy", script: script{
		"prompts/list": scripted.JSON(404, notFound), "resources/list": scripted.JSON(404, notFound)}},
	{name: "session-lost", legacy: true, predicted: "legacy", script: script{"tools/call": scripted.JSON(404,
		`{"error":"Unknown or expired MCP session. Re-initialize to continue."}`)}},
	{name: "call-reset-in-stream", predicted: "modern", script: only("tools/call",
		scripted.EventStream(), scripted.Event(progress), scripted.RST)},
	{name: "call-until-close", predicted: "modern", script: only("tools/call",
		scripted.Text(unterminal+"event: message\ndata: "+called+"\n\n"), scripted.FIN)},
	{name: "list-behind-early-hints", predicted: "modern", script: script{"prompts/list": append(steps{
		scripted.Text("HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n")}, scripted.JSON(404, notFound)...)}},
}
