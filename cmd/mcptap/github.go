package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// writeGitHub writes workflow commands, one per finding, which GitHub Actions shows as annotations, and appends the report
// in Markdown to the step summary where the environment names its file.
func writeGitHub(a *app, w io.Writer, d *document) error {
	commands := map[string]string{"error": "error", "warning": "warning", "note": "notice"}
	var b strings.Builder
	for _, f := range worstFirst(d.Report) {
		message := append([]string{f.Message}, d.findingLines(f)...)
		for i := range message {
			message[i] = oneLine(message[i])
		}
		fmt.Fprintf(&b, "::%s %stitle=%s::%s\n", commands[f.Severity], d.annotated(f.Exchanges[0]), commandValue("mcptap: "+f.ID), commandText(strings.Join(message, "\n")))
	}
	b.WriteString("mcptap: " + countText(d.Report) + "\n")
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	if summary := a.getenv("GITHUB_STEP_SUMMARY"); summary != "" {
		return appendSummary(a, summary, d)
	}
	return nil
}

// annotated is the property that names the file of exchange n, "" where it came from elsewhere.
func (d *document) annotated(n int) string {
	if file := d.file(n); isPath(file) {
		return "file=" + commandValue(oneLine(file)) + ","
	}
	return ""
}

// commandText escapes the message of a workflow command, as actions/toolkit does.
func commandText(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

// commandValue escapes a property's value.
func commandValue(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(commandText(s))
}

// appendSummary adds to the file that collects what a job's steps have to say.
func appendSummary(a *app, name string, d *document) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fileTrouble(name, err)
	}
	err = writeMarkdown(a, f, d)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fileTrouble(name, err)
	}
	return nil
}
