package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// Proxies of each kind are gone through, or it is said why not; and nothing they do is noted as the server's doing.
func TestVia(t *testing.T) {
	server := serveOn(t, func(c net.Conn) { io.WriteString(c, "hello") })
	socks := serveOn(t, socksServer("", ""))
	guarded := serveOn(t, socksServer("user", "secret"))
	plain := serveOn(t, connectServer(""))
	locked := serveOn(t, connectServer("Basic dXNlcjpzZWNyZXQ="))
	cert, pool := certificate(t, time.Hour, "127.0.0.1")
	over := serveOn(t, func(c net.Conn) {
		c = tls.Server(c, &tls.Config{Certificates: []tls.Certificate{cert}})
		defer c.Close()
		connectServer("")(c)
	})
	nobody := closedPort(t)
	for _, tt := range []struct {
		name, via, noProxy, to string
		want                   string // what the server says, or words of why it is not reached
	}{
		{"socks5", "socks5://" + socks, "", server, "hello"},
		{"socks5, the proxy finds the name", "socks5h://" + socks, "", "localhost:" + portOf(server), "hello"},
		{"socks5, password", "socks5://user:secret@" + guarded, "", server, "hello"},
		{"socks5, wrong password", "socks5://user:wrong@" + guarded, "", server, guarded + ": username/password authentication failed"},
		{"socks5, no password", "socks5://" + guarded, "", server, guarded + ": no acceptable authentication methods"},
		{"socks5, server refused", "socks5://" + socks, "", nobody, socks + ": unknown error connection refused"},
		{"socks5, no proxy there", "socks5://" + nobody, "", server, nobody + ": connection refused: is the proxy running on that port?"},
		{"http", "http://" + plain, "", server, "hello"},
		{"http, password", "http://user:secret@" + locked, "", server, "hello"},
		{"http, wrong password", "http://user:wrong@" + locked, "", server, locked + ": CONNECT was refused: 407 Proxy Authentication Required"},
		{"http, server refused", "http://" + plain, "", nobody, plain + ": CONNECT was refused: 502 Bad Gateway"},
		{"http, no proxy there", "http://" + nobody, "", server, nobody + ": connection refused: is the proxy running on that port?"},
		{"https", "https://" + over, "", server, "hello"},
		{"https, it speaks no TLS", "https://" + plain, "", server, plain + ": no TLS connection: EOF"},
		{"straight by NO_PROXY", "http://" + nobody, "example.com, 127.0.0.0/8", server, "hello"},
		{"another port in NO_PROXY", "http://" + nobody, "127.0.0.1:1", server, "is the proxy running"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u, err := url.Parse(tt.via)
			if err != nil {
				t.Fatal(err)
			}
			dial, err := Via(u, tt.noProxy, &tls.Config{RootCAs: pool})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			c, err := dial(ctx, "tcp", tt.to)
			if err != nil {
				f := explain(tt.to, err)
				if !strings.HasPrefix(f.words, tt.to+": by way of the proxy ") || !strings.Contains(f.words, tt.want) || f.note != noteUnreachable {
					t.Errorf("got %q and note %q, want %q", f.words, f.note, tt.want)
				}
				return
			}
			defer c.Close()
			if got, _ := io.ReadAll(c); string(got) != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}

// closedPort is where nobody listens.
func closedPort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// serveOn serves connections until the test ends, and closes them.
func serveOn(t *testing.T, serve func(net.Conn)) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
	return l.Addr().String()
}

// connectServer is a proxy that knows CONNECT, and wants that Proxy-Authorization.
func connectServer(auth string) func(net.Conn) {
	return func(c net.Conn) {
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		if r.Header.Get("Proxy-Authorization") != auth {
			io.WriteString(c, "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
			return
		}
		far, err := net.Dial("tcp", r.Host)
		if err != nil {
			io.WriteString(c, "HTTP/1.1 502 Bad Gateway\r\n\r\n")
			return
		}
		defer far.Close()
		io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		io.Copy(c, far)
	}
}

// socksServer is a proxy of RFC 1928, with the password of RFC 1929 if there is a user.
func socksServer(user, password string) func(net.Conn) {
	return func(c net.Conn) {
		if !greetSocks(c, user, password) {
			return
		}
		addr, err := readSocksRequest(c)
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", addr)
		if err != nil {
			c.Write([]byte{5, 5, 0, 1, 0, 0, 0, 0, 0, 0})
			return
		}
		defer far.Close()
		c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		io.Copy(c, far)
	}
}

func greetSocks(c net.Conn, user, password string) bool {
	methods, err := readCounted(c, 1)
	switch {
	case err != nil:
		return false
	case user == "":
		c.Write([]byte{5, 0})
		return true
	case !strings.Contains(methods, "\x02"):
		c.Write([]byte{5, 0xff})
		return false
	}
	c.Write([]byte{5, 2})
	name, err := readCounted(c, 1)
	word, err2 := readCounted(c, 0)
	if errors.Join(err, err2) != nil || name != user || word != password {
		c.Write([]byte{1, 1})
		return false
	}
	c.Write([]byte{1, 0})
	return true
}

// readCounted reads skip bytes, a length of one byte, and so many bytes.
func readCounted(c net.Conn, skip int) (string, error) {
	head := make([]byte, skip+1)
	if _, err := io.ReadFull(c, head); err != nil {
		return "", err
	}
	body := make([]byte, head[skip])
	_, err := io.ReadFull(c, body)
	return string(body), err
}

func readSocksRequest(c net.Conn) (addr string, err error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(c, head); err != nil {
		return "", err
	}
	var host string
	switch head[3] {
	case 1:
		ip := make([]byte, 4)
		_, err = io.ReadFull(c, ip)
		host = net.IP(ip).String()
	case 3:
		host, err = readCounted(c, 0)
	default:
		err = fmt.Errorf("address type %d", head[3])
	}
	port := make([]byte, 2)
	if _, e := io.ReadFull(c, port); err == nil {
		err = e
	}
	return fmt.Sprintf("%s:%d", host, int(port[0])<<8|int(port[1])), err
}
