package pcap

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/mcptap/mcptap/har"
)

// name says what is known of the connection from outside.
func (s *secure) name(server string) string {
	name := server
	if s.hello.sni != "" {
		name += " (" + s.hello.sni + ")"
	}
	if v := s.server.version; v >= tls10 && v <= tls13 {
		name += fmt.Sprintf(", TLS 1.%d", v-tls10)
	}
	switch {
	case s.server.alpn != "":
		name += ", ALPN " + s.server.alpn
	case s.hello.alpn != "":
		name += ", ALPN offered " + s.hello.alpn
	}
	return name
}

// course says how the connection went, as far as that can be seen from outside.
func (s *secure) course() string {
	var said string
	for i, who := range []string{"the client", "the server"} {
		if alert := s.ways[i].alert; alert != "" {
			said += ", " + who + " sent an " + alert
		}
	}
	if s.ending == "" {
		return said + ", no end was captured"
	}
	return said + ", ended by " + s.ending
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
		s.broken = true
		if s.why == "" {
			s.why = "bytes of it are missing"
			m.blind(l, s, o)
		}
	case gotEnd:
		if !s.opened {
			s.fail("it holds no data")
			m.unread(s, c.ends[1-l.client].String())
			return
		}
		m.pass(l, o)
	default:
		s.ended(way, o.kind)
		w := &s.ways[way]
		if !s.opened || o.kind == gotFIN && w.shut { // its close_notify was its end, which the other end may have answered since
			return
		}
		if o.kind == gotFIN && !w.closed && s.why == "" {
			o.kind = gotBareFIN
		}
		m.pass(l, o)
	}
}

// ended notes how the first end to end the connection did so.
func (s *secure) ended(way int, how kind) {
	word := map[kind]string{gotFIN: "FIN", gotRST: "RST"}[how]
	if s.ending == "" && word != "" {
		s.ending = [2]string{"the client's ", "the server's "}[way] + word
	}
}

func (m *Importer) secureBytes(l *link, s *secure, way int, o *occurrence) {
	s.total += int64(len(o.bytes))
	s.ways[way].sent += int64(len(o.bytes))
	blind := s.why != ""
	if !s.broken {
		s.feed(way, o.at, o.bytes)
	}
	switch {
	case blind:
		m.Counters.TLSData += int64(len(o.bytes))
	case s.why != "":
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

// An unreadTLS is what TLS connections that could not be read have in common with others of the same name.
type unreadTLS struct {
	conns int
	sent  [2]int64 // TLS bytes of client and server
}

// maxUnread is how many names of such connections are told apart.
const maxUnread = 256

// unread notes a connection of which no data could be read.
func (m *Importer) unread(s *secure, server string) {
	name := s.name(server) + ": " + s.why + s.course()
	u := m.unreadTLS[name]
	if u == nil {
		if len(m.unreadTLS) >= maxUnread {
			name = "other TLS connections could not be read either"
		}
		if u = m.unreadTLS[name]; u == nil {
			u = new(unreadTLS)
			m.unreadTLS[name] = u
		}
	}
	u.conns++
	for i := range u.sent {
		u.sent[i] += s.ways[i].sent
	}
}

// reportTLS says which TLS connections could not be read, and why.
func (m *Importer) reportTLS() {
	if m.Notice == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m.unreadTLS)) {
		u := m.unreadTLS[name]
		m.Notice(fmt.Sprintf("%s (connections: %d; bytes sent: %d by clients, %d by servers)", name, u.conns, u.sent[0], u.sent[1]))
	}
}
