package analyze

import (
	"slices"
	"strings"

	"github.com/mcptap/mcptap/har"
)

// stdioFindings are those that only lines of a process can have.
var stdioFindings = []template{
	{"stdio-noise", severe, byServer, "the server wrote {bytes} bytes to its stdout that are no JSON-RPC message ({text}); some clients skip the line, others end the connection", "write logs to stderr: stdout is for messages alone"},
	{"stdio-byte-order-mark", severe, byServer, "the server wrote a byte order mark (EF BB BF) before a message on its stdout: clients find no JSON in the line", "write UTF-8 without a byte order mark; in .NET, new UTF8Encoding(false)"},
	{"stdio-not-jsonrpc", warning, byServer, "the server wrote JSON to its stdout that is no JSON-RPC message ({why})", "write one valid JSON-RPC 2.0 message a line, and logs to stderr"},
	{"stdio-embedded-newline", severe, byServer, "a message of the server goes over several lines ({text}); a message ends at the first line end, so clients read pieces", "write a message without line ends in it: print JSON in one line"},
	{"stdio-embedded-newline-request", severe, byClient, "a message of the client goes over several lines; servers read pieces", "write a message without line ends in it"},
	{"stdio-content-length", severe, byServer, "the server frames its messages with Content-Length, as the Language Server Protocol does; MCP has one message a line", "write the JSON and a line end, without a header"},
	{"stdio-content-length-request", severe, byClient, "the client frames its messages with Content-Length, as the Language Server Protocol does; MCP has one message a line", "write the JSON and a line end, without a header"},
	{"stdio-no-newline", severe, byServer, "the server wrote a whole message without the line end that makes it one: clients wait for the rest", "end every message with a line end, and flush"},
	{"stdio-no-newline-request", severe, byClient, "the client wrote a whole message without the line end that makes it one: the server waits for the rest", "end every message with a line end, and flush"},
	{"stdio-line-cut", severe, byServer, "the server's output broke off in the middle of a line, {bytes} bytes into it: {ending}", "flush stdout before the process ends"},
	{"stdio-reply-uncorrelated", warning, byServer, "the server replied to an id that no request waits for ({id})", "reply once, with the request's id as it was sent"},
	{"stdio-reply-id-type", severe, byServer, "the server replied with id {id}, the request's id in another type: most clients do not take it for the reply", "send the id back as it came: a string as a string, a number as a number"},
	{"stdio-exit-before-reply", severe, byServer, "the server's process ended before it replied to {method} ({ending})", "see what it wrote to stderr: mcptap show FILE --stderr"},
	{"stdio-stdout-closed", severe, byServer, "the server closed its stdout before it replied to {method}", "keep stdout open as long as the process runs"},
}

func stdioSaying(id string) template {
	for _, t := range stdioFindings {
		if t.id == id {
			return t
		}
	}
	panic("analyze: no finding " + id)
}

// findStdio reports what an exchange of lines shows.
func (a *analysis) findStdio(p *Policy, f *facts) {
	a.findLine(f)
	if f.class == other {
		return
	}
	switch {
	case f.req.requests == 0:
	case f.answer == nothing:
		a.findGone(f)
	case f.answer == cut, f.answer == stalled:
	case f.replyN != 0: // stdio-reply-id-type
	default:
		a.findByRule(p, f)
	}
	if len(f.reply.dup) > 0 {
		a.add(saying("duplicate-key"), "", f, f.reply.dup[0].at)
	}
	if len(f.req.dup) > 0 {
		a.add(saying("duplicate-key-request"), "", f)
	}
}

// findGone reports a request that was not answered because the server's process ended, or its stdout.
func (a *analysis) findGone(f *facts) {
	t := stdioSaying("stdio-exit-before-reply")
	if f.noted(har.NoteStdout) || !f.noted(har.NoteExit) {
		t = stdioSaying("stdio-stdout-closed")
	}
	x := a.add(t, "", f)
	x.Cost = Cost{MS: f.finished.Sub(f.started).Milliseconds(), Requests: 1}
	if f.class == probe {
		x.Severity = warning
	}
}

// noted tells whether one of the exchange's notes begins with that word.
func (f *facts) noted(word string) bool {
	return slices.ContainsFunc(f.notes, func(n string) bool { return strings.HasPrefix(n, word+":") })
}

// findLine reports what is wrong with the lines of an exchange, whatever they say.
func (a *analysis) findLine(f *facts) {
	if id := requestLineFindings[f.clientLine]; id != "" {
		x := a.add(stdioSaying(id), "", f)
		x.Evidence = append(x.Evidence, Evidence{f.n, "request", 0, min(f.reqBytes, maxText)})
	}
	id := answerLineFindings[f.serverLine]
	switch {
	case f.answers != nil:
		x := a.add(stdioSaying("stdio-reply-id-type"), "", f, f.bodyAt)
		x.Exchanges = []int{f.answers.n, f.n}
		return
	case f.reqBytes == 0 && f.replies():
		a.add(f.unmatched(), "", f, f.bodyAt)
		return
	}
	if id == "" || f.reqBytes == 0 && f.connect.frames() && slices.Contains([]lineForm{lineOpen, lineJoined, linePiece}, f.serverLine) {
		return
	}
	x := a.add(stdioSaying(id), "", f, f.headless)
	if asked := f.marks(); asked != nil {
		x.Exchanges = append(x.Exchanges, asked.n)
	}
}

// frames tells whether the server writes headers of the Language Server Protocol, behind which no line end is due.
func (c *connect) frames() bool {
	return c != nil && slices.ContainsFunc(c.all, func(f *facts) bool { return f.serverLine == lineFramed })
}

// marks is the request that a message behind a byte order mark would have answered, nil if there is none.
func (f *facts) marks() *facts {
	if f.serverLine != lineMarked || f.connect == nil {
		return nil
	}
	for _, g := range f.connect.all {
		if g.conn == f.conn && g.kind == replyNone && f.reply.key != "" && slices.Contains(g.req.keys(), f.reply.key) {
			return g
		}
	}
	return nil
}

// requestLineFindings and answerLineFindings say what a line's form stands for.
var (
	requestLineFindings = map[lineForm]string{
		lineFramed: "stdio-content-length-request", linePiece: "stdio-embedded-newline-request", lineOpen: "stdio-no-newline-request",
		lineJoined: "stdio-no-newline-request",
	}
	answerLineFindings = map[lineForm]string{
		lineNoise: "stdio-noise", lineMarked: "stdio-byte-order-mark", lineJSON: "stdio-not-jsonrpc", linePiece: "stdio-embedded-newline", lineFramed: "stdio-content-length",
		lineOpen: "stdio-no-newline", lineJoined: "stdio-no-newline", lineCut: "stdio-line-cut",
	}
)

// replies tells whether a line of the server is a reply, or would be but for an id that is null.
func (f *facts) replies() bool {
	return f.serverLine == lineRPC && f.reply.kind&(replyResult|replyError) != 0 ||
		f.serverLine == lineJSON && f.reply.idState == "null" && f.reply.method == ""
}

// unmatched is the finding of a reply that nobody waits for: the id may be one in another type.
func (f *facts) unmatched() template {
	if f.connect != nil && f.reply.key != "" {
		for _, g := range f.connect.all {
			if g.n < f.n && g.req.key != "" && g.req.key != f.reply.key && strings.TrimPrefix(g.req.key, `"`) == strings.TrimPrefix(f.reply.key, `"`) {
				return stdioSaying("stdio-reply-id-type")
			}
		}
	}
	return stdioSaying("stdio-reply-uncorrelated")
}
