package analyze

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/har"
)

// A Finding is what a person should read: whose fault it is, what it cost, what to do, and the bytes that prove it.
type Finding struct {
	ID        string     `json:"id"`
	Severity  string     `json:"severity"` // error, warning, note
	Fault     string     `json:"fault"`    // client, server, intermediary, capture, unknown
	Exchanges []int      `json:"exchanges"`
	Message   string     `json:"message"`
	Fix       string     `json:"fix"`
	Rule      string     `json:"rule"` // "" if no rule of a policy is behind it
	Cost      Cost       `json:"cost"`
	Evidence  []Evidence `json:"evidence"`
}

// A Cost is what it cost the client.
type Cost struct {
	MS       int64 `json:"ms"`       // waited
	Requests int   `json:"requests"` // sent in vain or once more
}

// Evidence is a run of an exchange's raw bytes.
type Evidence struct {
	Exchange int    `json:"exchange"`
	Side     string `json:"side"` // request, response
	Offset   int    `json:"offset"`
	Length   int    `json:"length"`
}

// Severities: an error is something that is wrong and had a consequence or will have one with some client; a warning is
// wrong or costs something; a note is worth knowing.
const (
	severe  = "error"
	warning = "warning"
	note    = "note"
)

const (
	byClient       = "client"
	byServer       = "server"
	byIntermediary = "intermediary"
	byCapture      = "capture"
	byNobody       = "unknown"
)

// A template is what a finding says; in texts, words in braces are filled in (facts.say).
type template struct {
	id, severity, fault, message, fix string
}

// otherFindings are those that no single rule stands for.
var otherFindings = slices.Concat(byteFindings, headFindings, holdFindings, idFindings, authFindings, courseFindings)

// FindingIDs lists the IDs that findings can have, sorted.
func FindingIDs() []string {
	var ids []string
	for _, t := range ruleFindings {
		ids = append(ids, t.id)
	}
	for _, t := range besideFindings {
		ids = append(ids, t.id)
	}
	for _, t := range otherFindings {
		ids = append(ids, t.id)
	}
	for _, t := range stdioFindings {
		ids = append(ids, t.id)
	}
	for _, t := range notHTTPBy {
		ids = append(ids, t.id)
	}
	for _, t := range requestNotHTTPBy[alienTLS:] {
		ids = append(ids, t.id)
	}
	for _, t := range conformanceTemplates() {
		ids = append(ids, t.id)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// find collects all findings: those that a rule of recommended stands for, those of one exchange's bytes, and those that
// only the course of a conversation shows.
func (a *analysis) find() []Finding {
	p := policies().byName[Recommended]
	a.findIdle()
	for _, f := range a.facts {
		if f.transport == overStdio {
			a.findStdio(p, f)
			continue
		}
		if f.class != other {
			a.findByRule(p, f)
		}
		a.findInBytes(f)
		a.findInCapture(f)
		a.findRequestNotHTTP(f)
	}
	for _, v := range a.conversations {
		a.findHandshake(v)
		a.findSessions(v)
		a.findLoops(v)
		a.findDifferences(v)
		a.findStreamLoop(v)
		a.findTimers(v)
		a.findStale(v)
		a.findRestarts(v)
		for _, c := range v.connects {
			a.findExchange(c)
			a.findSecondError(c)
			a.findSessionIDs(c)
			a.findMetadata(c)
			a.findNothingOffered(c)
		}
	}
	a.findHolds()
	a.findBridges()
	a.findings = a.withConformance(merge(withoutEffects(a.findings), a.numbered), conformanceRules())
	for i := range a.findings {
		a.findings[i].Message = oneLine(a.findings[i].Message)
	}
	slices.SortStableFunc(a.findings, func(x, y Finding) int {
		return cmp.Or(cmp.Compare(x.Exchanges[0], y.Exchanges[0]), strings.Compare(x.ID, y.ID))
	})
	return a.findings
}

// Bounds of one finding.
const (
	maxExchanges = 100 // listed
	maxEvidence  = 8
)

// merge makes one finding of those that say the same of several exchanges of one conversation: same ID, method and status.
func merge(all []Finding, numbered func(int) *facts) []Finding {
	type key struct {
		id, method, severity, fault string
		conv                        *conversation
		status                      int
	}
	at := map[key]int{}
	more := map[int]int{}
	var out []Finding
	for _, x := range all {
		f := numbered(x.Exchanges[0])
		k := key{x.ID, f.what(), x.Severity, x.Fault, nil, f.status}
		if f.connect != nil {
			k.conv = f.connect.conv
		}
		i, ok := at[k]
		if !ok {
			at[k] = len(out)
			out = append(out, x)
			continue
		}
		y := &out[i]
		more[i]++
		y.Cost.MS += x.Cost.MS
		y.Cost.Requests += x.Cost.Requests
		for _, n := range x.Exchanges {
			if len(y.Exchanges) < maxExchanges && !slices.Contains(y.Exchanges, n) {
				y.Exchanges = append(y.Exchanges, n)
			}
		}
		y.Evidence = append(y.Evidence, x.Evidence[:min(len(x.Evidence), maxEvidence-min(len(y.Evidence), maxEvidence))]...)
	}
	for i, n := range more {
		out[i].Message += fmt.Sprintf(" (%d more like this)", n)
	}
	return out
}

// add adds a finding about one exchange.
func (a *analysis) add(t template, rule string, f *facts, evidence ...spanned) *Finding {
	x := Finding{
		ID: t.id, Severity: t.severity, Fault: t.fault, Exchanges: []int{f.n}, Message: f.say(t.message), Fix: f.say(t.fix),
		Rule: rule, Evidence: []Evidence{},
	}
	for _, e := range evidence {
		if e.ok && e.len > 0 {
			x.Evidence = append(x.Evidence, Evidence{f.n, "response", e.off, e.len})
		}
	}
	a.findings = append(a.findings, x)
	return &a.findings[len(a.findings)-1]
}

// addRequest is add with evidence in the request.
func (a *analysis) addRequest(t template, rule string, f *facts, evidence ...spanned) *Finding {
	x := a.add(t, rule, f)
	for _, e := range evidence {
		if e.ok && e.len > 0 {
			x.Evidence = append(x.Evidence, Evidence{f.n, "request", e.off, e.len})
		}
	}
	return x
}

// saying looks a template up by its ID.
func saying(id string) template {
	for _, t := range otherFindings {
		if t.id == id {
			return t
		}
	}
	panic("analyze: no finding " + id)
}

// say fills the braces of a text with the facts of an exchange.
func (f *facts) say(text string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "{")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		name, after, _ := strings.Cut(rest, "}")
		b.WriteString(excerpt(f.word(name)))
		text = after
	}
}

