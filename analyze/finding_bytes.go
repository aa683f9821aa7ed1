package analyze

import (
	"strings"

	"github.com/mcptap/mcptap/har"
)

// byteFindings are those of one exchange's bytes, and others that no single rule stands for.
var byteFindings = []template{
	{"server-unreachable", severe, byNobody, "the server was not reached ({ending})", "check that the server runs, and the network to it"},
	{"answer-head-unfinished", severe, byServer, "the head of the answer to {method} had {bytes} bytes and was not whole when the client left, after {wait}", "end the head with an empty line"},
	{"beyond-limit", note, byCapture, "the answer to {method} is beyond what mcptap reads ({limit}), so what it says is not judged", "read the body with another tool, or send smaller answers"},
	{"reply-not-utf8", warning, byServer, "the JSON answer to {method} is not valid UTF-8 (RFC 8259 section 8.1): clients put replacement characters in its place, or refuse it", "encode JSON in UTF-8"},
	{"byte-order-mark", warning, byServer, "the JSON answer to {method} begins with a byte order mark, which JSON has no place for (RFC 8259 section 8.1): some clients skip it, others take the body for no JSON", "write JSON without a byte order mark"},
	{"sse-event-not-rpc", warning, byServer, "an event of the stream that answers {method} is no JSON-RPC message: some clients skip it, others give up there", "put one JSON-RPC message into each event, and send what only keeps the connection alive as a comment line"},
	{"capture-incomplete", note, byCapture, "what became of {method} cannot be told: {end}, or bytes are missing", "record the whole exchange"},
	{"capture-conflict", warning, byCapture, "the capture holds two copies of bytes of {method} that differ, and which of them was taken cannot be told; the first is shown", "capture where the bytes are received, and find out what alters or injects packets on the way"},
	{"bytes-after-end", warning, byServer, "bytes follow the end of the answer to {method}: the declared length is too short, or something was written twice", "declare the length that is sent"},
	{"http-framing", warning, byServer, "the answer to {method} departs from RFC 9112: {framing}; strict HTTP parsers refuse it", "send one valid framing: Content-Length or chunked, lines ended by CRLF"},
	{"duplicate-key", warning, byServer, "the answer to {method} has a member name twice in one object; parsers differ in which they take", "write each member once"},
	{"duplicate-key-request", warning, byClient, "{method} has a member name twice in one object; parsers differ in which they take", "write each member once"},
	{"body-undecodable", severe, byServer, "the body of the answer to {method} does not decode as {encoding}: {undecoded}", "encode the body as Content-Encoding says, and as Accept-Encoding allows"},
	{"body-mislabelled", warning, byServer, "Content-Encoding of the answer to {method} says {encoding}, and the body is plain", "leave Content-Encoding out"},
	{"sse-event-odd", warning, byServer, "the reply to {method} is in an event that the standard or a common parser does not dispatch: {odd}", "end every event with a blank line of CRLF or LF, and name it message or nothing"},
	{"answer-too-late", note, byServer, "{late} bytes of an answer to {method} came after the client had left", "answer within the client's timeout"},
	{"accept-rejected", severe, byServer, "{method} was answered 406 although its Accept lists both media types ({accept})", "accept any order of application/json and text/event-stream"},
	{"redirect-not-mcp", severe, byServer, "{method} was redirected to {location}, where no MCP endpoint answers", "use the URL of the MCP endpoint; do not put a web sign-in before it"},
	{"redirect", note, byServer, "{method} was redirected to {location}; not every client follows with the same method", "use the redirect's target as the endpoint"},
	{"notification-ack-nonconforming", note, byServer, "{method} was answered {status} with a body; the specification asks for 202 without one", "answer a notification 202 without a body"},
	{"auth-challenge-missing", warning, byServer, "{method} was answered 401 without WWW-Authenticate, so a client cannot find where to authorize", "send WWW-Authenticate with resource_metadata"},
	{"auth-resource-metadata-missing", note, byServer, "the 401 to {method} names no resource_metadata in WWW-Authenticate; clients must guess where the metadata is", "send resource_metadata in WWW-Authenticate"},
	{"stream-idle-cut", warning, byIntermediary, "the stream was broken off after {wait} without a byte ({status}, {end}): something between cuts idle connections", "send a comment line every 15 s, or raise the idle timeout of what stands between"},
	{"probe-auth-inconsistent", severe, byServer, "the probe was refused with 401 or 403, and initialize accepted with the same credentials", "check credentials the same way for every method"},
	{"http-sse-fallback", note, byNobody, "initialize was refused over Streamable HTTP, and the client went on with HTTP+SSE", "give the client the transport that the server speaks"},
	{"transport-mismatch-post", severe, byServer, "a POST to the URL of an SSE stream was answered {status}", "send messages to the URL of the endpoint event"},
	{"endpoint-path-mismatch", severe, byServer, "the URL that the endpoint event names, {path}, was answered {status}: the path is lost between the server and what stands before it", "make the server name the path that reaches it from outside"},
	{"initialize-modern-session", note, byServer, "the server answers initialize with a modern version and issues a session id, which that version does not have", "do not issue session ids in revision 2026-07-28"},
	{"session-expired", note, byServer, "the server said that the session is gone, and the client initialized anew", "initialize anew without the old session id, then repeat the call once"},
	{"session-call-not-repeated", warning, byClient, "the client began a new session and went on in it without repeating the call that had failed", "repeat the call once in the new session (gateway #20)"},
	{"session-not-renewed", severe, byClient, "the session was gone, and the client did not initialize anew", "initialize anew without the old session id, then repeat the call once (gateway #20)"},
	{"session-renewed-with-old-id", severe, byClient, "initialize carried the id of the session that had expired", "send initialize without a session id"},
	{"session-repeated-more-than-once", warning, byClient, "after one lost session the client initialized anew, or repeated the call, more than once", "initialize anew once and repeat the call once, then give the error to the caller (gateway #20)"},
	{"session-retry-failed", warning, byServer, "the call was repeated in the new session and failed again", "find out why the call fails in a new session, too"},
	{"session-inconsistent", severe, byServer, "a session was gone for one request and there again for a later one", "share sessions between the replicas, or send a session always to the same one"},
	{"session-loss-misreported", warning, byServer, "a lost session was reported with HTTP {status} ({text}); clients look for 404", "answer 404 to a request whose session is gone"},
	{"reconnect-loop", severe, byNobody, "the client connects again and again, each time after the same kind of failure; the fault is the client's where the answer was no reason to disconnect, and the server's where it was", "end the loop where it begins"},
	{"resume-loop", severe, byServer, "a stream is resumed after the same event again and again, and each time it is empty", "answer a resume that cannot be served with an error, not with an empty stream"},
	{"policy-differs", warning, byClient, "the client did not do what recommended says of the same answers", "use a client that follows typescript-sdk #2571, or repair the answer that it cannot take"},
	{"policy-unexpected", note, byNobody, "the client did not do what its presumed policy predicts", "compare the client's version with the policy's"},
}

