//go:build unix

package main

import (
	"net"
	"syscall"
)

// listenUnix makes a socket that only its owner can connect to (mode 0600). The mask is the process's: nothing else makes
// files at that time.
func listenUnix(path string) (net.Listener, error) {
	was := syscall.Umask(0o177)
	defer syscall.Umask(was)
	return net.Listen("unix", path)
}
