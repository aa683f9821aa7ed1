package analyze

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"
)

// A ruleFinding is the finding that a rule of the policy recommended stands for.
type ruleFinding struct {
	rule string
	template
	when func(f *facts) bool // nil: always
}

// besideFindings are reported beside what the rule stands for.
var besideFindings = []ruleFinding{
	{"optional/missing-method", template{"session-or-method", warning, byServer,
		"{method} was answered {status} with -32601 inside a session: some clients take it for a missing method, others for a lost session",
		"answer a missing method 200 with the JSON-RPC error; keep 404 for sessions that are gone"}, inSession},
	{"probe/unsupported-version-again", idNull, idIsNull},
	{"probe/unsupported-version-common", idNull, idIsNull},
	{"probe/unsupported-version-disjoint", idNull, idIsNull},
	{"probe/unsupported-version-legacy", idNull, idIsNull},
	{"probe/unsupported-version-unusable", idNull, idIsNull},
	{"probe/http-5xx", idNull, idIsNull},
	{"probe/http-4xx", idNull, idIsNull},
}

var idNull = template{"probe-reply-id-null", warning, byServer,
	"the error in the HTTP {status} answer to the probe has id null: strict clients cannot take it for the reply, and those that want the id learn nothing from it",
	"echo the request's id in the error, which the server could read"}

func idIsNull(f *facts) bool { return f.reply.idState == "null" && f.kind == replyInvalid }

// inSession tells whether the request carried a session id: in its header or, over HTTP+SSE, in the URL that the stream
// named.
func inSession(f *facts) bool {
	return isLegacy(f) && (f.req.session != "" || f.transport == overSSE && namesSession(f.query))
}

// namesSession tells whether a query has a session id, as sessionId or session_id.
func namesSession(query string) bool {
	for part := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(part, "=")
		if value != "" && strings.EqualFold(strings.ReplaceAll(name, "_", ""), "sessionid") {
			return true
		}
	}
	return false
}

func isForeignPage(f *facts) bool { return f.body == "html" && !isOutage(f) }
func isOutage(f *facts) bool      { return f.status >= 500 }
func isLegacy(f *facts) bool      { return f.req.era() == eraLegacy }
func isMalformed(f *facts) bool   { return f.answer == malformed && f.status != 0 }

var unreadableAnswer = template{"request-failed", severe, byServer, "the answer to {method} is no HTTP that a client can read ({framing}): {end}",
	"make the server, or the proxy before it, answer with a valid HTTP message"}

// hasty is how soon a client leaves that has hardly waited: the timeouts of clients begin at seconds.
const hasty = time.Second

const hastyFix = "see why the client left: it may have been stopped; if it waits no longer than this, give it a longer timeout"

// leftSoon tells whether a client left of itself, so soon that its leaving says nothing of the server.
func leftSoon(f *facts) bool { return f.finished.Sub(f.started) < hasty }

