package har

import (
	"fmt"
	"unicode/utf8"

	"github.com/mcptap/mcptap/har/wire"
)

// A line is what one line of a cassette was found to say.
type line struct {
	kind     lineKind
	x        *Exchange // of an exchange line: what this line adds
	endOffOK bool      // _endOff stands on it
	end      End
	has      counted
	process  *Process // of a process line: what this line adds
}

type lineKind uint8

const (
	otherLine lineKind = iota // of a kind that this version does not know
	firstLine                 // an exchange's first
	moreLine                  // an exchange's continuation
	endLine
	processLine
)

// members is the set of those that an object has.
type members uint32

// The members of an exchange line, of its sides, and what tells the end line.
const (
	hasN members = 1 << iota
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
	hasRaw
	hasRaw64
	hasWrites
	hasMethod
	hasURL
	hasStatus
	hasMediaType
	hasSide
	hasOff
	hasLen
	hasProcess
	hasSideOff
	hasName
)

func lineMember(name []byte) members {
	switch string(name) {
	case "_n":
		return hasN
	case "_more":
		return hasMore
	case "_conn":
		return hasConn
	case "_seq":
		return hasSeq
	case "startedDateTime":
		return hasStarted
	case "_client":
		return hasClient
	case "_server":
		return hasServer
	case "_name":
		return hasName
	case "request":
		return hasRequest
	case "response":
		return hasResponse
	case "_edits":
		return hasEdits
	case "_redacted":
		return hasRedacted
	case "_notes":
		return hasNotes
	case "_end":
		return hasEnd
	case "_endAt":
		return hasEndAt
	case "_endOff":
		return hasEndOff
	case "end":
		return hasEndLine
	case "_process":
		return hasProcess
	}
	return 0
}

func sideMember(name []byte) members {
	switch string(name) {
	case "_raw":
		return hasRaw
	case "_raw64":
		return hasRaw64
	case "_writes":
		return hasWrites
	case "method":
		return hasMethod
	case "url":
		return hasURL
	case "status":
		return hasStatus
	case "mimeType":
		return hasMediaType
	case "_off":
		return hasSideOff
	}
	return 0
}

// add notes that an object has a member, which must not repeat. Members that this version does not know are not counted.
func (p *parser) add(has *members, bit members, name []byte) {
	if *has&bit != 0 {
		p.fail(fmt.Sprintf("one member named %q", name))
	}
	*has |= bit
}

// line reads b, one line behind the header. What it returns shares no memory with it.
func (p *parser) line(b []byte) (l line, err error) {
	if !utf8.Valid(b) {
		return l, want("a line of UTF-8", "")
	}
	p.b, p.i, p.err = b, 0, nil
	l.x = new(Exchange)
	var has members
	for first := true; ; {
		name, ok := p.member(&first)
		if !ok {
			break
		}
		bit := lineMember(name)
		p.add(&has, bit, name)
		l.x.member(p, bit)
	}
	p.end()
	if p.err != nil {
		return l, p.err
	}
	return l, l.classify(b, has)
}

