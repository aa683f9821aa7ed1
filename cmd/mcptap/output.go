package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// create makes a new file for writing. An existing one is never overwritten.
func create(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if !errors.Is(err, fs.ErrNotExist) {
		if err != nil {
			err = fileTrouble(name, err)
		}
		return f, err
	}
	folder := filepath.Dir(name)
	if st, e := os.Stat(folder); e == nil && st.IsDir() {
		return nil, &trouble{fmt.Errorf("%s: no file can be made in %s", name, folder), "name a file in another folder"}
	}
	return nil, &trouble{fmt.Errorf("%s: there is no folder %s", name, folder), "make the folder first: mkdir -p " + folder}
}

// createCassette makes the file that --out names, or without a name mcptap-YYYYMMDD-HHMMSS.mcptap in the current folder,
// with -2, -3, … where runs begin in one second.
func (a *app) createCassette(name string) (*os.File, error) {
	if name != "" {
		return create(name)
	}
	stem := "mcptap-" + a.now().Format("20060102-150405")
	name = stem + ".mcptap"
	for n := 2; ; n++ {
		f, err := create(name)
		if !errors.Is(err, fs.ErrExist) || n > 99 {
			return f, err
		}
		name = fmt.Sprintf("%s-%d.mcptap", stem, n)
	}
}

// writeTo runs write on the file that --out names, "" and "-" meaning stdout.
func (a *app) writeTo(name string, write func(io.Writer) error) error {
	o, err := a.newOutput(name)
	if err != nil {
		return err
	}
	return o.write(write)
}

// An output is what --out names, made before the work begins whose result it gets: a file that exists is told of at once.
type output struct {
	w io.Writer
	f *os.File // nil: stdout, or written
}

// newOutput makes the file that --out names; "" and "-" mean stdout.
func (a *app) newOutput(name string) (*output, error) {
	if name == "" || name == stdio {
		return &output{w: a.stdout}, nil
	}
	f, err := create(name)
	return &output{w: f, f: f}, err
}

// write runs write, once.
func (o *output) write(write func(io.Writer) error) error {
	if o.f == nil {
		return write(o.w)
	}
	f := o.f
	o.f = nil
	return finish(f, write)
}

// drop removes the file if nothing has been written.
func (o *output) drop() {
	if o.f != nil {
		o.f.Close()
		os.Remove(o.f.Name())
	}
}

// finish writes and closes a new file. One that could not be written whole is removed.
func finish(f *os.File, write func(io.Writer) error) error {
	err := write(f)
	if e := f.Close(); err == nil && e != nil {
		err = fileTrouble(f.Name(), e)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
