//go:build !linux

package proxy

import (
	"net"
	"syscall"
)

const waits = false

func rawConn(net.Conn) syscall.RawConn { return nil }

func (r *reader) readRaw() ([]byte, error) { return nil, syscall.ENOSYS }
