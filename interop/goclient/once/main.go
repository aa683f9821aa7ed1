// Command once is one run of the official Go SDK's client against one server, for `mcptap corpus run -- once {url}`: it
// connects, lists tools, prompts and resources, calls a tool twice and closes. Waits are short, so that a silent server
// costs seconds. Exit code 1: it did not connect.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	connectLimit = 6 * time.Second
	stepLimit    = 5 * time.Second
)

func main() {
	url := os.Getenv("MCPTAP_URL")
	if len(os.Args) > 1 {
		url = os.Args[1]
	}
	if url == "" {
		fmt.Fprintln(os.Stderr, "usage: once URL")
		os.Exit(2)
	}
	var s *mcp.ClientSession
	step("connect", connectLimit, func(ctx context.Context) (err error) {
		client := mcp.NewClient(&mcp.Implementation{Name: "mcptap-matrix-go", Version: "1.0.0"}, nil)
		s, err = client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url}, nil)
		return err
	})
	if s == nil {
		os.Exit(1)
	}
	step("tools/list", stepLimit, func(ctx context.Context) error { _, err := s.ListTools(ctx, nil); return err })
	step("prompts/list", stepLimit, func(ctx context.Context) error { _, err := s.ListPrompts(ctx, nil); return err })
	step("resources/list", stepLimit, func(ctx context.Context) error { _, err := s.ListResources(ctx, nil); return err })
	for range 2 {
		step("tools/call", stepLimit, func(ctx context.Context) error {
			_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"message": "ping"}})
			return err
		})
	}
	step("close", stepLimit, func(context.Context) error { return s.Close() })
}

// step does one thing and says what became of it.
func step(name string, limit time.Duration, f func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := f(ctx); err != nil {
		fmt.Printf("%s: %v\n", name, err)
		return
	}
	fmt.Printf("%s: ok\n", name)
}
