package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	child "github.com/mcptap/mcptap/capture/stdio"
	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/replay"
)

// replayStdio is the recorded process: its lines, its stderr, its exit code.
func (a *app) replayStdio(c *cobra.Command, name string, o *replayOptions) error {
	pace, err := parsePace(o.pace)
	if err != nil {
		return usage(c, "--pace %s: %v", o.pace, err)
	}
	if len(o.argv) > 0 || o.log != "" || o.tls || o.keepSecrets || o.repeatLast ||
		len(o.faults)+len(o.expect)+len(o.expectFindings) > 0 || o.junit != "" || o.match != "params" {
		return usage(c, "--stdio goes with --pace, --exact and --quiet alone: the host starts this command as its server")
	}
	if name == stdio {
		return usage(c, "--stdio: stdin is the host's, want a file")
	}
	notice := a.noticeUnless(o.quiet)
	s, err := a.recordedProcess(name)
	if err != nil {
		return err
	}
	s.Pace, s.Exact, s.Notice = pace, o.exact, func(words string) { notice("%s", words) }
	surviveWriteSignals()
	exited, err := s.Serve(a.stdin, a.stdout, a.stderr)
	r := s.Result()
	for _, x := range r.Unserved {
		notice("not asked for: exchange %d", x.N)
	}
	switch {
	case err != nil:
		return fmt.Errorf("stdout: %w", cause(err))
	case exited != nil && exited.Signal != "":
		return exit(child.ExitCode(exited))
	case exited != nil && exited.Code != codeOK:
		return exit(exited.Code)
	case len(r.Misses)+len(r.Unserved) > 0:
		return exit(codeFailed)
	}
	return nil
}

// recordedProcess reads the one process of a recording.
func (a *app) recordedProcess(name string) (*replay.Stdio, error) {
	r, err := a.open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	s := &replay.Stdio{}
	for x, err := range r.all {
		if err != nil {
			return nil, err
		}
		if !x.Stdio() {
			return nil, &trouble{fmt.Errorf("%s: exchange %d was over HTTP", name, x.N), "replay it without --stdio"}
		}
		s.Exchanges = append(s.Exchanges, x)
	}
	slices.SortFunc(s.Exchanges, func(x, y *har.Exchange) int { return cmp.Compare(x.N, y.N) })
	if n := len(s.Exchanges); n > 0 && s.Exchanges[0].Conn != s.Exchanges[n-1].Conn {
		return nil, &trouble{fmt.Errorf("%s holds several processes", name), "want a recording of one"}
	}
	if list := r.procs(); len(list) > 0 {
		s.Process = list[0]
	} else if len(s.Exchanges) == 0 {
		return nil, &trouble{fmt.Errorf("%s holds no process", name), "mcptap record --stdio makes such a recording"}
	}
	return s, nil
}