// member reads the value of one member.
func (x *Exchange) member(p *parser, bit members) {
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
		x.Client = p.word()
	case hasServer:
		x.Server = p.word()
	case hasName:
		x.Name = p.word()
	case hasRequest:
		p.side(&x.Request, x, hasMethod|hasURL)
	case hasResponse:
		p.side(&x.Response, x, hasStatus|hasMediaType|hasSideOff)
	case hasProcess:
		p.skip()
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
			x.Notes = append(x.Notes, p.note())
		}
	case hasEnd:
		if x.End = Ending(p.word()); p.err == nil && !x.End.known() {
			p.err = want("one of the endings of the format", fmt.Sprintf("got %q", x.End))
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
func (l *line) classify(b []byte, has members) (err error) {
	l.endOffOK = has&hasEndOff != 0
	switch {
	case has&hasProcess != 0:
		l.kind = processLine
		if has&^(hasProcess|hasStarted|hasRedacted) != 0 {
			return want("a process line without members of other lines", "")
		}
		l.process, err = parseProcess(b)
		return err
	case has&hasEndLine != 0:
		l.kind = endLine
		l.end, l.has, err = parseEnd(b)
		return err
	case has&hasMore != 0:
		l.kind = moreLine
		if has&hasN != 0 {
			return want("_n or _more", "got both")
		}
	case has&hasN != 0:
		l.kind = firstLine
		if l.x.N == 0 || has&hasStarted == 0 {
			return want("_n of 1 or more, and startedDateTime", "")
		}
	case has&(hasConn|hasSeq) != 0:
		return want("_n or _more", "got neither")
	default:
		return nil
	}
	if l.x.Conn == 0 || l.x.Seq == 0 {
		return want("_conn and _seq of 1 or more", "")
	}
	if has&(hasEndAt|hasEndOff) != 0 && !l.x.End.timed() {
		return want("_endAt and _endOff only beside an _end other than keep and unknown", "")
	}
	return nil
}

// side reads a request or response object; own are the members that only this one has.
func (p *parser) side(s *Side, x *Exchange, own members) {
	var has members
	for first := true; ; {
		name, ok := p.member(&first)
		if !ok {
			break
		}
		bit := sideMember(name)
		if bit&(hasMethod|hasURL|hasStatus|hasMediaType|hasSideOff)&^own != 0 {
			bit = 0
		}
		p.add(&has, bit, name)
		switch bit {
		case hasRaw:
			s.Raw = p.owned()
		case hasRaw64:
			s.Raw = p.base64()
		case hasWrites:
			s.Writes = p.writes()
		case hasMethod:
			x.Method = p.word()
		case hasURL:
			x.URL = p.word()
		case hasStatus:
			x.Status = p.status()
		case hasMediaType:
			x.MediaType = p.word()
		case hasSideOff:
			x.Off = p.number()
		default:
			p.skip()
		}
	}
	if has&hasRaw != 0 && has&hasRaw64 != 0 {
		p.err = want("_raw or _raw64", "got both")
	}
	if len(s.Raw) == 0 {
		s.Raw = nil
	}
	if has&hasWrites == 0 && len(s.Raw) > 0 {
		s.Writes = []Write{{Len: len(s.Raw)}}
	}
	if p.err == nil && !s.adds() {
		p.err = want("lengths in _writes that are not 0 and add up to the length of the bytes", "")
	}
}

// writes reads a list of pairs, of which most have few.
func (p *parser) writes() []Write {
	var few [8]Write
	list := few[:0]
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
	return append([]Write(nil), list...)
}

func (p *parser) status() int {
	n := p.count()
	if n > 999 {
		p.fail("a status of three digits")
	}
	return n
}

func (p *parser) note() string {
	n := p.word()
	if n == "" {
		p.fail("a note that is not empty")
	}
	return n
}

func (p *parser) edit() (e Edit) {
	var where members
	p.object(func(name string) bool {
		switch name {
		case "off":
			e.Off = p.count()
			where |= hasOff
		case "len":
			e.Len = p.count()
			where |= hasLen
		case "new":
			e.New = p.text()
		case "new64":
			e.New = string(p.base64())
		default:
			return false
		}
		return true
	})
	p.placed(where)
	return e
}

func (p *parser) redaction() (r Redaction) {
	var where members
	p.object(func(name string) bool {
		switch name {
		case "side":
			switch p.word() {
			case wire.ToServer.String():
				r.Dir = wire.ToServer
			case wire.ToClient.String():
				r.Dir = wire.ToClient
			default:
				p.fail("a side that is request or response")
			}
			where |= hasSide
		case "off":
			r.Off = p.count()
			where |= hasOff
		case "len":
			r.Len = p.count()
			where |= hasLen
		case "kind":
			r.Kind = p.word()
		default:
			return false
		}
		return true
	})
	if where&hasSide == 0 {
		p.fail("a side")
	}
	p.placed(where)
	return r
}

// placed asks for off and len, without which a range says nothing.
func (p *parser) placed(where members) {
	if where&(hasOff|hasLen) != hasOff|hasLen {
		p.fail("off and len")
	}
}
