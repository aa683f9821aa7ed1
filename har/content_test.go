package har

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// encoders make a body of each coding.
var encoders = map[string]func(w io.Writer) io.WriteCloser{
	"gzip":    func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
	"X-GZip":  func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
	"br":      func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
	"deflate": func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
	"Deflate": func(w io.Writer) io.WriteCloser { // without its zlib header, as some servers send it
		f, err := flate.NewWriter(w, flate.BestSpeed)
		if err != nil {
			panic(err)
		}
		return f
	},
	"zstd": func(w io.Writer) io.WriteCloser {
		z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
		if err != nil {
			panic(err)
		}
		return z
	},
}

func encoded(t testing.TB, coding string, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := encoders[coding](&b)
	if _, err := w.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestDecodeContent(t *testing.T) {
	body := []byte(strings.Repeat(`{"jsonrpc":"2.0","id":1,"result":{}}`, 2000))
	for coding := range encoders {
		t.Run(coding, func(t *testing.T) {
			packed := encoded(t, coding, body)
			got, err := DecodeContent(" "+coding+"\t", packed, 0)
			if err != nil || !bytes.Equal(got, body) {
				t.Errorf("decoded %d bytes of %d: %v", len(got), len(body), err)
			}
			if got, err = DecodeContent(coding, packed, len(body)); err != nil || len(got) != len(body) {
				t.Errorf("just within the limit: %d bytes: %v", len(got), err)
			}
			got, err = DecodeContent(coding, packed, 100)
			if err == nil || string(got) != string(body[:100]) {
				t.Errorf("beyond the limit: %d bytes: %v", len(got), err)
			}
			for _, cut := range []int{1, len(packed) / 2, len(packed) - 1} {
				got, err = DecodeContent(coding, packed[:cut], 0)
				if err == nil || !bytes.HasPrefix(body, got) {
					t.Errorf("cut at byte %d of %d: %d bytes: %v", cut, len(packed), len(got), err)
				}
			}
		})
	}
}

// TestDecodePart gives what could be decoded of a body that is longer than one block and was cut.
func TestDecodePart(t *testing.T) {
	var body []byte
	for i := range 400_000 {
		body = append(body, byte(i*i>>7), byte(i*2654435761>>20))
	}
	for coding := range encoders {
		packed := encoded(t, coding, body)
		got, err := DecodeContent(coding, packed[:len(packed)*3/4], 0)
		if err == nil || len(got) == 0 || !bytes.HasPrefix(body, got) {
			t.Errorf("%s: %d bytes of %d: %v", coding, len(got), len(body), err)
		}
	}
}

func TestDecodeLists(t *testing.T) {
	body := []byte("hello, hello, hello")
	twice := encoded(t, "br", encoded(t, "gzip", body))
	for _, tt := range []struct {
		name, encoding string
		body           []byte
		want, err      string
	}{
		{"none", "", body, string(body), ""},
		{"identity", "Identity", body, string(body), ""},
		{"list", "gzip, br", twice, string(body), ""},
		{"list with identity", "gzip,identity , ,br", twice, string(body), ""},
		{"empty body", "gzip", nil, "", ""},
		{"unknown", "compress", body, "", "compress content: unknown coding"},
		{"unknown below", "compress, br", encoded(t, "br", body), "", "compress content: unknown coding"},
		{"corrupt above", "gzip, br", twice[:len(twice)-3], "", "br content: "},
		{"not gzip", "gzip", body, "", "gzip content: "},
		{"too many", "br,br,br,br,br", body, string(body), "at most 4 are undone"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := DecodeContent(tt.encoding, tt.body, 0)
			if string(got) != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got %q, %v; want %q, %q", got, err, tt.want, tt.err)
			}
		})
	}
}
