package har

import (
	"encoding/base64"
	"strconv"
	"time"
	"unicode/utf8"
)

// timeLayout is RFC 3339 in UTC with microseconds: every time in a cassette has the same width.
const timeLayout = "2006-01-02T15:04:05.000000Z"

// A part is what one line holds of an exchange.
type part struct {
	x        *Exchange
	more     bool // a continuation
	request  Side
	response Side
	method   bool   // method and URL are new on this line
	status   bool   // status and media type are new on this line
	off      bool   // the response's first byte is on this line
	last     bool   // edits, redactions, notes and the ending stand on this line
	later    *chunk // where bytes of the wire are kept that are written out later; nil: now
	allBytes int    // response bytes up to the end of this line, which is what an absent _endOff means
}

// appendPart appends the line, LF included. Zero members are left out.
func appendPart(b []byte, p *part) []byte {
	x := p.x
	b = append(b, '{')
	if !p.more {
		b = append(b, `"_n":`...)
		b = appendInt(b, int64(x.N))
		b = append(b, `,"_conn":`...)
	} else {
		b = append(b, `"_more":true,"_conn":`...)
	}
	b = strconv.AppendUint(b, x.Conn, 10)
	b = append(b, `,"_seq":`...)
	b = appendInt(b, int64(x.Seq))
	if !p.more {
		b = append(b, `,"startedDateTime":"`...)
		b = append(appendTime(b, x.Started.UTC()), '"')
		b = appendText(b, "_client", x.Client)
		b = appendText(b, "_server", x.Server)
		b = appendText(b, "_name", x.Name)
	}
	if p.method || len(p.request.Raw) > 0 {
		b = append(b, `,"request":`...)
		at := len(b)
		if p.method {
			b = appendText(b, "method", x.Method)
			b = appendText(b, "url", x.URL)
		}
		b = closeObject(appendSide(b, &p.request, p.later), at)
	}
	if p.status || len(p.response.Raw) > 0 {
		b = append(b, `,"response":`...)
		at := len(b)
		if p.status {
			b = appendCount(b, "status", int64(x.Status))
			b = appendText(b, "mimeType", x.MediaType)
		}
		if p.off {
			b = appendCount(b, "_off", x.Off)
		}
		b = closeObject(appendSide(b, &p.response, p.later), at)
	}
	if p.last {
		b = appendLists(b, x)
		b = appendEnding(b, x, p.allBytes)
	}
	return append(b, "}\n"...)
}

func appendSide(b []byte, s *Side, later *chunk) []byte {
	if len(s.Raw) == 0 {
		return b
	}
	if later != nil {
		b = later.leave(b, s.Raw)
	} else {
		b = appendBytes(append(b, ','), s.Raw)
	}
	if len(s.Writes) == 0 || len(s.Writes) == 1 && s.Writes[0].At < time.Microsecond {
		return b
	}
	b = append(b, `,"_writes":[`...)
	for i, w := range s.Writes {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		b = appendInt(b, w.At.Microseconds())
		b = append(b, ',')
		b = appendInt(b, int64(w.Len))
		b = append(b, ']')
	}
	return append(b, ']')
}

func appendLists(b []byte, x *Exchange) []byte {
	for i, e := range x.Edits {
		b = appendList(b, "_edits", i)
		b = append(b, `{"off":`...)
		b = appendInt(b, int64(e.Off))
		b = append(b, `,"len":`...)
		b = appendInt(b, int64(e.Len))
		if utf8.ValidString(e.New) {
			b = append(b, `,"new":`...)
			b = appendString(b, e.New)
		} else {
			b = append(b, `,"new64":`...)
			b = appendBase64(b, []byte(e.New))
		}
		b = append(b, '}')
	}
	b = closeList(b, len(x.Edits))
	for i, r := range x.Redacted {
		b = appendList(b, "_redacted", i)
		b = append(b, `{"side":`...)
		b = appendString(b, r.Dir.String())
		b = append(b, `,"off":`...)
		b = appendInt(b, int64(r.Off))
		b = append(b, `,"len":`...)
		b = appendInt(b, int64(r.Len))
		b = appendText(b, "kind", r.Kind)
		b = append(b, '}')
	}
	b = closeList(b, len(x.Redacted))
	for i, n := range x.Notes {
		b = appendList(b, "_notes", i)
		b = appendString(b, n)
	}
	return closeList(b, len(x.Notes))
}

