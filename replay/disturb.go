package replay

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// A FaultUse is one answer that a fault has disturbed.
type FaultUse struct {
	N     int    // the exchange; 0 where nothing is recorded for the request
	Fault string // as it was given
	Why   string // "" if it was served; else why it could not be
}

// answerFaulty answers a whole request where there are faults. One that makes an answer of its own leaves the recording
// for the next request of the same key, as a server would that has recovered, unless it names the exchange.
func (c *conn) answerFaulty(q *request, at time.Time) {
	if own, delay := c.p.ownAnswer(q); own != nil {
		c.serveDisturbed(own, nil, 0, at, delay)
		return
	}
	if c.resume(q, at) {
		return
	}
	r, patch, miss := c.p.take(q, at)
	if miss != nil {
		c.refuse(q, miss)
		return
	}
	d, patch, delay := c.p.disturb(q, r, patch)
	c.serveDisturbed(d, patch, c.sent, at, delay)
	if r.gates {
		c.p.answered(r)
	}
}

// serveDisturbed serves r, the delay later than its time.
func (c *conn) serveDisturbed(r *recording, patch []edit, from int, at time.Time, delay time.Duration) {
	if delay > 0 {
		at = at.Add(delay)
		if !c.waitUntil(at) {
			return
		}
	}
	c.anchor, c.recorded = at, r.wholeAt
	c.serve(r, patch, from)
	c.after(r)
}

// meant tells which faults are meant for a request, and counts it for these. replacing: of those that need no recording, or
// of the others. The caller holds p.mu.
func (p *Player) meant(q *request, r *recording, replacing bool) (which []int) {
	a := q.like
	if a == nil {
		a = q.ask()
	}
	for i := range p.Faults {
		f := &p.Faults[i]
		if f.replaces() != replacing || !f.selects(a, r) {
			continue
		}
		if p.asked[i]++; f.nth == 0 || p.asked[i] == f.nth {
			which = append(which, i)
		}
	}
	return which
}

// ownAnswer is the answer of the first fault that makes one of its own for q, nil if there is none.
func (p *Player) ownAnswer(q *request) (own *recording, delay time.Duration) {
	p.mu.Lock()
	r, _ := p.ix.find(q, p.Exact)
	which := p.meant(q, r, true)
	if len(which) == 0 {
		p.mu.Unlock()
		return nil, 0
	}
	if r != nil {
		r.disturbed = true
		if p.Faults[which[0]].who == "exchange" { // that one, and not the next request like it
			r.taken = true
		}
	}
	for _, i := range p.meant(q, r, false) {
		if d := p.Faults[i].delay; d > 0 {
			delay += d
			p.used(i, r, nil)
		}
	}
	f := &p.Faults[which[0]]
	p.used(which[0], r, nil)
	p.mu.Unlock()
	x := &har.Exchange{N: number(r), End: har.EndKeep, Method: q.head.Method}
	if end := f.ends(); end != "" {
		x.End = end
	} else {
		id := ""
		if ids := q.values().ids; len(ids) > 0 {
			id = ids[0]
		}
		raw := f.answer(id)
		if q.head.Method == http.MethodHead {
			raw = raw[:headEnd(raw)]
		}
		x.Response = har.Side{Raw: raw, Writes: []har.Write{{Len: len(raw)}}}
	}
	x.EndOff = len(x.Response.Raw)
	p.noticeFault(f, r, nil)
	return &recording{x: x, end: x.EndOff, seen: x.EndOff}, delay
}

func number(r *recording) int {
	if r == nil {
		return 0
	}
	return r.x.N
}

func headEnd(raw []byte) int {
	if i := strings.Index(string(raw), "\r\n\r\n"); i >= 0 {
		return i + 4
	}
	return len(raw)
}

// maxUses is how many disturbed answers a Result lists.
const maxUses = 1000

// used takes note of a fault. The caller holds p.mu.
func (p *Player) used(i int, r *recording, err error) {
	p.uses[i]++
	u := FaultUse{N: number(r), Fault: p.Faults[i].String()}
	if err != nil {
		u.Why = err.Error()
	}
	if len(p.result.Faults) < maxUses {
		p.result.Faults = append(p.result.Faults, u)
	}
}

func (p *Player) noticeFault(f *Fault, r *recording, err error) {
	where := "a request that was not recorded"
	if r != nil {
		where = fmt.Sprintf("exchange %d", r.x.N)
	}
	if err != nil {
		p.notice("%s: fault %q cannot be: %v", where, clip(f.String()), err)
		return
	}
	p.notice("%s: disturbed by fault %q", where, clip(f.String()))
}

// disturb gives r, which is answering q, as its faults leave it.
func (p *Player) disturb(q *request, r *recording, patch []edit) (*recording, []edit, time.Duration) {
	p.mu.Lock()
	which := p.meant(q, r, false)
	p.mu.Unlock()
	if len(which) == 0 {
		return r, patch, 0
	}
	d, x := *r, *r.x
	d.x, d.gates = &x, false
	delay := time.Duration(0)
	for _, i := range which {
		f := &p.Faults[i]
		delay += f.delay
		var err error
		patch, err = f.apply(&d, patch)
		p.mu.Lock()
		p.used(i, r, err)
		p.mu.Unlock()
		p.noticeFault(f, r, err)
	}
	return &d, patch, delay
}

