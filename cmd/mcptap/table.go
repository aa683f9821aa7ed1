package main

import (
	"bufio"
	"bytes"
	"io"
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

// writeTable writes rows with columns of equal width below a heading. The last column is not padded.
func writeTable(w io.Writer, p paint, heading []string, rows [][]cell) error {
	return writeRows(w, p, heading, len(rows), func(i int) []cell { return rows[i] })
}

// writeRows is writeTable for n rows that are made when they are written, and once before to find the widths: row gives
// the i-th, which must stay until it is called again.
func writeRows(w io.Writer, p paint, heading []string, n int, row func(i int) []cell) error {
	head := make([]cell, len(heading))
	widths := make([]int, len(heading))
	for i, h := range heading {
		head[i] = cell{text: h, style: p.dim, right: n > 0 && row(0)[i].right}
		widths[i] = utf8.RuneCountInString(oneLine(h))
	}
	for i := range n {
		for j, c := range row(i) {
			widths[j] = max(widths[j], utf8.RuneCountInString(oneLine(c.text)))
		}
	}
	out := bufio.NewWriterSize(w, 1<<15)
	line := writeRow(out, nil, head, widths)
	for i := range n {
		line = writeRow(out, line, row(i), widths)
	}
	return out.Flush()
}

// writeRow writes one row, in the room of line, which it gives back.
func writeRow(out *bufio.Writer, line []byte, row []cell, widths []int) []byte {
	line = line[:0]
	for i, c := range row {
		shown := oneLine(c.text)
		pad := widths[i] - utf8.RuneCountInString(shown)
		if c.style != nil {
			shown = c.style(shown)
		}
		if i > 0 {
			line = append(line, "  "...)
		}
		if c.right {
			line = appendBlanks(line, pad)
		}
		line = append(line, shown...)
		if !c.right {
			line = appendBlanks(line, pad)
		}
	}
	out.Write(bytes.TrimRight(line, " "))
	out.WriteByte('\n')
	return line
}

func appendBlanks(line []byte, n int) []byte {
	for range n {
		line = append(line, ' ')
	}
	return line
}
