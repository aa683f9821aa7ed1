// Package stdio sits between a host and a server that is a process: what the host writes goes to the server's stdin, what
// the server writes goes to the host, and all of it is reported as it passes.
package stdio

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcptap/mcptap/capture"
	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// Bounds of what is left of a process, and of what is read at a time.
const (
	readSize    = 64 << 10
	quietTime   = time.Minute     // silence of a process whose stdin was closed, after which it is sent SIGTERM
	killTime    = 5 * time.Second // behind that, after which it is killed
	inheritTime = 2 * time.Second // how long pipes that a process has left to others are read on
)

// A Process runs one server. Fields are set before Run.
//
// Bytes are passed on as they are, before they are recorded. What one side does, the other sees: the host closes the server's
// stdin by closing ours, a server that closes its stdout closes ours, and one that reads no more makes the host's writes fail. A
// host that reads no more makes the server's writes fail. Where a writer is an [io.Closer], it is closed with its pipe.
type Process struct {
	Command []string // the name and its arguments
	Shown   []string // the same without secrets, as it is recorded
	Env     []string
	Dir     string

	Stdin          io.Reader // of the host
	Stdout, Stderr io.Writer

	Signals <-chan os.Signal     // passed on to the process
	Heard   func(os.Signal) bool // tells of a signal that the process has got it already; nil: none
	Record  func(har.Event)      // called from several goroutines; nil to drop
	Notice  func(string)         // for people; nil to drop
	Now     func() time.Time     // stamps events; time.Now if nil

	tape   capture.Tape
	spoken atomic.Int64 // when something last passed, Unix nanoseconds
	left   atomic.Bool  // the host has closed our stdin
}

// conn is the number of the one connection of a recording of one process.
const conn = 1

// Run runs the process to its end and returns its exit code, 128 and the signal's number if one killed it. err says why it did
// not run.
func (p *Process) Run() (code int, err error) {
	cmd := exec.Command(p.Command[0], p.Command[1:]...)
	cmd.Env, cmd.Dir = p.Env, p.Dir
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, outWrite, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer out.Close()
	errs, errsWrite, err := os.Pipe()
	if err != nil {
		outWrite.Close()
		return 0, err
	}
	defer errs.Close()
	cmd.Stdout, cmd.Stderr = outWrite, errsWrite
	err = cmd.Start()
	outWrite.Close()
	errsWrite.Close()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", p.Command[0], cause(err))
	}
	p.tape.Record = p.Record
	p.open(cmd.Process.Pid)
	var pipes sync.WaitGroup
	go p.fromHost(in)
	pipes.Go(func() { p.toHost(out) })
	pipes.Go(func() { p.complain(errs) })
	p.wait(cmd, &pipes, out, errs)
	return p.exited(cmd.ProcessState), nil
}

func cause(err error) error {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}

func (p *Process) now() time.Time {
	if p.Now != nil {
		return p.Now()
	}
	return time.Now()
}

// saw gives an event its place, before what it tells of is passed on.
func (p *Process) saw(e har.Event) {
	p.spoken.Store(time.Now().UnixNano())
	e.Conn, e.At = conn, p.now()
	p.tape.Saw(e)
}

func (p *Process) notice(format string, args ...any) {
	if p.Notice != nil {
		p.Notice(fmt.Sprintf(format, args...))
	}
}

func (p *Process) open(pid int) {
	p.saw(har.Event{Open: &har.Conn{Client: fmt.Sprintf("pid %d", os.Getppid()), Server: fmt.Sprintf("pid %d", pid), Command: p.Shown}})
	p.tape.Hand()
}

// fromHost carries the client's bytes to the process until either ends.
func (p *Process) fromHost(in io.WriteCloser) {
	buf := make([]byte, readSize)
	for {
		n, err := p.Stdin.Read(buf)
		if n > 0 {
			p.saw(har.Event{Dir: wire.ToServer, Bytes: buf[:n]})
			_, failed := in.Write(buf[:n])
			p.tape.Hand()
			if failed != nil {
				closeIt(p.Stdin) // the process reads no more: the host's next write fails as it would have
				return
			}
		}
		if err != nil {
			p.saw(har.Event{Dir: wire.ToServer, End: har.EndFIN})
			p.left.Store(true)
			in.Close()
			p.tape.Hand()
			return
		}
	}
}

