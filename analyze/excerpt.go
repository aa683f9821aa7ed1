package analyze

import (
	"fmt"
	"strings"
	"unicode"
)

// maxExcerpt is how much of a text of the traffic stands in a sentence, in bytes.
const maxExcerpt = 120

// oneLine puts a text on one line: control characters and runs of white space become one space.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}

// excerpt gives the beginning of a text on one line.
func excerpt(s string) string {
	if s = oneLine(s); len(s) <= maxExcerpt {
		return s
	}
	return strings.ToValidUTF8(s[:maxExcerpt], "") + "…"
}

// said is what the answer says for itself: the error's message, a page's title, or how the text begins.
func (f *facts) said() string {
	text := f.reply.text
	if f.body == "html" {
		if title := titleOf(text); title != "" {
			return fmt.Sprintf("an HTML page, %q", title)
		}
		return "an HTML page"
	}
	switch {
	case text != "":
		return excerpt(text)
	case f.body == "empty" || f.body == "":
		return "no body"
	}
	return "no error message"
}

// titleOf gives the title of an HTML page, "" if its beginning has none.
func titleOf(page string) string {
	lower := strings.ToLower(page)
	from := strings.Index(lower, "<title>")
	to := strings.Index(lower, "</title>")
	if len(lower) != len(page) || from < 0 || to < from {
		return ""
	}
	return excerpt(page[from+len("<title>") : to])
}

// decidedBy names the concrete facts of an answer that a verdict rests on: its status with the reason, what is wrong
// with its message, the error's code and text, the versions that it names.
func (f *facts) decidedBy() string {
	var parts []string
	add := func(format string, values ...any) { parts = append(parts, fmt.Sprintf(format, values...)) }
	switch {
	case f.transport == overStdio && f.answer == whole:
	case f.transport == overStdio:
		add("no whole reply: %s", endWords[f.end])
	case f.status == 0:
		add("no HTTP response: %s", endWords[f.end])
	case f.reason != "":
		add("HTTP %d %s", f.status, excerpt(f.reason))
	default:
		add("HTTP %d", f.status)
	}
	switch {
	case f.undecoded != "":
		add("the body does not decode: %s", excerpt(f.undecoded))
	case f.kind == replyEmpty && f.status/100 == 2:
		add("the body is empty")
	case f.media == mediaOther:
		add("media type %s", excerpt(f.mediaType))
	case f.media == mediaNone && f.transport != overStdio && f.body != "" && f.body != "empty":
		add("no media type")
	}
	switch {
	case f.kind == replyInvalid && f.reply.why != "":
		add("not a valid JSON-RPC message: %s", excerpt(f.reply.why))
	case f.kind == replyNotJSON && f.body == "html":
		add("%s", f.said())
	case f.kind == replyNotJSON && f.undecoded == "":
		add("the body is no JSON: %q", excerpt(f.reply.text))
	}
	if f.reply.codeOK {
		add("JSON-RPC error %d, %q", f.reply.code, excerpt(f.reply.text))
	}
	if len(f.reply.versions) > 0 {
		add("versions %s", excerpt(strings.Join(f.reply.versions, ", ")))
	}
	return strings.Join(parts, "; ")
}
