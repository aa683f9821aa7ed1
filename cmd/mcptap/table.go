package main

import (
	"io"
	"strings"
	"unicode/utf8"
)

// A cell is one place in a table. Its text is made safe and brought to one line when it is written.
type cell struct {
	text  string
	right bool                // numbers
	style func(string) string // colour, nil for none
}

func text(s string) cell   { return cell{text: s} }
func number(s string) cell { return cell{text: s, right: true} }

// writeTable writes rows with columns of equal width; the first row is the heading. The last column is not padded.
func writeTable(w io.Writer, p paint, heading []string, rows [][]cell) error {
	head := make([]cell, len(heading))
	for i, h := range heading {
		head[i] = cell{text: h, style: p.dim, right: len(rows) > 0 && rows[0][i].right}
	}
	rows = append([][]cell{head}, rows...)
	widths := make([]int, len(heading))
	for _, row := range rows {
		for i := range row {
			row[i].text = oneLine(row[i].text)
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i].text))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, c := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text))
			shown := c.text
			if c.style != nil {
				shown = c.style(shown)
			}
			if i > 0 {
				line.WriteString("  ")
			}
			if c.right {
				line.WriteString(pad + shown)
			} else {
				line.WriteString(shown + pad)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