func appendEnding(b []byte, x *Exchange, allBytes int) []byte {
	if x.End == "" {
		return b
	}
	b = appendText(b, "_end", string(x.End))
	if !x.End.timed() {
		return b
	}
	b = appendCount(b, "_endAt", x.EndAt.Microseconds())
	if x.EndOff != allBytes {
		b = append(b, `,"_endOff":`...)
		b = appendInt(b, int64(x.EndOff))
	}
	return b
}

// timed tells whether EndAt and EndOff mean something.
func (e Ending) timed() bool { return e != "" && e != EndKeep && e != EndUnknown }

// known tells whether the format has this word.
func (e Ending) known() bool {
	switch e {
	case EndKeep, EndFIN, EndNoCloseNotify, EndRST, EndClientFIN, EndClientRST, EndHang, EndStopped, EndUnknown:
		return true
	}
	return false
}

func appendList(b []byte, name string, i int) []byte {
	if i > 0 {
		return append(b, ',')
	}
	b = append(b, `,"`...)
	b = append(b, name...)
	return append(b, `":[`...)
}

func closeList(b []byte, n int) []byte {
	if n == 0 {
		return b
	}
	return append(b, ']')
}

// closeObject ends an object whose members, each led by a comma, were appended from at on.
func closeObject(b []byte, at int) []byte {
	if len(b) == at {
		return append(b, "{}"...)
	}
	b[at] = '{'
	return append(b, '}')
}

func appendText(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	b = append(b, `,"`...)
	b = append(b, name...)
	b = append(b, `":`...)
	return appendString(b, validText(value))
}

// validText replaces what is not UTF-8: words of ours are text, bytes of the wire go where Side keeps them.
func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

func appendTrue(b []byte, name string, value bool) []byte {
	if !value {
		return b
	}
	b = append(b, `,"`...)
	b = append(b, name...)
	return append(b, `":true`...)
}

func appendCount(b []byte, name string, value int64) []byte {
	if value == 0 {
		return b
	}
	b = append(b, `,"`...)
	b = append(b, name...)
	b = append(b, `":`...)
	return appendInt(b, value)
}

func appendInt(b []byte, value int64) []byte { return strconv.AppendInt(b, value, 10) }

// appendTimeMember leaves out a time that is not set.
func appendTimeMember(b []byte, name string, t time.Time) []byte {
	if t.IsZero() {
		return b
	}
	b = append(b, `,"`...)
	b = append(b, name...)
	b = append(b, `":"`...)
	b = appendTime(b, t.UTC())
	return append(b, '"')
}

// writable tells whether the format can hold t.
func writable(t time.Time) bool { return t.UTC().Year() >= 0 && t.UTC().Year() <= 9999 }

// appendTime is AppendFormat with timeLayout for the years that the format has: 0 to 9999.
func appendTime(b []byte, t time.Time) []byte {
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	b = appendDigits(b, year, 4)
	b = append(appendDigits(append(b, '-'), int(month), 2), '-')
	b = append(appendDigits(b, day, 2), 'T')
	b = append(appendDigits(b, hour, 2), ':')
	b = append(appendDigits(b, minute, 2), ':')
	b = append(appendDigits(b, second, 2), '.')
	return append(appendDigits(b, t.Nanosecond()/1000, 6), 'Z')
}

// appendDigits appends n in so many digits.
func appendDigits(b []byte, n, width int) []byte {
	b = append(b, "000000"[:width]...)
	for i := len(b) - 1; n > 0 && width > 0; i, width = i-1, width-1 {
		b[i] = byte('0' + n%10)
		n /= 10
	}
	return b
}

func appendBase64(b, raw []byte) []byte {
	b = append(b, '"')
	b = base64.StdEncoding.AppendEncode(b, raw)
	return append(b, '"')
}
