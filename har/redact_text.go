package har

import "bytes"

// A scan looks for secrets in one text. It goes through it once for each character that is the rarest one of some shape:
// searching for a byte is an order of magnitude faster than looking at each.
type scan struct {
	r      *Redactor
	region int
	t      []byte
	target [2]int // a request target: parameters in it end at & and # only
	stream bool
	grant  bool // a member grant_type is there
	// Places before which a search that failed once would fail again, so that no text is gone through many times.
	noUserinfo, noJWT, noKey int
}

// scanText adds the secrets in a region's text that are known by their shape or by the name before them.
func (r *Redactor) scanText(ri int) {
	reg := &r.regions[ri]
	s := &r.scan
	*s = scan{r: r, region: ri, t: reg.text, target: reg.target, stream: reg.stream}
	s.each('=', (*scan).parameter)
	s.each('@', (*scan).userinfo)
	s.each('J', (*scan).jwt)
	s.each('B', (*scan).bearer)
	s.each('b', (*scan).bearer)
	s.each('_', (*scan).memberOrKey)
	s.each('T', (*scan).memberOrKey)
	s.each('S', (*scan).member)
	s.each('I', (*scan).key)
	s.each('-', (*scan).keyOrPrivateKey)
	if r.deep != nil { // a recorder has no time for a mark that is everywhere
		s.each('.', (*scan).key)
	}
	s.escapedMembers(secretMembers)
	if s.grant {
		s.grantMembers()
	}
}

// each calls look for each place of c where the character before fits. look returns where the secret it found ends, or
// anything up to its argument.
func (s *scan) each(c byte, look func(s *scan, i int) int) {
	bit := uint16(1) << triggers[c]
	s.noKey = 0
	for i := 0; i < len(s.t); i++ {
		n := bytes.IndexByte(s.t[i:], c)
		if n < 0 {
			return
		}
		if i += n; i < 3 || before[0][s.t[i-1]]&before[1][s.t[i-2]]&before[2][s.t[i-3]]&bit != 0 {
			i = max(i, look(s, i)-1)
		}
	}
}

// triggers numbers the characters that are searched for. before has, for each character, a bit for each trigger that it may
// stand before, next to it or one or two further off: most places are turned away by it.
var triggers, before = func() (t [256]uint8, before [3][256]uint16) {
	for i, c := range []byte("=@JBb_TSI-.") {
		t[c] = uint8(i)
	}
	allow := func(s string, trigger byte) {
		bit := uint16(1) << t[trigger]
		for d := range before {
			for c := range 256 {
				if d >= len(s) || byte(c)|0x20 == s[len(s)-1-d]|0x20 {
					before[d][c] |= bit
				}
			}
		}
	}
	for c := range 256 {
		if class[c]&letterOrDigit == 0 {
			allow(string([]byte{byte(c)}), 'B')
			allow(string([]byte{byte(c)}), 'b')
		}
	}
	allow("", '@')
	allow("ey", 'J')
	allow("--", '-') // of -----BEGIN
	allow("grant", '_')
	for _, names := range []map[string]bool{secretParameters, sessionParameters} {
		for n := range names {
			allow(n, '=')
		}
	}
	for _, c := range "0123456789abcdef" { // of a name's percent-encoded end
		allow(string([]rune{c, c}), '=')
	}
	for n := range secretMembers {
		for i := range n {
			if n[i] == '_' || n[i] == 'T' || n[i] == 'S' {
				allow(n[:i], n[i])
			}
		}
	}
	for _, s := range keyShapes {
		if s.trigger > 0 {
			allow(s.prefix[:s.trigger], s.prefix[s.trigger])
		}
	}
	return t, before
}()

// keyShapesAt has the shapes of keys by their trigger and the character before it.
var keyShapesAt = func() (at [16][256][]keyShape) {
	for _, s := range keyShapes {
		by := &at[triggers[s.prefix[s.trigger]]][s.prefix[s.trigger-1]]
		*by = append(*by, s)
	}
	return at
}()

func (s *scan) memberOrKey(i int) int {
	if end := s.member(i); end > i {
		return end
	}
	return s.key(i)
}

func (s *scan) keyOrPrivateKey(i int) int {
	if end := s.privateKey(i); end > i {
		return end
	}
	return s.key(i)
}

func (s *scan) found(off, end int, kind secretKind) int {
	reg := &s.r.regions[s.region]
	stop := end
	if reg.fields && off < end {
		off, end = s.r.clip(reg, off, end, false)
	}
	s.r.add(s.region, off, end, kind)
	return stop
}

// run returns where the characters of the given classes that begin at i end.
func run(t []byte, i int, classes uint8) int {
	for i < len(t) && class[t[i]]&classes != 0 {
		i++
	}
	return i
}

// key finds keys that are known by their prefix.
func (s *scan) key(i int) int {
	t := s.t
	if i == 0 {
		return 0
	}
	shapes := keyShapesAt[triggers[t[i]]][t[i-1]]
	for k := range shapes {
		shape := &shapes[k]
		off := i - shape.trigger
		if off < 0 || off+1 >= len(t) || t[off] != shape.prefix[0] || t[off+1] != shape.prefix[1] || !bytes.HasPrefix(t[off:], []byte(shape.prefix)) {
			continue
		}
		if i < s.noKey || off > 0 && class[t[off-1]]&letterOrDigit != 0 {
			return 0
		}
		body := off + len(shape.prefix)
		end := run(t, body, shape.chars)
		if end-body < shape.least || shape.digit && !hasDigit(t[body:end]) {
			s.noKey = end
			return 0
		}
		if s.isCursor(off) {
			return end
		}
		return s.found(off, end, key)
	}
	return 0
}

