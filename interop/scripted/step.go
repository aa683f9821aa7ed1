package scripted

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Discovered is a good answer to server/discover.
const Discovered = `{"jsonrpc":"2.0","id":{{id}},"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":` +
	`{"tools":{},"prompts":{},"resources":{}},"ttlMs":0,"cacheScope":"private",` +
	`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"scripted","version":"1.0.0"}}}}`

// A Step is one thing that a server does: it waits, writes, or ends the connection. In text, {{id}} stands for the
// request's JSON-RPC id as it was sent.
type Step struct {
	pause time.Duration
	bytes func(id string) string
	end   ending
}

type ending uint8

const (
	_ ending = iota
	fin
	rst
	hang
)

// The ways to end a connection. Before a reset the client gets time to read: some report bytes and a reset that come
// together as bytes and an end.
var (
	FIN  = Step{end: fin}
	RST  = Step{pause: 50 * time.Millisecond, end: rst}
	Hang = Step{end: hang} // stays open and silent until the client leaves
)

// Pause waits.
func Pause(d time.Duration) Step { return Step{pause: d} }

// Text writes text as it is.
func Text(text string) Step {
	return Step{bytes: func(id string) string { return strings.ReplaceAll(text, "{{id}}", id) }}
}

// Chunk writes one HTTP chunk, the last one for "".
func Chunk(text string) Step {
	return Step{bytes: func(id string) string {
		text := strings.ReplaceAll(text, "{{id}}", id)
		return fmt.Sprintf("%x\r\n%s\r\n", len(text), text)
	}}
}

// Head writes a message with a Content-Length.
func Head(status, body string, fields ...string) []Step {
	return []Step{{bytes: func(id string) string {
		body := strings.ReplaceAll(body, "{{id}}", id)
		fields := append(fields[:len(fields):len(fields)], fmt.Sprintf("Content-Length: %d", len(body)))
		return status + "\r\n" + strings.Join(fields, "\r\n") + "\r\n\r\n" + body
	}}}
}

// JSON writes a JSON answer.
func JSON(status int, body string) []Step {
	return Head(fmt.Sprintf("HTTP/1.1 %d %s", status, http.StatusText(status)), body, "Content-Type: application/json")
}

// EventStream begins an event stream in chunks.
func EventStream() Step {
	return Text("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
}

// Event writes one event as one chunk.
func Event(data string) Step { return Chunk("event: message\ndata: " + data + "\n\n") }
