package har

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func importedHAR(text string) (got []*Exchange, err error) {
	err = ImportHAR(strings.NewReader(text), func(*Header, error) error { return nil }, func(x *Exchange) error {
		got = append(got, x)
		return nil
	})
	return got, err
}

const harStart = `{"log":{"version":"1.2","creator":{"name":"a browser"},"pages":[{}],"entries":[`

func TestImportHAR(t *testing.T) {
	const post = `"request":{"method":"POST","url":"https://a.example:8443/mcp?x=1","httpVersion":"HTTP/2","headers":[{"name":":method","value":"POST"},{"name":"Content-Length","value":"99"},{"name":"accept","value":"a\r\nb"}],"postData":{"mimeType":"application/json","text":"{\"id\":1}"}}`
	const asked = "POST /mcp?x=1 HTTP/1.1\r\naccept: ab\r\nHost: a.example:8443\r\nContent-Length: 8\r\n\r\n{\"id\":1}"
	const note = "har: bytes, cuts and ending are not known"
	response := func(s string) string {
		return `{"startedDateTime":"2026-07-28T12:00:00.5+02:00","serverIPAddress":"2001:db8::1","timings":{"send":1,"wait":2.5,"receive":-1},` + post + `,"response":` + s + `}`
	}
	tests := []struct {
		name, entry, response string
		notes                 []string
		complete              Tri
	}{
		{"text", response(`{"status":200,"statusText":"OK","headers":[{"name":"Content-Encoding","value":"gzip"},{"name":"Content-Type","value":"application/json"}],"content":{"size":2,"text":"{}"}}`),
			"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", []string{note}, Unknown},
		{"base64", response(`{"status":200,"headers":[],"content":{"text":"AAH/","encoding":"base64"}}`),
			"HTTP/1.1 200 \r\nContent-Length: 3\r\n\r\n\x00\x01\xff", []string{note}, Unknown},
		{"event stream", response(`{"status":200,"statusText":"OK","headers":[{"name":"content-type","value":"text/event-stream; charset=utf-8"}],"content":{"text":"data: 1\n\n"}}`),
			"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\r\ndata: 1\n\n", []string{note}, Unknown},
		{"no text", response(`{"status":200,"statusText":"OK","headers":[],"content":{"size":77}}`),
			"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", []string{note, "gap: 77 bytes before byte 38 of the response"}, Unknown},
		{"no body", response(`{"status":202,"statusText":"Accepted","headers":null,"content":{"size":-1}}`),
			"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", []string{note}, Unknown},
		{"failed", response(`{"status":0,"statusText":"","headers":[],"content":{},"_error":"net::ERR_CONNECTION_REFUSED"}`), "", []string{note, "har: no response: net::ERR_CONNECTION_REFUSED"}, Unknown},
		{"no response", response(`null`), "", []string{note, "har: no response"}, Unknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := importedHAR("\xEF\xBB\xBF" + harStart + tt.entry + "]}}")
			if err != nil || len(got) != 1 {
				t.Fatalf("%d exchanges, %v", len(got), err)
			}
			x := got[0]
			if string(x.Request.Raw) != asked {
				t.Errorf("request %q", x.Request.Raw)
			}
			if string(x.Response.Raw) != tt.response || fmt.Sprint(x.Notes) != fmt.Sprint(tt.notes) {
				t.Errorf("got  %q %q\nwant %q %q", x.Response.Raw, x.Notes, tt.response, tt.notes)
			}
			if x.View().Complete != tt.complete || x.End != EndUnknown {
				t.Errorf("complete %d, end %s", x.View().Complete, x.End)
			}
			if x.URL != "https://a.example:8443/mcp?x=1" || x.Server != "[2001:db8::1]:8443" || x.Started.Format("15:04:05.0") != "10:00:00.5" {
				t.Errorf("%s %s %s", x.URL, x.Server, x.Started)
			}
			if len(x.Response.Writes) > 0 && x.Response.Writes[0].At.Microseconds() != 3500 {
				t.Errorf("the response came at %s", x.Response.Writes[0].At)
			}
		})
	}
}

