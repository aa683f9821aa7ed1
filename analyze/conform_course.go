package analyze

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/har/wire"
)

// requestRules are those that bind the client's side of an exchange.
func (s *spoken) requestRules(f *facts) {
	in := s.spokenBy(false, f)
	if f.class == initialize && s.negotiated != 0 {
		in = s.negotiated // the transport is that of the revision agreed on
	}
	if in == 0 {
		return
	}
	head := Evidence{f.n, "request", 0, min(f.reqBytes, maxHeadEvidence)}
	if f.transport == overHTTP {
		s.headerRules(f, in, head)
	}
	if f.req.batch {
		s.breaks("conform/batch", in, f, "", head)
	}
	s.orderRules(f, in, head)
	if f.conf == nil {
		return
	}
	for i := range f.conf.said {
		m := &f.conf.said[i]
		if m.byServer {
			continue
		}
		here := s.evidence(f, m.at, false)
		switch {
		case m.kind == wire.Result || m.kind == wire.Error:
			s.breaks("conform/client-response", in, f, "", here...)
			if m.rootURI.ok && s.asked[m.key] == "roots/list" {
				s.breaks("conform/root-uri", in, f, "", s.evidence(f, m.rootURI, false)...)
			}
		case m.method == "notifications/cancelled" && s.init != nil && m.key == s.init.req.key && s.init.req.key != "":
			s.breaks("conform/cancel-initialize", in, f, "", here...)
		}
	}
}

// maxHeadEvidence is how much of a request's head stands as evidence for a field that it lacks.
const maxHeadEvidence = 200

func (s *spoken) evidence(f *facts, at spanned, server bool) []Evidence {
	side := "request"
	if server {
		side = "response"
	}
	if !at.ok || at.len == 0 {
		return nil
	}
	return []Evidence{{f.n, side, at.off, at.len}}
}

// headerRules check the fields of the request's head.
func (s *spoken) headerRules(f *facts, in set, head Evidence) {
	r := &f.req
	get := f.class == getStream || f.class == resume
	switch {
	case f.httpMethod == "POST" && r.json && !f.acceptsBoth() && f.status != 406:
		s.breaks("conform/accept-post", in, f, "", head)
	case get && !strings.Contains(strings.ToLower(r.accept), "text/event-stream") && !strings.Contains(r.accept, "*/*"):
		s.breaks("conform/accept-get", in, f, "", head)
	}
	if r.era() == eraModern {
		s.metadataRules(f, in, head)
		return
	}
	if s.init == nil || f.n <= s.init.n || f.class == initialize || f.started.Before(s.init.until()) {
		return // before the answer there is nothing to name
	}
	if s.init.issued != "" && r.session == "" {
		s.breaks("conform/session-header", in, f, "", head)
	}
	switch {
	case r.header == "":
		s.breaks("conform/version-header", in, f, "", head)
	default:
		agreed := cmp.Or(revisionNames.word(s.negotiated), first(s.init.reply.versions))
		if agreed != "" && r.header != agreed {
			s.breaks("conform/version-header-negotiated", in, f, fmt.Sprintf("%s, and %s was negotiated", r.header, agreed), head)
		}
	}
}

// metadataRules check the fields that mirror the body of a modern request. For notifications there are none.
func (s *spoken) metadataRules(f *facts, in set, head Evidence) {
	r := &f.req
	if r.kind != "request" || f.conf == nil {
		return
	}
	orAbsent := func(v string) string {
		if v == "" {
			return "absent"
		}
		return v
	}
	if r.version != "" && r.header != r.version {
		s.breaks("conform/version-header-body", in, f, fmt.Sprintf("%s, and that of _meta is %s", orAbsent(r.header), r.version), head)
	}
	if f.conf.methodIs != r.method {
		s.breaks("conform/method-header", in, f, orAbsent(f.conf.methodIs), head)
	}
	named := r.method == "tools/call" || r.method == "prompts/get" || r.method == "resources/read"
	if named && f.conf.nameIs != f.conf.name {
		s.breaks("conform/name-header", in, f, orAbsent(f.conf.nameIs), head)
	}
}

