package har

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// A Process is what is known of a server that is a process, beside the exchanges over its stdin and stdout.
type Process struct {
	Conn     uint64    // that of its exchanges
	Command  []string  // the command line, secrets replaced
	Started  time.Time // UTC, microseconds
	Stderr   Side      // what it wrote to its stderr; times since Started
	Redacted []Redaction
	Lost     int64 // bytes of stderr behind these that were not kept
	Exit     *Exit // nil: its end was not seen
}

// An Exit is how a process ended.
type Exit struct {
	At     time.Duration // since Started
	Code   int           // valid iff Signal is ""
	Signal string        // the signal that ended it, such as "SIGKILL"
}

// Note says so in a word of an exchange's notes.
func (e *Exit) Note() string {
	if e.Signal != "" {
		return NoteExit + ": " + e.Signal
	}
	return NoteExit + ": " + strconv.Itoa(e.Code)
}

// MaxStderr is how many bytes of a process's stderr are kept.
const MaxStderr = 16 << 20

// A processLine is one line about a process: what it adds.
func appendProcess(b []byte, p *Process) []byte {
	b = append(b, `{"_process":`...)
	b = strconv.AppendUint(b, p.Conn, 10)
	b = appendTimeMember(b, "startedDateTime", p.Started)
	for i, arg := range p.Command {
		b = appendList(b, "command", i)
		b = appendString(b, validText(arg))
	}
	b = closeList(b, len(p.Command))
	if len(p.Stderr.Raw) > 0 {
		b = append(b, `,"stderr":`...)
		at := len(b)
		b = appendSide(b, &p.Stderr, nil)
		for i, r := range p.Redacted {
			b = appendList(b, "redacted", i)
			b = append(b, `{"off":`...)
			b = appendInt(b, int64(r.Off))
			b = append(b, `,"len":`...)
			b = appendInt(b, int64(r.Len))
			b = append(appendText(b, "kind", r.Kind), '}')
		}
		b = closeObject(closeList(b, len(p.Redacted)), at)
	}
	if p.Exit != nil {
		b = append(b, `,"exit":`...)
		at := len(b)
		if p.Exit.Signal == "" {
			b = append(b, `,"code":`...)
			b = appendInt(b, int64(p.Exit.Code))
		}
		b = appendText(b, "signal", p.Exit.Signal)
		b = appendCount(b, "at", p.Exit.At.Microseconds())
		b = closeObject(appendCount(b, "lost", p.Lost), at)
	}
	return append(b, "}\n"...)
}

// Process writes a line about a process: what is new of it. Offsets in Redacted count from the first byte of its stderr. The
// first line about a process has Started and Command.
func (w *Writer) Process(p *Process) error {
	switch {
	case w.err != nil:
		return w.err
	case w.closed:
		return errClosed
	case p.Conn < 1 || p.Conn > maxNumber:
		return fmt.Errorf("process %d: want a number from 1 to 2^53-1", p.Conn)
	}
	if err := p.Stderr.check(); err != nil {
		return fmt.Errorf("stderr of process %d: %w", p.Conn, err)
	}
	first := *p
	rest := p.Stderr
	rest.Writes = slices.Clone(rest.Writes)
	for len(rest.Raw) > lineBytes {
		part := Process{Conn: p.Conn, Started: first.Started, Command: first.Command, Stderr: rest.takeOff(lineBytes)}
		first.Started, first.Command = time.Time{}, nil
		w.chunk.text = appendProcess(w.chunk.text, &part)
		w.emit(0)
	}
	first.Stderr = rest
	w.chunk.text = appendProcess(w.chunk.text, &first)
	w.emit(0)
	w.end.Redacted += len(p.Redacted)
	return w.err
}

// parseProcess reads a line about a process.
func parseProcess(line []byte) (*Process, error) {
	p := parser{b: line}
	out := new(Process)
	p.object(func(name string) bool {
		switch name {
		case "_process":
			out.Conn = uint64(p.number())
		case "startedDateTime":
			out.Started = p.time()
		case "command":
			p.array(func() { out.Command = append(out.Command, p.text()) })
		case "stderr":
			p.stderr(out)
		case "exit":
			p.exit(out)
		default:
			return false
		}
		return true
	})
	p.end()
	if p.err == nil && out.Conn == 0 {
		p.err = want("_process of 1 or more", "")
	}
	return out, p.err
}

