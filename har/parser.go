package har

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A parser walks one line of JSON (RFC 8259). The line's UTF-8 has been checked. The first error stays, and ends every
// loop; values read after it are zero.
type parser struct {
	b     []byte
	i     int
	err   error
	buf   []byte            // holds a string at a time
	words map[string]string // those met before; nil to keep none
}

// Of the words that lines repeat, so many are kept, of at most so many bytes.
const (
	maxWords = 4096
	maxWord  = 256
)

func (p *parser) fail(what string) {
	if p.err == nil {
		p.err = want(fmt.Sprintf("%s at byte %d", what, p.i+1), "")
	}
	p.i = len(p.b)
}

func (p *parser) space() {
	for p.i < len(p.b) {
		switch p.b[p.i] {
		case ' ', '\t', '\r', '\n':
			p.i++
		default:
			return
		}
	}
}

// peek skips white space and returns the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.i < len(p.b) && p.b[p.i] > ' ' {
		return p.b[p.i]
	}
	p.space()
	if p.i < len(p.b) {
		return p.b[p.i]
	}
	return 0
}

func (p *parser) take(c byte) bool {
	if p.peek() != c {
		return false
	}
	p.i++
	return true
}

// end asks for the end of the line.
func (p *parser) end() {
	if p.peek(); p.i < len(p.b) {
		p.fail("the end of the line")
	}
}

// member steps to the next member of an object, the opening brace included, and returns its name. The caller must
// consume the value.
func (p *parser) member(first *bool) (name []byte, ok bool) {
	if *first {
		*first = false
		if !p.take('{') {
			p.fail("an object")
			return nil, false
		}
		if p.take('}') {
			return nil, false
		}
	} else if p.take('}') {
		return nil, false
	} else if !p.take(',') {
		p.fail("a comma or the end of the object")
		return nil, false
	}
	name = p.bytes()
	if !p.take(':') {
		p.fail("a colon")
	}
	return name, p.err == nil
}

// element steps to the next element of an array, the opening bracket included.
func (p *parser) element(first *bool) bool {
	if *first {
		*first = false
		if !p.take('[') {
			p.fail("an array")
			return false
		}
		return !p.take(']')
	}
	if p.take(']') {
		return false
	}
	if !p.take(',') {
		p.fail("a comma or the end of the array")
		return false
	}
	return true
}

// object calls read for every member of an object. read returns false, having read nothing, for a name that it does not
// know; the others must not repeat.
func (p *parser) object(read func(name string) bool) {
	var seen []string
	for first := true; ; {
		key, ok := p.member(&first)
		if !ok {
			return
		}
		name := string(key)
		if slices.Contains(seen, name) {
			p.fail("one member named " + strconv.Quote(name))
			return
		}
		if read(name) {
			seen = append(seen, name)
		} else {
			p.skip()
		}
	}
}

// array calls each for every element of an array.
func (p *parser) array(each func()) {
	for first := true; p.element(&first); {
		each()
	}
}

// text reads a string.
func (p *parser) text() string { return string(p.bytes()) }

// word reads a string that many lines repeat, and gives all of them the same memory.
func (p *parser) word() string {
	b := p.bytes()
	if s, ok := p.words[string(b)]; ok {
		return s
	}
	s := string(b)
	if p.words != nil && len(p.words) < maxWords && len(s) <= maxWord {
		p.words[s] = s
	}
	return s
}

// bytes reads a string. The result is valid until the next one is read.
func (p *parser) bytes() []byte {
	if !p.take('"') {
		p.fail("a string")
		return nil
	}
	for i := p.i; i < len(p.b); i++ {
		if c := p.b[i]; c == '"' {
			s := p.b[p.i:i]
			p.i = i + 1
			return s
		} else if c == '\\' || c < ' ' {
			break
		}
	}
	var want string
	if p.buf, p.i, want = unquote(p.buf[:0], p.b, p.i); want != "" {
		p.fail(want)
	}
	return p.buf
}

// owned reads a string into memory of its own.
func (p *parser) owned() []byte {
	if !p.take('"') {
		p.fail("a string")
		return nil
	}
	var want string
	if p.buf, p.i, want = unquote(p.buf[:0], p.b, p.i); want != "" {
		p.fail(want)
	}
	return append(make([]byte, 0, len(p.buf)), p.buf...)
}

