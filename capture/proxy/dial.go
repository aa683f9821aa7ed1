package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"
)

// connectTimeout bounds finding and connecting to the server, and the TLS handshake behind it, each.
const connectTimeout = 30 * time.Second

// connect opens the connection to the server. dialled is its host:port.
func (r *Reverse) connect() (up *leg, dialled string, err error) {
	port := r.To.Port()
	if port == "" {
		port = "80"
		if r.To.Scheme == "https" {
			port = "443"
		}
	}
	dialled = net.JoinHostPort(r.To.Hostname(), port)
	dial := r.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	ctx, cancel := context.WithTimeout(r.ctx, connectTimeout)
	defer cancel()
	sock, err := dial(ctx, "tcp", dialled)
	if err != nil {
		return nil, dialled, err
	}
	if r.To.Scheme != "https" {
		return newLeg(sock), dialled, nil
	}
	up, err = r.secure(sock)
	return up, dialled, err
}

// secure speaks TLS on sock as a client that knows HTTP/1.1 only.
func (r *Reverse) secure(sock net.Conn) (*leg, error) {
	conf := &tls.Config{}
	if r.TLS != nil {
		conf = r.TLS.Clone()
	}
	conf.NextProtos = []string{"http/1.1"}
	if conf.ServerName == "" {
		conf.ServerName = r.To.Hostname() // not sent if it is an address
	}
	ctx, cancel := context.WithTimeout(r.ctx, connectTimeout)
	defer cancel()
	floor := &floor{Conn: sock}
	conn := tls.Client(floor, conf)
	if err := conn.HandshakeContext(ctx); err != nil {
		sock.Close()
		return nil, &handshakeError{err}
	}
	return &leg{conn: conn, sock: sock, floor: floor}, nil
}

// A handshakeError is why TLS with the server did not come about.
type handshakeError struct{ error }

func (e *handshakeError) Unwrap() error { return e.error }

// A failure is why the server could not be reached: a note for the exchange, and a sentence for a person.
type failure struct{ note, words string }

// The notes, as docs/format.md lists them.
const (
	noteRefused     = "upstream: refused"
	noteTLS         = "upstream: tls"
	noteDNS         = "upstream: dns"
	noteTimeout     = "upstream: timeout"
	noteUnreachable = "upstream: unreachable"
)

// explain tells why a connection to the server, dialled at that host:port, failed.
func explain(dialled string, err error) failure {
	var dns *net.DNSError
	var shake *handshakeError
	var alert *net.OpError
	switch {
	case errors.As(err, &shake):
		return failure{noteTLS, dialled + ": " + explainTLS(shake.error)}
	case errors.As(err, &alert) && (alert.Op == "remote error" || alert.Op == "local error"):
		return failure{noteTLS, dialled + ": " + explainTLS(err)}
	case errors.As(err, &dns):
		return failure{noteDNS, fmt.Sprintf("%s: no address for the name %s: %s", dialled, dns.Name, dns.Err)}
	case errors.Is(err, syscall.ECONNREFUSED):
		return failure{noteRefused, dialled + ": connection refused: is the server running on that port?"}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, syscall.ETIMEDOUT):
		return failure{noteTimeout, dialled + ": the server does not answer"}
	}
	return failure{noteUnreachable, fmt.Sprintf("%s: cannot be reached: %v", dialled, err)}
}

// explainTLS puts the usual causes in words.
func explainTLS(err error) string {
	var name x509.HostnameError
	var authority x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &name):
		return "the server's certificate is for another name: " + name.Error()
	case errors.As(err, &authority):
		return "the server's certificate is signed by an unknown authority: name its certificate with --ca-file"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Sprintf("the server's certificate is expired or not yet valid (from %s to %s)",
			invalid.Cert.NotBefore.UTC().Format(time.DateTime), invalid.Cert.NotAfter.UTC().Format(time.DateTime))
	case errors.As(err, &record):
		return "the server does not speak TLS on that port: is it an http URL?"
	case strings.Contains(err.Error(), "no application protocol"):
		return "the server does not speak HTTP/1.1 (perhaps only HTTP/2), which is all that can be recorded"
	}
	return "no TLS connection: " + err.Error()
}
