package main

import (
	"fmt"
	"strings"

	"github.com/mcptap/mcptap/har"
)

// showStderr prints what recorded processes wrote to their stderr, and how they ended.
func (a *app) showStderr(name string) error {
	r, err := a.open(name)
	if err != nil {
		return err
	}
	defer r.Close()
	for _, err := range r.all {
		if err != nil {
			return err
		}
	}
	r.reportCut(a.notice)
	for _, p := range r.procs() {
		if _, err := fmt.Fprint(a.stdout, a.processText(p)); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) processText(p *har.Process) string {
	var b strings.Builder
	paint := a.paint(a.stdout)
	b.WriteString(paint.bold(oneLine(fmt.Sprintf("process %d: %s", p.Conn, strings.Join(p.Command, " ")))) + "\n")
	if len(p.Stderr.Raw) > 0 {
		b.WriteString(visible(strings.TrimSuffix(string(p.Stderr.Raw), "\n")) + "\n")
	}
	if p.Lost > 0 {
		b.WriteString(paint.dim(fmt.Sprintf("(%d more bytes were not kept)", p.Lost)) + "\n")
	}
	end := "how it ended was not seen"
	if e := p.Exit; e != nil && e.Signal != "" {
		end = fmt.Sprintf("ended by %s after %s ms", e.Signal, millis(e.At))
	} else if e != nil {
		end = fmt.Sprintf("ended with exit code %d after %s ms", e.Code, millis(e.At))
	}
	b.WriteString(paint.dim(oneLine(end)) + "\n")
	return b.String()
}
