package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// notices keeps what a door says.
type notices struct {
	mu    sync.Mutex
	words []string
}

func (n *notices) note(words string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.words = append(n.words, words)
}

func (n *notices) has(t *testing.T, words string) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.ContainsFunc(n.words, func(s string) bool { return strings.Contains(s, words) }) {
		t.Errorf("said %q, want something with %q", n.words, words)
	}
}

// A door under test, with what it recorded and said.
type tested struct {
	witness
	notices
	addr string
	stop func()
}

func forwardDoor(t *testing.T, f *Forward) *tested {
	t.Helper()
	d := &tested{}
	f.Record, f.Notice = d.record, d.note
	d.addr, d.stop = openDoor(t, f)
	return d
}

// A request for another origin than the first one's is answered in words once what was asked before is answered. It reaches
// nobody.
func TestOneOriginPerConnection(t *testing.T) {
	for _, second := range []string{"GET http://other.example/b?token=x HTTP/1.1\r\nHost: other.example\r\n\r\n",
		"GET https://{host}/b HTTP/1.1\r\nHost: {host}\r\n\r\n", "CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n"} {
		t.Run(second[:20], func(t *testing.T) {
			o := newOrigin(t, "http", false)
			host := o.Addr().String()
			d := forwardDoor(t, &Forward{CA: authority(t)})
			client := newSide(t, newLeg(dial(t, d.addr)), false)
			first := "GET http://" + host + "/a HTTP/1.1\r\nHost: " + host + "\r\n\r\n"
			second := strings.ReplaceAll(second, "{host}", host)
			client.send([]byte(first + second + "more"))
			server := o.accept(t)
			asked := "GET /a HTTP/1.1\r\nHost: " + host + "\r\n\r\n"
			server.await("request", func() bool { return len(server.got) >= len(asked) })
			const answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
			server.send([]byte(answer))
			client.await("refusal", func() bool { return client.sees != "open" })
			status, body := response(t, bytes.NewReader(client.got[len(answer):]))
			if !bytes.HasPrefix(client.got, []byte(answer)) || status != 421 || !strings.Contains(body, "needs one of its own") {
				t.Errorf("the client got %q", client.got)
			}
			server.await("end", func() bool { return server.sees != "open" })
			if string(server.got) != asked {
				t.Errorf("the server got %q", server.got)
			}
			client.end("close")
			d.stop()
			if got := d.joined(1, wire.ToServer, false); !strings.HasPrefix(got, first+second) {
				t.Errorf("recorded %q", got)
			}
			if got := d.joined(1, wire.ToServer, true); got != asked {
				t.Errorf("recorded, edited, %q", got)
			}
			if got := d.endings(1); !slices.Equal(got, []string{noteOrigin, "unknown"}) {
				t.Errorf("endings %q", got)
			}
			d.has(t, "one origin per connection")
		})
	}
}

