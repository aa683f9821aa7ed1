package har

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// spellers give the spellings of a value in URLs and in JSON, as the common libraries write them.
var spellers = []func(string) string{percentUpper, percentLower, percentScript, url.QueryEscape, url.PathEscape, jsonPlain,
	jsonSlash, jsonASCII}

// percentUpper is Python's quote without a safe character.
func percentUpper(s string) string { return percent(s, "0123456789ABCDEF", "") }

func percentLower(s string) string { return percent(s, "0123456789abcdef", "") }

// percentScript is JavaScript's encodeURIComponent.
func percentScript(s string) string { return percent(s, "0123456789ABCDEF", "!'()*") }

func percent(s, digits, safe string) string {
	var b []byte
	for i := range len(s) {
		if c := s[i]; class[c]&plainChar != 0 || strings.IndexByte(safe, c) >= 0 {
			b = append(b, c)
		} else {
			b = append(b, '%', digits[c>>4], digits[c&15])
		}
	}
	return string(b)
}

// jsonPlain escapes what JSON requires (RFC 8259 section 7).
func jsonPlain(s string) string { return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) }

// jsonSlash escapes / too, as PHP does.
func jsonSlash(s string) string { return strings.ReplaceAll(jsonPlain(s), "/", `\/`) }

// jsonASCII escapes what is not ASCII as Python does, and < > & as Go does.
func jsonASCII(s string) string {
	var b strings.Builder
	for _, c := range jsonPlain(s) {
		switch {
		case c == '<' || c == '>' || c == '&' || c >= utf8.RuneSelf && c <= 0xFFFF:
			fmt.Fprintf(&b, `\u%04x`, c)
		case c > 0xFFFF:
			high, low := utf16.EncodeRune(c)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// canonical returns the value that a secret of that kind spells. The result may be text itself.
func (r *Redactor) canonical(text []byte, kind secretKind) []byte {
	switch kind {
	case query, userinfo, session:
		if bytes.IndexByte(text, '%') >= 0 {
			return percentDecode(text)
		}
	case oauth:
		if bytes.IndexByte(text, '\\') >= 0 {
			return jsonDecode(text)
		}
	}
	return text
}

func percentDecode(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] == '%' && i+2 < len(b) && hexValue(b[i+1]) >= 0 && hexValue(b[i+2]) >= 0 {
			out = append(out, byte(hexValue(b[i+1])<<4|hexValue(b[i+2])))
			i += 2
		} else {
			out = append(out, b[i])
		}
	}
	return out
}

// jsonDecode undoes the escapes of a JSON string, at one level or several. What is no escape stays.
func jsonDecode(b []byte) []byte {
	s, err := strconv.Unquote(`"` + strings.ReplaceAll(string(b), `\/`, `/`) + `"`)
	if err != nil {
		return b
	}
	return []byte(s)
}

// basicCredentials takes the credentials of the Basic scheme apart (RFC 7617).
func basicCredentials(value []byte) (user, password []byte, ok bool) {
	s := strings.TrimRight(string(value), "=")
	encoding := base64.RawStdEncoding
	if strings.ContainsAny(s, "-_") {
		encoding = base64.RawURLEncoding
	}
	plain, err := encoding.DecodeString(s)
	if err != nil {
		return nil, nil, false
	}
	return bytes.Cut(plain, []byte(":"))
}
