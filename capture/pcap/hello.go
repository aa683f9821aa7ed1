package pcap

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
)

// clientHelloFacts are what a ClientHello shows (RFC 8446 section 4.1.2).
type clientHelloFacts struct {
	random [32]byte
	sni    string
	alpn   string // names, separated by commas
	early  bool   // data is sent before the server's answer (RFC 8446 section 4.2.10)
}

// serverHelloFacts are what a ServerHello shows, and the extensions that follow it (RFC 8446 section 4.1.3).
type serverHelloFacts struct {
	random  [32]byte
	version uint16
	suite   uint16
	alpn    string
	etm     bool // encrypt-then-MAC (RFC 7366)
}

// A scanner reads vectors of the TLS presentation language. Once something is too short, bad is set and the rest is empty.
type scanner struct {
	b   []byte
	bad bool
}

func (s *scanner) take(n int) []byte {
	if n > len(s.b) {
		s.bad, s.b = true, nil
		return make([]byte, n)
	}
	out := s.b[:n]
	s.b = s.b[n:]
	return out
}

// vector reads a vector whose length stands in so many bytes before it.
func (s *scanner) vector(bytes int) []byte {
	n := 0
	for _, c := range s.take(bytes) {
		n = n<<8 | int(c)
	}
	if n > len(s.b) {
		s.bad, s.b = true, nil
		return nil
	}
	return s.take(n)
}

// each calls yield for each extension.
func (s *scanner) each(yield func(kind uint16, body []byte)) {
	for len(s.b) >= 4 {
		kind := binary.BigEndian.Uint16(s.take(2))
		if body := s.vector(2); !s.bad {
			yield(kind, body)
		}
	}
}

// Extensions (IANA).
const (
	extensionName     = 0
	extensionALPN     = 16
	extensionETM      = 22
	extensionEarly    = 42
	extensionVersions = 43
)

func (h *clientHelloFacts) parse(b []byte) {
	s := scanner{b: b}
	s.take(2)
	random := s.take(32)
	s.vector(1)
	s.vector(2)
	s.vector(1)
	if s.bad {
		return
	}
	copy(h.random[:], random)
	all := scanner{b: s.vector(2)}
	all.each(func(kind uint16, body []byte) {
		in := scanner{b: body}
		switch kind {
		case extensionName:
			list := scanner{b: in.vector(2)}
			list.take(1)
			if name := list.vector(2); !list.bad && len(name) < 256 {
				h.sni = visible(name)
			}
		case extensionALPN:
			h.alpn = protocols(in.vector(2))
		case extensionEarly:
			h.early = true
		}
	})
}

// parse reads a ServerHello. It gives false for a HelloRetryRequest, and for what is no ServerHello of TLS 1.0 to 1.3.
func (h *serverHelloFacts) parse(b []byte) bool {
	s := scanner{b: b}
	version := binary.BigEndian.Uint16(s.take(2))
	random := s.take(32)
	s.vector(1)
	suite := binary.BigEndian.Uint16(s.take(2))
	s.take(1)
	if s.bad || [32]byte(random) == sha256.Sum256([]byte("HelloRetryRequest")) {
		return false
	}
	h.random, h.suite, h.version = [32]byte(random), suite, version
	if len(s.b) > 0 {
		h.extensions(s.vector(2))
	}
	return h.version >= tls10 && h.version <= tls13
}

func (h *serverHelloFacts) extensions(b []byte) {
	all := scanner{b: b}
	all.each(func(kind uint16, body []byte) {
		in := scanner{b: body}
		switch {
		case kind == extensionALPN:
			h.alpn = protocols(in.vector(2))
		case kind == extensionETM:
			h.etm = true
		case kind == extensionVersions && len(body) == 2:
			h.version = binary.BigEndian.Uint16(body)
		}
	})
}

func protocols(list []byte) string {
	var names []string
	for s := (scanner{b: list}); len(s.b) > 0 && len(names) < 16; {
		names = append(names, visible(s.vector(1)))
	}
	return strings.Join(names, ",")
}

// visible makes a name fit to be shown.
func visible(b []byte) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r >= 0x7F {
			return '?'
		}
		return r
	}, string(b))
}
