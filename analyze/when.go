package analyze

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/har"
)

// A When is a rule's conditions. All that are stated must hold; of a list, one.
type When struct {
	Class     []string `json:"class,omitempty"`     // what the exchange is for
	Method    []string `json:"method,omitempty"`    // of JSON-RPC, such as tools/list
	Transport []string `json:"transport,omitempty"` // streamable-http, http+sse, stdio
	Answer    []string `json:"answer,omitempty"`    // how much of an answer came
	Status    []string `json:"status,omitempty"`    // "404", "5xx", "502-599"
	Media     []string `json:"media,omitempty"`     // json, event-stream, other, none
	Reply     []string `json:"reply,omitempty"`     // what the answer says to the request
	Via       []string `json:"via,omitempty"`       // where the reply stood: body, event, stream
	Event     []string `json:"event,omitempty"`     // how the event with the reply was ended and named
	Endpoint  []string `json:"endpoint,omitempty"`  // what an HTTP+SSE stream said of where to send messages
	Era       []string `json:"era,omitempty"`       // of the request: legacy, modern
	Offer     []string `json:"offer,omitempty"`     // how the versions named relate to the policy's
	List      []string `json:"list,omitempty"`      // what data.supported of a -32022 is: filled, absent, empty, malformed
	Code      []int64  `json:"code,omitempty"`      // the readable error code of the answer
	Encoding  []string `json:"encoding,omitempty"`  // Content-Encoding
	Framing   []string `json:"framing,omitempty"`   // departures from RFC 9112 in the answer, one of which is there

	Interim  []string `json:"interim,omitempty"`   // status of a 1xx that came before the final response
	HeadOver int      `json:"head_over,omitempty"` // the answer's head has more bytes

	Accepted        *bool `json:"accepted,omitempty"`          // the result that was asked for; of initialize, at a version that the client takes
	Session         *bool `json:"session,omitempty"`           // the request carried a session id
	Again           *bool `json:"again,omitempty"`             // the corrective retry, or the repeated call
	ProbeID         *bool `json:"probe_id,omitempty"`          // the id is that of a TypeScript probe
	Followed        *bool `json:"followed,omitempty"`          // the client followed this redirect
	Elsewhere       *bool `json:"elsewhere,omitempty"`         // the answer redirects to another origin
	OtherSession    *bool `json:"other_session,omitempty"`     // the answer names another session than the request
	Challenged      *bool `json:"challenged,omitempty"`        // WWW-Authenticate stands in the answer
	NamesLegacy     *bool `json:"names_legacy,omitempty"`      // a version of the legacy era is among those named
	ReadableCode    *bool `json:"readable_code,omitempty"`     // an error code can be read, also of an invalid message
	BadEventFirst   *bool `json:"bad_event_first,omitempty"`   // an event that is no valid message came before the reply
	Batch           *bool `json:"batch,omitempty"`             // the body is an array
	IDNull          *bool `json:"id_null,omitempty"`           // the reply's id is null
	Typed           *bool `json:"typed,omitempty"`             // the DiscoverResult says what it is and how long it holds as its schema has it
	RPC20           *bool `json:"rpc20,omitempty"`             // jsonrpc is exactly "2.0"
	SaysSessionGone *bool `json:"says_session_gone,omitempty"` // the error's text says so
	ToolError       *bool `json:"tool_error,omitempty"`        // isError is true
	Resumable       *bool `json:"resumable,omitempty"`         // an event id came
	Decoded         *bool `json:"decoded,omitempty"`           // the body's Content-Encoding could be undone
	Mislabelled     *bool `json:"mislabelled,omitempty"`       // the body is plain whatever Content-Encoding says
}

// A matcher is a When in the form in which it is evaluated. A mask of 0 means any.
type matcher struct {
	compiled bool
	asked    flagSet // flags that are asked for
	wanted   flagSet // those of them that must be true
	class    set

	transport, answer, media, reply, via, event, endpoint, era, offer, list set

	status, interim   []statusRange
	headOver          int
	codes             []int64
	methods           []string
	encoding, framing []string
	accepted          har.Tri
}

type statusRange struct{ from, to int }

