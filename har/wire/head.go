package wire

import (
	"bytes"
	"strings"
)

// defaultMaxHead is the size beyond which a head or a trailer section is taken as malformed.
const defaultMaxHead = 256 << 10

// A headScan finds the end of a head in bytes that grow, without looking at any byte twice.
//
// It also finds the byte at which a head is known to be malformed. That place depends on the bytes alone, never on how
// they were cut: the first byte that fits no start line, or the one behind a start line that is none. Field lines never
// make a head malformed; what is wrong with them is a fault.
type headScan struct {
	pos    int // bytes looked at
	line   int // where the line at hand begins
	stage  stage
	target bool // the space behind the method was seen
}

type stage uint8

const (
	leading stage = iota // empty lines before the start line (RFC 9112 section 2.2)
	starting
	fielding
)

type progress uint8

const (
	unfinished progress = iota
	whole
	malformed
)

// next looks at b, which begins with all bytes of earlier calls. n is the length of the whole head, or of the part
// before the malformed rest.
func (s *headScan) next(b []byte, d Dir) (n int, got progress) {
	if s.stage == leading {
		if n, got = s.skipEmpty(b); got != whole {
			return n, got
		}
		s.stage = starting
	}
	if s.stage == starting {
		if n, got = s.startLine(b, d); got != whole {
			return n, got
		}
		s.stage = fielding
	}
	for {
		i := bytes.IndexByte(b[s.pos:], '\n')
		if i < 0 {
			s.pos = len(b)
			return 0, unfinished
		}
		end := s.pos + i
		empty := end == s.line || end == s.line+1 && b[s.line] == '\r'
		s.pos, s.line = end+1, end+1
		if empty {
			return s.pos, whole
		}
	}
}

func (s *headScan) skipEmpty(b []byte) (n int, got progress) {
	for s.pos < len(b) {
		switch c := b[s.pos]; {
		case c == '\n':
			s.line = s.pos + 1
		case s.pos > s.line:
			return s.pos, malformed // a CR that ends no line
		case c != '\r':
			return 0, whole
		}
		s.pos++
	}
	return 0, unfinished
}

func (s *headScan) startLine(b []byte, d Dir) (n int, got progress) {
	if d == ToServer {
		for ; !s.target; s.pos++ {
			if s.pos == len(b) {
				return 0, unfinished
			}
			if c := b[s.pos]; c == ' ' && s.pos > s.line {
				s.target = true
			} else if !isToken[c] {
				return s.pos, malformed
			}
		}
	} else {
		for ; s.pos < s.line+len("HTTP/"); s.pos++ {
			if s.pos == len(b) {
				return 0, unfinished
			}
			if b[s.pos] != "HTTP/"[s.pos-s.line] {
				return s.pos, malformed
			}
		}
	}
	i := bytes.IndexByte(b[s.pos:], '\n')
	if i < 0 {
		s.pos = len(b)
		return 0, unfinished
	}
	end := s.pos + i
	var h Head
	var f fault
	ok := h.parseStart(string(b[s.line:end]), d, &f)
	s.pos, s.line = end+1, end+1
	if !ok {
		return s.pos, malformed
	}
	return 0, whole
}

// parseHead parses the whole head b that a headScan found.
func parseHead(b []byte, d Dir) (*Head, fault) {
	h := &Head{Len: len(b)}
	var f fault
	text := string(b)
	at := 0
	for text[at] == '\n' || text[at] == '\r' {
		f |= leadingEmptyLine
		if text[at] == '\n' && (at == 0 || text[at-1] != '\r') {
			f |= bareLF
		}
		at++
	}
	end := at + strings.IndexByte(text[at:], '\n')
	h.parseStart(text[at:end], d, &f)
	h.Fields = parseFields(text, end+1, 0, &f)
	return h, f
}

// parseStart parses a start line without its LF (RFC 9112 sections 3 and 4), white space more liberal than the grammar.
func (h *Head) parseStart(line string, d Dir, f *fault) bool {
	line = cutCR(line, f)
	if strings.IndexByte(line, '\r') >= 0 {
		*f |= bareCR
	}
	if hasControl(line) {
		*f |= controlCharacter
	}
	if d == ToClient {
		return h.parseStatus(line, f)
	}
	return h.parseRequestLine(line, f)
}

