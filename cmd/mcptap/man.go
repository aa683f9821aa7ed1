package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "write manual pages, one per command",
		Long: `Man writes a manual page for mcptap and for each of its commands into DIR, from the same source as --help. DIR is
made if there is none. Files that exist are not overwritten.`,
		Example: `  mcptap man share/man/man1`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(c, "want one DIR, got %d", len(args))
			}
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fileTrouble(args[0], err)
			}
			return a.man(c.Root(), args[0])
		},
	}
}

// man writes the page of a command and those of the commands below it.
func (a *app) man(c *cobra.Command, dir string) error {
	name := filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1")
	f, err := create(name)
	if err != nil {
		return err
	}
	err = finish(f, func(w io.Writer) error {
		_, err := io.WriteString(w, manPage(c))
		return err
	})
	if err != nil {
		return err
	}
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		if err := a.man(sub, dir); err != nil {
			return err
		}
	}
	return nil
}

// manPage is a command's page for man(7), without a date, so that equal programs write equal pages.
func manPage(c *cobra.Command) string {
	var b strings.Builder
	title := strings.ReplaceAll(c.CommandPath(), " ", "-")
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"mcptap %s\"\n", strings.ToUpper(roff(title)), roff(version()))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(title), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	b.WriteString(".SH DESCRIPTION\n" + roffText(c.Long) + "\n")
	flags := func(heading string, set *pflag.FlagSet) {
		if !set.HasAvailableFlags() {
			return
		}
		b.WriteString(".SH " + heading + "\n")
		set.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				b.WriteString(manFlag(f))
			}
		})
	}
	c.InitDefaultHelpFlag()
	flags("OPTIONS", c.NonInheritedFlags())
	flags("GLOBAL OPTIONS", c.InheritedFlags())
	if c.Example != "" {
		b.WriteString(".SH EXAMPLES\n.nf\n" + roffText(c.Example) + "\n.fi\n")
	}
	var see []string
	if c.HasParent() {
		see = append(see, strings.ReplaceAll(c.Parent().CommandPath(), " ", "-"))
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			see = append(see, strings.ReplaceAll(sub.CommandPath(), " ", "-"))
		}
	}
	for i := range see {
		see[i] = ".BR " + roff(see[i]) + " (1)"
	}
	if len(see) > 0 {
		b.WriteString(".SH SEE ALSO\n" + strings.Join(see, ",\n") + "\n")
	}
	return b.String()
}

func manFlag(f *pflag.Flag) string {
	value, what := pflag.UnquoteUsage(f)
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	if value != "" {
		name += " " + value
	}
	return fmt.Sprintf(".TP\n.B %s\n%s\n", roff(name), roffText(what))
}

// roff escapes one line of text.
func roff(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(s)
}

// roffText escapes lines: one that begins like a request is no request, and an empty one begins a paragraph.
func roffText(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i, line := range lines {
		line = roff(line)
		switch {
		case line == "":
			line = ".PP"
		case line[0] == '.' || line[0] == '\'':
			line = `\&` + line
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}
