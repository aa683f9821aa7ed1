//go:build !linux

package har

import (
	"errors"
	"syscall"
)

func unacknowledged(syscall.Conn) bool { return false }

func unread(syscall.Conn) bool { return false }

func gone(syscall.Conn) bool { return false }

func ended(syscall.Conn) bool { return false }

func peerGoesOn(syscall.Conn) bool { return false }

// isSystemReset knows WSAECONNABORTED and WSAECONNRESET, which Windows reports in place of ECONNRESET.
func isSystemReset(err error) bool {
	return errors.Is(err, syscall.Errno(10053)) || errors.Is(err, syscall.Errno(10054))
}