func (h *Head) parseRequestLine(line string, f *fault) bool {
	sp := strings.IndexByte(line, ' ')
	last := strings.LastIndexByte(line, ' ')
	if sp <= 0 || last == sp || !h.version(line[last+1:], f) {
		return false
	}
	h.Method = line[:sp]
	h.Target = strings.Trim(line[sp+1:last], " \t")
	if len(h.Target) != last-sp-1 || strings.ContainsAny(h.Target, " \t") {
		*f |= startSpacing
	}
	// The HTTP/2 preface (RFC 9113 section 3.4) is no request.
	return h.Target != "" && !(h.Method == "PRI" && h.Proto == "HTTP/2.0")
}

func (h *Head) parseStatus(line string, f *fault) bool {
	sp := strings.IndexByte(line, ' ')
	if sp < 0 || !h.version(line[:sp], f) {
		return false
	}
	rest := strings.TrimLeft(line[sp:], " ")
	if len(line)-len(rest) != sp+1 {
		*f |= startSpacing
	}
	if len(rest) < 3 {
		return false
	}
	for _, c := range []byte(rest[:3]) {
		if c < '0' || c > '9' {
			return false
		}
		h.Status = h.Status*10 + int(c-'0')
	}
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

// parseFields parses the field lines of text from at up to the blank line (RFC 9112 section 5). Spans are relative to
// text, moved by base.
func parseFields(text string, at, base int, f *fault) []Field {
	var fields []Field
	if n := strings.Count(text[at:], "\n"); n > 1 {
		fields = make([]Field, 0, n-1)
	}
	for at < len(text) {
		line, next := cutLine(text, at, f)
		if line == "" {
			break
		}
		colon := strings.IndexByte(line, ':')
		switch {
		case line[0] == ' ' || line[0] == '\t':
			*f |= obsFold | orphanFold
		case colon < 0:
			*f |= noColon
		default:
			value := trimOWS(line[colon+1:])
			off := at + colon + 1 + leadingOWS(line[colon+1:])
			fd := Field{Name: fieldName(line[:colon], f), Value: value, At: Span{Off: off + base, Len: len(value)}}
			if hasControl(value) {
				*f |= controlCharacter
			}
			if next < len(text) && (text[next] == ' ' || text[next] == '\t') {
				next = fd.fold(text, next, base, f)
			}
			fields = append(fields, fd)
		}
		at = next
	}
	return fields
}

// fold adds the continuation lines of text at next to the field's value.
func (fd *Field) fold(text string, next, base int, f *fault) int {
	*f |= obsFold
	var sb strings.Builder
	sb.WriteString(fd.Value)
	for next < len(text) && (text[next] == ' ' || text[next] == '\t') {
		line, after := cutLine(text, next, f)
		if part := trimOWS(line); part != "" {
			if hasControl(part) {
				*f |= controlCharacter
			}
			off := base + next + leadingOWS(line)
			if sb.Len() == 0 {
				fd.At.Off = off
			} else {
				sb.WriteByte(' ')
			}
			sb.WriteString(part)
			fd.At.Len = off + len(part) - fd.At.Off
		}
		next = after
	}
	fd.Value = sb.String()
	return next
}

func fieldName(name string, f *fault) string {
	if t := strings.TrimRight(name, " \t"); len(t) != len(name) {
		*f |= spaceBeforeColon
		name = t
	}
	if name == "" {
		*f |= badFieldName
	}
	for i := range len(name) {
		if !isToken[name[i]] {
			*f |= badFieldName
		}
	}
	return name
}

// cutLine returns the line of text that begins at at, without its line end, and where the next one begins.
func cutLine(text string, at int, f *fault) (line string, next int) {
	next = len(text)
	line = text[at:]
	if i := strings.IndexByte(line, '\n'); i >= 0 {
		line, next = cutCR(line[:i], f), at+i+1
	}
	return line, next
}

// cutCR takes the CR of a line end off.
func cutCR(line string, f *fault) string {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		return line[:n-1]
	}
	*f |= bareLF
	return line
}

func trimOWS(s string) string { return strings.Trim(s, " \t") }

func leadingOWS(s string) int { return len(s) - len(strings.TrimLeft(s, " \t")) }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// hasControl tells whether s holds a control character other than HTAB (RFC 9110 section 5.5).
func hasControl(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return true
		}
	}
	return false
}

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
