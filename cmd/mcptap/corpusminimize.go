package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/corpus"
	"github.com/mcptap/mcptap/har"
)

func (a *app) corpusMinimizeCommand() *cobra.Command {
	var finding, out string
	c := &cobra.Command{
		Use:   "minimize FILE --finding ID",
		Short: "shrink a recording to what shows a finding",
		Long: `Minimize leaves out exchanges, header fields, events, chunks and members of JSON as long as the finding stays, whose
fault it is, what was observed of its conversation, and what is predicted for its client and as recommended. Content-Length and
chunk sizes are rewritten. The handshake and the bodies of requests stay, so that the client can be served what is left. The
result is a cassette of plain lines, marked as minimized: it no longer holds the bytes of the wire. The same recording gives
the same result every time. ^C ends it with what has been reached.`,
		Example: `  mcptap corpus minimize session.mcptap --finding probe-reply-id-null --out small.mcptap`,
		Args:    oneFile,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.corpusMinimize(args[0], finding, out)
		},
	}
	f := c.Flags()
	f.StringVar(&finding, "finding", "", "`ID` of the finding to keep, needed where there are several")
	f.StringVar(&out, "out", "", "`FILE` to write to, - for stdout (default mcptap-YYYYMMDD-HHMMSS.mcptap)")
	return c
}

func (a *app) corpusMinimize(name, finding, out string) error {
	c, err := a.inMemory(name)
	if err != nil {
		return err
	}
	a.reportEarly(name, c)
	small, err := a.minimized(name, c, finding)
	if err != nil {
		return err
	}
	write := func(w io.Writer) error { return corpus.Write(w, small.Header, small.Processes, small.Exchanges) }
	if out == stdio {
		return write(a.stdout)
	}
	f, err := a.createCassette(out)
	if err != nil {
		return err
	}
	if err := finish(f, write); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.stdout, f.Name())
	return err
}

// minimized shrinks a cassette to a finding, and shows how far it is.
func (a *app) minimized(name string, c *har.Cassette, finding string) (*har.Cassette, error) {
	keep, found, err := corpus.Symptom(c.Exchanges, finding)
	if err != nil {
		return nil, &trouble{fmt.Errorf("%s: --finding %q: %w", name, finding, err), "see mcptap analyze " + name}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	show, clear := a.shrinking()
	m, err := corpus.Minimize(ctx, c.Exchanges, keep, corpus.Minimizing{Progress: show})
	clear()
	switch {
	case errors.Is(err, context.Canceled):
		a.notice("%s: stopped after %s: more could be left out", name, fmt.Sprintf("%d tries", m.Tries))
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case m.Bounded:
		a.notice("%s: %d tries were not enough: more could be left out", name, m.Tries)
	}
	small := *c
	small.Exchanges = m.Exchanges
	words := fmt.Sprintf("for finding %s: %d of %s, %d of %d bytes", found.ID, len(m.Exchanges), count(len(c.Exchanges), "exchange"), m.After, m.Before)
	if m.After < m.Before || len(m.Exchanges) < len(c.Exchanges) {
		small.Header.Minimized = words
	}
	a.notice("%s: %s after %d tries", name, words, m.Tries)
	return &small, nil
}

// progressWidth is how many characters a bar has.
const progressWidth = 30

// shrinking shows on a terminal how much is left. clear takes it away.
func (a *app) shrinking() (show func(tries, bytes int), clear func()) {
	if !isTerminal(a.stderr) {
		return nil, func() {}
	}
	most, last := 0, time.Time{}
	return func(tries, bytes int) {
			most = max(most, bytes)
			if a.now().Sub(last) < 100*time.Millisecond {
				return
			}
			last = a.now()
			n := progressWidth * bytes / max(most, 1)
			fmt.Fprintf(a.stderr, "\r\x1b[K[%s%s] %d of %d bytes left, %d tries", strings.Repeat("#", n), strings.Repeat(".", progressWidth-n), bytes, most, tries)
		}, func() {
			fmt.Fprint(a.stderr, "\r\x1b[K")
		}
}
