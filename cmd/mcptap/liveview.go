package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// Bounds of a live view.
const (
	liveBytes = 256 << 10 // of one exchange that are looked at; of an event stream, of what follows the last whole event
	liveOpen  = 4096      // exchanges under way at once
	liveTotal = 64 << 20  // bytes of those
	liveShown = 120       // characters of a value
	liveEvent = 200       // characters of an event
)

// A live view shows exchanges as they come: a line for each when it has ended, and if it is verbose, one when the answer to
// it begins to stream and one for each event. It takes the lines of a cassette, so secrets are replaced as they are there.
type live struct {
	out     io.Writer
	p       paint
	verbose bool
	host    bool          // there are several servers: name them
	hide    *har.Redactor // for recordings that keep their secrets; nil where none are there
	json    bool          // rows as JSON
	allowed func() bool   // whether a line may be shown now; nil: always
	hidden  int           // lines that were not

	open  map[livePlace]*liveExchange
	bytes int
	court court
	err   error
}

type livePlace struct {
	conn uint64
	seq  int
}

// A liveExchange is one that is under way. Its bytes are those that are looked at.
type liveExchange struct {
	har.Exchange
	size     [2]int // bytes that came
	short    bool   // some of them are not here
	said     bool   // that its answer streams
	shown    int    // events
	consumed int    // bytes of the stream that were looked at and dropped
}

// line takes one line of the cassette. x is used only until it returns.
func (l *live) line(x *har.Exchange, more bool) {
	at := livePlace{x.Conn, x.Seq}
	e := l.open[at]
	if e == nil {
		if more || len(l.open) >= liveOpen {
			return // it has been shown, or its beginning was not seen
		}
		e = &liveExchange{Exchange: *x}
		e.Request, e.Response, e.Notes, e.Edits = har.Side{}, har.Side{}, nil, nil
		if l.open == nil {
			l.open = map[livePlace]*liveExchange{}
		}
		l.open[at] = e
	}
	l.grow(e, x)
	if l.verbose && !l.json && e.streams() {
		l.events(e)
	}
	if x.End == "" {
		return
	}
	delete(l.open, at)
	l.bytes -= e.held()
	l.ended(e)
}

// grow adds what is new.
func (l *live) grow(e *liveExchange, x *har.Exchange) {
	e.Method, e.URL = orElse(x.Method, e.Method), orElse(x.URL, e.URL)
	e.MediaType = orElse(x.MediaType, e.MediaType)
	if x.Status != 0 {
		e.Status = x.Status
	}
	e.Notes, e.Edits = append(e.Notes, x.Notes...), append(e.Edits, x.Edits...)
	if e.End, e.EndOff = x.End, x.EndOff; x.End != har.EndKeep && x.End != har.EndUnknown {
		e.EndAt = x.EndAt
	}
	before := e.held()
	for d, s := range []*har.Side{&x.Request, &x.Response} {
		came := lengthOf(s)
		e.size[d] += came
		to := &e.Request
		if d == int(wire.ToClient) {
			to = &e.Response
		}
		if e.short || came > len(s.Raw) || e.held()+came > liveBytes || l.bytes+e.held()-before+came > liveTotal {
			e.short = e.short || came > 0
			if n := len(s.Writes); n > 0 && len(to.Writes) > 0 {
				to.Writes[len(to.Writes)-1].At = s.Writes[n-1].At
			}
			continue
		}
		to.Raw, to.Writes = append(to.Raw, s.Raw...), append(to.Writes, s.Writes...)
	}
	l.bytes += e.held() - before
}

// lengthOf is how many bytes a side has; of one that came too long, Writes alone tell.
func lengthOf(s *har.Side) int {
	if len(s.Raw) > 0 {
		return len(s.Raw)
	}
	n := 0
	for _, w := range s.Writes {
		n += w.Len
	}
	return n
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}

func (e *liveExchange) held() int { return len(e.Request.Raw) + len(e.Response.Raw) }

func (e *liveExchange) streams() bool { return e.MediaType == "text/event-stream" }

// events shows the events that have become whole, and drops them.
func (l *live) events(e *liveExchange) {
	x := e.Exchange
	x.End = har.EndStopped
	if l.hide != nil {
		x = *cloned(&x)
		l.hide.Pass(&x, [2]int{}, true)
	}
	if !e.said {
		e.said = true
		l.print(fmt.Sprintf("%s %s  %s", l.mark(e, e.Started), l.asked(x.Method, x.URL), l.p.dim("the answer streams: "+strconv.Itoa(e.Status)+" "+e.MediaType)))
	}
	v := x.View()
	var last wire.Span
	skip := e.consumed
	for _, ev := range v.Events() {
		raw, ok := v.At(wire.ToClient, ev.Span)
		if !ok || !ev.Complete {
			break
		}
		last = raw
		if skip > 0 {
			skip--
			continue
		}
		e.consumed++
		if !ev.Dispatched() {
			continue
		}
		e.shown++
		if l.allowed != nil && !l.allowed() {
			l.hidden++
			continue
		}
		l.print(fmt.Sprintf("%s event %d %s", l.mark(e, e.Started.Add(writtenAt(e.Response, raw.End()))), e.shown, l.eventText(&ev)))
	}
	if last.Len > 0 {
		l.drop(e, v, last.End())
	}
}

