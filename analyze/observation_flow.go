package analyze

import (
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// flowFacts are what an event stream carried, beside the reply, and when it came.
type flowFacts struct {
	asked    []ask // requests of the server, the first maxAsked
	requests int
	pings    int
	progress int
	updates  int // notifications/resources/updated and list_changed
	others   int // other notifications

	burst  burst         // the greatest run of items that came at once after a long silence
	first  time.Duration // since started: when the first item was whole; -1 if none was
	silent time.Duration // from the last byte to the end

	doubled spanned // a second reply to the stream's own request
	junk    spanned // the first event, before the reply, that is no JSON-RPC message
}

// An ask is a request of the server.
type ask struct {
	key, method string
	at          time.Time
	where       spanned
}

// maxAsked bounds the server's requests that are kept of one stream.
const maxAsked = 1 << 10

// A burst is a run of items that came together although they were not made together: progress, keep-alives, events of
// different steps.
type burst struct {
	items, progress, keepalives int
	wait                        time.Duration // before it
	at                          time.Duration // since started
	where                       spanned
}

const (
	atOnce     = 20 * time.Millisecond // items this close came at once
	longEnough = 5 * time.Second       // a silence that is worth speaking of
)

// flowReader fills flowFacts event by event.
type flowReader struct {
	f    *facts
	v    *har.View
	run  burst
	last time.Duration // when the item before came
}

func (f *facts) newFlow(v *har.View) flowReader {
	f.flow = &flowFacts{first: -1}
	r := flowReader{f: f, v: v}
	for _, w := range v.X.Request.Writes {
		r.last = max(r.last, w.At)
	}
	return r
}

// item takes the next event or comment of the stream.
func (r *flowReader) item(e *wire.Event, m *message) {
	if !e.Complete && e.Comments == 0 {
		return
	}
	at := r.f.eventTime(r.v, e)
	if r.f.flow.first < 0 {
		r.f.flow.first = at
	}
	if r.run.items == 0 || at-r.run.at > atOnce {
		r.flush()
		r.run = burst{wait: at - r.last, at: at}
	}
	r.last = at
	r.run.items++
	if raw, ok := r.v.At(wire.ToClient, e.Span); ok {
		if r.run.where.len == 0 {
			r.run.where = spanned{raw.Off, raw.Len, true}
		} else {
			r.run.where.len = raw.End() - r.run.where.off
		}
	}
	switch {
	case m == nil:
		r.run.keepalives++
	case m.method == "notifications/progress":
		r.f.flow.progress++
		r.run.progress++
	case m.kind == replyNo && m.idState == "present":
		r.ask(e, m, at)
	case m.kind == replyNo && (m.method == "notifications/resources/updated" || listChanged(m.method)):
		r.f.flow.updates++
	case m.kind == replyNo:
		r.f.flow.others++
	}
}

func (r *flowReader) ask(e *wire.Event, m *message, at time.Duration) {
	f := r.f
	f.flow.requests++
	if m.method == "ping" {
		f.flow.pings++
		r.run.keepalives++
	}
	if len(f.flow.asked) < maxAsked {
		raw, ok := r.v.At(wire.ToClient, e.Span)
		f.flow.asked = append(f.flow.asked, ask{m.key, m.method, f.started.Add(at), spanned{raw.Off, raw.Len, ok}})
	}
}

// flush keeps the run at hand if it is the greatest of those that came after a long silence.
func (r *flowReader) flush() {
	if b := &r.f.flow.burst; r.run.wait >= longEnough && r.run.items > b.items {
		*b = r.run
	}
}

// end is behind the last event.
func (r *flowReader) end() {
	r.flush()
	f := r.f
	last := f.firstByte
	for _, w := range r.v.X.Response.Writes {
		last = max(last, w.At)
	}
	if r.v.X.End != har.EndKeep && r.v.X.End != har.EndUnknown {
		f.flow.silent = max(r.v.X.EndAt-last, 0)
	}
}

func listChanged(method string) bool {
	return method == "notifications/tools/list_changed" || method == "notifications/prompts/list_changed" || method == "notifications/resources/list_changed"
}
