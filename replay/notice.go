package replay

import "fmt"

// missWord begins every notice of a miss.
const missWord = "miss: "

// missed takes note of a miss.
func (p *Player) missed(q *request, near *recording, differs string) *Miss {
	m := Miss{Request: q.ask().label(), Differs: differs}
	text := missWord + m.Request + ": " + differs
	if near != nil {
		m.Nearest = near.x
		text = fmt.Sprintf(missWord+"%s: nearest is exchange %d, %s: %s", m.Request, near.x.N, near.name(), differs)
	}
	p.miss(m, text)
	return &m
}

func (p *Player) miss(m Miss, text string) {
	p.mu.Lock()
	if len(p.result.Misses) < maxMisses {
		p.result.Misses = append(p.result.Misses, m)
	}
	p.mu.Unlock()
	p.notice("%s", text)
}

// patched takes note of what was changed in r's response.
func (p *Player) patched(r *recording, patch []edit) {
	if len(patch) == 0 {
		return
	}
	raw := r.x.Response.Raw
	p.mu.Lock()
	for _, e := range patch {
		p.result.Patches = append(p.result.Patches, Patch{N: r.x.N, Off: e.off, Old: string(raw[e.off : e.off+e.len]), New: e.new})
	}
	p.mu.Unlock()
	for _, e := range patch {
		if e.why != "" {
			p.notice("exchange %d: %s", r.x.N, e.why)
			continue
		}
		p.notice("exchange %d: %s at byte %d is sent as %s", r.x.N, clip(string(raw[e.off:e.off+e.len])), e.off, clip(e.new))
	}
}

func (p *Player) notice(format string, args ...any) {
	if p.Notice == nil {
		return
	}
	p.noticing.Lock()
	defer p.noticing.Unlock()
	p.Notice(p.said(fmt.Sprintf(format, args...)))
}

// said is a notice as it is given out: among several servers with the name of this one.
func (p *Player) said(text string) string {
	if p.Name != "" {
		return p.Name + ": " + text
	}
	return text
}

// warn says once for each origin that a response leads the client past the replay: absolute URLs are served as recorded.
func (p *Player) warn(r *recording) {
	if p.Notice == nil {
		return
	}
	for _, u := range r.absolute() {
		p.mu.Lock()
		known := p.origins[u.Host]
		if len(p.origins) < 1000 {
			p.origins[u.Host] = true
		}
		p.mu.Unlock()
		if !known {
			p.notice("exchange %d: the response names %s://%s, which leads the client past this replay", r.x.N, u.Scheme, u.Host)
		}
	}
}

// name names the recording for people.
func (r *recording) name() string {
	if r.ask == nil {
		return fmt.Sprintf("%d bytes that are no request", len(r.x.Request.Raw))
	}
	return r.ask.label()
}
