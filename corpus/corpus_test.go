package corpus

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/analyze"
	"github.com/mcptap/mcptap/har"
)

// rows are those of the three pull requests' rules.
func rows() (names []string) {
	for letter, n := range map[string]int{"A": 25, "B": 39, "C": 7} {
		for i := range n {
			names = append(names, fmt.Sprint(letter, i+1))
		}
	}
	slices.Sort(names)
	return names
}

func TestEveryRowHasACase(t *testing.T) {
	cases := listed(t)
	for _, row := range rows() {
		if !slices.ContainsFunc(cases, func(c har.Case) bool { return c.Row == row }) {
			t.Errorf("row %s has no case", row)
		}
	}
	for _, c := range cases {
		if !slices.Contains(rows(), c.Row) && !strings.HasPrefix(c.Name, c.Row+"-") {
			t.Errorf("%s: row %q is none of A1 to A25, B1 to B39, C1 to C7, and none of the collections", c.Name, c.Row)
		}
	}
}

func TestHeadersTellTheStory(t *testing.T) {
	for _, c := range listed(t) {
		if c.Story == "" || strings.ContainsAny(c.Story, "\n|") || c.Source == "" || len(c.Expect) == 0 {
			t.Errorf("%s: want a story of one line, a source and expectations, got %+v", c.Name, c)
		}
		if c.Name != strings.ToLower(c.Name) || strings.ContainsAny(c.Name, "_ .") {
			t.Errorf("%s: want a name of lower-case words joined by hyphens", c.Name)
		}
	}
}

func TestFindingsNameCases(t *testing.T) {
	left := map[string]bool{}
	for _, e := range entries() {
		left[e.name] = true
	}
	for id, names := range findings {
		if !slices.Contains(analyze.FindingIDs(), id) {
			t.Errorf("finding %s: the analyzer has none of this name", id)
		}
		for _, name := range strings.Fields(names) {
			if !left[name] {
				t.Errorf("finding %s: %s is no case, or stands under another finding, too", id, name)
			}
			left[name] = false
		}
	}
}

// noCassette are findings that no cassette of the corpus shows, and why.
var noCassette = map[string]string{
	"endpoint-past-proxy": "only a recording through the reverse door shows it, and a case stands for the server alone",
	"oauth-past-proxy":    "as endpoint-past-proxy",
	"beyond-limit":        "the answer is larger than what mcptap reads, some 100 MiB",
	"capture-conflict":    "only a packet capture holds two copies of one byte",
	"request-not-http":    "the client's bytes are a TLS record, which no HTTP exchange begins with",
}

// Every finding that a report can have is expected by a case.
func TestEveryFindingHasACase(t *testing.T) {
	expected := map[string]bool{}
	for _, c := range listed(t) {
		for _, e := range c.Expect {
			expected[e.Finding] = true
		}
	}
	for _, id := range analyze.FindingIDs() {
		if why, none := noCassette[id]; expected[id] == none {
			t.Errorf("finding %s: expected by a case: %v, and the list says %q", id, expected[id], why)
		}
	}
	for id := range noCassette {
		if !slices.Contains(analyze.FindingIDs(), id) {
			t.Errorf("%s is no finding", id)
		}
	}
}

func TestListIsSortedAndACopy(t *testing.T) {
	cases := listed(t)
	if !slices.IsSortedFunc(cases, func(a, b har.Case) int { return cmp.Compare(a.Name, b.Name) }) {
		t.Error("the list is not sorted by name")
	}
	first := cases[0].Name
	cases[0].Name = "changed"
	if again := listed(t); again[0].Name != first {
		t.Error("a caller's change shows in the next list")
	}
}

func TestOpenUnknownName(t *testing.T) {
	tests := []struct{ name, want string }{
		{"probe-eror-id-null", `no case is named "probe-eror-id-null"; did you mean probe-error-id-null, `},
		{"id-null", `; did you mean probe-error-id-null, `},
		{"c7", `; did you mean delete-404, delete-405?`},
		{"zzzzzzzz", fmt.Sprintf(`no case is named "zzzzzzzz"; there are %d`, len(listed(t)))},
		{"", `no case is named ""; there are `},
		{"../corpus", `no case is named "../corpus"`},
		{"probe-202.mcptap", `did you mean probe-202`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Open(tt.name)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Open(%q) = %v, %v, want an error with %q", tt.name, c, err, tt.want)
			}
		})
	}
}

