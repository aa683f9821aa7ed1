package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"os/signal"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/capture"
	"github.com/mcptap/mcptap/corpus"
	"github.com/mcptap/mcptap/har"
)

type corpusRunOptions struct {
	only         []string
	jobs         int
	timeout      time.Duration
	pace, policy string
	format, out  string
	quiet        bool
	argv         []string // CMD ARG...
}

// maxTraffic is how many packed bytes of one case's traffic are kept.
const maxTraffic = 4 << 20

func (a *app) corpusRunCommand() *cobra.Command {
	var o corpusRunOptions
	c := &cobra.Command{
		Use:   "run [flags] -- CMD ARG...",
		Short: "run a client against every case and compare what it does with what its policy predicts",
		Long: `Run serves one case after the other to a client, each to a process of its own, and compares what the client does with what
a policy predicts for the answers that it met: that of the client as recognised, or --policy. {url} in an argument is replaced
by the address, MCPTAP_URL holds it. What a client does that the case does not hold is answered as by a server that is well.
A difference counts if a second run shows one again. docs/matrix.md has the rules, and the table for known clients.
Exit code 1: in some case the client did something else; 2: in some case it did not start or sent nothing, or ^C came.`,
		Example: `  mcptap corpus run -- node client.mjs {url}
  mcptap corpus run --only 'probe-*,A13' --jobs 4 -- ./client {url}
  mcptap corpus run --policy recommended --format junit --out junit.xml -- ./client {url}`,
		RunE: func(c *cobra.Command, args []string) error {
			if n := c.ArgsLenAtDash(); n != 0 || len(args) == 0 {
				return usage(c, "want the client's command line behind --")
			}
			o.argv = args
			return a.corpusRun(c, &o)
		},
	}
	f := c.Flags()
	f.StringSliceVar(&o.only, "only", nil, "run only these `CASES`: names, patterns such as 'probe-*', rows such as A13")
	f.IntVar(&o.jobs, "jobs", runtime.NumCPU(), "how many `CASES` run at once")
	f.DurationVar(&o.timeout, "timeout", 30*time.Second, "how long the client may run for one case; it is then killed. Where a server is silent a case lasts as long as the client waits")
	f.StringVar(&o.pace, "pace", "recorded", "recorded, fast (no gaps), or a `FACTOR` such as 2x")
	f.StringVar(&o.policy, "policy", "", "`POLICY` to judge by (default: that of the client, as recognised)")
	f.StringVar(&o.format, "format", matrixFormats[0].name, "`FORMAT`: "+strings.Join(matrixFormatNames(), ", "))
	f.StringVar(&o.out, "out", "", "`FILE` to write to, which must not exist (default stdout)")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no notices and no progress on stderr")
	complete(c, "policy", completePolicies())
	complete(c, "format", completeList(matrixFormatNames))
	complete(c, "only", completeList(caseList))
	return c
}

func caseList() (names []string) {
	cases, _ := corpus.List()
	for _, k := range cases {
		names = append(names, k.Name)
	}
	return names
}