// ruleFindings are in the order of the rules. Of several for one rule, the first whose condition holds is reported. Where
// the client failed over it, a finding is an error whatever its severity here.
var ruleFindings = []ruleFinding{
	{"probe/auth", template{"probe-auth", note, byNobody,
		"the probe was answered {status}: the server wants credentials before it says anything of its era",
		"authorize the client; a fallback to initialize would meet the same refusal"}, nil},
	{"probe/unreachable", template{"server-unreachable", severe, byNobody,
		"no connection to the server: {ending}", "check the server's address, its certificate and that it runs"}, nil},
	{"probe/reset-before-answer", template{"probe-reset", severe, byServer,
		"the probe got no answer: {end} before a response head. That says nothing of the server's era, and initialize must not follow",
		"make the server answer server/discover, if only with a JSON-RPC error -32601"}, nil},
	{"probe/malformed-http", template{"probe-not-http", severe, byServer,
		"the probe's answer is no HTTP that a client may trust {framing}", "make the server, or the proxy before it, answer with a valid HTTP message"}, nil},
	{"probe/silence", template{"probe-silence", severe, byServer,
		"the probe was not answered for {wait}, then the client left. Over HTTP silence says nothing of the server's era",
		"make the server answer server/discover, if only with a JSON-RPC error -32601"}, nil},
	{"probe/stdio-silence", template{"stdio-probe-silence", warning, byServer,
		"the probe was not answered for {wait}, then the client left. Over stdio that means a legacy server: each connect begins with that wait",
		"answer server/discover, if only with a JSON-RPC error -32601"}, nil},
	{"request/stdio-unreadable", template{"reply-invalid", severe, byServer, "the answer to {method} is no valid JSON-RPC reply ({why})", "reply with a valid JSON-RPC message that carries the request's id"}, nil},
	{"probe/accepted-202", template{"probe-accepted-202", warning, byServer,
		"the probe, a request, was answered 202: no reply will come. Clients that do not know this shape wait for their whole timeout",
		"answer a request with its reply; 202 is for notifications and responses"}, nil},
	{"probe/accepted-202-ordinary-id", template{"probe-accepted-202", warning, byServer,
		"the probe, a request, was answered 202: no reply will come, and the client waits for its whole timeout",
		"answer a request with its reply; 202 is for notifications and responses"}, nil},
	{"probe/upgrade", template{"probe-not-http", severe, byServer,
		"the server switched protocols (101), which nobody asked for", "answer server/discover over HTTP"}, nil},
	{"probe/cut-body", template{"probe-reset-mid-body", severe, byServer,
		"the probe's answer broke off in its body: {end}. A body that is not whole is no evidence, and initialize must not follow",
		"find what breaks the connection: the server, or something between"}, nil},
	{"probe/stalled-body", template{"probe-body-stalled", severe, byServer,
		"the probe's answer began and was not whole after {wait}, when the client left", "send the whole body, or declare its length right"}, nil},
	{"probe/unsupported-version-again", template{"probe-version-refused-twice", severe, byServer,
		"the server names version {versions} as supported and refuses it again when asked for it", "make data.supported list what the server accepts"}, nil},
	{"probe/unsupported-version-disjoint", template{"probe-versions-disjoint", severe, byNobody,
		"the server speaks modern versions only ({versions}), none of which the client speaks", "upgrade whichever side is older"}, nil},
	{"probe/unsupported-version-legacy", template{"probe-versions-legacy-only", warning, byServer,
		"the server refuses the version with -32022, an error of the modern era, and names legacy versions only ({versions}): not every client takes that for a legacy server",
		"answer an unknown server/discover with -32601, or list the modern versions that the server speaks"}, nil},
	{"probe/unsupported-version-unusable", template{"probe-unsupported-list-unusable", warning, byServer,
		"the server refuses the version with -32022 but gives no usable list in data.supported, so no client can correct itself",
		"put the list of supported versions, as strings, into data.supported"}, nil},
	{"probe/http-5xx", template{"probe-http-5xx", warning, byServer,
		"the probe was answered HTTP {status}. A client may take that for a legacy server, but only until the server recovers: it must not remember this for long",
		"answer an unknown method with a JSON-RPC error, not with a 5xx; if this is an outage, repair it"}, nil},
	{"probe/redirect", template{"probe-redirect", warning, byServer,
		"the probe was redirected ({status}) to {location}, and the client did not follow", "use the redirect's target as the endpoint if it is the server"}, nil},
	{"probe/sse-invalid-reply", template{"probe-sse-reply-invalid", severe, byServer,
		"the stream carried no valid reply, only a message that strict clients drop ({why}); they wait for another until they time out",
		"reply with a valid JSON-RPC message that carries the request's id"}, nil},
	{"probe/sse-silence", template{"probe-sse-no-reply", severe, byServer,
		"the stream opened and carried no reply for {wait}, then the client left", "send the reply as an event"}, nil},
	{"probe/sse-no-reply", template{"probe-sse-no-reply", severe, byServer,
		"the stream ended without a reply ({over}). Clients take its end for silence and wait until they time out, a known gap of typescript-sdk #2571",
		"send the reply as an event before the stream ends"}, nil},
	{"probe/not-mcp-media-type", template{"probe-media-type", warning, byServer,
		"the probe was answered {status} with {media}, which no MCP client reads; strict clients fail instead of falling back",
		"answer with application/json or text/event-stream, an unknown method with a JSON-RPC error; check that the URL is the MCP endpoint"}, nil},
	{"probe/empty-body", template{"probe-reply-empty", warning, byServer,
		"the probe was answered {status} with an empty JSON body; strict clients fail instead of falling back",
		"answer an unknown method with a JSON-RPC error"}, nil},
	{"probe/not-json", template{"probe-reply-not-json", warning, byServer,
		"the probe was answered {status} with a body that is no JSON ({why}); strict clients fail instead of falling back",
		"answer an unknown method with a JSON-RPC error"}, nil},
	{"probe/invalid-reply", template{"probe-reply-id-null", warning, byServer,
		"the probe's answer has id null, which strict clients reject ({why}); they fail instead of falling back",
		"echo the request's id in the error, which the server could read"}, idIsNull},
	{"probe/invalid-reply", template{"probe-reply-invalid", warning, byServer,
		"the probe's answer is no valid JSON-RPC message ({why}); strict clients fail instead of falling back",
		"reply with a valid JSON-RPC message that carries the request's id and nothing beside result or error"}, nil},
	{"probe/no-common-version", template{"probe-no-common-version", note, byNobody,
		"the server's versions ({versions}) and the client's have none in common; what is left is initialize", "upgrade whichever side is older"}, nil},
	{"probe/invalid-discover-result", template{"probe-result-invalid", warning, byServer,
		"the probe's result is no DiscoverResult", "give supportedVersions, a list of strings, and capabilities, an object; or answer -32601"}, nil},
	{"probe/no-reply-in-body", template{"probe-reply-uncorrelated", severe, byServer,
		"the probe was answered with valid JSON-RPC, but not with a reply to its id; the client waits until it times out",
		"reply with the request's id"}, nil},

	{"initialize/http-error", template{"initialize-not-mcp-endpoint", severe, byServer,
		"initialize was answered {status} with an HTML page: this URL may not be the MCP endpoint", "use the URL of the MCP endpoint"}, isForeignPage},
	{"initialize/http-error", template{"initialize-http-error", severe, byServer,
		"initialize was answered HTTP {status}: {text}", "see the server's log; if this is an outage, repair it"}, isOutage},
	{"initialize/http-error", template{"initialize-http-error", severe, byServer,
		"initialize was answered HTTP {status}: {text}", "check that the URL is the MCP endpoint; at 400, 404 or 405 the server may speak HTTP+SSE only"}, notExplained},
	{"initialize/auth", template{"auth-required", severe, byNobody, "initialize was answered {status}: the server wants credentials", "authorize the client"}, nil},
	{"initialize/unsupported-version", template{"initialize-unsupported-version", severe, byServer,
		"the server answers initialize with version {versions}, which TypeScript clients do not accept there", "answer with a version of the handshake, at best the one asked for ({asked})"}, nil},
	{"initialize/invalid-result", template{"initialize-result-invalid", severe, byServer,
		"the result of initialize is no InitializeResult", "give protocolVersion, capabilities and serverInfo with name and version"}, nil},
	{"initialize/rpc-error", template{"initialize-error", severe, byServer, "initialize was refused: {code} {text}", "see the server's log"}, nil},
	{"initialize/transport-failure", template{"initialize-failed", severe, byServer, "initialize got no answer: {ending}", "see the server's log"}, nil},
	{"initialize/cut-body", template{"initialize-failed", severe, byServer, "the answer to initialize broke off in its body: {end}", "find what breaks the connection"}, nil},
	{"initialize/silence", template{"initialize-silence", severe, byNobody, "the client left {wait} after it had sent initialize, before an answer had come", hastyFix}, leftSoon},
	{"initialize/silence", template{"initialize-silence", severe, byServer, "initialize was not answered for {wait}, then the client left", "make the server answer"}, nil},
	{"initialize/stalled-body", template{"initialize-silence", severe, byServer, "the answer to initialize was not whole after {wait}, when the client left", "send the whole body"}, nil},
	{"initialize/accepted-202", template{"initialize-without-reply", severe, byServer, "initialize, a request, was answered 202: no reply will come", "answer a request with its reply"}, nil},
	{"initialize/not-mcp-media-type", template{"initialize-not-mcp-endpoint", severe, byServer,
		"initialize was answered {status} with {media}: this URL may not be the MCP endpoint", "use the URL of the MCP endpoint, or answer with application/json or text/event-stream"}, nil},
	{"initialize/unusable-reply", template{"initialize-reply-invalid", severe, byServer,
		"the answer to initialize is no valid JSON-RPC reply ({why})", "reply with a valid JSON-RPC message that carries the request's id"}, nil},
	{"initialize/no-reply", template{"initialize-without-reply", severe, byServer, "no reply to initialize came ({end})", "reply with the request's id"}, nil},
	{"initialized/http-error", template{"initialized-refused", severe, byServer,
		"notifications/initialized was answered HTTP {status}, so the handshake fails at its last step", "answer a notification 202 without a body"}, nil},
	{"initialized/auth", template{"initialized-refused", severe, byServer,
		"notifications/initialized was answered HTTP {status} although initialize was accepted", "treat both alike"}, nil},
	{"initialized/transport-failure", template{"initialized-refused", severe, byServer, "notifications/initialized got no answer: {end}", "answer a notification 202 without a body"}, nil},
	{"initialized/silence", template{"initialized-refused", severe, byServer, "notifications/initialized was not answered for {wait}", "answer a notification 202 without a body"}, nil},

	{"optional/missing-method", template{"optional-method-missing", note, byServer,
		"the server has no {method} and says so with HTTP {status}; hosts without the rule take the server for dead and disconnect",
		"answer a missing method 200 with the JSON-RPC error; hosts: qwen-code #12500"}, isLegacy},
	{"optional/auth", template{"optional-method-auth", warning, byServer, "{method} was answered HTTP {status}: hosts disconnect or ask for credentials", "authorize the client, or answer a missing method with -32601 at 200"}, nil},
	{"optional/outage", template{"optional-method-outage", severe, byServer,
		"{method} was answered HTTP {status}: an outage, whatever the body says, and hosts disconnect", "repair the server or what stands before it"}, nil},
	{"optional/unrecognised", template{"accept-rejected", severe, byServer, "{method} was answered 406 although its Accept lists both media types ({accept})",
		"accept any order of application/json and text/event-stream"}, acceptsBoth},
	{"optional/unrecognised", narrowAccept, acceptsOne},
	{"optional/unrecognised", template{"optional-method-refused", warning, byServer,
		"{method} was answered HTTP {status} without a JSON-RPC 2.0 error -32601 ({text}): nothing says that the method is missing, and hosts disconnect",
		"answer a missing method 200 with the JSON-RPC error -32601"}, nil},
	{"optional/transport-failure", unreadableAnswer, isMalformed},
	{"optional/transport-failure", template{"request-failed", severe, byServer, "{method} got no answer: {ending}", "find what breaks the connection"}, nil},
	{"optional/cut-body", template{"request-failed", severe, byServer, "the answer to {method} broke off in its body: {end}", "find what breaks the connection"}, nil},
	{"request/auth", template{"auth-required", warning, byNobody, "{method} was answered {status}: the server wants credentials", "authorize the client"}, nil},
	{"request/http-5xx", template{"request-http-5xx", severe, byServer, "{method} was answered HTTP {status}: {text}", "see the server's log"}, nil},
	{"request/redirect", template{"redirect-not-followed", severe, byServer, "{method} was answered {status} without Location, so there is nowhere to follow to", "answer the request, or name the target in Location"}, leadsNowhere},
	{"request/http-4xx", template{"request-http-4xx", warning, byServer, "{method} was answered HTTP {status}: {text}", "answer with the JSON-RPC error at 200"}, isLegacy},
	{"request/transport-failure", unreadableAnswer, isMalformed},
	{"request/transport-failure", template{"request-failed", severe, byServer, "{method} got no answer: {ending}", "find what breaks the connection"}, nil},
	{"request/cut-body", template{"request-failed", severe, byServer, "the answer to {method} broke off in its body: {end}", "find what breaks the connection"}, nil},
	{"request/silence", template{"request-unanswered", note, byNobody, "the client left {wait} after it had sent {method}, before an answer had come", hastyFix}, leftSoon},
	{"request/silence", template{"request-unanswered", warning, byServer, "{method} was not answered for {wait}, then the client left", "answer every request"}, nil},
	{"request/stalled-body", template{"request-unanswered", warning, byServer, "the answer to {method} was not whole after {wait}, when the client left", "send the whole body"}, nil},
	{"discover/accepted-202", template{"request-without-reply", warning, byServer, "server/discover, a request, was answered 202: no reply will come", "answer a request with its reply"}, nil},
	{"request/accepted-202", template{"request-without-reply", warning, byServer, "{method}, a request, was answered 202 and no reply came", "answer a request with its reply"}, nil},
	{"request/not-mcp-media-type", template{"reply-media-type", warning, byServer, "{method} was answered {status} with {media}, which no MCP client reads", "answer with application/json or text/event-stream"}, nil},
	{"request/unusable-reply", template{"reply-invalid", severe, byServer, "the answer to {method} is no valid JSON-RPC reply ({why})", "reply with a valid JSON-RPC message that carries the request's id"}, nil},
	{"request/no-reply-in-body", template{"reply-uncorrelated", severe, byServer, "{method} was answered with valid JSON-RPC, but not with a reply to its id", "reply with the request's id"}, nil},
	{"request/resume", template{"stream-cut-before-reply", note, byServer, "the stream ended after event {event} and before the reply to {method}; the client may resume", "keep the stream open until the reply is sent"}, nil},
	{"request/sse-silence", template{"sse-open-without-reply", severe, byServer, "the stream opened for {method} carried no reply for {wait}, then the client left", "flush the reply's event as soon as it is written"}, nil},
	{"request/sse-no-reply", template{"sse-ended-without-reply", severe, byServer, "the stream opened for {method} ended without the reply ({over})", "send the reply before the stream ends, or event ids so that clients can resume"}, nil},

	{"notification/http-5xx", template{"notification-refused", warning, byServer, "{method} was answered HTTP {status}", "answer a notification 202 without a body"}, nil},
	{"notification/redirect", template{"notification-refused", warning, byServer, "{method} was answered HTTP {status}", "answer a notification 202 without a body"}, leadsNowhere},
	{"notification/http-4xx", template{"reply-rejected", severe, byServer, "the server rejects the client's reply to its own request with HTTP {status}: {text}", "accept responses: 202 without a body"}, isResponse},
	{"notification/http-4xx", template{"notification-refused", warning, byServer, "{method} was answered HTTP {status}", "answer a notification 202 without a body"}, nil},
	{"get-stream/refused", template{"get-stream-refused", warning, byServer,
		"the standalone GET stream was answered {status}: hosts take the server for dead and disconnect", "answer 405 if there is no such stream"}, nil},
	{"get-stream/unsupported", template{"get-stream-unsupported", note, byServer,
		"the standalone GET stream was answered {status} instead of 405; hosts without the rule disconnect", "answer 405 if there is no such stream"}, not405},
	{"get-stream/not-event-stream", template{"get-stream-media-type", warning, byServer,
		"the standalone GET stream was answered {status} with {media}; some clients ask again every second", "answer 405 if there is no such stream"}, nil},
	{"get-stream/transport-failure", template{"get-stream-failed", warning, byServer, "the standalone GET stream got no answer: {end}", "answer 405 if there is no such stream"}, nil},
	{"get-stream/silence", template{"get-stream-silence", note, byServer, "the standalone GET stream was not answered for {wait}; some clients wait for it before they go on", "send the response head at once, or answer 405"}, nil},
	{"sse-stream/refused", template{"transport-mismatch", severe, byNobody,
		"an HTTP+SSE client asked for its stream and was answered {status}: the server speaks another transport here, or nothing", "use Streamable HTTP, or the URL of the SSE endpoint"}, nil},
	{"sse-stream/not-event-stream", template{"transport-mismatch", severe, byNobody,
		"an HTTP+SSE client asked for its stream and was answered with {media}", "use Streamable HTTP, or the URL of the SSE endpoint"}, nil},
	{"sse-stream/auth", template{"auth-required", severe, byNobody, "the stream was answered {status}: the server wants credentials", "authorize the client"}, nil},
	{"sse-stream/foreign-endpoint", template{"endpoint-past-proxy", severe, byCapture, "the endpoint event names the server's own address, {endpoint}, and the client had come through a proxy at another one: it refuses the URL, or its messages went past the recording", "record with --forward, or make the server name a path"}, pastProxy},
	{"sse-stream/foreign-endpoint", template{"endpoint-foreign", severe, byServer, "the endpoint event names another origin, {endpoint}; clients refuse it", "name a path of the stream's own origin"}, nil},
	{"sse-stream/no-endpoint", template{"endpoint-missing", severe, byServer, "the stream opened and never named the endpoint for messages", "send the endpoint event first"}, nil},
	{"sse-stream/transport-failure", template{"server-unreachable", severe, byNobody, "the stream that carries all replies did not open: {ending}", "check that the server runs"}, nil},
	{"sse-stream/silence", template{"sse-stream-silence", severe, byServer, "the stream that carries all replies was not answered for {wait}", "send the response head at once"}, nil},
	{"session/close-failed", template{"session-close-failed", note, byServer, "ending the session was answered HTTP {status}", "answer DELETE with 2xx, or 405"}, nil},
}

