package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/analyze"
	"github.com/mcptap/mcptap/har"
)

const (
	trackerMost = 25 << 20 // bytes of a file that GitHub takes
	pasteMost   = 65536    // characters that it takes in one text
)

type shareOptions struct {
	redactOptions
	out, finding   string
	text, minimize bool
}

func (a *app) shareCommand() *cobra.Command {
	var o shareOptions
	c := &cobra.Command{
		Use:   "share FILE",
		Short: "pack a recording for an issue tracker: redacted, with a report and a summary",
		Long: `Share redacts a recording as redact does and writes NAME.zip, which trackers take: the recording as plain lines, report.html (one
page without scripts) and summary.md, ready to be pasted into an issue. show, analyze, explain and replay open the zip file as it is.
--text prints a small recording as a block to paste instead; mcptap import - reads it back out of the text of an issue.
All that is written is looked through once more: if a secret is left, nothing is written, and the exit code is 2. Read what you share
all the same: no program knows what is confidential in it (docs/sharing.md).`,
		Example: `  mcptap share session.mcptap
  mcptap share session.mcptap --strict --rule member:customer --out issue.zip
  mcptap share session.mcptap --minimize --finding probe-reply-id-null
  mcptap share session.mcptap --text`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := oneFile(c, args); err != nil {
				return err
			}
			if o.finding != "" && !o.minimize {
				return usage(c, "--finding: want it with --minimize, which keeps that finding")
			}
			cleaner, err := o.cleaner(c)
			if err != nil {
				return err
			}
			return a.share(args[0], &o, cleaner)
		},
	}
	c.Flags().StringVar(&o.out, "out", "", "`FILE` to write, - for stdout; never overwritten (default NAME.zip)")
	c.Flags().BoolVar(&o.text, "text", false, "print the recording as a block of text to paste")
	c.Flags().BoolVar(&o.minimize, "minimize", false, "leave out what a finding does not need, as corpus minimize does")
	c.Flags().StringVar(&o.finding, "finding", "", "with --minimize, `ID` of the finding to keep, needed where there are several")
	o.flags(c)
	return c
}

// A parcel is what share writes: files by name, in the order in which they stand in the zip file.
type parcel struct {
	names []string
	files map[string][]byte
}

func (p *parcel) add(name string, b []byte) {
	p.names = append(p.names, name)
	p.files[name] = b
}

func (a *app) share(name string, o *shareOptions, c *har.Cleaner) error {
	k, err := a.inMemory(name)
	if err != nil {
		return err
	}
	if o.minimize {
		if k, err = a.minimized(name, k, o.finding); err != nil {
			return err
		}
	}
	c.Clean(k)
	a.reportEarly(name, k)
	var lines bytes.Buffer
	if err := writeCassette(jsonSafe{&lines}, k, true); err != nil {
		return err
	}
	p := &parcel{files: map[string][]byte{}}
	base := plainFileName(stem(name))
	p.add(base+".mcptap", lines.Bytes())
	if o.text {
		return a.shareText(name, o, p, c)
	}
	out := o.out
	if out == "" {
		out = base + ".zip"
	}
	if err := a.reports(p, base+".zip", k, c); err != nil {
		return err
	}
	if err := p.check(c); err != nil {
		return err
	}
	var packed bytes.Buffer
	if err := p.pack(&packed, k.Header.Started); err != nil {
		return err
	}
	if err := a.writeTo(out, func(w io.Writer) error { _, err := w.Write(packed.Bytes()); return err }); err != nil {
		return err
	}
	a.notice("%s: %s", name, replacedText(c.Replaced()))
	if warning := tooLarge(out, packed.Len()); warning != "" {
		a.notice("%s", warning)
	}
	if out == stdio {
		return nil
	}
	_, err = fmt.Fprintln(a.stdout, out)
	return err
}

// tooLarge says that trackers refuse a file of that many bytes; "": they take it.
func tooLarge(name string, size int) string {
	const mib = 1 << 20
	if size <= trackerMost {
		return ""
	}
	return fmt.Sprintf("%s has %.1f MiB, and trackers take %d: --minimize leaves out what a finding does not need", name, float64(size)/mib, trackerMost/mib)
}

