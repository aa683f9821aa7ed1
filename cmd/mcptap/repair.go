package main

import (
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
		Long: `Repair writes a new cassette with every exchange that can still be read in FILE and an end line that says so; FILE
itself stays as it is. It prints the new file's name.`,
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
	write := func(w io.Writer) error {
		kept, left, err := har.Repair(in, w, har.Limits{})
		if err != nil {
			return fileTrouble(name, err)
		}
		if left == "" {
			left = "nothing was lost"
		}
		a.notice("%s: %s kept; %s", name, count(kept, "exchange"), left)
		return nil
	}
	if out == stdio {
		return write(a.stdout)
	}
	f, err := a.createCassette(out)
	if err != nil {
		return err
	}
	if err := finish(f, write); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.stdout, f.Name())
	return err
}
