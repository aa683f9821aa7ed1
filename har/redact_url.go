package har

import "bytes"

// userinfo finds the user and password before an @ in a URL (RFC 3986 section 3.2.1). A name alone is a secret if it is
// long: services take a token there.
func (s *scan) userinfo(i int) int {
	t := s.t
	j := i - 1
	for j >= s.noUserinfo && j >= 0 && i-j <= 1024 && t[j] > ' ' && t[j] != '/' && t[j] != '"' && t[j] != '<' && t[j] != '>' && t[j] != '\\' && t[j] != '?' && t[j] != '#' {
		j--
	}
	off := j + 1
	if off == i || i+1 >= len(t) || !(bytes.HasSuffix(t[:off], []byte("://")) || bytes.HasSuffix(t[:off], []byte(`:\/\/`))) {
		s.noUserinfo = max(s.noUserinfo, i)
		return 0
	}
	n := bytes.IndexByte(t[off:i], ':')
	switch {
	case n >= 0:
		s.found(off, off+n, userinfo)
		s.found(off+n+1, i, userinfo)
	case i-off >= valueLeast:
		s.found(off, i, userinfo)
	}
	return 0
}

// parameter finds a URL parameter or a form field by the name before the = at i.
func (s *scan) parameter(i int) int {
	t := s.t
	off := i
	for off > 0 && i-off <= longestEncoded && (class[t[off-1]]&(base64URL|plainChar) != 0 || t[off-1] == '%') {
		off--
	}
	if off == 0 || off == i {
		return 0
	}
	switch c := t[off-1]; {
	case c == '?' || c == '&' || c == '#':
	case c == ';' && bytes.HasSuffix(t[:off], []byte("&amp;")):
	case c == '\\' && (bytes.HasPrefix(t[off:], []byte("u0026")) || bytes.HasPrefix(t[off:], []byte("u003f"))):
		off += len("u0026")
	default:
		return 0
	}
	return s.named(off, i)
}

// scanFirstParameter looks at the field with which a form begins.
func (r *Redactor) scanFirstParameter(ri int) {
	t := r.regions[ri].text
	if i := bytes.IndexByte(t, '='); i > 0 {
		r.scan = scan{r: r, region: ri, t: t}
		r.scan.named(0, i)
	}
}

// named looks up the parameter whose name, percent-encoded or not, stands from off to the = at i.
func (s *scan) named(off, i int) int {
	if i-off > longestEncoded {
		return 0
	}
	name, kind := s.t[off:i], query
	if bytes.IndexByte(name, '%') >= 0 {
		name = percentDecode(name)
	}
	if len(name) > longestName {
		return 0
	}
	var buf [longestName]byte
	name = lower(buf[:0], name)
	if sessionParameters[string(name)] {
		kind = session
	} else if !secretParameters[string(name)] {
		return 0
	}
	end := i + 1
	inTarget := s.target[0] <= i && i < s.target[1]
	for end < len(s.t) && !endsParameter(s.t[end], inTarget) {
		end++
	}
	return s.found(i+1, end, kind)
}

// endsParameter tells whether a parameter's value ends before c.
func endsParameter(c byte, inTarget bool) bool {
	switch {
	case c <= ' ' || c == 0x7f || c == '&' || c == '#':
		return true
	case inTarget:
		return false
	}
	return c == '"' || c == '\'' || c == '<' || c == '>' || c == '\\' || c == '`' || c == ')'
}
