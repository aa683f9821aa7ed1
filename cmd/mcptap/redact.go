package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/har"
)

// What redact, share and corpus add replace.
type redactOptions struct {
	rules     []string
	rulesFile string
	strict    bool
}

func (o *redactOptions) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVar(&o.rules, "rule", nil, "replace this too: `RULE` is header:NAME, query:NAME, member:NAME, json:/POINTER, text:LITERAL or regexp:RE; repeated")
	f.StringVar(&o.rulesFile, "rules", "", "read such rules from a `FILE`, one a line")
	f.BoolVar(&o.strict, "strict", false, "give e-mail addresses, owners of homes, hosts and IP addresses pseudonyms")
}

// cleaner makes the Cleaner that the flags ask for.
func (o *redactOptions) cleaner(c *cobra.Command) (*har.Cleaner, error) {
	var rules []har.Rule
	if o.rulesFile != "" {
		text, err := os.ReadFile(o.rulesFile)
		if err == nil {
			rules, err = har.ParseRules(string(text))
		}
		if err != nil {
			return nil, fileTrouble(o.rulesFile, err)
		}
	}
	for _, s := range o.rules {
		r, err := har.ParseRule(s)
		if err != nil {
			return nil, usage(c, "--rule: %v", err)
		}
		rules = append(rules, r)
	}
	return har.NewCleaner(rules, o.strict), nil
}

func (a *app) redactCommand() *cobra.Command {
	var o redactOptions
	var out string
	var dryRun bool
	c := &cobra.Command{
		Use:   "redact FILE",
		Short: "replace secrets in a recording that has been made",
		Long: `Redact writes a copy of a recording without secrets: those that record replaces, in every exchange and in every form (base64,
percent-encoded, escaped, compressed), passwords and keys by the names of JSON members, and what --rule asks for. Lengths stay, but for
bodies that were compressed. Session ids and, with --strict, people and places become pseudonyms, the same everywhere. It says on
stderr how much of what kind was replaced, never the value; docs/redaction.md has all kinds. FILE stays as it is.
Exit code 1: a known secret stands where nothing can be replaced, as in a field that frames a message.`,
		Example: `  mcptap redact session.mcptap
  mcptap redact session.mcptap --dry-run --strict
  mcptap redact session.mcptap --rule header:X-Tenant --rule 'json:/params/arguments/ssn' --out safe.mcptap`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := oneFile(c, args); err != nil {
				return err
			}
			cleaner, err := o.cleaner(c)
			if err != nil {
				return err
			}
			return a.redact(args[0], out, dryRun, cleaner)
		},
	}
	c.Flags().StringVar(&out, "out", "", "`FILE` to write, - for stdout; never overwritten (default NAME.redacted.mcptap)")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "write nothing; list each range that would be replaced")
	o.flags(c)
	return c
}

func (a *app) redact(name, out string, dryRun bool, c *har.Cleaner) error {
	k, err := a.inMemory(name)
	if err != nil {
		return err
	}
	c.Clean(k)
	a.reportEarly(name, k)
	left := a.reportLeft(k, c)
	switch {
	case dryRun:
		if err = listReplaced(a.stdout, c.Replaced()); err == nil {
			a.notice("%s: %s", name, countedText(c.Replaced(), "would be replaced"))
		}
	default:
		if out == "" {
			out = stem(name) + ".redacted.mcptap"
		}
		if err = a.writeTo(out, func(w io.Writer) error { return writeCassette(w, k, false) }); err != nil {
			return err
		}
		a.notice("%s: %s", name, replacedText(c.Replaced()))
		if out != stdio {
			_, err = fmt.Fprintln(a.stdout, out)
		}
	}
	if err == nil && left {
		return exit(codeFailed)
	}
	return err
}

// reportEarly says why a recording stopped early.
func (a *app) reportEarly(name string, k *har.Cassette) {
	if k.End != nil && k.End.Error != "" {
		a.notice("%s: the recording stopped early: %s", name, k.End.Error)
	}
}