// What a proxy cannot be asked for is answered in words, recorded, and reaches nobody.
func TestNoRequestToAProxy(t *testing.T) {
	for _, tt := range []struct{ name, sent, want, said string }{
		{"origin-form", "GET /mcp HTTP/1.1\r\nHost: a\r\n\r\n", "400", "not in place of the server's"},
		{"https target", "GET https://a.example/ HTTP/1.1\r\n\r\n", "400", "CONNECT"},
		{"garbage", "hello\r\n", "400", "no request"},
		{"no authority", "GET http:///x HTTP/1.1\r\n\r\n", "400", "HOST:PORT"},
		{"bad port", "GET http://a:b/x HTTP/1.1\r\n\r\n", "400", "HOST:PORT"},
		{"CONNECT to nothing", "CONNECT / HTTP/1.1\r\n\r\n", "400", "HOST:PORT"},
		{"malformed CONNECT", "CONNECT a:1 HTTP/1.1\r\n\x00 : x", "", ""},
		{"a long line", "GET http://a/" + strings.Repeat("x", 2*maxStartLine) + " HTTP/1.1\r\n\r\n", "400", "no request"},
		{"TLS", "\x16\x03\x01\x02\x00", "", "begins with http://"},
		{"SOCKS", "\x05\x01\x00", "", "as an HTTP proxy"},
		{"itself, plain", "GET http://{door}/x HTTP/1.1\r\n\r\n", "400", "is this proxy itself"},
		{"itself, CONNECT", "CONNECT {door} HTTP/1.1\r\n\r\n", "400", "is this proxy itself"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := forwardDoor(t, &Forward{CA: authority(t)})
			c := dial(t, d.addr)
			io.WriteString(c, strings.ReplaceAll(tt.sent, "{door}", d.addr))
			c.(*net.TCPConn).CloseWrite()
			got, _ := io.ReadAll(c)
			if !strings.HasPrefix(string(got), strings.TrimSpace("HTTP/1.1 "+tt.want)) && tt.want != "" || tt.want == "" && len(got) > 0 {
				t.Errorf("got %.200q, want status %q", got, tt.want)
			}
			d.stop()
			if tt.said != "" {
				d.has(t, tt.said)
			}
			if got := d.joined(1, wire.ToServer, true); got != "" {
				t.Errorf("recorded as sent on: %.200q", got)
			}
		})
	}
}

// Whoever speaks first in a tunnel that holds no TLS, nothing is lost, held back or altered.
func TestServerSpeaksFirst(t *testing.T) {
	o := newOrigin(t, "http", false)
	d := forwardDoor(t, &Forward{CA: authority(t)})
	client := newSide(t, o.through(t, nil, d.addr), false)
	server := o.accept(t)
	server.send([]byte("220 hello\r\n"))
	client.await("greeting", func() bool { return string(client.got) == "220 hello\r\n" })
	client.send([]byte("HELO\r\n"))
	server.await("answer", func() bool { return string(server.got) == "HELO\r\n" })
	server.end("rst")
	client.await("reset", func() bool { return client.sees == "rst" })
	d.stop()
	if got := d.endings(1); !slices.Equal(got, []string{"response rst", "capture-stopped"}) {
		t.Errorf("endings %q", got)
	}
}

// Bytes that come with the CONNECT request belong to the tunnel, those of a ClientHello too.
func TestEarlyBytes(t *testing.T) {
	for _, scheme := range []string{"http", "https"} {
		t.Run(scheme, func(t *testing.T) {
			ca := authority(t)
			o := newOrigin(t, scheme, false)
			d := forwardDoor(t, &Forward{CA: ca, TLS: o.trust()})
			sock := dial(t, d.addr)
			host := o.Addr().String()
			early := &early{Conn: sock, first: []byte("CONNECT " + host + " HTTP/1.1\r\n\r\n"), skip: len(established)}
			var conn net.Conn = early
			if scheme == "https" {
				conn = tls.Client(early, &tls.Config{RootCAs: ca.pool(), ServerName: "127.0.0.1"})
			}
			const ask = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
			go conn.Write([]byte(ask))
			server := o.accept(t)
			server.await("request", func() bool { return string(server.got) == ask })
		})
	}
}

// early sends first with the first write, and drops the answer to it.
type early struct {
	net.Conn
	first []byte
	skip  int
}

func (e *early) Write(p []byte) (int, error) {
	_, err := e.Conn.Write(append(e.first, p...))
	e.first = nil
	return len(p), err
}

func (e *early) Read(p []byte) (int, error) {
	if e.skip > 0 {
		if _, err := io.ReadFull(e.Conn, make([]byte, e.skip)); err != nil {
			return 0, err
		}
		e.skip = 0
	}
	return e.Conn.Read(p)
}