func TestImportHARForm(t *testing.T) {
	got, err := importedHAR(harStart + `{"request":{"method":"POST","url":"http://a/","postData":{"params":[{"name":"b","value":"1 2"},{"name":"a","value":"3"}]}},"response":{"status":204}}]}}`)
	if err != nil || !strings.HasSuffix(string(got[0].Request.Raw), "\r\n\r\na=3&b=1+2") {
		t.Errorf("%v, %q", err, got[0].Request.Raw)
	}
}

// Cut anywhere, a HAR file gives the entries that stand whole before the cut, and says that it was cut.
func TestImportHARCut(t *testing.T) {
	entry := `{"request":{"method":"GET","url":"http://a/"},"response":{"status":204}}`
	file := harStart + entry + "," + entry + "]}}"
	for n := range len(file) - 2 {
		got, err := importedHAR(file[:n])
		if !errors.Is(err, ErrHARCut) {
			t.Fatalf("cut at %d: %v", n, err)
		}
		if whole := strings.Count(file[:n], "204}}"); len(got) != whole {
			t.Errorf("cut at %d: %d exchanges, want %d", n, len(got), whole)
		}
	}
	for _, other := range []string{"[]", `{"log":1}`, `{"log":{}}`, `{"other":{}}`, `{"log":{"entries":{}}}`, harStart + "1]}}"} {
		if got, err := importedHAR(other); err == nil || len(got) > 0 {
			t.Errorf("%s: %d exchanges, %v", other, len(got), err)
		}
	}
}

// A member of the wrong kind costs no more than itself: the entries behind it are read.
func TestImportHARNamesTheMember(t *testing.T) {
	entry := `{"request":{"method":"GET","url":"http://a/"},"response":{"status":204,"headers":[]}}`
	for _, tt := range []struct{ from, to, note string }{
		{`204`, `"204"`, "har: no response.status that can be read: it is a string"},
		{`[]`, `{}`, "har: no response.headers that can be read: it is an object"},
		{`,"response"`, `,"timings":{"wait":[1]},"response"`, "har: no timings.wait that can be read: it is an array"},
	} {
		got, err := importedHAR(harStart + strings.Replace(entry, tt.from, tt.to, 1) + "," + entry + "]}}")
		if err != nil || len(got) != 2 || !slices.Contains(got[0].Notes, tt.note) || got[1].Status != 204 || len(got[1].Notes) != 1 {
			t.Errorf("%s: %d exchanges, %v, %q", tt.to, len(got), err, got[0].Notes)
		}
	}
	if _, err := importedHAR(harStart + "[]]}}"); err == nil || !strings.HasSuffix(err.Error(), "want HAR 1.2: got an array in place of an object") {
		t.Error(err)
	}
}

func FuzzImportHAR(f *testing.F) {
	f.Add(harStart + `{"request":{"method":"GET","url":"http://a/"},"response":{"status":204}}]}}`)
	f.Add(harStart + `{"response":{"status":1e300,"content":{"size":-1,"text":"AA==","encoding":"base64"}}}]}}`)
	f.Add(harStart + `{"_mcptap":{"lines":[{"_n":1,"_conn":1,"_seq":1,"startedDateTime":"2026-07-28T12:00:00Z","request":{"_raw":"GET / HTTP/1.1\r\n\r\n"}},{"_more":true,"_conn":1,"_seq":1,"response":{"_raw64":"/w=="},"_end":"fin","_endAt":5}]}}]}}`)
	f.Fuzz(func(t *testing.T, s string) {
		got, _ := importedHAR(s)
		for _, x := range got {
			w, err := NewWriter(new(strings.Builder), Header{Tool: "fuzz"}, true)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Write(x); err != nil {
				t.Fatalf("%v: %+v", err, x)
			}
		}
	})
}
