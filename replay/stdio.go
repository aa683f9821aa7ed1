package replay

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// Stdio serves one recorded process on stdin and stdout: the same lines, cuts, gaps, stderr and exit. Fields are set before Serve.
//
// A line of the client is matched as the [Player] matches a request; the first recording of the same key that is left is taken.
// A reply comes when its request has been taken, behind the recorded gap; every other line of the server, and its stderr, when
// the client's line before it has. Lines keep their recorded order at any pace: one that came behind the reply to a line that the
// client has not written yet waits for that, at most a second. The process ends as it did: by itself behind all that was recorded,
// or after the client has closed stdin.
type Stdio struct {
	Exchanges []*har.Exchange // those of one process
	Process   *har.Process    // nil if nothing is known of it
	Pace      float64         // as for a Player
	Exact     bool            // refuse to patch ids
	Notice    func(string)    // misses and patches in words; nil to drop

	asks   []*written
	lines  []*spokenLine // of stdout that are not sent, as recorded
	errs   []*spokenLine // of stderr likewise
	base   time.Time
	began  time.Time
	closed time.Time // when the client closed stdin; zero: it has not
	result Result
}

// A written line is one of the client's.
type written struct {
	x       *har.Exchange
	ask     *ask
	at      time.Duration // of its last byte, since base
	taken   bool
	takenAt time.Time
	live    values
}

// A spokenLine is one of the server's, or one write to stderr.
type spokenLine struct {
	x      *har.Exchange // nil: stderr
	off    int64
	raw    []byte
	writes []har.Write // times since base
	gate   *written    // nil: the beginning
	reply  *written    // the request that it answers, nil if it answers none
	passed bool        // a line behind it has been sent, since the client did not write in time what it waits for
}

// maxWaiting is how many lines of the client are read ahead.
const maxWaiting = 64

// Serve runs until the process would have ended, and returns how it did; nil if that is not recorded.
func (s *Stdio) Serve(in io.Reader, out, errs io.Writer) (*har.Exit, error) {
	s.prepare()
	lines := make(chan []byte, maxWaiting)
	go readLines(in, lines)
	s.began = time.Now()
	for {
		l, wait := s.next()
		var due <-chan time.Time
		switch {
		case l != nil && wait <= 0:
			if err := s.send(l, out, errs); err != nil {
				return s.exit(), err
			}
			continue
		case l != nil:
			due = time.After(wait)
		case s.over() <= 0:
			return s.exit(), nil
		case s.over() < maxGap:
			due = time.After(s.over())
		}
		select {
		case line, ok := <-lines:
			if !ok {
				lines, s.closed = nil, time.Now()
				continue
			}
			if err := s.take(line, out); err != nil {
				return s.exit(), err
			}
		case <-due:
		}
	}
}

func readLines(in io.Reader, to chan<- []byte) {
	defer close(to)
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		var line []byte
		for {
			part, err := r.ReadSlice('\n')
			if len(line) <= maxRequest {
				line = append(line, part...)
			}
			if err == bufio.ErrBufferFull {
				continue
			}
			if len(line) > 0 {
				to <- line
			}
			if err != nil {
				return
			}
			break
		}
	}
}

// prepare puts the recorded lines in order.
func (s *Stdio) prepare() {
	if s.Process != nil {
		s.base = s.Process.Started
	} else if len(s.Exchanges) > 0 {
		s.base = s.Exchanges[0].Started
	}
	xs := slices.Clone(s.Exchanges)
	slices.SortFunc(xs, func(a, b *har.Exchange) int { return cmp.Compare(a.Seq, b.Seq) })
	gates := map[*har.Exchange]*written{}
	for _, x := range xs {
		if len(x.Request.Raw) > 0 {
			gates[x] = s.newWritten(x)
			s.asks = append(s.asks, gates[x])
		}
	}
	for _, x := range xs {
		if len(x.Response.Raw) > 0 {
			s.lines = append(s.lines, s.newSpoken(x, gates[x]))
		}
	}
	slices.SortStableFunc(s.lines, func(a, b *spokenLine) int { return cmp.Compare(a.off, b.off) })
	s.waitForAnswers()
	if s.Process != nil {
		s.addStderr()
	}
}

