package corpus

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/har"
)

// A findingCase is the smallest recording that a finding stands for, written as bytes: for what no server or client of a
// scene does.
type findingCase struct {
	id, story, source string
	exchange          int    // that the finding is about
	want              string // of recommended: verdict, rule and, where the connect is told, its outcome
	turns             []turn
}

// A turn is one exchange: the request, what came back and when.
type turn struct {
	ask, say string
	behind   time.Duration // after the exchange before
	beside   bool          // the client does not wait for the answer before it asks the next
	took     time.Duration // until the answer begins; 0: as long as a server takes
	rest     []later       // of the answer, what comes later
	end      har.Ending    // "": the connection goes on
	left     time.Duration // until it ends, from the request on
	note     string
	conn     int  // 0: that of the exchange before, a new one if that has ended
	lost     bool // the answer is not whole
}

// A later is bytes that come behind those before, this much later.
type later struct {
	wait  time.Duration
	bytes string
}

func (t turn) after(d time.Duration) turn    { t.behind = d; return t }
func (t turn) on(conn int) turn              { t.conn = conn; return t }
func (t turn) taking(d time.Duration) turn   { t.took = d; return t }
func (t turn) without(fields ...string) turn { return t.asking(pairs(fields)...) }
func (t turn) noted(note string) turn        { t.note, t.end, t.lost = note, har.EndUnknown, true; return t }
func (t turn) then(wait time.Duration, b string) turn {
	t.rest = append(slices.Clone(t.rest), later{wait, b})
	return t
}

// ends leaves the answer unfinished.
func (t turn) ends(end har.Ending, left time.Duration) turn {
	t.end, t.left, t.lost = end, left, true
	return t
}

// closed ends the connection behind a whole answer.
func (t turn) closed() turn { t.end = har.EndFIN; return t }

// asking replaces texts of the request's head.
func (t turn) asking(oldNew ...string) turn {
	head, body, _ := strings.Cut(t.ask, "\r\n\r\n")
	t.ask = strings.NewReplacer(oldNew...).Replace(head+"\r\n") + "\r\n" + body
	return t
}

func pairs(fields []string) (list []string) {
	for _, f := range fields {
		list = append(list, f+"\r\n", "")
	}
	return list
}

// play writes the turns down.
func (c findingCase) play(s *scene) {
	if strings.HasPrefix(c.id, "stdio-") {
		c.playLines(s)
		return
	}
	conn := uint64(1)
	ended := map[uint64]bool{}
	seq := map[uint64]int{}
	for _, t := range c.turns {
		s.now += t.behind
		switch {
		case t.conn > 0:
			conn = uint64(t.conn)
		case ended[conn]:
			conn = uint64(s.conns) + 1
		}
		s.conns = max(s.conns, int(conn))
		seq[conn]++
		x := &har.Exchange{N: len(s.xs) + 1, Conn: conn, Seq: seq[conn], Started: start.Add(s.now), End: har.EndKeep,
			Client: fmt.Sprint("127.0.0.1:", 52800+conn), Server: s.address()}
		add(&x.Request, 0, t.ask)
		s.xs = append(s.xs, x)
		t.answer(s, x)
		har.FillDerived(x, s.origin)
		ended[conn] = x.End != har.EndKeep
	}
}