// markedStream is byte-order-mark before an event stream, where the standard lets it stand (WHATWG HTML section 9.2.5).
var markedStream = template{"byte-order-mark", note, byServer, "the event stream that answers {method} begins with a byte order mark: the standard has it skipped, some clients take it for a part of the first line and lose the first event", "write event streams without a byte order mark"}

// narrowAccept is accept-rejected where the client is to blame.
var narrowAccept = template{"accept-rejected", severe, byClient, "{method} was answered 406: its Accept ({accept}) does not list both application/json and text/event-stream", "send Accept: application/json, text/event-stream with every POST"}

// findInBytes reports what the bytes of one exchange show, whatever it was for.
func (a *analysis) findInBytes(f *facts) {
	if f.extra.ok && f.end != har.EndUnknown && f.status != 101 {
		a.add(saying("bytes-after-end"), "", f, f.extra)
	}
	if f.class == other {
		if f.head.preflight != nil {
			a.findCORS(f)
		}
		return
	}
	a.findInHeads(f)
	a.findIDs(f)
	a.findSlow(f)
	a.findAuth(f)
	a.findRedirects(f)
	if len(f.reply.dup) > 0 {
		a.add(saying("duplicate-key"), "", f, f.reply.dup[0].at)
	}
	if len(f.req.dup) > 0 {
		a.addRequest(saying("duplicate-key-request"), "", f, f.req.dup[0].at)
	}
	if f.badUTF8 {
		a.add(saying("reply-not-utf8"), "", f, f.bodyAt)
	}
	if f.bom.ok {
		t := saying("byte-order-mark")
		if f.body == "event-stream" {
			t = markedStream
		}
		a.add(t, "", f, f.bom)
	}
	if f.saysJunk() {
		a.add(saying("sse-event-not-rpc"), "", f, f.flow.junk)
	}
	if f.mislabelled {
		a.add(saying("body-mislabelled"), "", f, f.bodyAt)
	}
	if f.undecoded != "" && f.limit == "" {
		a.add(saying("body-undecodable"), "", f, f.bodyAt)
	}
	if f.eventEnd&(eventLoneCR|eventTyped|eventUnterminated) != 0 && f.eventEnd != anyEvent {
		a.add(saying("sse-event-odd"), "", f, f.reply.at)
	}
	if f.late > 0 && f.req.requests > 0 && f.kind&(replyResult|replyError) == 0 {
		a.add(saying("answer-too-late"), "", f)
	}
	a.findRefusals(f)
	if (f.class == initialized || f.class == notification || f.class == response) && f.transport != overSSE {
		if f.status/100 == 2 && f.status != 204 && (f.status != 202 || f.media == mediaOther) && f.body != "empty" && f.body != "" {
			a.add(saying("notification-ack-nonconforming"), "notification/accepted", f, f.bodyAt)
		}
	}
}

