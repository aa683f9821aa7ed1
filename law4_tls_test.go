package mcptap

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/mcptap/mcptap/capture/pcap"
)

// encrypted puts TLS on the connections of packets, 1.2 and 1.3 in turn. It gives the packets that go over the wire then, and
// the key log.
func encrypted(t *testing.T, packets []sent) ([]sent, *pcap.KeyLog) {
	t.Helper()
	var log bytes.Buffer
	conns := map[uint64]*secured{}
	var out []sent
	for _, p := range packets {
		s := conns[p.conn]
		if s == nil {
			s = newSecured(p.conn, &log)
			conns[p.conn] = s
		}
		s.at = p.at
		if len(p.data) > 0 {
			s.ends[p.down].Write(p.data)
		}
		if p.flags&1 != 0 && !p.bare {
			s.ends[p.down].CloseWrite()
		}
		out = append(out, s.taken()...)
		if len(p.data) == 0 {
			out = append(out, p)
		}
		if p.flags == 0x12 {
			s.shakeHands(t)
			out = append(out, s.taken()...)
		}
	}
	keys := new(pcap.KeyLog)
	if err := keys.Add(&log); err != nil {
		t.Fatal(err)
	}
	return out, keys
}

// A secured is a connection whose ends speak TLS to each other in memory.
type secured struct {
	conn uint64
	at   time.Time
	ends map[bool]*tls.Conn // by whether it is the server

	mu   sync.Mutex
	news *sync.Cond
	sent []sent
	left map[bool][]byte // what an end has not read yet
}

func newSecured(conn uint64, keys *bytes.Buffer) *secured {
	s := &secured{conn: conn, left: map[bool][]byte{}}
	s.news = sync.NewCond(&s.mu)
	version := uint16(tls.VersionTLS12) + uint16(conn%2)
	server := &tls.Config{Certificates: []tls.Certificate{lawCertificate()}, MinVersion: version, MaxVersion: version}
	client := &tls.Config{InsecureSkipVerify: true, KeyLogWriter: keys, MinVersion: version, MaxVersion: version}
	s.ends = map[bool]*tls.Conn{true: tls.Server(&securedEnd{s: s, down: true}, server), false: tls.Client(&securedEnd{s: s}, client)}
	return s
}

func (s *secured) shakeHands(t *testing.T) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- s.ends[true].Handshake() }()
	if err := s.ends[false].Handshake(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// taken gives what was sent since it was last called.
func (s *secured) taken() []sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.sent
	s.sent = nil
	return list
}

// A securedEnd is what lies below the TLS of one end. Writing never waits.
type securedEnd struct {
	net.Conn // nil: nothing else is called
	s        *secured
	down     bool
}

func (e *securedEnd) Write(p []byte) (int, error) {
	e.s.mu.Lock()
	defer e.s.mu.Unlock()
	e.s.sent = append(e.s.sent, sent{at: e.s.at, conn: e.s.conn, down: e.down, flags: 0x10, data: bytes.Clone(p)})
	e.s.left[!e.down] = append(e.s.left[!e.down], p...)
	e.s.news.Broadcast()
	return len(p), nil
}

func (e *securedEnd) Read(p []byte) (int, error) {
	e.s.mu.Lock()
	defer e.s.mu.Unlock()
	for len(e.s.left[e.down]) == 0 {
		e.s.news.Wait()
	}
	n := copy(p, e.s.left[e.down])
	e.s.left[e.down] = e.s.left[e.down][n:]
	return n, nil
}

func (e *securedEnd) SetWriteDeadline(time.Time) error { return nil }

var lawCertificate = sync.OnceValue(func() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
})
