package analyze

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// fact puts the fact that a condition looks at into words; name is the condition's; "" for one
// that is not known here.
func (f *facts) fact(name string, p *Policy) string {
	switch name {
	case "class":
		return f.class.String()
	case "method":
		return orNone(f.req.method)
	case "accepted":
		return map[har.Tri]string{har.True: "yes", har.False: "no", har.Unknown: "not known"}[f.accepted(p)]
	case "transport":
		return transportNames.maybe(f.transport, anyTransport)
	case "answer":
		return answerNames.maybe(f.answer, anyAnswer)
	case "status":
		return f.statusFact()
	case "media":
		return mediaNames.maybe(f.media, anyMedia)
	case "reply":
		return replyNames.maybe(f.kind, anyReply)
	case "via":
		return viaNames.maybe(f.via, anyVia)
	case "event":
		return eventNames.maybe(f.eventEnd, anyEvent)
	case "endpoint":
		return endpointNames.maybe(f.endpoint, anyEndpoint)
	case "era":
		return eraNames.word(f.req.era())
	case "offer":
		return offerNames.maybe(p.offer(f), anyOffer)
	case "list":
		return listNames.word(max(f.reply.list, listFilled))
	case "code":
		return f.codeFact()
	case "encoding":
		return excerpt(orNone(f.encoding))
	case "framing":
		return orNone(strings.Join(f.faults, ", "))
	case "interim":
		return orNone(strings.Trim(strings.ReplaceAll(fmt.Sprint(f.interim), " ", ", "), "[]"))
	case "head_over":
		return strconv.Itoa(f.headBytes)
	}
	is, ok := f.flags()[name]
	if !ok {
		return ""
	}
	return yesNo(is)
}

// flags gives the facts behind the conditions that are yes or no, by the conditions' names.
func (f *facts) flags() map[string]bool {
	return map[string]bool{
		"session": f.req.session != "", "again": f.again, "probe_id": f.req.probeID, "followed": f.followed != nil,
		"elsewhere": f.elsewhere(), "other_session": f.otherSession(), "challenged": f.challenge != "",
		"names_legacy": f.namesLegacy(), "readable_code": f.reply.codeOK, "bad_event_first": f.badEvent, "batch": f.batch,
		"id_null": f.reply.idState == "null", "typed": f.reply.typed, "rpc20": f.reply.rpc20, "says_session_gone": f.reply.gone,
		"tool_error": f.reply.toolErr, "resumable": f.eventID, "decoded": f.undecoded == "", "mislabelled": f.mislabelled,
	}
}

// maybe words what a fact may be: one word, several, or that nothing is known.
func (n names) maybe(s, anything set) string {
	if s == 0 || s == anything {
		return "not known"
	}
	var words []string
	for i, w := range n {
		if s&(1<<i) != 0 {
			words = append(words, w)
		}
	}
	return strings.Join(words, " or ")
}

func (f *facts) statusFact() string {
	switch {
	case f.status != 0:
		return strconv.Itoa(f.status)
	case f.transport == overStdio:
		return "none"
	case f.answer&^(unreachable|nothing|malformed|silence) != 0:
		return "not known"
	}
	return "none"
}

func (f *facts) codeFact() string {
	switch {
	case f.kind&(f.kind-1) != 0 || f.kind == 0:
		return "not known"
	case !f.reply.codeOK:
		return "none"
	case !f.readsCode():
		return fmt.Sprintf("%d, which is not read there", f.reply.code)
	}
	return strconv.FormatInt(f.reply.code, 10)
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// placesOf finds the bytes that prove the facts of an exchange, by the names of the conditions that look at them.
func placesOf(x *har.Exchange, f *facts) map[string][]Evidence {
	places := map[string][]Evidence{}
	v := x.View()
	at := func(side string, s spanned, conditions ...string) {
		if s.ok && s.len > 0 {
			for _, name := range conditions {
				places[name] = append(places[name], Evidence{f.n, side, s.off, s.len})
			}
		}
	}
	field := func(side string, name string, conditions ...string) {
		m, raw := v.Request, x.Request.Raw
		if side == "response" {
			m, raw = v.Response, x.Response.Raw
		}
		at(side, fieldLine(m, raw, name), conditions...)
	}
	at("request", requestPlace(v), "class", "probe_id", "era")
	field("request", "Mcp-Session-Id", "session", "other_session")
	at("response", f.statusAt, "status", "framing")
	field("response", "Content-Type", "media")
	field("response", "Content-Length", "answer")
	field("response", "Transfer-Encoding", "answer")
	field("response", "Content-Encoding", "encoding", "decoded", "mislabelled")
	field("response", "Location", "followed", "elsewhere")
	field("response", "Mcp-Session-Id", "other_session")
	field("response", "WWW-Authenticate", "challenged")
	at("response", f.headless, "answer")
	at("response", f.bodyAt, "endpoint", "resumable", "batch", "bad_event_first")
	for _, name := range []string{"reply", "via", "event", "code", "offer", "list", "names_legacy", "readable_code", "id_null", "typed", "rpc20", "says_session_gone", "tool_error"} {
		places[name] = f.replyPlace(name)
	}
	return places
}

// replyPlace gives the bytes of the reply, or of its error member where the condition is about that.
func (f *facts) replyPlace(name string) []Evidence {
	n, s := f.n, f.bodyAt
	if f.replyN != 0 {
		n = f.replyN
	}
	switch {
	case f.reply.errAt.ok && slices.Contains([]string{"code", "offer", "list", "names_legacy", "readable_code", "says_session_gone"}, name):
		s = f.reply.errAt
	case f.reply.at.ok:
		s = f.reply.at
	case f.via == viaStream:
		return nil
	}
	if !s.ok || s.len == 0 {
		return nil
	}
	return []Evidence{{n, "response", s.off, s.len}}
}

// requestPlace is the body of a request, or its first line where there is none.
func requestPlace(v *har.View) spanned {
	m, raw := v.Request, v.X.Request.Raw
	switch {
	case m == nil:
		return spanned{}
	case m.End > m.Off+m.Len:
		return spanned{m.Off + m.Len, m.End - m.Off - m.Len, true}
	}
	return spanned{m.Off, bytes.IndexByte(raw[m.Off:], '\n') + 1, true}
}

// fieldLine is the line of a header field, its continuation lines included.
func fieldLine(m *wire.Message, raw []byte, name string) spanned {
	if m == nil {
		return spanned{}
	}
	for i := range m.Fields {
		fd := &m.Fields[i]
		if !strings.EqualFold(fd.Name, name) {
			continue
		}
		from, to := m.Off+fd.At.Off, m.Off+fd.At.Off+fd.At.Len
		if to > len(raw) {
			return spanned{}
		}
		from = bytes.LastIndexByte(raw[:from], '\n') + 1
		return spanned{from, to - from, true}
	}
	return spanned{}
}
