package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/mcptap/mcptap/analyze"
)

// writeJSON writes the report as indented does, element by element: the text of a long recording's is never in memory whole.
func writeJSON(_ *app, w io.Writer, d *document) error { return writeReport(w, d.Report) }

func writeReport(w io.Writer, r *analyze.Report) error {
	out := bufio.NewWriterSize(w, 1<<16)
	fmt.Fprintf(out, "{\n  \"format\": %q,\n", r.Format)
	err := writeMember(out, "conversations", r.Conversations, ",")
	if err == nil {
		err = writeMember(out, "exchanges", r.Exchanges, ",")
	}
	if err == nil {
		err = writeMember(out, "findings", r.Findings, "")
	}
	if err != nil {
		return err
	}
	out.WriteString("}\n")
	return out.Flush()
}

// writeMember writes a member that is an array; behind is what follows it.
func writeMember[T any](out *bufio.Writer, name string, list []T, behind string) error {
	if len(list) == 0 {
		_, err := fmt.Fprintf(out, "  %q: []%s\n", name, behind)
		return err
	}
	fmt.Fprintf(out, "  %q: [", name)
	var text, indented bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	for i := range list {
		text.Reset()
		indented.Reset()
		if err := enc.Encode(&list[i]); err != nil {
			return err
		}
		if err := json.Indent(&indented, bytes.TrimRight(text.Bytes(), "\n"), "    ", "  "); err != nil {
			return err
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString("\n    ")
		if _, err := (jsonSafe{out}).Write(indented.Bytes()); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "\n  ]%s\n", behind)
	return err
}
