package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
)

// unixPrefix stands before the path of a socket to listen on.
const (
	unixPrefix  = "unix:"
	unixHint    = "want a path that does not exist yet, in a folder of yours"
	maxUnixPath = 103 // bytes that every system takes
)

// listen listens on what --listen names.
func listen(address string) (net.Listener, error) {
	if path, ok := strings.CutPrefix(address, unixPrefix); ok {
		// Linux takes both for a name without a file, which nothing keeps others from.
		if path == "" || path[0] == '@' {
			return nil, &trouble{fmt.Errorf("--listen %s: want the path of a file", address), unixHint}
		}
		l, err := listenUnix(path)
		switch {
		case errors.Is(err, syscall.EINVAL) && len(path) > maxUnixPath:
			return nil, &trouble{fmt.Errorf("--listen %s: the path has %d bytes, more than a socket's can have", address, len(path)), "want a shorter one: " + unixPrefix + "PATH may be relative"}
		case err != nil:
			return nil, &trouble{fmt.Errorf("--listen %s: %w", address, cause(err)), unixHint}
		}
		return l, nil
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, &trouble{fmt.Errorf("--listen %s: want host:port or unix:PATH", address), "127.0.0.1:0 takes a free loopback port"}
	}
	l, err := net.Listen(listenNetwork(host), address)
	if err != nil {
		return nil, &trouble{fmt.Errorf("--listen %s: %w", address, cause(err)), listenHint(err)}
	}
	return l, nil
}

// listenHint says what to do about an address that cannot be listened on.
func listenHint(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return "port 0 takes a free one"
	case errors.Is(err, syscall.EACCES):
		return "ports below 1024 may need privileges; port 0 takes a free one"
	}
	return "want an address of this machine; 127.0.0.1:0 takes a free loopback port"
}

// listenNetwork is the network to listen on: for an IPv4 address IPv4 alone, since package net takes 0.0.0.0 for all
// addresses of both kinds.
func listenNetwork(host string) string {
	if ip, err := netip.ParseAddr(host); err == nil && ip.Is4() {
		return "tcp4"
	}
	return "tcp"
}
