// Package scripted is an MCP server that answers with scripted bytes, pauses and endings on raw sockets, so that real
// clients can be shown every kind of trouble. Without a script it is a well-behaved server of both eras.
package scripted

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Server plays Script; requests that it does not name are answered well. The zero value with Legacy set does not know
// server/discover.
type Server struct {
	// Script maps a class of requests to the steps of the answer. A class is the JSON-RPC method of a POST, "response" for
	// a POST that carries none, else the HTTP method. "CLASS#2" is only the second request of its class.
	Script map[string][]Step
	Legacy bool
	TLS    *tls.Config

	listener net.Listener
	open     sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
	count map[string]int
	seen  []*Exchange
}

// An Exchange is one request as it came and the bytes that were sent for it.
type Exchange struct {
	Class             string
	Request, Response []byte
}

// Start listens on a free loopback port.
func (s *Server) Start() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.listener, s.conns, s.count = l, map[net.Conn]bool{}, map[string]int{}
	s.open.Add(1)
	go func() {
		defer s.open.Done()
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.open.Add(1)
			go func() {
				defer s.open.Done()
				s.serve(c)
			}()
		}
	}()
	return nil
}

// URL is the server's MCP endpoint.
func (s *Server) URL() string {
	scheme := "http"
	if s.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + s.listener.Addr().String() + "/mcp"
}

// Close ends all connections and waits for them.
func (s *Server) Close() {
	s.listener.Close()
	s.mu.Lock()
	for c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.open.Wait()
}

// Seen lists the exchanges so far, in the order in which their requests came.
func (s *Server) Seen() []Exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Exchange, 0, len(s.seen))
	for _, x := range s.seen {
		list = append(list, Exchange{x.Class, bytes.Clone(x.Request), bytes.Clone(x.Response)})
	}
	return list
}

// serve answers the requests of one connection, one after another.
func (s *Server) serve(socket net.Conn) {
	s.mu.Lock()
	s.conns[socket] = true
	s.mu.Unlock()
	defer func() {
		socket.Close()
		s.mu.Lock()
		delete(s.conns, socket)
		s.mu.Unlock()
	}()
	conn := socket
	if s.TLS != nil {
		conn = tls.Server(socket, s.TLS)
	}
	var raw bytes.Buffer
	in := bufio.NewReader(io.TeeReader(conn, &raw))
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		request := bytes.Clone(raw.Next(raw.Len() - in.Buffered()))
		if !s.answer(socket, conn, req, request, body) {
			return
		}
	}
}

// answer plays the steps for one request. It returns false when the connection has ended.
func (s *Server) answer(socket, conn net.Conn, req *http.Request, request, body []byte) bool {
	call := parse(req, body)
	steps, x := s.begin(call, request)
	for _, step := range steps {
		time.Sleep(step.pause)
		if step.bytes != nil {
			b := []byte(step.bytes(call.id))
			s.mu.Lock()
			x.Response = append(x.Response, b...)
			s.mu.Unlock()
			if _, err := conn.Write(b); err != nil {
				return false
			}
		}
		switch step.end {
		case fin:
			conn.Close()
			return false
		case rst:
			socket.(*net.TCPConn).SetLinger(0)
			socket.Close()
			return false
		case hang:
			io.Copy(io.Discard, conn)
			return false
		}
	}
	return true
}

// begin enters the exchange and chooses its steps.
func (s *Server) begin(c call, request []byte) ([]Step, *Exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := &Exchange{Class: c.class, Request: request}
	s.seen = append(s.seen, x)
	s.count[c.class]++
	if steps, ok := s.Script[c.class+"#"+strconv.Itoa(s.count[c.class])]; ok {
		return steps, x
	}
	if steps, ok := s.Script[c.class]; ok {
		return steps, x
	}
	return well(c, s.Legacy), x
}

// A call is what the server needs to know of a request.
type call struct {
	class  string
	id     string // as sent, "null" if absent
	modern bool   // the request names a protocol version in _meta
}

func parse(req *http.Request, body []byte) call {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		}
	}
	c := call{class: req.Method, id: "null"}
	if req.Method != http.MethodPost {
		return c
	}
	c.class = "response"
	var syntax *json.SyntaxError
	if err := json.Unmarshal(body, &m); errors.As(err, &syntax) {
		return c
	}
	if m.Method != "" {
		c.class = m.Method
	}
	if m.ID != nil {
		c.id = string(m.ID)
	}
	_, c.modern = m.Params.Meta["io.modelcontextprotocol/protocolVersion"]
	return c
}

// well is how a well-behaved server answers.
func well(c call, legacy bool) []Step {
	more := ""
	if c.modern {
		more = `"resultType":"complete",`
		if strings.HasSuffix(c.class, "/list") {
			more += `"ttlMs":0,"cacheScope":"private",`
		}
	}
	result := func(members string) []Step {
		return JSON(200, `{"jsonrpc":"2.0","id":{{id}},"result":{`+strings.TrimSuffix(more+members, ",")+`}}`)
	}
	switch c.class {
	case "server/discover":
		if legacy {
			return JSON(200, `{"jsonrpc":"2.0","id":{{id}},"error":{"code":-32601,"message":"Method not found"}}`)
		}
		return JSON(200, Discovered)
	case "initialize":
		return Head("HTTP/1.1 200 OK", `{"jsonrpc":"2.0","id":{{id}},"result":{"protocolVersion":"2025-11-25","capabilities":`+
			`{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"scripted","version":"1.0.0"}}}`,
			"Content-Type: application/json", "Mcp-Session-Id: session-0001")
	case "tools/list":
		return result(`"tools":[{"name":"echo","description":"echo","inputSchema":{"type":"object"}}]`)
	case "prompts/list":
		return result(`"prompts":[{"name":"greet"}]`)
	case "resources/list":
		return result(`"resources":[{"uri":"test://one","name":"one"}]`)
	case "tools/call":
		return result(`"content":[{"type":"text","text":"pong"}]`)
	case "ping":
		return result("")
	case "GET":
		return Head("HTTP/1.1 405 Method Not Allowed", "", "Allow: POST, DELETE")
	case "DELETE":
		return Head("HTTP/1.1 200 OK", "")
	}
	if c.class == "response" || strings.HasPrefix(c.class, "notifications/") {
		return Head("HTTP/1.1 202 Accepted", "")
	}
	return JSON(404, `{"jsonrpc":"2.0","id":{{id}},"error":{"code":-32601,"message":"Method not found"}}`)
}
