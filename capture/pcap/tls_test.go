package pcap

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcptap/mcptap/capture"
	"github.com/mcptap/mcptap/har"
)

const (
	tlsRequest  = "POST /mcp HTTP/1.1\r\nHost: mcp.test\r\nContent-Length: 40\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
	tlsResponse = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"
)

// A wiretap keeps what both ends of a pipe write, as segments.
type wiretap struct {
	mu   sync.Mutex
	segs []*wireSegment
	sent [2]uint32
}

type tapped struct {
	net.Conn
	tap *wiretap
	way int
}

func (c tapped) Write(p []byte) (int, error) {
	c.tap.add(c.way, "A", string(p))
	return c.Conn.Write(p)
}

func (t *wiretap) add(way int, flags, data string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := c(1+t.sent[0], 1+t.sent[1], flags, data)
	if way == 1 {
		w = s(1+t.sent[1], 1+t.sent[0], flags, data)
	}
	t.segs = append(t.segs, w)
	t.sent[way] += uint32(len(data))
	if strings.Contains(flags, "F") {
		t.sent[way]++
	}
}

func testCertificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mcp.test"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// How a TLS connection is ended.
type goodbye uint8

const (
	notified goodbye = iota // the server sends a close_notify and a FIN
	bare                    // the server sends a FIN
	answered                // the server's FIN answers a close_notify of the client, whose FIN comes last
)

// talk has one exchange over TLS, and gives the segments and the key log.
func talk(t *testing.T, conf *tls.Config, bye goodbye) (segments []*wireSegment, keylog string) {
	t.Helper()
	var keys bytes.Buffer
	conf.Certificates = []tls.Certificate{testCertificate(t)}
	client := conf.Clone()
	client.ServerName, client.InsecureSkipVerify, client.KeyLogWriter = "mcp.test", true, &keys
	client.CurvePreferences = []tls.CurveID{tls.X25519, tls.CurveP256}
	tap := new(wiretap)
	a, b := socketPair(t)
	done := make(chan error, 1)
	go func() {
		server := tls.Server(tapped{b, tap, 1}, conf)
		request := make([]byte, len(tlsRequest))
		_, err := io.ReadFull(server, request)
		if err == nil {
			_, err = server.Write([]byte(tlsResponse))
		}
		switch bye {
		case notified:
			server.Close()
		case answered:
			io.Copy(io.Discard, server)
		}
		tap.add(1, "AF", "")
		b.Close()
		done <- err
	}()
	conn := tls.Client(tapped{a, tap, 0}, client)
	if _, err := conn.Write([]byte(tlsRequest)); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(tlsResponse))
	io.ReadFull(conn, got)
	if bye == answered {
		conn.CloseWrite()
	}
	io.Copy(io.Discard, conn)
	if err := <-done; err != nil || string(got) != tlsResponse {
		t.Fatalf("%v, the client got %q", err, got)
	}
	return slices.Concat(hands(), tap.segs, []*wireSegment{c(1+tap.sent[0], 1+tap.sent[1], "AF", "")}), keys.String()
}

// socketPair gives both ends of a connection; a net.Pipe would hold up ends that both write first.
func socketPair(t *testing.T) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if a, err = net.Dial("tcp", l.Addr().String()); err == nil {
		b, err = l.Accept()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

// exchangesOf imports segments.
func exchangesOf(t *testing.T, segments []*wireSegment, m *Importer) []*har.Exchange {
	t.Helper()
	var cassette bytes.Buffer
	w, err := har.NewWriter(&cassette, har.Header{Tool: "test", KeepSecrets: true}, true)
	if err != nil {
		t.Fatal(err)
	}
	recorder := capture.NewRecorder(w, nil)
	m.Record = recorder.Record
	for i, seg := range segments {
		m.Add(seg.packet(epoch.Add(time.Duration(i) * time.Millisecond)))
	}
	m.Close()
	if err := recorder.Close(); err != nil {
		t.Fatal(err)
	}
	all, err := har.Read(&cassette, har.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return all.Exchanges
}

func keysOf(t *testing.T, log string) *KeyLog {
	t.Helper()
	k := new(KeyLog)
	if err := k.Add(strings.NewReader(log)); err != nil {
		t.Fatal(err)
	}
	return k
}

func TestTLS(t *testing.T) {
	suites12 := []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256}
	tests := map[string]*tls.Config{
		"1.3":                    {MinVersion: tls.VersionTLS13},
		"1.3, HelloRetryRequest": {MinVersion: tls.VersionTLS13, CurvePreferences: []tls.CurveID{tls.CurveP256}},
	}
	for _, id := range suites12 {
		tests["1.2 "+tls.CipherSuiteName(id)] = &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{id}}
	}
	for name, conf := range tests {
		for end, bye := range map[har.Ending]goodbye{har.EndFIN: notified, har.EndNoCloseNotify: bare, har.EndClientFIN: answered} {
			t.Run(name+", "+string(end), func(t *testing.T) {
				segments, keylog := talk(t, conf, bye)
				m := &Importer{Keys: keysOf(t, keylog)}
				got := exchangesOf(t, segments, m)
				if len(got) != 1 {
					t.Fatalf("%d exchanges, want 1; %+v", len(got), m.Counters)
				}
				x := got[0]
				if string(x.Request.Raw) != tlsRequest || string(x.Response.Raw) != tlsResponse || x.End != end || x.URL != "https://mcp.test:3000/mcp" || len(x.Notes) > 0 {
					t.Errorf("%q\n%q\n%s %s %q", x.Request.Raw, x.Response.Raw, x.End, x.URL, x.Notes)
				}
				if m.Counters.TLS != 1 || m.Counters.HTTP != 1 || m.Counters.Unexplained() != 0 {
					t.Errorf("counters %+v", m.Counters)
				}
			})
		}
	}
}