// Certificates carry the name that the client asks for, or the address; both legs speak HTTP/1.1 alone, or no ALPN if the
// client or the server has none.
func TestCertificates(t *testing.T) {
	ca := authority(t)
	for _, tt := range []struct {
		name, host, sni string
		offer, want     []string
	}{
		{"address", "127.0.0.1", "", []string{"h2", "http/1.1"}, []string{"http/1.1"}},
		{"name", "a.example", "a.example", []string{"http/1.1"}, []string{"http/1.1"}},
		{"another server name", "a.example", "b.c.example", nil, nil},
		{"IPv6", "::1", "", nil, nil},
		{"no server name", "a.example", "", nil, nil},
		{"underscore and upper case", "A_b.Example", "A_b.Example", nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newOrigin(t, "https", false)
			name := tt.sni
			if name == "" {
				name = tt.host
			}
			o.cert, o.pool = certificate(t, time.Hour, name)
			d := forwardDoor(t, &Forward{CA: ca, TLS: o.trust(), Dial: o.dial})
			sock := dial(t, d.addr)
			connectTo(t, sock, net.JoinHostPort(tt.host, "443"))
			hello := make(chan *tls.ClientHelloInfo, 1)
			go o.greet(hello)
			conn := tls.Client(sock, &tls.Config{ServerName: tt.sni, NextProtos: tt.offer, InsecureSkipVerify: true})
			if err := conn.Handshake(); err != nil {
				t.Fatal(err)
			}
			state := conn.ConnectionState()
			leaf := state.PeerCertificates[0]
			if _, err := leaf.Verify(x509.VerifyOptions{Roots: ca.pool(), DNSName: name}); err != nil {
				t.Error(err)
			}
			if v := leaf.NotAfter.Sub(leaf.NotBefore); v > 398*24*time.Hour || leaf.NotBefore.After(time.Now()) {
				t.Errorf("valid from %v to %v", leaf.NotBefore, leaf.NotAfter)
			}
			got := <-hello
			if !slices.Equal(got.SupportedProtos, tt.want) || got.ServerName != strings.TrimPrefix(tt.sni, "-") && net.ParseIP(name) == nil && !strings.EqualFold(got.ServerName, name) {
				t.Errorf("the server was offered %q for %q", got.SupportedProtos, got.ServerName)
			}
			if proto := strings.Join(tt.want, ""); state.NegotiatedProtocol != proto {
				t.Errorf("the client speaks %q, want %q", state.NegotiatedProtocol, proto)
			}
		})
	}
}

// dial is a Dialer that finds o under every name.
func (o *origin) dial(_ context.Context, network, _ string) (net.Conn, error) {
	return net.Dial(network, o.Addr().String())
}

// greet takes one connection, speaks TLS on it, and tells what it was offered.
func (o *origin) greet(hello chan<- *tls.ClientHelloInfo) {
	c, err := o.Accept()
	if err != nil {
		return
	}
	conf := &tls.Config{Certificates: []tls.Certificate{o.cert}, NextProtos: []string{"http/1.1"},
		GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) { hello <- h; return nil, nil }}
	tls.Server(c, conf).Handshake()
}

