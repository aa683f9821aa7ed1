package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// systemRoots are where systems keep the authorities they trust, PEM in one file: Debian, Fedora, openSUSE, RHEL, Alpine and
// macOS, FreeBSD.
var systemRoots = []string{
	"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/pki/tls/cacert.pem",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem", "/usr/local/share/certs/ca-root-nss.crt",
}

// A bundle is a file for one run.
type bundle struct{ name string }

func (b bundle) remove() { os.Remove(b.name) }

// trustBundle writes a file with our certificate and those that CMD would trust without us: the files that its environment
// names, else the system's.
func (a *app) trustBundle(ca *authority) (bundle, error) {
	var all bytes.Buffer
	all.Write(ca.certPEM)
	named := map[string]bool{}
	for _, name := range []string{"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "DENO_CERT"} {
		file := a.getenv(name)
		if file == "" || named[file] {
			continue
		}
		named[file] = true
		pem, err := os.ReadFile(file)
		if err != nil {
			return bundle{}, &trouble{fmt.Errorf("%s: %w", name, fileTrouble(file, err)), "unset " + name + " or let it name a PEM file"}
		}
		all.WriteByte('\n')
		all.Write(pem)
	}
	if a.getenv("SSL_CERT_FILE") == "" {
		for _, file := range systemRoots {
			if pem, err := os.ReadFile(file); err == nil {
				all.WriteByte('\n')
				all.Write(pem)
				break
			}
		}
	}
	f, err := os.CreateTemp(filepath.Dir(filepath.Dir(ca.certFile)), "trust-*.pem")
	if err != nil {
		return bundle{}, fmt.Errorf("no file for CMD's authorities: %w", err)
	}
	_, err = f.Write(all.Bytes())
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		os.Remove(f.Name())
		return bundle{}, fileTrouble(f.Name(), err)
	}
	return bundle{f.Name()}, nil
}
