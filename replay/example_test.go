package replay_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/replay"
)

// In a test: the client meets the recorded server, and the test fails if it asks for anything else than was recorded.
func ExampleServe() {
	test := func(t *testing.T) {
		s := replay.Serve(t, "testdata/bug.mcptap")
		r, err := http.Post(s.URL, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
	}
	_ = test
}

// Without a socket the client is given a transport; all hosts are the recorded server.
func ExampleRoundTripper() {
	test := func(t *testing.T) {
		client := &http.Client{Transport: replay.RoundTripper(t, "testdata/bug.mcptap")}
		r, err := client.Get("https://mcp.example.com/mcp")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
	}
	_ = test
}

// A Server has what Serve leaves at its default: here a client that may leave early, with the recorded gaps.
func ExampleServer() {
	test := func(t *testing.T) {
		s := &replay.Server{File: "testdata/bug.mcptap", AllowUnserved: true, Player: replay.Player{Pace: 1}}
		s.Start(t)
		s.Expect("legacy-fallback") // needs import _ "github.com/mcptap/mcptap/replay/testkit"
		// let the client connect to s.URL
	}
	_ = test
}

// A client under test is given the player's address in place of the server's.
func ExamplePlayer() {
	request := "POST /mcp HTTP/1.1\r\nHost: server.example\r\nContent-Length: 46\r\n\r\n" +
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	response := "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: 77\r\n\r\n" +
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}`
	recorded := &har.Exchange{
		N: 1, Conn: 1, Seq: 1, Started: time.Now(),
		Request:  har.Side{Raw: []byte(request), Writes: []har.Write{{Len: len(request)}}},
		Response: har.Side{Raw: []byte(response), Writes: []har.Write{{At: time.Millisecond, Len: len(response)}}},
		End:      har.EndKeep,
	}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	p := &replay.Player{Exchanges: []*har.Exchange{recorded}, Pace: 1}
	go p.Serve(l)
	defer p.Close()

	url := "http://" + l.Addr().String() + p.Endpoint()
	for _, method := range []string{"tools/list", "prompts/list"} {
		res, err := http.Post(url, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"`+method+`"}`))
		if err != nil {
			panic(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		fmt.Println(res.StatusCode, string(body))
	}
	result := p.Result()
	fmt.Println(result.Served, "served,", len(result.Patches), "patched,", len(result.Misses), "missed:", result.Misses[0].Differs)
	// Output:
	// 404 {"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"Method not found"}}
	// 501 {"error":{"code":-32603,"data":{"differs":"JSON-RPC: recorded tools/list, sent prompts/list","nearest":1},"message":"mcptap replay: nothing recorded is left for POST /mcp prompts/list: JSON-RPC: recorded tools/list, sent prompts/list"},"id":7,"jsonrpc":"2.0"}
	// 1 served, 1 patched, 1 missed: JSON-RPC: recorded tools/list, sent prompts/list
}