// saysJunk tells whether an event is worth a finding of its own: where the reply came all the same, or on a stream that awaits
// none. Elsewhere what is wrong is said of the reply that is missing.
func (f *facts) saysJunk() bool {
	return f.flow != nil && f.flow.junk.ok && (f.via == viaEvent || f.class == getStream || f.class == resume)
}

// findRefusals looks at what an error status leaves out or hides.
func (a *analysis) findRefusals(f *facts) {
	switch {
	case f.status == 406 && f.httpMethod == "POST" && f.class != optional:
		t := saying("accept-rejected")
		if !f.acceptsBoth() {
			t = narrowAccept
		}
		a.add(t, "", f, f.statusAt, f.bodyAt)
	case f.status == 401 && f.class != oauth && f.challenge == "":
		a.add(saying("auth-challenge-missing"), "", f, f.statusAt)
	case f.status == 401 && f.class != oauth && !strings.Contains(strings.ToLower(f.challenge), "resource_metadata"):
		a.add(saying("auth-resource-metadata-missing"), "", f, f.statusAt)
	case f.status/100 == 3 && f.location != "" && f.followed != nil && f.class != oauth:
		t := saying("redirect")
		if g := f.followed; g.body == "html" || g.status >= 400 && g.kind != replyError {
			t = saying("redirect-not-mcp")
		}
		x := a.add(t, "", f, f.statusAt)
		x.Exchanges = append(x.Exchanges, f.followed.n)
	}
	if (f.class == getStream || f.class == resume) && f.idleCut() {
		a.add(saying("stream-idle-cut"), "", f, f.statusAt)
	}
	if f.req.session != "" && f.status != 404 && f.status >= 400 && saysSessionLost(f.reply.text) && f.class != deletion {
		a.add(saying("session-loss-misreported"), "", f, f.proof()...)
	}
}

func (f *facts) acceptsBoth() bool {
	a := strings.ToLower(f.req.accept)
	return strings.Contains(a, "*/*") || strings.Contains(a, "application/json") && strings.Contains(a, "text/event-stream")
}

// idleCut tells whether a stream looks broken off by an idle timeout: a gateway's status, or a reset, after a long silence.
func (f *facts) idleCut() bool {
	const idle = 20_000 // ms; no intermediary known cuts sooner
	silent := f.finished.Sub(f.started)
	if f.flow != nil && f.flow.first >= 0 {
		silent = f.flow.silent
	}
	if silent.Milliseconds() < idle {
		return false
	}
	return f.status == 502 || f.status == 504 || f.end == har.EndRST && f.status != 0
}

// saysSessionLost tells whether a text speaks of a session that is no longer there.
func saysSessionLost(text string) bool {
	t := strings.ToLower(text)
	return strings.Contains(t, "session") &&
		(strings.Contains(t, "expired") || strings.Contains(t, "not found") || strings.Contains(t, "invalid") ||
			strings.Contains(t, "unknown") || strings.Contains(t, "no valid"))
}
