package replay

import (
	"fmt"
	"iter"
	"net/url"
	"time"

	"github.com/mcptap/mcptap/har"
)

// A Source is a recording that is read while it is served: of one server, or of those that Servers names.
type Source struct {
	To      string                          // har.Header.To
	Servers []har.Server                    // har.Header.Servers
	All     iter.Seq2[*har.Exchange, error] // run once, by a goroutine of its own
	Begun   func() []*har.Exchange          // har.Reader.Begun of what All reads, called between two of All; nil: not known
}

// What is loaded before Load returns, and what is read at a time.
const (
	firstPart   = 512 << 10 // bytes of requests and responses
	partSize    = 128       // exchanges
	partBytes   = 256 << 10 // bytes of them, behind which no more are added
	partsQueued = 2
)

// A Loading is a recording on its way into its Players, which serve meanwhile. A request is answered once nothing that is
// still to be read can be what answers it: the recordings before its first match are known, and no tie has to be broken.
// What cannot be told earlier waits for the end: misses, event streams that answer other requests, requests that are cut or
// malformed, ids that are not the recorded ones.
type Loading struct {
	Players []*Player // one for each server, in the order of Source.Servers

	parts chan part
	bytes int64 // so far
	seen  seen
	done  chan struct{}
	err   error
}

// A part is some of a recording.
type part struct {
	final []*har.Exchange
	begun []*har.Exchange
	err   error // what ended the reading
}

// seen is which exchanges are known: all up to upTo, and some beyond.
type seen struct {
	upTo   int
	beyond map[int]bool
}

func (s *seen) note(n int) {
	if n > s.upTo+1 {
		s.beyond[n] = true
		return
	}
	for s.upTo = max(s.upTo, n); s.beyond[s.upTo+1]; s.upTo++ {
		delete(s.beyond, s.upTo+1)
	}
}

// Load begins to read a recording. player makes the Player of a server; its Name and what it serves are Load's. Load returns when
// the first 512 KiB are loaded, so that a small recording is whole by then and its errors are Load's; Err has those of the rest.
func Load(src Source, player func() *Player) (*Loading, error) {
	l := &Loading{parts: make(chan part, partsQueued), seen: seen{beyond: map[int]bool{}}, done: make(chan struct{})}
	servers := src.Servers
	if len(servers) == 0 {
		servers = []har.Server{{To: src.To}}
	}
	for _, s := range servers {
		p := player()
		p.Name, p.load = s.Name, l
		p.build.Do(func() { p.ix = emptyIndex(p.Match) })
		p.ix.begun, p.ix.waiting = map[int]*recording{}, map[*conn]struct{}{}
		l.Players = append(l.Players, p)
	}
	go l.read(src)
	more := true
	for more && l.bytes < firstPart {
		more = l.step()
	}
	for i, p := range l.Players {
		p.endpoint = p.ix.endpoint(pathOf(servers[i].To))
	}
	if !more {
		return l, l.err
	}
	go func() {
		for l.step() {
		}
	}()
	return l, nil
}

// pathOf is the path and query of an absolute URL, "/" if it is none.
func pathOf(to string) string {
	if u, err := url.Parse(to); err == nil && u.Host != "" {
		return u.RequestURI()
	}
	return "/"
}

// Wait returns when all has been read, or no more can be: the error is what ended the reading.
func (l *Loading) Wait() error {
	<-l.done
	return l.err
}

// read reads the recording, part by part.
func (l *Loading) read(src Source) {
	defer close(l.parts)
	var p part
	size := 0
	pass := func() {
		if src.Begun != nil {
			p.begun = src.Begun()
		}
		l.parts <- p
		p, size = part{}, 0
	}
	for x, err := range src.All {
		if err != nil {
			p.err = err
			break
		}
		p.final = append(p.final, x)
		if size += len(x.Request.Raw) + len(x.Response.Raw); len(p.final) == partSize || size >= partBytes {
			pass()
		}
	}
	pass()
}

