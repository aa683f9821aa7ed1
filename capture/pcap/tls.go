package pcap

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/mcptap/mcptap/har"
)

// A secure is the TLS of one connection, 1.2 or 1.3 (RFC 5246, RFC 8446), as far as the key log opens it.
type secure struct {
	keys   *KeyLog
	hello  clientHelloFacts
	server serverHelloFacts
	ways   [2]secureWay // client, server
	why    string       // why it is not read, "" while it may be
	total  int64
	opened bool
	emit   func(way int, what kind, at time.Time, b []byte)
}

// A secureWay is what one end sends.
type secureWay struct {
	buf      []byte // of an unfinished record
	messages []byte // of an unfinished handshake message
	cipher   *recordCipher
	secret   []byte // of TLS 1.3: from which the keys at hand were made
	closed   bool   // close_notify
}

// Record types (RFC 8446 section 5.1), and the largest record of TLS 1.2.
const (
	recordCCS       = 20
	recordAlert     = 21
	recordHandshake = 22
	recordData      = 23
	maxRecord       = 16384 + 2048
	maxMessage      = 1 << 18 // bytes of one handshake message
)

const (
	tls12 = 0x0303
	tls13 = 0x0304
)

// feed takes bytes of one end. What cannot be read any further sets s.why.
func (s *secure) feed(way int, at time.Time, b []byte) {
	w := &s.ways[way]
	w.buf = append(w.buf, b...)
	rest := w.buf
	for s.why == "" && len(rest) >= 5 {
		n := int(binary.BigEndian.Uint16(rest[3:]))
		if n > maxRecord || rest[1] != 3 {
			s.why = "its records make no sense"
			break
		}
		if len(rest) < 5+n {
			break
		}
		s.record(way, at, rest[:5], rest[5:5+n])
		rest = rest[5+n:]
	}
	w.buf = append(w.buf[:0], rest...)
}

// record reads one record.
func (s *secure) record(way int, at time.Time, head, body []byte) {
	w := &s.ways[way]
	kind := head[0]
	switch {
	case kind == recordCCS:
		if s.server.version == tls12 {
			s.changeCipher(way)
		}
		return
	case s.server.version == tls13 && kind == recordAlert && w.cipher != nil && len(body) == 2:
	case w.cipher != nil:
		plain, err := w.cipher.open(head, body)
		if err != nil {
			s.why = "its secrets do not open it"
			return
		}
		body = plain
		if s.server.version == tls13 {
			for len(body) > 0 && body[len(body)-1] == 0 {
				body = body[:len(body)-1]
			}
			if len(body) == 0 {
				return
			}
			kind, body = body[len(body)-1], body[:len(body)-1]
		}
	case kind == recordData:
		s.why = "there is no secret for it"
		return
	}
	switch kind {
	case recordHandshake:
		s.handshake(way, body)
	case recordAlert:
		const closeNotify = 0
		w.closed = w.closed || len(body) == 2 && body[1] == closeNotify
	case recordData:
		if s.server.alpn == "h2" {
			s.why = "it speaks HTTP/2"
			return
		}
		if len(body) > 0 {
			s.emit(way, gotBytes, at, body)
		}
	}
}

// handshake reads the messages that are whole.
func (s *secure) handshake(way int, b []byte) {
	w := &s.ways[way]
	w.messages = append(w.messages, b...)
	for s.why == "" && len(w.messages) >= 4 {
		n := int(w.messages[1])<<16 | int(w.messages[2])<<8 | int(w.messages[3])
		if n > maxMessage {
			s.why = "its handshake makes no sense"
			return
		}
		if len(w.messages) < 4+n {
			return
		}
		s.message(way, w.messages[0], w.messages[4:4+n])
		w.messages = append(w.messages[:0], w.messages[4+n:]...)
	}
}

func (s *secure) message(way int, kind byte, b []byte) {
	const (
		clientHello         = 1
		serverHello         = 2
		encryptedExtensions = 8
		finished            = 20
		keyUpdate           = 24
	)
	w := &s.ways[way]
	switch {
	case kind == clientHello && w.cipher == nil:
		s.hello.parse(b)
	case kind == serverHello && w.cipher == nil:
		if !s.server.parse(b) {
			return // HelloRetryRequest, or one that makes no sense
		}
		if s.server.version == tls13 {
			s.use(0, s.keys.find("CLIENT_HANDSHAKE_TRAFFIC_SECRET", s.hello.random))
			s.use(1, s.keys.find("SERVER_HANDSHAKE_TRAFFIC_SECRET", s.hello.random))
		}
	case kind == encryptedExtensions && len(b) >= 2:
		s.server.extensions(b[2:])
	case kind == finished && s.server.version == tls13:
		label := [2]string{"CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"}[way]
		s.use(way, s.keys.find(label, s.hello.random))
	case kind == keyUpdate && s.server.version == tls13 && w.secret != nil:
		s.use(way, nextSecret(s.server.suite, w.secret))
	}
}