func (l *live) eventText(ev *wire.Event) string {
	words := ""
	if ev.Type != "" && ev.Type != "message" {
		words += ev.Type + " "
	}
	if ev.HasID {
		words += "id " + ev.ID + " "
	}
	return excerpt([]byte(words+string(ev.Data)), liveEvent)
}

// drop lets go of stream bytes up to off, or in a chunked body up to the last chunk before it, if there are many.
func (l *live) drop(e *liveExchange, v *har.View, off int) {
	m := v.Response
	if len(e.Response.Raw) < liveBytes/4 || len(m.Body) == 0 {
		return
	}
	from := m.Body[0].Off
	if m.Framing == wire.ByChunks {
		from = m.Off + m.Len
		end := from
		for _, s := range m.Body {
			if s.End() > off || s.End()+2 > len(e.Response.Raw) {
				break
			}
			end = s.End() + 2
		}
		off = end
	}
	if off <= from {
		return
	}
	rest := 0
	for _, ev := range v.Events() {
		if raw, ok := v.At(wire.ToClient, ev.Span); ok && ev.Complete && raw.End() > off {
			rest++
		}
	}
	at := writtenAt(e.Response, len(e.Response.Raw))
	l.bytes -= off - from
	e.Response.Raw = slices.Delete(e.Response.Raw, from, off)
	e.Response.Writes = []har.Write{{At: at, Len: len(e.Response.Raw)}}
	e.consumed, e.short = rest, e.short || l.json
	e.Notes = append(slices.DeleteFunc(e.Notes, isLiveNote), liveNote)
}

// liveNote marks an exchange of which not all bytes are at hand. It is not in the recording.
const liveNote = har.NoteLimit + ": not all bytes are looked at while recording"

func isLiveNote(n string) bool { return n == liveNote }

// ended shows an exchange that has ended.
func (l *live) ended(e *liveExchange) {
	if l.allowed != nil && !l.allowed() {
		l.hidden++
		return
	}
	x := &e.Exchange
	if e.short {
		x.Notes = append(slices.DeleteFunc(x.Notes, isLiveNote), liveNote)
	}
	if l.hide != nil {
		x = cloned(x)
		l.hide.Pass(x, [2]int{}, true)
	}
	j := l.court.judge(x)
	r := rowOf(x)
	r.Class, r.RequestBytes, r.ResponseBytes = j.class, e.size[wire.ToServer], e.size[wire.ToClient]
	r.Events = max(r.Events, e.shown)
	r.Notes = slices.DeleteFunc(r.Notes, isLiveNote)
	if e.short {
		r.Complete = nil
	}
	if l.json {
		l.fail(writeRowsJSON(l.out, []row{r}))
		return
	}
	l.print(l.row(e, &r, j))
	if words := bypass(x.View()); words != "" && l.court.isNews(words) {
		l.print(l.mark(e, e.Started.Add(r.duration)) + "  " + l.p.yellow(oneLine(clip(words, 2*liveShown))))
	}
}

// row is the line of an exchange.
func (l *live) row(e *liveExchange, r *row, j judgement) string {
	status := l.p.red("no answer")
	if r.Status != 0 {
		status = strconv.Itoa(r.Status)
		if s := statusStyle(l.p, r.Status); s != nil {
			status = s(status)
		}
	} else if r.URL != "" && strings.HasPrefix(r.URL, har.StdioScheme) {
		status = ""
	}
	words := []string{l.mark(e, e.Started.Add(r.duration)), clip(oneLine(r.what()), liveShown), l.asked(r.Method, r.URL), status, r.MediaType}
	if r.End != har.EndKeep {
		end := string(r.End)
		if s := endStyle(l.p, r.End); s != nil {
			end = s(end)
		}
		words = append(words, end)
	}
	words = append(words, millis(r.duration)+" ms", fmt.Sprintf("%d/%d B", r.RequestBytes, r.ResponseBytes))
	if m := r.remarks(); m != "" && !(r.Status == 0 && m == "no answer") {
		words = append(words, "("+clip(oneLine(m), liveShown)+")")
	}
	if verdict := j.words(); verdict != "" {
		words = append(words, l.p.bold(oneLine(verdict)))
	}
	return strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), "  ")
}

// mark begins a line: when it was, and which exchange.
func (l *live) mark(e *liveExchange, at time.Time) string {
	return l.p.dim(at.Format("15:04:05.000")) + " #" + strconv.Itoa(e.N)
}

// asked is what was asked for, the server named where there are several.
func (l *live) asked(method, url string) string {
	if strings.HasPrefix(url, har.StdioScheme) {
		return ""
	}
	place := pathOf(url)
	if l.host || method == "CONNECT" {
		place = url
	}
	return clip(oneLine(strings.TrimSpace(method+" "+place)), liveShown)
}

func (l *live) print(line string) {
	if l.err == nil {
		_, err := io.WriteString(l.out, line+"\n")
		l.fail(err)
	}
}

func (l *live) fail(err error) {
	if l.err == nil {
		l.err = err
	}
}

// cloned is a copy of x that shares no bytes with it.
func cloned(x *har.Exchange) *har.Exchange {
	y := *x
	y.Request.Raw, y.Response.Raw = slices.Clone(x.Request.Raw), slices.Clone(x.Response.Raw)
	y.Edits, y.Redacted = slices.Clone(x.Edits), nil
	return &y
}
