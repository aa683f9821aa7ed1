package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/har"
)

// importHAR imports a HAR file, all of it: the log of a browser is chosen by whoever saved it, and small.
func (a *app) importHAR(name string, in io.Reader, o *importOptions) error {
	notice := a.noticeUnless(o.quiet)
	var w *har.Writer
	var file *os.File
	var redact *har.Redactor
	if !o.keepSecrets {
		redact = har.NewRedactor()
	}
	n, exact, lacking, replaced := 0, 0, 0, 0
	begun := false
	begin := func(from *har.Header, unused error) error {
		begun = true
		if unused != nil {
			notice("%s: %v", name, unused)
		}
		if o.dryRun {
			return nil
		}
		f, err := a.createCassette(o.out)
		if err != nil {
			return &outputError{err}
		}
		if w, err = har.NewWriter(f, a.harHeader(from, o.keepSecrets), false); err != nil {
			f.Close()
			os.Remove(f.Name())
			return &outputError{fileTrouble(f.Name(), err)}
		}
		file = f
		return nil
	}
	readErr := har.ImportHAR(in, begin, func(x *har.Exchange) error {
		n++
		if !slices.ContainsFunc(x.Notes, func(note string) bool { return strings.HasPrefix(note, har.NoteHAR+":") }) {
			exact++
		}
		if lacks(x) {
			lacking++
		}
		if w == nil {
			return nil
		}
		if redact != nil {
			had := len(x.Redacted)
			redact.Pass(x, [2]int{}, true)
			replaced += len(x.Redacted) - had
		}
		return w.Write(x)
	})
	if failed := (*outputError)(nil); errors.As(readErr, &failed) {
		return failed.error
	}
	if n == 0 && readErr != nil && !(begun && errors.Is(readErr, har.ErrHARCut)) {
		if file != nil {
			file.Close()
			os.Remove(file.Name())
		}
		return fileTrouble(name, readErr)
	}
	if w != nil {
		err := w.Close(har.End{At: a.now().UTC().Truncate(time.Microsecond)})
		if e := file.Close(); err == nil {
			err = e
		}
		if err != nil {
			return fileTrouble(file.Name(), err)
		}
		defer notice("written to %s", file.Name())
	}
	known := "bytes, cuts and endings of the wire are not known"
	switch {
	case exact > 0 && exact == n:
		known = "bytes, cuts and endings are those in _mcptap"
	case exact > 0:
		known = fmt.Sprintf("bytes, cuts and endings of %d are those in _mcptap, of %d they are not known", exact, n-exact)
	}
	notice("%s: %s from a HAR file: %s", name, count(n, "exchange"), known)
	noticeReplaced(notice, name, replaced)
	switch {
	case readErr != nil:
		notice("%s: %v; what stands before it was used", name, readErr)
	case n == 0:
		notice("%s: it has no entries", name)
	}
	if lacking > 0 {
		notice("%s: %s without a response, without all of a body, or without a member that can be read", name, count(lacking, "exchange"))
	}
	if o.strict && (readErr != nil || n == 0 || lacking > 0) {
		return exit(codeFailed)
	}
	return nil
}

// lacks tells whether a HAR file has not all that passed of an exchange, or not so that it can be read.
func lacks(x *har.Exchange) bool {
	return slices.ContainsFunc(x.Notes, func(note string) bool {
		return strings.HasPrefix(note, har.NoteHAR+": no ") || strings.HasPrefix(note, har.NoteGap+":")
	})
}

// An outputError is a failure to begin the cassette, which is none of the HAR file.
type outputError struct{ error }

// harHeader is the header of the cassette: that of the recording which the HAR file was made of, if it has one.
func (a *app) harHeader(from *har.Header, keepSecrets bool) har.Header {
	h := har.Header{Started: a.now().UTC().Truncate(time.Microsecond), Mode: "har", KeepSecrets: true}
	if from != nil {
		h = *from
	}
	if !keepSecrets {
		k := har.Cassette{Header: h}
		har.NewCleaner(nil, false).Clean(&k)
		h = k.Header
	}
	h.Tool = "mcptap " + version()
	return h
}