// base64 reads a string of base64 (RFC 4648 section 4, with padding).
func (p *parser) base64() []byte {
	text := p.bytes()
	if p.err != nil {
		return nil
	}
	raw, err := base64.StdEncoding.Strict().AppendDecode(make([]byte, 0, len(text)/4*3), text)
	if err != nil {
		p.fail("base64 with padding")
	}
	return raw
}

// number reads a whole number from 0 to 2^53-1.
func (p *parser) number() int64 {
	if p.peek() == '-' {
		p.fail("a number that is not negative")
		return 0
	}
	start, n := p.i, int64(0)
	for ; p.i < len(p.b); p.i++ {
		c := p.b[p.i] - '0'
		if c > 9 {
			break
		}
		if n = n*10 + int64(c); n > maxNumber {
			p.fail("a number below 2^53")
			return 0
		}
	}
	if p.i == start {
		p.fail("a whole number")
		return 0
	}
	if p.b[start] == '0' && p.i > start+1 {
		p.i = start
		p.fail("a number without leading zeros")
		return 0
	}
	if p.i < len(p.b) && (p.b[p.i] == '.' || p.b[p.i]|0x20 == 'e') {
		p.fail("a whole number")
		return 0
	}
	return n
}

// count reads a number that fits an int.
func (p *parser) count() int {
	n := p.number()
	if int64(int(n)) != n {
		p.fail("a number that this machine can count to")
		return 0
	}
	return int(n)
}

// micros reads a number of microseconds; 2^53 of them fit a Duration.
func (p *parser) micros() time.Duration {
	return time.Duration(p.number()) * time.Microsecond
}

func (p *parser) bool() bool {
	switch p.peek() {
	case 't':
		p.literal("true")
		return p.err == nil
	case 'f':
		p.literal("false")
		return false
	}
	p.fail("true or false")
	return false
}

func (p *parser) literal(w string) {
	if len(p.b)-p.i < len(w) || string(p.b[p.i:p.i+len(w)]) != w {
		p.fail(w)
		return
	}
	p.i += len(w)
}

// time reads an RFC 3339 time; what is finer than a microsecond is dropped.
func (p *parser) time() time.Time {
	text := p.bytes()
	if p.err != nil {
		return time.Time{}
	}
	if t, ok := fixedTime(text); ok {
		return t
	}
	t, err := time.Parse(time.RFC3339Nano, string(text))
	if t = t.UTC().Truncate(time.Microsecond); err != nil || !writable(t) {
		p.fail("a time such as 2026-07-28T12:00:00.000000Z")
		return time.Time{}
	}
	return t
}

// fixedTime reads the form that this package writes.
func fixedTime(b []byte) (t time.Time, ok bool) {
	if len(b) != len(timeLayout) || b[26] != 'Z' || b[4] != '-' || b[7] != '-' || b[10] != 'T' || b[13] != ':' || b[16] != ':' || b[19] != '.' {
		return t, false
	}
	num := func(from, to int) (n int) {
		for _, c := range b[from:to] {
			if c -= '0'; c > 9 {
				ok = false
			}
			n = n*10 + int(c)
		}
		return n
	}
	ok = true
	year, month, day := num(0, 4), num(5, 7), num(8, 10)
	hour, minute, second, micro := num(11, 13), num(14, 16), num(17, 19), num(20, 26)
	t = time.Date(year, time.Month(month), day, hour, minute, second, micro*1000, time.UTC)
	ok = ok && hour < 24 && minute < 60 && second < 60 && t.Day() == day && int(t.Month()) == month
	return t, ok
}

// skip passes over any value.
func (p *parser) skip() { p.skipAt(1) }

func (p *parser) skipAt(depth int) {
	if depth > maxNesting {
		p.fail(fmt.Sprintf("at most %d levels of nesting", maxNesting))
		return
	}
	switch p.peek() {
	case '"':
		p.bytes()
	case '{':
		for first := true; ; {
			if _, ok := p.member(&first); !ok {
				return
			}
			p.skipAt(depth + 1)
		}
	case '[':
		for first := true; p.element(&first); {
			p.skipAt(depth + 1)
		}
	case 't', 'f':
		p.bool()
	case 'n':
		p.literal("null")
	default:
		p.anyNumber()
	}
}

// anyNumber passes over a number in any form that JSON has.
func (p *parser) anyNumber() {
	start := p.i
	for p.i < len(p.b) && strings.IndexByte("+-.0123456789Ee", p.b[p.i]) >= 0 {
		p.i++
	}
	if !json.Valid(p.b[start:p.i]) {
		p.i = start
		p.fail("a value")
	}
}
