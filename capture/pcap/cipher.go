package pcap

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"

	"golang.org/x/crypto/chacha20poly1305"
)

// A suite is what a cipher suite means for its records.
type suite struct {
	key    int // bytes
	hash   func() hash.Hash
	chacha bool
}

// suites are the AEAD suites of TLS 1.3 (RFC 8446 appendix B.4), and of TLS 1.2 (RFC 5288, RFC 5289, RFC 7905).
var suites = map[uint16]suite{
	0x1301: {16, sha256.New, false}, 0x1302: {32, sha512.New384, false}, 0x1303: {32, sha256.New, true},
	0x009C: {16, sha256.New, false}, 0x009D: {32, sha512.New384, false},
	0x009E: {16, sha256.New, false}, 0x009F: {32, sha512.New384, false},
	0xC02B: {16, sha256.New, false}, 0xC02C: {32, sha512.New384, false},
	0xC02F: {16, sha256.New, false}, 0xC030: {32, sha512.New384, false},
	0xCCA8: {32, sha256.New, true}, 0xCCA9: {32, sha256.New, true}, 0xCCAA: {32, sha256.New, true},
}

// A recordCipher opens the records of one direction.
type recordCipher struct {
	aead     cipher.AEAD
	iv       []byte // 12 bytes; the 4 fixed ones with explicit
	explicit bool   // TLS 1.2 with GCM: each record begins with 8 bytes of its nonce
	tls13    bool
	seq      uint64
	nonce    [12]byte
	plain    []byte
}

// open gives the plain bytes of a record, valid until the next call.
func (c *recordCipher) open(head, body []byte) ([]byte, error) {
	var ad []byte
	if c.explicit {
		if len(body) < 8 {
			return nil, errors.New("want the explicit part of a nonce")
		}
		copy(c.nonce[:], c.iv)
		copy(c.nonce[4:], body[:8])
		body = body[8:]
	} else {
		copy(c.nonce[:], c.iv)
		binary.BigEndian.PutUint64(c.nonce[4:], binary.BigEndian.Uint64(c.nonce[4:])^c.seq)
	}
	if c.tls13 {
		ad = head
	} else {
		ad = binary.BigEndian.AppendUint64(nil, c.seq)
		ad = append(ad, head[:3]...)
		ad = binary.BigEndian.AppendUint16(ad, uint16(len(body)-c.aead.Overhead()))
	}
	plain, err := c.aead.Open(c.plain[:0], c.nonce[:], body, ad)
	if err != nil {
		return nil, err
	}
	c.plain = plain
	c.seq++
	return plain, nil
}

func newAEAD(s suite, key []byte) (cipher.AEAD, error) {
	if s.chacha {
		return chacha20poly1305.New(key)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

var errNoSecret = errors.New("there is no secret for it")

func suiteOf(id uint16) (suite, error) {
	s, ok := suites[id]
	if !ok {
		return s, fmt.Errorf("its cipher suite %#04x is not read", id)
	}
	return s, nil
}

// cipher13 makes the keys of RFC 8446 section 7.3 from a traffic secret.
func cipher13(id uint16, secret []byte) (*recordCipher, error) {
	s, err := suiteOf(id)
	if err != nil {
		return nil, err
	}
	if secret == nil {
		return nil, errNoSecret
	}
	key, err := expandLabel(s, secret, "key", s.key)
	if err != nil {
		return nil, err
	}
	iv, err := expandLabel(s, secret, "iv", 12)
	if err != nil {
		return nil, err
	}
	aead, err := newAEAD(s, key)
	return &recordCipher{aead: aead, iv: iv, tls13: true}, err
}

// nextSecret is the traffic secret behind a KeyUpdate (RFC 8446 section 7.2).
func nextSecret(id uint16, secret []byte) []byte {
	s := suites[id]
	next, err := expandLabel(s, secret, "traffic upd", s.hash().Size())
	if err != nil {
		return nil
	}
	return next
}

// expandLabel is HKDF-Expand-Label with an empty context (RFC 8446 section 7.1).
func expandLabel(s suite, secret []byte, label string, n int) ([]byte, error) {
	label = "tls13 " + label
	info := binary.BigEndian.AppendUint16(nil, uint16(n))
	info = append(append(info, byte(len(label))), label...)
	return hkdf.Expand(s.hash, secret, string(append(info, 0)), n)
}

// cipher12 makes one direction's keys of RFC 5246 section 6.3 from the master secret. way is 0 for the client's.
func cipher12(id uint16, master []byte, client, server [32]byte, way int) (*recordCipher, error) {
	s, err := suiteOf(id)
	if err != nil {
		return nil, err
	}
	if master == nil {
		return nil, errNoSecret
	}
	iv := 4
	if s.chacha {
		iv = 12
	}
	block := prf(s, master, "key expansion", append(server[:], client[:]...), 2*s.key+2*iv)
	aead, err := newAEAD(s, block[way*s.key:(way+1)*s.key])
	ivs := block[2*s.key:]
	return &recordCipher{aead: aead, iv: ivs[way*iv : (way+1)*iv], explicit: !s.chacha}, err
}

// prf is the pseudo-random function of TLS 1.2 (RFC 5246 section 5).
func prf(s suite, secret []byte, label string, seed []byte, n int) []byte {
	seed = append([]byte(label), seed...)
	mac := func(parts ...[]byte) []byte {
		h := hmac.New(s.hash, secret)
		for _, p := range parts {
			h.Write(p)
		}
		return h.Sum(nil)
	}
	var out []byte
	for a := mac(seed); len(out) < n; a = mac(a) {
		out = append(out, mac(a, seed)...)
	}
	return out[:n]
}