func (s *Stdio) newWritten(x *har.Exchange) *written {
	a := &written{x: x, at: x.Started.Sub(s.base) + atOffset(x.Request.Writes, len(x.Request.Raw)-1)}
	line := bytes.TrimRight(x.Request.Raw, "\r\n")
	var hiddenAt []wire.Span
	for _, r := range x.Redacted {
		if r.Dir == wire.ToServer {
			hiddenAt = append(hiddenAt, wire.Span{Off: r.Off, Len: r.Len})
		}
	}
	a.ask = lineAsk(hide(line, hiddenAt))
	return a
}

func lineAsk(line []byte) *ask { return newAsk(&wire.Head{Method: "STDIO"}, line, MatchParams) }

// newSpoken makes the line of the server that an exchange has; gate is nil if it answers nothing.
func (s *Stdio) newSpoken(x *har.Exchange, gate *written) *spokenLine {
	l := &spokenLine{x: x, off: x.Off, raw: x.Response.Raw, gate: gate, reply: gate}
	for _, w := range x.Response.Writes {
		l.writes = append(l.writes, har.Write{At: x.Started.Sub(s.base) + w.At, Len: w.Len})
	}
	if gate == nil {
		l.gate = s.before(l.writes[0].At)
	}
	return l
}

// waitForAnswers makes each reply that came behind an answer of the client, to a request whose answer the server needs, wait for it.
func (s *Stdio) waitForAnswers() {
	needed := map[string]bool{}
	for _, l := range s.lines {
		if m := wire.ParseRPC(l.raw); l.reply == nil && m.Kind == wire.Request && slices.Contains(needsAnswer, m.Method) {
			needed[string(m.ID.Raw)] = true
		}
	}
	var answers []*written
	for _, a := range s.asks {
		if slices.ContainsFunc(a.ask.responses, func(id string) bool { return needed[id] }) {
			answers = append(answers, a)
		}
	}
	for _, l := range s.lines {
		for len(answers) > 1 && answers[1].at <= l.writes[0].At {
			answers = answers[1:]
		}
		if len(answers) > 0 && l.reply != nil && answers[0].at >= l.gate.at && answers[0].at <= l.writes[0].At {
			l.gate = answers[0]
		}
	}
}

func (s *Stdio) addStderr() {
	off := 0
	for _, w := range s.Process.Stderr.Writes {
		s.errs = append(s.errs, &spokenLine{raw: s.Process.Stderr.Raw[off : off+w.Len], writes: []har.Write{w}, gate: s.before(w.At)})
		off += w.Len
	}
}

// before is the client's last line that had come by then, of several in one read the first; nil if none had.
func (s *Stdio) before(at time.Duration) *written {
	var last *written
	for _, a := range s.asks {
		if a.at <= at && (last == nil || a.at > last.at) {
			last = a
		}
	}
	return last
}

// turnTime is how long a line waits for the ones that came before it, if the client has not written what those wait for: it may be
// about to, and may be waiting for this line.
const turnTime = time.Second

// next is the line of stdout or stderr that comes next, and how long that is from now; nil if all that is left waits for the client.
func (s *Stdio) next() (first *spokenLine, wait time.Duration) {
	now := time.Now()
	for _, l := range s.errs {
		if !l.open() {
			continue
		}
		if d := s.until(l.gate, l.writes[0].At, now); first == nil || d < wait {
			first, wait = l, d
		}
	}
	held := false
	for _, l := range s.lines {
		if !l.open() {
			held = held || !l.passed
			continue
		}
		d := s.until(l.gate, l.writes[0].At, now)
		if held && s.closed.IsZero() {
			d += turnTime
		}
		if first == nil || d < wait {
			first, wait = l, d
		}
		break
	}
	return first, wait
}

// open tells whether the client has written what the line waits for.
func (l *spokenLine) open() bool {
	return (l.gate == nil || l.gate.taken) && (l.reply == nil || l.reply.taken)
}

// until is how long it is until what came at that time of the recording, counted from its gate.
func (s *Stdio) until(gate *written, at time.Duration, now time.Time) time.Duration {
	from, began := time.Duration(0), s.began
	if gate != nil {
		from, began = gate.at, gate.takenAt
	}
	return began.Add(s.gap(at - from)).Sub(now)
}

// gap is a recorded gap at the pace of the replay.
func (s *Stdio) gap(d time.Duration) time.Duration {
	if s.Pace <= 0 {
		return 0
	}
	return time.Duration(float64(min(max(d, 0), maxGap)) / s.Pace)
}

