package har

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/mcptap/mcptap/har/wire"
)

// recode replaces secrets in the compressed bodies of x and compresses them again. Bodies that cannot be framed anew are left
// to Pass, which fills them up. place is what the exchange is called.
func (c *Cleaner) recode(x *Exchange, place string) {
	if x.Stdio() {
		return
	}
	v := x.View()
	c.recodeSide(x, wire.ToServer, v.Request, place)
	c.recodeSide(x, wire.ToClient, v.Response, place)
}

func (c *Cleaner) recodeSide(x *Exchange, d wire.Dir, m *wire.Message, place string) {
	if m == nil || len(m.Body) == 0 {
		return
	}
	coding := contentEncoding(m)
	raw := x.side(d).Raw
	body := m.Payload(raw)
	text, err := DecodeContent(coding, body, decodeMost)
	if coding == "" || strings.EqualFold(coding, "identity") || len(text) == 0 || err != nil && (m.Complete || !errors.Is(err, io.ErrUnexpectedEOF)) {
		return
	}
	head := "HTTP/1.1 200 OK\r\nContent-Type: " + m.Get("Content-Type") + "\r\n\r\n"
	plain := &Exchange{Response: Side{Raw: append([]byte(head), text...)}, End: EndFIN}
	c.redactor.Pass(plain, [2]int{}, true)
	clean := plain.Response.Raw[len(head):]
	if bytes.Equal(clean, text) {
		return
	}
	again, err := encodeContent(coding, body, clean, m.Complete)
	if err != nil {
		return
	}
	if at, ok := x.reframe(d, m, again); ok {
		x.Redacted = append(x.Redacted, Redaction{Dir: d, Off: at.Off, Len: at.Len, Kind: kindNames[bodyRecoded]})
		x.Notes = append(x.Notes, fmt.Sprintf("%s: the compressed body of the %s had %d bytes, and has %d", NoteRecoded, d, len(body), len(again)))
		for _, f := range plain.Redacted {
			c.found = append(c.found, Replaced{fmt.Sprintf("%s%s body, unpacked", place, d), f.Off - len(head), f.Len, f.Kind})
		}
	}
}

// encodeContent does what DecodeContent undoes; was is what had been encoded so. Without whole the end is left out.
func encodeContent(encoding string, was, text []byte, whole bool) ([]byte, error) {
	codings := strings.Split(encoding, ",")
	if len(codings) > 1 && !whole {
		return nil, errors.New("several codings")
	}
	for _, coding := range codings {
		var out bytes.Buffer
		var w interface {
			io.WriteCloser
			Flush() error
		}
		var err error
		switch coding = strings.ToLower(strings.Trim(coding, " \t")); coding {
		case "", "identity":
			continue
		case "gzip", "x-gzip":
			w = gzip.NewWriter(&out)
		case "deflate":
			if w, err = flate.NewWriter(&out, flate.DefaultCompression); len(codings) > 1 || isZlib(was) {
				w = zlib.NewWriter(&out)
			}
		case "br":
			w = brotli.NewWriter(&out)
		case "zstd":
			w, err = zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
		default:
			err = errors.New("unknown coding")
		}
		if err != nil {
			return nil, err
		}
		if _, err = w.Write(text); err == nil {
			if err = w.Flush(); whole && err == nil {
				err = w.Close()
			}
		}
		if err != nil {
			return nil, err
		}
		text = out.Bytes()
	}
	return text, nil
}

// reframe puts a body of another length in place of that of m, and says where it is then: Content-Length is mended, chunks become
// one. What was not whole is not whole after.
func (x *Exchange) reframe(d wire.Dir, m *wire.Message, body []byte) (at wire.Span, ok bool) {
	raw := x.side(d).Raw
	from, end := m.Off+m.Len, m.Body[len(m.Body)-1].End()
	had := 0
	for _, s := range m.Body {
		had += s.Len
	}
	var parts []patch
	head := ""
	switch m.Framing {
	case wire.ByClose:
	case wire.ByLength:
		i := -1
		for k := range m.Fields {
			if strings.EqualFold(m.Fields[k].Name, "Content-Length") {
				if i >= 0 {
					return at, false
				}
				i = k
			}
		}
		if i < 0 || m.Fields[i].Value != strconv.FormatInt(m.Length, 10) {
			return at, false
		}
		f := m.Fields[i].At
		parts = append(parts, patch{wire.Span{Off: m.Off + f.Off, Len: f.Len}, strconv.FormatInt(m.Length-int64(had)+int64(len(body)), 10)})
	case wire.ByChunks:
		size := len(body)
		if end == len(raw) {
			size++ // the chunk was cut
		}
		head = strconv.FormatInt(int64(size), 16) + "\r\n"
	default:
		return at, false
	}
	parts = append(parts, patch{wire.Span{Off: from, Len: end - from}, head + string(body)})
	moved := x.splice(d, parts)
	to := moved(from) + len(head)
	return wire.Span{Off: to, Len: len(body)}, true
}

// A patch is what stands in the place of some bytes.
type patch struct {
	at  wire.Span
	new string
}

// splice puts patches, in order, into one side of an exchange, and moves all that points at its bytes. moved tells where a byte is
// then.
func (x *Exchange) splice(d wire.Dir, patches []patch) (moved func(int) int) {
	side := x.side(d)
	moved = func(at int) int {
		shift := 0
		for _, p := range patches {
			switch {
			case at >= p.at.End():
				shift += len(p.new) - p.at.Len
			case at > p.at.Off:
				return p.at.Off + shift + (at-p.at.Off)*len(p.new)/p.at.Len
			}
		}
		return at + shift
	}
	var raw []byte
	from := 0
	for _, p := range patches {
		raw = append(append(raw, side.Raw[from:p.at.Off]...), p.new...)
		from = p.at.End()
	}
	side.Raw = append(raw, side.Raw[from:]...)
	var writes []Write
	at, done := 0, 0
	for _, w := range side.Writes {
		at += w.Len
		if to := moved(at); to > done {
			writes = append(writes, Write{w.At, to - done})
			done = to
		}
	}
	side.Writes = writes
	var kept []Redaction
	for _, r := range x.Redacted {
		if last := patches[len(patches)-1].at; r.Dir == d {
			if r.Off < last.End() && r.Off+r.Len > last.Off {
				continue // within the body that is there no more
			}
			to := moved(r.Off + r.Len)
			r.Off = moved(r.Off)
			r.Len = to - r.Off
		}
		kept = append(kept, r)
	}
	x.Redacted = kept
	if d == wire.ToClient {
		x.EndOff = moved(x.EndOff)
	} else {
		for i, e := range x.Edits {
			to := moved(e.Off + e.Len)
			x.Edits[i].Off = moved(e.Off)
			x.Edits[i].Len = to - x.Edits[i].Off
		}
	}
	return moved
}
