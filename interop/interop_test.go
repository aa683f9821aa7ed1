package interop_test

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/interop/scripted"
)

// Each real client meets each scripted server three times: directly, through record, and as a replay of that recording.
// It must come to the same end, the server must see the same requests, the recording must hold the bytes on the wire,
// and the replay must serve them again.
func TestClients(t *testing.T) {
	for _, name := range append([]string{goClient}, npmClients...) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startClient(t, name)
			for _, s := range scenarios {
				t.Run(s.name, func(t *testing.T) { throughTap(t, c, s) })
			}
		})
	}
}

func throughTap(t *testing.T, c *client, s scenario) {
	direct, want := s, outcome{}
	direct.tls = false // no client is told whom to trust: TLS is between mcptap and the server
	server := startServer(t, direct, nil)
	want = c.visit(t, server.URL())
	wantRequests := requests(server.Seen())

	file := filepath.Join(t.TempDir(), "first.mcptap")
	args := []string{"record", "--keep-secrets", "--out", file}
	var conf *tls.Config
	if s.tls {
		pemFile, cert := certificate(t)
		conf, args = &tls.Config{Certificates: []tls.Certificate{*cert}}, append(args, "--ca-file", pemFile)
	}
	server = startServer(t, s, conf)
	record := startTap(t, append(args, "--to", server.URL())...)
	got := c.visit(t, record.url)
	if code := record.stop(); code != 0 {
		t.Errorf("record ended with %d: %s", code, record.stderr)
	}
	if got.String() != want.String() {
		t.Errorf("through record the client came to another end\n got: %v\nwant: %v", got, want)
	}
	seen := server.Seen()
	if d := diff(requests(seen), wantRequests); d != "" {
		t.Errorf("through record the server saw other requests%s", d)
	}
	first := readCassette(t, file)
	if d := diff(onWire(first), pairs(seen)); d != "" {
		t.Errorf("the recording differs from the wire%s", d)
	}
	checkAnalysis(t, c, s, file, want)
	replayed(t, c, file, first, want)
}

// replayed runs the client against a replay and compares what was served with what was recorded.
func replayed(t *testing.T, c *client, file string, first []*har.Exchange, want outcome) {
	t.Helper()
	log := filepath.Join(filepath.Dir(file), "second.mcptap")
	replay := startTap(t, "replay", file, "--keep-secrets", "--log", log)
	got := c.visit(t, replay.url)
	if code := replay.stop(); code != 0 {
		t.Errorf("replay ended with %d: %s", code, replay.stderr)
	}
	if got.String() != want.String() {
		t.Errorf("against the replay the client came to another end\n got: %v\nwant: %v", got, want)
	}
	second := readCassette(t, log)
	if leftStream(first) || leftStream(second) {
		first, second = withoutStreams(first), withoutStreams(second)
	}
	if d := diff(responses(second), responses(first)); d != "" {
		t.Errorf("the replay served other bytes%s", d)
	}
}

// leftStream tells whether the client, which opens its GET stream beside all else, was done before that was answered.
func leftStream(xs []*har.Exchange) bool {
	return slices.ContainsFunc(xs, func(x *har.Exchange) bool {
		return x.Method == "GET" && len(x.Response.Raw) == 0 && (x.End == har.EndClientFIN || x.End == har.EndClientRST)
	})
}

func withoutStreams(xs []*har.Exchange) []*har.Exchange {
	return slices.DeleteFunc(slices.Clone(xs), func(x *har.Exchange) bool { return x.Method == "GET" })
}

