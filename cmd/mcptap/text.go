package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
)

// visible makes text from a recording safe to print: bytes that are no UTF-8 become \xNN, characters that steer a terminal
// or hide text (C0 but for tab and line feed, DEL, C1, format characters such as bidirectional overrides) become \xNN or
// \u{NNNN}. Everything else stays.
func visible(s string) string {
	if strings.IndexFunc(s, steers) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1, r < 0x80 && steers(r):
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case steers(r):
			fmt.Fprintf(&b, `\u{%04x}`, r)
		default:
			b.WriteRune(r)
		}
		s = s[n:]
	}
	return b.String()
}

func steers(r rune) bool {
	if r < 0x7f {
		return r < ' ' && r != '\n' && r != '\t'
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// oneLine is visible for a place that holds one line.
func oneLine(s string) string {
	return oneLiner.Replace(visible(s))
}

var oneLiner = strings.NewReplacer("\n", `\n`, "\t", `\t`)

// clip shortens s to at most n characters.
func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// excerpt shows the first n bytes of a run in one line, line ends as \r\n.
func excerpt(b []byte, n int) string {
	more := ""
	if len(b) > n {
		b, more = b[:n], "…"
	}
	return oneLine(strings.ReplaceAll(string(b), "\r", `\r`)) + more
}

// count writes a number with the right form of its noun: "1 exchange", "2 exchanges".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// A paint colours words on a terminal and does nothing elsewhere.
type paint bool

// paint tells whether w is a terminal that wants colour (NO_COLOR, TERM=dumb).
func (a *app) paint(w io.Writer) paint {
	return paint(a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb" && isTerminal(w))
}

// isTerminal tells whether w is one.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}

func (p paint) red(s string) string    { return p.in("31", s) }
func (p paint) yellow(s string) string { return p.in("33", s) }
func (p paint) dim(s string) string    { return p.in("2", s) }
func (p paint) bold(s string) string   { return p.in("1", s) }

func (p paint) in(code, s string) string {
	if !p {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// jsonSafe passes JSON text on with DEL, C1 controls and what changes the direction of text escaped, which JSON allows to
// stand as they are inside strings.
type jsonSafe struct{ w io.Writer }

func (j jsonSafe) Write(p []byte) (int, error) {
	s := string(p)
	if strings.IndexFunc(s, misleads) >= 0 {
		var b strings.Builder
		for _, r := range s {
			if misleads(r) {
				fmt.Fprintf(&b, `\u%04x`, r)
			} else {
				b.WriteRune(r)
			}
		}
		s = b.String()
	}
	if _, err := io.WriteString(j.w, s); err != nil {
		return 0, err
	}
	return len(p), nil
}

func misleads(r rune) bool { return r >= 0x7f && r < 0xa0 || unicode.Is(unicode.Bidi_Control, r) }
