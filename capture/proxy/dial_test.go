package proxy

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// dialer connects to addr whatever is asked for.
func dialer(addr string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
}

// fails is a dialer whose connections fail.
func fails(err error) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}
}

// A server that cannot be reached gives the client a reset without a byte, and the recording the request and the reason.
func TestUnreachable(t *testing.T) {
	good, pool := certificate(t, time.Hour, "server.test")
	other, otherPool := certificate(t, time.Hour, "other.test")
	old, oldPool := certificate(t, -time.Hour, "server.test")
	for _, tt := range []struct {
		name  string
		serve *tls.Config // what the server speaks; nil: not TLS
		trust *tls.Config
		dial  func(context.Context, string, string) (net.Conn, error)
		note  string
		words string
	}{
		{name: "refused", dial: fails(syscall.ECONNREFUSED), note: "upstream: refused", words: "connection refused"},
		{name: "no such name", dial: fails(&net.DNSError{Err: "no such host", Name: "server.test", IsNotFound: true}), note: "upstream: dns", words: "no address for the name server.test"},
		{name: "no route", dial: fails(syscall.EHOSTUNREACH), note: "upstream: unreachable", words: "cannot be reached"},
		{name: "no answer", dial: fails(context.DeadlineExceeded), note: "upstream: timeout", words: "does not answer"},
		{name: "unknown authority", serve: &tls.Config{Certificates: []tls.Certificate{good}}, note: "upstream: tls", words: "--ca-file"},
		{name: "other name", serve: &tls.Config{Certificates: []tls.Certificate{other}}, trust: &tls.Config{RootCAs: otherPool}, note: "upstream: tls", words: "for another name"},
		{name: "expired", serve: &tls.Config{Certificates: []tls.Certificate{old}}, trust: &tls.Config{RootCAs: oldPool}, note: "upstream: tls", words: "expired"},
		{name: "no HTTP/1.1", serve: &tls.Config{Certificates: []tls.Certificate{good}, NextProtos: []string{"h3"}}, trust: &tls.Config{RootCAs: pool}, note: "upstream: tls", words: "HTTP/1.1"},
		{name: "not TLS", note: "upstream: tls", words: "does not speak TLS"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go serveNothing(t, l, tt.serve)
			if tt.dial == nil {
				tt.dial = dialer(l.Addr().String())
			}
			var w witness
			var mu sync.Mutex
			var said []string
			addr, stop := openDoor(t, &Reverse{
				To: &url.URL{Scheme: "https", Host: "server.test"}, TLS: tt.trust, Record: w.record, Dial: tt.dial,
				Notice: func(s string) { mu.Lock(); said = append(said, s); mu.Unlock() },
			})
			for range 2 {
				c := dial(t, addr)
				io.WriteString(c, ask[:20])
				io.WriteString(c, ask[20:])
				c.SetReadDeadline(time.Now().Add(patience))
				if n, err := c.Read(make([]byte, 1)); n != 0 || har.ReadEnding(err) != har.EndRST {
					t.Errorf("the client reads %d bytes, %v, want a reset", n, err)
				}
			}
			stop()
			if got := w.joined(1, wire.ToServer, false); got != ask {
				t.Errorf("recorded request %q", got)
			}
			if got, want := w.endings(1), []string{tt.note, "unknown"}; !slices.Equal(got, want) {
				t.Errorf("endings %q, want %q", got, want)
			}
			if len(said) != 1 || !strings.Contains(said[0], tt.words) || !strings.HasPrefix(said[0], "server.test:443: ") {
				t.Errorf("said %q, want once: server.test:443: … %s …", said, tt.words)
			}
		})
	}
}

// serveNothing takes connections, does the handshake if conf is not nil, and fails the test if a byte of HTTP comes.
func serveNothing(t *testing.T, l net.Listener, conf *tls.Config) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		if conf == nil {
			io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
			c.Close()
			continue
		}
		if n, _ := tls.Server(c, conf).Read(make([]byte, 1)); n > 0 {
			t.Error("a byte of the request has reached the server")
		}
		c.Close()
	}
}

// A client that says nothing, or not all, is not kept waiting for long either.
func TestUnreachableSilentClient(t *testing.T) {
	var w witness
	addr, stop := openDoor(t, &Reverse{To: &url.URL{Scheme: "http", Host: "server.test"}, Record: w.record, Dial: fails(syscall.ECONNREFUSED)})
	for _, sends := range []string{"", ask[:30]} {
		c := dial(t, addr)
		io.WriteString(c, sends)
		c.SetReadDeadline(time.Now().Add(patience))
		if _, err := c.Read(make([]byte, 1)); har.ReadEnding(err) != har.EndRST {
			t.Errorf("the client reads %v, want a reset", err)
		}
	}
	stop()
	if got := w.joined(2, wire.ToServer, false); got != ask[:30] {
		t.Errorf("recorded %q", got)
	}
}
