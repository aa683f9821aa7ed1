package caller

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// A Script is how one measured client asks: its requests, byte for byte as they were seen on the wire but for names,
// addresses and ids, and their order. What it makes of the answers is the policy's to say.
type Script struct {
	Policy string   `json:"policy"` // what judges its answers
	Title  string   `json:"title"`
	Probes bool     `json:"probes"` // it begins with server/discover
	Legacy []string `json:"legacy"` // what follows the answer to initialize, in order; absent or empty: it has no handshake

	Version  string            `json:"version"` // asked for in initialize
	Library  string            `json:"library"`
	FirstID  int               `json:"first_id"`
	OneCount bool              `json:"one_count"` // probes and requests are numbered on; else each from its own beginning
	Get      []string          `json:"get"`       // in place of the library's
	Instead  map[string]string `json:"instead"`   // of the library's bodies

	lib *library
}

// The steps of Script.Legacy.
const (
	stepInitialized = "initialized"
	stepGet         = "GET"
	stepLists       = "lists"
	stepDelete      = "DELETE"
)

// A library is the wording of a client library. A line whose place is empty ({session}, {version}, {method}) is left out.
type library struct {
	Post        []string `json:"post"`
	Get         []string `json:"get"`
	Delete      []string `json:"delete"`
	Discover    string   `json:"discover"`
	Initialize  string   `json:"initialize"`
	Initialized string   `json:"initialized"`
	Modern      string   `json:"modern"`
	Legacy      string   `json:"legacy"`
}

//go:embed scripts.json
var scriptsFile []byte

// Scripts are the measured clients, that of the policy ts-2.4.0 first.
var Scripts = sync.OnceValue(func() []Script {
	scripts, err := parseScripts(scriptsFile)
	if err != nil {
		panic("caller: scripts.json: " + err.Error())
	}
	return scripts
})

func parseScripts(data []byte) ([]Script, error) {
	var file struct {
		Libraries map[string]*library `json:"libraries"`
		Scripts   []Script            `json:"scripts"`
	}
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		return nil, err
	}
	for i := range file.Scripts {
		s := &file.Scripts[i]
		if s.lib = file.Libraries[s.Library]; s.lib == nil {
			return nil, fmt.Errorf("script %s: library %q is not there", s.Policy, s.Library)
		}
		if s.Get == nil {
			s.Get = s.lib.Get
		}
	}
	return file.Scripts, nil
}

// Name is what the script calls itself in clientInfo.
func (s *Script) Name() string { return "mcptap-probe-" + s.Policy }

// body is one of the script's bodies.
func (s *Script) body(kind string) string {
	if text, ok := s.Instead[kind]; ok {
		return text
	}
	switch kind {
	case "discover":
		return s.lib.Discover
	case "initialize":
		return s.lib.Initialize
	case stepInitialized:
		return s.lib.Initialized
	case "modern":
		return s.lib.Modern
	}
	return s.lib.Legacy
}

// A place is where requests go.
type place struct {
	host, target string
	extra        []string // further header lines, "Name: value"
}

// request writes a request; values fills the places of its lines.
func (p *place) request(method string, lines []string, values map[string]string, body string) []byte {
	values["host"], values["length"] = p.host, strconv.Itoa(len(body))
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", method, p.target)
	for _, line := range lines {
		if at := strings.Index(line, "{"); at >= 0 && values[strings.Trim(line[at:], "{}")] == "" {
			continue
		}
		if !p.overrides(line) {
			b.WriteString(fill(line, values) + "\r\n")
		}
	}
	for _, line := range p.extra {
		b.WriteString(line + "\r\n")
	}
	b.WriteString("\r\n" + body)
	return []byte(b.String())
}

// overrides tells whether a further line stands in place of a line.
func (p *place) overrides(line string) bool {
	name, _, _ := strings.Cut(line, ":")
	for _, extra := range p.extra {
		if other, _, _ := strings.Cut(extra, ":"); strings.EqualFold(name, other) {
			return true
		}
	}
	return false
}

func fill(text string, values map[string]string) string {
	for name, value := range values {
		text = strings.ReplaceAll(text, "{"+name+"}", value)
	}
	return text
}