// A peer whose TLS cannot be opened is named in words and in the recording, and nothing of a request is sent.
func TestPeersThatCannotBeOpened(t *testing.T) {
	ca := authority(t)
	for _, tt := range []struct {
		name       string
		until      time.Duration // of the server's certificate
		as         string        // its name
		trusted    bool
		protocol   string // that the server speaks
		offer      string // that the client speaks
		distrust   bool   // the client does not know our authority
		said, note string
	}{
		{"unknown authority", time.Hour, "127.0.0.1", false, "http/1.1", "http/1.1", false, "--ca-file", noteTLS},
		{"expired", -time.Hour, "127.0.0.1", true, "http/1.1", "http/1.1", false, "expired", noteTLS},
		{"another name", time.Hour, "other.example", true, "http/1.1", "http/1.1", false, "another name", noteTLS},
		{"another protocol", time.Hour, "127.0.0.1", true, "hq", "http/1.1", false, "does not speak HTTP/1.1", noteTLS},
		{"client of HTTP/2 only", time.Hour, "127.0.0.1", true, "http/1.1", "h2", false, "the client speaks h2 only", "tunnel: the client speaks h2 only, not http/1.1"},
		{"pinned", time.Hour, "127.0.0.1", true, "http/1.1", "http/1.1", true, "did not take our certificate", "tunnel: the client did not take"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newOrigin(t, "https", false)
			o.cert, o.pool = certificate(t, tt.until, tt.as)
			trust := o.trust()
			if !tt.trusted {
				trust = nil
			}
			d := forwardDoor(t, &Forward{CA: ca, TLS: trust})
			go o.refuse(t, tt.protocol)
			sock := dial(t, d.addr)
			connectTo(t, sock, o.Addr().String())
			roots := ca.pool()
			if tt.distrust {
				roots = x509.NewCertPool()
			}
			conn := tls.Client(sock, &tls.Config{ServerName: "127.0.0.1", RootCAs: roots, NextProtos: []string{tt.offer}})
			conn.Write([]byte(ask))
			if got, err := io.ReadAll(conn); err == nil || len(got) > 0 {
				t.Errorf("the client got %q, %v", got, err)
			}
			io.Copy(io.Discard, sock) // until the door has closed it
			sock.Close()
			d.stop()
			d.has(t, tt.said)
			if ends := d.endings(1); len(ends) != 2 || !strings.HasPrefix(ends[0], tt.note) || ends[1] != "unknown" {
				t.Errorf("endings %q, want %q", ends, tt.note)
			}
		})
	}
}

// refuse takes connections and reports any byte that is sent on them inside TLS.
func (o *origin) refuse(t *testing.T, protocol string) {
	for {
		c, err := o.Accept()
		if err != nil {
			return
		}
		conn := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{o.cert}, NextProtos: []string{protocol}})
		if got, _ := io.ReadAll(conn); len(got) > 0 {
			t.Errorf("the server was sent %q", got)
		}
		c.Close()
	}
}

// With Passthrough, or outside of Only, a tunnel is carried unread: the two ends speak TLS with one another.
func TestPassthrough(t *testing.T) {
	ca := authority(t)
	for _, tt := range []struct {
		name, server, client string
		only                 []string
		distrusts            int // how many tries are refused by the client first
		note                 string
	}{
		{"another protocol", "hq", "hq http/1.1", nil, 0, "tunnel: the server does not speak http/1.1"},
		{"HTTP/2 client", "h2", "h2", nil, 0, "tunnel: the client speaks h2 only"},
		{"pinned", "http/1.1", "http/1.1", nil, 1, "tunnel: a client did not take our certificate"},
		{"not in only", "http/1.1", "http/1.1", []string{"a.example", "*.b.example", "127.0.0.1:1"}, 0, "tunnel: not in --only"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newOrigin(t, "https", false)
			d := forwardDoor(t, &Forward{CA: ca, TLS: o.trust(), Passthrough: true, Only: tt.only})
			go o.echo(strings.Fields(tt.server))
			conf := &tls.Config{ServerName: "127.0.0.1", RootCAs: o.pool, NextProtos: strings.Fields(tt.client)}
			for range tt.distrusts {
				sock := dial(t, d.addr)
				connectTo(t, sock, o.Addr().String())
				if err := tls.Client(sock, conf).Handshake(); err == nil {
					t.Fatal("the client trusts us")
				}
				io.Copy(io.Discard, sock)
			}
			sock := dial(t, d.addr)
			connectTo(t, sock, o.Addr().String())
			conn := tls.Client(sock, conf)
			secret := []byte("a secret that nobody reads")
			if _, err := conn.Write(secret); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(conn, make([]byte, len(secret))); err != nil {
				t.Fatal(err)
			}
			conn.CloseWrite()
			sock.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, sock)
			d.stop()
			id := uint64(tt.distrusts + 1)
			if got := d.joined(id, wire.ToServer, false); !strings.HasPrefix(got, "CONNECT ") || !strings.HasSuffix(got, "\r\n\r\n") {
				t.Errorf("recorded %q", got)
			}
			if got := d.joined(id, wire.ToServer, true) + d.joined(id, wire.ToClient, false); got != "" {
				t.Errorf("recorded %q of the tunnel", got)
			}
			ends := d.endings(id)
			slices.Sort(ends[1:])
			if len(ends) != 4 || !strings.HasPrefix(ends[0], tt.note) || ends[2] != "request fin" || ends[3] != "response fin" {
				t.Errorf("endings %q, want %q", ends, tt.note)
			}
			d.has(t, "passed on unread")
		})
	}
}

