package har

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/har/wire"
)

// asPost is a request with a body; fields end in CRLF each.
func asPost(fields, body string) string {
	return fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: h.example\r\n%sContent-Length: %d\r\n\r\n%s", fields, len(body), body)
}

// asAnswer is a response with a body.
func asAnswer(fields, body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s", fields, len(body), body)
}

// asChunks is body as chunked framing, cut at the given offsets.
func asChunks(body string, cuts ...int) string {
	var b strings.Builder
	for i, at := range append(cuts, len(body)) {
		from := 0
		if i > 0 {
			from = cuts[i-1]
		}
		if at > from {
			fmt.Fprintf(&b, "%x\r\n%s\r\n", at-from, body[from:at])
		}
	}
	return b.String() + "0\r\n\r\n"
}

func asChunked(fields, body string, cuts ...int) string {
	return "HTTP/1.1 200 OK\r\n" + fields + "Transfer-Encoding: chunked\r\n\r\n" + asChunks(body, cuts...)
}

func TestPass(t *testing.T) {
	for _, tt := range redactCases {
		t.Run(tt.name, func(t *testing.T) {
			x := &Exchange{URL: tt.url, Request: Side{Raw: []byte(tt.req)}, Response: Side{Raw: []byte(tt.resp)}}
			upTo := NewRedactor().Pass(x, [2]int{}, true)
			if want := [2]int{len(tt.req), len(tt.resp)}; upTo != want {
				t.Errorf("up to %v, want %v", upTo, want)
			}
			wantReq, wantResp, wantURL := orElse(tt.wantReq, tt.req), orElse(tt.wantResp, tt.resp), orElse(tt.wantURL, tt.url)
			sameBytes(t, "request", string(x.Request.Raw), wantReq)
			sameBytes(t, "response", string(x.Response.Raw), wantResp)
			if x.URL != wantURL {
				t.Errorf("URL is %q, want %q", x.URL, wantURL)
			}
			kinds := ""
			for _, rd := range x.Redacted {
				kinds += " " + rd.Kind
			}
			if strings.TrimSpace(kinds) != tt.kinds {
				t.Errorf("kinds are %q, want %q", strings.TrimSpace(kinds), tt.kinds)
			}
			checkListed(t, x, tt.req, tt.resp)
			sameStructure(t, x, tt.req, tt.resp)
		})
	}
}

// TestPassTwice: what was redacted is not redacted again, neither by the same Redactor nor by one that knows nothing.
func TestPassTwice(t *testing.T) {
	for _, tt := range redactCases {
		t.Run(tt.name, func(t *testing.T) {
			r := NewRedactor()
			x := &Exchange{URL: tt.url, Request: Side{Raw: []byte(tt.req)}, Response: Side{Raw: []byte(tt.resp)}}
			r.Pass(x, [2]int{}, true)
			for _, r := range []*Redactor{r, NewRedactor()} {
				y := &Exchange{URL: x.URL, Request: Side{Raw: bytes.Clone(x.Request.Raw)}, Response: Side{Raw: bytes.Clone(x.Response.Raw)}}
				r.Pass(y, [2]int{}, true)
				sameBytes(t, "request", string(y.Request.Raw), string(x.Request.Raw))
				sameBytes(t, "response", string(y.Response.Raw), string(x.Response.Raw))
				if len(y.Redacted) > 0 || y.URL != x.URL {
					t.Errorf("redacted again: %v, URL %q", y.Redacted, y.URL)
				}
			}
		})
	}
}

// TestPassAtEveryCut: how an exchange grows from call to call changes nothing.
func TestPassAtEveryCut(t *testing.T) {
	for _, tt := range redactCases {
		if tt.uncut {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			whole := &Exchange{Request: Side{Raw: []byte(tt.req)}, Response: Side{Raw: []byte(tt.resp)}}
			NewRedactor().Pass(whole, [2]int{}, true)
			for cut := range len(tt.req) + len(tt.resp) {
				x, stored := grow(t, NewRedactor(), tt.req, tt.resp, cut)
				name := fmt.Sprintf("cut at byte %d: ", cut)
				sameBytes(t, name+"request", string(stored[0]), string(whole.Request.Raw))
				sameBytes(t, name+"response", string(stored[1]), string(whole.Response.Raw))
				checkListed(t, x, tt.req, tt.resp)
				if t.Failed() {
					return
				}
			}
			x, stored := grow(t, NewRedactor(), tt.req, tt.resp, every(len(tt.req)+len(tt.resp))...)
			sameBytes(t, "byte by byte: request", string(stored[0]), string(whole.Request.Raw))
			sameBytes(t, "byte by byte: response", string(stored[1]), string(whole.Response.Raw))
			checkListed(t, x, tt.req, tt.resp)
		})
	}
}

