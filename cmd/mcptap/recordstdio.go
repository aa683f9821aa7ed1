package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	child "github.com/mcptap/mcptap/capture/stdio"
	"github.com/mcptap/mcptap/har"
)

// recordStdio wraps a server that is a process: the host talks to us, we talk to CMD. Stdout is the protocol's.
func (a *app) recordStdio(c *cobra.Command, o *recordOptions) error {
	switch {
	case len(o.argv) == 0:
		return usage(c, "--stdio wants -- CMD ARG...: the server to run")
	case o.to != "":
		return usage(c, "--stdio and --to exclude one another: a process or a URL is recorded")
	case o.out == "-":
		return usage(c, "--out -: stdout is the server's, want a file")
	}
	if _, err := exec.LookPath(o.argv[0]); err != nil {
		return &trouble{fmt.Errorf("%s: %w", o.argv[0], cause(err)), "what follows -- is the server to run"}
	}
	notice := a.noticeUnless(o.quiet)
	redact := har.NewRedactor()
	shown := o.argv
	if !o.keepSecrets {
		redact.KnowEnvironment(a.env)
		shown = redact.RedactCommand(o.argv)
	}
	out, err := a.perProcess(o.out, o.argv[0])
	if err != nil {
		return err
	}
	tape, err := a.newTapeWith(out, har.Header{Mode: "stdio", To: har.StdioURL(shown), KeepSecrets: o.keepSecrets}, redact)
	if err != nil {
		return err
	}
	o.attend(tape)
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, ending()...)
	surviveWriteSignals()
	notice("recording %s to %s", shown[0], tape.name)
	p := &child.Process{
		Command: o.argv, Shown: shown, Env: a.env, Stdin: a.stdin, Stdout: a.stdout, Stderr: a.stderr,
		Signals: signals, Heard: fromTerminal, Record: tape.Record, Notice: func(s string) { notice("%s", s) },
	}
	code, err := p.Run()
	tapeErr := tape.close()
	if n, _ := tape.Exchanges(); err == nil && tapeErr == nil {
		notice("recorded to %s: %s", tape.name, count(n, "exchange"))
	}
	switch {
	case err != nil:
		return err
	case code != codeOK:
		return exit(code)
	}
	return tapeErr
}

// perProcess gives the file to record to: where out is a folder, a new name in it, since a host may start the same server
// several times.
func (a *app) perProcess(out, command string) (string, error) {
	folder := strings.HasSuffix(out, "/")
	if st, err := os.Stat(out); err == nil && st.IsDir() {
		folder = true
	}
	if !folder {
		return out, nil
	}
	if err := os.MkdirAll(out, 0o700); err != nil {
		return "", fileTrouble(out, err)
	}
	return filepath.Join(out, fmt.Sprintf("%s-%s-%d.mcptap", filepath.Base(command), a.now().Format("20060102-150405"), os.Getpid())), nil
}