// playLines writes the lines of one process down. It ends with the last of them that ends.
func (c findingCase) playLines(s *scene) {
	command := []string{"tracker-server"}
	s.conns, s.origin, s.entrance = 1, har.StdioURL(command), ""
	p := &har.Process{Conn: 1, Command: command, Started: start}
	s.processes = append(s.processes, p)
	var out int64
	for _, t := range c.turns {
		x := &har.Exchange{N: len(s.xs) + 1, Conn: 1, Seq: len(s.xs) + 1, Started: start.Add(s.now), End: har.EndKeep, Client: "pid 7001", Server: "pid 7002", URL: s.origin, Off: out}
		if t.ask != "" {
			add(&x.Request, 0, t.ask)
		}
		s.xs = append(s.xs, x)
		out += int64(len(t.say))
		if t.say == "" {
			x.Off = 0
		}
		t.answer(s, x)
	}
	last := s.xs[len(s.xs)-1]
	if last.End == har.EndKeep {
		last.End, last.EndAt, last.Notes = har.EndClientFIN, 20*time.Millisecond, []string{(&har.Exit{}).Note()}
	}
	p.Exit = &har.Exit{At: s.now + 30*time.Millisecond}
	for _, note := range last.Notes {
		switch word, how, _ := strings.Cut(note, ": "); {
		case word != har.NoteExit:
		case strings.HasPrefix(how, "SIG"):
			p.Exit.Signal = how
		default:
			p.Exit.Code = int(how[0] - '0')
		}
	}
}

// answer writes down what came back.
func (t turn) answer(s *scene, x *har.Exchange) {
	at := t.took
	if at == 0 {
		at = s.jitter(9 * time.Millisecond)
	}
	if t.say != "" {
		add(&x.Response, at, strings.ReplaceAll(t.say, "$DATE", start.Add(s.now).Format("Mon, 02 Jan 2006 15:04:05 GMT")))
	} else {
		at = 0
	}
	for _, l := range t.rest {
		at += l.wait
		add(&x.Response, at, l.bytes)
	}
	x.EndOff = len(x.Response.Raw)
	if t.note != "" {
		x.Notes = []string{t.note}
	}
	if t.end != "" {
		x.End = t.end
		if t.end != har.EndUnknown {
			x.EndAt = max(t.left, at+s.jitter(2*time.Millisecond))
		}
	}
	s.broken[x.N] = t.lost
	if t.beside {
		s.now += s.jitter(time.Millisecond)
		return
	}
	s.now += max(at, x.EndAt) + s.jitter(3*time.Millisecond)
}

// The requests of @modelcontextprotocol/client 2.4.0, as its bytes are.

const findingHost = "mcp.example.test:8080"

func headed(method, path, own, rest string) string {
	return method + " " + path + " HTTP/1.1\r\nhost: " + findingHost + "\r\nconnection: keep-alive\r\n" + own + rest + "\r\n"
}

const nodeFields = "accept-language: *\r\nsec-fetch-mode: cors\r\nuser-agent: node\r\naccept-encoding: gzip, deflate\r\n"

func posting(own, body string) string {
	return headed("POST", "/mcp", own, fmt.Sprintf("content-type: application/json\r\naccept: application/json, text/event-stream\r\n%scontent-length: %d\r\n", nodeFields, len(body))) + body
}

const (
	sessionField = "mcp-session-id: 5b1f0c6a9d3e4f7288a1c0de5eed0001\r\n"
	ownFields    = sessionField + "mcp-protocol-version: 2025-11-25\r\n"
	modernField  = "mcp-protocol-version: 2026-07-28\r\n"
	pageField    = "origin: https://app.example.test\r\nreferer: https://app.example.test/\r\n"
	info         = `{"name":"example-host","version":"3.1.0"}`
	metaMember   = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":` + info + `,"io.modelcontextprotocol/clientCapabilities":{}}`
)

func starting(caps string) string {
	return posting("", `{"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":`+caps+`,"clientInfo":`+info+`},"jsonrpc":"2.0","id":0}`)
}

func noticing(body string) string { return posting(ownFields, body) }

func requesting(id, method, params string) string {
	return posting(ownFields, fmt.Sprintf(`{"method":%q,"params":{%s},"jsonrpc":"2.0","id":%s}`, method, params, id))
}

// requestingModern is a request of revision 2026-07-28; named is its Mcp-Name, "" for none.
func requestingModern(id, method, named, params string) string {
	own := modernField + "mcp-method: " + method + "\r\n"
	if named != "" {
		own += "mcp-name: " + named + "\r\n"
	}
	if params != "" {
		params += ","
	}
	return posting(own, fmt.Sprintf(`{"method":%q,"params":{%s},"jsonrpc":"2.0","id":%s}`, method, params+metaMember, id))
}

