package har

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// A Header is a cassette's first line.
type Header struct {
	Tool        string    // such as "mcptap 0.1.0"
	Started     time.Time // UTC
	Mode        string    // "reverse", "forward", "stdio", "pcap", "har", "replay", "probe", "verify", "corpus"
	To          string    // what --to named, credentials removed
	Servers     []Server  // several servers in one recording, each behind a door of its own; Exchange.Name says which
	KeepSecrets bool      // nothing was redacted
	Minimized   string    // what was left out of the recording, "" if nothing: what is here are not the bytes of the wire
	Case        *Case     // corpus files only
}

// A Server is one of several that a recording is of.
type Server struct {
	Name string // no two have the same; not ""
	To   string // its URL, credentials removed
}

// A Case is what a corpus file says of itself.
type Case struct {
	Name, Row, Story, Source string
	Expect                   []Expect
}

// An Expect is what a policy must say of one exchange.
type Expect struct {
	Policy, Verdict, Rule string
	Exchange              int
	Outcome               string // of the conversation, "" if not judged
	Finding               string // an ID that must be reported, "" if none
}

// An End is a cassette's last line; a file without one was cut.
type End struct {
	At        time.Time
	Exchanges int
	Conns     int
	Redacted  int    // ranges replaced
	Repaired  bool   // written by repair
	Next      bool   // the recording goes on in another file
	Error     string // why recording stopped early, "" if it did not
}

func appendHeader(b []byte, h *Header) []byte {
	b = append(b, `{"format":`...)
	b = appendString(b, Format)
	b = appendText(b, "tool", h.Tool)
	b = appendTimeMember(b, "started", h.Started)
	b = appendText(b, "mode", h.Mode)
	b = appendText(b, "to", h.To)
	for i, s := range h.Servers {
		b = appendList(b, "servers", i)
		at := len(b)
		b = appendText(b, "name", s.Name)
		b = closeObject(appendText(b, "to", s.To), at)
	}
	b = closeList(b, len(h.Servers))
	b = appendTrue(b, "keepSecrets", h.KeepSecrets)
	b = appendText(b, "minimized", h.Minimized)
	if h.Case != nil {
		b = append(b, `,"case":`...)
		b = appendCase(b, h.Case)
	}
	return append(b, "}\n"...)
}

func appendCase(b []byte, c *Case) []byte {
	at := len(b)
	b = appendText(b, "name", c.Name)
	b = appendText(b, "row", c.Row)
	b = appendText(b, "story", c.Story)
	b = appendText(b, "source", c.Source)
	if len(c.Expect) > 0 {
		b = append(b, `,"expect":[`...)
		for i := range c.Expect {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendExpect(b, &c.Expect[i])
		}
		b = append(b, ']')
	}
	return closeObject(b, at)
}

func appendExpect(b []byte, e *Expect) []byte {
	at := len(b)
	b = appendText(b, "policy", e.Policy)
	b = appendText(b, "verdict", e.Verdict)
	b = appendText(b, "rule", e.Rule)
	b = appendCount(b, "exchange", int64(e.Exchange))
	b = appendText(b, "outcome", e.Outcome)
	b = appendText(b, "finding", e.Finding)
	return closeObject(b, at)
}

func appendEnd(b []byte, e *End) []byte {
	b = append(b, `{"end":true`...)
	b = appendTimeMember(b, "at", e.At)
	b = append(b, `,"exchanges":`...)
	b = appendInt(b, int64(e.Exchanges))
	b = append(b, `,"conns":`...)
	b = appendInt(b, int64(e.Conns))
	b = appendCount(b, "redacted", int64(e.Redacted))
	b = appendTrue(b, "repaired", e.Repaired)
	b = appendTrue(b, "next", e.Next)
	b = appendText(b, "error", e.Error)
	return append(b, "}\n"...)
}

// parseHeader reads a cassette's first line.
func parseHeader(line []byte) (Header, error) {
	var h Header
	if !utf8.Valid(line) {
		return h, want("a cassette's header line", "it is not UTF-8")
	}
	p := parser{b: line}
	format := ""
	p.object(func(name string) bool {
		switch name {
		case "format":
			format = p.text()
		case "tool":
			h.Tool = p.text()
		case "started":
			h.Started = p.time()
		case "mode":
			h.Mode = p.text()
		case "to":
			h.To = p.text()
		case "servers":
			p.array(func() { h.Servers = append(h.Servers, p.server(h.Servers)) })
		case "keepSecrets":
			h.KeepSecrets = p.bool()
		case "minimized":
			h.Minimized = p.text()
		case "case":
			h.Case = p.caseOf()
		default:
			return false
		}
		return true
	})
	p.end()
	return h, checkFormat(format, p.err)
}

// checkFormat judges the format member first: what is wrong with the rest of another format's line does not matter.
func checkFormat(format string, err error) error {
	const header = "a cassette's header line"
	name, version, _ := strings.Cut(format, "/")
	switch {
	case format == Format:
		return err
	case name == "mcptap-cassette":
		return want(header, fmt.Sprintf("this is version %s of the format, and this program reads version 1: use a newer mcptap", version))
	case format != "":
		return want(header, fmt.Sprintf("this is a file of format %q", format))
	case err != nil:
		return want(header, err.Error())
	}
	return want(header, "there is no format member")
}

// server reads one of several servers; before are those that stand before it.
func (p *parser) server(before []Server) (s Server) {
	p.object(func(name string) bool {
		switch name {
		case "name":
			s.Name = p.text()
		case "to":
			s.To = p.text()
		default:
			return false
		}
		return true
	})
	same := slices.ContainsFunc(before, func(b Server) bool { return b.Name == s.Name })
	if p.err == nil && (s.Name == "" || same) {
		p.err = want("servers with a name each, no two the same", fmt.Sprintf("got %q", s.Name))
	}
	return s
}

func (p *parser) caseOf() *Case {
	c := new(Case)
	p.object(func(name string) bool {
		switch name {
		case "name":
			c.Name = p.text()
		case "row":
			c.Row = p.text()
		case "story":
			c.Story = p.text()
		case "source":
			c.Source = p.text()
		case "expect":
			p.array(func() { c.Expect = append(c.Expect, p.expect()) })
		default:
			return false
		}
		return true
	})
	return c
}

func (p *parser) expect() (e Expect) {
	p.object(func(name string) bool {
		switch name {
		case "policy":
			e.Policy = p.text()
		case "verdict":
			e.Verdict = p.text()
		case "rule":
			e.Rule = p.text()
		case "exchange":
			e.Exchange = p.count()
		case "outcome":
			e.Outcome = p.text()
		case "finding":
			e.Finding = p.text()
		default:
			return false
		}
		return true
	})
	return e
}

// counted tells which counts an end line has; a hand-written one may leave them out.
type counted struct{ exchanges, conns bool }

// parseEnd reads a cassette's last line.
func parseEnd(line []byte) (e End, has counted, err error) {
	p := parser{b: line}
	p.object(func(name string) bool {
		switch name {
		case "end":
			if !p.bool() {
				p.fail("an end member that is true")
			}
		case "at":
			e.At = p.time()
		case "exchanges":
			e.Exchanges, has.exchanges = p.count(), true
		case "conns":
			e.Conns, has.conns = p.count(), true
		case "redacted":
			e.Redacted = p.count()
		case "repaired":
			e.Repaired = p.bool()
		case "next":
			e.Next = p.bool()
		case "error":
			e.Error = p.text()
		default:
			return false
		}
		return true
	})
	p.end()
	return e, has, p.err
}
