package har

import (
	"bytes"
	"encoding/json"
	"io"
	"iter"
	"strings"
)

// exportBuffer is how many bytes of whole entries are written at a time.
const exportBuffer = 64 << 10

// ExportHAR writes exchanges as HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/), a few entries at a time, in the
// order given. What HAR has no place for stands in _mcptap, _events and _error: _mcptap has the cassette's header line and, of each
// exchange, its lines, from which ImportHAR takes the same bytes. An error of xs is returned as it is; what was written until
// then is no whole file.
func ExportHAR(w io.Writer, h Header, xs iter.Seq2[*Exchange, error]) error {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	name, version, _ := strings.Cut(h.Tool, " ")
	out.WriteString(`{"log":{"version":"1.2","creator":`)
	if err := enc.Encode(harCreator{name, version}); err != nil {
		return err
	}
	out.WriteString(`,"pages":[],"_mcptap":`)
	if err := enc.Encode(harOwnLog{appendHeader(nil, &h)}); err != nil {
		return err
	}
	out.WriteString(`,"entries":[`)
	separator := "\n"
	for x, err := range xs {
		if err != nil {
			return err
		}
		out.WriteString(separator)
		separator = ","
		if err := enc.Encode(entryOf(x)); err != nil {
			return err
		}
		if out.Len() >= exportBuffer {
			if _, err := out.WriteTo(w); err != nil {
				return err
			}
		}
	}
	out.WriteString("]}}\n")
	_, err := out.WriteTo(w)
	return err
}

// The objects of HAR 1.2 as far as they are filled in. Sizes are in bytes, times in milliseconds; none is negative.
type (
	harCreator struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	harEntry struct {
		Started    string      `json:"startedDateTime"`
		Time       float64     `json:"time"`
		Request    harRequest  `json:"request"`
		Response   harResponse `json:"response"`
		Cache      struct{}    `json:"cache"`
		Timings    harTimings  `json:"timings"`
		ServerIP   string      `json:"serverIPAddress,omitempty"`
		Connection string      `json:"connection"`
		Mcptap     harOwn      `json:"_mcptap"`
	}
	harRequest struct {
		Method      string       `json:"method"`
		URL         string       `json:"url"`
		HTTPVersion string       `json:"httpVersion"`
		Cookies     []harPair    `json:"cookies"`
		Headers     []harPair    `json:"headers"`
		QueryString []harPair    `json:"queryString"`
		PostData    *harPostData `json:"postData,omitempty"`
		HeadersSize int          `json:"headersSize"`
		BodySize    int          `json:"bodySize"`
	}
	harResponse struct {
		Status      int        `json:"status"`
		StatusText  string     `json:"statusText"` // without a response how the exchange ended
		HTTPVersion string     `json:"httpVersion"`
		Cookies     []harPair  `json:"cookies"`
		Headers     []harPair  `json:"headers"`
		Content     harContent `json:"content"`
		RedirectURL string     `json:"redirectURL"`
		HeadersSize int        `json:"headersSize"`
		BodySize    int        `json:"bodySize"`
		Events      []harEvent `json:"_events,omitempty"`
		Error       string     `json:"_error,omitempty"` // why the exchange is not known to be whole
	}
	harPair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	harPostData struct {
		MediaType string `json:"mimeType"`
		Text      string `json:"text"`
		Encoding  string `json:"_encoding,omitempty"` // "base64" where the body is not UTF-8
	}
	harContent struct {
		Size        int    `json:"size"` // decoded
		Compression int    `json:"compression,omitempty"`
		MediaType   string `json:"mimeType"`
		Text        string `json:"text"`
		Encoding    string `json:"encoding,omitempty"` // "base64" where the body is not UTF-8
		Comment     string `json:"comment,omitempty"`
	}
	harEvent struct { // one that a client would dispatch
		Off   int    `json:"off"` // of its first byte in the decoded body
		Type  string `json:"event,omitempty"`
		ID    string `json:"id,omitempty"`
		Data  string `json:"data"`
		Retry *int   `json:"retry,omitempty"` // milliseconds
	}
	harTimings struct {
		Send    float64 `json:"send"`
		Wait    float64 `json:"wait"`
		Receive float64 `json:"receive"`
	}
	harOwnLog struct {
		Header json.RawMessage `json:"header"` // the cassette's header line
	}
	harOwn struct {
		N        int      `json:"n"`
		Conn     uint64   `json:"conn"`
		Seq      int      `json:"seq"`
		End      Ending   `json:"end"`
		EndAt    float64  `json:"endAt,omitempty"` // milliseconds
		Complete *bool    `json:"complete"`        // null: cannot tell
		Late     int      `json:"late,omitempty"`
		Redacted int      `json:"redacted,omitempty"` // ranges
		Notes    []string `json:"notes,omitempty"`

		Lines []json.RawMessage `json:"lines,omitempty"` // the exchange as a cassette has it
	}
)
