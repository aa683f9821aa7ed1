package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// connectTimeout bounds finding and connecting to the server, and the TLS handshake behind it, each.
const connectTimeout = 30 * time.Second

// http11 is the one protocol that is spoken over TLS (ALPN, RFC 7301).
const http11 = "http/1.1"

// hostPort is where a URL's server listens.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "80"
		if u.Scheme == "https" {
			port = "443"
		}
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// dial opens a connection to the host:port, by way of with unless that is nil.
func (h *hall) dial(with Dialer, addr string) (net.Conn, error) {
	if with == nil {
		with = new(net.Dialer).DialContext
	}
	ctx, cancel := context.WithTimeout(h.ctx, connectTimeout)
	defer cancel()
	return with(ctx, "tcp", addr)
}

// secure speaks TLS on sock as a client that trusts whom trust says (nil: the system's authorities) and asks for that server
// name, which is not sent if it is an address.
func (h *hall) secure(sock net.Conn, trust *tls.Config, name string, protocols []string) (*leg, error) {
	conf := &tls.Config{}
	if trust != nil {
		conf = trust.Clone()
	}
	conf.NextProtos = protocols
	if conf.ServerName == "" {
		conf.ServerName = name
	}
	ctx, cancel := context.WithTimeout(h.ctx, connectTimeout)
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

// The notes on what did not get to a server, as docs/format.md lists them.
const (
	noteRefused     = "upstream: refused"
	noteTLS         = "upstream: tls"
	noteDNS         = "upstream: dns"
	noteTimeout     = "upstream: timeout"
	noteUnreachable = "upstream: unreachable"
	noteOrigin      = "upstream: other origin"
)

// explain tells why a connection to the server, dialled at that host:port, failed.
func explain(dialled string, err error) failure {
	var dns *net.DNSError
	var shake *handshakeError
	var alert *net.OpError
	var via *viaError
	if errors.As(err, &via) {
		return failure{noteUnreachable, fmt.Sprintf("%s: by way of the proxy %s", dialled, via.explain())}
	}
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

// explain tells why the proxy was of no help. Nothing of that is said of the server.
func (e *viaError) explain() string {
	f := explain(e.proxy, e.err)
	var socks *net.OpError
	switch {
	case f.note == noteRefused:
		return e.proxy + ": connection refused: is the proxy running on that port?"
	case f.note == noteTimeout:
		return e.proxy + ": it does not answer"
	case f.note == noteUnreachable && errors.As(e.err, &socks) && strings.HasPrefix(socks.Op, "socks"):
		return e.proxy + ": " + socks.Err.Error()
	case f.note == noteUnreachable:
		return e.proxy + ": " + e.err.Error()
	}
	return f.words
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
	case isNoProtocol(err):
		return "the server does not speak HTTP/1.1 (perhaps only HTTP/2), which is all that can be recorded"
	}
	return "no TLS connection: " + err.Error()
}

// isNoProtocol tells whether a server has refused TLS because it does not speak HTTP/1.1 (RFC 7301 section 3.2).
func isNoProtocol(err error) bool {
	return err != nil && strings.Contains(err.Error(), "no application protocol")
}
