package analyze

import "strings"

// A waitingID is a request of one process by the number that its id stands for.
type waitingID struct {
	conn   uint64
	number float64
}

// pairByNumber ties replies whose id is that of a request in another JSON type to the request, as over HTTP, where they come
// in its answer: under another id to all who compare ids as JSON has them, the reply to those who compare numbers.
func (c *connect) pairByNumber() {
	open := map[waitingID]*facts{}
	for _, f := range c.all {
		switch {
		case f.req.requests > 0 && f.kind == replyNone:
			for _, key := range f.req.keys() {
				if n, ok := numberOf(key); ok {
					open[waitingID{f.conn, n}] = f
				}
			}
		case f.reqBytes == 0 && f.serverLine == lineRPC && f.reply.kind&(replyResult|replyError) != 0 && f.reply.idState == "present":
			n, ok := numberOf(f.reply.key)
			at := waitingID{f.conn, n}
			if asked := open[at]; ok && asked != nil {
				asked.answeredBy(f)
				delete(open, at)
			}
		}
	}
}

// answeredBy takes a line under the request's id in another type for what answers it.
func (f *facts) answeredBy(line *facts) {
	line.answers = f
	f.answer, f.kind, f.reply, f.replyN = whole, replyOtherID, line.reply, line.n
	f.reply.at = line.bodyAt
	f.replyAt = line.started.Sub(f.started)
	read := *f
	read.kind, read.via = line.reply.kind, viaStream
	f.lax[byTypeScript] = &read // npm sdk 1.32.2 and client 2.4.0: Number(id)
	if !strings.HasPrefix(line.reply.key, `"`) {
		// go-sdk v1.8.0 internal/jsonrpc2 MakeID and mcp-go v1.2.1 mcp.RequestId take 1.0 for 1, and "1" for a string.
		f.lax[byGoSDK], f.lax[byMCPGo] = &read, &read
	}
}
