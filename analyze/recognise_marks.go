package analyze

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/har/wire"
)

// Marks of how a request is written, one bit each.
const (
	streamFirst   set = 1 << iota // Accept names text/event-stream before application/json
	namesRPC                      // Mcp-Method
	versionHeader                 // MCP-Protocol-Version
	rpcFirst                      // the message begins with jsonrpc
	methodFirst                   // the message begins with method
	metaSorted                    // _meta of a probe has its members in alphabetical order, as Go writes maps
	rootsChange                   // a probe offers roots.listChanged and nothing else
	offersNothing                 // a probe offers no capabilities
)

// probeMarks reads the marks of a probe's _meta.
func probeMarks(meta []byte) set {
	const own = "io.modelcontextprotocol/"
	var s set
	if shapeOf(meta, 3) == own+"clientCapabilities,"+own+"clientInfo,"+own+"protocolVersion" {
		s |= metaSorted
	}
	switch string(wire.Lookup(meta, own+"clientCapabilities").Raw) {
	case `{"roots":{"listChanged":true}}`:
		s |= rootsChange
	case `{}`:
		s |= offersNothing
	}
	return s
}

// firstMember reads with which member a message begins.
func firstMember(body []byte) set {
	const blank = " \t\r\n"
	body, ok := bytes.CutPrefix(bytes.TrimLeft(body, blank), []byte("{"))
	body = bytes.TrimLeft(body, blank)
	switch {
	case ok && bytes.HasPrefix(body, []byte(`"jsonrpc"`)):
		return rpcFirst
	case ok && bytes.HasPrefix(body, []byte(`"method"`)):
		return methodFirst
	}
	return 0
}

// headerMarks reads the marks of a request's header.
func headerMarks(h *wire.Message) set {
	var s set
	if stream, _, ok := strings.Cut(h.Get("Accept"), "application/json"); ok && strings.Contains(stream, "text/event-stream") {
		s |= streamFirst
	}
	if h.Get("Mcp-Method") != "" {
		s |= namesRPC
	}
	if h.Get("MCP-Protocol-Version") != "" {
		s |= versionHeader
	}
	return s
}

// marks are what a client and its library leave in a connect: names, and words of which each says one thing.
type marks struct {
	info  implementation
	agent string
	words []string
}

func (m *marks) all(words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(m.words, w) })
}

// markWords are the words that clients.json may use. The order of members shows the library that writes JSON; an agent that
// is not of one of these kinds has no word.
var markWords = []string{
	"probes", "no probe", "probe id of TypeScript", "GET", "no agent", "agent undici", "agent node", "agent opencode",
	"requests method first", "later requests jsonrpc first", "notifications method first",
	"notifications jsonrpc first", "params clientInfo first", "params protocolVersion first", "accept stream first",
	"Mcp-Method in the legacy era", "Mcp-Method on notifications", "version header on initialize", "asks 2025-06-18",
	"probe meta sorted", "probe offers roots.listChanged", "probe offers nothing",
	"default name of Python", "client version 0.1.0",
}

// marksOf gathers the marks of a connect. Those of probes and initialize come first, for a bridge may pass on what others
// wrote.
func marksOf(c *connect) marks {
	m := marks{info: c.info}
	has := map[string]bool{"probes": len(c.probes) > 0, "no probe": len(c.probes) == 0, "GET": len(c.streams) > 0}
	for _, f := range c.all {
		if f.class == oauth || f.class == other {
			continue
		}
		if m.agent == "" {
			m.agent = f.req.agent
		}
		has["probe id of TypeScript"] = has["probe id of TypeScript"] || f.req.probeID
		has["accept stream first"] = has["accept stream first"] || f.httpMethod == "POST" && f.req.marks&streamFirst != 0
		legacy := f.class != probe && f.req.era() == eraLegacy && f.req.marks&namesRPC != 0
		has["Mcp-Method in the legacy era"] = has["Mcp-Method in the legacy era"] || legacy
		has["Mcp-Method on notifications"] = has["Mcp-Method on notifications"] || f.req.kind == "notification" && f.req.marks&namesRPC != 0
		if f.class == request || f.class == optional {
			has["later requests jsonrpc first"] = has["later requests jsonrpc first"] || f.req.marks&rpcFirst != 0 && f.req.era() == eraLegacy
		}
	}
	if len(c.inits) > 0 {
		f := c.inits[0]
		has["requests method first"] = strings.HasPrefix(f.req.shape, "method,params,jsonrpc")
		has["params "+f.req.params+" first"] = true
		has["version header on initialize"] = f.req.marks&versionHeader != 0
		has["asks 2025-06-18"] = f.req.version == "2025-06-18"
	} else if len(c.probes) > 0 {
		has["requests method first"] = c.probes[0].req.marks&methodFirst != 0
	}
	if len(c.probes) > 0 {
		marks := c.probes[0].req.marks
		has["probe meta sorted"] = marks&metaSorted != 0
		has["probe offers roots.listChanged"] = marks&rootsChange != 0
		has["probe offers nothing"] = marks&offersNothing != 0
	}
	if len(c.inited) > 0 {
		has["notifications method first"] = strings.HasPrefix(c.inited[0].req.shape, "method")
		has["notifications jsonrpc first"] = strings.HasPrefix(c.inited[0].req.shape, "jsonrpc")
	}
	kind, _, _ := strings.Cut(m.agent, "/")
	has["agent "+kind], has["no agent"] = true, m.agent == ""
	has["default name of Python"] = c.info.name == "mcp"
	has["client version "+c.info.version] = true
	for _, w := range markWords {
		if has[w] {
			m.words = append(m.words, w)
		}
	}
	return m
}

// A serverMark is one way to recognise a server's library.
type serverMark struct {
	SDK        string            `json:"sdk"`
	Names      []string          `json:"names"`   // patterns of the name in serverInfo
	Headers    map[string]string `json:"headers"` // patterns of response fields
	Confidence Confidence        `json:"confidence"`
	Why        string            `json:"why"`
}

// recogniseServer names the library of a server, as far as its name and the fields of its responses tell. Fields come from
// what stands in front of it as well, so that they are a guess at most.
func (v *conversation) recogniseServer() recognised {
	for _, k := range knownClients().Servers {
		if matchesAny(k.Names, v.server.name) || v.answers(k) {
			return recognised{sdk: k.SDK, confidence: k.Confidence, why: k.Why}
		}
	}
	return recognised{sdk: "unknown", confidence: Unsure, why: "nothing in the traffic tells one library from another"}
}

func (v *conversation) answers(k *serverMark) bool {
	for _, c := range v.connects {
		if slices.ContainsFunc(c.all, func(f *facts) bool { return f.served == k }) {
			return true
		}
	}
	return false
}

// servedBy finds the mark of a library in a response's header, nil if there is none.
func servedBy(h *wire.Message) *serverMark {
	for _, k := range knownClients().Servers {
		for name, pattern := range k.Headers {
			if value, ok := h.Lookup(name); ok && matches(pattern, value) {
				return k
			}
		}
	}
	return nil
}
