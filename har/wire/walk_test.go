package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// rebuilt writes a JSON text again from what the walk finds, without white space.
func rebuilt(text []byte, at int, b *strings.Builder) int {
	if at >= len(text) {
		return at
	}
	comma := ""
	switch text[at] {
	case '{':
		b.WriteString("{")
		at = WalkObject(text, at, func(name []byte, at int) int {
			fmt.Fprintf(b, `%s"%s":`, comma, name)
			comma = ","
			return rebuilt(text, at, b)
		})
		b.WriteString("}")
		return at
	case '[':
		b.WriteString("[")
		at = WalkArray(text, at, func(_, at int) int {
			b.WriteString(comma)
			comma = ","
			return rebuilt(text, at, b)
		})
		b.WriteString("]")
		return at
	}
	end := ValueEnd(text, at)
	b.Write(text[at:end])
	return end
}

// compacted leaves out the white space between tokens.
func compacted(text string) string {
	var enc strings.Builder
	for i, in := 0, false; i < len(text); i++ {
		c := text[i]
		switch {
		case in && c == '\\':
			enc.WriteByte(c)
			i++
			c = text[i]
		case c == '"':
			in = !in
		case !in && (c == ' ' || c == '\n' || c == '\r' || c == '\t'):
			continue
		}
		enc.WriteByte(c)
	}
	return enc.String()
}

var walked = []string{`{}`, `[]`, ` { "a" : [ 1 , {"b":null}, "x,]}" ] , "c\"d":"e\\" } `, `[[],[[]],{"":{}}]`, `"\\\""`, `-1.5e3`,
	"{\"a\":true,\r\n\t\"a\":false}"}

func TestWalkFindsEveryValue(t *testing.T) {
	for _, text := range walked {
		var b strings.Builder
		end := rebuilt([]byte(text), ValueStart([]byte(text), 0), &b)
		if got, want := b.String(), compacted(text); got != want {
			t.Errorf("walk of %s found %s", text, got)
		}
		if rest := strings.TrimSpace(text[end:]); rest != "" {
			t.Errorf("walk of %s ended before %q", text, rest)
		}
		if at := ValueStart([]byte(text), 0); ValueEnd([]byte(text), at) != end {
			t.Errorf("ValueEnd of %s is %d, the walk's end %d", text, ValueEnd([]byte(text), at), end)
		}
	}
}

// Any valid text is walked whole; any other bytes are survived.
func FuzzWalk(f *testing.F) {
	for _, s := range walked {
		f.Add([]byte(s))
	}
	f.Add([]byte(`{"a":1,`))
	f.Add([]byte(`["\`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if tooDeep(text) || len(text) > 1<<16 {
			return
		}
		var b strings.Builder
		end := rebuilt(text, ValueStart(text, 0), &b)
		if end > len(text) {
			t.Fatalf("walked to %d of %d", end, len(text))
		}
		if !json.Valid(text) {
			return
		}
		if got, want := b.String(), compacted(string(text)); got != want {
			t.Errorf("walk of %s found %s", want, got)
		}
	})
}
