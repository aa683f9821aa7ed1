package wire

import "strings"

// parse parses the whole head that s found in text, adding to h.Fields. All strings of the head are parts of text. ok is
// false if its start line is none.
func (h *Head) parse(text string, d Dir, s *headScan) (f fault, ok bool) {
	for i := range s.start.Off {
		f |= leadingEmptyLine
		if text[i] == '\n' && (i == 0 || text[i-1] != '\r') {
			f |= bareLF
		}
	}
	if !h.parseStart(text[s.start.Off:s.start.End()], d, &f) {
		return f, false
	}
	h.Len = len(text)
	h.Fields = appendFields(h.Fields, text, s.start.End()+1, 0, &f)
	return f, true
}

// parseStart parses a start line without its LF (RFC 9112 sections 3 and 4), with white space more liberal than the
// grammar.
func (h *Head) parseStart(line string, d Dir, f *fault) bool {
	if n := len(line) - 1; n >= 0 && line[n] == '\r' {
		line = line[:n]
	} else {
		*f |= bareLF
	}
	*f |= controls(line)
	if d == ToClient {
		return h.parseStatus(line, f)
	}
	return h.parseRequestLine(line, f)
}

func (h *Head) parseRequestLine(line string, f *fault) bool {
	if n := len(line) - 1; n >= 0 && isSpace(line[n]) {
		*f |= startSpacing
		line = strings.TrimRight(line, " \t")
	}
	sp := strings.IndexByte(line, ' ')
	last := strings.LastIndexByte(line, ' ')
	if sp <= 0 || last == sp || !h.version(line[last+1:], f) {
		return false
	}
	h.Method, h.Target = line[:sp], line[sp+1:last]
	if strings.IndexByte(h.Target, ' ') >= 0 || strings.IndexByte(h.Target, '\t') >= 0 {
		*f |= startSpacing
		h.Target = strings.Trim(h.Target, " \t")
	}
	// The HTTP/2 preface (RFC 9113 section 3.4) is no request.
	return h.Target != "" && !(h.Method == "PRI" && h.Proto == "HTTP/2.0")
}

func (h *Head) parseStatus(line string, f *fault) bool {
	sp := strings.IndexByte(line, ' ')
	if sp < 0 || !h.version(line[:sp], f) {
		return false
	}
	rest := line[sp+1:]
	if rest != "" && rest[0] == ' ' {
		*f |= startSpacing
		rest = strings.TrimLeft(rest, " ")
	}
	if len(rest) < 3 || !isDigit(rest[0]) || !isDigit(rest[1]) || !isDigit(rest[2]) {
		return false
	}
	h.Status = int(rest[0]-'0')*100 + int(rest[1]-'0')*10 + int(rest[2]-'0')
	switch {
	case h.Status < 100:
		return false
	case len(rest) == 3:
		*f |= noReasonSpace
	case rest[3] != ' ':
		return false
	default:
		h.Reason = rest[4:]
	}
	return true
}

func (h *Head) version(s string, f *fault) bool {
	if s != "HTTP/1.1" && s != "HTTP/1.0" {
		if len(s) != len("HTTP/1.1") || s[:5] != "HTTP/" || !isDigit(s[5]) || s[6] != '.' || !isDigit(s[7]) {
			return false
		}
		*f |= oddVersion
	}
	h.Proto = s
	return true
}
