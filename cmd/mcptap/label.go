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
	report, err := analyze.Analyze(described, analyze.Options{AllHTTP: true, Policies: []string{analyze.Recommended}})
	r.reportCut(a.notice)
	sortRows(rows)
	if err != nil {
		return rows, err
	}
	of := map[int]*analyze.Exchange{}
	for i := range report.Exchanges {
		of[report.Exchanges[i].N] = &report.Exchanges[i]
	}
	for i := range rows {
		if x := of[rows[i].N]; x != nil {
			rows[i].Conversation, rows[i].Class = x.Conversation, x.Class
		}
	}
	return rows, nil
}