// A client that leaves in the middle of a handshake says nothing of a certificate that others take; one that sends an alert does.
func TestPassthroughAfterAClientThatLeft(t *testing.T) {
	ca, o := authority(t), newOrigin(t, "https", false)
	d := forwardDoor(t, &Forward{CA: ca, TLS: o.trust(), Passthrough: true})
	go o.echo([]string{"http/1.1"})
	opens := func() {
		t.Helper()
		c := o.through(t, ca, d.addr).conn.(*tls.Conn)
		if err := c.Handshake(); err != nil {
			t.Fatalf("the tunnel is not opened: %v", err)
		}
		io.WriteString(c, ask)
		if _, err := io.ReadFull(c, make([]byte, len(ask))); err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	leaves := func(conf *tls.Config, early bool) {
		t.Helper()
		sock := dial(t, d.addr)
		connectTo(t, sock, o.Addr().String())
		var through net.Conn = sock
		if early {
			through = &mute{Conn: sock}
		}
		if tls.Client(through, conf).Handshake() == nil {
			t.Fatal("the client trusts us")
		}
		if early {
			sock.(*net.TCPConn).CloseWrite()
		}
		io.Copy(io.Discard, sock)
	}
	opens()
	none := &tls.Config{ServerName: "127.0.0.1", RootCAs: x509.NewCertPool()}
	leaves(none, true)
	opens()
	leaves(none, false)
	if c := o.through(t, ca, d.addr).conn.(*tls.Conn); c.Handshake() == nil {
		t.Error("behind a refusal the tunnel is opened")
	}
	d.stop()
	d.has(t, "a client left during the TLS handshake for 127.0.0.1")
}

// A mute connection sends one message and no more, alerts not either.
type mute struct {
	net.Conn
	said bool
}

func (m *mute) Write(p []byte) (int, error) {
	if m.said {
		return len(p), nil
	}
	m.said = true
	return m.Conn.Write(p)
}

// What a door was about to do when it was closed says nothing of the server.
func TestCloseBlamesNoServer(t *testing.T) {
	ca, o := authority(t), newOrigin(t, "https", false)
	for _, tt := range []struct {
		name, request string
		hangs         bool // the way to the server, not the server
	}{
		{"connecting for a tunnel", "CONNECT %s HTTP/1.1\r\n\r\n", true},
		{"connecting for a request", "GET http://%s/ HTTP/1.1\r\n\r\n", true},
		{"handshake with the server", "CONNECT %s HTTP/1.1\r\n\r\n", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked := make(chan struct{})
			f := &Forward{CA: ca, TLS: o.trust()}
			if tt.hangs {
				f.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
					close(asked)
					<-ctx.Done()
					return nil, ctx.Err()
				}
			}
			d := forwardDoor(t, f)
			sock := dial(t, d.addr)
			if tt.hangs {
				fmt.Fprintf(sock, tt.request, o.Addr())
			} else {
				connectTo(t, sock, o.Addr().String())
				go tls.Client(sock, &tls.Config{RootCAs: ca.pool(), ServerName: "127.0.0.1"}).Handshake()
				go func() {
					c, err := o.Accept()
					if err == nil {
						io.ReadFull(c, make([]byte, 1))
						close(asked)
						io.Copy(io.Discard, c)
					}
				}()
			}
			<-asked
			d.stop()
			if ends := d.endings(1); len(ends) > 0 {
				t.Errorf("endings %q, want none", ends)
			}
			if len(d.words) > 0 {
				t.Errorf("said %q", d.words)
			}
		})
	}
}