// word gives what a name in braces stands for.
func (f *facts) word(name string) string {
	switch name {
	case "status":
		return strconv.Itoa(f.status)
	case "media":
		return cmp.Or(f.mediaType, "no media type")
	case "why":
		return cmp.Or(f.reply.why, "it has no body")
	case "method":
		return f.what()
	case "code":
		return strconv.FormatInt(f.reply.code, 10)
	case "text":
		return f.said()
	case "wait":
		return seconds(f.finished.Sub(f.started))
	case "end":
		return endWords[f.end]
	case "over":
		if f.answer == whole {
			return "as HTTP ends an answer"
		}
		return endWords[f.end]
	case "ending":
		if len(f.notes) > 0 {
			return endWords[f.end] + " (" + strings.Join(f.notes, ", ") + ")"
		}
		return endWords[f.end]
	case "bytes":
		return strconv.Itoa(f.headless.len)
	case "limit":
		return f.limit
	case "location":
		return f.location
	case "versions":
		return strings.Join(f.reply.versions, ", ")
	case "asked":
		return f.req.version
	case "late":
		return strconv.Itoa(f.late)
	case "undecoded":
		return f.undecoded
	case "encoding":
		return f.encoding
	case "framing":
		return strings.Join(f.faults, ", ")
	case "endpoint":
		return f.endpointURL
	case "path":
		return f.path()
	case "accept":
		return orNone(f.req.accept)
	case "id":
		return f.replyID()
	case "smuggled":
		return cmp.Or(namesOf(contradictory(f.faultAt)), namesOf(contradictory(f.reqFaultAt)))
	case "reqframing":
		return strings.Join(f.reqFaults, ", ")
	case "edge":
		return f.head.edge
	case "sent":
		return strconv.Itoa(f.reqBytes)
	case "retry":
		return orNone(f.retry)
	case "took":
		return seconds(f.replyAt)
	case "wanted":
		if f.head.preflight != nil {
			return f.head.preflight.method
		}
		return f.httpMethod
	case "event":
		return f.lastEventID
	case "odd":
		return oddEvents[f.eventEnd]
	}
	panic("analyze: no word for {" + name + "}")
}

// replyID writes the id of a reply as it was sent.
func (f *facts) replyID() string {
	switch key := f.reply.key; {
	case key == "":
		return cmp.Or(f.reply.idState, "absent")
	case key[0] == '"':
		return key + `"`
	default:
		return key
	}
}

// what names an exchange in a sentence.
func (f *facts) what() string {
	switch {
	case f.transport == overStdio && f.reqBytes == 0:
		return "a line of the server"
	case f.req.method != "":
		return excerpt(f.req.method)
	case f.class == response:
		return "the client's reply"
	}
	return excerpt(f.httpMethod + " " + f.path())
}

var endWords = map[har.Ending]string{
	"keep": "the connection went on", "fin": "the server closed", "fin-no-close-notify": "the server closed without a close_notify",
	"rst": "the server reset the connection", "client-fin": "the client closed", "client-rst": "the client reset the connection",
	"hang": "nothing more came", "capture-stopped": "the recording stopped", "unknown": "how it ended is not known",
}

var oddEvents = map[set]string{
	eventLoneCR: "its blank line ends in a lone CR and nothing follows", eventTyped: "the event type is not message",
	eventUnterminated: "no blank line ends the event",
}

// seconds writes a duration as people read it.
func seconds(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
