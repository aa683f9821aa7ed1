package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
)

// An origin is a server whose every byte follows from the request line, so that a client can tell whether one is missing.
type origin struct {
	l    net.Listener
	cert *tls.Certificate // nil: plain HTTP
	hold chan struct{}    // closed when streams are to end
	once sync.Once
}

func newOrigin(cert *tls.Certificate) (*origin, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	o := &origin{l: l, cert: cert, hold: make(chan struct{})}
	if cert != nil {
		o.l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{*cert}})
	}
	go func() {
		for {
			c, err := o.l.Accept()
			if err != nil {
				return
			}
			go o.serve(c)
		}
	}()
	return o, nil
}

func (o *origin) url() string {
	scheme := "http"
	if o.cert != nil {
		scheme = "https"
	}
	return scheme + "://" + o.l.Addr().String() + "/"
}

// release lets all streams end.
func (o *origin) release() { o.once.Do(func() { close(o.hold) }) }

func (o *origin) close() {
	o.release()
	o.l.Close()
}

// serve answers requests until the client ends the connection.
func (o *origin) serve(c net.Conn) {
	defer c.Close()
	in := bufio.NewReaderSize(c, 4096)
	for {
		target, err := readRequest(in)
		if err != nil {
			return
		}
		kind, arg, _ := strings.Cut(strings.TrimPrefix(target, "/"), "/")
		n, _ := strconv.Atoi(arg)
		switch kind {
		case "call":
			_, err = c.Write(callAnswer(n))
		case "bytes":
			err = writeBytes(c, n)
		case "stream":
			c.Write([]byte(streamHead + streamEvent(n, 1)))
			<-o.hold
			c.Write([]byte(streamEvent(n, 2)))
			return
		case "never":
			io.Copy(io.Discard, in)
			return
		}
		if err != nil {
			return
		}
	}
}

// readRequest reads a request, head and body, and returns its target.
func readRequest(in *bufio.Reader) (target string, err error) {
	length := 0
	for first := true; ; first = false {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return "", err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if first {
			words := strings.Fields(string(line))
			if len(words) != 3 {
				return "", fmt.Errorf("a request line of %d words", len(words))
			}
			target = words[1]
		} else if v, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			length, _ = strconv.Atoi(string(v))
		}
	}
	_, err = in.Discard(length)
	return target, err
}

func callRequest(n int) []byte {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"add","arguments":{"n":%d}}}`, n, n)
	return fmt.Appendf(nil, "POST /call/%d HTTP/1.1\r\nHost: load.test\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", n, len(body), body)
}

func callAnswer(n int) []byte {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"answer %d"}]}}`, n, n*7)
	return fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

func getRequest(kind string, n int) []byte {
	return fmt.Appendf(nil, "GET /%s/%d HTTP/1.1\r\nHost: load.test\r\nAccept: text/event-stream\r\n\r\n", kind, n)
}

const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

func streamEvent(n, k int) string {
	return fmt.Sprintf("id: %d\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"stream\":%d}}\n\n", k, n)
}

func bytesHead(n int) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: %d\r\n\r\n", n)
}

const blockSize = 64 << 10

// block is the k-th one of a long body, text that can be packed somewhat: no two are alike.
func block(buf []byte, k int) []byte {
	state := uint32(k)*2654435761 + 12345
	for i := range buf {
		if i%8 == 0 {
			state = state*1664525 + 1013904223
		}
		buf[i] = 'a' + byte(state>>(4*(i%8)))%16
	}
	return buf
}

func writeBytes(w io.Writer, n int) error {
	if _, err := io.WriteString(w, bytesHead(n)); err != nil {
		return err
	}
	buf := make([]byte, blockSize)
	for k := 0; n > 0; k++ {
		b := block(buf, k)[:min(n, blockSize)]
		if _, err := w.Write(b); err != nil {
			return err
		}
		n -= len(b)
	}
	return nil
}
