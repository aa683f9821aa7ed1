package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/corpus"
	"github.com/mcptap/mcptap/har"
)

const (
	stdio      = "-"       // the file name that means stdin or stdout
	corpusName = "corpus:" // before a name of `corpus list`, in place of a file
)

// A recording is a cassette that is read while it is used.
type recording struct {
	name   string // as the user called it
	header har.Header
	all    iter.Seq2[*har.Exchange, error] // once; errors name the file
	cut    func() string                   // how the file broke off; valid after all
	end    func() *har.End                 // nil where the file broke off; valid after all
	begun  func() []*har.Exchange          // har.Reader.Begun; nil if all is in memory
	procs  func() []*har.Process           // servers that were processes; valid after all
	io.Closer
}

// open opens a cassette, or what can be imported as one: a file, "-" for stdin, or corpus:NAME.
func (a *app) open(name string) (*recording, error) {
	if entry, ok := strings.CutPrefix(name, corpusName); ok {
		return openCorpus(name, entry)
	}
	f, err := a.openFile(name)
	if err != nil {
		return nil, fileTrouble(name, err)
	}
	cassette, in, err := a.converted(name, f)
	switch {
	case err != nil:
		f.Close()
		return nil, err
	case cassette != nil:
		f.Close()
		f, in = cassette, cassette
	}
	r, err := har.NewReader(in, har.Limits{})
	if err != nil {
		f.Close()
		return nil, fileTrouble(name, err)
	}
	return &recording{name: name, header: r.Header(), all: naming(name, r.All()), begun: r.Begun, cut: r.Cut, end: r.End, procs: r.Processes, Closer: f}, nil
}

// openFile opens a file, or the recording in a zip file.
func (a *app) openFile(name string) (io.ReadCloser, error) {
	if b, ok := a.held[name]; ok {
		return io.NopCloser(bytes.NewReader(b)), nil
	}
	if name == stdio && a.spooled == "" {
		return zipped(io.NopCloser(a.stdin))
	}
	file := name
	if name == stdio {
		file = a.spooled
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	in, err := zipped(f)
	if err != nil {
		f.Close()
	}
	return in, err
}

// spool copies stdin to a temporary file, so that "-" can be opened more than once.
func (a *app) spool() (remove func(), err error) {
	f, err := os.CreateTemp("", "mcptap-stdin-")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	a.spooled = f.Name()
	remove = func() { os.Remove(a.spooled) }
	if _, err := io.Copy(f, a.stdin); err != nil {
		remove()
		return nil, fileTrouble("stdin", err)
	}
	return remove, nil
}

func openCorpus(name, entry string) (*recording, error) {
	c, err := corpus.Open(entry)
	if err != nil {
		return nil, &trouble{fmt.Errorf("%s: %w", name, err), "see mcptap corpus list"}
	}
	return &recording{name: name, header: c.Header, all: c.All(), cut: func() string { return c.Cut }, end: func() *har.End { return c.End },
		procs:  func() []*har.Process { return c.Processes },
		Closer: io.NopCloser(nil)}, nil
}

// naming gives errors of a sequence the file's name.
func naming(name string, all iter.Seq2[*har.Exchange, error]) iter.Seq2[*har.Exchange, error] {
	return func(yield func(*har.Exchange, error) bool) {
		for x, err := range all {
			if err != nil {
				err = fileTrouble(name, err)
			}
			if !yield(x, err) {
				return
			}
		}
	}
}

// exchanges reads all of a recording into memory, in order of N, and reports a cut file. With an error comes what could be read.
func (a *app) exchanges(name string, notice func(string, ...any)) (har.Header, []*har.Exchange, error) {
	r, err := a.open(name)
	if err != nil {
		return har.Header{}, nil, err
	}
	defer r.Close()
	var xs []*har.Exchange
	for x, e := range r.all {
		if err = e; err != nil {
			break
		}
		xs = append(xs, x)
	}
	r.reportCut(notice)
	slices.SortFunc(xs, func(x, y *har.Exchange) int { return cmp.Compare(x.N, y.N) })
	return r.header, xs, err
}

// reportCut says so where the file broke off, or the recording did.
func (r *recording) reportCut(notice func(string, ...any)) {
	if cut := r.cut(); cut != "" {
		notice("%s: %s; what is whole was read", r.name, cut)
	}
	if end := r.end(); end != nil && end.Error != "" {
		notice("%s: the recording stopped early: %s", r.name, end.Error)
	}
}

// notice writes a sentence for a person to stderr.
func (a *app) notice(format string, args ...any) {
	fmt.Fprintf(a.stderr, "mcptap: %s\n", oneLine(fmt.Sprintf(format, args...)))
}

// noticeUnless is notice, or nothing where the user wants quiet.
func (a *app) noticeUnless(quiet bool) func(string, ...any) {
	if quiet {
		return func(string, ...any) {}
	}
	return a.notice
}
