package interop_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/mcptap/mcptap/capture/stdio"
	"github.com/mcptap/mcptap/har"
)

// The reference server over stdio: the clients start mcptap in its place and come to the same end, also when mcptap replays
// what was recorded; the replay's bytes, recorded again, are those of the first recording.
func TestServerEverythingOverStdio(t *testing.T) {
	needNode(t)
	server := []string{"node", "node_modules/@modelcontextprotocol/server-everything/dist/index.js", "stdio"}
	for _, name := range []string{goClient, "v2-auto", "v2-legacy", "v1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startClient(t, name)
			want := c.visit(t, commandLine(t, server...))
			first, second := t.TempDir(), t.TempDir()
			recording := []string{mcptap, "record", "--stdio", "-q", "--keep-secrets", "--out"}
			got := c.visit(t, commandLine(t, slices.Concat(recording, []string{first + "/", "--"}, server)...))
			if got.String() != want.String() {
				t.Errorf("through record the client came to another end\n got: %v\nwant: %v", got, want)
			}
			files, err := filepath.Glob(filepath.Join(first, "*.mcptap"))
			if err != nil || len(files) == 0 {
				t.Fatalf("nothing was recorded: %v", err)
			}
			if len(files) > 1 {
				return // a client that asks a process of its own first: the replay of one process stands for one
			}
			file := files[0]
			want1 := readPipes(t, file)
			again := filepath.Join(second, "again.mcptap")
			got = c.visit(t, commandLine(t, slices.Concat(recording, []string{again, "--", mcptap, "replay", "--stdio", "-q", "--pace", "fast", file})...))
			if got.String() != want.String() {
				t.Errorf("against the replay the client came to another end\n got: %v\nwant: %v", got, want)
			}
			samePipes(t, readPipes(t, again), want1)
		})
	}
}

func commandLine(t *testing.T, argv ...string) string {
	t.Helper()
	line, err := json.Marshal(argv)
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}

// readPipes reads a recording once it has its end: a client may leave before what it has started is done.
func readPipes(t *testing.T, file string) *har.Cassette {
	t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for until := time.Now().Add(20 * time.Second); ; <-look.C {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c, err := har.Read(bytes.NewReader(b), har.Limits{})
		if err == nil && c.Cut == "" {
			return c
		}
		if time.Now().After(until) {
			t.Fatalf("%s has no end: %v", file, err)
		}
	}
}

// samePipes compares what went in each direction, line for line, and how the processes ended: the
// replay of a server that a signal ended gives the exit code that a shell would.
func samePipes(t *testing.T, got, want *har.Cassette) {
	t.Helper()
	lines := func(c *har.Cassette) (in, out []string) {
		for _, x := range c.Exchanges {
			if len(x.Request.Raw) > 0 {
				in = append(in, string(x.Request.Raw))
			}
			if len(x.Response.Raw) > 0 {
				out = append(out, string(x.Response.Raw))
			}
		}
		slices.Sort(in)
		slices.Sort(out)
		return in, out
	}
	gotIn, gotOut := lines(got)
	wantIn, wantOut := lines(want)
	for _, line := range wantIn { // the client may answer a request of the server that came too late before
		if !slices.Contains(gotIn, line) {
			t.Errorf("the client did not write %q but\n%q", line, gotIn)
		}
	}
	if !slices.Equal(gotOut, wantOut) {
		t.Errorf("the replay wrote\n%q\nnot\n%q", gotOut, wantOut)
	}
	g, w := got.Processes[0], want.Processes[0]
	if g.Exit == nil || w.Exit == nil || stdio.ExitCode(g.Exit) != stdio.ExitCode(w.Exit) || string(g.Stderr.Raw) != string(w.Stderr.Raw) {
		t.Errorf("the replay ended with %+v and wrote %q to stderr; the server with %+v and %q", g.Exit, g.Stderr.Raw, w.Exit, w.Stderr.Raw)
	}
}