// orderRules check what the request is beside what came before it.
func (s *spoken) orderRules(f *facts, in set, head Evidence) {
	r := &f.req
	asks := f.class == request || f.class == optional
	if asks && r.key != "" && (r.session != "" || f.transport == overStdio) && !f.superseded && f.followed == nil {
		key := pair{r.session, r.key}
		if prev := s.ids[key]; prev != nil && (prev.status/100 == 2 || prev.transport == overStdio && prev.answer == whole) {
			s.breaks("conform/request-id", in, f, r.id, head)
		} else if len(s.ids) < maxIDs {
			s.ids[key] = f
		}
	}
	if s.init == nil || f.n <= s.init.n || r.era() == eraModern {
		return
	}
	if asks && r.method != "ping" {
		if len(s.c.inited) == 0 {
			s.breaks("conform/initialized", in, f, "", head)
		}
		if f.started.Before(s.init.until()) {
			s.breaks("conform/request-too-soon", in, f, "", head)
		}
	}
	if want := serverCapability(r.method); want != "" && asks && s.init.conf != nil && s.init.conf.serverHas != nil && !slices.Contains(s.init.conf.serverHas, want) {
		if want == "completions" && in == revisionOf(revisionNames[0]) || s.saysMissing(f) {
			return
		}
		s.breaks("conform/server-capability", in, f, want, head)
	}
}

// maxIDs bounds the request ids kept of one connect.
const maxIDs = 1 << 16

// saysMissing tells whether another finding says already that the server does not have the method.
func (s *spoken) saysMissing(f *facts) bool {
	return slices.ContainsFunc(s.reported[f.n], func(i int) bool {
		id := s.known[i].ID
		return id == "optional-method-missing" || id == "session-or-method" || id == "optional-method-refused"
	})
}

// serverCapability gives the capability that a client's request rests on, "" for none.
func serverCapability(method string) string {
	switch method {
	case "completion/complete":
		return "completions"
	case "logging/setLevel":
		return "logging"
	case "resources/subscribe", "resources/unsubscribe":
		return "resources.subscribe"
	}
	name, _, _ := strings.Cut(method, "/")
	if name == "tools" || name == "prompts" || name == "resources" {
		return name
	}
	return ""
}

// clientCapability gives the capability that a server's request rests on, "" for none.
func clientCapability(method string) string {
	switch method {
	case "sampling/createMessage":
		return "sampling"
	case "elicitation/create":
		return "elicitation"
	case "roots/list":
		return "roots"
	}
	return ""
}

// answerRules are those that bind the server's side of an exchange.
func (s *spoken) answerRules(f *facts) {
	in := s.spokenBy(true, f)
	if in == 0 {
		return
	}
	if f.class == initialize && strings.ContainsFunc(f.issued, func(c rune) bool { return c < 0x21 || c > 0x7e }) {
		s.breaks("conform/session-id", in, f, "", s.evidence(f, f.head.issuedAt, true)...)
	}
	if f.batch && !f.req.batch && f.req.requests == 1 && !s.saysInvalid(f) {
		s.breaks("conform/batch-answer", in, f, "", s.evidence(f, f.bodyAt, true)...)
	}
	if f.req.era() == eraModern && f.kind == replyError && f.reply.code == codeMethodNotFound && f.status != 404 {
		s.breaks("conform/method-not-found", in, f, "", s.evidence(f, f.statusAt, true)...)
	}
	if f.req.era() == eraModern && f.kind == replyError && f.reply.code <= -32020 && f.reply.code >= -32022 && f.status != 400 && f.transport == overHTTP && f.class != probe {
		s.breaks("conform/error-status", in, f, strconv.FormatInt(f.reply.code, 10), s.evidence(f, f.statusAt, true)...)
	}
	s.streamRules(f, in)
	if f.conf == nil {
		return
	}
	s.toolRules(f, in)
	s.spokenRules(f, in)
}

// streamRules check the ids of events, and whether anybody looks at Origin.
func (s *spoken) streamRules(f *facts, in set) {
	if id := f.lastEventID; id != "" && f.class != resume {
		key := pair{f.req.session, id}
		switch {
		case s.events[key] != nil:
			s.breaks("conform/event-id", in, f, id, s.evidence(f, f.statusAt, true)...)
		case s.events == nil:
			s.events = map[pair]*facts{key: f}
		case len(s.events) < maxIDs:
			s.events[key] = f
		}
	}
	h := f.head
	if h.origin == "" || f.status/100 != 2 || f.httpMethod != "POST" || strings.EqualFold(h.origin, "null") {
		return
	}
	site, own := strings.TrimPrefix(h.origin, "http"), strings.TrimPrefix(originOf(f.url), "http")
	if strings.TrimPrefix(site, "s") != strings.TrimPrefix(own, "s") && !strings.EqualFold(h.allowed, h.origin) {
		s.breaks("conform/origin", in, f, h.origin, s.evidence(f, f.statusAt, true)...)
	}
}

