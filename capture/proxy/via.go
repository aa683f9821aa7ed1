package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/net/proxy"
)

// A Dialer opens connections, as net.Dialer.DialContext does.
type Dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// Via returns a Dialer that goes through a proxy: http or https (CONNECT), socks5 or socks5h (RFC 1928; the proxy finds the
// address in both). User information in its URL is for the proxy alone. noProxy lists hosts that are dialled straight, as the
// variable NO_PROXY does: names with all that end in them, addresses, networks, a port behind any of them, or *.
func Via(u *url.URL, noProxy string, trust *tls.Config) (Dialer, error) {
	at := *u
	if at.Hostname() == "" {
		return nil, errors.New("want a URL such as http://proxy.example:8080")
	}
	var through Dialer
	switch at.Scheme {
	case "http", "https":
		at.Host = hostPort(&at)
		through = func(ctx context.Context, _, addr string) (net.Conn, error) { return connectVia(ctx, &at, addr, trust) }
	case "socks5", "socks5h":
		if at.Port() == "" {
			at.Host = net.JoinHostPort(at.Hostname(), "1080")
		}
		var auth *proxy.Auth
		if at.User != nil {
			password, _ := at.User.Password()
			auth = &proxy.Auth{User: at.User.Username(), Password: password}
		}
		socks, err := proxy.SOCKS5("tcp", at.Host, auth, nil)
		if err != nil {
			return nil, err
		}
		through = socks.(proxy.ContextDialer).DialContext
	default:
		return nil, errors.New("want http, https or socks5")
	}
	straight := new(net.Dialer).DialContext
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if exempt(noProxy, addr) {
			return straight(ctx, network, addr)
		}
		c, err := through(ctx, network, addr)
		if err != nil {
			return nil, &viaError{at.Host, err}
		}
		return c, nil
	}, nil
}

// A viaError is why the proxy at that host:port was of no help.
type viaError struct {
	proxy string
	err   error
}

func (e *viaError) Error() string { return "by way of " + e.proxy + ": " + e.err.Error() }
func (e *viaError) Unwrap() error { return e.err }

// maxAnswer bounds the head of a proxy's answer to CONNECT.
const maxAnswer = 64 << 10

// connectVia asks the HTTP proxy at u for a tunnel to addr. Not a byte behind its answer is read.
func connectVia(ctx context.Context, u *url.URL, addr string, trust *tls.Config) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(past) })
	defer stop()
	if u.Scheme == "https" {
		conf := &tls.Config{}
		if trust != nil {
			conf = trust.Clone()
		}
		conf.ServerName, conf.NextProtos = u.Hostname(), []string{http11}
		over := tls.Client(c, conf)
		if err := over.HandshakeContext(ctx); err != nil {
			c.Close()
			return nil, &handshakeError{err}
		}
		c = over
	}
	if err := askForTunnel(c, u, addr); err != nil {
		c.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, err
	}
	if !stop() {
		c.Close()
		return nil, ctx.Err()
	}
	return c, nil
}

func askForTunnel(c net.Conn, u *url.URL, addr string) error {
	ask := "CONNECT " + addr + " HTTP/1.1\r\nHost: " + addr + "\r\n"
	if u.User != nil {
		password, _ := u.User.Password()
		ask += "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password)) + "\r\n"
	}
	if _, err := c.Write([]byte(ask + "\r\n")); err != nil {
		return err
	}
	var head []byte
	for one := make([]byte, 1); !strings.HasSuffix(string(head[max(0, len(head)-4):]), "\r\n\r\n"); {
		if _, err := c.Read(one); err != nil {
			return fmt.Errorf("no answer to CONNECT: %w", err)
		}
		if head = append(head, one[0]); len(head) > maxAnswer {
			return errors.New("the answer to CONNECT has a head of more than 64 KiB")
		}
	}
	r, err := http.ReadResponse(bufio.NewReader(strings.NewReader(string(head))), &http.Request{Method: http.MethodConnect})
	switch {
	case err != nil:
		return fmt.Errorf("the answer to CONNECT is not HTTP: %w", err)
	case r.StatusCode/100 != 2:
		return fmt.Errorf("CONNECT was refused: %s", r.Status)
	}
	return nil
}

// exempt tells whether the list names the host:port.
func exempt(list, addr string) bool {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	ip, ipErr := netip.ParseAddr(host)
	for _, entry := range strings.FieldsFunc(strings.ToLower(list), func(c rune) bool { return c == ',' || c == ' ' }) {
		if entry == "*" {
			return true
		}
		if network, err := netip.ParsePrefix(entry); err == nil {
			if ipErr == nil && network.Contains(ip.Unmap()) {
				return true
			}
			continue
		}
		if h, p, err := net.SplitHostPort(entry); err == nil {
			if p != port {
				continue
			}
			entry = h
		}
		entry = strings.TrimPrefix(strings.Trim(entry, "[]"), "*")
		name := strings.TrimPrefix(entry, ".")
		if host == entry || host == name && name == entry || ipErr != nil && strings.HasSuffix(host, "."+name) {
			return true
		}
	}
	return false
}
