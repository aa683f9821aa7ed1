package analyze

import (
	"fmt"
	"slices"
	"strings"
)

// headFindings are those that single header fields stand for.
var headFindings = []template{
	{"header-body-disagree", severe, byClient, "a header field of {method} says other than the body; servers of revision 2026-07-28 refuse that with 400 and -32020", "copy the field from the message that is sent"},
	{"header-mismatch-unfounded", warning, byServer, "{method} was refused with -32020 although its header fields and its body agree", "compare the fields with the body as they arrive: something between may rewrite them"},
	{"request-media-type", warning, byClient, "the Content-Type of {method} is not application/json", "send Content-Type: application/json with every POST"},
	{"media-type-refused", warning, byServer, "{method} was answered 415 although its Content-Type is application/json", "accept application/json, with parameters too"},
	{"smuggling-shape", severe, byServer, "the answer to {method} has a framing that two HTTP parsers read as different messages: {smuggled} (RFC 9112 sections 6.1 and 6.3)", "send one framing: Content-Length or Transfer-Encoding: chunked, once; look for a proxy that adds the other"},
	{"http-framing-request", warning, byClient, "{method} departs from RFC 9112: {reqframing}; strict HTTP parsers refuse it", "send one valid framing: Content-Length or chunked, lines ended by CRLF"},
	{"sse-compressed", warning, byServer, "the event stream that answers {method} is compressed with {encoding}: compressors and proxies hold events back until a block is full, and some clients do not decode a stream", "do not compress text/event-stream; add Cache-Control: no-transform where something between does it"},
	{"sse-length-declared", note, byServer, "the event stream that answers {method} declares its length: it was made whole before it was sent, so nothing of it can come early", "send event streams chunked and flush each event"},
	{"sse-body-is-json", severe, byServer, "the answer to {method} calls itself text/event-stream and is plain JSON, without data: lines: clients find no event in it", "say application/json, or write the message as an event"},
	{"json-body-is-sse", severe, byServer, "the answer to {method} calls itself {media} and is an event stream: clients cannot parse it as JSON", "say text/event-stream"},
	{"payload-too-large", severe, byServer, "{method}, {sent} bytes, was answered 413: the request is larger than the server, or what stands before it, takes", "raise the limit (nginx: client_max_body_size), or send less"},
	{"head-too-large", severe, byServer, "{method} was answered 431: its header fields are larger than the server takes", "raise the limit, or send fewer and shorter fields (cookies, tokens)"},
	{"rate-limited", warning, byServer, "{method} was answered 429, Retry-After: {retry}", "clients: wait as long as Retry-After says; servers: send it"},
	{"proxy-auth-required", severe, byIntermediary, "{method} was answered 407: a proxy before the server wants credentials", "give the client credentials for the proxy, or a way around it"},
	{"edge-refused", severe, byIntermediary, "{method} was answered {status} by {edge}, which stands before the server: {text}; that is a firewall or a check for robots, and no question of the server's credentials", "let the client pass there: by its address, its path or its User-Agent; a client of MCP cannot solve what is made for browsers"},
	{"host-refused", severe, byServer, "{method} was answered {status} because of its Host or Origin ({text}): that is a guard against DNS rebinding and no question of credentials", "add the host, or the origin, that clients use to the server's list of allowed ones"},
	{"cors-preflight-failed", severe, byServer, "a browser's preflight for {wanted} was answered {status} and does not allow it, so the browser never sends the request", "answer OPTIONS with 2xx, Access-Control-Allow-Origin, -Methods and -Headers that name what is asked for, without asking for credentials"},
	{"cors-origin-missing", severe, byServer, "the answer to {method} does not allow the page's origin, so the browser hides it from the client", "send Access-Control-Allow-Origin with every answer, errors too"},
	{"session-header-not-exposed", severe, byServer, "the server issued a session id that a browser hides from the client: Access-Control-Expose-Headers does not name Mcp-Session-Id", "send Access-Control-Expose-Headers: Mcp-Session-Id"},
}

// smugglingByRequest is smuggling-shape of a request.
var smugglingByRequest = template{"smuggling-shape", severe, byClient, "{method} has a framing that two HTTP parsers read as different messages: {smuggled}; that is the shape of request smuggling (RFC 9112 sections 6.1 and 6.3)", "send one framing: Content-Length or Transfer-Encoding: chunked, once; look for a proxy that adds the other"}

// contradictions are the faults by which two parsers find different ends of one message.
var contradictions = []string{
	"Content-Length and Transfer-Encoding", "conflicting Content-Length", "chunked twice", "Transfer-Encoding without chunked at its end", "Transfer-Encoding in HTTP/1.0",
}