// over is how long it is until the process ends, maxGap if that waits for the client.
func (s *Stdio) over() time.Duration {
	var end time.Duration
	if p := s.Process; p != nil && p.Exit != nil {
		end = p.Exit.At
	}
	if !s.closed.IsZero() {
		for _, x := range s.Exchanges {
			if x.End == har.EndClientFIN {
				return time.Until(s.closed.Add(s.gap(end - x.Started.Sub(s.base) - x.EndAt)))
			}
		}
		return 0
	}
	byItself := slices.ContainsFunc(s.Exchanges, func(x *har.Exchange) bool { return x.End == har.EndFIN })
	if !byItself || slices.ContainsFunc(s.asks, func(a *written) bool { return !a.taken }) {
		return maxGap
	}
	return s.until(s.before(end), end, time.Now())
}

func (s *Stdio) exit() *har.Exit {
	if s.Process == nil {
		return nil
	}
	return s.Process.Exit
}

// take finds what was recorded for a line of the client.
func (s *Stdio) take(line []byte, out io.Writer) error {
	q := lineAsk(bytes.TrimRight(line, "\r\n"))
	for _, same := range []func(a *written) bool{
		func(a *written) bool { return a.ask.key == q.key || matchesHidden(a.ask.key, q.key) },
		func(a *written) bool {
			return !s.Exact && (a.ask.loose == q.loose || matchesHidden(a.ask.loose, q.loose))
		},
	} {
		for _, a := range s.asks {
			if !a.taken && same(a) && (!s.Exact || a.ask.values.equal(q.values)) {
				a.taken, a.takenAt, a.live = true, time.Now(), q.values
				s.result.Served++
				return nil
			}
		}
	}
	return s.miss(q, out)
}

// send writes a line in the recorded pieces.
func (s *Stdio) send(l *spokenLine, out, errs io.Writer) error {
	if l.x == nil {
		s.errs = without(s.errs, slices.Index(s.errs, l))
		errs.Write(l.raw)
		return nil
	}
	at := slices.Index(s.lines, l)
	for _, before := range s.lines[:at] {
		before.passed = true
	}
	s.lines = without(s.lines, at)
	raw, patched := s.patch(l)
	if patched {
		_, err := out.Write(raw)
		return err
	}
	for i, w := range l.writes {
		if i > 0 {
			time.Sleep(s.gap(w.At - l.writes[i-1].At))
		}
		if _, err := out.Write(raw[:w.Len]); err != nil {
			return err
		}
		raw = raw[w.Len:]
	}
	return nil
}

// without is the list without element i, which is mostly the first.
func without(list []*spokenLine, i int) []*spokenLine {
	if i == 0 {
		return list[1:]
	}
	return slices.Delete(list, i, i+1)
}

// patch puts the ids and tokens that the live client chose in the place of the recorded ones.
func (s *Stdio) patch(l *spokenLine) (raw []byte, patched bool) {
	text := bytes.TrimRight(l.raw, "\r\n")
	owners := map[*recording]*written{}
	sites := messageSites(text, func(off int) int { return off }, func(value string, token bool) (*recording, int) {
		for _, a := range s.asks {
			list := a.ask.values.ids
			if token {
				list = a.ask.values.tokens
			}
			if i := slices.Index(list, value); i >= 0 && value != "" && a.taken && (token || a == l.reply) {
				r := &recording{x: a.x, ask: a.ask, live: a.live}
				owners[r] = a
				return r, i
			}
		}
		return nil, 0
	})
	raw = l.raw
	for i := len(sites) - 1; i >= 0; i-- {
		site := sites[i]
		old, want := string(text[site.off:site.off+site.len]), site.want()
		if want == "" || want == old {
			continue
		}
		raw = slices.Concat(raw[:site.off], []byte(want), raw[site.off+site.len:])
		s.result.Patches = append(s.result.Patches, Patch{N: l.x.N, Off: site.off, Old: old, New: want})
		s.notice(fmt.Sprintf("exchange %d: %s was patched to %s, which the client chose", l.x.N, old, want))
		patched = true
	}
	return raw, patched
}

func (s *Stdio) notice(words string) {
	if s.Notice != nil {
		s.Notice(words)
	}
}

// Result reports what was served, missed and left over. It may be written after Serve.
func (s *Stdio) Result() Result {
	out := s.result
	for _, a := range s.asks {
		if !a.taken {
			out.Unserved = append(out.Unserved, a.x)
		}
	}
	return out
}
