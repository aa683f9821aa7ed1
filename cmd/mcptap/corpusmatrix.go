package main

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/corpus"
)

// A matrixFormat is one way to write a matrix.
type matrixFormat struct {
	name  string
	write func(*app, io.Writer, *corpus.Matrix) error
}

var matrixFormats = []matrixFormat{{"text", matrixText}, {"json", matrixJSON}, {"junit", matrixJUnit}, {"markdown", matrixMarkdown}}

func matrixFormatNames() (names []string) {
	for _, f := range matrixFormats {
		names = append(names, f.name)
	}
	return names
}

// matrixClient says who was run and by what it was judged.
func matrixClient(m *corpus.Matrix) string {
	who := cmp.Or(strings.TrimSpace(m.Client.Name+" "+m.Client.Version), "a client without a name")
	switch {
	case m.Client.Policy == "":
		return who + "; its policy is not known, judged by " + m.Policy
	case m.Client.Policy == m.Policy:
		return fmt.Sprintf("%s; judged by its policy, %s (%s: %s)", who, m.Policy, m.Client.Confidence, m.Client.Why)
	}
	return fmt.Sprintf("%s; judged by %s, and %s is its own (%s)", who, m.Policy, m.Client.Policy, m.Client.Confidence)
}

func matrixTotals(m *corpus.Matrix) string {
	return fmt.Sprintf("%s: %d agree, %d differ, %d inconclusive, %d errors", count(len(m.Cases), "case"), m.Agree, m.Differ, m.Inconclusive, m.Error)
}

func matrixText(a *app, w io.Writer, m *corpus.Matrix) error {
	p := a.paint(w)
	style := map[string]func(string) string{corpus.Differ: p.red, corpus.Error: p.red, corpus.Inconclusive: p.yellow}
	rows := make([][]cell, 0, len(m.Cases))
	for _, x := range m.Cases {
		result := text(x.Result)
		result.style = style[x.Result]
		rows = append(rows, []cell{text(x.Name), text(x.Row), text(orDash(x.Predicted)), text(orDash(x.Observed)), number(strconv.Itoa(x.Requests)), result, text(clip(x.Why, 200))})
	}
	if _, err := fmt.Fprintf(w, "client: %s\n\n", oneLine(matrixClient(m))); err != nil {
		return err
	}
	if err := writeTable(w, p, []string{"case", "row", "predicted", "observed", "requests", "result", "why"}, rows); err != nil {
		return err
	}
	for _, x := range m.Cases {
		if x.Result == corpus.Error && x.Output != "" {
			fmt.Fprintf(w, "\n%s: the client wrote\n%s\n", x.Name, indent(x.Output))
			break
		}
	}
	_, err := fmt.Fprintf(w, "\n%s\n", matrixTotals(m))
	return err
}

// indent sets what a client wrote apart, its lines as lines.
func indent(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i := range lines {
		lines[i] = "  " + visible(lines[i])
	}
	return strings.Join(lines, "\n")
}

func matrixJSON(_ *app, w io.Writer, m *corpus.Matrix) error {
	if m.Cases == nil {
		m.Cases = []corpus.CaseResult{}
	}
	enc := json.NewEncoder(jsonSafe{w})
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(m)
}

type matrixSuite struct {
	XMLName  xml.Name     `xml:"testsuite"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Cases    []matrixCase `xml:"testcase"`
}

type matrixCase struct {
	Name    string         `xml:"name,attr"`
	Class   string         `xml:"classname,attr"`
	Time    string         `xml:"time,attr"` // seconds
	Failure *replayFailure `xml:"failure"`
	Error   *replayFailure `xml:"error"`
	Skipped *replayFailure `xml:"skipped"`
	Out     string         `xml:"system-out,omitempty"`
}

// matrixJUnit writes one case for each case; what is inconclusive counts as skipped.
func matrixJUnit(_ *app, w io.Writer, m *corpus.Matrix) error {
	s := matrixSuite{Name: oneLine("mcptap corpus run: " + matrixClient(m)), Tests: len(m.Cases), Failures: m.Differ, Errors: m.Error, Skipped: m.Inconclusive}
	for _, x := range m.Cases {
		c := matrixCase{Name: x.Name, Class: "mcptap.corpus", Time: strconv.FormatFloat(float64(x.MS)/1000, 'f', 3, 64), Out: visible(x.Output)}
		switch why := &(replayFailure{oneLine(x.Why)}); x.Result {
		case corpus.Differ:
			c.Failure = why
		case corpus.Error:
			c.Error = why
		case corpus.Inconclusive:
			c.Skipped = why
		}
		s.Cases = append(s.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(&s); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func matrixMarkdown(_ *app, w io.Writer, m *corpus.Matrix) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## mcptap corpus run: %s\n\n%s\n\n", matrixTotals(m), codeSpan(oneLine(matrixClient(m))))
	b.WriteString("| case | row | predicted | observed | result | why |\n|---|---|---|---|---|---|\n")
	for _, x := range m.Cases {
		why := ""
		if x.Why != "" {
			why = cellSpan(clip(oneLine(x.Why), 200))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", x.Name, x.Row, orDash(x.Predicted), orDash(x.Observed), x.Result, why)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
