package wire

import "strings"

// A Fault is a departure from RFC 9112 that did not keep a message from being read, and bytes that show it.
type Fault struct {
	Name string // as in Message.Faults
	At   Span   // within the bytes that the message was parsed from
}

// maxPlaces is how many places of one fault are given.
const maxPlaces = 4

// FaultsAt says where each of m.Faults is in raw, which m was parsed from: the first places of each, in the order of
// m.Faults. A framing that contradicts itself has a place for each field line that takes part.
func (m *Message) FaultsAt(raw []byte) []Fault {
	if len(m.Faults) == 0 {
		return nil
	}
	var p placer
	p.head(m, raw)
	p.body(m, raw)
	var out []Fault
	for i, name := range faultNames {
		for _, at := range p.at[i] {
			out = append(out, Fault{name, at})
		}
	}
	return out
}

// A placer reads a message once more, line by line, for the faults of each line.
type placer struct {
	text   string // the head or the trailer section
	base   int    // where that begins
	at     [len(faultNames)][]Span
	length []Span // the lines of Content-Length
	coding []Span // the lines of Transfer-Encoding
}

// add notes one place, in the text, of all faults in f. Places that touch are one.
func (p *placer) add(f fault, off, n int) {
	if f == 0 {
		return
	}
	off += p.base
	for i := range faultNames {
		if f&(1<<i) == 0 {
			continue
		}
		switch k := len(p.at[i]) - 1; {
		case k >= 0 && off < p.at[i][k].End():
		case k >= 0 && off == p.at[i][k].End():
			p.at[i][k].Len += n
		case k+1 < maxPlaces:
			p.at[i] = append(p.at[i], Span{Off: off, Len: n})
		}
	}
}

// line takes a line end for itself: a LF without a CR before it, as lineEnd does.
func (p *placer) line(at int) (end, next int) {
	var f fault
	end, next = lineEnd(p.text, at, &f)
	p.add(f, next-1, 1)
	return end, next
}

func (p *placer) head(m *Message, raw []byte) {
	p.text, p.base = string(raw[m.Off:m.Off+m.Len]), m.Off
	at := 0
	for ; p.text[at] == '\r' || p.text[at] == '\n'; at++ {
		p.add(leadingEmptyLine, at, 1)
		if p.text[at] == '\n' && (at == 0 || p.text[at-1] != '\r') {
			p.add(bareLF, at, 1)
		}
	}
	end, next := p.line(at)
	var f fault
	var h Head
	h.parseStart(p.text[at:end]+"\r", m.dir(), &f)
	p.add(f&^(bareCR|controlCharacter), at, end-at)
	p.controls(at, end)
	p.fields(next)
	p.framing(m)
}

// dir tells which way a message goes: only a response has a status.
func (m *Message) dir() Dir {
	if m.Status > 0 {
		return ToClient
	}
	return ToServer
}

// fields reads the field lines from at on, as appendFields does.
func (p *placer) fields(at int) {
	folds := false // the line before is a field, or continues one
	for at < len(p.text) {
		end, next := p.line(at)
		switch {
		case end == at:
			return
		case folds && isSpace(p.text[at]):
			p.add(obsFold, at, end-at)
			p.controls(at, end)
		default:
			folds = p.field(at, end)
		}
		at = next
	}
}

func (p *placer) field(at, end int) bool {
	var f fault
	fd, ok := parseField(p.text[at:end], &f)
	colon := strings.IndexByte(p.text[at:end], ':')
	switch name := strings.TrimRight(p.text[at:max(at, at+colon)], " \t"); {
	case f&spaceBeforeColon != 0:
		p.add(spaceBeforeColon, at+len(name), colon-len(name))
		p.add(f&badFieldName, at, colon)
	case f&badFieldName != 0:
		p.add(badFieldName, at, max(colon, 1))
	default:
		p.add(f&(obsFold|orphanFold|noColon), at, end-at)
	}
	if !ok {
		return false
	}
	p.controls(at+fd.At.Off, at+fd.At.End())
	switch {
	case fd.named("Content-Length"):
		p.length = append(p.length, Span{Off: p.base + at, Len: end - at})
	case fd.named("Transfer-Encoding"):
		p.coding = append(p.coding, Span{Off: p.base + at, Len: end - at})
	}
	return true
}

// controls notes each control character of a value.
func (p *placer) controls(from, to int) {
	if controls(p.text[from:to]) == 0 {
		return
	}
	for i := from; i < to; i++ {
		p.add(controls(p.text[i:i+1]), i, 1)
	}
}

// framing gives the faults of the framing the field lines that they are made of.
func (p *placer) framing(m *Message) {
	const ofLength, ofCoding = repeatedLength | conflictingLength | badLength, notChunkedLast | chunkedTwice | chunkedParameters | codingBefore | encodingIn10
	has := m.faultSet()
	p.base = 0
	for _, s := range p.length {
		p.add(has&(ofLength|lengthAndEncoding|framedBodiless), s.Off, s.Len)
	}
	for _, s := range p.coding {
		p.add(has&(ofCoding|lengthAndEncoding|framedBodiless), s.Off, s.Len)
	}
}

func (m *Message) faultSet() (f fault) {
	for i, name := range faultNames {
		for _, n := range m.Faults {
			if n == name {
				f |= 1 << i
			}
		}
	}
	return f
}

// body steps through the body's framing.
func (p *placer) body(m *Message, raw []byte) {
	if m.Framing != ByChunks {
		return
	}
	var b body
	b.begin(&m.Head, defaultMaxHead)
	line := m.Off + m.Len // where the line at hand begins
	for at := line; at < len(raw) && !b.ended(); {
		if b.state == chunkData {
			n, _ := b.next(raw[at:])
			at += n
			line = at
			continue
		}
		was := b.state
		b.faults = 0
		ok := b.step(raw[at])
		p.base = 0
		if b.faults&(badChunkSize|longChunkLine|longTrailers) != 0 {
			p.add(b.faults, line, at+1-line)
		} else {
			p.add(b.faults, at, 1)
		}
		if !ok {
			return
		}
		if at++; raw[at-1] == '\n' {
			line = at
		}
		if b.state == trailerBOL && was < chunkData {
			p.text, p.base = string(wholeLines(raw[at:max(at, m.End)])), at
			p.fields(0)
		}
	}
}
