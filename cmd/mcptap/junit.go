package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/mcptap/mcptap/analyze"
)

// The JUnit report, as CI systems read it: a suite per conversation, a case per exchange. A finding that --fail-on names
// is a failure of its first exchange's case, any other one stands in the case's output.

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Time     string      `xml:"time,attr"` // seconds
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name     string         `xml:"name,attr"`
	Class    string         `xml:"classname,attr"`
	File     string         `xml:"file,attr,omitempty"`
	Time     string         `xml:"time,attr"` // seconds
	Failures []junitFailure `xml:"failure"`
	Out      string         `xml:"system-out,omitempty"`
}

type junitFailure struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func writeJUnit(_ *app, w io.Writer, d *document) error {
	all := junitSuites{Name: "mcptap"}
	for i := range d.Conversations {
		c := &d.Conversations[i]
		all.add(d.suite(fmt.Sprintf("conversation %d: %s with %s, %s", c.ID, clientText(c.Client), serverText(c.Server), c.Endpoint), d.of(c.ID)))
	}
	if rows := d.of(0); len(rows) > 0 {
		all.add(d.suite("outside any conversation", rows))
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(&all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (all *junitSuites) add(s junitSuite) {
	all.Suites = append(all.Suites, s)
	all.Tests += s.Tests
	all.Failures += s.Failures
}

func (d *document) suite(name string, rows []*analyze.Exchange) junitSuite {
	s := junitSuite{Name: oneLine(name), Tests: len(rows)}
	total := int64(0)
	for _, x := range rows {
		c := d.testCase(x)
		if len(c.Failures) > 0 {
			s.Failures++
		}
		total += x.Observation().Duration
		s.Cases = append(s.Cases, c)
	}
	s.Time = inSeconds(total)
	return s
}

func (d *document) testCase(x *analyze.Exchange) junitCase {
	c := junitCase{
		Name: oneLine(strings.TrimSpace(fmt.Sprintf("exchange %d %s", x.N, x.Observation().RPCMethod))), Class: x.Class,
		Time: inSeconds(x.Observation().Duration),
	}
	if file := d.file(x.N); isPath(file) {
		c.File = oneLine(file)
	}
	out := []string{"answer: " + oneLine(answerText(x.Observation()))}
	for _, p := range policyNames(x.Verdicts) {
		out = append(out, oneLine(p+": "+verdictText(x.Verdicts[p])))
	}
	for _, f := range worstFirst(d.Report) {
		if f.Exchanges[0] != x.N {
			continue
		}
		lines := strings.Join(d.findingLines(f), "\n")
		if d.fails(f) {
			c.Failures = append(c.Failures, junitFailure{f.ID, oneLine(f.Message), lines})
			continue
		}
		out = append(out, f.Severity+" "+f.ID+": "+oneLine(f.Message), lines)
	}
	c.Out = strings.Join(out, "\n")
	return c
}

// findingLines are what there is to say of a finding beside its message, each line safe to show.
func (d *document) findingLines(f *analyze.Finding) []string {
	lines := []string{"fault: " + f.Fault + ", " + exchangesText(f.Exchanges)}
	add := func(name, value string) {
		if value != "" {
			lines = append(lines, name+": "+value)
		}
	}
	if f.Rule != "" {
		add("rule", d.ruleText(f))
	}
	add("cost", costText(f.Cost))
	add("fix", f.Fix)
	for _, e := range f.Evidence {
		add("evidence", d.evidenceText(e))
	}
	for i := range lines {
		lines[i] = oneLine(lines[i])
	}
	return lines
}

func (d *document) evidenceText(e analyze.Evidence) string {
	return fmt.Sprintf("exchange %d, %s, %d bytes at %d: %s", e.Exchange, e.Side, e.Length, e.Offset, d.quotes[e])
}

func inSeconds(ms int64) string { return fmt.Sprintf("%.3f", float64(ms)/1000) }
