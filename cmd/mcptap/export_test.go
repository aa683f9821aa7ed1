package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
)

// exported is what export writes of a recording.
func exported(t *testing.T, format, name string) []byte {
	t.Helper()
	code, stdout, stderr := mcptap(t, nil, "export", name, "--format", format)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	return []byte(stdout)
}

// A stream with events, and a call that was reset, in the forms that read a timeline.
func TestExportGolden(t *testing.T) {
	for _, format := range []string{"perfetto", "otlp-json"} {
		for _, name := range []string{"call-reset", "field-sse-jsonrpc-ping-request"} {
			t.Run(format+" "+name, func(t *testing.T) {
				got := exported(t, format, corpusName+name)
				if !json.Valid(got) {
					t.Errorf("not JSON: %s", got)
				}
				file := filepath.Join("testdata", "export", name+"."+format+".golden")
				if *update {
					if err := os.WriteFile(file, got, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got, want) {
					t.Errorf("differs from %s; -update writes it\n%s", file, got)
				}
			})
		}
	}
}

// Slices of one track never overlap, whatever was asked at the same time, and each exchange has one.
func TestPerfettoTracks(t *testing.T) {
	at := time.Unix(1e9, 0).UTC()
	k := &har.Cassette{Header: har.Header{Tool: "mcptap", Started: at}}
	for n, ms := range [][2]int{{0, 50}, {10, 30}, {20, 90}, {60, 10}} {
		x := &har.Exchange{N: n + 1, Conn: 1, Seq: n + 1, Started: at.Add(time.Duration(ms[0]) * time.Millisecond), Method: "POST", URL: "http://h.example/mcp", End: har.EndKeep,
			Request:  har.Side{Raw: []byte(message("POST /mcp HTTP/1.1", "Host: h.example\r\n", plainCall))},
			Response: har.Side{Raw: []byte("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")}}
		x.Request.Writes = []har.Write{{Len: len(x.Request.Raw)}}
		x.Response.Writes = []har.Write{{At: time.Duration(ms[1]) * time.Millisecond, Len: len(x.Response.Raw)}}
		k.Exchanges = append(k.Exchanges, x)
	}
	file := filepath.Join(t.TempDir(), "a.mcptap")
	if err := os.WriteFile(file, cassetteBytes(t, k, true), 0o600); err != nil {
		t.Fatal(err)
	}
	var trace struct{ TraceEvents []traceEvent }
	if err := json.Unmarshal(exported(t, "perfetto", file), &trace); err != nil {
		t.Fatal(err)
	}
	until, slices := map[int]int64{}, 0
	for _, e := range trace.TraceEvents {
		if e.Phase != "X" {
			continue
		}
		slices++
		if e.At < until[e.Tid] {
			t.Errorf("the slice at %d begins on track %d, where another lasts until %d", e.At, e.Tid, until[e.Tid])
		}
		until[e.Tid] = e.At + *e.Dur
	}
	if slices != 4 || len(until) != 3 {
		t.Errorf("got %d slices on %d tracks, want 4 on 3", slices, len(until))
	}
}

// Each span has an id of its own and stands within its parent; another recording has other ids.
func TestOTLPSpans(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range []string{"call-reset", "probe-error-id-null"} {
		var doc struct {
			ResourceSpans []struct{ ScopeSpans []struct{ Spans []otlpSpan } }
		}
		if err := json.Unmarshal(exported(t, "otlp-json", corpusName+name), &doc); err != nil {
			t.Fatal(err)
		}
		byID := map[string]otlpSpan{}
		for _, s := range doc.ResourceSpans[0].ScopeSpans[0].Spans {
			if len(s.Trace) != 32 || len(s.Span) != 16 || seen[s.Span] {
				t.Errorf("%s: trace %q, span %q: want 32 and 16 digits, and no id twice", s.Name, s.Trace, s.Span)
			}
			seen[s.Span], byID[s.Span] = true, s
			if s.Parent == "" {
				continue
			}
			p, ok := byID[s.Parent]
			if !ok || p.Trace != s.Trace || nanos(t, s.Start) < nanos(t, p.Start) || nanos(t, s.End) > nanos(t, p.End) || nanos(t, s.End) < nanos(t, s.Start) {
				t.Errorf("%s, %s to %s, is not within its parent %+v", s.Name, s.Start, s.End, p)
			}
		}
		if len(byID) < 3 {
			t.Errorf("%s: %d spans", name, len(byID))
		}
	}
}

func nanos(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Times that 64 bits of nanoseconds do not hold are forced into them.
func TestOTLPTime(t *testing.T) {
	for year, want := range map[int]string{1: "0", 1969: "0", 1970: "0", 9999: "9223372036854775807"} {
		if got := otlpTime(time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)); got != want {
			t.Errorf("%d: got %s, want %s", year, got, want)
		}
	}
}
