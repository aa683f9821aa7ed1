package pcap

import (
	"encoding/binary"
	"fmt"
	"time"
)

// A secure is the TLS of one connection, 1.0 to 1.3 (RFC 2246 to RFC 8446), as far as the key log opens it.
type secure struct {
	keys   *KeyLog
	hello  clientHelloFacts
	server serverHelloFacts
	ways   [2]secureWay // client, server
	why    string       // why it is not read, "" while it may be
	broken bool         // where its records begin is not known any more
	total  int64
	opened bool
	ending string // how it ended, in words
	emit   func(way int, what kind, at time.Time, b []byte)
}

// A secureWay is what one end sends.
type secureWay struct {
	buf      []byte // of an unfinished record
	messages []byte // of an unfinished handshake message
	cipher   *recordCipher
	secret   []byte // of TLS 1.3: from which the keys at hand were made
	closed   bool   // close_notify
	shut     bool   // that was passed on as the end of what this end sends
	alert    string // the last other one, in words
	sent     int64
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
	tls10 = 0x0301
	tls11 = 0x0302
	tls12 = 0x0303
	tls13 = 0x0304
)

// feed takes bytes of one end. What cannot be read any further sets s.why; of that, alerts are still seen.
func (s *secure) feed(way int, at time.Time, b []byte) {
	w := &s.ways[way]
	w.buf = append(w.buf, b...)
	rest := w.buf
	for !s.broken && len(rest) >= 5 {
		n := int(binary.BigEndian.Uint16(rest[3:]))
		if n > maxRecord || rest[1] != 3 {
			s.fail("its records make no sense")
			s.broken = true
			break
		}
		if len(rest) < 5+n {
			break
		}
		if s.why == "" {
			s.record(way, at, rest[:5], rest[5:5+n])
		} else if rest[0] == recordAlert {
			w.alerted(rest[5 : 5+n])
		}
		rest = rest[5+n:]
	}
	if s.broken {
		w.buf, w.messages = nil, nil
		return
	}
	w.buf = append(w.buf[:0], rest...)
}

// fail notes why it cannot be read any further.
func (s *secure) fail(why string) {
	if s.why == "" {
		s.why = why
	}
}

// record reads one record.
func (s *secure) record(way int, at time.Time, head, body []byte) {
	w := &s.ways[way]
	kind := head[0]
	switch {
	case kind == recordCCS:
		if v := s.server.version; v >= tls10 && v <= tls12 {
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
	case kind == recordData && s.hello.early && way == 0:
		s.why = "it holds early data, which is not read"
		return
	case kind == recordData:
		s.why = "there is no secret for it"
		return
	}
	switch kind {
	case recordHandshake:
		s.handshake(way, body)
	case recordAlert:
		w.alerted(body)
		if w.closed && !w.shut && s.opened {
			w.shut = true
			s.emit(way, gotFIN, at, nil)
		}
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
	c, err := cipher12(&s.server, s.keys.find("CLIENT_RANDOM", s.hello.random), s.hello.random, way)
	if err != nil {
		s.why = err.Error()
		return
	}
	s.ways[way].cipher = c
}

// alerts are the words of RFC 8446 section 6 for what a person may meet.
var alerts = map[byte]string{
	10: "unexpected_message", 20: "bad_record_mac", 22: "record_overflow", 40: "handshake_failure", 42: "bad_certificate",
	43: "unsupported_certificate", 44: "certificate_revoked", 45: "certificate_expired", 46: "certificate_unknown",
	47: "illegal_parameter", 48: "unknown_ca", 49: "access_denied", 50: "decode_error", 51: "decrypt_error",
	70: "protocol_version", 71: "insufficient_security", 80: "internal_error", 86: "inappropriate_fallback", 90: "user_canceled",
	109: "missing_extension", 110: "unsupported_extension", 112: "unrecognized_name", 116: "certificate_required", 120: "no_application_protocol",
}

// alerted takes the body of an alert record. One that is not two bytes long is encrypted.
func (w *secureWay) alerted(body []byte) {
	const closeNotify = 0
	switch {
	case len(body) != 2:
		w.alert = "alert, encrypted"
	case body[1] == closeNotify:
		w.closed = true
	default:
		w.alert = fmt.Sprintf("alert %d", body[1])
		if word := alerts[body[1]]; word != "" {
			w.alert = "alert " + word
		}
	}
}