func (s *spoken) saysInvalid(f *facts) bool {
	return slices.ContainsFunc(s.reported[f.n], func(i int) bool { return strings.HasSuffix(s.known[i].ID, "-invalid") })
}

// toolRules check what tools are called and give.
func (s *spoken) toolRules(f *facts, in set) {
	k := f.conf
	for _, name := range k.outputs {
		s.outputs[name] = true
	}
	if len(k.oddTools) > 0 {
		s.breaks("conform/tool-name", in, f, strings.Join(k.oddTools, ", "), s.evidence(f, f.reply.at, true)...)
	}
	if f.req.method != "tools/call" || k.content&hasContent == 0 || k.content&isError != 0 || f.kind != replyResult {
		return
	}
	switch {
	case k.content&hasStructured == 0 && s.outputs[k.name]:
		s.breaks("conform/structured-content", in, f, k.name, s.evidence(f, f.reply.at, true)...)
	case k.content&hasStructured != 0 && k.content&hasText == 0:
		s.breaks("conform/structured-text", in, f, k.name, s.evidence(f, f.reply.at, true)...)
	}
}

// spokenRules check each message of the server.
func (s *spoken) spokenRules(f *facts, in set) {
	if len(f.conf.said) == 0 {
		return
	}
	progress := map[string]float64{}
	first := true
	for i := range f.conf.said {
		m := &f.conf.said[i]
		if !m.byServer {
			continue
		}
		here := s.evidence(f, m.at, true)
		switch m.kind {
		case wire.Request:
			s.breaks("conform/server-request", in, f, m.method, here...)
			if want := clientCapability(m.method); want != "" && s.init != nil && s.init.conf != nil && s.init.conf.clientHas != nil && !slices.Contains(s.init.conf.clientHas, want) {
				s.breaks("conform/client-capability", in, f, m.method, here...)
			}
		case wire.Notification:
			s.noticeRules(f, m, in, progress, here)
			if first && f.req.method == "subscriptions/listen" && m.method != "notifications/subscriptions/acknowledged" {
				s.breaks("conform/subscription-acknowledged", in, f, m.method, here...)
			}
		case wire.Error:
			s.codeRule(f, m, in, here)
		}
		first = false
		if (m.kind == wire.Result || m.kind == wire.Error) && f.class == getStream && f.transport == overHTTP && f.status == 200 && f.media == mediaStream {
			s.breaks("conform/response-on-stream", in, f, "", here...)
		}
		if m.values > 0 {
			s.breaks("conform/completion-values", in, f, strconv.Itoa(m.values), here...)
		}
	}
}

func (s *spoken) noticeRules(f *facts, m *said, in set, progress map[string]float64, here []Evidence) {
	switch m.method {
	case "notifications/message":
		if s.init != nil && s.init.conf != nil && s.init.conf.serverHas != nil && !slices.Contains(s.init.conf.serverHas, "logging") {
			s.breaks("conform/logging-capability", in, f, "", here...)
		}
		if f.req.era() == eraModern && !f.conf.logLevel {
			s.breaks("conform/log-level", in, f, "", here...)
		}
	case "notifications/progress":
		if last, ok := progress[m.token]; ok && m.progress <= last {
			s.breaks("conform/progress-increases", in, f, fmt.Sprintf("from %g to %g", last, m.progress), here...)
		}
		progress[m.token] = m.progress
		if (s.init != nil || f.req.era() == eraModern) && !s.tokens[m.token] && f.req.requests == 1 {
			s.breaks("conform/progress-token", in, f, strings.TrimPrefix(m.token, `"`), here...)
		}
	}
}

// codeRule checks an error's code against those that 2026-07-28 leaves (basic, Error Codes).
func (s *spoken) codeRule(f *facts, m *said, in set, here []Evidence) {
	defined := m.code >= -32022 && m.code <= -32020
	if m.code == -32002 || m.code >= -32099 && m.code <= -32020 && !defined {
		s.breaks("conform/error-code", in, f, strconv.FormatInt(m.code, 10), here...)
	}
}
