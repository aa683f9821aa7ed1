package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/analyze"
	"github.com/mcptap/mcptap/diff"
)

type diffOptions struct {
	policies, ignore []string
	bytes            bool
	factor           float64
	format, out      string
}

func (a *app) diffCommand() *cobra.Command {
	var o diffOptions
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "say how two recordings differ: order, answers, endings, times, verdicts",
		Long: `Diff puts the exchanges of two recordings side by side that ask for the same, conversation by conversation, and says what
has changed: what is asked for and in which order, status, header fields, the answer member by member, how connections
ended, verdicts and outcomes. What differs in every run by itself (ids, session ids, cursors, event ids) is left out.
A and B may be whatever analyze reads.

--ignore takes a path as it is printed, with * for one step: /result/structuredContent, /result/tools/*/description.
Exit code 1: something differs.`,
		Example: `  mcptap diff before.mcptap after.mcptap
  mcptap diff before.mcptap after.mcptap --policy all --factor 3 --format json
  mcptap diff before.mcptap after.mcptap --ignore '/result/content/*/text'`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 2 || args[0] == stdio && args[1] == stdio {
				return usage(c, "want two FILEs, got %d", len(args))
			}
			if err := o.check(c); err != nil {
				return err
			}
			return a.diff(args[0], args[1], &o)
		},
	}
	f := c.Flags()
	f.StringSliceVar(&o.policies, "policy", []string{analyze.Recommended}, "compare the verdicts of these `POLICIES`, or all")
	f.StringArrayVar(&o.ignore, "ignore", nil, "nothing counts at this `PATH` and below it; repeated")
	f.BoolVar(&o.bytes, "bytes", false, "compare answers byte for byte")
	f.Float64Var(&o.factor, "factor", 0, "an answer that took `N` times as long or as short differs, from 100 ms on (default: times do not count)")
	f.StringVar(&o.format, "format", "text", "`FORMAT`: text or json")
	f.StringVar(&o.out, "out", "", "`FILE` to write to, which must not exist (default stdout)")
	complete(c, "policy", completePolicies("all"))
	complete(c, "format", completeList(func() []string { return []string{"text", "json"} }))
	return c
}

func (o *diffOptions) check(c *cobra.Command) error {
	if !slices.Contains([]string{"text", "json"}, o.format) {
		return usage(c, "--format %s: want text or json", o.format)
	}
	if o.factor != 0 && !(o.factor > 1) {
		return usage(c, "--factor %v: want a number above 1", o.factor)
	}
	return checkPaths(c, o.ignore)
}

// checkPaths refuses what cannot be a path of a change.
func checkPaths(c *cobra.Command, paths []string) error {
	for _, p := range paths {
		if p == "" || strings.HasSuffix(p, "/") {
			return usage(c, "--ignore %q: want a path such as /result/content", p)
		}
	}
	return nil
}

func (a *app) diff(was, now string, o *diffOptions) error {
	_, before, err := a.exchanges(was, a.notice)
	if err != nil {
		return nameTrouble(err)
	}
	_, after, err := a.exchanges(now, a.notice)
	if err != nil {
		return nameTrouble(err)
	}
	r, err := diff.Compare(before, after, diff.Options{Policies: o.policies, Ignore: o.ignore, Bytes: o.bytes, Factor: o.factor})
	if err != nil {
		return nameTrouble(err)
	}
	err = a.writeTo(o.out, func(w io.Writer) error {
		if o.format == "json" {
			return indented(w, r)
		}
		return writeDiff(w, a.paint(w), was, now, r)
	})
	if err == nil && !r.Same() {
		return exit(codeFailed)
	}
	return err
}

func writeDiff(w io.Writer, p paint, was, now string, r *diff.Report) error {
	var b strings.Builder
	if r.Same() {
		fmt.Fprintf(&b, "%s and %s: %s, no difference\n", oneLine(was), oneLine(now), count(r.Compared, "pair"))
	} else {
		fmt.Fprintf(&b, "%s and %s: %s, %s\n", oneLine(was), oneLine(now), count(r.Compared, "pair"), count(r.Differing, "difference"))
	}
	for _, c := range r.Conversations {
		fmt.Fprintf(&b, "\n%s\n", p.bold(oneLine(fmt.Sprintf("conversation %s %s", numbersText(c.Was, c.Now), orDash(c.Client)))))
		writeChanges(&b, p, c.Changes)
	}
	for _, x := range r.Exchanges {
		fmt.Fprintf(&b, "\n%s\n", p.bold(oneLine(fmt.Sprintf("exchange %s %s", numbersText(x.Was, x.Now), x.What))))
		writeChanges(&b, p, x.Changes)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// numbersText writes the numbers that a thing has in both recordings.
func numbersText(was, now int) string {
	switch {
	case was == 0:
		return fmt.Sprintf("- / %d", now)
	case now == 0:
		return fmt.Sprintf("%d / -", was)
	case was == now:
		return fmt.Sprint(was)
	}
	return fmt.Sprintf("%d / %d", was, now)
}

func writeChanges(b *strings.Builder, p paint, changes []diff.Change) {
	for _, c := range changes {
		at := ""
		if c.Path != "" {
			at = " " + oneLine(c.Path)
		}
		fmt.Fprintf(b, "  %s%s\n", c.Kind, at)
		if c.Was != "" && c.Kind != "removed" {
			fmt.Fprintf(b, "    %s\n", p.red("- "+oneLine(c.Was)))
		}
		if c.Now != "" && c.Kind != "added" {
			fmt.Fprintf(b, "    %s\n", p.yellow("+ "+oneLine(c.Now)))
		}
	}
}
