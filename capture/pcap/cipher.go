package pcap

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"

	"golang.org/x/crypto/chacha20poly1305"
)

// A suite is what a cipher suite means for its records. Those with a mac encrypt by AES-CBC.
type suite struct {
	key    int              // bytes
	hash   func() hash.Hash // of the key schedule of TLS 1.2 and 1.3
	chacha bool
	mac    func() hash.Hash // of CBC; nil for AEAD
}

// suites are the AEAD suites of TLS 1.3 (RFC 8446 appendix B.4) and of TLS 1.2 (RFC 5288, RFC 5289, RFC 7905), and those
// with AES-CBC of TLS 1.0 to 1.2 (RFC 5246 appendix A.5, RFC 5289, RFC 8422).
var suites = map[uint16]suite{
	0x1301: {key: 16, hash: sha256.New}, 0x1302: {key: 32, hash: sha512.New384}, 0x1303: {key: 32, hash: sha256.New, chacha: true},
	0x009C: {key: 16, hash: sha256.New}, 0x009D: {key: 32, hash: sha512.New384},
	0x009E: {key: 16, hash: sha256.New}, 0x009F: {key: 32, hash: sha512.New384},
	0xC02B: {key: 16, hash: sha256.New}, 0xC02C: {key: 32, hash: sha512.New384},
	0xC02F: {key: 16, hash: sha256.New}, 0xC030: {key: 32, hash: sha512.New384},
	0xCCA8: {key: 32, hash: sha256.New, chacha: true}, 0xCCA9: {key: 32, hash: sha256.New, chacha: true}, 0xCCAA: {key: 32, hash: sha256.New, chacha: true},

	0x002F: {key: 16, hash: sha256.New, mac: sha1.New}, 0x0035: {key: 32, hash: sha256.New, mac: sha1.New},
	0x0033: {key: 16, hash: sha256.New, mac: sha1.New}, 0x0039: {key: 32, hash: sha256.New, mac: sha1.New},
	0xC009: {key: 16, hash: sha256.New, mac: sha1.New}, 0xC00A: {key: 32, hash: sha256.New, mac: sha1.New},
	0xC013: {key: 16, hash: sha256.New, mac: sha1.New}, 0xC014: {key: 32, hash: sha256.New, mac: sha1.New},
	0x003C: {key: 16, hash: sha256.New, mac: sha256.New}, 0x003D: {key: 32, hash: sha256.New, mac: sha256.New},
	0x0067: {key: 16, hash: sha256.New, mac: sha256.New}, 0x006B: {key: 32, hash: sha256.New, mac: sha256.New},
	0xC023: {key: 16, hash: sha256.New, mac: sha256.New}, 0xC024: {key: 32, hash: sha512.New384, mac: sha512.New384},
	0xC027: {key: 16, hash: sha256.New, mac: sha256.New}, 0xC028: {key: 32, hash: sha512.New384, mac: sha512.New384},
}

// A recordCipher opens the records of one direction.
type recordCipher struct {
	cbc      *cbc // nil for AEAD
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
	if c.cbc != nil {
		return c.cbc.open(head, body)
	}
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

// cipher12 makes one direction's keys of RFC 5246 section 6.3, or RFC 2246 before TLS 1.2, from the master secret. way is 0
// for the client's.
func cipher12(server *serverHelloFacts, master []byte, client [32]byte, way int) (*recordCipher, error) {
	s, err := suiteOf(server.suite)
	if err != nil {
		return nil, err
	}
	if master == nil {
		return nil, errNoSecret
	}
	mac, iv := 0, 4
	switch {
	case s.mac != nil:
		mac, iv = s.mac().Size(), aes.BlockSize
	case s.chacha:
		iv = 12
	}
	seed := append([]byte("key expansion"), append(server.random[:], client[:]...)...)
	n := 2 * (mac + s.key + iv)
	var block []byte
	if server.version == tls12 {
		block = prf(s.hash, master, seed, n)
	} else {
		block = prf10(master, seed, n)
	}
	part := func(from, size int) []byte { return block[from+way*size:][:size] }
	key, ivPart := part(2*mac, s.key), part(2*(mac+s.key), iv)
	if s.mac != nil {
		return newCBC(server, s, part(0, mac), key, ivPart)
	}
	aead, err := newAEAD(s, key)
	return &recordCipher{aead: aead, iv: ivPart, explicit: !s.chacha}, err
}

// prf is the pseudo-random function of TLS 1.2 (RFC 5246 section 5); seed includes the label.
func prf(newHash func() hash.Hash, secret, seed []byte, n int) []byte {
	mac := func(parts ...[]byte) []byte {
		h := hmac.New(newHash, secret)
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

// prf10 is that of TLS 1.0 and 1.1 (RFC 2246 section 5).
func prf10(secret, seed []byte, n int) []byte {
	half := (len(secret) + 1) / 2
	out := prf(md5.New, secret[:half], seed, n)
	for i, b := range prf(sha1.New, secret[len(secret)-half:], seed, n) {
		out[i] ^= b
	}
	return out
}
