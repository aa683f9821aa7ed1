package pcap

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"io"
	"strings"
)

// maxKeys bounds how many secrets a KeyLog holds.
const maxKeys = 1 << 18

// A KeyLog holds TLS secrets by label and client random, as NSS key logs (SSLKEYLOGFILE) list them. The zero value is
// empty and ready.
type KeyLog struct {
	secrets map[logged][]byte
}

type logged struct {
	label  string
	random [32]byte
}

// Add reads a key log. Lines that make no sense are passed over.
func (k *KeyLog) Add(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 4096), 1<<20)
	for lines.Scan() {
		k.line(lines.Bytes())
	}
	return lines.Err()
}

// Empty tells whether there is no secret in it.
func (k *KeyLog) Empty() bool { return k == nil || len(k.secrets) == 0 }

func (k *KeyLog) line(b []byte) {
	parts := bytes.Fields(b)
	if len(parts) != 3 || b[0] == '#' || len(parts[1]) != 64 || len(parts[2]) > 256 || len(k.secrets) >= maxKeys {
		return
	}
	var l logged
	secret := make([]byte, hex.DecodedLen(len(parts[2])))
	if _, err := hex.Decode(l.random[:], parts[1]); err != nil {
		return
	}
	if _, err := hex.Decode(secret, parts[2]); err != nil {
		return
	}
	if k.secrets == nil {
		k.secrets = map[logged][]byte{}
	}
	l.label = strings.Clone(string(parts[0]))
	k.secrets[l] = secret
}

// find gives a secret, nil if it is not there.
func (k *KeyLog) find(label string, random [32]byte) []byte {
	if k == nil {
		return nil
	}
	return k.secrets[logged{label, random}]
}
