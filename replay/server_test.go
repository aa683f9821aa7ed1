package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/mcptap/mcptap/har"
)

// A trial is a test that is looked at: it keeps what it is told, and its Cleanups run when the test says so.
type trial struct {
	mu     sync.Mutex
	errors []string
	logs   []string
	clean  []func()
	fatal  bool
}

func (f *trial) Helper()          {}
func (f *trial) Cleanup(g func()) { f.clean = append(f.clean, g) }
func (f *trial) Failed() bool     { return len(f.said()) > 0 }
func (f *trial) Logf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.logs = append(f.logs, fmt.Sprintf(format, args...))
}
func (f *trial) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}
func (f *trial) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	f.fatal = true
}

func (f *trial) said() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.errors)
}

// end runs the Cleanups, the last first, and gives what the test was told.
func (f *trial) end() []string {
	for _, g := range slices.Backward(f.clean) {
		g()
	}
	f.clean = nil
	return f.said()
}

// wantErrors compares what a trial was told, by the words that each must hold.
func wantErrors(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("the test was told %q\nwant %q", got, want)
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("the test was told %q\nwant %q in it", got[i], want[i])
		}
	}
}

// cassette writes exchanges to a file.
func cassette(t *testing.T, xs ...*har.Exchange) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "bug.mcptap")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w, err := har.NewWriter(f, har.Header{Tool: "test", Started: epoch}, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range xs {
		if err := w.Write(x); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(har.End{}), f.Close()); err != nil {
		t.Fatal(err)
	}
	return name
}

func twoCalls(t *testing.T) string {
	return cassette(t,
		taped(1, post(call("1", "tools/list", "")), har.EndKeep, ok(result("1", "[]"))),
		taped(2, post(call("2", "tools/call", `{"name":"a"}`)), har.EndKeep, ok(result("2", "{}"))))
}

// postJSON posts one body and gives the answer's status and body.
func postJSON(t *testing.T, c *http.Client, url, body string) (int, string) {
	t.Helper()
	r, err := c.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

func TestServer(t *testing.T) {
	list, callA, callB := call("1", "tools/list", ""), call("2", "tools/call", `{"name":"a"}`), call("2", "tools/call", `{"name":"b"}`)
	for _, tt := range []struct {
		name string
		s    *Server
		ask  []string
		want []string
	}{
		{"all asked", &Server{}, []string{list, callA}, nil},
		{"one left", &Server{}, []string{list}, []string{"not asked for: exchange 2, POST /mcp tools/call"}},
		{"one left, allowed", &Server{AllowUnserved: true}, []string{list}, nil},
		{"a miss", &Server{}, []string{list, callA, callB}, []string{"miss: POST /mcp tools/call: nearest is exchange 2, POST /mcp tools/call: params.name: recorded \"a\", sent \"b\""}},
		{"a miss, allowed", &Server{AllowMisses: true}, []string{list, callA, callB}, nil},
		{"refused under exact", &Server{Player: Player{Exact: true}, AllowUnserved: true}, []string{call("9", "tools/list", "")}, []string{"id: recorded 1, sent 9"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &trial{}
			tt.s.File = twoCalls(t)
			tt.s.Start(f)
			for _, body := range tt.ask {
				postJSON(t, http.DefaultClient, tt.s.URL, body)
			}
			wantErrors(t, f.end(), tt.want...)
		})
	}
}

// The short forms, as a test uses them: they fail this very test if anything is wrong.
func TestServe(t *testing.T) {
	s := Serve(t, twoCalls(t))
	for id, method := range []string{"tools/list", "tools/call"} {
		params := ""
		if id == 1 {
			params = `{"name":"a"}`
		}
		if status, body := postJSON(t, http.DefaultClient, s.URL, call(fmt.Sprint(id+1), method, params)); status != 200 {
			t.Errorf("%s: got %d %s", method, status, body)
		}
	}
}

func TestServeNoFile(t *testing.T) {
	f := &trial{}
	Serve(f, filepath.Join(t.TempDir(), "missing.mcptap"))
	wantErrors(t, f.end(), "missing.mcptap: no such file")
	if !f.fatal {
		t.Error("the test goes on")
	}
}

func TestServeOverStdio(t *testing.T) {
	f := &trial{}
	Serve(f, cassette(t, lineAt(1, ping("1"), 0, pong("1"), 0, 1, har.EndKeep)))
	wantErrors(t, f.end(), "exchange 1 was recorded over stdio")
}

// What of a torn file was read is served, and the test is told.
func TestServeTorn(t *testing.T) {
	var b bytes.Buffer
	w, err := har.NewWriter(&b, har.Header{Tool: "test", Started: epoch}, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(taped(1, post(call("1", "tools/list", "")), har.EndKeep, ok(result("1", "[]")))), w.Flush()); err != nil {
		t.Fatal(err)
	}
	torn := filepath.Join(t.TempDir(), "torn.mcptap")
	if err := os.WriteFile(torn, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	f := &trial{}
	s := &Server{File: torn, AllowUnserved: true}
	s.Start(f)
	wantErrors(t, f.end())
	if len(f.logs) != 1 || !strings.HasSuffix(f.logs[0], "; what is whole was read") {
		t.Errorf("the test was told %q", f.logs)
	}
}

func TestServerNeedsKit(t *testing.T) {
	was := kit
	kit = nil
	defer func() { kit = was }()
	f := &trial{}
	s := &Server{File: twoCalls(t), AllowUnserved: true}
	s.Start(f)
	s.Expect("legacy")
	s.Observed()
	wantErrors(t, f.end(), `_ "github.com/mcptap/mcptap/replay/testkit"`, `_ "github.com/mcptap/mcptap/replay/testkit"`)
}

// Without sockets a client sees the same bytes and the same endings.
func TestRoundTripper(t *testing.T) {
	whole := ok(result("1", "[]"))
	cut := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"jsonrpc\""
	for _, tt := range []struct {
		name  string
		end   har.Ending
		parts []string
		want  error
	}{
		{"keep", har.EndKeep, []string{whole}, nil},
		{"cut writes", har.EndKeep, []string{whole[:30], whole[30:]}, nil},
		{"fin in the body", har.EndFIN, []string{cut}, io.ErrUnexpectedEOF},
		{"reset in the body", har.EndRST, []string{cut}, syscall.ECONNRESET},
		{"reset before the head", har.EndRST, nil, syscall.ECONNRESET},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := cassette(t, taped(1, post(call("1", "tools/list", "")), tt.end, tt.parts...))
			c := &http.Client{Transport: RoundTripper(t, file)}
			req, err := http.NewRequest("POST", "http://server.example/mcp", io.NopCloser(strings.NewReader(call("1", "tools/list", ""))))
			if err != nil {
				t.Fatal(err)
			}
			req.ContentLength = int64(len(call("1", "tools/list", "")))
			r, err := c.Do(req)
			if err == nil {
				_, err = io.ReadAll(r.Body)
				r.Body.Close()
			}
			if !errors.Is(err, tt.want) {
				t.Errorf("the client saw %v, want %v", err, tt.want)
			}
		})
	}
}

func TestRoundTripperTellsItsURL(t *testing.T) {
	s := &Server{File: twoCalls(t), AllowUnserved: true}
	c := &http.Client{Transport: s.RoundTripper(t)}
	if status, body := postJSON(t, c, s.URL, call("1", "tools/list", "")); status != 200 || s.URL != "http://replay.invalid/mcp" {
		t.Errorf("%s answered %d %s", s.URL, status, body)
	}
}