func getting(own string) string {
	return headed("GET", "/mcp", own, "accept: text/event-stream\r\n"+nodeFields)
}

// The answers.

func said(status, mediaType, body string, fields ...string) string {
	h := "HTTP/1.1 " + status + "\r\n"
	if mediaType != "" {
		h += "content-type: " + mediaType + "\r\n"
	}
	for _, f := range fields {
		h += f + "\r\n"
	}
	return h + fmt.Sprintf("content-length: %d\r\n\r\n", len(body)) + body
}

func saidJSON(body string, fields ...string) string {
	return said("200 OK", "application/json", body, fields...)
}

func saidEmpty(status string, fields ...string) string { return said(status, "", "", fields...) }

// streamed begins an event stream and ends it; openStreamed leaves it open.
func streamed(events ...string) string { return openStreamed(events...) + "0\r\n\r\n" }

func openStreamed(events ...string) string {
	s := "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-store\r\ntransfer-encoding: chunked\r\n\r\n"
	for _, e := range events {
		s += chunk(e)
	}
	return s
}

func replied(id, result string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":` + result + `}`
}

func failing(id string, code int, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, code, text)
}

const acceptedAnswer = "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n"

const initializedNote = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

// initialized2 and what follows are connects that went well: with a session (exchange 3 comes next), with these capabilities
// of the server, without a session, and in revision 2026-07-28 (exchange 2 comes next).
func inSession(more ...turn) []turn { return inSessionWith(`{"tools":{}}`, more...) }

func inSessionWith(caps string, more ...turn) []turn {
	return append([]turn{
		{ask: starting("{}"), say: saidJSON(replied("0", initializedAs(caps)), strings.TrimSuffix(sessionField, "\r\n"))},
		{ask: noticing(initializedNote), say: acceptedAnswer},
	}, more...)
}

func initializedAs(caps string) string {
	return `{"protocolVersion":"2025-11-25","capabilities":` + caps + `,"serverInfo":{"name":"tracker","version":"1.2.0"}}`
}

func sessionless(more ...turn) []turn {
	return append([]turn{
		{ask: starting("{}"), say: saidJSON(replied("0", initializedAs(`{"tools":{}}`)))},
		{ask: strings.Replace(noticing(initializedNote), sessionField, "", 1), say: acceptedAnswer},
	}, more...)
}

func inModern2026(more ...turn) []turn {
	return append([]turn{{ask: requestingModern(`"server-discover-probe-1"`, "server/discover", "", ""),
		say: saidJSON(replied(`"server-discover-probe-1"`, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`))}}, more...)
}

func starts(say string) []turn { return []turn{{ask: starting("{}"), say: say}} }

// a call, and its good answer, under this id.
func calling(id string) turn {
	return turn{ask: requesting(id, "tools/call", toolCall), say: saidJSON(replied(id, toolResult))}
}

func callingFor(say string) turn { return turn{ask: requesting("1", "tools/call", toolCall), say: say} }

func callingModern(say string) turn {
	return turn{ask: requestingModern("0", "tools/call", "find_tickets", toolCall), say: say}
}

// findingEntries are the cases as entries.
func findingEntries() (all []entry) {
	for _, c := range slices.Concat(wireFindings, headFindings, courseFindings, conformFindings, pipeFindings) {
		words := append(strings.Fields(c.want), "", "", "")
		e := har.Expect{Policy: "recommended", Exchange: c.exchange, Verdict: words[0], Rule: words[1], Outcome: words[2], Finding: c.id}
		if e.Rule == "-" {
			e.Rule = ""
		}
		all = append(all, entry{FindingRow + "-" + c.id, FindingRow, c.story, c.source, []har.Expect{e}, c.play})
	}
	return all
}
