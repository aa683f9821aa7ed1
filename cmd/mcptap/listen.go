package main

import "net/netip"

// listenNetwork is the network to listen on: for an IPv4 address IPv4 alone, since package net takes 0.0.0.0 for all
// addresses of both kinds.
func listenNetwork(host string) string {
	if ip, err := netip.ParseAddr(host); err == nil && ip.Is4() {
		return "tcp4"
	}
	return "tcp"
}
