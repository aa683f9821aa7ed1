package main

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/har"
)

// The exit codes of every command.
const (
	codeOK      = 0 // done, nothing wrong
	codeFailed  = 1 // done; something failed a rule, differed or was not matched
	codeTrouble = 2 // usage, I/O, an unreadable file, a recording that failed
)

// An exit ends a run with a code and nothing more to say.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Trouble is an error together with what the user can do about it.
type trouble struct {
	err  error
	hint string // "" if the error says it all
}

func (t *trouble) Error() string { return t.err.Error() }
func (t *trouble) Unwrap() error { return t.err }

// usage reports a command line that cannot be carried out.
func usage(c *cobra.Command, format string, args ...any) *trouble {
	return &trouble{err: fmt.Errorf(format, args...), hint: "see " + c.CommandPath() + " --help"}
}

// oneFile takes exactly one argument.
func oneFile(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage(c, "want one FILE, got %d", len(args))
	}
	return nil
}

// fileTrouble names the file that an error is about: "FILE: line 3: want an exchange".
func fileTrouble(name string, err error) error {
	var path *fs.PathError
	var format *har.FormatError
	switch {
	case errors.As(err, &format) && format.Line <= 1:
		return &trouble{fmt.Errorf("%s: %w", name, err), "want a cassette (" + har.Format + "): zstd, gzip or plain JSON lines"}
	case errors.As(err, &format):
		return &trouble{fmt.Errorf("%s: %w", name, err), "mcptap repair " + name + " keeps what is whole"}
	case errors.Is(err, fs.ErrExist):
		return &trouble{fmt.Errorf("%s: %w", name, fs.ErrExist), "files are never overwritten: name another or remove it"}
	case errors.Is(err, syscall.EISDIR):
		return &trouble{fmt.Errorf("%s: it is a folder", name), "name a file in it"}
	case errors.As(err, &path):
		return fmt.Errorf("%s: %w", name, path.Err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// exitCode reports err on stderr, if there is something to report, and gives the process's exit code.
func (a *app) exitCode(err error) int {
	var code exit
	switch {
	case err == nil:
		return codeOK
	case errors.As(err, &code):
		return int(code)
	}
	a.complain(err)
	return codeTrouble
}

// complain writes an error and its hint to stderr; no terminal escape from a file or a peer passes.
func (a *app) complain(err error) {
	fmt.Fprintf(a.stderr, "mcptap: error: %s\n", oneLine(err.Error()))
	var t *trouble
	if errors.As(err, &t) && t.hint != "" {
		fmt.Fprintf(a.stderr, "mcptap: hint: %s\n", oneLine(t.hint))
	}
}

// cause is the innermost error: what the system said, without the names that we give ourselves.
func cause(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
