package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// maxShown is how many bytes of one body or event are printed; --raw gives the rest.
const maxShown = 64 << 10

// showOne prints one exchange, or with --raw the bytes of one of its sides.
func (a *app) showOne(name string, n int, o *showOptions) error {
	x, err := a.find(name, n)
	if err != nil {
		return err
	}
	switch o.raw {
	case "request":
		_, err = a.stdout.Write(x.Request.Raw)
	case "response":
		_, err = a.stdout.Write(x.Response.Raw)
	default:
		_, err = io.WriteString(a.stdout, printExchange(x, a.paint(a.stdout)))
	}
	return err
}

// find reads a file up to exchange n.
func (a *app) find(name string, n int) (*har.Exchange, error) {
	r, err := a.open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for x, err := range r.all {
		if err != nil {
			return nil, err
		}
		if x.N == n {
			return x, nil
		}
	}
	r.reportCut(a.notice)
	return nil, noExchange(name, n)
}

// A page is the readable form of one exchange while it is written.
type page struct {
	strings.Builder
	x *har.Exchange
	v *har.View
	p paint
}

// printExchange gives the readable form of one exchange. Nothing in it steers a terminal.
func printExchange(x *har.Exchange, p paint) string {
	g := &page{x: x, v: x.View(), p: p}
	g.summary()
	g.request()
	g.response()
	return g.String()
}

func (g *page) line(format string, args ...any) {
	g.WriteString(oneLine(fmt.Sprintf(format, args...)) + "\n")
}

// place is what was asked for: a method with a URL, or a process.
func (g *page) place() string {
	if g.v.Stdio {
		return g.x.URL
	}
	return orDash(g.x.Method) + " " + orDash(g.x.URL)
}

// summary prints what is known beside the bytes.
func (g *page) summary() {
	x := g.x
	g.WriteString(g.p.bold(oneLine(fmt.Sprintf("exchange %d: %s", x.N, g.place()))) + "\n")
	g.line("started    %s on connection %d (%s to %s), exchange %d there", x.Started.Format(time.RFC3339Nano), x.Conn, x.Client, x.Server, x.Seq)
	end := string(x.End)
	if g.v.Stdio && x.End != har.EndKeep && x.End != har.EndUnknown && len(x.Response.Raw) == 0 {
		end += fmt.Sprintf(", %s ms after the start", millis(x.EndAt))
	} else if x.End != har.EndKeep && x.End != har.EndUnknown {
		end += fmt.Sprintf(", %s ms after the start, behind byte %d of the response", millis(x.EndAt), x.EndOff)
	}
	g.line("ended      %s", end)
	complete := map[har.Tri]string{har.True: "yes", har.False: "no", har.Unknown: "cannot tell"}[g.v.Complete]
	if g.v.Why != "" {
		complete += ": " + g.v.Why
	}
	g.line("complete   %s", complete)
	for _, e := range x.Edits {
		old := ""
		if e.Off >= 0 && e.Len >= 0 && e.Off+e.Len <= len(x.Request.Raw) {
			old = excerpt(x.Request.Raw[e.Off:e.Off+e.Len], 80)
		}
		g.line("edited     request byte %d: %s was sent on as %s", e.Off, old, excerpt([]byte(e.New), 80))
	}
	for _, r := range x.Redacted {
		g.line("replaced   %s bytes %d to %d (%s)", r.Dir, r.Off, r.Off+r.Len, r.Kind)
	}
	for _, n := range x.Notes {
		g.line("note       %s", n)
	}
	if g.v.Late > 0 {
		g.line("late       the last %d bytes of the response came after the client had left", g.v.Late)
	}
}

func (g *page) request() {
	g.side("request", g.x.Request)
	if m := g.v.Request; m != nil {
		g.head(g.x.Request.Raw, m)
		g.body(g.v.RequestBody())
		g.trailers(m)
	}
	if g.v.Stdio {
		g.body(g.v.RequestBody())
	}
	g.tail(g.x.Request.Raw, g.v.RequestTail)
}

