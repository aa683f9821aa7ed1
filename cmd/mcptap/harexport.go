package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/har"
)

func (a *app) harCommand() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "har FILE",
		Short: "export a recording as HAR 1.2",
		Long: `Har writes a recording as an HTTP Archive (HAR 1.2), which browsers and HTTP tools read, failed exchanges included. What HAR has no
place for (exact bytes, cuts, endings) stands in _mcptap, from which mcptap import makes the same exchanges again (docs/import.md).`,
		Example: `  mcptap har session.mcptap --out session.har`,
		Args:    oneFile,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.har(args[0], out)
		},
	}
	c.Flags().StringVar(&out, "out", "", "`FILE` to write to (default stdout)")
	return c
}

func (a *app) har(name, out string) error {
	in, err := a.open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	err = a.writeTo(out, func(w io.Writer) error {
		return har.ExportHAR(jsonSafe{w}, in.header, in.all)
	})
	in.reportCut(a.notice)
	return err
}