// Each file is whole, and reading and writing it again changes no byte.
func TestReadAndWriteAgain(t *testing.T) {
	for _, k := range listed(t) {
		t.Run(k.Name, func(t *testing.T) {
			file, err := FS.ReadFile(path.Join(folder, k.Name+ext))
			if err != nil {
				t.Fatal(err)
			}
			c := opened(t, k.Name)
			if c.End == nil || c.Cut != "" {
				t.Fatalf("end %v, cut %q: want a whole file", c.End, c.Cut)
			}
			var b bytes.Buffer
			if err := Write(&b, c.Header, c.Processes, c.Exchanges); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(b.Bytes(), file) {
				t.Errorf("written again it differs:\nfile  %q\nagain %q", file, b.Bytes())
			}
		})
	}
}

// What a reader of the bytes finds is what the tables meant.
func TestExchangesParseAsMeant(t *testing.T) {
	for _, e := range entries() {
		t.Run(e.name, func(t *testing.T) {
			s := newScene()
			e.play(s)
			meant := slices.Clone(s.done())
			slices.SortFunc(meant, func(a, b *har.Exchange) int { return a.N - b.N })
			c := opened(t, e.name)
			if len(c.Exchanges) != len(meant) {
				t.Fatalf("%d exchanges, want %d", len(c.Exchanges), len(meant))
			}
			if oddBytes[strings.TrimPrefix(e.name, FindingRow+"-")] {
				return
			}
			for i, x := range c.Exchanges {
				checkExchange(t, x, meant[i], s.broken[x.N])
			}
		})
	}
}

// oddBytes are the findings and answers whose bytes are not those of a whole exchange of HTTP, which is what they are about.
var oddBytes = map[string]bool{"bytes-after-end": true, "capture-incomplete": true, "http-framing": true, "http-framing-request": true, "smuggling-shape": true,
	"lab-t-chunked-bad-size": true, "lab-t-cl-and-te": true}

func checkExchange(t *testing.T, x, meant *har.Exchange, broken bool) {
	t.Helper()
	v := x.View()
	if v.Stdio {
		checkLines(t, v, meant)
		return
	}
	if v.Request == nil || !v.Request.Complete || v.RequestTail.Len != 0 || len(v.Request.Faults) != 0 {
		t.Errorf("exchange %d: the request does not parse: %+v, tail %v", x.N, v.Request, v.RequestTail)
	}
	want := har.True
	if broken {
		want = har.False
	}
	if v.Complete != want {
		t.Errorf("exchange %d: complete is %d (%s), want %d", x.N, v.Complete, v.Why, want)
	}
	if x.End != meant.End || x.EndAt != meant.EndAt || x.EndOff != meant.EndOff || x.N != meant.N || x.Conn != meant.Conn {
		t.Errorf("exchange %d on connection %d ends %s at %v, byte %d, want %d on %d, %s at %v, byte %d", x.N, x.Conn, x.End, x.EndAt, x.EndOff,
			meant.N, meant.Conn, meant.End, meant.EndAt, meant.EndOff)
	}
	if r := v.Response; r != nil {
		if r.Status != meant.Status || v.ResponseTail.Len != 0 || len(r.Faults) != 0 {
			t.Errorf("exchange %d: status %d, tail %v, faults %q, want %d and neither", x.N, r.Status, v.ResponseTail, r.Faults, meant.Status)
		}
		if v.SSE() && len(v.Events()) == 0 && bytes.Contains(meant.Response.Raw, []byte("data:")) {
			t.Errorf("exchange %d: an event stream without an event", x.N)
		}
	} else if !broken {
		t.Errorf("exchange %d: no response", x.N)
	}
}

// checkLines is checkExchange for the lines of a process.
func checkLines(t *testing.T, v *har.View, meant *har.Exchange) {
	t.Helper()
	x := v.X
	if !bytes.Equal(x.Request.Raw, meant.Request.Raw) || !bytes.Equal(x.Response.Raw, meant.Response.Raw) || x.Off != meant.Off ||
		x.End != meant.End || x.EndAt != meant.EndAt {
		t.Errorf("exchange %d: got %+v, want %+v", x.N, x, meant)
	}
}

func listed(t *testing.T) []har.Case {
	t.Helper()
	cases, err := List()
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

func opened(t *testing.T, name string) *har.Cassette {
	t.Helper()
	c, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
