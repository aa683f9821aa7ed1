package caller

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// A Resend sends recorded requests to a live server once more: in their order, each when what came before it in the
// recording has come again. What the server chose (session ids, cursors, event ids, the ids of its own requests, message
// endpoints, OAuth tokens) is carried over from the live answers; all else is sent as it was recorded.
type Resend struct {
	Caller *Caller
	URL    *url.URL      // in place of the recorded endpoint
	Header []string      // header lines of each request, "Name: value", in place of its own of that name
	Wait   time.Duration // for whatever is waited for

	origin, endpoint string // as recorded
	carried          carried
	beside           []*beside
}

// A Pair is a recorded exchange and what came of its request.
type Pair struct {
	Was, Now *har.Exchange // Now is nil if it was not sent
	Notes    []string      // why not, or what could not be carried over
}

// A beside is a call that was under way in the recording while others were made.
type beside struct {
	was  *har.Exchange
	call *Call
	pair *Pair
}

// Run sends the requests of exchanges, which are in order of N. The error is that of Caller.Send; pairs are what was done until
// then.
func (r *Resend) Run(xs []*har.Exchange) (pairs []*Pair, err error) {
	r.origin, r.endpoint = endpoint(xs)
	r.carried = newCarried()
	for i, x := range xs {
		p := &Pair{Was: x}
		pairs = append(pairs, p)
		if why := r.unfit(x); why != "" {
			p.Notes = []string{"not sent: " + why}
			continue
		}
		r.catchUp(x)
		raw, notes := r.request(x)
		p.Notes = notes
		call, e := r.Caller.Send(raw)
		if e != nil {
			err = e
			break
		}
		b := &beside{x, call, p}
		if finished := x.Started.Add(lasted(x)); i+1 < len(xs) && slices.ContainsFunc(xs[i+1:], func(y *har.Exchange) bool { return y.Started.Before(finished) }) {
			r.beside = append(r.beside, b)
			continue
		}
		r.finish(b)
	}
	for _, b := range r.beside {
		r.finish(b)
	}
	return pairs, err
}

// endpoint is the origin and the target of the first MCP request, or of the first stream that was asked for.
func endpoint(xs []*har.Exchange) (origin, target string) {
	for _, x := range xs {
		m, _ := wire.ParseRequest(x.ServerLeg())
		if m == nil {
			continue
		}
		rpc := wire.ParseRPC(m.Payload(x.ServerLeg()))
		if m.Method == "POST" && rpc.Kind != wire.Invalid || m.Method == "GET" && (x.MediaType == eventStream || strings.Contains(m.Get("Accept"), eventStream)) {
			return originOf(x.URL), m.Target
		}
	}
	return "", ""
}

const eventStream = "text/event-stream"

func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// unfit says why an exchange's request cannot be sent again, "" if it can.
func (r *Resend) unfit(x *har.Exchange) string {
	m, _ := wire.ParseRequest(x.ServerLeg())
	switch {
	case x.Stdio():
		return "it went to a process"
	case m == nil || !m.Complete:
		return "the recorded request is not whole"
	case m.Method == "CONNECT" || m.Get("Upgrade") != "":
		return "it opens a tunnel"
	case r.origin == "":
		return "the recording holds no MCP request"
	case originOf(x.URL) != r.origin:
		return "it went to another origin, " + originOf(x.URL)
	}
	return ""
}

// lasted is how long an exchange was under way.
func lasted(x *har.Exchange) time.Duration {
	if n := len(x.Response.Writes); n > 0 && x.View().Complete == har.True {
		return x.Response.Writes[n-1].At
	}
	if x.End == har.EndStopped || x.End == har.EndUnknown || x.End == "" {
		return time.Duration(1<<63 - 1)
	}
	return x.EndAt
}

// catchUp waits until the calls that are under way have brought as many events as they had in the recording when x was asked.
// A stream that had opened by the time x was answered is waited for a little: where the two overtake each other, what the
// server sends on account of x has no stream to go to.
func (r *Resend) catchUp(x *har.Exchange) {
	at, answered := x.Started, x.Started.Add(lasted(x))
	still := r.beside[:0]
	for _, b := range r.beside {
		if end := b.was.Started.Add(lasted(b.was)); end.Before(at) && lasted(b.was) < time.Duration(1<<62) {
			r.finish(b)
			continue
		}
		if w := b.was.Response.Writes; len(w) > 0 && !b.was.Started.Add(w[0].At).After(answered) {
			b.call.Until(min(r.Wait, lingering), func(x *har.Exchange) bool { return len(x.Response.Raw) > 0 })
		}
		want := events(b.was, at)
		b.call.Until(r.Wait, func(x *har.Exchange) bool { return events(x, time.Time{}) >= want })
		r.carried.learn(b.was, b.call.SoFar())
		still = append(still, b)
	}
	r.beside = still
}

// events counts the events that had come by a time; the zero time is the end.
func events(x *har.Exchange, at time.Time) (n int) {
	if !at.IsZero() {
		cut := *x
		off := 0
		for _, w := range x.Response.Writes {
			if x.Started.Add(w.At).After(at) {
				break
			}
			off += w.Len
		}
		cut.Response.Raw = x.Response.Raw[:min(max(off, 0), len(x.Response.Raw))]
		x = &cut
	}
	for _, e := range x.View().Events() {
		if e.Dispatched() {
			n++
		}
	}
	return n
}

// finish waits for the rest of a call: what came in the recording comes again, or the wait is over.
func (r *Resend) finish(b *beside) {
	was := b.was
	switch {
	case was.View().Complete == har.True || !was.End.Open():
		b.call.Whole(r.Wait)
	case len(was.Response.Raw) == 0: // silence, until the client had enough
		b.call.Whole(min(r.Wait, was.EndAt+time.Second))
	default:
		want := max(events(was, time.Time{}), 1)
		b.call.Until(r.Wait, func(x *har.Exchange) bool {
			return events(x, time.Time{}) >= want || events(was, time.Time{}) == 0 && len(x.Response.Raw) >= len(was.Response.Raw)
		})
		b.call.Whole(0)
	}
	b.pair.Now = b.call.Exchange()
	if why := b.call.Trouble(); why != "" {
		b.pair.Notes = append(b.pair.Notes, why)
	}
	r.carried.learn(was, b.pair.Now)
}

// request writes an exchange's request with what is carried over.
func (r *Resend) request(x *har.Exchange) (raw []byte, notes []string) {
	raw = x.ServerLeg()
	m, _ := wire.ParseRequest(raw)
	e := &editor{raw: raw, m: m, header: r.Header}
	e.target(r.target(m.Target))
	for i := range m.Fields {
		f := &m.Fields[i]
		if value, ok := r.carried.field(f.Name, f.Value); ok {
			e.field(f, value)
		}
	}
	e.body(r.carried.body(m, m.Payload(raw)))
	e.extra()
	return e.apply(), e.lost(x)
}

// target is where a request goes that went to a recorded target.
func (r *Resend) target(was string) string {
	if to := r.carried.targets[was]; to != "" {
		return to
	}
	path, query, asked := strings.Cut(was, "?")
	recorded, _, _ := strings.Cut(r.endpoint, "?")
	switch {
	case was == r.endpoint:
		return r.URL.RequestURI()
	case path == recorded && asked:
		return cmp.Or(r.URL.EscapedPath(), "/") + "?" + query
	}
	return was
}
