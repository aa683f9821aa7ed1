package har

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// BenchmarkLastScan is what share looks through at the end: a text of 1 MiB, by what it is made of.
func BenchmarkLastScan(b *testing.B) {
	const size = 1 << 20
	source := rand.NewChaCha8([32]byte{1})
	noise := make([]byte, size)
	source.Read(noise)
	item := `{"name":"read_file","description":"Reads a file, as UTF-8 text.","inputSchema":{"type":"object","properties":{"file_path":{"type":"string"}}}},`
	for _, bm := range []struct{ name, text string }{
		{"noise", string(noise)},
		{"base64", base64.StdEncoding.EncodeToString(noise)[:size]},
		{"base64url", base64.RawURLEncoding.EncodeToString(noise)[:size]},
		{"base64-lines", inLines(base64.StdEncoding.EncodeToString(noise), 76)[:size]},
		{"json", strings.Repeat(item, size/len(item))},
		{"json-escaped", strings.Repeat(strings.ReplaceAll(item, `"`, `\"`), size/len(item))},
		{"prose", strings.Repeat("the quick brown fox jumps over the lazy dog, ", size/45)},
		{"percent", strings.Repeat("a%20b%2Fc", size/9)},
	} {
		b.Run(bm.name, func(b *testing.B) {
			c := NewCleaner(nil, false)
			for i := range 100 {
				c.exchange(&Exchange{Request: Side{Raw: fmt.Appendf(nil, "GET / HTTP/1.1\r\nMcp-Session-Id: session-id-%08d\r\n\r\n", i)}})
			}
			text := []byte(bm.text)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				c.Leaks(text)
			}
		})
	}
}

func inLines(s string, width int) string {
	var b strings.Builder
	for len(s) > width {
		b.WriteString(s[:width] + "\n")
		s = s[width:]
	}
	return b.String() + s
}
