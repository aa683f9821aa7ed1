package replay

import (
	"errors"
	"net/url"
	"slices"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// A stream is an event stream that a GET opened and on which other requests are answered: the stream of HTTP+SSE
// (2024-11-05), or one of Streamable HTTP that is resumed.
type stream struct {
	view  *har.View
	gates []gate // in order of off
}

// A gate stands before a part of a stream that answers requests. It opens when these have come to this replay, whatever
// the clock says, since the server could not have answered them earlier.
type gate struct {
	of       *recording // the stream
	off, end int        // in Response.Raw: the event, with the chunks it lies in
	sites    []site
	causes   []cause
}

// A cause is what a gate waits for.
type cause struct {
	r        *recording
	answered bool          // wait until r has been answered, not only asked
	gap      time.Duration // how long after that the event came
}

// asked is who asked what, while streams are read.
type asked struct{ ids, tokens map[string][]*recording }

// readStreams finds the gates of all streams.
func (ix *index) readStreams() {
	var by *asked
	for _, r := range ix.all {
		if r.x.MediaType != "text/event-stream" || r.end == 0 || r.ask == nil || r.ask.method != "GET" {
			continue
		}
		if by == nil {
			by = ix.asked()
		}
		r.readStream(by)
		r.stream.link()
	}
}

func (ix *index) asked() *asked {
	by := &asked{ids: map[string][]*recording{}, tokens: map[string][]*recording{}}
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
	}
	return by
}

// readStream finds the gates of one stream.
func (r *recording) readStream(by *asked) {
	v := r.x.View()
	body, _ := v.ResponseBody()
	if _, plain := v.At(wire.ToClient, wire.Span{}); !plain {
		return
	}
	endpoint := ""
	offsets, times := cursor{m: v.Response}, clock{writes: r.x.Response.Writes}
	for _, e := range v.Events() {
		if e.Type == "endpoint" {
			endpoint = resolve(r.ask.target, string(e.Data))
		}
		raw := wire.Span{Off: offsets.raw(e.Off)}
		raw.Len = offsets.raw(e.End()-1) + 1 - raw.Off
		at := r.x.Started.Add(times.at(raw.End() - 1))
		sites := eventSites(body, &e, func(value string, token bool) (*recording, int) {
			candidates := by.ids[value]
			if token {
				candidates = by.tokens[value]
			}
			for i := len(candidates) - 1; i >= 0; i-- {
				c := candidates[i]
				if !c.x.Started.Add(c.wholeAt).After(at) && related(r, c, endpoint) {
					_, n := c.own(value, token)
					return c, n
				}
			}
			return nil, 0
		})
		if len(sites) > 0 {
			r.addGate(v, raw, at, sites)
		}
	}
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
func (r *recording) addGate(v *har.View, raw wire.Span, at time.Time, sites []site) {
	g := gate{of: r, off: raw.Off, end: raw.End(), sites: sites}
	if m := v.Response; m.Framing == wire.ByChunks {
		i, _ := slices.BinarySearchFunc(m.Body, raw.Off, func(s wire.Span, off int) int { return s.End() - 1 - off })
		for ; i < len(m.Body) && m.Body[i].Off < raw.End(); i++ {
			g.off = min(g.off, sizeLine(m, r.x.Response.Raw, i))
			g.end = max(g.end, m.Body[i].End())
		}
	}
	for i := range sites {
		c := cause{r: sites[i].owner}
		c.r.gates = true
		since := c.r.x.Started.Add(c.r.wholeAt)
		if done := c.r.answered(); !sites[i].token && c.r.end > 0 && !done.After(at) {
			c.answered, since = true, done
		}
		c.gap = min(max(at.Sub(since), 0), maxGap)
		g.causes = append(g.causes, c)
	}
	if r.stream == nil {
		r.stream = &stream{view: v}
	}
	gates := r.stream.gates
	if n := len(gates); n > 0 && gates[n-1].end > g.off {
		last := &gates[n-1]
		last.end = max(last.end, g.end)
		last.sites = append(last.sites, g.sites...)
		last.causes = append(last.causes, g.causes...)
		return
	}
	r.stream.gates = append(gates, g)
}

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
