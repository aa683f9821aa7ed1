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
func (s *scene) tell(text, reply string) {
	if reply != "" {
		reply = withID(reply, rawID("\r\n\r\n"+text)) + "\n"
	}
	s.speaks(text+"\n", reply, true, 0)
}

// speaks writes a whole line of the client, and behind wait one of the server unless it is empty, which replies or is an
// exchange of its own.
func (s *scene) speaks(ask, say string, replies bool, wait time.Duration) {
	x := s.lines()
	add(&x.Request, 0, ask)
	at := wait
	if say != "" {
		at += s.jitter(9 * time.Millisecond)
		if !replies {
			s.now += at
			x, at = s.lines(), 0
		}
		x.Off = s.stdout
		s.stdout += int64(len(say))
		add(&x.Response, at, say)
	}
	s.now += at + s.jitter(2*time.Millisecond)
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

// leave closes the process's stdin, and it exits with code 0. Its last exchange, and those that wait for a reply, end so.
func (s *scene) leave() {
	if s.process == nil {
		return
	}
	s.now += s.jitter(3 * time.Millisecond)
	gone := start.Add(s.now)
	s.now += s.jitter(time.Millisecond)
	how := &har.Exit{At: start.Add(s.now).Sub(s.process.Started).Truncate(time.Microsecond)}
	s.process.Exit = how
	for _, x := range s.xs {
		waits := len(x.Response.Raw) == 0 && len(har.RequestIDs(x.Request.Raw)) > 0
		if x.Conn == s.process.Conn && (waits || x == s.line.last) {
			x.End, x.EndAt, x.EndOff = har.EndClientFIN, gone.Sub(x.Started).Truncate(time.Microsecond), len(x.Response.Raw)
			x.Notes = append(x.Notes, how.Note())
		}
	}
	s.process, s.line = nil, nil
}

// handshake initializes a 2025 session over the pipes.
func (s *scene) handshake() {
	s.tell(s.initializeBody(), result(initResult))
	s.tell(s.client.notify, "")
}