func (w *When) compile() (matcher, error) {
	m := matcher{
		compiled: true, headOver: w.HeadOver, codes: w.Code, methods: w.Method, encoding: w.Encoding, framing: w.Framing, accepted: tri(w.Accepted),
	}
	if len(w.Class) == 0 {
		return m, fmt.Errorf("when: want a class")
	}
	for i, b := range [...]*bool{w.Session, w.Again, w.ProbeID, w.Followed, w.RPC20, w.SaysSessionGone, w.ToolError, w.Resumable, w.Decoded,
		w.Mislabelled, w.Elsewhere, w.OtherSession, w.Challenged, w.NamesLegacy, w.ReadableCode, w.BadEventFirst, w.Batch, w.IDNull, w.Typed} {
		if b != nil {
			m.asked |= 1 << i
		}
		if b != nil && *b {
			m.wanted |= 1 << i
		}
	}
	for _, c := range []struct {
		name  string
		words names
		list  []string
		to    *set
	}{
		{"class", classNames, w.Class, &m.class}, {"transport", transportNames, w.Transport, &m.transport},
		{"answer", answerNames, w.Answer, &m.answer}, {"media", mediaNames, w.Media, &m.media},
		{"reply", replyNames, w.Reply, &m.reply}, {"via", viaNames, w.Via, &m.via},
		{"event", eventNames, w.Event, &m.event}, {"endpoint", endpointNames, w.Endpoint, &m.endpoint},
		{"era", eraNames, w.Era, &m.era}, {"offer", offerNames, w.Offer, &m.offer}, {"list", listNames, w.List, &m.list},
	} {
		for _, word := range c.list {
			i := slices.Index(c.words, word)
			if i < 0 {
				return m, fmt.Errorf("when: %s %q is none of %s", c.name, word, strings.Join(c.words, ", "))
			}
			*c.to |= 1 << i
		}
	}
	var err error
	if m.status, err = parseStatuses(w.Status); err != nil {
		return m, err
	}
	m.interim, err = parseStatuses(w.Interim)
	return m, err
}