func hasDigit(t []byte) bool {
	for _, c := range t {
		if class[c]&digitChar != 0 {
			return true
		}
	}
	return false
}

// jwt finds `eyJ` and two or more base64url parts behind it (RFC 7519, RFC 7516).
func (s *scan) jwt(i int) int {
	t := s.t
	if i < 2 || i < s.noJWT || t[i-1] != 'y' || t[i-2] != 'e' {
		return 0
	}
	parts, end := 1, run(t, i, base64URL)
	for end+1 < len(t) && t[end] == '.' {
		next := run(t, end+1, base64URL)
		if next == end+1 {
			break
		}
		parts, end = parts+1, next
	}
	if parts == 2 && end < len(t) && t[end] == '.' { // alg none: the last part is empty
		parts, end = 3, end+1
	}
	off := i - 2
	if parts < 3 || end-off < 20 {
		s.noJWT = end
		return 0
	}
	if s.isCursor(off) {
		return end
	}
	return s.found(off, end, jwt)
}

// bearer finds the word Bearer and a token behind it that is no ordinary word.
func (s *scan) bearer(i int) int {
	t := s.t
	if i+8 > len(t) || t[i+1]|0x20 != 'e' || t[i+2]|0x20 != 'a' || !bytes.EqualFold(t[i:i+6], []byte("bearer")) ||
		i > 0 && class[t[i-1]]&letterOrDigit != 0 {
		return 0
	}
	off := i + 6
	switch {
	case bytes.HasPrefix(t[off:], []byte("%20")):
		off += 3
	case t[off] == ' ':
		for off < len(t) && t[off] == ' ' {
			off++
		}
	default:
		return 0
	}
	end := run(t, off, token68)
	for end > off && (t[end-1] == '.' || t[end-1] == '/') {
		end--
	}
	if end-off < 8 || isProse(t[off:end]) {
		return 0
	}
	for end < len(t) && t[end] == '=' {
		end++
	}
	return s.found(off, end, bearer)
}

// isProse tells whether t is made of words as people and programmers write them: letters with marks between, none longer
// than 16 letters, none with two humps. `authentication`, `resource_metadata` and `YOUR_ACCESS_TOKEN` are prose.
func isProse(t []byte) bool {
	letters, humps := 0, 0
	for i, c := range t {
		if class[c]&(lowerChar|upperChar) == 0 {
			if class[c]&digitChar != 0 {
				return false
			}
			letters, humps = 0, 0
			continue
		}
		if letters > 0 && class[c]&upperChar != 0 && class[t[i-1]]&lowerChar != 0 {
			humps++
		}
		if letters++; letters > 16 || humps > 1 {
			return false
		}
	}
	return true
}

// privateKey finds what a PEM block of a private key holds (RFC 7468).
func (s *scan) privateKey(i int) int {
	t := s.t
	const begin = "-----BEGIN "
	if i -= 2; i < 0 || !bytes.HasPrefix(t[i:], []byte(begin)) {
		return 0
	}
	const label = "PRIVATE KEY"
	n := bytes.Index(t[i:min(len(t), i+64)], []byte(label))
	if n < 0 {
		return 0
	}
	off := i + n + len(label)
	if rest, ok := bytes.CutPrefix(t[off:], []byte(" BLOCK")); ok { // OpenPGP (RFC 9580)
		off = len(t) - len(rest)
	}
	if !bytes.HasPrefix(t[off:], []byte("-----")) {
		return 0
	}
	off += len("-----")
	b := t[off:min(len(t), off+heldMost/2)]
	if n := bytes.IndexByte(b, '"'); n >= 0 {
		b = b[:n]
	}
	if n := bytes.Index(b, []byte("-----END")); n >= 0 {
		b = b[:n]
	}
	if n := bytes.IndexByte(b, 0); n >= 0 { // no text goes on there
		b = b[:n]
	}
	end := off + len(b)
	switch reg := &s.r.regions[s.region]; {
	case reg.fields:
		end = fieldEnd(t, off, end)
	case reg.stream:
		end = s.r.dataEnd(reg, off, end)
	}
	off, end = trimSpace(t, off, end)
	return s.found(off, end, privateKey)
}

// isCursor tells whether a JSON string that begins at off, or an event's id, is an opaque position rather than a secret.
func (s *scan) isCursor(off int) bool {
	t := s.t
	if s.stream && (bytes.HasSuffix(t[:off], []byte("id: ")) || bytes.HasSuffix(t[:off], []byte("id:"))) {
		return true
	}
	i := off - 1
	for _, c := range []byte{'"', ':', '"'} {
		for i >= 0 && (isSpace(t[i]) || t[i] == '\\') {
			i--
		}
		if i < 0 || t[i] != c {
			return false
		}
		i--
	}
	end := i + 1
	if end > 0 && t[end-1] == '\\' {
		end--
	}
	begin := end
	for begin > 0 && end-begin <= longestName && class[t[begin-1]]&letterOrDigit != 0 {
		begin--
	}
	return cursorMembers[string(t[begin:end])]
}