// corpusRun runs the client and writes what became of it.
func (a *app) corpusRun(c *cobra.Command, o *corpusRunOptions) error {
	pace, err := parsePace(o.pace)
	if err != nil {
		return usage(c, "--pace %s: %v", o.pace, err)
	}
	i := slices.IndexFunc(matrixFormats, func(f matrixFormat) bool { return f.name == o.format })
	switch {
	case i < 0:
		return usage(c, "--format %s: want %s", o.format, strings.Join(matrixFormatNames(), ", "))
	case o.jobs < 1 || o.jobs > 256:
		return usage(c, "--jobs %d: want 1 to 256", o.jobs)
	case o.timeout <= 0:
		return usage(c, "--timeout %v: want a duration such as 30s", o.timeout)
	}
	if o.policy != "" {
		if _, err := a.policy(o.policy); err != nil {
			return err
		}
	}
	cases, err := chosenCases(c, o.only)
	if err != nil {
		return err
	}
	if _, err := exec.LookPath(o.argv[0]); err != nil {
		return &trouble{fmt.Errorf("%s: %w", o.argv[0], errors.Unwrap(err)), "what follows -- is the command to run"}
	}
	report, err := a.newOutput(o.out)
	if err != nil {
		return err
	}
	defer report.drop()
	ctx, stop := signal.NotifyContext(context.Background(), ending()...)
	defer stop()
	bar := a.newBar(o.quiet)
	r := &corpus.Runner{Pace: pace, Timeout: o.timeout, Jobs: o.jobs, Policy: o.policy, Client: a.caseClient(o.argv), Record: caseTape, Done: bar.done}
	m := r.Run(ctx, cases)
	bar.clear()
	if err := report.write(func(w io.Writer) error { return matrixFormats[i].write(a, w, m) }); err != nil {
		return err
	}
	notice := a.noticeUnless(o.quiet)
	if ctx.Err() != nil {
		notice("stopped: %d of %s done", len(m.Cases), count(m.Asked, "case"))
	}
	switch {
	case ctx.Err() != nil || m.Error > 0:
		return exit(codeTrouble)
	case m.Differ > 0:
		return exit(codeFailed)
	}
	return nil
}

// chosenCases are those that some word of --only names, in order of their names; without a word all that are for clients.
func chosenCases(c *cobra.Command, only []string) ([]har.Case, error) {
	if len(only) == 0 {
		return corpus.ForClients()
	}
	cases, err := corpus.List()
	if err != nil {
		return nil, err
	}
	for _, word := range only {
		if !slices.ContainsFunc(cases, func(k har.Case) bool { return isCase(word, k) }) {
			return nil, usage(c, "--only %s: no case has that name, pattern or row; mcptap corpus list has them", word)
		}
	}
	return slices.DeleteFunc(cases, func(k har.Case) bool {
		return !slices.ContainsFunc(only, func(word string) bool { return isCase(word, k) })
	}), nil
}

func isCase(word string, k har.Case) bool {
	matched, err := path.Match(word, k.Name)
	return matched && err == nil || strings.EqualFold(word, k.Row)
}

// caseTape keeps one case's traffic in memory, packed.
func caseTape() (*corpus.Tape, error) {
	file := &bounded{most: maxTraffic}
	w, err := har.NewWriter(file, har.Header{Tool: "mcptap " + version(), Mode: "replay", KeepSecrets: true}, false)
	if err != nil {
		return nil, err
	}
	rec := capture.NewRecorder(w, nil)
	return &corpus.Tape{Record: rec.Record, Stop: func() ([]*har.Exchange, error) {
		if err := rec.Close(); err != nil {
			return nil, err
		}
		c, err := har.Read(&file.Buffer, har.Limits{})
		if err != nil {
			return nil, err
		}
		return c.Exchanges, nil
	}}, nil
}

// A bounded buffer takes at most that many bytes.
type bounded struct {
	bytes.Buffer
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.most {
		return 0, fmt.Errorf("more than %d MiB of packed traffic in one case, which is not judged", b.most>>20)
	}
	return b.Buffer.Write(p)
}

// A bar shows on a terminal how far a run is.
type bar struct {
	a     *app
	on    bool
	began time.Time
}

func (a *app) newBar(quiet bool) *bar { return &bar{a, !quiet && isTerminal(a.stderr), time.Now()} }

func (b *bar) done(name string, ended, n int) {
	if b.on {
		const width = 30
		left := time.Since(b.began) / time.Duration(ended) * time.Duration(n-ended)
		fmt.Fprintf(b.a.stderr, "\r\x1b[K%-*s %d of %d, %s left: %s", width, "["+strings.Repeat("=", ended*(width-2)/n)+strings.Repeat(" ", width-2-ended*(width-2)/n)+"]",
			ended, n, left.Round(time.Second), name)
	}
}

func (b *bar) clear() {
	if b.on {
		fmt.Fprint(b.a.stderr, "\r\x1b[K")
	}
}