func parseStatuses(list []string) ([]statusRange, error) {
	var out []statusRange
	for _, s := range list {
		r, err := parseStatus(s)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func tri(b *bool) har.Tri {
	switch {
	case b == nil:
		return har.Unknown
	case *b:
		return har.True
	}
	return har.False
}

func parseStatus(s string) (statusRange, error) {
	from, to, isRange := strings.Cut(s, "-")
	if d, ok := strings.CutSuffix(s, "xx"); ok && len(d) == 1 {
		from, to, isRange = d+"00", d+"99", true
	}
	if !isRange {
		to = from
	}
	a, err1 := strconv.Atoi(from)
	b, err2 := strconv.Atoi(to)
	if err1 != nil || err2 != nil || a < 100 || b > 999 || a > b {
		return statusRange{}, fmt.Errorf("when: status %q: want a status, a range of two or a class such as 5xx", s)
	}
	return statusRange{a, b}, nil
}

// eval tells whether the conditions hold: har.Unknown if that hangs on something that was not captured.
func (m *matcher) eval(f *facts, p *Policy) har.Tri { return m.evalWith(f, p, f.truths()) }

// evalWith is eval with the flags of the facts.
func (m *matcher) evalWith(f *facts, p *Policy, flags flagSet) har.Tri {
	if m.class&(1<<f.class) == 0 || m.methods != nil && !slices.Contains(m.methods, f.req.method) {
		return har.False
	}
	if (flags^m.wanted)&m.asked != 0 {
		return har.False
	}
	res := m.evalSets(f)
	if res == har.False || m.evalTexts(f) == har.False {
		return har.False
	}
	if m.status != nil {
		res = and(res, m.evalStatus(f))
	}
	if m.codes != nil && res != har.False {
		res = and(res, m.evalCode(f))
	}
	if m.offer != 0 && res != har.False {
		res = and(res, known(m.offer, p.offer(f), anyOffer))
	}
	switch m.accepted {
	case har.True:
		res = and(res, f.accepted(p))
	case har.False:
		res = and(res, not(f.accepted(p)))
	}
	return res
}

// accepted tells whether the answer is the result that was asked for; to initialize, one that the policy's client goes on
// with.
func (f *facts) accepted(p *Policy) har.Tri {
	via := known(viaBody|viaEvent|viaStream, f.via, anyVia)
	if f.status == 202 {
		via = known(viaStream, f.via, anyVia) // nobody reads the body of a 202
	}
	res := and(known(replyResult, f.kind, anyReply), via)
	if res != har.False && f.class == initialize {
		res = and(res, known(offerCommon, p.offer(f), anyOffer))
	}
	return res
}

func not(t har.Tri) har.Tri {
	switch t {
	case har.True:
		return har.False
	case har.False:
		return har.True
	}
	return har.Unknown
}

// evalSets compares the facts that are sets.
func (m *matcher) evalSets(f *facts) har.Tri {
	res := known(m.answer, f.answer, anyAnswer)
	if res == har.False {
		return res
	}
	if m.media != 0 {
		res = and(res, known(m.media, f.media, anyMedia))
	}
	if m.reply != 0 {
		res = and(res, known(m.reply, f.kind, anyReply))
	}
	if m.via != 0 {
		res = and(res, known(m.via, f.via, anyVia))
	}
	if m.transport|m.event|m.endpoint != 0 {
		res = and(res, known(m.transport, f.transport, anyTransport))
		res = and(res, known(m.event, f.eventEnd, anyEvent))
		res = and(res, known(m.endpoint, f.endpoint, anyEndpoint))
	}
	if m.list != 0 {
		res = and(res, known(m.list, max(f.reply.list, listFilled), anyList))
	}
	if m.era != 0 && res != har.False {
		res = and(res, known(m.era, f.req.era(), anyEra))
	}
	return res
}

// known compares what a fact may be with what a condition wants.
func known(want, fact, anything set) har.Tri {
	if fact == 0 {
		fact = anything
	}
	switch {
	case want == 0 || fact&^want == 0:
		return har.True
	case fact&want == 0:
		return har.False
	}
	return har.Unknown
}

func and(a, b har.Tri) har.Tri {
	switch {
	case a == har.False || b == har.False:
		return har.False
	case a == har.Unknown || b == har.Unknown:
		return har.Unknown
	}
	return har.True
}

func (m *matcher) evalStatus(f *facts) har.Tri {
	if m.status == nil {
		return har.True
	}
	if f.transport == overStdio {
		return har.False
	}
	if f.status == 0 {
		if f.answer&^(unreachable|nothing|malformed|silence) != 0 {
			return har.Unknown
		}
		return har.False
	}
	if inRanges(m.status, f.status) {
		return har.True
	}
	return har.False
}

func inRanges(list []statusRange, status int) bool {
	return slices.ContainsFunc(list, func(r statusRange) bool { return r.from <= status && status <= r.to })
}

// evalCode compares the error code that a client reads. At an error status any readable code counts, else only that of a
// reply; an event that is no valid message has none.
func (m *matcher) evalCode(f *facts) har.Tri {
	if f.kind&(f.kind-1) != 0 || f.kind == 0 {
		return har.Unknown
	}
	if f.readsCode() && f.reply.codeOK && slices.Contains(m.codes, f.reply.code) {
		return har.True
	}
	return har.False
}

// readsCode tells whether a client reads the error code where it stands.
func (f *facts) readsCode() bool {
	return f.status >= 300 || f.kind == replyError || f.kind == replyInvalid && f.media != mediaStream
}

// A flagSet has one bit for each condition that is true or false and always known, in the order of compile.
type flagSet uint32

// truths gives those that are true.
func (f *facts) truths() flagSet {
	var all flagSet
	for i, is := range [...]bool{f.req.session != "", f.again, f.req.probeID, f.followed != nil, f.reply.rpc20, f.reply.gone, f.reply.toolErr, f.eventID,
		f.undecoded == "", f.mislabelled, f.elsewhere(), f.otherSession(), f.challenge != "", f.namesLegacy(), f.reply.codeOK, f.badEvent, f.batch,
		f.reply.idState == "null", f.reply.typed} {
		if is {
			all |= 1 << i
		}
	}
	return all
}

// otherSession tells whether the answer names another session than the request.
func (f *facts) otherSession() bool {
	return f.issued != "" && f.req.session != "" && f.issued != f.req.session
}

// elsewhere tells whether the answer redirects to another origin.
func (f *facts) elsewhere() bool { return f.location != "" && originOf(f.location) != f.origin }

// namesLegacy tells whether a version of the legacy era is among those that the server names.
func (f *facts) namesLegacy() bool {
	return f.reply.named && slices.ContainsFunc(f.reply.versions, func(v string) bool { return !modern(v) })
}

func (m *matcher) evalTexts(f *facts) har.Tri {
	if m.headOver > 0 && f.headBytes <= m.headOver {
		return har.False
	}
	if m.interim != nil && !slices.ContainsFunc(f.interim, func(status int) bool { return inRanges(m.interim, status) }) {
		return har.False
	}
	if m.encoding != nil && !slices.Contains(m.encoding, strings.ToLower(f.encoding)) {
		return har.False
	}
	if m.framing != nil && !slices.ContainsFunc(m.framing, func(s string) bool { return slices.Contains(f.faults, s) }) {
		return har.False
	}
	return har.True
}

// offer says how the versions that the server names relate to those that the policy's client speaks.
func (p *Policy) offer(f *facts) set {
	m := &f.reply
	usable, mine := m.named, p.Modern
	switch {
	case f.kind == 0 || f.kind&(f.kind-1) != 0:
		return anyOffer
	case f.class == initialize && m.kind == replyResult:
		usable, mine = usable && m.init, p.Legacy
	case m.kind == replyResult:
		usable = usable && m.discover
	}
	if !usable {
		return offerUnusable
	}
	best := offerLegacy
	for _, v := range m.versions {
		if slices.Contains(mine, v) {
			return offerCommon
		}
		if modern(v) {
			best = offerModern
		}
	}
	return best
}

// version gives the version that both sides speak.
func (p *Policy) version(f *facts) string {
	for _, v := range p.Modern {
		if slices.Contains(f.reply.versions, v) {
			return v
		}
	}
	return ""
}
