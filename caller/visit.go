package caller

import (
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// A Visitor asks a server what clients would ask. Fields are set before the first visit.
type Visitor struct {
	Caller *Caller
	URL    *url.URL      // the endpoint
	Header []string      // further header lines of each request, "Name: value"; they stand in place of those of that name
	Wait   time.Duration // for a whole answer; silence that lasts longer is left

	// Judge gives the verdict of a policy on the last of the exchanges of a visit.
	Judge func(policy string, visit []*har.Exchange) string
}

// These bound a visit beside Wait.
const (
	maxProbes  = 2               // with server/discover
	streamWait = 2 * time.Second // for the head of a GET stream that the client does not wait for
)

var listMethods = []string{"tools/list", "prompts/list", "resources/list"}

const firstModern = "2026-07-28"

// A visit is one run of a script.
type visit struct {
	*Visitor
	place
	s       *Script
	id      int
	session string
	version string // agreed on; "" before
	modern  string
	seen    []*har.Exchange
	streams []*Call
}

// errOver ends a visit that has come to its end early: the client would not go on.
var errOver = errors.New("the client would not go on")

// Visit runs a script: server/discover if it probes, the handshake where its policy says so, and what comes behind it. It
// returns the exchanges; an error is that of Caller.Send.
func (v *Visitor) Visit(s *Script) ([]*har.Exchange, error) {
	run := v.begin(s)
	err := run.connect()
	run.leaveStreams()
	if errors.Is(err, errOver) {
		err = nil
	}
	return run.seen, err
}

func (v *Visitor) begin(s *Script) *visit {
	return &visit{Visitor: v, s: s, id: s.FirstID, modern: firstModern,
		place: place{host: v.URL.Host, target: v.URL.RequestURI(), extra: v.Header}}
}

func (v *visit) connect() error {
	if v.s.Probes {
		legacy, err := v.probe()
		if err != nil || !legacy {
			return err
		}
	}
	if len(v.s.Legacy) == 0 {
		return nil
	}
	return v.handshake()
}

// probe asks with server/discover, once more where the policy would. legacy: the client goes on to initialize.
func (v *visit) probe() (legacy bool, err error) {
	for n := range maxProbes {
		id := v.id
		if !v.s.OneCount {
			id = n + 1
		}
		verdict, err := v.post("server/discover", "discover", v.modern, id)
		if err != nil {
			return false, err
		}
		if v.s.OneCount {
			v.id++
		}
		word, version, _ := strings.Cut(verdict, "@")
		switch word {
		case "modern":
			v.version, v.modern = version, version
			return false, v.lists("modern")
		case "legacy-fallback":
			return true, nil
		case "corrective-retry":
			v.modern = version
			continue
		}
		return false, errOver
	}
	return false, errOver
}

// handshake sends initialize and what the client sends behind it. A client that would then try HTTP+SSE asks for that stream.
func (v *visit) handshake() error {
	verdict, err := v.post("", "initialize", "", v.id)
	v.id++
	if err != nil {
		return err
	}
	if verdict == "legacy-fallback" {
		return v.get()
	}
	if verdict != "delivered" {
		return errOver
	}
	last := v.seen[len(v.seen)-1].View()
	if last.Response != nil {
		v.session = last.Response.Get("Mcp-Session-Id")
	}
	v.version = agreed(last)
	for _, step := range v.s.Legacy {
		if err := v.step(step); err != nil {
			return err
		}
	}
	return nil
}

func (v *visit) step(step string) error {
	switch step {
	case stepInitialized:
		verdict, err := v.post("", stepInitialized, v.version, v.id)
		if err == nil && verdict != "delivered" {
			err = errOver
		}
		return err
	case stepGet:
		return v.get()
	case stepLists:
		return v.lists("legacy")
	case stepDelete:
		if v.session != "" {
			_, err := v.ask("DELETE", v.s.lib.Delete, map[string]string{"session": v.session, "version": v.version}, "")
			return err
		}
	}
	return nil
}

// lists asks for tools, prompts and resources.
func (v *visit) lists(kind string) error {
	for _, method := range listMethods {
		header := ""
		if kind == "modern" {
			header = method
		}
		if _, err := v.postList(method, header, kind); err != nil {
			return err
		}
	}
	return nil
}

func (v *visit) postList(method, header, kind string) (string, error) {
	values := map[string]string{"id": strconv.Itoa(v.id), "name": v.s.Name(), "modern": v.modern, "list": method}
	v.id++
	return v.send(header, v.version, fill(v.s.body(kind), values))
}

// post sends one of the script's messages and gives the verdict on the answer.
func (v *visit) post(header, kind, version string, id int) (string, error) {
	values := map[string]string{"id": strconv.Itoa(id), "name": v.s.Name(), "modern": v.modern, "asked": v.s.Version}
	return v.send(header, version, fill(v.s.body(kind), values))
}

func (v *visit) send(header, version, body string) (string, error) {
	return v.ask("POST", v.s.lib.Post, map[string]string{"method": header, "version": version, "session": v.session}, body)
}

// ask sends a request and waits for the whole answer.
func (v *visit) ask(method string, lines []string, values map[string]string, body string) (string, error) {
	call, err := v.Caller.Send(v.request(method, lines, values, body))
	if err != nil {
		return "", err
	}
	if call.Until(v.Wait, answered) {
		call.Whole(lingering)
	}
	call.Whole(0)
	v.seen = append(v.seen, call.Exchange())
	return v.Judge(v.s.Policy, v.seen), nil
}

// get opens a stream, beside what follows. It is left at the end of the visit.
func (v *visit) get() error {
	call, err := v.Caller.Send(v.request("GET", v.s.Get, map[string]string{"version": v.version, "session": v.session}, ""))
	if err != nil {
		return err
	}
	call.Until(min(v.Wait, streamWait), Headed)
	v.streams = append(v.streams, call)
	return nil
}

func (v *visit) leaveStreams() {
	for _, call := range v.streams {
		call.Whole(0)
		v.seen = append(v.seen, call.Exchange())
	}
	slices.SortStableFunc(v.seen, func(a, b *har.Exchange) int { return a.N - b.N })
}

// LoseSession asks what becomes of sessions: it ends one of its own and uses it once more, and uses one that never was. The
// script is that of a client with a handshake.
func (v *Visitor) LoseSession(s *Script) ([]*har.Exchange, error) {
	run := v.begin(s)
	verdict, err := run.post("", "initialize", "", run.id)
	run.id++
	if err != nil || verdict != "delivered" {
		return run.seen, err
	}
	last := run.seen[0].View()
	run.version = agreed(last)
	if last.Response != nil {
		run.session = last.Response.Get("Mcp-Session-Id")
	}
	if run.session == "" {
		return run.seen, nil
	}
	for _, step := range []string{stepInitialized, stepDelete} {
		if err := run.step(step); err != nil {
			return run.seen, nil
		}
	}
	for _, session := range []string{run.session, "mcptap-no-such-session"} {
		run.session = session
		if _, err := run.postList("tools/list", "", "legacy"); err != nil {
			return run.seen, err
		}
	}
	return run.seen, nil
}

// agreed is the version in the result of initialize, "" if there is none.
func agreed(v *har.View) string {
	for _, text := range messages(v) {
		var m struct {
			Result struct {
				ProtocolVersion string `json:"protocolVersion"`
			} `json:"result"`
		}
		if rpc := wire.ParseRPC(text); rpc.JSON && json.Unmarshal(text, &m) == nil && m.Result.ProtocolVersion != "" {
			return m.Result.ProtocolVersion
		}
	}
	return ""
}

// answered tells whether the answer to a request is there: a whole response, or a reply among the events of a stream.
func answered(x *har.Exchange) bool {
	v := x.View()
	if v.Response == nil || !v.SSE() {
		return v.Response != nil && v.Response.Complete
	}
	return slices.ContainsFunc(messages(v), func(text []byte) bool {
		rpc := wire.ParseRPC(text)
		return rpc.JSON && rpc.Method == ""
	})
}

// messages are the JSON texts of an answer: its body, or the data of its events.
func messages(v *har.View) (texts [][]byte) {
	if v.Response == nil {
		return nil
	}
	if !v.SSE() {
		body, _ := v.ResponseBody()
		return [][]byte{body}
	}
	for _, e := range v.Events() {
		if e.Dispatched() {
			texts = append(texts, e.Data)
		}
	}
	return texts
}