// notExplained tells whether no other finding says more of a refused initialize: a refused Accept, a lost path, a server of
// the other transport.
func notExplained(f *facts) bool {
	if f.status == 406 || f.transport == overSSE && f.status == 404 || f.status/100 == 3 && f.location != "" {
		return false
	}
	return f.connect == nil || !slices.ContainsFunc(f.connect.streams, func(s *facts) bool { return s.n > f.n && s.endpointURL != "" })
}

func pastProxy(f *facts) bool   { return f.endpointPast }
func not405(f *facts) bool      { return f.status != 405 }
func isResponse(f *facts) bool  { return f.class == response }
func acceptsBoth(f *facts) bool { return f.status == 406 && f.acceptsBoth() }
func acceptsOne(f *facts) bool  { return f.status == 406 && !f.acceptsBoth() }

// findingsOf gives what each rule stands for.
var findingsOf = sync.OnceValue(func() map[string]ruleStands {
	of := map[string]ruleStands{}
	for i := range besideFindings {
		t := &besideFindings[i]
		of[t.rule] = ruleStands{beside: append(of[t.rule].beside, t)}
	}
	for i := range ruleFindings {
		t := &ruleFindings[i]
		of[t.rule] = ruleStands{of[t.rule].beside, append(of[t.rule].own, t)}
	}
	return of
})

