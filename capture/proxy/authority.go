package proxy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"sync"
	"time"
)

// An Authority signs the certificates that the forward door shows to clients. Whoever has its key can read the traffic of all
// who trust it: it belongs to one user and stays on the user's machine.
type Authority struct{ cert tls.Certificate }

// authorityYears is how long a new authority is valid.
const authorityYears = 10

// NewAuthority makes a certificate and its key (ECDSA, P-256), both PEM.
func NewAuthority(now time.Time) (certPEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return nil, nil, err
	}
	id := sha256.Sum256(public)
	template := &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(id[4:20]),
		Subject:      pkix.Name{Organization: []string{"mcptap"}, CommonName: fmt.Sprintf("mcptap CA %x", id[:4])},
		SubjectKeyId: id[:20],
		NotBefore:    now.Add(-24 * time.Hour).UTC(), NotAfter: now.AddDate(authorityYears, 0, 0).UTC(),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		IsCA:     true, BasicConstraintsValid: true, MaxPathLenZero: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), nil
}

// LoadAuthority takes what NewAuthority made. It refuses a certificate that is no authority's, not of that key, or not valid
// at that time.
func LoadAuthority(certPEM, keyPEM []byte, now time.Time) (*Authority, error) {
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, err
	}
	switch {
	case !cert.Leaf.IsCA:
		return nil, errors.New("the certificate is not an authority's")
	case now.Before(cert.Leaf.NotBefore), now.After(cert.Leaf.NotAfter):
		return nil, fmt.Errorf("the certificate is valid from %s to %s only",
			cert.Leaf.NotBefore.UTC().Format(time.DateTime), cert.Leaf.NotAfter.UTC().Format(time.DateTime))
	}
	return &Authority{cert}, nil
}

// Name is the common name of the certificate, by which certificate stores list it.
func (a *Authority) Name() string { return a.cert.Leaf.Subject.CommonName }

// maxLeaves is how many certificates are kept. The one that was made first goes first.
const maxLeaves = 1000

// Leaves keep the certificates that were made for clients, by name (goproxy.CertStorage).
type leaves struct {
	now func() time.Time

	mu    sync.Mutex // guards what follows
	made  map[string]*tls.Certificate
	order []string
}

// Fetch returns the certificate for that name, and makes it where there is none that is valid for another day.
func (l *leaves) Fetch(name string, make func() (*tls.Certificate, error)) (*tls.Certificate, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.made[name]
	if c != nil && l.now().Add(24*time.Hour).Before(c.Leaf.NotAfter) {
		return c, nil
	}
	fresh, err := make()
	if err != nil {
		return nil, err
	}
	if c == nil {
		if len(l.order) == maxLeaves {
			delete(l.made, l.order[0])
			l.order = append(l.order[:0], l.order[1:]...)
		}
		l.order = append(l.order, name)
	}
	l.made[name] = fresh
	return fresh, nil
}