func (a *app) shareText(name string, o *shareOptions, p *parcel, c *har.Cleaner) error {
	if err := p.check(c); err != nil {
		return err
	}
	text := pasteable(p.files[p.names[0]])
	if n := len(text); n > pasteMost {
		return &trouble{fmt.Errorf("%s: %d characters as text, and an issue takes %d", name, n, pasteMost), "attach the zip file that share writes without --text"}
	}
	a.notice("%s: %s", name, replacedText(c.Replaced()))
	return a.writeTo(o.out, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
}

// reports writes the page and the summary of the redacted recording, which they call by the name of the zip file.
func (a *app) reports(p *parcel, zipName string, k *har.Cassette, c *har.Cleaner) error {
	a.held = map[string][]byte{zipName: p.files[p.names[0]]}
	quiet := *a
	quiet.stderr = io.Discard // what is wrong with the file has been said
	d, err := quiet.document([]string{zipName}, analyze.Options{AllHTTP: true})
	if err != nil {
		return err
	}
	if d.fails, err = failing([]string{"error"}); err != nil {
		return err
	}
	if err := quiet.quote(d); err != nil {
		return err
	}
	var page, summary bytes.Buffer
	if err := writeHTML(a, &page, d); err != nil {
		return err
	}
	if err := writeMarkdown(a, &summary, d); err != nil {
		return err
	}
	summary.WriteString(howToLook(d, zipName, p.names[0], k, c))
	p.add("report.html", page.Bytes())
	p.add("summary.md", summary.Bytes())
	return nil
}

// howToLook says what is in the zip file and how to use it.
func howToLook(d *document, zipName, member string, k *har.Cassette, c *har.Cleaner) string {
	n := 1
	if worst := worstFirst(d.Report); len(worst) > 0 {
		n = worst[0].Exchanges[0]
	} else if len(d.Exchanges) > 0 {
		n = d.Exchanges[0].N
	}
	replay := "mcptap replay " + zipName + " -- my-client {url}"
	if len(k.Processes) > 0 || len(k.Exchanges) > 0 && k.Exchanges[0].Stdio() {
		replay = "mcptap replay " + zipName + " --stdio"
	}
	commands := []string{
		"go install github.com/mcptap/mcptap/cmd/mcptap@latest",
		"mcptap analyze " + zipName,
		fmt.Sprintf("mcptap show %s %d", zipName, n),
		fmt.Sprintf("mcptap explain %s %d", zipName, n),
		replay,
	}
	return "\n### How to look at it and replay it\n\n" +
		codeSpan(zipName) + " has the recording (" + codeSpan(member) + "), this summary and `report.html`. mcptap opens the zip file as it is; the last " +
		"command serves the recorded answers to your own client in the server's place.\n\n" +
		fenced(strings.Join(commands, "\n")) +
		"\nSecrets were replaced by other bytes: " + replacedText(c.Replaced()) + ".\n"
}

// check looks through all that is to be written, and through the names, for secrets.
func (p *parcel) check(c *har.Cleaner) error {
	lines := p.files[p.names[0]]
	k, err := har.Read(bytes.NewReader(lines), har.Limits{})
	if err != nil {
		return fmt.Errorf("%s does not read back: %w", p.names[0], err)
	}
	for _, x := range k.Exchanges {
		if left := c.Left(x); len(left) > 0 {
			return leaked(p.names[0], fmt.Sprintf("exchange %d, byte %d", x.N, left[0].Off), left[0].Kind)
		}
	}
	if left := c.Known(lines); len(left) > 0 {
		return leaked(p.names[0], lineAt(lines, left[0].Off), left[0].Kind)
	}
	for _, name := range p.names[1:] {
		text := p.files[name]
		for _, form := range [][]byte{text, []byte(html.UnescapeString(string(text)))} {
			if left := c.Leaks(form); len(left) > 0 {
				return leaked(name, lineAt(form, left[0].Off), left[0].Kind)
			}
		}
	}
	if left := c.Leaks([]byte(strings.Join(p.names, "\n"))); len(left) > 0 {
		return leaked("the file's own name", "", left[0].Kind)
	}
	return nil
}

func lineAt(text []byte, off int) string {
	return fmt.Sprintf("line %d", 1+bytes.Count(text[:off], []byte("\n")))
}

// leaked says where a secret is left, and not which.
func leaked(name, place, kind string) error {
	return &trouble{errors.New(strings.TrimSuffix(fmt.Sprintf("%s: a secret (%s) is left at %s", name, kind, place), " at ") + "; nothing was written"),
		"mcptap redact --dry-run says what is replaced; it may stand in a field that frames a message"}
}

// pack writes the zip file, the files in it as old as the recording: the same files give the same bytes.
func (p *parcel) pack(to io.Writer, at time.Time) error {
	if at = at.UTC(); at.Year() < 1980 || at.Year() > 2107 { // what the format has
		at = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	z := zip.NewWriter(to)
	for _, name := range p.names {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: at})
		if err == nil {
			_, err = w.Write(p.files[name])
		}
		if err != nil {
			return err
		}
	}
	return z.Close()
}

// plainFileName makes a name that every system and shell takes as it is.
func plainFileName(s string) string {
	out := []rune(s)
	for i, r := range out {
		if !(r < 0x80 && (r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z')) {
			out[i] = '-'
		}
	}
	out = out[:min(len(out), 100)]
	if i := slices.IndexFunc(out, func(r rune) bool { return r != '.' && r != '-' }); i >= 0 {
		return string(out[i:])
	}
	return "recording"
}
