package corpus

import (
	"strconv"
	"time"

	"github.com/mcptap/mcptap/har"
)

// spawn starts the server as a process, and ends the one before: the client closes its stdin, and it exits with code 0.
func (s *scene) spawn(command ...string) {
	s.leave()
	s.conns++
	s.origin, s.entrance, s.ids = har.StdioURL(command), "", 1
	s.process = &har.Process{Conn: uint64(s.conns), Command: command, Started: start.Add(s.now)}
	s.processes = append(s.processes, s.process)
	s.line, s.stdout = &line{n: s.conns}, 0
	s.now += s.jitter(40 * time.Millisecond)
}

// tell writes a line of the client to the process, and reply, unless empty, is the line that comes back. $ID stands for
// the request's id.
func (s *scene) tell(text, reply string) *har.Exchange {
	x := s.lines()
	add(&x.Request, 0, text+"\n")
	if reply != "" {
		at := s.jitter(9 * time.Millisecond)
		s.speak(x, at, withID(reply, rawID("\r\n\r\n"+text))+"\n")
		s.now += at
	}
	s.now += s.jitter(2 * time.Millisecond)
	return x
}

// lines is a new exchange of the process.
func (s *scene) lines() *har.Exchange {
	x := &har.Exchange{N: len(s.xs) + 1, Conn: uint64(s.line.n), Seq: 1, Started: start.Add(s.now), Client: "pid 7001",
		Server: "pid " + strconv.Itoa(7001+s.line.n), URL: s.origin, End: har.EndKeep}
	if s.line.last != nil {
		x.Seq = s.line.last.Seq + 1
	}
	s.xs = append(s.xs, x)
	s.line.last = x
	return x
}

// speak writes the server's line.
func (s *scene) speak(x *har.Exchange, at time.Duration, text string) {
	x.Off = s.stdout
	s.stdout += int64(len(text))
	add(&x.Response, at, text)
}

// leave closes the process's stdin, and it exits with code 0.
func (s *scene) leave() {
	if s.process == nil {
		return
	}
	s.now += s.jitter(3 * time.Millisecond)
	if x := s.line.last; x != nil && x.End == har.EndKeep {
		s.exits(x, har.EndFIN, &har.Exit{})
	}
	s.process, s.line = nil, nil
}

// exits ends the process, and with it this exchange.
func (s *scene) exits(x *har.Exchange, end har.Ending, how *har.Exit) {
	x.End, x.EndAt, x.EndOff = end, start.Add(s.now).Sub(x.Started).Truncate(time.Microsecond), len(x.Response.Raw)
	s.now += s.jitter(time.Millisecond)
	how.At = start.Add(s.now).Sub(s.process.Started).Truncate(time.Microsecond)
	s.process.Exit = how
	x.Notes = append(x.Notes, how.Note())
}

// handshake initializes a 2025 session over the pipes.
func (s *scene) handshake() {
	s.tell(s.initializeBody(), result(initResult))
	s.tell(s.client.notify, "")
}
