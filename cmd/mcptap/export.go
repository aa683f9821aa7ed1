package main

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// An exportFormat writes a recording for another program.
type exportFormat struct {
	name  string
	write func(a *app, w io.Writer, name string) error
}

// exportFormats are those of `export --format`.
var exportFormats = []exportFormat{
	{"pcapng", (*app).writePcapng},
	{"perfetto", (*app).writePerfetto},
	{"otlp-json", (*app).writeOTLP},
}

func exportFormatNames() []string {
	var names []string
	for _, f := range exportFormats {
		names = append(names, f.name)
	}
	return names
}

func (a *app) exportCommand() *cobra.Command {
	var name, out string
	c := &cobra.Command{
		Use:   "export FILE --format FORMAT",
		Short: "write a recording for other programs: packets, a trace to look at, or spans",
		Long: `Export writes a recording in the format of another program (docs/export.md):
pcapng: packets for Wireshark and tshark, as the server saw the connections: bytes, cuts, times and endings as recorded, handshakes and
acknowledgements made up. What was recorded over TLS is written as plaintext. mcptap import reads it back;
perfetto: trace events for ui.perfetto.dev and chrome://tracing, with a track per connection, a slice per exchange and its verdict
under the policy recommended, and each event of a stream;
otlp-json: OpenTelemetry spans, one per conversation and one per exchange below it. The same recording gives the same ids.
HAR is written by mcptap har.`,
		Example: `  mcptap export session.mcptap --format pcapng --out session.pcapng
  mcptap export session.mcptap --format perfetto --out session.trace.json
  mcptap export session.mcptap --format otlp-json --out session.otlp.json`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := oneFile(c, args); err != nil {
				return err
			}
			i := slices.Index(exportFormatNames(), name)
			if i < 0 {
				return usage(c, "--format %s: want one of %s", name, strings.Join(exportFormatNames(), ", "))
			}
			return a.export(args[0], out, &exportFormats[i])
		},
	}
	c.Flags().StringVar(&name, "format", "", "`FORMAT`: "+strings.Join(exportFormatNames(), ", "))
	c.Flags().StringVar(&out, "out", "", "`FILE` to write to; never overwritten (default stdout)")
	complete(c, "format", completeList(exportFormatNames))
	return c
}

// export writes one recording, which is read twice: for what it means, and for its times or bytes.
func (a *app) export(name, out string, f *exportFormat) error {
	if name == stdio {
		remove, err := a.spool()
		if err != nil {
			return err
		}
		defer remove()
	}
	return a.writeTo(out, func(w io.Writer) error { return f.write(a, w, name) })
}