// echo takes connections and sends back what they send, over TLS.
func (o *origin) echo(protocols []string) {
	for {
		c, err := o.Accept()
		if err != nil {
			return
		}
		go func() {
			conn := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{o.cert}, NextProtos: protocols})
			io.Copy(conn, conn)
			c.Close()
		}()
	}
}

func TestOnly(t *testing.T) {
	f := &Forward{Only: []string{"A.example", "*.b.example", "c.example:8443", "::1", "10.0.0.*"}}
	for _, tt := range []struct {
		url  string
		want bool
	}{
		{"https://a.example:443", true}, {"https://x.a.example:443", false}, {"https://x.y.B.example:443", true}, {"https://b.example:443", false},
		{"https://c.example:8443", true}, {"https://c.example:443", false}, {"http://[::1]:80", true}, {"http://10.0.0.7:80", true},
		{"http://10.0.1.7:80", false},
	} {
		u, err := url.Parse(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.inOnly(u); got != tt.want {
			t.Errorf("%s: %v", tt.url, got)
		}
	}
}

// Of certificates the last maxLeaves are kept.
func TestLeavesAreBounded(t *testing.T) {
	now := time.Now()
	made := 0
	l := &leaves{now: func() time.Time { return now }, made: map[string]*tls.Certificate{}}
	fetch := func(name string) {
		t.Helper()
		if _, err := l.Fetch(name, func() (*tls.Certificate, error) {
			made++
			return &tls.Certificate{Leaf: &x509.Certificate{NotAfter: now.Add(48 * time.Hour)}}, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range maxLeaves + 5 {
		fetch(fmt.Sprint(i))
	}
	if len(l.made) != maxLeaves || len(l.order) != maxLeaves || made != maxLeaves+5 {
		t.Errorf("%d certificates and %d names are kept, %d were made", len(l.made), len(l.order), made)
	}
	fetch("7")
	if made != maxLeaves+5 {
		t.Error("a certificate that was kept was made again")
	}
	fetch("0")
	now = now.Add(25 * time.Hour)
	fetch("7")
	if made != maxLeaves+7 {
		t.Error("one that was dropped, or runs out, was not made again")
	}
	if _, err := l.Fetch("bad", func() (*tls.Certificate, error) { return nil, errors.New("no") }); err == nil || l.made["bad"] != nil {
		t.Error("a failure was kept")
	}
}

// After Close no connection is left, in whatever state it is.
func TestForwardClose(t *testing.T) {
	ca := authority(t)
	o := newOrigin(t, "https", false)
	d := forwardDoor(t, &Forward{CA: ca, TLS: o.trust()})
	host := o.Addr().String()
	var conns []net.Conn
	for _, sent := range []string{"", "GET http:/", "CONNECT " + host + " HTTP/1.1\r\nX: y", "CONNECT " + host + " HTTP/1.1\r\n\r\n", "CONNECT " + host + " HTTP/1.1\r\n\r\n\x16\x03\x01\x02\x00"} {
		c := dial(t, d.addr)
		io.WriteString(c, sent)
		if strings.HasSuffix(sent, "\r\n\r\n") || strings.HasSuffix(sent, "\x00") {
			io.ReadFull(c, make([]byte, len(established)))
		}
		conns = append(conns, c)
	}
	d.stop()
	for i, c := range conns {
		c.SetReadDeadline(time.Now().Add(patience))
		if _, err := c.Read(make([]byte, 1)); err == nil || har.ReadEnding(err) == har.EndUnknown {
			t.Errorf("connection %d: %v", i, err)
		}
	}
}
