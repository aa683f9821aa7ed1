package har

import (
	"encoding/base64"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcptap/mcptap/har/wire"
)

// entryOf makes a HAR entry of an exchange. Its bytes are parsed again: nothing is taken from the copied fields that can be
// read from the bytes.
func entryOf(x *Exchange) harEntry {
	v := x.View()
	e := harEntry{
		Started:    x.Started.UTC().Format(timeLayout),
		Request:    v.harRequest(),
		Response:   v.harResponse(),
		Timings:    v.harTimings(),
		Connection: strconv.FormatUint(x.Conn, 10),
		Mcptap: harOwn{N: x.N, Conn: x.Conn, Seq: x.Seq, End: x.End, EndAt: millis(x.EndAt), Late: v.Late,
			Redacted: len(x.Redacted), Notes: x.Notes, Lines: linesOf(x)},
	}
	if v.Complete != Unknown {
		whole := v.Complete == True
		e.Mcptap.Complete = &whole
	}
	e.Time = round(e.Timings.Send + e.Timings.Wait + e.Timings.Receive)
	if a, err := netip.ParseAddrPort(x.Server); err == nil {
		e.ServerIP = a.Addr().Unmap().String()
	}
	return e
}

func (v *View) harRequest() harRequest {
	r := harRequest{Method: v.X.Method, URL: v.X.URL, HTTPVersion: "unknown", Cookies: []harPair{}, Headers: []harPair{}}
	r.QueryString = queryPairs(r.URL)
	if v.Request == nil {
		r.BodySize = len(v.X.Request.Raw)
		return r
	}
	m := v.Request
	r.HTTPVersion, r.Headers = m.Proto, headerPairs(m.Fields)
	r.HeadersSize, r.BodySize = m.Len, m.End-m.Off-m.Len
	if body := v.RequestBody(); len(body) > 0 {
		text, encoding := harText(body)
		r.PostData = &harPostData{MediaType: m.Get("Content-Type"), Text: text, Encoding: encoding}
	}
	return r
}

func (v *View) harResponse() harResponse {
	r := harResponse{HTTPVersion: "unknown", Cookies: []harPair{}, Headers: []harPair{}}
	if v.Complete != True {
		r.Error = v.Why + " (" + string(v.X.End) + ")"
	}
	if v.Response == nil {
		r.StatusText = string(v.X.End)
		return r
	}
	m := v.Response
	body, err := v.ResponseBody()
	if err != nil && len(body) == 0 {
		body = m.Payload(v.X.Response.Raw)
	}
	r.Status, r.StatusText, r.HTTPVersion, r.Headers = m.Status, latin1(m.Reason), m.Proto, headerPairs(m.Fields)
	r.HeadersSize, r.BodySize = m.Len, m.End-m.Off-m.Len
	r.RedirectURL = latin1(m.Get("Location"))
	r.Content = harContent{Size: len(body), MediaType: latin1(m.Get("Content-Type"))}
	r.Content.Text, r.Content.Encoding = harText(body)
	r.Events = v.harEvents()
	if v.responseBody.encoded && err == nil {
		r.Content.Compression = max(0, len(body)-r.BodySize)
	}
	if err != nil {
		r.Content.Comment = err.Error()
	}
	return r
}

// harEvents lists the events that a client would dispatch, nil if the response is no event stream.
func (v *View) harEvents() (list []harEvent) {
	for _, e := range v.Events() {
		if !e.Dispatched() {
			continue
		}
		one := harEvent{Off: e.Off, Type: latin1(e.Type), ID: latin1(e.ID), Data: latin1(string(e.Data))}
		if e.Retry >= 0 {
			one.Retry = &e.Retry
		}
		list = append(list, one)
	}
	return list
}

// harTimings splits the time from the first request byte to the last response byte that the client can have seen, or to
// the ending where there is none.
func (v *View) harTimings() harTimings {
	x := v.X
	sent := lastAt(x.Request.Writes, len(x.Request.Raw))
	seen := len(x.Response.Raw) - v.Late
	if seen == 0 || len(x.Response.Writes) == 0 {
		return harTimings{Send: millis(sent), Wait: millis(x.EndAt - sent)}
	}
	first, last := x.Response.Writes[0].At, lastAt(x.Response.Writes, seen)
	sent = min(sent, first)
	return harTimings{Send: millis(sent), Wait: millis(first - sent), Receive: millis(last - first)}
}

// lastAt is when the last of the first n bytes was seen.
func lastAt(writes []Write, n int) (at time.Duration) {
	for _, w := range writes {
		if n <= 0 {
			break
		}
		at = max(at, w.At)
		n -= w.Len
	}
	return at
}

// millis is d in milliseconds, to the microsecond, not below 0.
func millis(d time.Duration) float64 { return float64(max(0, d.Microseconds())) / 1000 }

func round(ms float64) float64 { return float64(int64(ms*1000+0.5)) / 1000 }

func headerPairs(fields []wire.Field) []harPair {
	list := make([]harPair, len(fields))
	for i := range fields {
		list[i] = harPair{latin1(fields[i].Name), latin1(fields[i].Value)}
	}
	return list
}

// queryPairs splits a URL's query (WHATWG URL section 5.1). What is not validly escaped stays as it is.
func queryPairs(target string) []harPair {
	list := []harPair{}
	target, _, _ = strings.Cut(target, "#")
	_, query, _ := strings.Cut(target, "?")
	for part := range strings.SplitSeq(query, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		list = append(list, harPair{unescaped(name), unescaped(value)})
	}
	return list
}

func unescaped(s string) string {
	if u, err := url.QueryUnescape(s); err == nil && utf8.ValidString(u) {
		return u
	}
	return s
}

// harText is a body as HAR holds it: text, or base64 where it is not UTF-8.
func harText(body []byte) (text, encoding string) {
	if utf8.Valid(body) {
		return string(body), ""
	}
	return base64.StdEncoding.EncodeToString(body), "base64"
}

// latin1 makes text of a field that is not UTF-8: its bytes are then those of ISO 8859-1, as they were in older HTTP (RFC
// 9110 section 5.5).
func latin1(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}