// reportLeft says which exchanges still hold a known secret.
func (a *app) reportLeft(k *har.Cassette, c *har.Cleaner) (left bool) {
	for _, x := range k.Exchanges {
		for side, raw := range map[string][]byte{"request": x.Request.Raw, "response": x.Response.Raw} {
			for _, l := range c.Known(raw) {
				a.notice("exchange %d: a secret (%s) stays at byte %d of the %s, where nothing may be replaced", x.N, l.Kind, l.Off, side)
				left = true
			}
		}
	}
	return left
}

// inMemory reads a whole recording, bounded, exchanges in the order of N, and reports a cut file. Why the recording stopped is not
// said before it is redacted.
func (a *app) inMemory(name string) (*har.Cassette, error) {
	r, err := a.open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	k := &har.Cassette{Header: r.header}
	size := int64(0)
	for x, err := range r.all {
		if err != nil {
			return nil, err
		}
		copied := *x
		if size += int64(len(x.Request.Raw) + len(x.Response.Raw)); size > maxInMemory {
			return nil, fileTrouble(name, fmt.Errorf("more than %d MiB of exchanges: too much to be held in memory as a whole", maxInMemory>>20))
		}
		k.Exchanges = append(k.Exchanges, &copied)
	}
	if cut := r.cut(); cut != "" {
		a.notice("%s: %s; what is whole was read", name, cut)
	}
	slices.SortFunc(k.Exchanges, func(x, y *har.Exchange) int { return x.N - y.N })
	k.Processes, k.Cut = r.procs(), r.cut()
	if e := r.end(); e != nil {
		end := *e
		k.End = &end
	}
	return k, nil
}

// maxInMemory bounds a recording that is taken into memory as a whole, in bytes of its exchanges.
const maxInMemory = 1 << 30

// writeCassette writes a recording; plain: as lines.
func writeCassette(to io.Writer, k *har.Cassette, plain bool) error {
	w, err := har.NewWriter(to, k.Header, plain)
	if err != nil {
		return err
	}
	for _, p := range k.Processes {
		if err := w.Process(p); err != nil {
			return err
		}
	}
	for _, x := range k.Exchanges {
		if err := w.Write(x); err != nil {
			return err
		}
	}
	end := har.End{Repaired: true, At: k.Header.Started}
	if k.End != nil {
		end = *k.End
	}
	return w.Close(end)
}

// listReplaced prints a line for each range that is replaced, without its bytes.
func listReplaced(w io.Writer, list []har.Replaced) error {
	for _, f := range list {
		bytes := ""
		if f.Len > 0 {
			bytes = fmt.Sprintf(" bytes %d to %d", f.Off, f.Off+f.Len)
		}
		if _, err := fmt.Fprintf(w, "%s%s: %s\n", f.Place, bytes, f.Kind); err != nil {
			return err
		}
	}
	return nil
}

// replacedText counts what was replaced, by kind.
func replacedText(list []har.Replaced) string { return countedText(list, "replaced") }

func countedText(list []har.Replaced, what string) string {
	if len(list) == 0 {
		return "nothing to replace was found"
	}
	counts, parts := map[string]int{}, []string{}
	for _, f := range list {
		counts[f.Kind]++
	}
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[kind], kind))
	}
	return count(len(list), "range") + " " + what + ": " + strings.Join(parts, ", ")
}

// stem is the name of a recording without its folder and ending, as a name for a file of the current folder.
func stem(name string) string {
	switch {
	case name == stdio:
		return "stdin"
	case !isPath(name):
		return strings.TrimPrefix(name, corpusName)
	}
	name = filepath.Base(name)
	for _, ext := range []string{".gz", ".zst", ".zip", ".mcptap", ".har", ".pcapng", ".pcap", ".json"} {
		if short := strings.TrimSuffix(name, ext); short != "" {
			name = short
		}
	}
	return name
}
