// Package fallback shows a regression test for a recording, with the official Go SDK as the client.
package fallback

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcptap/mcptap/replay"
	_ "github.com/mcptap/mcptap/replay/testkit"
)

// The test fails if the client asks for anything else than was recorded, leaves something out, or does not connect as a
// legacy client.
func TestLegacyServer(t *testing.T) {
	server := replay.Serve(t, "testdata/legacy.mcptap")
	server.Expect("legacy")

	client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1.0.0"}, nil)
	session, err := client.Connect(context.Background(), &mcp.StreamableClientTransport{Endpoint: server.URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	tools, err := session.ListTools(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(tools.Tools) == 0 {
		t.Fatal("no tools")
	}
	answer, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: tools.Tools[0].Name, Arguments: map[string]any{"message": "ping"}})
	if err != nil {
		t.Fatal(err)
	}
	if text, ok := answer.Content[0].(*mcp.TextContent); !ok || text.Text != "pong" {
		t.Errorf("got %v, want pong", answer.Content[0])
	}
}
