package replay

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// recodable tells whether a body that has to change can be decoded and encoded anew: one that is whole, that came at once
// for the client (no event stream), in a coding that is written here, and over which nobody has made a digest.
func recodable(v *har.View) bool {
	m := v.Response
	if m == nil || !m.Complete || v.SSE() || m.Framing != wire.ByLength && m.Framing != wire.ByChunks {
		return false
	}
	if _, plain := v.At(wire.ToClient, wire.Span{}); plain {
		return false
	}
	if _, err := v.ResponseBody(); err != nil || coder(io.Discard, v) == nil {
		return false
	}
	return digested(m) == ""
}

// coder gives an encoder of the response's coding, nil if there is none.
func coder(w io.Writer, v *har.View) io.WriteCloser {
	switch strings.ToLower(strings.TrimSpace(v.Response.Get("Content-Encoding"))) {
	case "gzip", "x-gzip":
		return gzip.NewWriter(w)
	case "deflate":
		return zlib.NewWriter(w)
	}
	return nil
}

// recode makes the edits of an encoded body: one that replaces it as a whole, with its framing. Sites are in the decoded
// body.
func recode(v *har.View, sites []site) ([]edit, error) {
	body, _ := v.ResponseBody()
	var plain []byte
	var what []string
	at := 0
	for i := range sites {
		s := &sites[i]
		want, old := s.want(), string(body[s.off:s.off+s.len])
		if want == "" || want == old {
			continue
		}
		plain = append(append(plain, body[at:s.off]...), want...)
		at = s.off + s.len
		what = append(what, fmt.Sprintf("%s %s is sent as %s", s.name(), clip(old), clip(want)))
	}
	plain = append(plain, body[at:]...)
	var packed bytes.Buffer
	w := coder(&packed, v)
	w.Write(plain) // to memory
	if err := w.Close(); err != nil {
		return nil, err
	}
	m := v.Response
	begin := m.Off + m.Len
	e := edit{off: begin, len: m.End - begin, new: packed.String(), why: fmt.Sprintf("its %s body of %d bytes at byte %d is encoded anew, since %s",
		m.Get("Content-Encoding"), m.End-begin, begin, strings.Join(what, ", "))}
	if m.Framing == wire.ByChunks {
		e.new = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", packed.Len(), packed.String())
		return []edit{e}, nil
	}
	var out []edit
	for i := range m.Fields {
		if f := &m.Fields[i]; strings.EqualFold(f.Name, "Content-Length") {
			out = append(out, edit{off: m.Off + f.At.Off, len: f.At.Len, new: strconv.Itoa(packed.Len())})
		}
	}
	return append(out, e), nil
}
