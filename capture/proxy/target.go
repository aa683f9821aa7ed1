package proxy

import (
	"bytes"
	"strings"

	"github.com/mcptap/mcptap/har/wire"
)

// A target is what a request line asks a forward proxy for.
type target struct {
	method string
	at     wire.Span // the request target within the line
	text   string
	scheme string // lower case; "" unless the target is in absolute-form (RFC 9112 section 3.2.2)
	// authority is that of an absolute-form, without user information, or all of the target of CONNECT.
	authority string
	origin    wire.Span // of an absolute-form: scheme, "://" and authority, within the line
}

// parseTarget reads a request line, its line end included. ok is false if it is none.
func parseTarget(line []byte) (t target, ok bool) {
	text := bytes.TrimRight(line, " \t\r\n")
	first, last := bytes.IndexByte(text, ' '), bytes.LastIndexByte(text, ' ')
	if first <= 0 || last <= first || !bytes.HasPrefix(text[last+1:], []byte("HTTP/")) {
		return t, false
	}
	rest := bytes.TrimLeft(text[first:last], " \t")
	t.method = string(text[:first])
	t.at = wire.Span{Off: last - len(rest), Len: len(bytes.TrimRight(rest, " \t"))}
	t.text = string(text[t.at.Off:t.at.End()])
	if t.method == "CONNECT" {
		t.authority = t.text
		return t, t.text != ""
	}
	scheme, behind, absolute := strings.Cut(t.text, "://")
	if !absolute || strings.ContainsAny(scheme, "/?#") {
		return t, t.text != ""
	}
	end := strings.IndexAny(behind, "/?#")
	if end < 0 {
		end = len(behind)
	}
	t.scheme = strings.ToLower(scheme)
	t.authority = behind[strings.LastIndexByte(behind[:end], '@')+1 : end]
	t.origin = wire.Span{Off: t.at.Off, Len: len(scheme) + len("://") + end}
	return t, true
}

// originForm is what stands on the server's leg in place of the origin of an absolute-form (RFC 9112 sections 3.2.1 and
// 3.2.4).
func (t *target) originForm() string {
	path := t.text[t.origin.Len:]
	switch {
	case strings.HasPrefix(path, "/"):
		return ""
	case path == "" && t.method == "OPTIONS":
		return "*"
	}
	return "/"
}

// startLine edits the request line of a request to a forward proxy. A target that names no origin is that of the
// connection's; one that names another, and CONNECT, cannot be served on this connection.
func (h *headEditor) startLine(p, line []byte, copied, at, end int) int {
	t, ok := parseTarget(line)
	switch {
	case ok && (t.method == "CONNECT" || t.scheme != "" && (t.scheme != "http" || !sameAuthority(t.authority, h.authority))):
		h.held = h.held[:len(line)-(end-at)]
		h.refuse(t.authority)
		return h.drop(p, copied, at, end)
	case !ok || t.scheme == "":
		return h.asItIs(p, line, copied, at, end)
	}
	return h.replace(p, line, t.origin, t.originForm(), copied, at, end)
}

// refuse notes that the request at hand, which is for that origin, and all behind it are not sent on.
func (h *headEditor) refuse(origin string) { h.other, h.otherSeq = origin, h.seq }

// sameAuthority compares the authorities of two http URLs.
func sameAuthority(a, b string) bool {
	return strings.EqualFold(strings.TrimSuffix(a, ":80"), strings.TrimSuffix(b, ":80"))
}
