package capture

import (
	"bytes"
	"math"
	"slices"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// Bounds of what is kept of a process's pipes, beside the exchanges under way.
const (
	maxLine   = wire.MaxJSON // bytes of a line that are looked at; a longer one is an exchange of its own from there on
	maxAsked  = 1 << 14      // requests that wait for a reply; of more, the older half is given up
	staleLine = time.Second  // how long a line without its end is held if it is a message as it stands
)

// outliveTime is from when on a process has outlived its stdout: one that ends closes it, too.
const outliveTime = 250 * time.Millisecond

// pipes tells the exchanges of a process. A line of the client begins one. A line of the server that replies to one that is
// waiting, by an id of the same type, is its response; any other is an exchange of its own. What a line of the server belongs
// to is known when it is whole, so it is held until then; until the stream ends; or, if it is whole but for its end, for a second.
type pipes struct {
	c      *connection
	url    string
	from   *exchange           // the client's line that is not whole
	line   []byte              // of that, at most maxLine bytes
	asked  map[string]*waiting // by the key of an id
	waits  []*waiting          // these, the oldest first, and some that are over
	held   []byte              // the server's line that is not whole
	cuts   []cut               // of held
	tried  int                 // bytes of held when it was last found not to be a message
	to     *exchange           // where the rest of the server's line goes, once it is known
	stdout int64               // bytes of stdout before held

	process har.Process
	stderr  exchange // its response is what was not written yet
	spoken  int      // bytes of stderr that are kept
	exited  *har.Exit
	exitAt  time.Time
}

// A waiting exchange has asked for replies with these ids.
type waiting struct {
	x    *exchange
	ids  []string
	over bool
}

// A cut is one read.
type cut struct {
	at time.Time
	n  int
}

// process takes note of a process and writes its first line.
func (b *book) process(c *connection, at time.Time) {
	p := &pipes{c: c, url: har.StdioURL(c.between.Command), asked: map[string]*waiting{}}
	p.stderr.start(at)
	p.stderr.most = math.MaxInt
	p.stderr.URL = p.url
	p.process = har.Process{Conn: c.id, Command: c.between.Command, Started: p.stderr.Started}
	c.pipes = p
	b.writeProcess(&p.process)
}

func (b *book) writeProcess(p *har.Process) {
	if b.w == nil || b.err != nil {
		return
	}
	b.err = b.w.Process(p)
	b.unflushed = true
}

// pipe takes the events that only processes have, and lines. It is false for what connections have too.
func (b *book) pipe(c *connection, e *entry, bytes []byte) bool {
	p := c.pipes
	switch {
	case e.stderr:
		p.says(b, bytes, e.at)
	case e.exit != nil:
		p.exited, p.exitAt = e.exit, e.at
	case len(bytes) > 0 && e.dir == wire.ToServer:
		p.asks(bytes, e.at)
	case len(bytes) > 0:
		p.answers(bytes, e.at)
	default:
		if e.end == har.EndRST || e.end != "" && (e.dir == wire.ToClient || wire.ParseRPC(p.held).JSON) {
			p.flush()
		}
		return false
	}
	return true
}

// asks takes bytes of the client.
func (p *pipes) asks(b []byte, at time.Time) {
	for len(b) > 0 {
		if p.from == nil {
			p.c.begin(at)
			p.from, p.line = p.c.live[len(p.c.live)-1], p.line[:0]
		}
		n := bytes.IndexByte(b, '\n') + 1
		whole := n > 0
		if !whole {
			n = len(b)
		}
		x := p.from
		x.add(wire.ToServer, at, b[:n], 0, false)
		p.line = append(p.line, b[:min(n, max(0, maxLine-len(p.line)))]...)
		b = b[n:]
		if whole {
			p.lineOver(x)
		}
		p.c.limit(x)
	}
}

// lineOver looks at a whole line of the client, and waits for what it asks for.
func (p *pipes) lineOver(x *exchange) {
	p.from = nil
	x.whole[wire.ToServer] = true
	ids := har.RequestIDs(bytes.TrimRight(p.line, "\r\n"))
	if cap(p.line) > keptRaw {
		p.line = nil
	}
	if len(ids) == 0 {
		x.whole[wire.ToClient] = true
		p.c.settle(x)
		return
	}
	w := &waiting{x: x, ids: ids}
	for _, id := range ids {
		p.asked[id] = w
	}
	if p.waits = append(p.waits, w); len(p.waits) > maxAsked {
		p.waits = slices.DeleteFunc(p.waits, func(w *waiting) bool { return w.over })
		if n := len(p.waits) - maxAsked/2; n > 0 {
			p.giveUp(p.waits[:n])
			p.waits = slices.Delete(p.waits, 0, n)
		}
	}
}

// giveUp waits no more for the replies to these requests.
func (p *pipes) giveUp(list []*waiting) {
	c := p.c
	for _, w := range list {
		p.over(w)
		w.x.whole[wire.ToClient] = true
	}
	last := list[len(list)-1].x
	c.storeBefore(last)
	c.live = slices.DeleteFunc(c.live, func(x *exchange) bool {
		given := x.Seq <= last.Seq && !x.done && x.whole == [2]bool{true, true}
		if given {
			c.book.store(x, true, har.EndKeep)
			c.book.recycle(x)
		}
		return given
	})
}

// over forgets who waited.
func (p *pipes) over(w *waiting) {
	w.over = true
	for _, id := range w.ids {
		if p.asked[id] == w {
			delete(p.asked, id)
		}
	}
}

// answers takes bytes of the server.
func (p *pipes) answers(b []byte, at time.Time) {
	if p.c.end[wire.ToServer] == har.EndFIN {
		p.c.late = true
	}
	for len(b) > 0 {
		n := bytes.IndexByte(b, '\n') + 1
		whole := n > 0
		if !whole {
			n = len(b)
		}
		if p.to != nil {
			p.goesOn(b[:n], at, whole)
		} else {
			p.held = append(p.held, b[:n]...)
			p.cuts = append(p.cuts, cut{at, n})
			if whole || len(p.held) >= maxLine {
				p.settleLine(whole)
			}
		}
		b = b[n:]
	}
	p.c.book.growing = p.c.book.growing || len(p.held) > 0
}

// goesOn adds to a line whose exchange is known.
func (p *pipes) goesOn(b []byte, at time.Time, whole bool) {
	x := p.to
	x.add(wire.ToClient, at, b, 0, false)
	p.stdout += int64(len(b))
	if whole {
		p.to = nil
		x.whole[wire.ToClient] = true
		p.c.settle(x)
	}
	p.c.limit(x)
}

// settleLine gives the line that is held to the exchange it belongs to.
func (p *pipes) settleLine(whole bool) {
	x := p.owner(bytes.TrimRight(p.held, "\r\n"))
	if x == nil {
		p.c.begin(p.cuts[0].at)
		x = p.c.live[len(p.c.live)-1]
		x.whole[wire.ToServer] = true
	}
	x.Off = p.stdout
	off := 0
	for _, c := range p.cuts {
		x.add(wire.ToClient, c.at, p.held[off:off+c.n], 0, false)
		off += c.n
	}
	p.stdout += int64(off)
	p.held, p.cuts, p.tried = p.held[:0], p.cuts[:0], 0
	if cap(p.held) > keptRaw {
		p.held = nil
	}
	if whole {
		x.whole[wire.ToClient] = true
		p.c.settle(x)
	} else {
		p.to = x
	}
	p.c.limit(x)
}

// owner is who waits for this line, nil if nobody does.
func (p *pipes) owner(line []byte) *exchange {
	if len(p.asked) == 0 || len(line) >= maxLine {
		return nil
	}
	for _, id := range har.ReplyIDs(line) {
		if w := p.asked[id]; w != nil {
			p.over(w)
			return w.x
		}
	}
	return nil
}

// flush gives up waiting for the end of the server's line.
func (p *pipes) flush() {
	if len(p.held) > 0 {
		p.settleLine(false)
	}
}

// keepUp looks at a line that has waited for its end, and writes what there is of stderr.
func (p *pipes) keepUp(b *book) {
	if n := len(p.held); n > 0 {
		switch since := b.now.Sub(p.cuts[len(p.cuts)-1].at); {
		case since < staleLine:
			b.growing = true
		case n == p.tried:
		case wire.ParseRPC(p.held).JSON:
			p.flush()
		default:
			p.tried = n
		}
	}
	p.writeStderr(b, false)
}

// says takes bytes of stderr.
func (p *pipes) says(b *book, text []byte, at time.Time) {
	n := min(len(text), har.MaxStderr-p.spoken)
	p.process.Lost += int64(len(text) - n)
	p.spoken += n
	p.stderr.add(wire.ToClient, at, text[:n], 0, false)
	if p.stderr.unstored() >= MaxUnstored {
		p.writeStderr(b, false)
	}
	b.growing = true
}

func (p *pipes) writeStderr(b *book, final bool) {
	x := &p.stderr
	if b.err != nil || x.unstored() == 0 && !(final && x.passed) {
		return
	}
	upTo := b.redacted(x, final)
	line := &b.line
	x.prepare(line, upTo)
	if len(line.Response.Raw) > 0 {
		b.writeProcess(&har.Process{Conn: p.c.id, Stderr: line.Response, Redacted: line.Redacted})
		x.wrote(line, upTo)
	}
	b.shorten(x, final)
}

// obeyed tells whether the process ended as one does whose host is done with it: with exit code 0. What it had not answered by
// then the host had left.
func (p *pipes) obeyed() bool {
	return p != nil && p.exited != nil && p.exited.Signal == "" && p.exited.Code == 0
}

// finish writes what is left, and how the process ended.
func (p *pipes) finish(b *book) {
	p.flush()
	p.writeStderr(b, true)
	if p.exited == nil {
		return
	}
	p.exited.At = p.stderr.since(p.exitAt)
	b.writeProcess(&har.Process{Conn: p.c.id, Exit: p.exited, Lost: p.process.Lost})
	outlived := p.c.end[wire.ToClient] != "" && p.exitAt.Sub(p.c.endAt[wire.ToClient]) > outliveTime
	for i, x := range p.c.live {
		if i < len(p.c.live)-1 && x.whole[wire.ToClient] {
			continue
		}
		if outlived {
			x.note(har.NoteStdout + ": closed before the process ended")
		}
		x.note(p.exited.Note())
	}
}
