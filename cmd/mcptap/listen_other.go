//go:build !unix

package main

import "net"

// listenUnix makes a socket; who may connect to it is up to the folder that it lies in.
func listenUnix(path string) (net.Listener, error) { return net.Listen("unix", path) }
