package interop_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// What is built once for all tests.
var mcptap, goclient string

func TestMain(m *testing.M) {
	os.Exit(withBinaries(m))
}

func withBinaries(m *testing.M) int {
	dir, err := os.MkdirTemp("", "mcptap-interop-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	mcptap, goclient = filepath.Join(dir, "mcptap"), filepath.Join(dir, "goclient")
	for _, b := range []struct{ in, out, pkg string }{{"..", mcptap, "./cmd/mcptap"}, {"goclient", goclient, "."}} {
		build := exec.Command("go", "build", "-o", b.out, b.pkg)
		build.Dir = b.in
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go build %s in %s: %v\n%s", b.pkg, b.in, err, out)
			return 1
		}
	}
	return m.Run()
}

// needNode skips a test that needs the npm packages where there is no Node or they are not installed. With CI=true that is
// a failure: there the whole suite must run.
func needNode(t *testing.T) {
	t.Helper()
	why := ""
	if out, err := exec.Command("node", "--version").Output(); err != nil {
		why = "node is not installed"
	} else if v, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), "."); atoi(v) < 20 {
		why = "want node 20 or later, this is " + strings.TrimSpace(string(out))
	} else if _, err := os.Stat("node_modules/@modelcontextprotocol/client"); err != nil {
		why = "the npm packages are not installed: make test installs them"
	}
	switch {
	case why == "":
	case os.Getenv("CI") == "true":
		t.Fatal(why)
	default:
		t.Skip(why)
	}
}

func atoi(s string) int { n, _ := strconv.Atoi(s); return n }

// An outcome is what a client's user got to see.
type outcome struct {
	Era     string `json:"era"`
	Version string `json:"version"`
	Steps   []struct {
		Step  string `json:"step"`
		OK    bool   `json:"ok"`
		Got   string `json:"got"`
		Error string `json:"error"`
	} `json:"steps"`
}

func (o outcome) String() string {
	s := o.Era + " " + o.Version
	for _, st := range o.Steps {
		s += fmt.Sprintf("; %s %v %s%s", st.Step, st.OK, st.Got, st.Error)
	}
	return s
}

// A client is a running driver of a real client: URLs go in, outcomes come out.
type client struct {
	name string
	in   io.Writer
	out  *bufio.Reader
}

// The real clients, by the names that tests use.
var npmClients = []string{"v2-auto", "v2-pin", "v2-legacy", "v1"}

const goClient = "go"

func startClient(t *testing.T, name string) *client {
	t.Helper()
	cmd := exec.Command("node", "client.mjs", name)
	if name == goClient {
		cmd = exec.Command(goclient)
	} else {
		needNode(t)
	}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	return &client{name, in, bufio.NewReader(out)}
}

// visit runs the client against one server.
func (c *client) visit(t *testing.T, url string) outcome {
	t.Helper()
	fmt.Fprintln(c.in, url)
	line, err := c.out.ReadBytes('\n')
	var o outcome
	if err == nil {
		err = json.Unmarshal(line, &o)
	}
	if err != nil {
		t.Fatalf("%s gave no outcome for %s: %v: %s", c.name, url, err, line)
	}
	return o
}

// A tap is a running `mcptap record` or `mcptap replay`.
type tap struct {
	t      *testing.T
	url    string
	cmd    *exec.Cmd
	rest   func() string // what else came on stdout
	line   func() string // one more line of it
	stderr *buffer
}

func startTap(t *testing.T, args ...string) *tap {
	t.Helper()
	p := &tap{t: t, cmd: exec.Command(mcptap, args...), stderr: new(buffer)}
	p.cmd.Stderr = p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.cmd.Process.Kill() })
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil {
		p.cmd.Wait()
		t.Fatalf("mcptap %s: no URL: %s", strings.Join(args, " "), p.stderr)
	}
	p.url = strings.TrimSpace(line)
	p.line = func() string { line, _ := lines.ReadString('\n'); return strings.TrimSpace(line) }
	p.rest = func() string { more, _ := io.ReadAll(lines); return string(more) }
	return p
}

// stop interrupts the tap, checks that it ends in good order within three seconds, and returns its exit code.
func (p *tap) stop() int {
	p.t.Helper()
	p.cmd.Process.Signal(syscall.SIGINT)
	late := time.AfterFunc(3*time.Second, func() { p.cmd.Process.Kill() })
	rest := p.rest()
	p.cmd.Wait()
	if !late.Stop() {
		p.t.Errorf("%s did not end within 3 s of an interrupt", p.cmd.Args[1])
	}
	if rest != "" {
		p.t.Errorf("%s wrote more than the URL to stdout: %q", p.cmd.Args[1], rest)
	}
	return p.cmd.ProcessState.ExitCode()
}

// run runs mcptap to its end.
func run(t *testing.T, args ...string) (code int, stdout []byte, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command(mcptap, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.Bytes(), errs.String()
}

// A buffer may be written and read at the same time.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
