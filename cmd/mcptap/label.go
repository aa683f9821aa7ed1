package main

import (
	"github.com/mcptap/mcptap/analyze"
	"github.com/mcptap/mcptap/har"
)

// rows reads a file once: it describes each exchange, and takes class and conversation from the analysis of the same
// exchanges. With an error comes what could be read.
func (a *app) rows(name string) ([]row, error) {
	r, err := a.open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var rows []row
	described := func(yield func(*har.Exchange, error) bool) {
		for x, err := range r.all {
			if err == nil {
				rows = append(rows, rowOf(x))
			}
			if !yield(x, err) {
				return
			}
		}
	}
	_, err = analyze.Analyze(described, analyze.Options{AllHTTP: true})
	r.reportCut(a.notice)
	sortRows(rows)
	return rows, err
}
