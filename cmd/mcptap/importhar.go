package main

import (
	"errors"
	"io"
	"os"
	"time"

	"github.com/mcptap/mcptap/har"
)

// importHAR imports a HAR file, all of it: the log of a browser is chosen by whoever saved it, and small.
func (a *app) importHAR(name string, in io.Reader, o *importOptions) error {
	notice := a.noticeUnless(o.quiet)
	var w *har.Writer
	var file *os.File
	var redact *har.Redactor
	if !o.dryRun {
		f, err := a.createCassette(o.out)
		if err != nil {
			return err
		}
		file = f
		h := har.Header{Tool: "mcptap " + version(), Started: a.now().UTC().Truncate(time.Microsecond), Mode: "har", KeepSecrets: o.keepSecrets}
		if w, err = har.NewWriter(f, h, false); err != nil {
			f.Close()
			os.Remove(f.Name())
			return fileTrouble(f.Name(), err)
		}
	}
	if !o.keepSecrets {
		redact = har.NewRedactor()
	}
	n := 0
	readErr := har.ImportHAR(in, func(x *har.Exchange) error {
		n++
		if w == nil {
			return nil
		}
		if redact != nil {
			redact.Pass(x, [2]int{}, true)
		}
		return w.Write(x)
	})
	if n == 0 && readErr != nil && !errors.Is(readErr, har.ErrHARCut) {
		if file != nil {
			file.Close()
			os.Remove(file.Name())
		}
		return notCapture(name, readErr)
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
	notice("%s: %s from a HAR file: bytes, cuts and endings of the wire are not known", name, count(n, "exchange"))
	if readErr != nil {
		notice("%s: %v; what stands before it was used", name, readErr)
		if o.strict {
			return exit(codeFailed)
		}
	}
	return nil
}
