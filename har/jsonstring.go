package har

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// Most of a cassette is bytes in JSON strings: both ways go eight bytes at a time up to the next escape.

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks the bytes of eight that end a run of plain ones in a JSON string: quote, backslash, below 0x20. The
// lowest mark is right; one above it may be false.
func special(x uint64) uint64 {
	quote, backslash := x^(ones*'"'), x^(ones*'\\')
	return ((x-ones*' ')&^x | (quote-ones)&^quote | (backslash-ones)&^backslash) & highs
}

// escapes holds, for the characters that have a short escape, its two bytes.
var escapes = [256]uint16{'"': esc | '"'<<8, '\\': esc | '\\'<<8, '\n': esc | 'n'<<8, '\r': esc | 'r'<<8, '\t': esc | 't'<<8, '\b': esc | 'b'<<8, '\f': esc | 'f'<<8}

const esc = '\\'

// escapeBlock is how many bytes are escaped between two looks at the room that is left.
const escapeBlock = 1024

// appendRaw appends s, which is valid UTF-8, as a JSON string. Only what JSON demands is escaped.
func appendRaw(b, s []byte) []byte {
	b = append(b, '"')
	for len(s) > 0 {
		block := s[:min(len(s), escapeBlock)]
		s = s[len(block):]
		b = slices.Grow(b, 6*len(block)+8)
		d, k, i := b[:cap(b)], len(b), 0
		for len(block)-i >= 8 {
			x := binary.LittleEndian.Uint64(block[i:])
			binary.LittleEndian.PutUint64(d[k:], x)
			marks := special(x)
			if marks == 0 {
				i, k = i+8, k+8
				continue
			}
			n := bits.TrailingZeros64(marks) / 8
			i, k = i+n, k+n
			for i < len(block) && escapes[block[i]] != 0 { // one is rarely alone
				binary.LittleEndian.PutUint16(d[k:], escapes[block[i]])
				i, k = i+1, k+2
			}
			if i < len(block) && block[i] < ' ' {
				k += putByte(d[k:], block[i])
				i++
			}
		}
		for ; i < len(block); i++ {
			k += putByte(d[k:], block[i])
		}
		b = d[:k]
	}
	return append(b, '"')
}

// putByte writes c, escaped if need be, in at most six bytes.
func putByte(d []byte, c byte) int {
	if e := escapes[c]; e != 0 {
		binary.LittleEndian.PutUint16(d, e)
		return 2
	}
	if c >= ' ' {
		d[0] = c
		return 1
	}
	const hex = "0123456789abcdef"
	return copy(d, []byte{'\\', 'u', '0', '0', hex[c>>4], hex[c&15]})
}

// appendString is appendRaw for words of ours, which are short.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' {
			return appendRaw(b, []byte(s))
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// unescapes holds what the character behind a backslash stands for.
var unescapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unquote appends to d what the string that begins at b[i], behind its opening quote, stands for. next is the offset
// behind its closing quote. If the string is malformed, want says what was expected at next.
func unquote(d, b []byte, i int) (_ []byte, next int, want string) {
	for i < len(b) {
		if len(b)-i >= 8 {
			if cap(d)-len(d) < 8 {
				d = slices.Grow(d, min(len(b)-i, len(d)+64))
			}
			x := binary.LittleEndian.Uint64(b[i:])
			binary.LittleEndian.PutUint64(d[len(d):len(d)+8], x)
			marks := special(x)
			if marks == 0 {
				d, i = d[:len(d)+8], i+8
				continue
			}
			n := bits.TrailingZeros64(marks) / 8
			d, i = d[:len(d)+n], i+n
		}
		switch c := b[i]; {
		case c == '\\':
			if i+1 < len(b) && unescapes[b[i+1]] != 0 {
				d = append(d, unescapes[b[i+1]])
				i += 2
				continue
			}
			r, n := unicodeEscape(b[i:])
			if n == 0 {
				return d, i, "a valid escape"
			}
			d = utf8.AppendRune(d, r)
			i += n
		case c == '"':
			return d, i + 1, ""
		case c < ' ':
			return d, i, "a control character written as an escape"
		default:
			d = append(d, c)
			i++
		}
	}
	return d, len(b), "the end of a string"
}

// unicodeEscape decodes \uXXXX, or two of them for a character beyond the basic plane. n is 0 if there is none, and for
// half a pair, which stands for no character.
func unicodeEscape(b []byte) (r rune, n int) {
	r = hex4(b)
	switch {
	case r < 0 || r >= 0xDC00 && r < 0xE000:
		return 0, 0
	case r < 0xD800 || r >= 0xE000:
		return r, 6
	}
	low := hex4(b[6:])
	if low < 0xDC00 || low >= 0xE000 {
		return 0, 0
	}
	return 0x10000 + (r-0xD800)<<10 + (low - 0xDC00), 12
}

func hex4(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	var r rune
	for _, c := range b[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}
