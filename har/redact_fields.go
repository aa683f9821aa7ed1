package har

import (
	"bytes"

	"github.com/mcptap/mcptap/har/wire"
)

// startLine reads the start line of a head and returns where the field lines begin.
func (r *Redactor) startLine(ri int, f *facts) int {
	reg := &r.regions[ri]
	t := reg.text
	end := bytes.IndexByte(t, '\n')
	if end < 0 {
		end = len(t)
	}
	first := bytes.IndexByte(t[:end], ' ')
	if first < 0 {
		return min(end+1, len(t))
	}
	if reg.d == wire.ToServer {
		f.method = methodOf(t[:first])
		if last := bytes.LastIndexByte(t[:end], ' '); last > first {
			reg.target = [2]int{first + 1, last}
		}
		return min(end+1, len(t))
	}
	i := first
	for i < end && t[i] == ' ' {
		i++
	}
	for ; i < end && '0' <= t[i] && t[i] <= '9' && f.status < 1000; i++ {
		f.status = f.status*10 + int(t[i]-'0')
	}
	reg.target = [2]int{i, end} // the reason phrase
	return min(end+1, len(t))
}

// fields reads field lines of a region from i on, adds the secrets that their names tell, and notes in f what they say of
// the message; f is nil if they say nothing. It returns where the text behind the blank line begins, or -1 if none ends it.
func (r *Redactor) fields(ri, i int, f *facts) int {
	t := r.regions[ri].text
	kind, off, end := plainField, 0, 0
	for i < len(t) {
		stop, next := len(t), len(t)
		if n := bytes.IndexByte(t[i:], '\n'); n >= 0 {
			stop, next = i+n, i+n+1
			if stop > i && t[stop-1] == '\r' {
				stop--
			}
			if stop == i {
				r.field(ri, kind, off, end, f)
				return next
			}
		}
		if t[i] == ' ' || t[i] == '\t' { // obs-fold
			end = stop
		} else {
			r.field(ri, kind, off, end, f)
			kind = plainField
			if colon := bytes.IndexByte(t[i:stop], ':'); colon > 0 {
				kind, off, end = fieldKindOf(t[i:i+colon]), i+colon+1, stop
			}
		}
		i = next
	}
	r.field(ri, kind, off, end, f)
	return -1
}

// field adds the secrets of one field, whose value stands from off to end.
func (r *Redactor) field(ri int, kind fieldKind, off, end int, f *facts) {
	if kind <= framingField {
		return
	}
	t := r.regions[ri].text
	off, end = trimSpace(t, off, end)
	switch kind {
	case credentialsField:
		r.credentials(ri, off, end)
	case secretField:
		r.add(ri, off, end, apiKey)
	case sessionField:
		r.add(ri, off, end, session)
	case cookieField:
		for off < end {
			stop := end
			if n := bytes.IndexByte(t[off:end], ';'); n >= 0 {
				stop = off + n
			}
			r.cookie(ri, off, stop)
			off = stop + 1
		}
	case setCookieField:
		if n := bytes.IndexByte(t[off:end], ';'); n >= 0 {
			end = off + n
		}
		r.cookie(ri, off, end)
	default:
		if f != nil {
			f.read(kind, t[off:end], r.regions[ri].off+off)
		}
	}
}

// read notes a field that says how the message's body is to be read.
func (f *facts) read(kind fieldKind, value []byte, at int) {
	switch kind {
	case lengthField:
		if n := bytes.IndexByte(value, ','); n >= 0 {
			value = bytes.TrimRight(value[:n], " \t")
		}
		f.length = 0
		for _, c := range value {
			if c < '0' || c > '9' || f.length > 1<<58 {
				f.length = -1
				return
			}
			f.length = f.length*10 + int64(c-'0')
		}
	case transferField:
		last := value[bytes.LastIndexByte(value, ',')+1:]
		if n := bytes.IndexByte(last, ';'); n >= 0 {
			last = last[:n]
		}
		f.transfer, f.chunked = true, bytes.EqualFold(bytes.Trim(last, " \t"), []byte("chunked"))
	case typeField:
		f.stream = hasPrefixFold(value, "text/event-stream")
		f.form = hasPrefixFold(value, "application/x-www-form-urlencoded")
	case encodingField:
		if !bytes.EqualFold(value, []byte("identity")) {
			f.coding = [2]int{at, len(value)}
		}
	}
}