func TestTLSWithoutKeys(t *testing.T) {
	for name, version := range map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13} {
		conf := &tls.Config{MinVersion: version, MaxVersion: version, NextProtos: []string{"http/1.1"}}
		segments, keylog := talk(t, conf, notified)
		other := strings.NewReplacer("0", "1", "1", "0", "a", "b").Replace(keylog)
		for how, keys := range map[string]*KeyLog{"none": nil, "other": keysOf(t, other)} {
			var said []string
			m := &Importer{Keys: keys, Notice: func(s string) { said = append(said, s) }}
			if got := exchangesOf(t, segments, m); len(got) != 0 {
				t.Errorf("%s: %d exchanges", how, len(got))
			}
			want := "192.0.2.2:3000 (mcp.test), TLS " + name + ", ALPN"
			if len(said) != 1 || !strings.HasPrefix(said[0], want) || !strings.Contains(said[0], "there is no secret for it") {
				t.Errorf("%s: %q, want %q", how, said, want)
			}
			if m.Counters.TLSData == 0 || m.Counters.Unexplained() == 0 {
				t.Errorf("%s: nothing is unexplained: %+v", how, m.Counters)
			}
		}
	}
}

// Where a segment is missing nothing behind it can be read, and the exchange says so.
func TestTLSWithGap(t *testing.T) {
	segments, keylog := talk(t, &tls.Config{MinVersion: tls.VersionTLS13}, notified)
	for i, w := range segments[3 : len(segments)-1] {
		if w.data == "" {
			continue
		}
		got := exchangesOf(t, slices.Delete(slices.Clone(segments), i+3, i+4), &Importer{Keys: keysOf(t, keylog)})
		for _, x := range got {
			if x.View().Complete == har.True && (string(x.Request.Raw) != tlsRequest || string(x.Response.Raw) != tlsResponse) {
				t.Errorf("without segment %d: called complete: %q %q", i, x.Request.Raw, x.Response.Raw)
			}
		}
	}
}

// KeyUpdate and the suites that the standard library cannot be made to choose: records sealed by the same schedule.
func TestRecordsOfEverySuite(t *testing.T) {
	for id, su := range suites {
		if su.mac != nil {
			continue // of another tool: TestCapturedTLS
		}
		t.Run(fmt.Sprintf("%#04x", id), func(t *testing.T) {
			secret := bytes.Repeat([]byte{7}, su.hash().Size())
			made := func() *recordCipher {
				var r *recordCipher
				var err error
				if id>>8 == 0x13 {
					r, err = cipher13(id, nextSecret(id, secret))
				} else {
					r, err = cipher12(&serverHelloFacts{version: tls12, suite: id, random: [32]byte{2}}, secret[:32], [32]byte{1}, 1)
				}
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			in, out := made(), made()
			for n := range 3 {
				head, body := seal(out, fmt.Sprintf("record %d", n))
				if plain, err := in.open(head, body); err != nil || string(plain) != fmt.Sprintf("record %d", n) {
					t.Fatalf("record %d: %q, %v", n, plain, err)
				}
			}
			head, body := seal(out, "changed")
			body[len(body)-1]++
			if _, err := in.open(head, body); err == nil {
				t.Error("a changed record was opened")
			}
			if _, err := in.open(head, nil); err == nil {
				t.Error("an empty record was opened")
			}
		})
	}
}

// seal makes the next record that open is to open.
func seal(c *recordCipher, plain string) (head, body []byte) {
	nonce := slices.Clone(c.iv)
	n := len(plain) + c.aead.Overhead()
	if c.explicit {
		explicit := []byte{9, 9, 9, 9, 9, 9, 9, byte(c.seq)}
		nonce = append(nonce, explicit...)
		body = append(body, explicit...)
	} else {
		nonce[11] ^= byte(c.seq)
	}
	head = []byte{recordData, 3, 3, byte((n + len(body)) >> 8), byte(n + len(body))}
	ad := head
	if !c.tls13 {
		ad = []byte{0, 0, 0, 0, 0, 0, 0, byte(c.seq), recordData, 3, 3, 0, byte(len(plain))}
	}
	c.seq++
	return head, c.aead.Seal(body, nonce, []byte(plain), ad)
}

func FuzzTLS(f *testing.F) {
	hello := []byte{22, 3, 1, 0, 45, 1, 0, 0, 41, 3, 3}
	f.Add(append(hello, make([]byte, 39)...), []byte{22, 3, 3, 0, 2, 2, 0})
	f.Add([]byte{20, 3, 3, 0, 1, 1, 21, 3, 3, 0, 2, 1, 0}, []byte{23, 3, 3, 0, 1, 1})
	f.Fuzz(func(t *testing.T, client, server []byte) {
		var s secure
		s.emit = func(int, kind, time.Time, []byte) {}
		for len(client)+len(server) > 0 {
			n, k := min(len(client), 7), min(len(server), 11)
			s.feed(0, epoch, client[:n])
			s.feed(1, epoch, server[:k])
			client, server = client[n:], server[k:]
			if len(s.ways[0].buf) > maxRecord+16 || len(s.ways[1].messages) > maxMessage+maxRecord {
				t.Fatal("past the bounds")
			}
		}
	})
}
