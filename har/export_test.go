package har

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har/wire"
)

func each(list []*Exchange) iter.Seq2[*Exchange, error] {
	return func(yield func(*Exchange, error) bool) {
		for _, x := range list {
			if !yield(x, nil) {
				return
			}
		}
	}
}

func exported(t *testing.T, h Header, list []*Exchange) string {
	t.Helper()
	var b bytes.Buffer
	if err := ExportHAR(&b, h, each(list)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestExport compares one exchange of each sort with testdata/export.har.
func TestExport(t *testing.T) {
	form := exchange("POST /m?a=1&b=%C3%A9+x&bad=%zz&flag HTTP/1.1\r\nHost: a.example\r\nContent-Type: text/plain\r\nX: \xe9\r\nContent-Length: 3\r\n\r\na<b",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 302 Found It\r\nLocation: /n\r\nContent-Length: 0\r\n\r\n", EndKeep)
	form.Server = "[2001:db8::1]:443"
	form.Request.Writes = []Write{{0, 100}, {2 * time.Millisecond, len(form.Request.Raw) - 100}}
	form.Response.Writes = []Write{{3500 * time.Microsecond, 25}, {4 * time.Millisecond, len(form.Response.Raw) - 25}}
	packed := encoded(t, "gzip", []byte(strings.Repeat("data: {}\n\n", 9)))
	stream := exchange("GET /mcp HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"+
		fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(packed), packed), EndFIN)
	stream.Redacted = []Redaction{{wire.ToClient, 0, 4, "session"}}
	binary := exchange("POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n\xff\x00", "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 2\r\n\r\n\x89P", EndKeep)
	unknown := exchange(post, "HTTP/1.1 200 OK\r\nContent-Encoding: x\r\nContent-Length: 1\r\n\r\ny", EndKeep)
	cut := exchange(post, ok[:len(ok)-1], EndRST)
	cut.EndAt = 1500 * time.Microsecond
	refused := exchange(post, "", EndUnknown, "upstream: refused")
	late := exchange(post, ok, EndClientFIN)
	late.EndAt, late.EndOff = 2*time.Second, 0
	late.Response.Writes = []Write{{3 * time.Second, len(ok)}}
	stopped := exchange(post, "", EndStopped)
	garbage := exchange("\x16\x03\x01", "\x15\x03", EndFIN)
	list := []*Exchange{form, stream, binary, unknown, cut, refused, late, stopped, garbage}
	for i, x := range list {
		x.N, x.Conn = i+1, uint64(i+1)
	}
	got := exported(t, Header{Tool: "mcptap 0.1.0"}, list)
	validHAR(t, got, len(list))
	golden(t, filepath.Join("testdata", "export.har"), got)
}

// TestExportValid exports every valid vector and judges it by HAR 1.2.
func TestExportValid(t *testing.T) {
	for name, b := range vectors(t, "valid") {
		c := mustRead(t, b)
		t.Run(name, func(t *testing.T) { validHAR(t, exported(t, c.Header, c.Exchanges), len(c.Exchanges)) })
	}
}

func TestExportFails(t *testing.T) {
	bad := errors.New("line 3: want something else")
	broken := func(yield func(*Exchange, error) bool) {
		if yield(exchange(post, ok, EndKeep), nil) {
			yield(nil, bad)
		}
	}
	if err := ExportHAR(&bytes.Buffer{}, Header{}, broken); !errors.Is(err, bad) {
		t.Errorf("got %v, want %v", err, bad)
	}
	long := exchange(post, "HTTP/1.1 200 OK\r\n\r\n"+strings.Repeat("x", 1<<17), EndFIN)
	for _, room := range []int{0, 1 << 16} {
		if err := ExportHAR(&fullDisk{room}, Header{}, each([]*Exchange{long, long})); !errors.Is(err, errFull) {
			t.Errorf("room for %d bytes: %v", room, err)
		}
	}
}

// validHAR checks what HAR 1.2 demands of a file: the members of each object, their types, and that no number is negative.
func validHAR(t *testing.T, text string, entries int) {
	t.Helper()
	var file map[string]any
	if err := json.Unmarshal([]byte(text), &file); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	log := object(t, file, "log", "version", "creator", "entries")
	object(t, log, "creator", "name", "version")
	list, _ := log["entries"].([]any)
	if log["version"] != "1.2" || len(list) != entries {
		t.Errorf("version %v, %d entries, want %d", log["version"], len(list), entries)
	}
	for _, item := range list {
		harEntryValid(t, map[string]any{"entry": item})
	}
	noNegative(t, file)
}

func harEntryValid(t *testing.T, in map[string]any) {
	t.Helper()
	e := object(t, in, "entry", "startedDateTime", "time", "request", "response", "cache", "timings")
	request := object(t, e, "request", "method", "url", "httpVersion", "cookies", "headers", "queryString", "headersSize", "bodySize")
	response := object(t, e, "response", "status", "statusText", "httpVersion", "cookies", "headers", "content", "redirectURL", "headersSize", "bodySize")
	object(t, response, "content", "size", "mimeType")
	timings := object(t, e, "timings", "send", "wait", "receive")
	own := object(t, e, "_mcptap", "n", "conn", "seq", "end", "complete")
	if _, err := time.Parse(time.RFC3339, e["startedDateTime"].(string)); err != nil {
		t.Error(err)
	}
	if sum := timings["send"].(float64) + timings["wait"].(float64) + timings["receive"].(float64); math.Abs(sum-e["time"].(float64)) > 1e-6 {
		t.Errorf("time is %v, its parts make %v", e["time"], sum)
	}
	if _, failed := response["_error"]; failed == (own["complete"] == true) {
		t.Errorf("complete is %v, _error %v", own["complete"], response["_error"])
	}
	for _, lists := range [][]any{request["headers"].([]any), request["queryString"].([]any), request["cookies"].([]any), response["headers"].([]any), response["cookies"].([]any)} {
		for _, pair := range lists {
			object(t, map[string]any{"pair": pair}, "pair", "name", "value")
		}
	}
	if post, ok := request["postData"]; ok {
		object(t, map[string]any{"postData": post}, "postData", "mimeType", "text")
	}
}

// object returns the object in.name, which must have the members given.
func object(t *testing.T, in map[string]any, name string, want ...string) map[string]any {
	t.Helper()
	found, _ := in[name].(map[string]any)
	for _, w := range want {
		if _, ok := found[w]; !ok {
			t.Fatalf("%s has no %s: %v", name, w, found)
		}
	}
	return found
}

func noNegative(t *testing.T, value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, v := range value {
			noNegative(t, v)
		}
	case []any:
		for _, v := range value {
			noNegative(t, v)
		}
	case float64:
		if value < 0 {
			t.Errorf("a negative number: %v", value)
		}
	}
}

func TestQueryPairs(t *testing.T) {
	for _, tt := range []struct {
		url  string
		want []harPair
	}{
		{"http://a/x", []harPair{}},
		{"http://a/x?", []harPair{}},
		{"http://a/x?b=1&a=2&b=3#c=4", []harPair{{"b", "1"}, {"a", "2"}, {"b", "3"}}},
		{"?a&=x&&b==", []harPair{{"a", ""}, {"", "x"}, {"b", "="}}},
		{"?%zz=%ff&c=d+e%20f", []harPair{{"%zz", "%ff"}, {"c", "d e f"}}},
	} {
		if got := queryPairs(tt.url); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.url, got, tt.want)
		}
	}
}