// use makes the keys of one way from a secret of TLS 1.3.
func (s *secure) use(way int, secret []byte) {
	w := &s.ways[way]
	c, err := cipher13(s.server.suite, secret)
	if err != nil {
		s.why = err.Error()
		return
	}
	w.cipher, w.secret = c, secret
}

// changeCipher makes the keys of TLS 1.2.
func (s *secure) changeCipher(way int) {
	c, err := cipher12(s.server.suite, s.keys.find("CLIENT_RANDOM", s.hello.random), s.hello.random, s.server.random, way)
	if err != nil {
		s.why = err.Error()
		return
	}
	s.ways[way].cipher = c
}

// name says what is known of the connection from outside.
func (s *secure) name(server string) string {
	name := server
	if s.hello.sni != "" {
		name += " (" + s.hello.sni + ")"
	}
	switch s.server.version {
	case tls13:
		name += ", TLS 1.3"
	case tls12:
		name += ", TLS 1.2"
	}
	switch {
	case s.server.alpn != "":
		name += ", ALPN " + s.server.alpn
	case s.hello.alpn != "":
		name += ", ALPN offered " + s.hello.alpn
	}
	return name
}

// tls takes an occurrence of a TLS connection.
func (m *Importer) tls(c *conn, l *link, o *occurrence) {
	s := l.secure
	if s == nil {
		s = &secure{keys: m.Keys}
		s.emit = func(way int, what kind, at time.Time, b []byte) {
			if !s.opened {
				s.opened = true
				m.Counters.HTTP++
				m.opened(c, l, "https", s.authority(c, l))
			}
			from := l.client
			if way == 1 {
				from = 1 - l.client
			}
			m.pass(l, &occurrence{kind: what, from: from, at: at, bytes: b})
		}
		l.secure = s
	}
	way := 0
	if o.from != l.client {
		way = 1
	}
	switch o.kind {
	case gotBytes:
		m.secureBytes(l, s, way, o)
	case gotLost:
		if s.why == "" {
			s.why = "bytes of it are missing"
			m.blind(l, s, o)
		}
	case gotEnd:
		if !s.opened {
			if s.why == "" {
				s.why = "it holds no data"
			}
			m.sawTLS[s.name(c.ends[1-l.client].String())+": "+s.why]++
			return
		}
		m.pass(l, o)
	default:
		if !s.opened {
			return
		}
		if o.kind == gotFIN && !s.ways[way].closed && s.why == "" {
			o.kind = gotBareFIN
		}
		m.pass(l, o)
	}
}

func (m *Importer) secureBytes(l *link, s *secure, way int, o *occurrence) {
	s.total += int64(len(o.bytes))
	if s.why != "" {
		m.Counters.TLSData += int64(len(o.bytes))
		return
	}
	s.feed(way, o.at, o.bytes)
	if s.why != "" {
		m.blind(l, s, o)
	}
}

// blind says that no more of a connection can be read.
func (m *Importer) blind(l *link, s *secure, o *occurrence) {
	if !s.opened {
		m.Counters.TLSData += s.total
		return
	}
	m.Counters.TLSData += int64(len(o.bytes))
	for from := range 2 {
		m.pass(l, &occurrence{kind: gotLost, from: from, at: o.at, lost: -1, why: har.NoteGap})
	}
}

// authority is what the client called the server, with its port.
func (s *secure) authority(c *conn, l *link) string {
	server := c.ends[1-l.client]
	host := s.hello.sni
	if host == "" {
		host = server.Addr().String()
	}
	const https = 443
	if server.Port() == https && s.hello.sni != "" {
		return host
	}
	return net.JoinHostPort(host, strconv.Itoa(int(server.Port())))
}

// reportTLS says which TLS connections could not be read, and why.
func (m *Importer) reportTLS() {
	if m.Notice == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m.sawTLS)) {
		m.Notice(fmt.Sprintf("%s (connections: %d)", name, m.sawTLS[name]))
	}
}