// apply changes d, a copy of a recording with an exchange of its own, and what is patched in its bytes.
func (f *Fault) apply(d *recording, patch []edit) ([]edit, error) {
	if end := f.ends(); end != "" {
		d.short = f.after < d.end
		d.end = min(f.after, d.end)
		d.seen = min(d.seen, d.end)
		d.x.End, d.x.EndOff, d.x.EndAt, d.refused = end, d.end, atOffset(d.x.Response.Writes, d.end-1), false
		return patch, nil
	}
	if f.what == doDelay {
		return patch, nil
	}
	v := d.x.View()
	if v.Response == nil {
		return patch, fmt.Errorf("it has no whole response head")
	}
	switch f.what {
	case doBody:
		d.replaceBody(v.Response, f.text)
		return nil, nil
	case doID:
		changed, err := f.editIDs(d, v)
		if err != nil {
			return patch, err
		}
		return changed, nil
	}
	more, err := f.editHeader(v.Response, d.x.Response.Raw)
	for _, e := range more {
		patch = slices.DeleteFunc(patch, func(old edit) bool { return old.off >= e.off && old.off < e.off+e.len })
	}
	patch = append(patch, more...)
	slices.SortStableFunc(patch, func(a, b edit) int { return a.off - b.off })
	return patch, err
}

// replaceBody gives the response another body, whole and with a Content-Length, at the time of its first byte.
func (d *recording) replaceBody(m *wire.Message, body string) {
	raw := d.x.Response.Raw
	head := string(raw[:m.Off+m.Len])
	for _, name := range []string{"Content-Length", "Transfer-Encoding", "Content-Encoding", "Trailer"} {
		for i := range m.Fields {
			if f := &m.Fields[i]; strings.EqualFold(f.Name, name) {
				begin, end := linesOf(m, f, raw)
				head = strings.Replace(head, string(raw[begin:end]), "", 1)
			}
		}
	}
	head = strings.TrimSuffix(head, "\r\n") + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body))
	at := atOffset(d.x.Response.Writes, 0)
	out := []byte(head + body)
	d.x.Response = har.Side{Raw: out, Writes: []har.Write{{At: at, Len: len(out)}}}
	d.end, d.seen, d.stream = len(out), len(out), nil
	d.x.EndOff = len(out)
}

// editIDs puts the fault's value in place of the ids in the answer; progress tokens stay those of the live client.
func (f *Fault) editIDs(d *recording, v *har.View) ([]edit, error) {
	if d.ask == nil || len(d.ask.values.ids) == 0 {
		return nil, fmt.Errorf("it answers no JSON-RPC request")
	}
	with := *d
	with.live = values{tokens: d.live.tokens}
	for range d.ask.values.ids {
		with.live.ids = append(with.live.ids, f.text)
	}
	sites := d.sites(v)
	if !slices.ContainsFunc(sites, func(s site) bool { return !s.token }) {
		return nil, fmt.Errorf("its answer holds no id")
	}
	for i := range sites {
		sites[i].owner = &with
	}
	return edits(v, sites)
}

// editHeader changes the media type, or drops a field.
func (f *Fault) editHeader(m *wire.Message, raw []byte) (out []edit, err error) {
	name := "Content-Type"
	if f.what == doDrop {
		name = f.text
	}
	for i := range m.Fields {
		field := &m.Fields[i]
		switch {
		case !strings.EqualFold(field.Name, name):
		case f.what == doType:
			out = append(out, edit{off: m.Off + field.At.Off, len: field.At.Len, new: f.text})
		default:
			begin, end := linesOf(m, field, raw)
			out = append(out, edit{off: begin, len: end - begin})
		}
	}
	if len(out) == 0 && f.what == doType {
		_, behind := lineAround(raw, m.Off)
		out = []edit{{off: behind, new: "Content-Type: " + f.text + "\r\n"}}
	}
	if len(out) == 0 {
		err = fmt.Errorf("its answer has no %s", f.text)
	}
	return out, err
}

// linesOf spans the lines of a field, continuation lines included.
func linesOf(m *wire.Message, f *wire.Field, raw []byte) (begin, end int) {
	begin, _ = lineAround(raw, m.Off+f.At.Off)
	_, end = lineAround(raw, m.Off+max(f.At.Off, f.At.End()-1))
	return begin, end
}

// lineAround spans the line that the byte at off belongs to, its end included.
func lineAround(raw []byte, off int) (begin, end int) {
	begin, end = off, off
	for begin > 0 && raw[begin-1] != '\n' {
		begin--
	}
	for end < len(raw) && raw[end] != '\n' {
		end++
	}
	return begin, min(end+1, len(raw))
}
