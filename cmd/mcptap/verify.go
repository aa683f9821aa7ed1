package main

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/caller"
	"github.com/mcptap/mcptap/diff"
	"github.com/mcptap/mcptap/replay"
)

type verifyOptions struct {
	liveOptions
	to, report, format string
	ignore             []string
	bytes              bool
}

func (a *app) verifyCommand() *cobra.Command {
	var o verifyOptions
	c := &cobra.Command{
		Use:   "verify FILE --to URL",
		Short: "send the recorded requests to a live server and compare the answers",
		Long: `Verify sends the requests of a recording to a live server, in their order and as the bytes they are, and compares the
answers: status, header fields that clients act on, bodies as JSON values, events with events, endings. What the server
chose (session ids, cursors, event ids, the ids of its own requests, OAuth tokens) is carried over from the live answers.
It names drift: the version agreed on, capabilities, tools and their schemas, prompts, resources.

The recorded requests do again what they did: tools that change something change it once more. Credentials that the
recording does not hold are given with --header. Requests of the server are answered as they were in the recording.
Exit code 1: something differs.`,
		Example: `  mcptap verify session.mcptap --to http://127.0.0.1:3000/mcp
  mcptap verify session.mcptap --to https://mcp.example.com/mcp --header "Authorization: Bearer $TOKEN" --format junit --out junit.xml
  mcptap verify session.mcptap --to http://127.0.0.1:3000/mcp --ignore '/result/content/*/text' --log live.mcptap`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := oneFile(c, args); err != nil {
				return err
			}
			if o.to == "" {
				return usage(c, "want --to URL: the server to verify")
			}
			if !slices.Contains(verifyFormats, o.format) {
				return usage(c, "--format %s: want one of %s", o.format, strings.Join(verifyFormats, ", "))
			}
			if err := o.check(c); err != nil {
				return err
			}
			if err := checkPaths(c, o.ignore); err != nil {
				return err
			}
			return a.verify(c, args[0], &o)
		},
	}
	o.flags(c)
	f := c.Flags()
	f.StringVar(&o.to, "to", "", "the server's `URL`, in place of the recorded endpoint")
	f.StringArrayVar(&o.ignore, "ignore", nil, "nothing counts at this `PATH` and below it, such as /result/content; repeated")
	f.BoolVar(&o.bytes, "bytes", false, "compare answers byte for byte")
	f.StringVar(&o.format, "format", verifyFormats[0], "`FORMAT`: "+strings.Join(verifyFormats, ", "))
	f.StringVar(&o.report, "out", "", "`FILE` for the report, which must not exist (default stdout)")
	f.StringVar(&o.out, "log", "", "record the run to a new cassette `FILE`")
	complete(c, "format", completeList(func() []string { return verifyFormats }))
	return c
}

var verifyFormats = []string{"text", "json", "junit"}

// verify sends the requests and compares.
func (a *app) verify(c *cobra.Command, name string, o *verifyOptions) error {
	to, err := serverURL(c, "--to", o.to)
	if err != nil {
		return err
	}
	torn, notice := "", a.noticeUnless(o.quiet)
	_, xs, err := a.exchanges(name, func(format string, args ...any) {
		torn = fmt.Sprintf(format, args...)
		notice("%s", torn)
	})
	if err != nil {
		return err
	}
	report, err := a.newOutput(o.report)
	if err != nil {
		return err
	}
	defer report.drop()
	run, err := a.call(to, &o.liveOptions, "verify", o.out != "")
	if err != nil {
		return err
	}
	again := &caller.Resend{Caller: run.Caller, URL: to, Header: o.headers, Wait: o.wait}
	pairs, err := again.Run(xs)
	if err = run.finish(err); err != nil {
		return err
	}
	run.noteUnreached(pairs)
	v := verified(pairs, diff.Options{Ignore: o.ignore, Bytes: o.bytes, Left: true})
	v.File, v.URL, v.Torn = name, safeURL(to), torn
	if v.Sent == 0 && v.Unreached == "" {
		return &trouble{fmt.Errorf("%s: no request in it can be sent to %s", name, v.URL), v.why()}
	}
	err = report.write(func(w io.Writer) error {
		switch o.format {
		case "json":
			return indented(w, v)
		case "junit":
			return v.junit(w)
		}
		return v.write(w, a.paint(w))
	})
	if err == nil && v.Differing > 0 {
		return exit(codeFailed)
	}
	return err
}

// A verification is what `verify --format json` prints.
type verification struct {
	Format    string             `json:"format"`
	File      string             `json:"file"`
	URL       string             `json:"url"`
	Torn      string             `json:"torn"`      // why the recording is not whole, "" if it is
	Unreached string             `json:"unreached"` // why the server was not reached, "" if it always was
	Sent      int                `json:"sent"`
	Differing int                `json:"differing"`
	Drift     []drift            `json:"drift"` // of the changes below, those of the server's offer
	Exchanges []verifiedExchange `json:"exchanges"`
}

