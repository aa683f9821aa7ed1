package har

import "bytes"

// addRegion adds a region and returns its index.
func (r *Redactor) addRegion(reg region) int {
	r.regions = append(r.regions, reg)
	return len(r.regions) - 1
}

// join gives a region the text that the pieces from lo on make up. It is false if there are none.
func (r *Redactor) join(reg *region, lo int) bool {
	pieces := r.pieces[lo:]
	switch len(pieces) {
	case 0:
		return false
	case 1:
		reg.off = pieces[0].raw
		reg.text = r.raw[reg.d][reg.off : reg.off+pieces[0].n]
		r.pieces = r.pieces[:lo]
		return true
	}
	begin := len(r.arena)
	for i := range pieces {
		p := &pieces[i]
		p.text = len(r.arena) - begin
		r.arena = append(r.arena, r.raw[reg.d][p.raw:p.raw+p.n]...)
	}
	reg.joined, reg.pieces = true, [2]int{lo, len(r.pieces)}
	reg.text = r.arena[begin:len(r.arena):len(r.arena)]
	return true
}

// unfoldData takes the field name off data lines that follow on others, so that an event's data is one text (WHATWG HTML
// section 9.2.6).
func (r *Redactor) unfoldData(reg *region) {
	if !hasFoldedData(reg.text) {
		return
	}
	lo, inData := len(r.pieces), false
	from := *reg
	for i := 0; i < len(from.text); {
		end := i + lineLen(from.text[i:])
		line := from.text[i:end]
		isData := bytes.HasPrefix(line, []byte("data:"))
		if isData && inData {
			if i += len("data:"); i < end && from.text[i] == ' ' {
				i++
			}
		}
		for first := true; i < end; first = false {
			i = r.addPiece(&from, i, end)
			r.pieces[len(r.pieces)-1].joins = first && isData && inData
		}
		inData = isData
	}
	reg.joined = false
	r.join(reg, lo)
}

// addPiece adds the first piece of a region's text from i to end and returns where it ends.
func (r *Redactor) addPiece(reg *region, i, end int) int {
	if !reg.joined {
		r.pieces = append(r.pieces, piece{raw: reg.off + i, n: end - i})
		return end
	}
	p := r.pieces[r.pieceAt(reg, i)]
	n := min(end, p.text+p.n) - i
	r.pieces = append(r.pieces, piece{raw: p.raw + i - p.text, n: n})
	return i + n
}

// hasFoldedData tells whether a data line follows on another.
func hasFoldedData(t []byte) bool {
	for i := 0; ; {
		n := bytes.Index(t[i:], []byte("data:"))
		if n < 0 {
			return false
		}
		i += n
		if i > 0 && isLineEnd(t[i-1]) {
			before := i - 1
			if before > 0 && t[before] == '\n' && t[before-1] == '\r' {
				before--
			}
			if bytes.HasPrefix(t[bytes.LastIndexAny(t[:before], "\r\n")+1:before], []byte("data:")) {
				return true
			}
		}
		i += len("data:")
	}
}

// lineLen is the length of the first line of t with its end: LF, CRLF or a lone CR.
func lineLen(t []byte) int {
	n := bytes.IndexAny(t, "\r\n")
	switch {
	case n < 0:
		return len(t)
	case t[n] == '\r' && n+1 < len(t) && t[n+1] == '\n':
		return n + 2
	}
	return n + 1
}

func isLineEnd(c byte) bool { return c == '\n' || c == '\r' }

// lastEventEnd returns where the last event of t that is whole ends: behind its blank line.
func lastEventEnd(t []byte) int {
	for i := len(t) - 1; i > 0; i-- {
		if !isLineEnd(t[i]) {
			continue
		}
		line := i
		if t[i] == '\n' && t[i-1] == '\r' {
			line--
		}
		if line > 0 && isLineEnd(t[line-1]) {
			return i + 1
		}
	}
	return 0
}

// dataEnd returns where, between off and end of an event stream's region, the data of the event at off ends: its last
// line that is one of several joined ones.
func (r *Redactor) dataEnd(reg *region, off, end int) int {
	for i := off; i < end; {
		if i += lineLen(reg.text[i:]); i < end && !r.joins(reg, i) {
			return i
		}
	}
	return end
}

func (r *Redactor) joins(reg *region, i int) bool {
	if !reg.joined {
		return false
	}
	p := &r.pieces[r.pieceAt(reg, i)]
	return p.text == i && p.joins
}

// addDecoded adds the decoded text of the compressed body that is the region at binary.
func (r *Redactor) addDecoded(binary int, text []byte) {
	body := &r.regions[binary]
	reg := region{d: body.d, off: body.off, text: text, decoded: true, of: binary, stream: body.stream}
	r.scanText(r.addRegion(reg))
	if reg.stream && hasFoldedData(text) {
		reg.text = bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\ndata: "), []byte("\n")), []byte("\ndata:"), []byte("\n"))
		reg.stream = false
		r.scanText(r.addRegion(reg))
	}
}

// blankEncoded replaces each compressed body in whose decoded text a secret was found.
func (r *Redactor) blankEncoded(walks ...*walk) {
	found := false
	for i := range r.hits {
		reg := &r.regions[r.hits[i].region]
		if !reg.decoded {
			continue
		}
		body := &r.regions[reg.of]
		if body.blanked {
			continue
		}
		body.blanked, found = true, true
		r.addHit(hit{region: reg.of, end: len(body.text), kind: bodyEncoded, spelling: -1})
		for _, w := range walks {
			if w.d == body.d {
				w.mark.facts.blanked, w.back = true, 0
			}
		}
	}
	if found {
		r.sortHits()
	}
}
