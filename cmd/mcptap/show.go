package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcptap/mcptap/har"
)

type showOptions struct {
	raw  string
	json bool

	follow, verbose bool

	stderr bool
}

func (a *app) showCommand() *cobra.Command {
	var o showOptions
	c := &cobra.Command{
		Use:   "show FILE [N]",
		Short: "list the exchanges of a recording, or print one",
		Long: `Show lists the exchanges of a recording in order of their requests; with N it prints exchange N: heads, bodies, events
with their times, cuts, the ending. Control characters and terminal escapes are shown as \x1b. --raw writes the recorded
bytes of one side of exchange N as they are. --follow shows a line per exchange as it ends, also of a file that is being written,
with the verdict of the policy recommended (~> where it may change). FILE may be -, corpus:NAME, or what import reads: a packet capture or HAR.`,
		Example: `  mcptap show session.mcptap
  mcptap show session.mcptap 3
  mcptap show session.mcptap 3 --raw response > answer.bin
  mcptap show session.mcptap --json
  mcptap show session.mcptap --follow`,
		RunE: func(c *cobra.Command, args []string) error {
			return a.show(c, args, &o)
		},
	}
	c.Flags().StringVar(&o.raw, "raw", "", "write the exact bytes of one `SIDE` of exchange N: request or response")
	c.Flags().BoolVar(&o.follow, "follow", false, "show exchanges as they are recorded, until the recording ends or ^C")
	c.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "with --follow, each event of a stream too")
	c.Flags().BoolVar(&o.stderr, "stderr", false, "print what a recorded process wrote to its stderr, and how it ended")
	c.Flags().BoolVar(&o.json, "json", false, "one JSON object per exchange and line")
	return c
}

func (a *app) show(c *cobra.Command, args []string, o *showOptions) error {
	if len(args) < 1 || len(args) > 2 {
		return usage(c, "want FILE or FILE N, got %d arguments", len(args))
	}
	if o.raw != "" && o.raw != "request" && o.raw != "response" {
		return usage(c, "--raw %s: want request or response", o.raw)
	}
	if o.raw != "" && len(args) < 2 {
		return usage(c, "--raw needs N, the exchange")
	}
	if o.raw != "" && o.json {
		return usage(c, "--raw and --json exclude one another")
	}
	if o.verbose && !o.follow {
		return usage(c, "-v needs --follow")
	}
	if o.follow {
		if len(args) > 1 || o.raw != "" || o.stderr {
			return usage(c, "--follow wants FILE alone")
		}
		return a.follow(args[0], o)
	}
	if o.stderr {
		if len(args) > 1 || o.json || o.raw != "" {
			return usage(c, "--stderr wants FILE alone")
		}
		return a.showStderr(args[0])
	}
	if len(args) == 1 {
		return a.showAll(args[0], 0, o)
	}
	n, err := strconv.Atoi(args[1])
	if err != nil || n < 1 {
		return usage(c, "%s: want N, the number of an exchange, from 1", args[1])
	}
	if o.json {
		return a.showAll(args[0], n, o)
	}
	return a.showOne(args[0], n, o)
}

// showAll lists the exchanges of a file, or with only > 0 that one. What could be read is listed even where an error follows.
func (a *app) showAll(name string, only int, o *showOptions) error {
	rows, err := a.rows(name)
	if rows == nil && err != nil {
		return err
	}
	if only > 0 && err == nil {
		if rows = rowsOf(rows, only); rows == nil {
			return noExchange(name, only)
		}
	}
	var e error
	if o.json {
		e = writeRowsJSON(a.stdout, rows)
	} else {
		e = a.writeRows(rows)
	}
	if err != nil {
		return err
	}
	return e
}

func rowsOf(rows []row, n int) []row {
	for i := range rows {
		if rows[i].N == n {
			return rows[i : i+1]
		}
	}
	return nil
}

func noExchange(name string, n int) error {
	return &trouble{fmt.Errorf("%s: no exchange %d", name, n), "mcptap show " + name + " lists them"}
}

func writeRowsJSON(w io.Writer, rows []row) error {
	enc := json.NewEncoder(jsonSafe{w})
	enc.SetEscapeHTML(false)
	for i := range rows {
		if err := enc.Encode(&rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// writeRows prints the table.
func (a *app) writeRows(rows []row) error {
	p := a.paint(a.stdout)
	cells := make([][]cell, 0, len(rows))
	for i := range rows {
		r := &rows[i]
		status, style := "-", statusStyle(p, r.Status)
		switch {
		case r.Status != 0:
			status = strconv.Itoa(r.Status)
		case strings.HasPrefix(r.URL, har.StdioScheme): // where there is none
			style = nil
		}
		cells = append(cells, []cell{
			number(strconv.Itoa(r.N)), number(conversationText(r.Conversation)), text(r.what()),
			text(clip(strings.TrimSpace(r.Method+" "+requested(r)), 48)), {text: status, right: true, style: style}, text(orDash(r.MediaType)),
			{text: string(r.End), style: endStyle(p, r.End)}, number(strconv.Itoa(r.RequestBytes)), number(strconv.Itoa(r.ResponseBytes)),
			number(millis(r.duration)), text(r.remarks()),
		})
	}
	return writeTable(a.stdout, p, []string{"n", "conv", "what", "request", "status", "type", "end", "sent", "got", "ms", "notes"}, cells)
}

func statusStyle(p paint, status int) func(string) string {
	switch {
	case status >= 500 || status == 0:
		return p.red
	case status >= 400:
		return p.yellow
	}
	return nil
}

func endStyle(p paint, e har.Ending) func(string) string {
	switch e {
	case har.EndRST, har.EndNoCloseNotify:
		return p.red
	case har.EndHang, har.EndClientRST, har.EndStopped, har.EndUnknown:
		return p.yellow
	}
	return nil
}

// requested is the target of a request: of CONNECT, host and port.
func requested(r *row) string {
	if u, err := url.Parse(r.URL); err == nil && r.Method == "CONNECT" {
		return u.Host
	}
	return pathOf(r.URL)
}

// pathOf is the path and query of an absolute URL, as far as it is one.
func pathOf(absolute string) string {
	u, err := url.Parse(absolute)
	if err != nil || u.Host == "" {
		return absolute
	}
	return u.RequestURI()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// millis writes a duration in milliseconds with one decimal.
func millis(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)) }