// checkAnalysis compares what analyze says with what the client did.
func checkAnalysis(t *testing.T, c *client, s scenario, file string, want outcome) {
	t.Helper()
	code, out, stderr := run(t, "analyze", file, "--format", "json", "--policy", "recommended")
	var report struct {
		Conversations []struct {
			Observed  struct{ Outcome string }
			Predicted map[string]struct{ Outcome, Verdict, Rule string }
		}
	}
	if err := json.Unmarshal(out, &report); err != nil || code > 1 || len(report.Conversations) != 1 {
		t.Fatalf("analyze: exit code %d, %d conversations, %v: %s", code, len(report.Conversations), err, stderr)
	}
	conv := report.Conversations[0]
	if conv.Observed.Outcome != want.Era {
		t.Errorf("analyze observed %q, the client came out %q", conv.Observed.Outcome, want.Era)
	}
	predicted := map[string]string{"v2-auto": s.predicted, goClient: cmp.Or(s.forGo, s.predicted)}[c.name]
	if p := conv.Predicted["recommended"]; predicted != "" && p.Outcome != predicted {
		t.Errorf("the recommended policy predicts %q (%s, rule %s), want %q", p.Outcome, p.Verdict, p.Rule, predicted)
	}
}

// startServer starts a server, with TLS if conf is given.
func startServer(t *testing.T, s scenario, conf *tls.Config) *scripted.Server {
	t.Helper()
	server := &scripted.Server{Script: s.script, Legacy: s.legacy, TLS: conf}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server
}

// certificate returns one for the loopback address, and the PEM file of who vouches for it.
func certificate(t *testing.T) (pemFile string, cert *tls.Certificate) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	pemFile = filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(pemFile, block, 0o600); err != nil {
		t.Fatal(err)
	}
	return pemFile, &s.TLS.Certificates[0]
}

func readCassette(t *testing.T, file string) []*har.Exchange {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := har.Read(f, har.Limits{})
	if err != nil || c.End == nil {
		t.Fatalf("%s: %v, cut: %q", file, err, c.Cut)
	}
	return c.Exchanges
}

var hostLine = regexp.MustCompile(`(?i)(\r\nhost: )[^\r]*`)

// requests lists the requests that a server saw, without the address in their Host lines, in an order that does not depend
// on what ran beside what.
func requests(seen []scripted.Exchange) []string {
	var list []string
	for _, x := range seen {
		list = append(list, string(hostLine.ReplaceAll(x.Request, []byte("${1}*"))))
	}
	slices.Sort(list)
	return list
}

// pairs lists request and response as they were on the server's leg.
func pairs(seen []scripted.Exchange) []string {
	var list []string
	for _, x := range seen {
		list = append(list, fmt.Sprintf("%s => %s", x.Request, x.Response))
	}
	slices.Sort(list)
	return list
}

// onWire lists what a recording says of the server's leg: the request with its edits applied, and the response.
func onWire(xs []*har.Exchange) []string {
	list := onWireUnsorted(xs)
	slices.Sort(list)
	return list
}

func onWireUnsorted(xs []*har.Exchange) []string {
	var list []string
	for _, x := range xs {
		request := bytes.Clone(x.Request.Raw)
		for _, e := range slices.Backward(x.Edits) {
			request = slices.Replace(request, e.Off, e.Off+e.Len, []byte(e.New)...)
		}
		list = append(list, fmt.Sprintf("%s => %s", request, x.Response.Raw))
	}
	return list
}

// responses lists what was served for each request. How much of a GET stream came is a matter of when the client left, and
// so is whether a client that has read its reply on a stream still takes the last chunk.
func responses(xs []*har.Exchange) []string {
	var list []string
	for _, x := range xs {
		served := string(x.Response.Raw)
		switch {
		case x.MediaType != "text/event-stream":
		case x.Method == "GET":
			served, _, _ = strings.Cut(served, "\r\n\r\n")
		default:
			served = strings.TrimSuffix(served, "\r\n0\r\n\r\n")
			served = strings.TrimSuffix(served, "\r\n")
		}
		list = append(list, x.Method+" "+served)
	}
	slices.Sort(list)
	return list
}

// diff tells what stands in only one of two sorted lists, "" if they are equal.
func diff(got, want []string) string {
	var d strings.Builder
	for len(got)+len(want) > 0 {
		switch {
		case len(want) == 0 || len(got) > 0 && got[0] < want[0]:
			fmt.Fprintf(&d, "\nonly got:    %q", got[0])
			got = got[1:]
		case len(got) == 0 || want[0] < got[0]:
			fmt.Fprintf(&d, "\nonly wanted: %q", want[0])
			want = want[1:]
		default:
			got, want = got[1:], want[1:]
		}
	}
	return d.String()
}
