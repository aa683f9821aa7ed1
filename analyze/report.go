package analyze

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/har"
)

// Format is the first member of a report.
const Format = "mcptap-analysis/1"

// A Report is what `analyze --format json` prints. Its order is stable: conversations by their first exchange, exchanges
// by number, findings by their first exchange.
type Report struct {
	Format        string         `json:"format"`
	Conversations []Conversation `json:"conversations"`
	Exchanges     []Exchange     `json:"exchanges"`
	Findings      []Finding      `json:"findings"`
}

// A Conversation is all that one client exchanged with one endpoint.
type Conversation struct {
	ID        int                   `json:"id"`
	Transport string                `json:"transport"` // streamable-http, http+sse, stdio
	Endpoint  string                `json:"endpoint"`
	Client    Client                `json:"client"`
	Server    Server                `json:"server"`
	Connects  int                   `json:"connects"` // how often the client began anew, the first time included
	Observed  Observed              `json:"observed"`
	Predicted map[string]Prediction `json:"predicted"` // by policy
	History   *History              `json:"history"`   // sessions, streams, cancellations and the like
	Course    []Choice              `json:"course"`    // where the client had to choose, by exchange; the first hundred

	// Others are the policies that predict another outcome than the client's own policy, or than recommended where the client
	// was not recognised, by outcome. Absent where policies were asked for by name.
	Others map[Outcome][]string `json:"others,omitempty"`
}

// A Client is who asked, as far as the traffic tells.
type Client struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	SDK     string `json:"sdk"`
	Host    string `json:"host"`
	Policy  string `json:"policy"` // "" if no policy is known for it
	Why     string `json:"why"`

	Confidence Confidence `json:"confidence"`
}

// A Server is who answered: as it calls itself, and as far as the traffic tells.
type Server struct {
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	SDK        string     `json:"sdk"`
	Confidence Confidence `json:"confidence"` // of SDK
	Why        string     `json:"why"`
}

// An Exchange is one exchange and what each policy makes of it. Its observation is put together when it is asked for.
type Exchange struct {
	N            int
	File         string // for callers that analyze several files
	Conversation int    // 0 if it belongs to none
	At           int64  // when its request began, since the first exchange's did; milliseconds
	Class        string
	Verdicts     map[string]Verdict // by policy; exchanges share maps, so do not change them

	facts *facts
}

// Observation says what happened. It is made anew by each call.
func (x *Exchange) Observation() *Observation {
	o := x.facts.observation()
	return &o
}

// MarshalJSON writes the exchange as the report has it.
func (x *Exchange) MarshalJSON() ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // whoever writes the report chooses
	err := enc.Encode(struct {
		N            int                `json:"n"`
		File         string             `json:"file,omitempty"`
		Conversation int                `json:"conversation"`
		At           int64              `json:"at_ms"`
		Class        string             `json:"class"`
		Observation  *Observation       `json:"observation"`
		Verdicts     map[string]Verdict `json:"verdicts"`
	}{x.N, x.File, x.Conversation, x.At, x.Class, x.Observation(), x.Verdicts})
	return text.Bytes(), err
}

