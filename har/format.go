// Package har holds what was recorded: [Event]s as they were seen, [Exchange]s as they were understood, and the cassette
// file that keeps them (docs/format.md). It also exports HAR 1.2 and replaces secrets.
package har

import (
	"errors"
	"fmt"
)

// Format is the first member of every cassette.
const Format = "mcptap-cassette/1"

// Limits bound what a Reader takes from a file that nobody vouches for; zero fields mean the defaults.
type Limits struct {
	Line  int   // bytes of one line; 64 MiB (the header line 1 MiB)
	Total int64 // bytes of all lines; 16 GiB
	Ratio int   // decompressed to compressed; 2000, checked beyond 64 MiB
	Held  int64 // bytes of the exchanges held in memory at once, for Read all of them; 4 GiB
}

const (
	defaultLine  = 64 << 20
	defaultTotal = 16 << 30
	defaultRatio = 2000
	defaultHeld  = 4 << 30
	ratioFrom    = 64 << 20 // decompressed bytes below which the ratio is not checked
	maxHeader    = 1 << 20  // bytes of the header line
	maxWindow    = 8 << 20  // zstd window
	maxNesting   = 64       // levels of a JSON value that is skipped
	maxNumber    = 1<<53 - 1
)

func (l Limits) orDefaults() Limits {
	if l.Line <= 0 {
		l.Line = defaultLine
	}
	if l.Total <= 0 {
		l.Total = defaultTotal
	}
	if l.Ratio <= 0 {
		l.Ratio = defaultRatio
	}
	if l.Held <= 0 {
		l.Held = defaultHeld
	}
	return l
}

// A FormatError says what a file has that the format forbids.
type FormatError struct {
	Line int    // from 1; 0 if it is not known
	Want string // what the format asks for there
	Err  error  // what was found instead; nil if Want says it all
}

// Error is the error's text without the file's name, which the caller knows.
func (e *FormatError) Error() string {
	text := "want " + e.Want
	if e.Line > 0 {
		text = fmt.Sprintf("line %d: %s", e.Line, text)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns what was found instead.
func (e *FormatError) Unwrap() error { return e.Err }

// want makes a FormatError whose line is filled in by the Reader. got is what was found instead, "" to leave it unsaid.
func want(what, got string) *FormatError {
	e := &FormatError{Want: what}
	if got != "" {
		e.Err = errors.New(got)
	}
	return e
}

// onLine puts the line's number into an error of this package that has none.
func onLine(err error, line int) error {
	if e := (*FormatError)(nil); errors.As(err, &e) && e.Line == 0 {
		e.Line = line
	}
	return err
}
