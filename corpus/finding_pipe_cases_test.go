package corpus

import (
	"strings"
	"time"

	"github.com/mcptap/mcptap/har"
)

const stdio25 = "MCP 2025-11-25 basic/transports, stdio"

// A pipeCase is a findingCase of lines: what the client wrote, what the server wrote, and how the last of it ended.
func pipeCase(id, story, source string, exchange int, want string, lines ...turn) findingCase {
	begun := []turn{
		{ask: `{"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":` + info + `},"jsonrpc":"2.0","id":0}` + "\n",
			say: replied("0", initializedAs(`{"tools":{}}`)) + "\n"},
		{ask: initializedNote + "\n"},
	}
	return findingCase{id: id, story: story, source: source, exchange: exchange, want: want, turns: append(begun, lines...)}
}

const (
	listLine = `{"method":"tools/list","params":{},"jsonrpc":"2.0","id":1}`
	sayLines = `{"jsonrpc":"2.0","id":1,"result":` + toolList + `}`
)

// spokenLine is a line of the server that answers nothing.
func spokenLine(text string) turn { return turn{say: text} }

// gone ends the process.
func (t turn) gone(note string) turn {
	t.note, t.end, t.left = note, har.EndFIN, 200*time.Millisecond
	return t
}

// pipeFindings are those of lines.
var pipeFindings = []findingCase{
	pipeCase("stdio-byte-order-mark", "The server's reply stands behind a byte order mark.", "RFC 8259 section 8.1", 3, "timeout request/silence legacy", turn{ask: listLine + "\n"}.ends(har.EndClientFIN, time.Minute), spokenLine("\uFEFF"+sayLines+"\n")),
	pipeCase("stdio-content-length", "The server frames its messages as the Language Server Protocol does.", stdio25, 3, "timeout request/silence legacy", turn{ask: listLine + "\n"}.ends(har.EndClientFIN, time.Minute), spokenLine("Content-Length: 42\r\n")),
	pipeCase("stdio-content-length-request", "The client frames its messages as the Language Server Protocol does.", stdio25, 1, "delivered initialize/delivered legacy", turn{ask: "Content-Length: 58\r\n"}, turn{ask: "\r\n"}),
	pipeCase("stdio-embedded-newline", "The server prints its reply over several lines.", stdio25, 3, "timeout request/silence legacy", turn{ask: listLine + "\n"}.ends(har.EndClientFIN, time.Minute), spokenLine("{\n"), spokenLine(`  "jsonrpc": "2.0",`+"\n")),
	pipeCase("stdio-embedded-newline-request", "The client prints its request over several lines.", stdio25, 1, "delivered initialize/delivered legacy", turn{ask: "{\n"}, turn{ask: `  "method": "tools/list",` + "\n"}),
	pipeCase("stdio-exit-before-reply", "The server's process ends at the call.", stdio25, 3, "disconnect optional/transport-failure legacy", turn{ask: listLine + "\n"}.gone("exit: 1")),
	pipeCase("stdio-line-cut", "The server's process ends in the middle of its reply.", stdio25, 3, "disconnect request/stdio-cut legacy", turn{ask: listLine + "\n", say: sayLines[:40]}.gone("exit: SIGSEGV")),
	pipeCase("stdio-no-newline", "The reply is whole and lacks the line end: the client waits.", stdio25, 3, "timeout request/stalled-body legacy", turn{ask: listLine + "\n", say: sayLines}.ends(har.EndClientFIN, time.Minute)),
	pipeCase("stdio-no-newline-request", "The client's request lacks the line end: the server waits.", stdio25, 3, "timeout request/silence legacy", turn{ask: listLine}.ends(har.EndClientFIN, time.Minute)),
	pipeCase("stdio-noise", "The server logs to stdout.", stdio25, 4, "delivered request/delivered legacy", spokenLine("Tracker MCP server listening on stdio\n"), turn{ask: listLine + "\n", say: sayLines + "\n"}),
	pipeCase("stdio-not-jsonrpc", "The server writes JSON log lines to stdout.", stdio25, 4, "delivered request/delivered legacy", spokenLine(`{"level":"info","msg":"ready"}`+"\n"), turn{ask: listLine + "\n", say: sayLines + "\n"}),
	pipeCase("stdio-reply-id-type", "The reply has the id of the call as a string.", jsonrpc+" section 5", 3, "timeout request/stdio-unreadable legacy", turn{ask: listLine + "\n"}.ends(har.EndClientFIN, time.Minute), spokenLine(strings.Replace(sayLines, `"id":1`, `"id":"1"`, 1)+"\n")),
	pipeCase("stdio-stdout-closed", "The server closes its stdout and runs on.", stdio25, 3, "disconnect optional/transport-failure legacy", turn{ask: listLine + "\n"}.gone("stdout: closed")),
}