func (g *page) response() {
	g.side("response", g.x.Response)
	for i := range g.v.Interim {
		g.head(g.x.Response.Raw, &g.v.Interim[i])
	}
	if m := g.v.Response; m != nil {
		g.head(g.x.Response.Raw, m)
		body, err := g.v.ResponseBody()
		if g.v.SSE() {
			g.events()
		} else {
			g.body(body)
		}
		if err != nil {
			g.line("  (%v)", err)
		}
		g.trailers(m)
	}
	if g.v.Stdio {
		line, _ := g.v.ResponseBody()
		g.body(line)
	}
	g.tail(g.x.Response.Raw, g.v.ResponseTail)
}

// side prints the heading of one direction with its cuts.
func (g *page) side(name string, s har.Side) {
	g.WriteString("\n" + g.p.bold(name) + "\n")
	var cuts []string
	for i, w := range s.Writes {
		if i == 20 {
			cuts = append(cuts, fmt.Sprintf("… %d more", len(s.Writes)-i))
			break
		}
		cuts = append(cuts, fmt.Sprintf("%d at %s ms", w.Len, millis(w.At)))
	}
	if len(s.Raw) == 0 {
		cuts = []string{"nothing came"}
	}
	g.line("  %s: %s", count(len(s.Raw), "byte"), strings.Join(cuts, ", "))
}

// head prints a message's head as it was sent, and what is wrong with it.
func (g *page) head(raw []byte, m *wire.Message) {
	g.WriteString("\n")
	g.text(strings.TrimRight(strings.ReplaceAll(string(raw[m.Off:m.Off+m.Len]), "\r\n", "\n"), "\n"))
	for _, f := range append(append([]string{}, m.Head.Faults...), m.Faults...) {
		g.line("  (%s)", f)
	}
}

func (g *page) trailers(m *wire.Message) {
	for _, f := range m.Trailers {
		g.line("  %s: %s", f.Name, f.Value)
	}
}

// body prints a payload, JSON indented.
func (g *page) body(b []byte) {
	if len(b) == 0 {
		return
	}
	g.WriteString("\n")
	g.text(readable(b))
}

// events prints an event stream with the time at which each event was whole.
func (g *page) events() {
	for i, e := range g.v.Events() {
		at := ""
		if raw, ok := g.v.At(wire.ToClient, e.Span); ok {
			at = " at " + millis(writtenAt(g.x.Response, raw.End())) + " ms"
		}
		what := e.Type
		switch {
		case !e.Complete:
			what = "unfinished " + e.Type
		case e.Data == nil:
			what = "no data"
		case e.Type == "":
			what = "message"
		}
		if e.HasID {
			what += ", id " + e.ID
		}
		if e.Retry >= 0 {
			what += fmt.Sprintf(", retry %d ms", e.Retry)
		}
		g.WriteString("\n")
		g.line("  event %d%s: %s, %s", i+1, at, count(e.Len, "byte"), what)
		if len(e.Data) > 0 {
			g.text(readable(e.Data))
		}
	}
}

// tail prints bytes that belong to no message.
func (g *page) tail(raw []byte, s wire.Span) {
	if s.Len == 0 {
		return
	}
	g.WriteString("\n")
	g.line("  %s at %d that belong to no message:", count(s.Len, "byte"), s.Off)
	g.text(string(raw[s.Off : s.Off+min(s.Len, maxShown)]))
}

// text prints lines of content, indented.
func (g *page) text(s string) {
	for line := range strings.SplitSeq(visible(s), "\n") {
		g.WriteString("  " + line + "\n")
	}
}

// readable is a payload for a person: JSON indented, long ones cut.
func readable(b []byte) string {
	if len(b) > maxShown {
		return fmt.Sprintf("%s… %d more bytes, see --raw", b[:maxShown], len(b)-maxShown)
	}
	var pretty bytes.Buffer
	if wire.ParseRPC(b).JSON && json.Indent(&pretty, b, "", "  ") == nil {
		return pretty.String()
	}
	return strings.TrimRight(string(b), "\n")
}

// writtenAt is when the byte before off had come.
func writtenAt(s har.Side, off int) time.Duration {
	for _, w := range s.Writes {
		if off -= w.Len; off <= 0 {
			return w.At
		}
	}
	return 0
}
