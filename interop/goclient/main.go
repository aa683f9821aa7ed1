// Command goclient drives the official Go SDK's client against one server after another: it connects, lists tools, prompts
// and resources, calls the tool "echo" and closes. It prints one JSON object per server: what became of each step.
//
//	goclient SERVER        one server: a URL, or a command line as a JSON array
//	goclient < SERVERS     one per line, until stdin ends
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// How long a step may last: more than a healthy server needs on a busy machine, and little to wait for where one is silent, which
// shows as "timeout".
const (
	connectLimit = 10 * time.Second
	startLimit   = 30 * time.Second // to connect to a process, which must start first
	stepLimit    = 8 * time.Second  // also what a process may take to leave
	callLimit    = 4 * time.Second
)

// An outcome is what a user of the client gets to see, without texts that hold addresses.
type outcome struct {
	Era     string `json:"era"` // modern, legacy, failed
	Version string `json:"version"`
	Steps   []step `json:"steps"`
}

type step struct {
	Step  string `json:"step"`
	OK    bool   `json:"ok"`
	Got   string `json:"got,omitempty"`
	Error string `json:"error,omitempty"`
}

func main() {
	if len(os.Args) > 1 {
		report(os.Args[1])
		return
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		report(lines.Text())
	}
}

func report(url string) {
	if err := json.NewEncoder(os.Stdout).Encode(visit(url)); err != nil {
		fmt.Fprintln(os.Stderr, "goclient:", err)
		os.Exit(2)
	}
}

// visit runs all steps against one server.
func visit(url string) outcome {
	o := outcome{Era: "failed"}
	var s *mcp.ClientSession
	limit := connectLimit
	if strings.HasPrefix(url, "[") {
		limit = startLimit
	}
	o.try("connect", limit, func(ctx context.Context) (string, error) {
		var err error
		c := mcp.NewClient(&mcp.Implementation{Name: "mcptap-goclient", Version: "1.0.0"}, nil)
		s, err = c.Connect(ctx, transport(url), nil)
		return "", err
	})
	if s == nil {
		return o
	}
	o.Version, o.Era = s.InitializeResult().ProtocolVersion, "legacy"
	if o.Version >= "2026-07-28" {
		o.Era = "modern"
	}
	o.try("tools/list", stepLimit, func(ctx context.Context) (string, error) {
		r, err := s.ListTools(ctx, nil)
		if err != nil {
			return "", err
		}
		return fmt.Sprint(len(r.Tools)), nil
	})
	o.try("prompts/list", stepLimit, func(ctx context.Context) (string, error) {
		r, err := s.ListPrompts(ctx, nil)
		if err != nil {
			return "", err
		}
		return fmt.Sprint(len(r.Prompts)), nil
	})
	o.try("resources/list", stepLimit, func(ctx context.Context) (string, error) {
		r, err := s.ListResources(ctx, nil)
		if err != nil {
			return "", err
		}
		return fmt.Sprint(len(r.Resources)), nil
	})
	o.try("tools/call", callLimit, func(ctx context.Context) (string, error) { return call(ctx, s) })
	if slices.ContainsFunc(o.Steps, func(s step) bool { return !s.OK }) {
		time.Sleep(150 * time.Millisecond) // what the client sends beside a failed call (its cancellation) goes out first, in every run
	}
	o.try("close", stepLimit, func(context.Context) (string, error) { return "", s.Close() })
	return o
}

// transport is that of a URL, or of a command line given as a JSON array: a server over stdio.
func transport(server string) mcp.Transport {
	var argv []string
	if json.Unmarshal([]byte(server), &argv) == nil && len(argv) > 0 {
		return &mcp.CommandTransport{Command: exec.Command(argv[0], argv[1:]...), TerminateDuration: stepLimit}
	}
	return &mcp.StreamableClientTransport{Endpoint: server}
}

func call(ctx context.Context, s *mcp.ClientSession) (string, error) {
	r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"message": "ping"}})
	if err != nil || len(r.Content) == 0 {
		return "", err
	}
	t, _ := r.Content[0].(*mcp.TextContent)
	if t == nil {
		return "", nil
	}
	return t.Text, nil
}

// try runs one step and notes what became of it.
func (o *outcome) try(name string, limit time.Duration, f func(context.Context) (string, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	got, err := f(ctx)
	s := step{Step: name, OK: err == nil, Got: got}
	if err != nil {
		s.Error = kind(err)
	}
	o.Steps = append(o.Steps, s)
}

// kind names an error without its text: what errors.Is and errors.As tell, and the words that name a broken connection.
func kind(err error) string {
	var words []string
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) {
		words = append(words, fmt.Sprint("rpc ", rpc.Code))
	}
	for _, k := range []struct {
		is   error
		name string
	}{{context.DeadlineExceeded, "timeout"}, {mcp.ErrConnectionClosed, "closed"}, {mcp.ErrSessionMissing, "session missing"}} {
		if errors.Is(err, k.is) {
			words = append(words, k.name)
		}
	}
	for _, text := range []string{"connection reset", "connection refused", "unexpected EOF", "malformed"} {
		if strings.Contains(err.Error(), text) {
			words = append(words, text)
		}
	}
	if len(words) == 0 {
		words = []string{fmt.Sprintf("%T", err)}
	}
	return strings.Join(words, ", ")
}