// contradictory gives the places of the faults by which parsers disagree of where a message ends. A space before the colon
// of a framing field is one: some parsers drop that field.
func contradictory(all []faultAt) (list []faultAt) {
	for _, p := range all {
		if slices.Contains(contradictions, p.name) {
			list = append(list, p)
		}
	}
	return list
}

func namesOf(list []faultAt) string {
	var names []string
	for _, p := range list {
		if !slices.Contains(names, p.name) {
			names = append(names, p.name)
		}
	}
	return strings.Join(names, ", ")
}

func spotsOf(list []faultAt, but []faultAt) (at []spanned) {
	for _, p := range list {
		if !slices.Contains(but, p) {
			at = append(at, p.at)
		}
	}
	return at
}

// findFraming reports departures from RFC 9112 where they stand.
func (a *analysis) findFraming(f *facts) {
	// A response without chunked at its end that the connection's end frames is odd, not ambiguous.
	odd := contradictory(f.faultAt)
	if len(odd) > 0 && namesOf(odd) != "Transfer-Encoding without chunked at its end" && namesOf(odd) != "Transfer-Encoding in HTTP/1.0" {
		a.add(saying("smuggling-shape"), "", f, spotsOf(odd, nil)...)
	} else {
		odd = nil
	}
	if rest := spotsOf(f.faultAt, odd); len(rest) > 0 || len(f.faults) > 0 && len(f.faultAt) == 0 {
		a.add(saying("http-framing"), "", f, append(rest, f.oddPlaces()...)...)
	}
	odd = contradictory(f.reqFaultAt)
	if len(odd) > 0 {
		a.addRequest(smugglingByRequest, "", f, spotsOf(odd, nil)...)
	}
	if rest := spotsOf(f.reqFaultAt, odd); len(rest) > 0 {
		a.addRequest(saying("http-framing-request"), "", f, rest...)
	}
}

// oddPlaces are those of what the analysis finds odd in an answer's head that har/wire does not.
func (f *facts) oddPlaces() []spanned {
	if len(f.faultAt) > 0 {
		return nil
	}
	if slices.Contains(f.faults, spacedMedia) {
		return []spanned{f.head.answerMediaAt}
	}
	return []spanned{f.statusAt}
}

// findInHeads reports what the header fields of one exchange show.
func (a *analysis) findInHeads(f *facts) {
	a.findFraming(f)
	h := f.head
	if m := h.mismatch; m != nil {
		t := saying("header-body-disagree")
		t.message = fmt.Sprintf("%s of %s says %q, the body says %q; servers of revision 2026-07-28 refuse that with 400 and -32020", m.header, f.what(), excerpt(m.sent), excerpt(m.body))
		a.addRequest(t, "", f, m.at, m.bodyAt)
	} else if f.reply.codeOK && f.reply.code == codeHeaderMismatch && f.status/100 == 4 && h.versionAt.ok {
		a.add(saying("header-mismatch-unfounded"), "", f, f.proof()...)
	}
	switch {
	case f.status == 413:
		a.add(saying("payload-too-large"), "", f, f.statusAt)
	case f.status == 431:
		a.add(saying("head-too-large"), "", f, f.statusAt)
	case f.status == 429:
		a.add(saying("rate-limited"), "", f, f.statusAt)
	case f.status == 407:
		a.add(saying("proxy-auth-required"), "", f, f.statusAt)
	case f.edgeRefused():
		a.add(saying("edge-refused"), "", f, f.statusAt, f.head.edgeAt, f.bodyAt)
	case f.hostRefused():
		a.add(saying("host-refused"), "", f, f.statusAt, f.bodyAt)
	}
	if f.httpMethod == "POST" && f.class != oauth && f.req.json {
		a.findPostHead(f)
	}
	a.findStreamHead(f)
	a.findCORS(f)
}

// codeHeaderMismatch is HeaderMismatch of revision 2026-07-28.
const codeHeaderMismatch = -32020

// edgeRefused tells whether a refusal is that of what stands before the server: it says so in a field, or its page names it.
func (f *facts) edgeRefused() bool {
	if f.status != 403 && f.status != 401 || f.challenge != "" || f.head.edge == "" {
		return false
	}
	return f.head.barred || f.body == "html" && strings.Contains(strings.ToLower(f.reply.text), strings.ToLower(f.head.edge))
}

