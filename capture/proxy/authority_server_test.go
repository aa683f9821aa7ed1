package proxy

import (
	"crypto/x509"
	"testing"
	"time"
)

// A server's certificate is good for its own name and loopback, for whoever trusts the authority, and for nobody else.
func TestServerConfig(t *testing.T) {
	now := time.Now()
	certPEM, keyPEM, err := NewAuthority(now)
	if err != nil {
		t.Fatal(err)
	}
	a, err := LoadAuthority(certPEM, keyPEM, now)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(certPEM)
	for _, host := range []string{"", "10.1.2.3", "box.example"} {
		conf, err := a.ServerConfig(host, now)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(conf.Certificates[0].Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		for name, good := range map[string]bool{"localhost": true, "127.0.0.1": true, "::1": true, "other.example": false, host: true} {
			if name == "" {
				continue
			}
			if _, err := leaf.Verify(x509.VerifyOptions{Roots: trusted, DNSName: name, CurrentTime: now}); (err == nil) != good {
				t.Errorf("for %q, asked as %q: %v", host, name, err)
			}
		}
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: x509.NewCertPool(), DNSName: "localhost", CurrentTime: now}); err == nil {
			t.Errorf("for %q: trusted without the authority", host)
		}
	}
}
