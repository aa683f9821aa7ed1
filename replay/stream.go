package replay

import (
	"bytes"
	"errors"
	"net/url"
	"slices"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// A stream is an event stream that has to wait for requests: one that a GET opened and on which other requests are
// answered, as on HTTP+SSE (2024-11-05) or where a stream of Streamable HTTP is resumed, or one whose server asked the
// client something and needed the answer.
type stream struct {
	view  *har.View
	gates []gate // in order of off
}

// A gate stands before a part of a stream that answers requests. It opens when these have come to this replay, whatever
// the clock says, since the server could not have answered them earlier.
type gate struct {
	of       *recording // the stream
	off, end int        // in Response.Raw: the event, with the chunks it lies in
	sites    []site     // what a patch changes there; those of the stream's own request are patched with the rest
	causes   []cause
}

// A cause is what a gate waits for.
type cause struct {
	r        *recording
	answered bool          // wait until r has been answered, not only asked
	earlier  bool          // it had come before the stream was asked for: the stream's own clock counts
	gap      time.Duration // how long after that the event came
}

// asked is who asked what, while streams are read. All lists are in order of N.
type asked struct {
	ids, tokens map[string][]*recording // requests
	responses   map[string][]*recording // the client's responses, by the id of the server's request
}

// readStreams finds the gates of all streams.
func (ix *index) readStreams() {
	var by *asked
	for _, r := range ix.all {
		if !r.needsAll() {
			continue
		}
		if by == nil {
			by = ix.asked()
		}
		r.readStream(by)
		r.stream.link()
	}
}

// needsAll tells whether r is a stream that may have to wait for other requests.
func (r *recording) needsAll() bool {
	return r.x.MediaType == "text/event-stream" && r.end > 0 && r.ask != nil && (r.ask.method == "GET" || r.serverAsks())
}

func (ix *index) asked() *asked {
	by := &asked{map[string][]*recording{}, map[string][]*recording{}, map[string][]*recording{}}
	for _, r := range ix.all {
		if r.ask == nil || !r.whole {
			continue
		}
		for i, id := range r.ask.values.ids {
			by.ids[id] = append(by.ids[id], r)
			if token := r.ask.values.tokens[i]; token != "" {
				by.tokens[token] = append(by.tokens[token], r)
			}
		}
		for _, id := range r.ask.responses {
			by.responses[id] = append(by.responses[id], r)
		}
	}
	return by
}

// needsAnswer are the server's requests whose answer it needs to go on. Of a ping it is not known.
var needsAnswer = []string{"sampling/createMessage", "elicitation/create", "roots/list"}

// serverAsks tells whether the response may hold such a request.
func (r *recording) serverAsks() bool {
	return slices.ContainsFunc(needsAnswer, func(method string) bool { return bytes.Contains(r.x.Response.Raw, []byte(method)) })
}

// A streamReader reads one stream, event by event.
type streamReader struct {
	r        *recording
	by       *asked
	view     *har.View
	endpoint string // the target that an endpoint event has named
	offsets  cursor
	times    clock
	at       time.Time // when the event at hand had come
	open     []string  // the ids of server requests whose answers the next reply waits for
	since    time.Time // when the first of them had come
}

// readStream finds the gates of one stream.
func (r *recording) readStream(by *asked) {
	v := r.x.View()
	body, _ := v.ResponseBody()
	if _, plain := v.At(wire.ToClient, wire.Span{}); !plain {
		return
	}
	s := &streamReader{r: r, by: by, view: v, offsets: cursor{m: v.Response}, times: clock{writes: r.x.Response.Writes}}
	for _, e := range v.Events() {
		if e.Type == "endpoint" {
			s.endpoint = resolve(r.ask.target, string(e.Data))
		}
		raw := wire.Span{Off: s.offsets.raw(e.Off)}
		raw.Len = s.offsets.raw(e.End()-1) + 1 - raw.Off
		s.at = r.x.Started.Add(s.times.at(raw.End() - 1))
		s.noteRequest(&e)
		if sites := eventSites(body, &e, s.whose); len(sites) > 0 {
			s.addGate(raw, sites)
		}
	}
}

// whose finds the latest request before the event at hand that had that id or token, in the stream's conversation.
func (s *streamReader) whose(value string, token bool) (owner *recording, i int) {
	if owner, i = s.r.own(value, token); owner != nil {
		return owner, i
	}
	candidates := s.by.ids[value]
	if token {
		candidates = s.by.tokens[value]
	}
	if c := s.latest(candidates, time.Time{}); c != nil {
		_, i = c.own(value, token)
		return c, i
	}
	return nil, 0
}

// lookBack is how many requests with one id are looked at for the one that a stream answers.
const lookBack = 4096

// latest is the last of the candidates whose request had come before the event at hand, but not before since.
func (s *streamReader) latest(candidates []*recording, since time.Time) *recording {
	for _, c := range slices.Backward(candidates[max(0, len(candidates)-lookBack):]) {
		if at := c.came(); !at.After(s.at) && !at.Before(since) && related(s.r, c, s.endpoint) {
			return c
		}
	}
	return nil
}

// noteRequest takes note of a request of the server that needs an answer.
func (s *streamReader) noteRequest(e *wire.Event) {
	if !bytes.Contains(e.Data, []byte("\"method\"")) || len(s.by.responses) == 0 {
		return
	}
	m := wire.ParseRPC(e.Data)
	if m.Kind != wire.Request || !slices.Contains(needsAnswer, m.Method) || len(s.open) >= lookConcurrent {
		return
	}
	if len(s.open) == 0 {
		s.since = s.at
	}
	s.open = append(s.open, string(m.ID.Raw))
}

// A cursor maps offsets in a payload to offsets in the raw bytes, in rising order.
type cursor struct {
	m       *wire.Message
	i, base int
}

func (c *cursor) raw(payload int) int {
	for c.i < len(c.m.Body) && payload-c.base >= c.m.Body[c.i].Len {
		c.base += c.m.Body[c.i].Len
		c.i++
	}
	if c.i == len(c.m.Body) {
		return c.m.End
	}
	return c.m.Body[c.i].Off + payload - c.base
}

// A clock says when the byte at an offset was seen, for offsets in rising order.
type clock struct {
	writes  []har.Write
	i, base int
	last    time.Duration
}

func (c *clock) at(off int) time.Duration {
	for c.i < len(c.writes) {
		w := c.writes[c.i]
		c.last = max(c.last, w.At)
		if off < c.base+w.Len {
			break
		}
		c.base += w.Len
		c.i++
	}
	return c.last
}

// related tells whether a request belongs to the conversation of a stream: it was sent to the endpoint that the stream
// named, or both carry the same session id.
func related(stream, r *recording, endpoint string) bool {
	if endpoint != "" {
		return r.ask.target == endpoint
	}
	return session(stream.affinity) == session(r.affinity)
}

func session(affinity string) string {
	for i := range len(affinity) {
		if affinity[i] == '\n' {
			return affinity[:i]
		}
	}
	return affinity
}

// resolve is the request target that an endpoint event's URL means for a client that opened the stream at target.
func resolve(target, ref string) string {
	base, err := url.Parse("http://replay" + target)
	if err != nil {
		return ref
	}
	u, err := base.Parse(ref)
	if err != nil {
		return ref
	}
	return u.RequestURI()
}

// addGate puts a gate before an event. Where it stands in chunks, the gate spans these, whose size lines a patch may have
// to change; gates that overlap become one.
func (s *streamReader) addGate(raw wire.Span, sites []site) {
	g := gate{of: s.r, off: raw.Off, end: raw.End()}
	if m := s.view.Response; m.Framing == wire.ByChunks {
		i, _ := slices.BinarySearchFunc(m.Body, raw.Off, func(b wire.Span, off int) int { return b.End() - 1 - off })
		for ; i < len(m.Body) && m.Body[i].Off < raw.End(); i++ {
			g.off = min(g.off, sizeLine(m, s.r.x.Response.Raw, i))
			g.end = max(g.end, m.Body[i].End())
		}
	}
	for _, t := range sites {
		if t.owner != s.r {
			g.sites = append(g.sites, t)
			g.causes = append(g.causes, s.cause(t.owner, !t.token))
		}
	}
	if !sites[0].token {
		for _, id := range s.open {
			if c := s.latest(s.by.responses[id], s.since); c != nil {
				g.causes = append(g.causes, s.cause(c, false))
			}
		}
		s.open = nil
	}
	if len(g.causes) == 0 {
		return
	}
	if s.r.stream == nil {
		s.r.stream = &stream{view: s.view}
	}
	gates := s.r.stream.gates
	if n := len(gates); n > 0 && gates[n-1].end > g.off {
		last := &gates[n-1]
		last.end = max(last.end, g.end)
		last.sites = append(last.sites, g.sites...)
		last.causes = append(last.causes, g.causes...)
		return
	}
	s.r.stream.gates = append(gates, g)
}

// cause makes c what the event at hand waits for. reply: it answers c, and did so after c's own response.
func (s *streamReader) cause(c *recording, reply bool) cause {
	c.gates = true
	k := cause{r: c}
	since := c.came()
	if done := c.answered(); reply && c.end > 0 && !done.After(s.at) {
		k.answered, since = true, done
	}
	k.gap = min(max(s.at.Sub(since), 0), maxGap)
	k.earlier = since.Before(s.r.came())
	return k
}

// came is when the request was whole, by the recording's own clock.
func (r *recording) came() time.Time { return r.x.Started.Add(r.wholeAt) }

// link tells the requests that a stream answers where it does. Gates do not move any more.
func (s *stream) link() {
	if s == nil {
		return
	}
	for i := range s.gates {
		g := &s.gates[i]
		for _, site := range g.sites {
			site.owner.repliedOn = append(site.owner.repliedOn, g)
		}
	}
}

var errHeadSent = errors.New("the stream's Content-Length would have to change, which the client has been sent")

// edits says how the gate's part of the stream is changed for the live client.
func (g *gate) edits() ([]edit, error) {
	out, err := edits(g.of.stream.view, g.sites)
	if err == nil && len(out) > 0 && out[0].off < g.off {
		return nil, errHeadSent
	}
	return out, err
}
