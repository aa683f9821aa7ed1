package har

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// A line is what one line of a cassette was found to say.
type line struct {
	kind     lineKind
	x        Exchange // of an exchange line: what this line adds
	endOffOK bool     // _endOff stands on it
	end      End
	has      counted
}

type lineKind uint8

const (
	otherLine lineKind = iota // of a kind that this version does not know
	firstLine                 // an exchange's first
	moreLine                  // an exchange's continuation
	endLine
)

// members of an exchange line, as bits: which of them stand on it.
const (
	hasN = 1 << iota
	hasMore
	hasConn
	hasSeq
	hasStarted
	hasClient
	hasServer
	hasRequest
	hasResponse
	hasEdits
	hasRedacted
	hasNotes
	hasEnd
	hasEndAt
	hasEndOff
	hasEndLine
)

var memberBits = map[string]uint{
	"_n": hasN, "_more": hasMore, "_conn": hasConn, "_seq": hasSeq, "startedDateTime": hasStarted, "_client": hasClient,
	"_server": hasServer, "request": hasRequest, "response": hasResponse, "_edits": hasEdits, "_redacted": hasRedacted,
	"_notes": hasNotes, "_end": hasEnd, "_endAt": hasEndAt, "_endOff": hasEndOff, "end": hasEndLine,
}

// parseLine reads one line behind the header. What it returns shares no memory with b.
func parseLine(b []byte, l *line) error {
	*l = line{}
	if !utf8.Valid(b) {
		return errors.New("the line is not UTF-8")
	}
	p := parser{b: b}
	var has uint
	for first := true; ; {
		name, ok := p.member(&first)
		if !ok {
			break
		}
		bit := memberBits[string(name)]
		if has&bit != 0 {
			p.fail(fmt.Sprintf("one member named %q", name))
			break
		}
		has |= bit
		l.member(&p, bit)
	}
	p.end()
	if p.err != nil {
		return p.err
	}
	return l.classify(b, has)
}

// member reads the value of one member.
func (l *line) member(p *parser, bit uint) {
	x := &l.x
	switch bit {
	case hasN:
		x.N = p.count()
	case hasMore:
		if !p.bool() {
			p.fail("a _more member that is true")
		}
	case hasConn:
		x.Conn = uint64(p.number())
	case hasSeq:
		x.Seq = p.count()
	case hasStarted:
		x.Started = p.time()
	case hasClient:
		x.Client = p.text()
	case hasServer:
		x.Server = p.text()
	case hasRequest:
		p.request(x)
	case hasResponse:
		p.response(x)
	case hasEdits:
		for first := true; p.element(&first); {
			x.Edits = append(x.Edits, p.edit())
		}
	case hasRedacted:
		for first := true; p.element(&first); {
			x.Redacted = append(x.Redacted, p.redaction())
		}
	case hasNotes:
		for first := true; p.element(&first); {
			x.Notes = append(x.Notes, p.text())
		}
	case hasEnd:
		if x.End = Ending(p.text()); p.err == nil && !x.End.known() {
			p.fail("an _end of this format, not " + string(x.End))
		}
	case hasEndAt:
		x.EndAt = p.micros()
	case hasEndOff:
		x.EndOff = p.count()
	default:
		p.skip()
	}
}

// classify says of which kind the line is, and whether it has what that kind needs.
func (l *line) classify(b []byte, has uint) (err error) {
	l.endOffOK = has&hasEndOff != 0
	switch {
	case has&hasEndLine != 0:
		l.kind = endLine
		l.end, l.has, err = parseEnd(b)
		return err
	case has&hasMore != 0:
		l.kind = moreLine
		if has&hasN != 0 {
			return errors.New("want _n or _more, not both")
		}
	case has&hasN != 0:
		l.kind = firstLine
		if l.x.N == 0 || has&hasStarted == 0 {
			return errors.New("want _n of 1 or more, and startedDateTime")
		}
	case has&(hasConn|hasSeq) != 0:
		return errors.New("want _n or _more")
	default:
		return nil
	}
	if l.x.Conn == 0 || l.x.Seq == 0 {
		return errors.New("want _conn and _seq of 1 or more")
	}
	if has&(hasEndAt|hasEndOff) != 0 && !l.x.End.timed() {
		return errors.New("want _endAt and _endOff only beside an _end other than keep and unknown")
	}
	return nil
}

func (p *parser) request(x *Exchange) {
	p.side(&x.Request, func(name string) bool {
		switch name {
		case "method":
			x.Method = p.text()
		case "url":
			x.URL = p.text()
		default:
			return false
		}
		return true
	})
}

func (p *parser) response(x *Exchange) {
	p.side(&x.Response, func(name string) bool {
		switch name {
		case "status":
			x.Status = p.count()
		case "mimeType":
			x.MediaType = p.text()
		default:
			return false
		}
		return true
	})
}

// side reads a request or response object; own reads the members that only one of them has.
func (p *parser) side(s *Side, own func(name string) bool) {
	raw, writes := false, false
	p.object(func(name string) {
		switch name {
		case "_raw", "_raw64":
			if raw {
				p.fail("_raw or _raw64, not both")
			}
			raw = true
			if name == "_raw" {
				s.Raw = p.owned()
			} else {
				s.Raw = p.base64()
			}
		case "_writes":
			writes = true
			s.Writes = p.writes()
		default:
			if !own(name) {
				p.skip()
			}
		}
	})
	if p.err != nil {
		return
	}
	if !writes && len(s.Raw) > 0 {
		s.Writes = []Write{{Len: len(s.Raw)}}
		return
	}
	total := 0
	for _, w := range s.Writes {
		if w.Len == 0 || w.Len > len(s.Raw)-total {
			p.fail("lengths in _writes that are not 0 and add up to those of the bytes")
			return
		}
		total += w.Len
	}
	if total != len(s.Raw) {
		p.fail("lengths in _writes that are not 0 and add up to those of the bytes")
	}
}

func (p *parser) writes() (list []Write) {
	for first := true; p.element(&first); {
		pair := true
		var w Write
		if p.element(&pair) {
			w.At = p.micros()
		}
		if p.element(&pair) {
			w.Len = p.count()
		}
		if p.element(&pair) {
			p.fail("pairs of microseconds and length")
		}
		list = append(list, w)
	}
	return list
}

func (p *parser) edit() (e Edit) {
	p.object(func(name string) {
		switch name {
		case "off":
			e.Off = p.count()
		case "len":
			e.Len = p.count()
		case "new":
			e.New = p.text()
		case "new64":
			e.New = string(p.base64())
		default:
			p.skip()
		}
	})
	return e
}

func (p *parser) redaction() (r Redaction) {
	p.object(func(name string) {
		switch name {
		case "side":
			side := p.text()
			dir, ok := sideNames[side]
			if r.Dir = dir; !ok {
				p.fail("a side that is request or response")
			}
		case "off":
			r.Off = p.count()
		case "len":
			r.Len = p.count()
		case "kind":
			r.Kind = p.text()
		default:
			p.skip()
		}
	})
	return r
}

// noEnding is put on an exchange whose lines stop without an ending.
func noEnding(x *Exchange, note string) {
	x.End, x.EndAt, x.EndOff = EndUnknown, 0, len(x.Response.Raw)
	x.Notes = append(x.Notes, note)
}
