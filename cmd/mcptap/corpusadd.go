package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/analyze"
	"github.com/mcptap/mcptap/corpus"
	"github.com/mcptap/mcptap/har"
)

// adding holds the flags of `corpus add`.
type adding struct {
	redactOptions
	name, story, source, finding, out string
}

func (a *app) corpusAddCommand() *cobra.Command {
	var o adding
	c := &cobra.Command{
		Use:   "add FILE --name NAME",
		Short: "make a case of a recording",
		Long: `Add checks that a recording is whole and shows something, redacts it as redact does, shrinks it to one finding (see corpus
minimize), and writes it with a story and what the policies say of it now, as the cases of the corpus are. In a clone of mcptap
the file belongs in corpus/cases. Without --story it asks for one. A recording without a finding is kept whole. What processes
wrote to stderr is left out. If a secret is left, nothing is written. Look at the result before you share it.`,
		Example: `  mcptap corpus add session.mcptap --name null-id-behind-proxy --story "A proxy answers the probe with a null id."`,
		Args:    oneFile,
		RunE: func(c *cobra.Command, args []string) error {
			cleaner, err := o.cleaner(c)
			if err != nil {
				return err
			}
			return a.corpusAdd(c, args[0], &o, cleaner)
		},
	}
	f := c.Flags()
	f.StringVar(&o.name, "name", "", "`NAME` of the case: lower-case words joined by hyphens")
	f.StringVar(&o.story, "story", "", "one line: what happens, and why that matters")
	f.StringVar(&o.source, "source", "", "where it is from, such as a public report with its number")
	f.StringVar(&o.finding, "finding", "", "`ID` of the finding to keep (default the first of the most severe)")
	f.StringVar(&o.out, "out", "", "`FILE` to write to, - for stdout (default NAME.mcptap)")
	o.flags(c)
	return c
}

var caseName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func (a *app) corpusAdd(c *cobra.Command, file string, o *adding, cleaner *har.Cleaner) error {
	if !caseName.MatchString(o.name) {
		return usage(c, "--name %q: want lower-case words joined by hyphens", o.name)
	}
	if _, err := corpus.Open(o.name); err == nil {
		return usage(c, "--name %s: the corpus has a case of this name", o.name)
	}
	k, err := a.inMemory(file)
	if err != nil {
		return err
	}
	finding, err := checked(file, k, o.finding)
	if err != nil {
		return err
	}
	cleaner.Clean(k)
	a.notice("%s: %s", file, replacedText(cleaner.Replaced()))
	for _, p := range k.Processes {
		p.Stderr, p.Redacted, p.Lost = har.Side{}, nil, 0 // no case needs it
	}
	if finding != "" {
		if k, err = a.minimized(file, k, finding); err != nil {
			return err
		}
	}
	if o.story == "" {
		if o.story, err = a.ask("story, one line: "); err != nil {
			return err
		}
	}
	if !oneGoodLine(o.story) {
		return usage(c, "--story: want one line of text, without |")
	}
	if k.Header.Case, err = described(k, finding, o); err != nil {
		return err
	}
	return a.writeCase(k, o, cleaner)
}

// checked tells whether a recording can be a case, and which finding it is for.
func checked(file string, k *har.Cassette, finding string) (string, error) {
	if k.Cut != "" || k.End == nil {
		return "", &trouble{fmt.Errorf("%s: %s", file, cmp.Or(k.Cut, "it has no end line")), "mcptap repair " + file + " keeps what is whole"}
	}
	r, err := analyze.Analyze(inOrder(k.Exchanges), analyze.Options{})
	if err != nil {
		return "", err
	}
	if len(r.Conversations) == 0 {
		return "", &trouble{fmt.Errorf("%s: no MCP was found", file), "want a recording of a client and a server"}
	}
	if finding != "" {
		return finding, nil
	}
	for _, severity := range severities {
		for _, f := range r.Findings {
			if f.Severity == severity && !strings.HasPrefix(f.ID, "policy-") { // those are about clients, whatever the server does
				return f.ID, nil
			}
		}
	}
	return "", nil
}

// ask asks for a line where a person can answer.
func (a *app) ask(question string) (string, error) {
	in, ok := a.stdin.(*os.File)
	if st, err := statOf(in, ok); err != nil || st.Mode()&os.ModeCharDevice == 0 {
		return "", &trouble{errors.New("want --story"), "one line: what happens, and why that matters"}
	}
	fmt.Fprint(a.stderr, question)
	line, err := bufio.NewReader(io.LimitReader(in, 4096)).ReadString('\n')
	if err != nil && line == "" {
		return "", &trouble{errors.New("want a story"), "one line: what happens, and why that matters"}
	}
	return strings.TrimSpace(line), nil
}

func statOf(f *os.File, ok bool) (os.FileInfo, error) {
	if !ok {
		return nil, os.ErrInvalid
	}
	return f.Stat()
}

// inOrder gives exchanges in order of N.
func inOrder(xs []*har.Exchange) iter.Seq2[*har.Exchange, error] {
	xs = slices.SortedFunc(slices.Values(xs), func(x, y *har.Exchange) int { return cmp.Compare(x.N, y.N) })
	return func(yield func(*har.Exchange, error) bool) {
		for _, x := range xs {
			if !yield(x, nil) {
				return
			}
		}
	}
}

func oneGoodLine(s string) bool {
	return s != "" && utf8.ValidString(s) && !strings.ContainsAny(s, "|") && oneLine(s) == s
}

// described is what a case says of itself: of the finding's first exchange, what is recommended and what the client's policy
// says.
func described(k *har.Cassette, finding string, o *adding) (*har.Case, error) {
	r, err := analyze.Analyze(inOrder(k.Exchanges), analyze.Options{})
	if err != nil {
		return nil, err
	}
	n := k.Exchanges[0].N
	if i := slices.IndexFunc(r.Findings, func(f analyze.Finding) bool { return f.ID == finding }); i >= 0 && len(r.Findings[i].Exchanges) > 0 {
		n = r.Findings[i].Exchanges[0]
	}
	out := &har.Case{Name: o.name, Row: "added", Story: o.story, Source: cmp.Or(o.source, "a recording")}
	for _, x := range r.Exchanges {
		if x.N != n {
			continue
		}
		for _, p := range analyze.Policies() {
			v, ok := x.Verdicts[p.Name]
			if !ok {
				continue
			}
			e := har.Expect{Policy: p.Name, Exchange: n, Verdict: v.Verdict, Rule: v.Rule}
			for _, c := range r.Conversations {
				if q := c.Predicted[p.Name]; c.ID == x.Conversation && q.Outcome != analyze.Unknown {
					e.Outcome = string(q.Outcome)
				}
			}
			if len(out.Expect) == 0 {
				e.Finding = finding
			}
			out.Expect = append(out.Expect, e)
		}
	}
	return out, nil
}

func (a *app) writeCase(k *har.Cassette, o *adding, c *har.Cleaner) error {
	var lines bytes.Buffer
	if err := corpus.Write(&lines, k.Header, k.Processes, k.Exchanges); err != nil {
		return err
	}
	p := &parcel{files: map[string][]byte{}}
	p.add(o.name+".mcptap", lines.Bytes())
	if err := p.check(c); err != nil {
		return err
	}
	out := cmp.Or(o.out, p.names[0])
	if err := a.writeTo(out, func(w io.Writer) error { _, err := w.Write(lines.Bytes()); return err }); err != nil || out == stdio {
		return err
	}
	_, err := fmt.Fprintln(a.stdout, out)
	return err
}
