package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"time"

	"github.com/mcptap/mcptap/har"
)

// followEvery is how often a file that is being written is looked at.
const followEvery = 100 * time.Millisecond

// follow shows a cassette as it is written, up to its end line or ^C. Where the recording goes on in another file (--rotate), so
// does this.
func (a *app) follow(name string, o *showOptions) error {
	stop := make(chan os.Signal, 8)
	signal.Notify(stop, ending()...)
	defer signal.Stop(stop)
	view := live{out: a.stdout, p: a.paint(a.stdout), verbose: o.verbose, json: o.json}
	f, err := a.openFile(name)
	for err == nil {
		file, _ := f.(*os.File)
		t := &followed{f: f, grows: file != nil && name != stdio, stop: stop}
		var r *har.Reader
		if r, err = har.NewFollower(t, har.Limits{}); err != nil {
			err = fileTrouble(name, err)
			break
		}
		view.host = r.Header().To == ""
		view.hide = nil
		if r.Header().KeepSecrets {
			view.hide = har.NewRedactor()
		}
		if err = r.Lines(view.line); err != nil {
			err = fileTrouble(name, err)
			break
		}
		if end := r.End(); end == nil || !end.Next || file == nil {
			a.sayEnd(name, r, &view)
			break
		}
		var next *os.File
		if next, err = t.next(name, file); next == nil {
			break
		}
		f.Close()
		f = next
	}
	if f != nil {
		f.Close()
	}
	if err == nil {
		err = view.err
	}
	return err
}

// sayEnd says how what was followed ended.
func (a *app) sayEnd(name string, r *har.Reader, view *live) {
	switch end := r.End(); {
	case end == nil && r.Cut() != "":
		a.notice("%s: %s: %s not ended", name, r.Cut(), count(len(view.open), "exchange"))
	case end != nil && end.Error != "":
		a.notice("%s: the recording stopped early: %s", name, end.Error)
	}
}

// A followed file is read, and at its end waited for more.
type followed struct {
	f       io.Reader
	grows   bool // it is a file, which more may be written to
	stop    <-chan os.Signal
	stopped bool
}

func (t *followed) Read(p []byte) (int, error) {
	for {
		n, err := t.f.Read(p)
		if n > 0 || !t.grows || !errors.Is(err, io.EOF) || t.wait() {
			return n, err
		}
	}
}

// wait waits until it is time to look again. It is true once nobody wants more.
func (t *followed) wait() (over bool) {
	if t.stopped {
		return true
	}
	pause := time.NewTimer(followEvery)
	defer pause.Stop()
	select {
	case <-t.stop:
		t.stopped = true
	case <-pause.C:
	}
	return t.stopped
}

// next opens the file that a recording goes on in behind was, once it is there. It is nil if nobody wants it any more.
func (t *followed) next(name string, was *os.File) (*os.File, error) {
	here, err := was.Stat()
	if err != nil {
		return nil, err
	}
	for !t.stopped {
		newer, err := newerThan(name, here)
		if err != nil {
			return nil, err
		}
		if newer != "" {
			if f, err := os.Open(newer); !errors.Is(err, fs.ErrNotExist) {
				return f, err
			}
		}
		t.wait()
	}
	return nil, nil
}

// newerThan names the file written behind the one given, "" if that is not there yet: name itself, or where files were moved on
// meanwhile, the one before the place at which it stands now.
func newerThan(name string, here fs.FileInfo) (string, error) {
	newer := ""
	for k := 0; k <= maxRotate; k++ {
		at := rotatedName(name, k)
		st, err := os.Stat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist) && k == 0:
			return "", nil // it is being moved
		case errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("%s: the file that was read has been removed by --rotate before its successor was read", name)
		case err != nil:
			return "", err
		case os.SameFile(st, here):
			return newer, nil
		}
		newer = at
	}
	return newer, nil
}