// An Observation is what happened, without any policy's view of it.
type Observation struct {
	Transport  string          `json:"transport"`
	Method     string          `json:"method"` // HTTP
	URL        string          `json:"url"`    // without its query
	RPCMethod  string          `json:"rpc_method,omitempty"`
	RPCID      json.RawMessage `json:"rpc_id,omitempty"`
	ProbeID    bool            `json:"probe_id,omitempty"`
	Batch      bool            `json:"batch,omitempty"`
	Era        string          `json:"era,omitempty"`              // of the request: legacy, modern
	Version    string          `json:"protocol_version,omitempty"` // in the body
	Header     string          `json:"protocol_header,omitempty"`  // MCP-Protocol-Version
	Session    string          `json:"session,omitempty"`          // carried by the request
	LastEvent  string          `json:"last_event_id,omitempty"`    // carried by the request
	Retry      bool            `json:"retry,omitempty"`            // of a probe with another version, or of a call in a new session
	FollowedBy int             `json:"followed_by,omitempty"`      // the exchange that followed this redirect
	Cause      int             `json:"cause,omitempty"`            // of an exchange of OAuth: the exchange whose refusal of credentials it follows from
	Answer     string          `json:"answer"`                     // how much came; "" if that cannot be told
	Complete   *bool           `json:"complete"`
	End        string          `json:"end"`
	Status     int             `json:"status,omitempty"`
	MediaType  string          `json:"media_type,omitempty"`
	Encoding   string          `json:"content_encoding,omitempty"`
	Undecoded  string          `json:"undecoded,omitempty"`
	Issued     string          `json:"session_issued,omitempty"`
	Location   string          `json:"location,omitempty"`
	Challenge  string          `json:"www_authenticate,omitempty"`
	Body       string          `json:"body,omitempty"` // empty, json, html, text, encoded, event-stream
	Events     int             `json:"events,omitempty"`
	Comments   int             `json:"comments,omitempty"`
	EventID    string          `json:"event_id,omitempty"` // the last one
	Endpoint   string          `json:"endpoint_event,omitempty"`
	Reply      string          `json:"reply"`                    // what the answer says to the request; "" if that cannot be told
	Via        string          `json:"reply_via,omitempty"`      // body, event, stream
	ReplyIn    int             `json:"reply_exchange,omitempty"` // whose stream carried it
	ReplyEvent string          `json:"reply_event,omitempty"`    // what is odd about the event that carried it
	Why        string          `json:"invalid_because,omitempty"`
	Error      *ErrorFact      `json:"error,omitempty"`
	Versions   []string        `json:"versions,omitempty"` // that the server named
	ToolError  bool            `json:"tool_error,omitempty"`
	Framing    []string        `json:"framing,omitempty"` // departures from RFC 9112
	Extra      int             `json:"extra_bytes,omitempty"`
	Late       int             `json:"late_bytes,omitempty"` // that came after the client had left
	FirstByte  *int64          `json:"first_byte_ms,omitempty"`
	Duration   int64           `json:"duration_ms"`
	Request    int             `json:"request_bytes"`
	Response   int             `json:"response_bytes"`
	Notes      []string        `json:"notes,omitempty"`
}

// An ErrorFact is the readable error member of an answer.
type ErrorFact struct {
	Code    *int64 `json:"code,omitempty"` // nil if it is no integer
	Message string `json:"message"`
	ID      string `json:"id"` // present, null, absent
}

func (a *analysis) report() *Report {
	r := &Report{Format: Format, Conversations: []Conversation{}, Exchanges: []Exchange{}, Findings: []Finding{}}
	for _, v := range a.conversations {
		r.Conversations = append(r.Conversations, a.conversation(v))
	}
	r.Exchanges = slices.Grow(r.Exchanges, len(a.facts))
	for _, f := range a.facts {
		r.Exchanges = append(r.Exchanges, a.exchange(f))
	}
	r.Findings = append(r.Findings, a.find()...)
	return r
}

func (a *analysis) conversation(v *conversation) Conversation {
	c := v.first()
	out := Conversation{
		ID: v.id, Transport: transportNames.word(c.transport), Endpoint: c.endpoint, Connects: len(v.connects),
		Client: Client{c.info.name, c.info.version, v.client.sdk, v.client.host, v.client.policy, v.client.why, v.client.confidence},
		Server: Server{v.server.name, v.server.version, v.served.sdk, v.served.confidence, v.served.why}, Observed: c.observed(), Predicted: map[string]Prediction{},
	}
	for _, p := range a.policiesFor(v) {
		out.Predicted[p.Name] = p.predict(c)
	}
	out.Course = a.course(v)
	out.History = a.history(v)
	if a.chosen == nil {
		out.Others = othersThan(c, cmp.Or(v.client.policy, Recommended))
	}
	return out
}

// othersThan gives, by outcome, the policies that predict another one than the named policy does. Those that cannot tell
// are left out.
func othersThan(c *connect, name string) map[Outcome][]string {
	own := policies().byName[name].predict(c).Outcome
	var others map[Outcome][]string
	for _, p := range Policies() {
		if got := p.predict(c).Outcome; got != own && got != Unknown && own != Unknown {
			if others == nil {
				others = map[Outcome][]string{}
			}
			others[got] = append(others[got], p.Name)
		}
	}
	return others
}