// step loads one part. It returns false when the last is loaded.
func (l *Loading) step() (more bool) {
	p, more := <-l.parts
	if !more {
		for _, p := range l.Players {
			p.loadedAll()
		}
		close(l.done)
		return false
	}
	l.err = p.err
	final, begun := make([][]*recording, len(l.Players)), make([][]*recording, len(l.Players))
	for _, x := range p.final {
		l.bytes += int64(len(x.Request.Raw) + len(x.Response.Raw))
		l.seen.note(x.N)
		if i := l.server(x); i >= 0 {
			final[i] = append(final[i], newRecording(x, &l.Players[i].ix.asks))
		} else if l.err == nil {
			l.err = fmt.Errorf("exchange %d: want _name to be one of the header's servers: got %q", x.N, clip(x.Name))
		}
	}
	for _, x := range p.begun {
		i := l.server(x)
		if i < 0 {
			continue
		}
		if r := newRecording(x, &l.Players[i].ix.asks); r.ask != nil && r.whole {
			begun[i] = append(begun[i], r)
			l.seen.note(x.N)
		}
	}
	for i, p := range l.Players {
		p.loadPart(final[i], begun[i], l.seen.upTo)
	}
	return true
}

// server is the place of an exchange's server, -1 if there is none.
func (l *Loading) server(x *har.Exchange) int {
	for i, p := range l.Players {
		if p.Name == "" || p.Name == x.Name {
			return i
		}
	}
	return -1
}

// loadPart adds recordings to those that are served. upTo: all exchanges up to this one are known.
func (p *Player) loadPart(final, begun []*recording, upTo int) {
	p.mu.Lock()
	ix := p.ix
	for _, r := range final {
		if was := ix.begun[r.x.N]; was != nil {
			delete(ix.begun, r.x.N)
			ix.groupsOf(r.ask)
			*was = *r
			r = was
		} else {
			ix.add(r)
		}
		ix.all = append(ix.all, r)
	}
	for _, r := range begun {
		r.open = true
		ix.begun[r.x.N] = r
		ix.add(r)
	}
	ix.upTo = upTo
	p.wakeAll()
	p.mu.Unlock()
}

// wakeAll wakes the connections that wait for more of the recording. The caller holds p.mu.
func (p *Player) wakeAll() {
	for c := range p.ix.waiting {
		c.wake()
	}
	clear(p.ix.waiting)
}

// loadedAll takes note that nothing more comes.
func (p *Player) loadedAll() {
	p.mu.Lock()
	p.ix.arrange()
	p.mu.Unlock()
	p.ix.readStreams() // changes nothing that connections look at before all is there
	p.mu.Lock()
	p.whole.Store(true)
	p.wakeAll()
	p.mu.Unlock()
}

// takeSure takes the recording that answers q if that is certain by now. Otherwise c is woken when more has been loaded. all:
// everything has been, so that q can be matched as usual.
func (p *Player) takeSure(q *request, at time.Time, c *conn) (r *recording, all bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.whole.Load() {
		return nil, true
	}
	if len(p.Faults) == 0 {
		r = p.ix.groups[digest(q.ask().key)].sure(q, p.ix.upTo)
	}
	if r == nil {
		p.ix.waiting[c] = struct{}{}
		return nil, false
	}
	p.takes(r, q.values(), at)
	return r, false
}

// sure is the recording that pick will give, whatever is still to be loaded, nil if that cannot be told yet.
func (g *group) sure(q *request, upTo int) *recording {
	if g == nil {
		return nil
	}
	g.sort()
	for g.next < len(g.queue) && g.queue[g.next].taken {
		g.next++
	}
	if g.next == len(g.queue) {
		return nil
	}
	r := g.queue[g.next]
	if r.open || r.x.N > upTo || r.needsAll() || r.affinity != q.affinity || !r.ask.values.equal(q.values()) {
		return nil
	}
	return r
}

// awaits makes c be woken when more has been loaded, unless all has been.
func (p *Player) awaits(c *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.whole.Load() {
		return false
	}
	p.ix.waiting[c] = struct{}{}
	return true
}

// sure waits until it is certain what answers q, which was whole at that time. It returns the recording if that came early, nil
// if all had to be loaded, and false if the connection is over.
func (c *conn) sure(q *request, at time.Time) (r *recording, ok bool) {
	for !c.dead {
		r, all := c.p.takeSure(q, at, c)
		if r != nil || all {
			return r, true
		}
		if c.eof || len(c.buf) >= maxAhead+c.held() {
			c.sleep(time.Time{})
		} else {
			c.read(time.Time{})
		}
	}
	return nil, false
}

// loaded waits until all is loaded. It returns false if the player ends before.
func (c *conn) loaded() bool {
	if !c.p.whole.Load() {
		select {
		case <-c.p.load.done:
		case <-c.p.done:
		}
	}
	return c.p.whole.Load()
}
