package wire

import "strings"

// appendFields parses the field lines of text from at up to the blank line or the end (RFC 9112 section 5). Spans are
// relative to text, moved by base.
func appendFields(fields []Field, text string, at, base int, f *fault) []Field {
	for at < len(text) {
		end, next := lineEnd(text, at, f)
		if end == at {
			break
		}
		if fd, ok := parseField(text[at:end], f); ok {
			fd.At.Off += at + base
			if next < len(text) && isSpace(text[next]) {
				next = fd.fold(text, next, base, f)
			}
			fields = append(fields, fd)
		}
		at = next
	}
	return fields
}

// parseField parses a field line that is not empty, without its line end. At is relative to line; ok is false if line
// is no field.
func parseField(line string, f *fault) (fd Field, ok bool) {
	i := 0
	for i < len(line) && isToken[line[i]] {
		i++
	}
	fd.Name = line[:i]
	if i == len(line) || i == 0 || line[i] != ':' {
		if i, fd.Name = oddName(line, f); i < 0 {
			return fd, false
		}
	}
	from, to := trim(line, i+1, len(line))
	fd.Value, fd.At = line[from:to], Span{Off: from, Len: to - from}
	*f |= controls(fd.Value)
	return fd, true
}

// oddName finds the colon and the name of a field line that does not begin with a token and a colon. colon is -1 if the
// line is no field.
func oddName(line string, f *fault) (colon int, name string) {
	if isSpace(line[0]) {
		*f |= obsFold | orphanFold
		return -1, ""
	}
	if colon = strings.IndexByte(line, ':'); colon < 0 {
		*f |= noColon
		return -1, ""
	}
	name = strings.TrimRight(line[:colon], " \t")
	if len(name) != colon {
		*f |= spaceBeforeColon
	}
	if name == "" {
		*f |= badFieldName
	}
	for i := range len(name) {
		if !isToken[name[i]] {
			*f |= badFieldName
		}
	}
	return colon, name
}

// fold adds the continuation lines of text at next to the field's value.
func (fd *Field) fold(text string, next, base int, f *fault) int {
	*f |= obsFold
	var sb strings.Builder
	sb.WriteString(fd.Value)
	for next < len(text) && isSpace(text[next]) {
		end, after := lineEnd(text, next, f)
		from, to := trim(text, next, end)
		next = after
		if from == to {
			continue
		}
		*f |= controls(text[from:to])
		if sb.Len() == 0 {
			fd.At.Off = from + base
		} else {
			sb.WriteByte(' ')
		}
		sb.WriteString(text[from:to])
		fd.At.Len = to + base - fd.At.Off
	}
	fd.Value = sb.String()
	return next
}

// lineEnd finds where the line of text at at ends, its line end left out, and where the next one begins.
func lineEnd(text string, at int, f *fault) (end, next int) {
	i := strings.IndexByte(text[at:], '\n')
	if i < 0 {
		return len(text), len(text)
	}
	if end = at + i; i > 0 && text[end-1] == '\r' {
		return end - 1, end + 1
	}
	*f |= bareLF
	return end, end + 1
}

// trim leaves out the white space at both ends of text[from:to].
func trim(text string, from, to int) (int, int) {
	for from < to && isSpace(text[from]) {
		from++
	}
	for from < to && isSpace(text[to-1]) {
		to--
	}
	return from, to
}

// controls finds control characters other than HTAB, which no part of a head may hold (RFC 9110 section 5.5).
func controls(s string) (f fault) {
	const ones = 0x0101010101010101
	i := 0
	for ; i+8 <= len(s); i += 8 {
		x := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		del := x ^ 0x7f*ones
		// A byte's high bit is set here if it is below 0x20 or is 0x7f.
		if ((x-0x20*ones)&^x|(del-ones)&^del)&(0x80*ones) != 0 {
			break
		}
	}
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\r':
			f |= bareCR
		case c < ' ' && c != '\t', c == 0x7f:
			f |= controlCharacter
		}
	}
	return f
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isSpace(c byte) bool { return c == ' ' || c == '\t' }

// isToken holds the characters of a token (RFC 9110 section 5.6.2).
var isToken = func() (t [256]bool) {
	for c := '0'; c <= '9'; c++ {
		t[c] = true
	}
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-'a'+'A'] = true, true
	}
	for _, c := range "!#$%&'*+-.^_`|~" {
		t[c] = true
	}
	return t
}()
