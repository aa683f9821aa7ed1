// Command demo shows mcptap at work: a server misbehaves, a real MCP client (the official Go SDK's) meets it through
// `mcptap record`, the recording is explained, and a replay of it shows the client the same bytes again. It runs the
// binaries that `make demo` builds, on loopback, and exits with 1 if the replay differs in a byte or in its outcome.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/interop/scripted"
)

const (
	mcptap = "bin/mcptap"
	client = "bin/goclient"

	parseError = `{"error":{"code":-32700,"message":"Parse Error"},"id":null,"jsonrpc":"2.0"}`
	notFound   = `{"jsonrpc":"2.0","id":{{id}},"error":{"code":-32601,"message":"Method not found"}}`
)

func main() {
	same, err := demo()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(2)
	case !same:
		os.Exit(1)
	}
}

// demo tells the whole story and reports whether the replay was like the recording.
func demo() (same bool, err error) {
	dir, err := os.MkdirTemp("", "mcptap-demo-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	first, second := filepath.Join(dir, "demo.mcptap"), filepath.Join(dir, "again.mcptap")

	server := &scripted.Server{Legacy: true, Script: map[string][]scripted.Step{
		"server/discover": scripted.JSON(400, parseError),
		"prompts/list":    scripted.JSON(404, notFound),
		"resources/list":  scripted.JSON(404, notFound),
	}}
	if err := server.Start(); err != nil {
		return false, err
	}
	say("1. A server offers tools only. It answers the probe with a body that strict JSON-RPC rejects, and methods that it",
		"   does not have with HTTP 404. A client of the official Go SDK meets it through mcptap.")
	recorded, err := run("record", "--to", server.URL(), "--out", first, "--keep-secrets", "--", client, "{url}")
	server.Close()
	if err != nil {
		return false, err
	}
	printOutcome(recorded)

	say("2. What it means: each exchange under the rules, with the rule's name and the bytes that prove it.")
	report, err := run("analyze", first)
	if err != nil {
		return false, err
	}
	os.Stdout.Write(report)

	say("3. The server is gone. The recording is served to the same client.")
	replayed, err := run("replay", first, "--pace", "fast", "--log", second, "--keep-secrets", "--", client, "{url}")
	if err != nil {
		return false, err
	}
	printOutcome(replayed)

	say("4. Was it the same?")
	return compare(recorded, replayed, first, second)
}

func say(lines ...string) { fmt.Printf("\n%s\n\n", strings.Join(lines, "\n")) }

// run runs mcptap and returns what came on stdout. That a rule failed (exit code 1) is no error.
func run(args ...string) ([]byte, error) {
	fmt.Println("$ mcptap", strings.Join(args, " "))
	cmd := exec.Command(mcptap, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		err = nil
	}
	return out, err
}

// An outcome is what the client prints behind the URL that mcptap prints.
type outcome struct {
	Era, Version string
	Steps        []struct {
		Step, Got, Error string
		OK               bool
	}
}

// outcomeOf takes the client's line from the output of record or replay.
func outcomeOf(out []byte) (o outcome, line []byte, err error) {
	_, line, _ = bytes.Cut(out, []byte("\n"))
	return o, line, json.Unmarshal(line, &o)
}

func printOutcome(out []byte) {
	o, line, err := outcomeOf(out)
	if err != nil {
		fmt.Printf("%s", line)
		return
	}
	fmt.Printf("the client: %s, protocol version %s\n", o.Era, o.Version)
	for _, s := range o.Steps {
		result := "ok " + s.Got
		if !s.OK {
			result = "failed: " + s.Error
		}
		fmt.Printf("  %-15s %s\n", s.Step, result)
	}
}

// compare holds the replay against the recording: the client's outcome, and the bytes that it was served.
func compare(recorded, replayed []byte, first, second string) (same bool, err error) {
	_, was, err1 := outcomeOf(recorded)
	_, is, err2 := outcomeOf(replayed)
	before, err3 := responses(first)
	after, err4 := responses(second)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return false, err
	}
	sameEnd, sameBytes, total := bytes.Equal(was, is), slices.Equal(before, after), 0
	for _, r := range before {
		total += len(r)
	}
	fmt.Printf("the client came to the same end:   %v\n", sameEnd)
	fmt.Printf("it was served the same bytes:      %v (%d responses, %d bytes)\n", sameBytes, len(before), total)
	return sameEnd && sameBytes, nil
}

// responses lists the response bytes of a cassette in an order that does not depend on what ran beside what.
func responses(file string) ([]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c, err := har.Read(f, har.Limits{})
	if err != nil {
		return nil, err
	}
	var list []string
	for _, x := range c.Exchanges {
		list = append(list, string(x.Response.Raw))
	}
	slices.Sort(list)
	return list, nil
}
