package pcap

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"encoding/binary"
	"errors"
	"hash"
)

// A cbc opens records that are encrypted by AES-CBC and authenticated by a MAC: of what they hold (RFC 5246 section
// 6.2.3.2), or of what is sent where both ends agreed on that (RFC 7366). Of who sent the records only their MAC tells; that
// checks take as long for good as for bad ones matters to a server, not here.
type cbc struct {
	block    cipher.Block
	mac      hash.Hash
	iv       []byte // of the next record in TLS 1.0, where it is the end of the last one
	explicit bool   // TLS 1.1 and later: each record begins with its own
	etm      bool   // encrypt-then-MAC
	seq      uint64
	plain    []byte
}

func newCBC(server *serverHelloFacts, s suite, macKey, key, iv []byte) (*recordCipher, error) {
	block, err := aes.NewCipher(key)
	return &recordCipher{cbc: &cbc{
		block: block, mac: hmac.New(s.mac, macKey), iv: iv, explicit: server.version >= tls11, etm: server.etm,
	}}, err
}

var errNotOpened = errors.New("want a record that its MAC confirms")

// open gives the plain bytes of a record, valid until the next call.
func (c *cbc) open(head, body []byte) ([]byte, error) {
	size := c.mac.Size()
	if c.etm {
		if len(body) < size {
			return nil, errNotOpened
		}
		sent := body[:len(body)-size]
		if !c.confirms(head, sent, body[len(sent):]) {
			return nil, errNotOpened
		}
		body = sent
	}
	iv := c.iv
	if c.explicit && len(body) >= aes.BlockSize {
		iv, body = body[:aes.BlockSize], body[aes.BlockSize:]
	}
	if len(body) == 0 || len(body)%aes.BlockSize != 0 {
		return nil, errNotOpened
	}
	c.plain = append(c.plain[:0], body...)
	cipher.NewCBCDecrypter(c.block, iv).CryptBlocks(c.plain, c.plain)
	if !c.explicit {
		c.iv = append([]byte(nil), body[len(body)-aes.BlockSize:]...)
	}
	padding := int(c.plain[len(c.plain)-1]) + 1
	rest := len(c.plain) - padding
	if !c.etm {
		rest -= size
	}
	if rest < 0 {
		return nil, errNotOpened
	}
	if !c.etm && !c.confirms(head, c.plain[:rest], c.plain[rest:rest+size]) {
		return nil, errNotOpened
	}
	c.seq++
	return c.plain[:rest], nil
}

// confirms tells whether sum is the MAC of b as the next record.
func (c *cbc) confirms(head, b, sum []byte) bool {
	c.mac.Reset()
	pseudo := binary.BigEndian.AppendUint64(make([]byte, 0, 13), c.seq)
	pseudo = append(pseudo, head[:3]...)
	c.mac.Write(binary.BigEndian.AppendUint16(pseudo, uint16(len(b))))
	c.mac.Write(b)
	return hmac.Equal(c.mac.Sum(nil), sum)
}
