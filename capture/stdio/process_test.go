package stdio

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// TestMain lets the test's own program be the server.
func TestMain(m *testing.M) {
	if how := os.Getenv("MCPTAP_TEST_SERVER"); how != "" {
		serve(how)
		return
	}
	os.Exit(m.Run())
}

func serve(how string) {
	in := bufio.NewReader(os.Stdin)
	switch how {
	case "echo":
		io.Copy(os.Stdout, in)
		os.Exit(7)
	case "killed":
		in.ReadString('\n')
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "deaf": // reads no more, and says so
		os.Stdin.Close()
		os.Stdout.WriteString("deaf\n")
		os.Stderr.WriteString("bye")
	case "mute":
		os.Stdout.Close()
		io.Copy(io.Discard, in)
		os.Exit(4)
	case "waits":
		os.Stdout.WriteString("ready\n")
		select {}
	}
}

// A run is a process between pipes that the test holds, and what was reported of it.
type run struct {
	in     *os.File      // the host's end of stdin
	out    *bufio.Reader // of stdout
	stdout *os.File
	done   chan struct{}
	code   int
	err    error
	stderr bytes.Buffer

	mu     sync.Mutex
	events []har.Event
	bytes  [2]string
	errs   string
}

func start(t *testing.T, how string, signals chan os.Signal) *run {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	hostRead, in, _ := os.Pipe()
	out, hostWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r := &run{in: in, out: bufio.NewReader(out), stdout: out, done: make(chan struct{})}
	p := &Process{
		Command: []string{self}, Shown: []string{"server"}, Env: append(os.Environ(), "MCPTAP_TEST_SERVER="+how),
		Stdin: hostRead, Stdout: hostWrite, Stderr: &r.stderr, Signals: signals, Record: r.record,
	}
	go func() {
		r.code, r.err = p.Run()
		hostWrite.Close()
		close(r.done)
	}()
	t.Cleanup(func() { in.Close(); out.Close(); <-r.done })
	return r
}

func (r *run) record(e har.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Stderr {
		r.errs += string(e.Bytes)
	} else {
		r.bytes[e.Dir] += string(e.Bytes)
	}
	e.Bytes = nil
	r.events = append(r.events, e)
}

// endings gives what was reported of endings, in order.
func (r *run) endings() string {
	var list []string
	for _, e := range r.events {
		switch {
		case e.Exit != nil:
			list = append(list, e.Exit.Note())
		case e.End != "":
			list = append(list, fmt.Sprint(e.Dir, " ", e.End))
		}
	}
	return strings.Join(list, ", ")
}

func (r *run) check(t *testing.T, code int, endings string) {
	t.Helper()
	<-r.done
	if r.err != nil || r.code != code {
		t.Errorf("ended with %d, %v; want %d", r.code, r.err, code)
	}
	if got := r.endings(); got != endings {
		t.Errorf("endings %s, want %s", got, endings)
	}
}

func TestBytesPassUnchanged(t *testing.T) {
	r := start(t, "echo", nil)
	sent := "{}\n" + strings.Repeat("\xff\x00 no line end", 20000)
	go func() {
		io.WriteString(r.in, sent)
		r.in.Close()
	}()
	got, _ := io.ReadAll(r.out)
	r.check(t, 7, "request fin, response fin, exit: 7, response capture-stopped")
	if string(got) != sent || r.bytes[wire.ToServer] != sent || r.bytes[wire.ToClient] != sent {
		t.Errorf("%d bytes came back, %d and %d were reported; want %d", len(got), len(r.bytes[0]), len(r.bytes[1]), len(sent))
	}
}

// Nothing waits for a line end, or for more.
func TestPiecesPassAtOnce(t *testing.T) {
	r := start(t, "echo", nil)
	for _, piece := range []string{"{", `"a"`, ":1}", "\n", "x"} {
		io.WriteString(r.in, piece)
		got := make([]byte, len(piece))
		if _, err := io.ReadFull(r.out, got); err != nil || string(got) != piece {
			t.Fatalf("sent %q, got %q, %v", piece, got, err)
		}
	}
	r.in.Close()
	r.check(t, 7, "request fin, response fin, exit: 7, response capture-stopped")
}

func TestKilled(t *testing.T) {
	r := start(t, "killed", nil)
	io.WriteString(r.in, "x\n")
	r.check(t, 128+9, "response fin, exit: SIGKILL, response capture-stopped")
}

// A server that reads no more makes the host's writes fail.
func TestServerClosesStdin(t *testing.T) {
	r := start(t, "deaf", nil)
	if line, err := r.out.ReadString('\n'); line != "deaf\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	<-r.done
	if r.errs != "bye" || r.stderr.String() != "bye" {
		t.Errorf("stderr: reported %q, passed %q", r.errs, r.stderr.String())
	}
	r.check(t, 0, "response fin, exit: 0, response capture-stopped")
}

func TestServerClosesStdout(t *testing.T) {
	r := start(t, "mute", nil)
	if rest, err := io.ReadAll(r.out); len(rest) > 0 || err != nil {
		t.Fatalf("got %q, %v", rest, err)
	}
	r.in.Close()
	r.check(t, 4, "response fin, request fin, exit: 4, response capture-stopped")
}

func TestSignalIsPassedOn(t *testing.T) {
	signals := make(chan os.Signal, 1)
	r := start(t, "waits", signals)
	if _, err := r.out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	signals <- syscall.SIGTERM
	r.check(t, 128+15, "request rst, response fin, exit: SIGTERM, response capture-stopped")
}

// A host that reads no more makes the server's writes fail.
func TestHostClosesStdout(t *testing.T) {
	r := start(t, "echo", nil)
	r.stdout.Close()
	go io.WriteString(r.in, strings.Repeat("x", 1<<20))
	<-r.done
	if got := r.endings(); !strings.HasPrefix(got, "request rst, exit: ") && !strings.Contains(got, "SIGPIPE") {
		t.Errorf("endings %s", got)
	}
}
