package proxy

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
)

// notPlain are the cases that a client cannot begin with a request with an absolute target.
var notPlain = []string{"absolute target", "malformed request line", "HTTP/2 preface", "CONNECT tunnel",
	"the server speaks first, then leaves"}

var originForm = regexp.MustCompile(`(?m)^((?:GET|POST|HEAD|PUT|DELETE|OPTIONS) )(/\S*|\*)( HTTP/1)`)

// absolute is the case as a client plays it that takes the door for its proxy.
func (c oddCase) absolute() oddCase {
	c.Steps = slices.Clone(c.Steps)
	for i, s := range c.Steps {
		if s.From == "client" && !strings.Contains(s.Bytes, "tunnel.example") {
			text := originForm.ReplaceAllString(s.Bytes, "${1}http://{host}${2}${3}")
			c.Steps[i].Bytes = strings.ReplaceAll(text, "http://{host}* ", "http://{host} ")
		}
	}
	return c
}

func TestOddThroughForwardDoor(t *testing.T) {
	ca := authority(t)
	for _, door := range []struct {
		name, scheme  string
		connect, bare bool
	}{{"plain", "http", false, false}, {"CONNECT, plain", "http", true, false}, {"CONNECT, TLS", "https", true, false},
		{"CONNECT, TLS, FIN alone", "https", true, true}} {
		t.Run(door.name, func(t *testing.T) {
			left := 0
			for _, c := range oddCases(t) {
				if !door.connect && slices.Contains(notPlain, c.Name) {
					left++
					continue
				}
				t.Run(c.Name, func(t *testing.T) {
					t.Parallel()
					o := newOrigin(t, door.scheme, door.bare)
					if door.connect {
						c.tunnel(t, ca, o)
					} else {
						c.plain(t, o)
					}
				})
			}
			if !door.connect && left != len(notPlain) {
				t.Errorf("%d cases were left out, want %d", left, len(notPlain))
			}
		})
	}
}

// plain plays c as plain requests to a proxy.
func (c *oddCase) plain(t *testing.T, o *origin) {
	var w witness
	var file bytes.Buffer
	rec := newRecorder(t, &file, har.NewRedactor())
	addr, stop := openDoor(t, &Forward{Record: func(e har.Event) { w.record(e); rec.Record(e) }})
	client := newSide(t, newLeg(dial(t, addr)), false)
	host := o.Addr().String()
	accept := sync.OnceValue(func() *side { return o.accept(t) })
	asked := c.absolute()
	sent := asked.sent("client", host)
	if bytes.Equal(sent, c.sent("client", host)) {
		t.Fatalf("%q holds no request with an origin", sent)
	}
	// What each side waits for is what reaches it: the server's share of the client's bytes is shorter.
	asked.playAs(t, client, accept, host, host, c)
	c.check(t, client, accept(), host)
	stop()
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	c.checkRecord(t, &w, &file, o, sent)
}

// tunnel plays c inside a tunnel, over TLS if o speaks it.
func (c *oddCase) tunnel(t *testing.T, ca *Authority, o *origin) {
	var w witness
	var file bytes.Buffer
	rec := newRecorder(t, &file, har.NewRedactor())
	addr, stop := openDoor(t, &Forward{CA: ca, TLS: o.trust(), Record: func(e har.Event) { w.record(e); rec.Record(e) }})
	host := o.Addr().String()
	client := newSide(t, o.through(t, ca, addr), o.bare)
	server := o.accept(t)
	c.play(t, client, taken(server), host, host)
	c.check(t, client, server, host)
	stop()
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	c.checkRecord(t, &w, &file, o, c.sent("client", host))
}

// through opens a tunnel to o by way of a door and gives the client's end of it, TLS on it if o speaks that. The handshake
// takes place with the first read or write.
func (o *origin) through(t testing.TB, ca *Authority, door string) *leg {
	t.Helper()
	sock := dial(t, door)
	host := o.Addr().String()
	connectTo(t, sock, host)
	if o.scheme == "http" {
		return newLeg(sock)
	}
	f := &floor{Conn: sock}
	conf := &tls.Config{RootCAs: ca.pool(), ServerName: "127.0.0.1", NextProtos: []string{"h2", "http/1.1"}}
	return &leg{conn: tls.Client(f, conf), sock: sock, floor: f}
}

// connectTo asks for a tunnel and reads the answer.
func connectTo(t testing.TB, sock io.ReadWriter, host string) {
	t.Helper()
	fmt.Fprintf(sock, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", host, host)
	got := make([]byte, len(established))
	if _, err := io.ReadFull(sock, got); err != nil || string(got) != established {
		t.Fatalf("CONNECT was answered %q, %v", got, err)
	}
}

func authority(t testing.TB) *Authority {
	t.Helper()
	certPEM, keyPEM, err := NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	ca, err := LoadAuthority(certPEM, keyPEM, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func (a *Authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert.Leaf)
	return pool
}

// response reads one response in plain HTTP.
func response(t testing.TB, r io.Reader) (status int, body string) {
	t.Helper()
	x, err := http.ReadResponse(bufio.NewReader(r), nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(x.Body)
	if err != nil {
		t.Fatal(err)
	}
	return x.StatusCode, string(raw)
}
