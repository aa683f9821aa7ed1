package analyze

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// idFindings are those of requests and the replies, cancellations and requests of the server that belong to them.
var idFindings = []template{
	{"notification-answered", warning, byServer, "{method}, a notification, was answered with a JSON-RPC message; a notification has no id, so nobody can take that for a reply (JSON-RPC 2.0 section 4.1)", "answer a notification 202 without a body"},
	{"request-without-id", severe, byClient, "{method} is a request and was sent without an id, that is as a notification: no reply will come", "send an id with every request"},
	{"notification-with-id", warning, byClient, "{method} is a notification and was sent with an id, that is as a request", "send notifications without an id"},
	{"reply-in-202-body", severe, byServer, "{method}, a request, was answered 202 with the reply in the body: clients take 202 for \"no reply here\" and do not read it", "answer a request 200"},
	{"reply-id-type", severe, byServer, "the reply to {method} has the id of the request in another type", "send the id back as it came, a number as a number and a string as a string"},
	{"reply-twice", warning, byServer, "{method} was answered twice", "send one reply to each request"},
	{"reply-to-nobody", warning, byServer, "a stream carried a reply to an id that no request of the client has", "send the id of the request back; do not send one client's replies to another"},
	{"id-in-use", severe, byClient, "two requests were under way at once with one id, so that a reply can be taken for the other's", "give every request of a session an id of its own"},
	{"cancelled-after-reply", note, byClient, "the client cancelled a request that had been answered", "cancel only what is still under way; servers: ignore it"},
	{"cancelled-call", note, byClient, "the client cancelled a request that was not answered", "see what the client waited for; servers: stop the work and send no reply"},
	{"cancel-unknown", note, byClient, "the client cancelled an id that no request of it has", "name the request's id in requestId, in its type"},
	{"server-request-unanswered", warning, byClient, "the server asked something on the stream and the client did not answer", "answer each request of the server, if only with the error -32601"},
}

// findIDs reports what replies and cancellations say of the requests they name.
func (a *analysis) findIDs(f *facts) {
	r := &f.req
	switch {
	case f.class == notification || f.class == initialized:
		if r.method != "" && !strings.HasPrefix(r.method, "notifications/") && mcpMethod(r.method) {
			a.addRequest(saying("request-without-id"), "", f, f.reqBody)
		} else if f.transport != overSSE && f.reply.idState != "" && f.kind&(replyResult|replyError|replyInvalid|replyOtherID|replyIDAbsent) == f.kind && f.kind != 0 && (f.reply.codeOK || f.kind != replyInvalid) {
			a.add(saying("notification-answered"), "", f, f.bodyAt)
		}
	case r.requests > 0 && strings.HasPrefix(r.method, "notifications/"):
		a.addRequest(saying("notification-with-id"), "", f, f.reqBody)
	}
	if r.requests > 0 && f.status == 202 && f.kind&(replyResult|replyError) == f.kind && f.kind != 0 && f.via&(viaBody|viaEvent) != 0 && f.via != anyVia {
		a.add(saying("reply-in-202-body"), "", f, f.statusAt, f.bodyAt)
	}
	if f.kind == replyOtherID && slices.ContainsFunc(r.keys(), func(id string) bool { return id != f.reply.key && bareID(id) == bareID(f.reply.key) }) {
		t := saying("reply-id-type")
		t.message = fmt.Sprintf("the reply to %s has the id %s, the request %s: another type, which clients that compare types do not match", f.what(), idText(f.reply.key), idText(r.key))
		if isString(r.key) == isString(f.reply.key) {
			t.message = fmt.Sprintf("the reply to %s has the id %s, the request %s: the same number written otherwise, which clients that compare text do not match", f.what(), idText(f.reply.key), idText(r.key))
			t.fix = "send the id back byte for byte as it came"
		}
		a.add(t, "", f, f.reply.at)
	}
	if f.flow != nil && f.flow.doubled.ok {
		a.add(saying("reply-twice"), "", f, f.reply.at, f.flow.doubled)
	}
}

// bareID is an id without its type: "3" and 3 and 3.0 are one.
func bareID(key string) string {
	key = strings.TrimPrefix(key, `"`)
	return strings.TrimSuffix(key, ".0")
}

func isString(key string) bool { return strings.HasPrefix(key, `"`) }

// idText writes an id's key as it stood in JSON.
func idText(key string) string {
	if strings.HasPrefix(key, `"`) {
		return excerpt(key) + `"`
	}
	return excerpt(key)
}