// ruleStands are the findings that a rule stands for: each of beside whose condition holds, and the first such of own.
type ruleStands struct{ beside, own []*ruleFinding }

// findByRule reports what the recommended policy's rule for an exchange stands for.
func (a *analysis) findByRule(p *Policy, f *facts) {
	if f.superseded {
		return
	}
	v := p.judge(f)
	if v.Verdict == "inconclusive" {
		if f.class != oauth && f.class != notification && f.class != getStream {
			id := "capture-incomplete"
			if f.limit != "" {
				id = "beyond-limit"
			}
			a.add(saying(id), "", f)
		}
		return
	}
	if a.findUnread(v.Rule, f) {
		return
	}
	stands := findingsOf()[v.Rule]
	for _, t := range stands.beside {
		if t.when(f) {
			a.add(t.template, v.Rule, f, f.proof()...)
		}
	}
	for _, t := range stands.own {
		if t.when != nil && !t.when(f) {
			continue
		}
		x := a.add(t.template, v.Rule, f, f.proof()...)
		x.Cost = Cost{MS: f.finished.Sub(f.started).Milliseconds(), Requests: 1}
		if f.endedConnect() {
			x.Severity = severe
		}
		if f.fromBetween() {
			x.Fault = byIntermediary
			x.Message += "; the answer is that of " + cmp.Or(f.head.edge, "a gateway") + ", which stands before the server"
			x.Fix = "see why " + cmp.Or(f.head.edge, "the gateway") + " got no answer from the server: its log names the cause"
			if f.head.edgeAt.ok {
				x.Evidence = append(x.Evidence, Evidence{f.n, "response", f.head.edgeAt.off, f.head.edgeAt.len})
			}
		}
		return
	}
}

