package main

import (
	"encoding/xml"
	"fmt"
	"io"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/replay"
)

// A replaySuite is what a replay says to CI systems as JUnit: one case per recorded exchange, miss, fault and expectation.
type replaySuite struct {
	XMLName  xml.Name     `xml:"testsuite"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Cases    []replayCase `xml:"testcase"`
}

type replayCase struct {
	Name    string         `xml:"name,attr"`
	Class   string         `xml:"classname,attr"`
	Failure *replayFailure `xml:"failure"`
}

type replayFailure struct {
	Message string `xml:"message,attr"`
}

// add adds one case; why is "" if it passed.
func (s *replaySuite) add(class, name, why string) {
	c := replayCase{Name: oneLine(name), Class: "mcptap." + class}
	s.Tests++
	if why != "" {
		s.Failures++
		c.Failure = &replayFailure{oneLine(why)}
	}
	s.Cases = append(s.Cases, c)
}

// suite is the report on a replay of a file.
func suite(file string, xs []*har.Exchange, r replay.Result, rulings []ruling) *replaySuite {
	s := &replaySuite{Name: oneLine("mcptap replay " + file)}
	left := map[*har.Exchange]bool{}
	for _, x := range r.Unserved {
		left[x] = true
	}
	for _, x := range xs {
		row, why := rowOf(x), ""
		if left[x] {
			why = "not asked for"
		}
		s.add("exchange", fmt.Sprintf("exchange %d: %s %s %s", x.N, x.Method, pathOf(x.URL), orDash(row.what())), why)
	}
	for _, m := range r.Misses {
		s.add("request", m.Request, missText(m))
	}
	for _, f := range r.Unused {
		s.add("fault", f.String(), "met no request")
	}
	for _, u := range r.Faults {
		s.add("fault", fmt.Sprintf("exchange %d: %s", u.N, u.Fault), u.Why)
	}
	for _, x := range rulings {
		why := ""
		if x.err != nil {
			why = x.err.Error()
		}
		s.add("expect", x.want, why)
	}
	return s
}

func missText(m replay.Miss) string {
	if m.Nearest == nil {
		return m.Differs
	}
	return fmt.Sprintf("nothing recorded is left for it; nearest is exchange %d: %s", m.Nearest.N, m.Differs)
}

func (s *replaySuite) write(w io.Writer) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(s); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