// credentials adds what follows the scheme of an Authorization field, or all of a value without a known one.
func (r *Redactor) credentials(ri, off, end int) {
	t := r.regions[ri].text
	i := off
	for i < end && class[t[i]]&tokenChar != 0 {
		i++
	}
	kind := authorization
	if i < end && i > off && t[i] <= ' ' && i-off <= longestScheme {
		var low [longestScheme]byte
		switch scheme := string(lower(low[:0], t[off:i])); {
		case scheme == "basic":
			kind = basic
			fallthrough
		case schemes[scheme]:
			off, end = trimSpace(t, i, end)
		}
	}
	r.add(ri, off, end, kind)
}

// cookie adds the value of one cookie pair, or all of a pair without a name.
func (r *Redactor) cookie(ri, off, end int) {
	t := r.regions[ri].text
	off, end = trimSpace(t, off, end)
	if n := bytes.IndexByte(t[off:end], '='); n >= 0 {
		off, end = trimSpace(t, off+n+1, end)
	}
	if end-off >= 2 && t[off] == '"' && t[end-1] == '"' {
		off, end = off+1, end-1
	}
	r.add(ri, off, end, cookie)
}

// clip narrows a secret found in the text of a head or trailer section to where it may be replaced: to a target, a reason
// phrase or the value of a field that frames nothing. It is empty where nothing may be. A Cleaner also replaces what is known in
// names of fields, in lines that are none, and in fields and authorities that name something.
func (r *Redactor) clip(reg *region, off, end int, isKnown bool) (int, int) {
	t := reg.text
	line := reg.lineStart(off)
	if reg.target[1] > 0 && line < reg.target[0] {
		from, to := reg.target[0], reg.target[1]
		if isKnown && reg.d == wire.ToServer && r.deep == nil {
			from += authority(t[from:to])
		}
		return max(off, from), min(end, to)
	}
	for line > 0 && (t[line] == ' ' || t[line] == '\t') {
		line = lineStart(t, line-1)
	}
	colon := bytes.IndexByte(t[line:], ':')
	if r.deep != nil && isKnown {
		if no := colon < 0 || colon >= lineLen(t[line:]); no || end <= line+colon && fieldKindOf(t[line:line+colon]) == plainField {
			return off, fieldEnd(t, off, end)
		}
	}
	if colon < 0 {
		return off, off
	}
	if k := fieldKindOf(t[line : line+colon]); k.frames() || k == namingField && r.deep == nil {
		return off, off
	}
	return max(off, line+colon+1), fieldEnd(t, off, end)
}

// fieldEnd returns where the field that holds the byte at off ends, but for end: at a line end behind which nothing
// continues it.
func fieldEnd(t []byte, off, end int) int {
	for i := off; i < end; i++ {
		if t[i] == '\n' && (i+1 == len(t) || t[i+1] != ' ' && t[i+1] != '\t') {
			return i
		}
	}
	return end
}

// lineStart is lineStart for places that mostly follow one another.
func (reg *region) lineStart(off int) int {
	if off < reg.lineOff {
		reg.line, reg.lineOff = 0, 0
	}
	if n := bytes.LastIndexByte(reg.text[reg.lineOff:off], '\n'); n >= 0 {
		reg.line = reg.lineOff + n + 1
	}
	reg.lineOff = off
	return reg.line
}

// lineStart returns where the line that holds the byte at i begins.
func lineStart(t []byte, i int) int { return bytes.LastIndexByte(t[:i], '\n') + 1 }

// authority returns the length of the scheme, host and port at the beginning of a URL, or of an authority alone; 0 if it
// begins with a path.
func authority(url []byte) int {
	if len(url) == 0 || url[0] == '/' {
		return 0
	}
	from := 0
	if n := bytes.Index(url, []byte("://")); n >= 0 {
		from = n + 3
	}
	if n := bytes.IndexAny(url[from:], "/?#"); n >= 0 {
		return from + n
	}
	return len(url)
}

func trimSpace(t []byte, off, end int) (int, int) {
	for off < end && t[off] <= ' ' && isSpace(t[off]) {
		off++
	}
	for off < end && isSpace(t[end-1]) {
		end--
	}
	return off, end
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func hasPrefixFold(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && bytes.EqualFold(b[:len(prefix)], []byte(prefix))
}

// lower appends ASCII letters of b in lower case.
func lower(dst, b []byte) []byte {
	for _, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}
