package har

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// maxContent is how many bytes a View decodes of one body.
const maxContent = 64 << 20

// ErrContentLimit is why a sound body is not decoded to its end: it goes beyond what DecodeContent was allowed.
var ErrContentLimit = errors.New("not decoded to its end")

// maxCodings is how many encodings on top of one another are undone.
const maxCodings = 4

// DecodeContent undoes a Content-Encoding (RFC 9110 section 8.4): gzip, deflate with or without its zlib header, br, zstd,
// identity, or a list of these in the order in which they were applied. It gives what could be decoded together with an
// error, and at most max bytes; max of 0 means 64 MiB. Without a coding the result is body itself.
func DecodeContent(encoding string, body []byte, max int) ([]byte, error) {
	if max <= 0 {
		max = maxContent
	}
	if encoding == "" {
		return body, nil
	}
	codings := strings.Split(encoding, ",")
	if len(codings) > maxCodings {
		return body, fmt.Errorf("%d content codings on top of one another: at most %d are undone: %w", len(codings), maxCodings, ErrContentLimit)
	}
	for i := len(codings) - 1; i >= 0; i-- {
		coding := strings.ToLower(strings.Trim(codings[i], " \t"))
		if coding == "" || coding == "identity" || len(body) == 0 {
			continue
		}
		decoded, err := decodeOne(coding, body, max)
		if err != nil {
			if i > 0 {
				return nil, fmt.Errorf("%w; %s below it is not undone", err, strings.Join(codings[:i], ","))
			}
			return decoded, err
		}
		body = decoded
	}
	return body, nil
}

func decodeOne(coding string, body []byte, max int) ([]byte, error) {
	r, err := contentReader(coding, body)
	if err != nil {
		return nil, fmt.Errorf("%s content: %w", coding, err)
	}
	var out bytes.Buffer
	_, err = io.Copy(&out, io.LimitReader(r, int64(max)+1))
	switch {
	case out.Len() > max:
		return out.Bytes()[:max], fmt.Errorf("%s content: more than %d bytes: %w", coding, max, ErrContentLimit)
	case err != nil:
		return out.Bytes(), fmt.Errorf("%s content: %w", coding, err)
	}
	return out.Bytes(), nil
}

func contentReader(coding string, body []byte) (io.Reader, error) {
	in := bytes.NewReader(body)
	switch coding {
	case "gzip", "x-gzip":
		return gzip.NewReader(in)
	case "deflate":
		if isZlib(body) {
			return zlib.NewReader(in)
		}
		return flate.NewReader(in), nil
	case "br":
		return brotli.NewReader(in), nil
	case "zstd":
		return zstd.NewReader(onlyReader{in}, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
	}
	return nil, errors.New("unknown coding")
}

// onlyReader hides all methods but Read: given a buffer, the decoder decodes it at once and ignores its limits.
type onlyReader struct{ io.Reader }

// isZlib tells whether body begins with a zlib header (RFC 1950 section 2.2). Some servers send raw deflate data.
func isZlib(body []byte) bool {
	return len(body) >= 2 && body[0]&0x0F == 8 && (int(body[0])<<8|int(body[1]))%31 == 0
}
