package wire

import "bytes"

// The functions here walk a JSON text that has passed ParseRPC (RPC.JSON), each byte once. In anything else they find
// something arbitrary, but end and stay within the text.

// ValueStart passes over white space, a comma or a colon before a value.
func ValueStart(text []byte, at int) int {
	for at < len(text) {
		switch text[at] {
		case ' ', '\t', '\r', '\n', ',', ':':
			at++
		default:
			return at
		}
	}
	return at
}

// ValueEnd gives the offset behind the value that begins at offset at.
func ValueEnd(text []byte, at int) int {
	if at >= len(text) {
		return len(text)
	}
	switch text[at] {
	case '"':
		return stringEnd(text, at)
	case '{', '[':
		return nestEnd(text, at)
	}
	for at < len(text) {
		switch text[at] {
		case ',', '}', ']', ' ', '\t', '\r', '\n':
			return at
		}
		at++
	}
	return at
}

func stringEnd(text []byte, at int) int {
	at++
	const short = 24 // most names and many values: found sooner byte by byte
	for end := min(len(text), at+short); at < end; at++ {
		switch text[at] {
		case '"':
			return at + 1
		case '\\':
			return longStringEnd(text, at)
		}
	}
	return longStringEnd(text, at)
}

// longStringEnd is stringEnd from inside the string on, at no byte that is escaped.
func longStringEnd(text []byte, at int) int {
	for from := at; at < len(text); at++ {
		n := bytes.IndexByte(text[at:], '"')
		if n < 0 {
			return len(text)
		}
		at += n
		slashes := 0
		for at-1-slashes >= from && text[at-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return at + 1
		}
	}
	return len(text)
}

func nestEnd(text []byte, at int) int {
	for depth := 0; at < len(text); at++ {
		switch text[at] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return at + 1
			}
		case '"':
			at = stringEnd(text, at) - 1
		}
	}
	return len(text)
}

// WalkObject calls member for each member of the object that begins at offset at: its name as written, without the quotes,
// and where its value begins. member gives the offset behind the value; ValueEnd finds it. WalkObject gives the offset
// behind the object.
func WalkObject(text []byte, at int, member func(name []byte, at int) int) int {
	for at++; at < len(text); {
		if at = ValueStart(text, at); at >= len(text) || text[at] != '"' {
			break
		}
		end := stringEnd(text, at)
		if end < at+2 {
			return len(text)
		}
		name := text[at+1 : end-1]
		at = max(member(name, ValueStart(text, end)), end)
	}
	return min(at+1, len(text))
}

// WalkArray calls element for each element of the array that begins at offset at: its index and where it begins. element
// gives the offset behind the value. WalkArray gives the offset behind the array.
func WalkArray(text []byte, at int, element func(i, at int) int) int {
	at++
	for i := 0; at < len(text); i++ {
		if at = ValueStart(text, at); at >= len(text) || text[at] == ']' {
			break
		}
		at = max(element(i, at), at+1)
	}
	return min(at+1, len(text))
}
