package main

import (
	"io"
	"net"
	"testing"
)

func TestListenIPv4Only(t *testing.T) {
	for host, want := range map[string]string{"0.0.0.0": "tcp4", "127.0.0.1": "tcp4", "": "tcp", "::": "tcp", "::1": "tcp", "localhost": "tcp"} {
		if got := listenNetwork(host); got != want {
			t.Errorf("%q: listens on %s, want %s", host, got, want)
		}
	}
	s := session{listen: "0.0.0.0:0"}
	if err := s.open(&app{stdout: io.Discard, stderr: io.Discard}); err != nil {
		t.Fatal(err)
	}
	defer s.l.Close()
	if ip := s.l.Addr().(*net.TCPAddr).IP; len(ip) != net.IPv4len && ip.To4() == nil {
		t.Errorf("listens on %v, want IPv4 alone", ip)
	}
}
