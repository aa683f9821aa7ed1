package analyze

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// The tables of shapes/, written from the text of the specification (docs/conformance.md says how they read): messages.json
// has each method, types.json each type, rules.json what else a passive observer can check.
//
//go:embed shapes
var shapeFiles embed.FS

// revisionNames are the revisions of the specification that the tables know, in order.
var revisionNames = names{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

// allRevisions is the set of all of them: one bit for each, in order.
const allRevisions set = 1<<5 - 1

// revisionOf gives the bit of a revision by its name, 0 for one that is not known.
func revisionOf(version string) set {
	if i := slices.Index(revisionNames, version); i >= 0 {
		return 1 << i
	}
	return 0
}

// A shape is a type of object. If by is set, its member of that name chooses among cases.
type shape struct {
	name  string
	rows  []shapeRow
	needs []need
	by    string
	byIn  set       // revisions in which by chooses; in the others it is usual
	cases []byValue // in order
	usual string    // the value that stands for by's absence, "" for none
	other *shape    // for a value that is no case; nil: a breach
	named *valueType
}

// A shapeRow is a member that an object may or must have.
type shapeRow struct {
	name     string
	required bool
	typ      *valueType
	in       set
}

// A need says that one of several members must be there.
type need struct {
	names []string
	in    set
}

type byValue struct {
	value string
	shape *shape
	in    set
}

// A valueType says which JSON values are allowed, one kind beside the other.
type valueType struct {
	text     string
	any      bool
	str      bool
	literals []string // strings that are allowed if str is not set
	num      func(raw []byte) string
	boolean  bool
	null     bool
	elem     *valueType // of arrays
	object   bool
	values   *valueType // of every member of an object
	shape    *shape
	never    bool // must not be there
}

// A messageRow is a method in one direction.
type messageRow struct {
	Method  string   `json:"method"`
	From    string   `json:"from"` // client, server, both
	Params  []string `json:"params"`
	Result  string   `json:"result"` // of a request; "" for a notification
	In      string   `json:"in"`
	Section string   `json:"section"`

	in      set
	message *shape
	result  *shape
}

// Tables are the parsed shapes.
type tables struct {
	types    map[string]*shape
	messages []*messageRow
	byMethod map[string]*messageRow
	call     *shape // any request
	notice   *shape // any notification
	failure  *shape // an error response
	results  []string
}

var shapes = sync.OnceValue(func() *tables {
	t, err := parseTables(shapeFile("types.json"), shapeFile("messages.json"))
	if err != nil {
		panic("analyze: shapes: " + err.Error()) // the files are part of the program, and a test reads them
	}
	return t
})

func shapeFile(name string) []byte {
	text, err := shapeFiles.ReadFile("shapes/" + name)
	if err != nil {
		panic("analyze: shapes: " + err.Error())
	}
	return text
}

// envelopes are the shapes of JSON-RPC itself (basic/index, Messages; basic/messages in 2024-11-05).
var envelopes = map[string][]string{
	"request":      {`jsonrpc "2.0"`, "id id", "method string"},
	"notification": {`jsonrpc "2.0"`, "id? never", "method string"},
	"failure":      {`jsonrpc "2.0"`, "error Error"},
}

// parseTables reads types.json and messages.json.
func parseTables(types, messages []byte) (*tables, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(types, &raw); err != nil {
		return nil, err
	}
	lists := make(map[string][]string, len(raw))
	for name, text := range raw {
		var list []string
		if text[0] == '"' { // a name for alternatives
			list = []string{""}
			if err := json.Unmarshal(text, &list[0]); err != nil {
				return nil, err
			}
			list[0] = "= " + list[0]
		} else if err := json.Unmarshal(text, &list); err != nil {
			return nil, err
		}
		lists[name] = list
	}
	var rows []*messageRow
	if err := json.Unmarshal(messages, &rows); err != nil {
		return nil, err
	}
	return buildTables(lists, rows)
}

// buildTables resolves the names that types and messages use.
func buildTables(lists map[string][]string, messages []*messageRow) (*tables, error) {
	p := tableParser{lists: maps.Clone(lists), t: &tables{types: map[string]*shape{}, byMethod: map[string]*messageRow{}, messages: messages}}
	maps.Copy(p.lists, envelopes)
	for name := range p.lists {
		p.shape(name)
	}
	for _, m := range messages {
		p.message(m)
	}
	p.t.call, p.t.notice, p.t.failure = p.t.types["request"], p.t.types["notification"], p.t.types["failure"]
	return p.t, p.err
}

type tableParser struct {
	lists map[string][]string
	t     *tables
	err   error
}

func (p *tableParser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

func (p *tableParser) message(m *messageRow) {
	base := "request"
	if m.Result == "" {
		base = "notification"
	}
	m.in = p.revisions(strings.Fields(m.In), m.Method)
	m.message = &shape{name: m.Method}
	p.rows(m.message, append(slices.Clone(p.lists[base]), m.Params...))
	if m.Result != "" {
		m.result = &shape{name: m.Method + " result"}
		p.rows(m.result, []string{`jsonrpc "2.0"`, "id id", "result " + m.Result})
		p.t.results = append(p.t.results, m.Method)
	}
	if p.t.byMethod[m.Method] != nil {
		p.fail("method %s stands twice", m.Method)
	}
	p.t.byMethod[m.Method] = m
}

// shape gives a type by its name, parsing it when it is first named.
func (p *tableParser) shape(name string) *shape {
	if s := p.t.types[name]; s != nil {
		return s
	}
	list, ok := p.lists[name]
	if !ok {
		p.fail("no type %q", name)
		return &shape{}
	}
	s := &shape{name: name}
	p.t.types[name] = s
	if len(list) == 0 {
		return s
	}
	if text, ok := strings.CutPrefix(list[0], "= "); ok {
		s.named = p.typ(text)
		return s
	}
	if fields := strings.Fields(list[0]); fields[0] == "by" && len(fields) > 1 {
		p.choice(s, fields[1:], list[1:])
		return s
	}
	p.rows(s, list)
	return s
}

// choice reads `by NAME [default VALUE] [from R] [until R]` and its cases.
func (p *tableParser) choice(s *shape, head, list []string) {
	s.by = head[0]
	if head = head[1:]; len(head) > 1 && head[0] == "default" {
		s.usual, head = head[1], head[2:]
	}
	s.byIn = p.revisions(head, s.name)
	for _, line := range list {
		f := strings.Fields(line)
		if len(f) < 2 {
			p.fail("%s: %q: want VALUE TYPE", s.name, line)
			return
		}
		to := p.shape(f[1])
		if f[0] == "else" {
			s.other = to
			continue
		}
		s.cases = append(s.cases, byValue{f[0], to, p.revisions(f[2:], s.name)})
	}
}

// rows reads members: `NAME TYPE`, `NAME? TYPE`, `need A|B`, `+TYPE`, each with `from R` and `until R` behind it.
func (p *tableParser) rows(s *shape, list []string) {
	for _, line := range list {
		f := strings.Fields(line)
		if name, ok := strings.CutPrefix(f[0], "+"); ok {
			base := p.shape(name)
			in := p.revisions(f[1:], s.name)
			for _, r := range base.rows {
				r.in &= in
				s.rows = append(s.rows, r)
			}
			s.needs = append(s.needs, base.needs...)
			continue
		}
		if len(f) < 2 {
			p.fail("%s: %q: want NAME TYPE", s.name, line)
			return
		}
		in := p.revisions(f[2:], s.name)
		if f[0] == "need" {
			s.needs = append(s.needs, need{strings.Split(f[1], "|"), in})
			continue
		}
		name, optional := strings.CutSuffix(f[0], "?")
		s.rows = append(s.rows, shapeRow{name, !optional, p.typ(f[1]), in})
	}
	if len(s.rows) > maxRows {
		p.fail("%s has more than %d rows", s.name, maxRows)
	}
}

// maxRows is how many rows a type may have: a bit of a word each.
const maxRows = 64

func (p *tableParser) revisions(f []string, where string) set {
	in := allRevisions
	for ; len(f) > 1; f = f[2:] {
		r := revisionOf(f[1])
		switch {
		case r != 0 && f[0] == "from":
			in &^= r - 1
		case r != 0 && f[0] == "until":
			in &= r - 1
		default:
			p.fail("%s: want from or until with a revision, got %q", where, f[:2])
		}
	}
	if len(f) > 0 {
		p.fail("%s: %q stands alone", where, f[0])
	}
	return in
}

// typ reads a type: alternatives between bars, each `[T]`, `{T}`, a literal in quotes, a word, or a type's name.
func (p *tableParser) typ(text string) *valueType {
	t := &valueType{text: text}
	depth, from := 0, 0
	for i := 0; i <= len(text); i++ {
		switch {
		case i == len(text) || text[i] == '|' && depth == 0:
			p.alternative(t, text[from:i])
			from = i + 1
		case text[i] == '[' || text[i] == '{':
			depth++
		case text[i] == ']' || text[i] == '}':
			depth--
		}
	}
	return t
}

func (p *tableParser) alternative(t *valueType, text string) {
	inner := strings.Trim(text, `[]{}"`)
	switch {
	case text == "":
		p.fail("an empty type")
	case text[0] == '[':
		t.elem = p.typ(text[1 : len(text)-1])
	case text[0] == '{':
		t.object, t.values = true, p.typ(text[1:len(text)-1])
	case text[0] == '"':
		t.literals = append(t.literals, inner)
	default:
		p.word(t, text)
	}
}

func (p *tableParser) word(t *valueType, word string) {
	switch word {
	case "any":
		t.any = true
	case "string":
		t.str = true
	case "id": // a string or an integer
		t.str, t.num = true, integerFault
	case "number":
		t.num = func([]byte) string { return "" }
	case "integer":
		t.num = integerFault
	case "nonnegative":
		t.num = nonnegativeFault
	case "unit":
		t.num = unitFault
	case "boolean":
		t.boolean = true
	case "null":
		t.null = true
	case "object":
		t.object = true
	case "never":
		t.never = true
	default:
		s := p.shape(word)
		if s.named != nil {
			text := t.text
			*t = *s.named
			t.text = text
			return
		}
		t.object, t.shape = true, s
	}
}
