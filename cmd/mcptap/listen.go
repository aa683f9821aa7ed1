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
const unixPrefix = "unix:"

// listen listens on what --listen names.
func listen(address string) (net.Listener, error) {
	if path, ok := strings.CutPrefix(address, unixPrefix); ok {
		l, err := listenUnix(path)
		if err != nil {
			return nil, &trouble{fmt.Errorf("--listen %s: %w", address, cause(err)), "want a path that does not exist yet, in a folder of yours"}
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