// grow passes an exchange that grows: the request, then the response, cut at the given offsets in both together. stored
// is what had been given free at each time.
func grow(t *testing.T, r *Redactor, req, resp string, cuts ...int) (x *Exchange, stored [2][]byte) {
	t.Helper()
	x = &Exchange{}
	var from [2]int
	pass := func(have int, final bool) {
		n := len(x.Request.Raw)
		x.Request.Raw = append(x.Request.Raw, req[n:min(have, len(req))]...)
		n = len(x.Response.Raw)
		x.Response.Raw = append(x.Response.Raw, resp[n:max(n, have-len(req))]...)
		upTo := r.Pass(x, from, final)
		for d, raw := range [][]byte{x.Request.Raw, x.Response.Raw} {
			if upTo[d] < from[d] || upTo[d] > len(raw) {
				t.Fatalf("up to %v from %v with %d bytes", upTo, from, len(raw))
			}
			stored[d] = append(stored[d], raw[from[d]:upTo[d]]...)
		}
		for _, rd := range x.Redacted {
			if rd.Off+rd.Len > upTo[rd.Dir] {
				t.Fatalf("%+v is listed and not yet stored", rd)
			}
		}
		from = upTo
	}
	for _, cut := range cuts {
		pass(cut, false)
	}
	pass(len(req)+len(resp), true)
	return x, stored
}

func every(n int) (cuts []int) {
	for i := range n {
		cuts = append(cuts, i)
	}
	return cuts
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func sameBytes(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

// checkListed checks that lengths are kept, that the listed ranges are in order and apart, and that all that changed is
// in them.
func checkListed(t *testing.T, x *Exchange, req, resp string) {
	t.Helper()
	for d, was := range []string{req, resp} {
		raw := []string{string(x.Request.Raw), string(x.Response.Raw)}[d]
		if len(raw) != len(was) {
			t.Fatalf("%v has %d bytes, had %d", wire.Dir(d), len(raw), len(was))
		}
		at := 0
		masked := []byte(was)
		for _, rd := range x.Redacted {
			if rd.Dir != wire.Dir(d) {
				continue
			}
			if rd.Off < at || rd.Len <= 0 || rd.Off+rd.Len > len(raw) || rd.Kind == "" {
				t.Fatalf("range %+v behind %d in %d bytes", rd, at, len(raw))
			}
			at = rd.Off + rd.Len
			copy(masked[rd.Off:at], raw[rd.Off:at])
		}
		if string(masked) != raw {
			t.Errorf("%v changed outside the listed ranges %v:\n got %q\nwant %q", wire.Dir(d), x.Redacted, raw, masked)
		}
	}
}

// sameStructure checks that package wire reads the redacted bytes as it read the original ones, values aside.
func sameStructure(t *testing.T, x *Exchange, req, resp string) {
	t.Helper()
	was, tail := wire.ParseRequest([]byte(req))
	is, newTail := wire.ParseRequest(x.Request.Raw)
	if !reflect.DeepEqual(shape(was), shape(is)) || tail != newTail {
		t.Errorf("the request's structure changed:\n got %+v\nwant %+v", shape(is), shape(was))
	}
	method := ""
	if was != nil {
		method = was.Method
	}
	for _, closed := range []bool{false, true} {
		interim, final, tail := wire.ParseResponse([]byte(resp), method, closed)
		newInterim, newFinal, newTail := wire.ParseResponse(x.Response.Raw, method, closed)
		same := len(interim) == len(newInterim) && tail == newTail && reflect.DeepEqual(shape(final), shape(newFinal))
		for i := range interim {
			same = same && reflect.DeepEqual(shape(&interim[i]), shape(&newInterim[i]))
		}
		if !same {
			t.Errorf("the response's structure changed:\n got %+v\nwant %+v", shape(newFinal), shape(final))
		}
	}
	_, final, _ := wire.ParseResponse([]byte(resp), method, true)
	if final != nil && strings.HasPrefix(strings.ToLower(final.Get("Content-Type")), "text/event-stream") && final.Get("Content-Encoding") == "" {
		sameEvents(t, final.Payload([]byte(resp)), final.Payload(x.Response.Raw))
	}
}

// shape is a message without the values that redaction may replace.
func shape(m *wire.Message) *wire.Message {
	if m == nil {
		return nil
	}
	s := *m
	s.Target, s.Reason = strings.Repeat("t", len(s.Target)), ""
	fields := func(list []wire.Field) (out []wire.Field) {
		for _, f := range list {
			f.Value = strings.Repeat("v", len(f.Value))
			out = append(out, f)
		}
		return out
	}
	s.Fields, s.Trailers = fields(m.Fields), fields(m.Trailers)
	return &s
}

func sameEvents(t *testing.T, was, is []byte) {
	t.Helper()
	a, b := wire.SplitEvents(was), wire.SplitEvents(is)
	if len(a) != len(b) {
		t.Fatalf("%d events, were %d", len(b), len(a))
	}
	for i := range a {
		if a[i].Span != b[i].Span || len(a[i].Data) != len(b[i].Data) || a[i].Complete != b[i].Complete || a[i].Comments != b[i].Comments {
			t.Errorf("event %d is %+v, was %+v", i, b[i], a[i])
		}
	}
}