// findExchange reports what the messages of one connect say of one another.
func (a *analysis) findExchange(c *connect) {
	asked := map[string][]*facts{}
	for _, f := range c.all {
		if f.req.requests > 0 && !f.superseded {
			a.findIDInUse(asked[f.req.key], f)
			asked[f.req.key] = append(asked[f.req.key], f)
		}
		if f.req.cancels != "" {
			a.findCancelled(c, asked[f.req.cancels], f)
		}
	}
	a.findUnanswered(c)
	for _, lost := range c.strays {
		f := a.numbered(lost.n)
		if len(asked[lost.key]) > 0 {
			t := saying("reply-twice")
			t.message = fmt.Sprintf("the stream of exchange %d carried a reply to id %s, which had been answered", f.n, idText(lost.key))
			x := a.add(t, "", f, lost.msg.at)
			x.Exchanges = append(x.Exchanges, asked[lost.key][len(asked[lost.key])-1].n)
		} else if len(c.inits) > 0 {
			t := saying("reply-to-nobody")
			t.message = fmt.Sprintf("the stream of exchange %d carried a reply to id %s, which no request of the client has", f.n, idText(lost.key))
			a.add(t, "", f, lost.msg.at)
		}
	}
}

// findIDInUse reports a request whose id another one of its session still used.
func (a *analysis) findIDInUse(before []*facts, f *facts) {
	if len(before) == 0 || f.req.session == "" || f.class == probe {
		return
	}
	prev := before[len(before)-1]
	if prev.conn == f.conn || prev.req.session != f.req.session || !prev.until().After(f.started) || prev.status >= 400 {
		return
	}
	t := saying("id-in-use")
	t.message = fmt.Sprintf("%s was sent with id %s while %s, exchange %d, was under way with the same id in the same session", f.what(), idText(f.req.key), prev.what(), prev.n)
	x := a.addRequest(t, "", f, f.reqBody)
	x.Exchanges = []int{prev.n, f.n}
}

// findCancelled says whether a cancelled request had been answered.
func (a *analysis) findCancelled(c *connect, named []*facts, f *facts) {
	if len(named) == 0 {
		if len(c.inits) > 0 {
			a.addRequest(saying("cancel-unknown"), "", f, f.reqBody)
		}
		return
	}
	g := named[len(named)-1]
	if g.class == initialize {
		return // conform/cancel-initialize
	}
	t := saying("cancelled-call")
	answered := g.kind&(replyResult|replyError) == g.kind && g.kind != 0
	switch {
	case answered && !g.until().After(f.started):
		t = saying("cancelled-after-reply")
		t.message = fmt.Sprintf("the client cancelled %s (exchange %d, id %s) %s after it had been answered", g.what(), g.n, idText(f.req.cancels), seconds(f.started.Sub(g.until())))
	case answered:
		t.message = fmt.Sprintf("the client cancelled %s (exchange %d) after %s, and it was answered all the same", g.what(), g.n, seconds(f.started.Sub(g.started)))
	default:
		t.message = fmt.Sprintf("the client cancelled %s (exchange %d) after it had waited %s for the answer", g.what(), g.n, seconds(f.started.Sub(g.started)))
	}
	x := a.addRequest(t, "", f, f.reqBody)
	x.Exchanges = append(x.Exchanges, g.n)
	if t.id == "cancelled-call" {
		x.Cost = Cost{MS: f.started.Sub(g.started).Milliseconds(), Requests: 1}
	}
}

// findUnanswered reports requests of the server that the client did not answer while it went on.
func (a *analysis) findUnanswered(c *connect) {
	const patience = 10 * time.Second
	answered := map[string]bool{}
	last := time.Time{}
	for _, f := range c.all {
		if f.class == response {
			for _, id := range f.req.keys() {
				answered[id] = true
			}
		}
		if f.finished.After(last) {
			last = f.finished
		}
	}
	for _, f := range c.all {
		if f.flow == nil {
			continue
		}
		for _, q := range f.flow.asked {
			if answered[q.key] || last.Sub(q.at) < patience || f.finished.Sub(q.at) < patience {
				continue
			}
			t := saying("server-request-unanswered")
			t.message = fmt.Sprintf("the server asked %s (id %s) on the stream of exchange %d, and the client did not answer in the %s that followed", excerpt(q.method), idText(q.key), f.n, seconds(last.Sub(q.at)))
			a.add(t, "", f, q.where)
			break
		}
	}
}
