package testkit

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/replay"
)

// A trial is a test that is looked at.
type trial struct {
	testing.TB
	errors []string
	clean  []func()
}

func (f *trial) Cleanup(g func()) { f.clean = append(f.clean, g) }
func (f *trial) Failed() bool     { return len(f.errors) > 0 }
func (f *trial) Errorf(format string, args ...any) {
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}
func (f *trial) Fatalf(format string, args ...any) { f.Errorf(format, args...) }

func (f *trial) end() string {
	for _, g := range slices.Backward(f.clean) {
		g()
	}
	f.clean = nil
	return strings.Join(f.errors, "\n")
}

const (
	probe      = `{"jsonrpc":"2.0","id":"p","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}}}}`
	initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	ready      = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	list       = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
)

// server is one of revision 2025-11-25 that knows no server/discover and answers it with id null.
func server(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	answer := map[string]string{
		probe:      `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}`,
		initialize: `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`,
		list:       `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`,
	}[string(body)]
	if answer == "" {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, answer)
}

func send(t *testing.T, url string, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		r, err := http.Post(url, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
}

// recorded makes a cassette of those requests by Record.
func recorded(t *testing.T, bodies ...string) string {
	t.Helper()
	t.Setenv("CI", "")
	origin := httptest.NewServer(http.HandlerFunc(server))
	defer origin.Close()
	file := filepath.Join(t.TempDir(), "testdata", "bug.mcptap")
	f := &trial{TB: t}
	s := replay.Record(f, origin.URL+"/mcp", file)
	send(t, s.URL, bodies...)
	if said := f.end(); said != "" {
		t.Fatalf("recording: %s", said)
	}
	return file
}

func TestExpect(t *testing.T) {
	file := recorded(t, probe, initialize, ready, list)
	for _, tt := range []struct {
		name   string
		bodies []string
		expect string
		want   string // words of the failure, "" for none
	}{
		{"fell back", []string{probe, initialize, ready, list}, "legacy-fallback", ""},
		{"connected as legacy", []string{probe, initialize, ready, list}, "legacy", ""},
		{"the finding is there", []string{probe, initialize, ready, list}, "probe-reply-id-null", ""},
		{"gave up", []string{probe}, "legacy-fallback", `testkit_test.go:`},
		{"gave up, in words", []string{probe}, "legacy-fallback", `Expect("legacy-fallback"): want legacy-fallback: the client did not go on with initialize; the client's connect was failed (probe 200)`},
		{"gave up as expected", []string{probe}, "failed", ""},
		{"no probe", []string{initialize, ready, list}, "legacy-fallback", "the client sent no probe"},
		{"not modern", []string{probe, initialize, ready}, "modern", "want modern, and the client's connect was legacy@2025-11-25 (probe 200, initialize 200, initialized 202)"},
		{"another finding", []string{probe, initialize, ready}, "get-stream-refused", "want the finding get-stream-refused, have "},
		{"no such word", []string{probe}, "lgeacy", `"lgeacy" is no expectation: want modern, legacy, failed`},
		{"nothing sent", nil, "legacy", "the client sent nothing that is MCP"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &trial{TB: t}
			s := &replay.Server{File: file, AllowUnserved: true}
			s.Start(f)
			s.Expect(tt.expect)
			send(t, s.URL, tt.bodies...)
			if said := f.end(); said == "" != (tt.want == "") || !strings.Contains(said, tt.want) {
				t.Errorf("the test was told %q\nwant %q in it", said, tt.want)
			}
		})
	}
}

func TestObserved(t *testing.T) {
	s := replay.Serve(t, recorded(t, probe, initialize, ready, list))
	send(t, s.URL, probe, initialize, ready, list)
	o := s.Observed()
	if o.Outcome != "legacy" || o.Version != "2025-11-25" || len(o.Exchanges) != 4 || !slices.Contains(o.Findings, "probe-reply-id-null") {
		t.Errorf("got %s %s, %d exchanges, findings %v", o.Outcome, o.Version, len(o.Exchanges), o.Findings)
	}
	if x := o.Exchanges[0]; x.Status != 200 || x.End == har.EndUnknown {
		t.Errorf("the first exchange is %d %s", x.Status, x.End)
	}
}

func TestRecord(t *testing.T) {
	origin := httptest.NewServer(http.HandlerFunc(server))
	file := filepath.Join(t.TempDir(), "once.mcptap")

	t.Setenv("CI", "true")
	f := &trial{TB: t}
	replay.Record(f, origin.URL, file)
	if said := f.end(); !strings.Contains(said, "CI is set") {
		t.Errorf("in CI the test was told %q", said)
	}

	t.Setenv("CI", "")
	f = &trial{TB: t}
	s := replay.Record(f, origin.URL, file)
	send(t, s.URL, list)
	f.Errorf("the test goes wrong")
	f.end()
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "*")); len(left) > 0 {
		t.Errorf("a failed run leaves %v", left)
	}

	f = &trial{TB: t}
	replay.Record(f, origin.URL, file)
	if said := f.end(); !strings.Contains(said, "nothing was sent") {
		t.Errorf("a test that sends nothing was told %q", said)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "*")); len(left) > 0 {
		t.Errorf("a run that sent nothing leaves %v", left)
	}

	f = &trial{TB: t}
	s = replay.Record(f, origin.URL+"/mcp?tenant=a", file)
	s.Expect("legacy-fallback")
	send(t, s.URL, probe, initialize, ready, list)
	if said := f.end(); said != "" {
		t.Fatalf("recording: %s", said)
	}
	origin.Close() // from here on the file must do
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("CI", "true")
	f = &trial{TB: t}
	s = replay.Record(f, origin.URL+"/mcp?tenant=a", file)
	s.Expect("legacy-fallback")
	send(t, s.URL, probe, initialize, ready, list)
	if said := f.end(); said != "" {
		t.Errorf("replaying: %s", said)
	}
	if after, _ := os.ReadFile(file); string(after) != string(before) {
		t.Error("a replay changed the file")
	}
}

func TestRecordRefuses(t *testing.T) {
	t.Setenv("CI", "")
	for _, to := range []string{"", "127.0.0.1:3000/mcp", "ftp://server/mcp", "http:///mcp"} {
		f := &trial{TB: t}
		replay.Record(f, to, filepath.Join(t.TempDir(), "x.mcptap"))
		if said := f.end(); !strings.Contains(said, "want http://HOST") {
			t.Errorf("%q: the test was told %q", to, said)
		}
	}
}
