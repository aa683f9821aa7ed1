package har

import "bytes"

// member finds a JSON string by the member name that has its last part behind the trigger at i, in JSON or in JSON that is
// a string of JSON.
func (s *scan) member(i int) int {
	t := s.t
	if i+5 >= len(t) {
		return 0
	}
	switch t[i+1] {
	case 't', 's', 'v', 'c', 'o', 'e', 'a':
	default:
		return 0
	}
	end := run(t[:min(len(t), i+longestName)], i, lowerChar|upperChar|underscoreChar)
	if end >= len(t) || t[end] != '"' && t[end] != '\\' && t[end] != '\'' {
		return 0
	}
	off := i
	for off > 0 && i-off <= longestName && class[t[off-1]]&(lowerChar|upperChar|underscoreChar) != 0 {
		off--
	}
	name := t[off:end]
	if string(name) == "grant_type" {
		s.grant = true
	}
	if !secretMembers[string(name)] {
		return 0
	}
	return s.memberValue(end)
}

// grantMembers finds the members of that name in a text that has a grant_type.
func (s *scan) grantMembers() {
	for name := range grantMembers {
		for i := 0; ; {
			n := bytes.Index(s.t[i:], []byte(name))
			if n < 0 {
				break
			}
			i += n + len(name)
			if n = i - len(name) - 1; n >= 0 && (s.t[n] == '"' || s.t[n] == '\'') {
				i = max(i, s.memberValue(i))
			}
		}
	}
	s.escapedMembers(grantMembers)
}

// escapedMembers finds the members of these names that have a letter escaped, as in "access\u005ftoken".
func (s *scan) escapedMembers(names map[string]bool) {
	const most = 8 * longestName // of a name with all of its letters escaped
	t := s.t
	for end := 0; ; {
		n := bytes.Index(t[end:], []byte(`\u00`))
		if n < 0 {
			return
		}
		off := end + n
		begin := max(0, off-most)
		for end = off; end < len(t) && end-off < most && inEscapedName(t[end]); {
			end++
		}
		for off > begin && inEscapedName(t[off-1]) {
			off--
		}
		stop := end
		for stop > off && t[stop-1] == '\\' { // those before the quotation mark
			stop--
		}
		name := string(unescapedName(t[off:stop]))
		if name == "grant_type" {
			s.grant = true
		}
		if names[name] {
			end = max(end, s.memberValue(stop))
		}
	}
}

func inEscapedName(c byte) bool { return c == '\\' || class[c]&(letterOrDigit|underscoreChar) != 0 }

// unescapedName undoes the escapes \u00XX of a member name, however many backslashes they have.
func unescapedName(name []byte) []byte {
	out := make([]byte, 0, len(name))
	for i := 0; i < len(name); i++ {
		at := i
		for at < len(name) && name[at] == '\\' {
			at++
		}
		if at > i && at+4 < len(name) && string(name[at:at+3]) == "u00" && hexValue(name[at+3]) >= 0 && hexValue(name[at+4]) >= 0 {
			out = append(out, byte(hexValue(name[at+3])<<4|hexValue(name[at+4])))
			i = at + 4
		} else {
			out = append(out, name[i])
		}
	}
	return out
}

// memberValue adds the JSON string that is the value of the member whose name ends at i.
func (s *scan) memberValue(i int) int {
	off, depth, quote := stringAfterName(s.t, i)
	if off < 0 {
		return 0
	}
	return s.found(off, stringEnd(s.t, off, depth, quote), oauth)
}

// stringAfterName returns where the string begins that stands behind a member name that ends at i, how many backslashes
// its quotation marks have before them (0, or 1 in a string of JSON, or 3), and which mark it is. off is -1 if the
// value is no string.
func stringAfterName(t []byte, i int) (off, depth int, quote byte) {
	depth, i, quote = quoteAt(t, i)
	if i < 0 {
		return -1, 0, 0
	}
	for i < len(t) && isSpace(t[i]) {
		i++
	}
	if i == len(t) || t[i] != ':' {
		return -1, 0, 0
	}
	for i++; i < len(t) && isSpace(t[i]); i++ {
	}
	d, off, q := quoteAt(t, i)
	if off < 0 || d != depth || q != quote {
		return -1, 0, 0
	}
	return off, depth, quote
}

// quoteAt reads a quotation mark with the backslashes before it. after is -1 if there is none.
func quoteAt(t []byte, i int) (backslashes, after int, quote byte) {
	n := i
	for n < len(t) && n-i < 8 && t[n] == '\\' {
		n++
	}
	if n == len(t) || t[n] != '"' && t[n] != '\'' {
		return 0, -1, 0
	}
	return n - i, n + 1, t[n]
}

// stringEnd returns where the text of a JSON string ends that begins at i: at its closing mark, or at the end of the line.
func stringEnd(t []byte, i, depth int, quote byte) int {
	backslashes := 0
	for ; i < len(t); i++ {
		switch c := t[i]; {
		case c == '\\':
			backslashes++
			continue
		case c == quote && (backslashes%(2*depth+2) == depth || backslashes < depth):
			return i - min(backslashes, depth)
		case c == '\n' || c == '\r':
			return i
		}
		backslashes = 0
	}
	return i
}
