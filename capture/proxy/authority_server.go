package proxy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"time"
)

// serverDays is how long a server's certificate is valid.
const serverDays = 30

// ServerConfig is for a server of that host name or address, and of loopback: a fresh certificate, signed by the authority,
// and HTTP/1.1 alone.
func (a *Authority) ServerConfig(host string, now time.Time) (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{Organization: []string{"mcptap"}, CommonName: "mcptap replay"},
		NotBefore: now.Add(-24 * time.Hour).UTC(), NotAfter: now.AddDate(0, 0, serverDays).UTC(),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = append(template.IPAddresses, ip)
	} else if host != "" {
		template.DNSNames = append(template.DNSNames, host)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert.Leaf, &key.PublicKey, a.cert.PrivateKey)
	if err != nil {
		return nil, err
	}
	chain := [][]byte{der, a.cert.Certificate[0]}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: chain, PrivateKey: key}}, NextProtos: []string{"http/1.1"}}, nil
}