// fromBetween tells whether an outage's answer is that of what stands before the server: 502, 504 and 520 to 527 are
// statuses of gateways (RFC 9110 section 15.6), and a page under 503 that a known one signs is its own. A JSON-RPC message
// is the server's.
func (f *facts) fromBetween() bool {
	if f.status < 500 || f.reply.rpc20 || f.body == "json" {
		return false
	}
	gateway := f.status == 502 || f.status == 504 || f.status >= 520 && f.status <= 527
	return gateway && (f.body == "html" || f.head.edge != "") || f.status == 503 && f.body == "html" && f.head.edge != ""
}

// leadsNowhere tells whether a redirect names no target.
func leadsNowhere(f *facts) bool { return f.location == "" }

// endedConnect tells whether the client's connect failed at this exchange.
func (f *facts) endedConnect() bool {
	c := f.connect
	if c == nil {
		return false
	}
	last := false
	switch f.class {
	case probe:
		last = f == decisive(c.probes) && len(c.inits) == 0
	case initialize, initialized:
		last = true
	case getStream:
		last = len(c.inits) == 0
	}
	return last && c.observed().Outcome == Failed
}

// proof names the bytes behind a verdict: the error member or the event, else the status line and the body.
func (f *facts) proof() []spanned {
	switch {
	case f.via == viaStream:
		return nil
	case f.reply.errAt.ok:
		return []spanned{f.statusAt, f.reply.errAt}
	case f.reply.at.ok:
		return []spanned{f.statusAt, f.reply.at}
	case f.bodyAt.ok && f.bodyAt.len > 0:
		return []spanned{f.statusAt, f.bodyAt}
	}
	return []spanned{f.statusAt}
}