func (p *parser) stderr(out *Process) {
	s := &out.Stderr
	var has members
	p.object(func(name string) bool {
		switch name {
		case "_raw":
			s.Raw = p.owned()
			has |= hasRaw
		case "_raw64":
			s.Raw = p.base64()
			has |= hasRaw64
		case "_writes":
			s.Writes = p.writes()
			has |= hasWrites
		case "redacted":
			p.array(func() { out.Redacted = append(out.Redacted, p.hidden()) })
		default:
			return false
		}
		return true
	})
	switch {
	case p.err != nil:
	case has&(hasRaw|hasRaw64) == hasRaw|hasRaw64:
		p.err = want("_raw or _raw64", "got both")
	case has&hasWrites == 0 && len(s.Raw) > 0:
		s.Writes = []Write{{Len: len(s.Raw)}}
	case !s.adds():
		p.err = want("lengths in _writes that are not 0 and add up to the length of the bytes", "")
	}
}

func (p *parser) hidden() (r Redaction) {
	var where members
	p.object(func(name string) bool {
		switch name {
		case "off":
			r.Off = p.count()
			where |= hasOff
		case "len":
			r.Len = p.count()
			where |= hasLen
		case "kind":
			r.Kind = p.word()
		default:
			return false
		}
		return true
	})
	p.placed(where)
	return r
}

func (p *parser) exit(out *Process) {
	e := new(Exit)
	coded := false
	p.object(func(name string) bool {
		switch name {
		case "code":
			e.Code, coded = p.count(), true
		case "signal":
			e.Signal = p.text()
		case "at":
			e.At = p.micros()
		case "lost":
			out.Lost = p.number()
		default:
			return false
		}
		return true
	})
	if p.err == nil && coded == (e.Signal != "") {
		p.err = want("an exit with a code or a signal", "")
	}
	out.Exit = e
}

// process takes a line about a process.
func (l *ledger) process(add *Process) error {
	p := l.processes[add.Conn]
	switch {
	case p == nil && (add.Started.IsZero() || len(add.Command) == 0):
		return want("startedDateTime and command on the first line of a process", "")
	case p != nil && (!add.Started.IsZero() || len(add.Command) > 0):
		return want(fmt.Sprintf("startedDateTime and command once for process %d", add.Conn), "got them again")
	case p != nil && p.Exit != nil:
		return want(fmt.Sprintf("nothing of process %d behind its exit", add.Conn), "")
	case p == nil:
		p = &Process{Conn: add.Conn, Started: add.Started, Command: add.Command}
		if l.processes == nil {
			l.processes = map[uint64]*Process{}
		}
		l.processes[add.Conn] = p
		l.held += heldPer
	}
	size := len(p.Stderr.Raw) + len(add.Stderr.Raw)
	if size > MaxStderr {
		return want(fmt.Sprintf("at most %d bytes of stderr of process %d", MaxStderr, add.Conn), "")
	}
	for _, r := range add.Redacted {
		if !within(r.Off, r.Len, size) {
			return want(fmt.Sprintf("redacted within the %d bytes of stderr", size), fmt.Sprintf("got %d at %d", r.Len, r.Off))
		}
	}
	p.Stderr.Raw = append(p.Stderr.Raw, add.Stderr.Raw...)
	p.Stderr.Writes = append(p.Stderr.Writes, add.Stderr.Writes...)
	p.Redacted = append(p.Redacted, add.Redacted...)
	l.held += int64(len(add.Stderr.Raw) + 24*(len(add.Stderr.Writes)+len(add.Redacted)))
	p.Lost, p.Exit = add.Lost, add.Exit
	return nil
}

// Processes returns what has been read so far of servers that were processes, in order of Conn.
func (r *Reader) Processes() []*Process {
	list := make([]*Process, 0, len(r.ledger.processes))
	for _, p := range r.ledger.processes {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *Process) int {
		if a.Conn < b.Conn {
			return -1
		}
		return 1
	})
	return list
}
