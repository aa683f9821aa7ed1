package main

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/har"
)

func (a *app) repairCommand() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "repair FILE",
		Short: "copy what is whole in a torn or damaged recording",
		Long: `Repair writes a new cassette with every exchange that can still be read in FILE, also behind damage, and an end line
that says so; FILE itself stays as it is. An exchange that was under way at a damaged place is cut there: what follows of it may
lack a part. It says what was kept and what was lost, and prints the new file's name.`,
		Example: `  mcptap repair session.mcptap --out whole.mcptap`,
		Args:    oneFile,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.repair(args[0], out)
		},
	}
	c.Flags().StringVar(&out, "out", "", "`FILE` to write to, - for stdout (default mcptap-YYYYMMDD-HHMMSS.mcptap)")
	return c
}

func (a *app) repair(name, out string) error {
	in, err := a.openFile(name)
	if err != nil {
		return fileTrouble(name, err)
	}
	defer in.Close()
	file := "" // written to, "" for stdout
	write := func(w io.Writer) error {
		to, reason := &noting{w: w}, stopReason()
		kept, left, err := har.Repair(in, io.MultiWriter(to, reason), har.Limits{})
		stopped := reason.end()
		if to.err != nil {
			return fileTrouble(cmp.Or(file, "stdout"), to.err)
		}
		if err != nil {
			return fileTrouble(name, err)
		}
		if left == "" {
			left = "nothing was lost"
		}
		a.notice("%s: %s kept; %s", name, count(kept, "exchange"), left)
		if stopped != "" {
			a.notice("%s: the recording stopped early: %s", name, stopped)
		}
		return nil
	}
	if out == stdio {
		return write(a.stdout)
	}
	f, err := a.createCassette(out)
	if err != nil {
		return err
	}
	file = f.Name()
	if err := finish(f, write); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.stdout, f.Name())
	return err
}

// A noting keeps the error of a write, which tells it from one of reading.
type noting struct {
	w   io.Writer
	err error
}

func (n *noting) Write(p []byte) (int, error) {
	k, err := n.w.Write(p)
	if err != nil {
		n.err = err
	}
	return k, err
}

// A stopReader reads a cassette that is written to it, for why its recording stopped early.
type stopReader struct {
	*io.PipeWriter
	found chan string
}

func stopReason() stopReader {
	in, out := io.Pipe()
	s := stopReader{out, make(chan string, 1)}
	go func() {
		reason := ""
		if r, err := har.NewReader(in, har.Limits{}); err == nil {
			for range r.All() {
				continue
			}
			if e := r.End(); e != nil {
				reason = e.Error
			}
		}
		io.Copy(io.Discard, in)
		s.found <- reason
	}()
	return s
}

// end returns the reason, "" if there is none. Nothing is written behind it.
func (s stopReader) end() string {
	s.Close()
	return <-s.found
}
