package replay

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/har/wire"
)

// A rest is what a recorded event stream holds behind an event.
type rest struct {
	r     *recording
	patch []edit        // the first takes out what stands between the head and that
	from  time.Duration // when the event had come
}

// rest finds what a client asks for that has read a recorded stream up to an event (Last-Event-ID; 2025-11-25 basic/transports,
// Resumability and Redelivery), nil where another recording answers the request, or where none that was served has such an
// event. Bytes are left out for it, so that there is none under Exact.
func (p *Player) rest(q *request) *rest {
	session, id, _ := strings.Cut(q.affinity, "\n")
	if id == "" || q.head.Method != http.MethodGet || p.Exact {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if r, _ := p.ix.find(q, false); r != nil {
		return nil
	}
	for _, r := range slices.Backward(p.ix.all) {
		if was, _, _ := strings.Cut(r.affinity, "\n"); !r.taken || r.ask == nil || was != session || r.ask.target != q.ask().target {
			continue
		}
		if s := p.restOf(r, id); s != nil {
			return s
		}
	}
	return nil
}

// restOf finds the rest of one stream. The caller holds p.mu.
func (p *Player) restOf(r *recording, id string) *rest {
	raw := r.x.Response.Raw[:r.end]
	if r.x.MediaType != "text/event-stream" || !bytes.Contains(raw, []byte(id)) {
		return nil
	}
	v := r.x.View()
	if _, plain := v.At(wire.ToClient, wire.Span{}); !plain {
		return nil
	}
	for _, e := range v.Events() {
		if !e.Complete || !e.HasID || e.ID != id {
			continue
		}
		var own []edit
		if !r.live.equal(r.ask.values) {
			var err error
			if own, err = p.patch(r); err != nil {
				return nil
			}
		}
		patch := behind(v.Response, raw, e.End(), own)
		if patch == nil {
			return nil
		}
		return &rest{r, patch, atOffset(r.x.Response.Writes, v.Response.RawOffset(e.End()-1))}
	}
	return nil
}

// behind makes the edits that leave of a response its head and what stands behind an offset in its payload; own are edits that
// it has already. It is nil where the framing does not allow it.
func behind(m *wire.Message, raw []byte, at int, own []edit) []edit {
	cut := edit{off: m.Off + m.Len}
	end := cut.off
	switch m.Framing {
	case wire.ByClose:
		end = m.RawOffset(at)
	case wire.ByChunks:
		for _, data := range m.Body {
			if at <= 0 {
				break
			}
			if end = behindChunk(raw, data.End()); at < data.Len { // the rest of a chunk becomes one
				end = data.Off + at
				left := wire.Span{Off: end, Len: data.Len - at}
				if slices.ContainsFunc(own, func(e edit) bool { return e.off >= left.Off && e.off < left.End() }) {
					return nil
				}
				cut.new = fmt.Sprintf("%x\r\n", left.Len)
			}
			at -= data.Len
		}
	default:
		return nil
	}
	cut.len = end - cut.off
	patch := []edit{cut}
	for _, e := range own {
		if e.off >= end {
			patch = append(patch, e)
		}
	}
	return patch
}

// behindChunk is where the line end behind a chunk's data ends that ends at that offset; 0 if it is not there.
func behindChunk(raw []byte, at int) int {
	if at < len(raw) && raw[at] == '\r' {
		at++
	}
	if at < len(raw) && raw[at] == '\n' {
		return at + 1
	}
	return 0
}

// resume answers a request that resumes a recorded stream where no recording does. It returns false if there is no such stream.
func (c *conn) resume(q *request, at time.Time) bool {
	s := c.p.rest(q)
	if s == nil {
		return false
	}
	c.p.notice("exchange %d: the client resumes its stream behind event %q, and is sent the rest of it", s.r.x.N, clip(lastEvent(q.affinity)))
	c.p.patched(s.r, s.patch[1:])
	c.anchor, c.recorded = at, s.from
	c.serve(s.r, s.patch, 0)
	c.after(s.r)
	return true
}