// A verifiedExchange is one exchange of the recording.
type verifiedExchange struct {
	N       int           `json:"n"`
	What    string        `json:"what"`
	Sent    bool          `json:"sent"`
	Notes   []string      `json:"notes"` // why it was not sent, what could not be carried over
	MS      int64         `json:"ms"`    // the live answer took
	Changes []diff.Change `json:"changes"`
}

// A drift is a change of what the server offers.
type drift struct {
	N int `json:"n"`
	diff.Change
}

var driftKinds = []string{"protocol-version", "capabilities", "server-info", "tool", "prompt", "resource"}

// verified compares the pairs of a run. A drift that several exchanges show is told of the first.
func verified(pairs []*caller.Pair, o diff.Options) *verification {
	v := &verification{Format: "mcptap-verify/1", Drift: []drift{}, Exchanges: []verifiedExchange{}}
	seen := map[diff.Change]bool{}
	for _, p := range pairs {
		_, what := replay.Asked(p.Was)
		x := verifiedExchange{N: p.Was.N, What: what, Notes: append([]string{}, p.Notes...), Changes: []diff.Change{}}
		switch why := unreached(p.Now); {
		case p.Now == nil:
		case why != "":
			v.Unreached = cmp.Or(v.Unreached, why)
			x.Notes = append(x.Notes, "not sent: "+why)
			if unreached(p.Was) == "" {
				x.Changes = append(x.Changes, diff.Change{Kind: "ending", Was: string(p.Was.End), Now: p.Now.Notes[0]})
			}
		default:
			v.Sent++
			x.Sent, x.MS = true, duration(p.Now).Milliseconds()
			x.Changes = append(x.Changes, diff.Answers(p.Was, p.Now, o)...)
		}
		if len(x.Changes) > 0 {
			v.Differing++
		}
		for _, c := range x.Changes {
			if slices.Contains(driftKinds, c.Kind) && !seen[c] {
				seen[c] = true
				v.Drift = append(v.Drift, drift{x.N, c})
			}
		}
		v.Exchanges = append(v.Exchanges, x)
	}
	return v
}

// why says why the first exchange that was not sent was not.
func (v *verification) why() string {
	for _, x := range v.Exchanges {
		if !x.Sent && len(x.Notes) > 0 {
			return fmt.Sprintf("exchange %d was %s", x.N, oneLine(x.Notes[len(x.Notes)-1]))
		}
	}
	return "the recording has no exchanges"
}

// write says what differs; where nothing does, and where nothing was sent, that is one line.
func (v *verification) write(w io.Writer, p paint) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s at %s: %s", oneLine(v.File), oneLine(v.URL), v.line())
	if v.Torn != "" {
		b.WriteString("; the recording is not whole")
	}
	b.WriteString("\n")
	if v.Sent > 0 && v.Differing > 0 {
		v.writeDifferences(&b, p)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// line sums a run up.
func (v *verification) line() string {
	if v.Sent == 0 {
		return "nothing was sent: " + v.Unreached
	}
	line := count(v.Sent, "request") + " sent, "
	if n := len(v.Exchanges) - v.Sent; n > 0 {
		line += fmt.Sprintf("%d not sent (%s), ", n, v.why())
	}
	return line + different(v.Differing)
}

func (v *verification) writeDifferences(b *strings.Builder, p paint) {
	if len(v.Drift) > 0 {
		fmt.Fprintf(b, "\n%s\n", p.bold("drift"))
		for _, d := range v.Drift {
			writeChanges(b, p, []diff.Change{d.Change})
		}
	}
	for _, x := range v.Exchanges {
		if len(x.Changes)+len(x.Notes) == 0 {
			continue
		}
		fmt.Fprintf(b, "\n%s\n", p.bold(oneLine(fmt.Sprintf("exchange %d %s", x.N, x.What))))
		for _, n := range x.Notes {
			fmt.Fprintf(b, "  %s\n", oneLine(n))
		}
		writeChanges(b, p, x.Changes)
	}
}

func different(n int) string {
	switch n {
	case 0:
		return "all answered as recorded"
	case 1:
		return "1 answer differs"
	}
	return fmt.Sprintf("%d answers differ", n)
}

// junit writes one test case for each exchange.
func (v *verification) junit(w io.Writer) error {
	s := junitSuite{Name: oneLine("mcptap verify " + v.File), Tests: len(v.Exchanges)}
	total := time.Duration(0)
	for _, x := range v.Exchanges {
		took := time.Duration(x.MS) * time.Millisecond
		total += took
		c := junitCase{Name: oneLine(fmt.Sprintf("exchange %d: %s", x.N, x.What)), Class: "mcptap.verify", Time: inSeconds(x.MS), Out: oneLine(strings.Join(x.Notes, "; "))}
		for _, d := range x.Changes {
			c.Failures = append(c.Failures, junitFailure{d.Kind, oneLine(strings.TrimSpace(d.Kind + " " + d.Path)), oneLine("was " + orDash(d.Was) + ", now " + orDash(d.Now))})
		}
		if len(c.Failures) > 0 {
			s.Failures++
		}
		s.Cases = append(s.Cases, c)
	}
	s.Time = inSeconds(total.Milliseconds())
	all := junitSuites{Name: "mcptap"}
	all.add(s)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(&all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