var noVerdicts = map[string]Verdict{}

func (a *analysis) exchange(f *facts) Exchange {
	x := Exchange{N: f.n, At: f.started.Sub(a.facts[0].started).Milliseconds(), Class: f.class.String(), Verdicts: noVerdicts, facts: f}
	var v *conversation
	if f.connect != nil && f.connect.conv != nil {
		v = f.connect.conv
		x.Conversation = v.id
	}
	if f.class != other {
		x.Verdicts = a.verdicts(f, a.policiesFor(v))
	}
	return x
}

// A judged is a set of verdicts with the map that exchanges which have no others share.
type judged struct {
	policies []*Policy
	verdicts []Verdict
	byName   map[string]Verdict
}

// verdicts judges an exchange. Most are judged as the last one of their class was.
func (a *analysis) verdicts(f *facts, policies []*Policy) map[string]Verdict {
	last := &a.lastJudged[f.class]
	same := slices.Equal(last.policies, policies)
	last.policies = policies
	last.verdicts = slices.Grow(last.verdicts[:0], len(policies))[:len(policies)]
	for i, p := range policies {
		v := p.judge(f)
		same = same && last.verdicts[i] == v
		last.verdicts[i] = v
	}
	if !same {
		last.byName = make(map[string]Verdict, len(policies))
		for i, p := range policies {
			last.byName[p.Name] = last.verdicts[i]
		}
	}
	return last.byName
}

func (f *facts) observation() Observation {
	o := Observation{
		Transport: transportNames.word(f.transport), Method: f.httpMethod, URL: f.url, RPCMethod: f.req.method,
		ProbeID: f.req.probeID, Batch: f.req.batch, Version: f.req.version, Header: f.req.header, Session: f.req.session,
		LastEvent: f.req.lastEvent, Retry: f.again, Answer: answerNames.word(f.answer), End: string(f.end), Status: f.status,
		MediaType: f.mediaType, Encoding: f.encoding, Undecoded: f.undecoded, Issued: f.issued, Location: f.location,
		Challenge: f.challenge, Body: f.body, Events: f.events, Comments: f.comments, EventID: f.lastEventID,
		Endpoint: f.endpointURL, ReplyIn: f.replyN, Why: f.reply.why, Versions: f.reply.versions, ToolError: f.reply.toolErr,
		Framing: f.faults, Late: f.late, Duration: f.finished.Sub(f.started).Milliseconds(), Request: f.reqBytes,
		Response: f.respBytes, Notes: f.notes,
	}
	if !strings.HasSuffix(f.req.id, "…") || json.Valid([]byte(f.req.id)) { // else it was clipped
		o.RPCID = json.RawMessage(f.req.id)
	}
	if f.class != other && f.class != oauth && f.req.kind != "" {
		o.Era = eraNames.word(f.req.era())
	}
	if f.req.requests > 0 {
		o.Reply = replyNames.word(f.kind)
		if f.via != viaNothing {
			o.Via = viaNames.word(f.via)
		}
		if f.eventEnd != eventPlain {
			o.ReplyEvent = eventNames.word(f.eventEnd)
		}
	}
	switch f.complete {
	case har.True, har.False:
		whole := f.complete == har.True
		o.Complete = &whole
	}
	if f.followed != nil {
		o.FollowedBy = f.followed.n
	}
	o.Cause = f.cause
	if f.extra.ok {
		o.Extra = f.extra.len
	}
	if f.firstByte >= 0 {
		ms := f.firstByte.Milliseconds()
		o.FirstByte = &ms
	}
	o.Error = f.reply.errorFact()
	return o
}

func (m *message) errorFact() *ErrorFact {
	if !m.codeOK && !m.errAt.ok && m.kind != replyError {
		return nil
	}
	e := &ErrorFact{Message: m.text, ID: m.idState}
	if m.codeOK {
		e.Code = &m.code
	}
	return e
}