// toHost carries the process's bytes to the client until either ends.
func (p *Process) toHost(out io.ReadCloser) {
	buf := make([]byte, readSize)
	for {
		n, err := out.Read(buf)
		if n > 0 {
			p.saw(har.Event{Dir: wire.ToClient, Bytes: buf[:n]})
			_, failed := p.Stdout.Write(buf[:n])
			if failed != nil {
				p.saw(har.Event{Dir: wire.ToServer, End: har.EndRST})
				out.Close() // the host reads no more: the process's next write fails as it would have
			}
			p.tape.Hand()
			if failed != nil {
				return
			}
		}
		if err != nil {
			p.saw(har.Event{Dir: wire.ToClient, End: har.EndFIN})
			closeIt(p.Stdout)
			p.tape.Hand()
			return
		}
	}
}

// complain passes on what the process writes to stderr. A host that does not read it is no reason to stop.
func (p *Process) complain(errs io.Reader) {
	buf := make([]byte, readSize)
	for {
		n, err := errs.Read(buf)
		if n > 0 {
			p.saw(har.Event{Dir: wire.ToClient, Stderr: true, Bytes: buf[:n]})
			p.Stderr.Write(buf[:n])
			p.tape.Hand()
		}
		if err != nil {
			return
		}
	}
}

func closeIt(x any) {
	if c, ok := x.(io.Closer); ok {
		c.Close()
	}
}

// wait returns when the process has ended and its pipes have been read.
func (p *Process) wait(cmd *exec.Cmd, pipes *sync.WaitGroup, out, errs io.Closer) {
	ended, read := make(chan struct{}), make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	go func() { pipes.Wait(); close(read) }()
	p.watch(cmd.Process, ended)
	select {
	case <-read:
	case <-time.After(inheritTime):
		p.notice("%s has ended and left its output to a process that still runs: what that writes is not passed on", p.Shown[0])
		out.Close()
		errs.Close()
		<-read
	}
}

// watch passes signals on until the process has ended, and ends one that stays silent when its host has left.
func (p *Process) watch(process *os.Process, ended <-chan struct{}) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	gone := false
	var stopped time.Time
	for {
		select {
		case <-ended:
			return
		case sig := <-p.Signals:
			if !gone && !p.left.Load() {
				gone = true
				p.saw(har.Event{Dir: wire.ToServer, End: har.EndRST})
				p.tape.Hand()
			}
			if p.Heard == nil || !p.Heard(sig) {
				process.Signal(sig)
			}
		case now := <-tick.C:
			switch silent := now.Sub(time.Unix(0, p.spoken.Load())); {
			case !stopped.IsZero() && now.Sub(stopped) >= killTime:
				process.Kill()
			case stopped.IsZero() && p.left.Load() && silent >= quietTime:
				p.notice("%s still runs %v after its stdin was closed: it is asked to end (SIGTERM)", p.Shown[0], quietTime)
				process.Signal(syscall.SIGTERM)
				stopped = now
			}
		}
	}
}

// exited reports how the process ended, and gives the exit code that a shell would.
func (p *Process) exited(state *os.ProcessState) int {
	e, code := &har.Exit{Code: state.ExitCode()}, state.ExitCode()
	if st, ok := state.Sys().(syscall.WaitStatus); ok && st.Signaled() {
		e.Signal, code = signalName(st.Signal()), 128+int(st.Signal())
	}
	p.saw(har.Event{Dir: wire.ToClient, Exit: e})
	p.tape.Last(har.Event{Conn: conn, At: p.now(), Dir: wire.ToClient, End: har.EndStopped})
	p.tape.Hand()
	return code
}

// ExitCode is the exit code that a shell would give: 128 and the signal's number where one ended the process.
func ExitCode(e *har.Exit) int {
	if e.Signal == "" {
		return e.Code
	}
	return 128 + int(signals[e.Signal])
}

// signalName is the name of a signal in POSIX, or its number.
func signalName(s syscall.Signal) string {
	for name, sig := range signals {
		if sig == s {
			return name
		}
	}
	return fmt.Sprintf("signal %d", int(s))
}

var signals = map[string]syscall.Signal{
	"SIGHUP": syscall.SIGHUP, "SIGINT": syscall.SIGINT, "SIGQUIT": syscall.SIGQUIT, "SIGILL": syscall.SIGILL, "SIGTRAP": syscall.SIGTRAP,
	"SIGABRT": syscall.SIGABRT, "SIGBUS": syscall.SIGBUS, "SIGFPE": syscall.SIGFPE, "SIGKILL": syscall.SIGKILL,
	"SIGSEGV": syscall.SIGSEGV, "SIGPIPE": syscall.SIGPIPE, "SIGALRM": syscall.SIGALRM, "SIGTERM": syscall.SIGTERM,
}
