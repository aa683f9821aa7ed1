// Package corpus holds small cassettes, one case each, with the verdicts that policies must give them. docs/corpus.md lists
// them. The bytes are written by the tables of this package's tests; the clients' requests are copied from real ones.
package corpus

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/mcptap/mcptap/analyze"
	"github.com/mcptap/mcptap/har"
)

// FS holds the cassettes: cases/NAME.mcptap, each a plain JSON-lines cassette.
//
//go:embed cases/*.mcptap
var FS embed.FS

const (
	folder = "cases"
	ext    = ".mcptap"
)

// List returns the cases' headers, sorted by name.
func List() ([]har.Case, error) {
	all, err := list()
	return slices.Clone(all), err
}

// FindingRow is the row of the cases that stand for one finding each.
const FindingRow = "finding"

// ForClients returns the headers of the cases that a client is put to, sorted by name: all but those of FindingRow, whose bytes
// are there to be read. In many of them it is the client that errs, or the time that tells.
func ForClients() ([]har.Case, error) {
	all, err := List()
	return slices.DeleteFunc(all, func(c har.Case) bool { return c.Row == FindingRow }), err
}

var list = sync.OnceValues(func() ([]har.Case, error) {
	files, err := fs.ReadDir(FS, folder)
	if err != nil {
		return nil, err
	}
	var cases []har.Case
	for _, f := range files {
		b, err := FS.ReadFile(path.Join(folder, f.Name()))
		if err != nil {
			return nil, err
		}
		r, err := har.NewReader(bytes.NewReader(b), har.Limits{})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		c := r.Header().Case
		if c == nil || c.Name+ext != f.Name() {
			return nil, fmt.Errorf("%s: want a header whose case has the file's name", f.Name())
		}
		cases = append(cases, *c)
	}
	slices.SortFunc(cases, func(a, b har.Case) int { return strings.Compare(a.Name, b.Name) })
	return cases, nil
})

// Open reads the cassette of one case. The error for a name that is not there says which names are near.
func Open(name string) (*har.Cassette, error) {
	b, err := FS.ReadFile(path.Join(folder, name+ext))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return nil, unknown(name)
	}
	if err != nil {
		return nil, err
	}
	c, err := har.Read(bytes.NewReader(b), har.Limits{})
	if err != nil {
		return nil, fmt.Errorf("case %s: %w", name, err)
	}
	return c, nil
}

func unknown(name string) error {
	cases, err := list()
	if err != nil {
		return err
	}
	near := nearest(strings.TrimSuffix(name, ext), cases)
	if len(near) == 0 {
		return fmt.Errorf("no case is named %q; there are %d", name, len(cases))
	}
	return fmt.Errorf("no case is named %q; did you mean %s?", name, strings.Join(near, ", "))
}

// nearest returns at most five names that may be meant by name, the best first: those like it, then those of that row.
func nearest(name string, cases []har.Case) []string {
	var names, ofRow []string
	for _, c := range cases {
		names = append(names, c.Name)
		if strings.EqualFold(c.Row, name) {
			ofRow = append(ofRow, c.Name)
		}
	}
	near := append(analyze.Near(name, names), ofRow...)
	return near[:min(5, len(near))]
}
