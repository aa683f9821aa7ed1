package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/analyze"
	"github.com/mcptap/mcptap/har"
)

// A document is a report with what the formats for people and for other programs need beside it.
type document struct {
	*analyze.Report
	version string // of mcptap
	files   []numbered
	fails   func(*analyze.Finding) bool // --fail-on
	quotes  map[analyze.Evidence]string // the bytes of evidence in one safe line, at most maxQuote of them
	rows    map[int][]*analyze.Exchange // by conversation, once asked for
	answers map[int][]byte              // the first maxAnswer bytes of what answered an exchange that a finding begins with
}

const (
	maxQuote  = 120
	maxAnswer = 1500
)

// file gives the name under which the recording with exchange n was opened.
func (d *document) file(n int) string {
	name := ""
	for _, f := range d.files {
		if f.base < n {
			name = f.name
		}
	}
	return name
}

// own gives the number that exchange n has in its own file.
func (d *document) own(n int) int {
	base := 0
	for _, f := range d.files {
		if f.base < n {
			base = f.base
		}
	}
	return n - base
}

// exchange finds an exchange by its number, nil if the report does not have it.
func (d *document) exchange(n int) *analyze.Exchange {
	i, ok := slices.BinarySearchFunc(d.Exchanges, n, func(x analyze.Exchange, n int) int { return cmp.Compare(x.N, n) })
	if !ok {
		return nil
	}
	return &d.Exchanges[i]
}

// of lists the exchanges of a conversation, with 0 those outside any.
func (d *document) of(conversation int) []*analyze.Exchange {
	if d.rows == nil {
		d.rows = map[int][]*analyze.Exchange{}
		for i := range d.Exchanges {
			x := &d.Exchanges[i]
			d.rows[x.Conversation] = append(d.rows[x.Conversation], x)
		}
	}
	return d.rows[conversation]
}

// quote reads the files once more and cuts out the bytes that the findings point to.
func (a *app) quote(d *document) error {
	wanted, first, awaited := map[int][]analyze.Evidence{}, map[int]bool{}, map[int]bool{}
	for i := range d.Findings {
		f := &d.Findings[i]
		first[f.Exchanges[0]], awaited[f.Exchanges[0]] = true, true
		for _, e := range f.Evidence {
			wanted[e.Exchange], awaited[e.Exchange] = append(wanted[e.Exchange], e), true
		}
	}
	d.quotes, d.answers = map[analyze.Evidence]string{}, map[int][]byte{}
	return a.visit(d.files, awaited, func(n int, x *har.Exchange) {
		for _, e := range wanted[n] {
			d.quotes[e] = quoteBytes(x, e)
		}
		if raw := x.Response.Raw; first[n] && len(raw) > 0 {
			d.answers[n] = slices.Clone(raw[:min(len(raw), maxAnswer)])
		}
	})
}

// visit reads files once more and hands out the exchanges that are awaited, by their numbers in the report.
func (a *app) visit(files []numbered, awaited map[int]bool, see func(n int, x *har.Exchange)) error {
	for _, f := range files {
		in, err := a.open(f.name)
		if err != nil {
			return err
		}
		for x, err := range in.all {
			if err != nil || len(awaited) == 0 {
				break
			}
			if n := x.N + f.base; awaited[n] {
				see(n, x)
				delete(awaited, n)
			}
		}
		in.Close()
	}
	return nil
}

// quoteBytes shows the bytes of an exchange that a piece of evidence names.
func quoteBytes(x *har.Exchange, e analyze.Evidence) string {
	raw := x.Response.Raw
	if e.Side == "request" {
		raw = x.Request.Raw
	}
	if e.Offset < 0 || e.Length < 0 || e.Offset+e.Length > len(raw) {
		return "not in the recording"
	}
	return excerpt(raw[e.Offset:e.Offset+e.Length], maxQuote)
}

// answerLines shows the beginning of a raw answer, its lines as lines.
func answerLines(raw []byte) string {
	return strings.ReplaceAll(visible(strings.ReplaceAll(string(raw), "\r\n", "\n")), "\t", `\t`)
}

// isPath tells whether a name given on the command line is that of a file.
func isPath(name string) bool { return name != stdio && !strings.HasPrefix(name, corpusName) }
