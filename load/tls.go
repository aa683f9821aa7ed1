package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"time"
)

// makeCertificate makes a self-signed certificate for 127.0.0.1 and writes it to the file, as PEM.
func makeCertificate(file string) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, os.WriteFile(file, block, 0o600)
}

// throughTunnel asks for a tunnel to the server at addr, and speaks TLS in it. Whom to trust is not what is measured.
func throughTunnel(c net.Conn, addr string) (net.Conn, error) {
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", addr, addr)
	r, err := http.ReadResponse(bufio.NewReader(c), nil) // nothing comes behind it before we have spoken
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("CONNECT was answered %s", r.Status)
	}
	over := tls.Client(c, &tls.Config{InsecureSkipVerify: true})
	if err == nil {
		err = over.Handshake()
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return over, nil
}