// hostRefused tells whether a refusal speaks of the request's Host or Origin, as SDKs that guard against DNS rebinding do.
func (f *facts) hostRefused() bool {
	if f.status != 403 && f.status != 421 && f.status != 400 {
		return false
	}
	t := strings.ToLower(f.reply.text)
	names := strings.Contains(t, "host header") || strings.Contains(t, "invalid host") || strings.Contains(t, "origin header") || strings.Contains(t, "invalid origin") || strings.Contains(t, "host not allowed") || strings.Contains(t, "origin not allowed")
	return names && (strings.Contains(t, "invalid") || strings.Contains(t, "not allowed") || strings.Contains(t, "forbidden") || strings.Contains(t, "missing"))
}

// findPostHead looks at what a POST says of itself.
func (a *analysis) findPostHead(f *facts) {
	switch plain := f.head.media == "application/json"; {
	case plain && f.status == 415:
		a.add(saying("media-type-refused"), "", f, f.statusAt)
	case !plain:
		t := saying("request-media-type")
		t.message = fmt.Sprintf("the Content-Type of %s is %s, not application/json", f.what(), orNone(f.head.media))
		if f.status == 415 || f.status == 400 {
			t.severity, t.message = severe, t.message+fmt.Sprintf(", and the server answered %d", f.status)
		}
		a.addRequest(t, "", f, f.head.mediaAt)
	}
}

// findStreamHead looks at what an answer says of its own form.
func (a *analysis) findStreamHead(f *facts) {
	h := f.head
	switch {
	case f.media == mediaStream && f.status/100 == 2 && f.encoding != "" && !strings.EqualFold(f.encoding, "identity"):
		t := saying("sse-compressed")
		if h.edge != "" {
			t.fault = byIntermediary
			t.message += "; it came through " + h.edge
		}
		a.add(t, "", f, h.codeAt)
	case f.media == mediaStream && f.status/100 == 2 && h.declared > 0 && f.flow != nil && f.events > 0:
		a.add(saying("sse-length-declared"), "", f, f.statusAt)
	}
	switch {
	case f.media == mediaStream && f.jsonInStream:
		a.add(saying("sse-body-is-json"), "", f, h.answerMediaAt, f.bodyAt)
	case f.media != mediaStream && f.status/100 == 2 && f.kind == replyNotJSON && looksLikeEvents(f.reply.text):
		a.add(saying("json-body-is-sse"), "", f, h.answerMediaAt, f.bodyAt)
	}
}

// looksLikeEvents tells whether a text begins as an event stream does.
func looksLikeEvents(text string) bool {
	first, rest, _ := strings.Cut(text, "\n")
	switch {
	case strings.HasPrefix(first, "data:"):
		return strings.Contains(first, "{")
	case strings.HasPrefix(first, "event:"), strings.HasPrefix(first, "id:"), strings.HasPrefix(first, ":"):
		return strings.Contains(rest, "data:")
	}
	return false
}

// findCORS looks at what keeps a browser from a request or from its answer (Fetch standard, CORS protocol).
func (a *analysis) findCORS(f *facts) {
	h := f.head
	if p := h.preflight; p != nil && f.answer == whole {
		if why := p.refusal(f.status, h.origin); why != "" {
			t := saying("cors-preflight-failed")
			t.message = fmt.Sprintf("a browser's preflight for %s was answered %d, %s: the browser never sends the request", p.method, f.status, why)
			a.add(t, "", f, f.statusAt)
		}
	}
	if h.cors != nil && f.class != other && f.status != 0 && !allowsOrigin(h.cors.allowOrigin, h.origin) {
		a.add(saying("cors-origin-missing"), "", f, f.statusAt)
	}
}

// refusal says why a browser takes the answer to a preflight for a refusal, "" if it does not.
func (p *preflight) refusal(status int, origin string) string {
	switch {
	case status/100 == 3:
		return "a redirect, which no preflight follows"
	case status/100 != 2:
		return "not with 2xx"
	case !allowsOrigin(p.allowOrigin, origin):
		return fmt.Sprintf("without allowing the origin %s", excerpt(origin))
	case p.method != "GET" && p.method != "HEAD" && p.method != "POST" && !inList(p.allowMethods, p.method):
		return "without allowing the method in Access-Control-Allow-Methods"
	}
	for name := range strings.SplitSeq(p.headers, ",") {
		if name = strings.TrimSpace(name); name != "" && !inList(p.allowHeads, name) {
			return fmt.Sprintf("without allowing %s in Access-Control-Allow-Headers", excerpt(name))
		}
	}
	return ""
}

func allowsOrigin(allowed, origin string) bool {
	return allowed == "*" || strings.EqualFold(allowed, origin)
}

// inList tells whether a comma-separated list has the name, or the wildcard, which does not stand for Authorization.
func inList(list, name string) bool {
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimSpace(item)
		if strings.EqualFold(item, name) || item == "*" && !strings.EqualFold(name, "authorization") {
			return true
		}
	}
	return false
}
