package har

import (
	"encoding/binary"
	"syscall"
	"unsafe"
)

// States of linux/tcp.h.
const (
	tcpOpen      = 1
	tcpFinWait1  = 4 // we have sent our FIN, the peer has not
	tcpFinWait2  = 5 // and it was acknowledged
	tcpTimeWait  = 6
	tcpClose     = 7 // no connection, such as after a reset
	tcpCloseWait = 8 // the peer has sent its FIN, we have not
	tcpLastAck   = 9
	tcpClosing   = 11
)

// unacknowledged tells whether bytes written to a living TCP connection have not reached the peer's kernel. SIOCOUTQ
// (tcp(7); the same request as TIOCOUTQ) counts unsent bytes and those in flight, and is not cleared by a reset.
func unacknowledged(s syscall.Conn) bool {
	return queued(s, syscall.TIOCOUTQ) && stateOf(s) != tcpClose
}

// unread asks SIOCINQ (tcp(7); the same request as TIOCINQ).
func unread(s syscall.Conn) bool { return queued(s, syscall.TIOCINQ) }

// queued tells whether the queue that an ioctl counts holds bytes; false for a socket that we have closed.
func queued(s syscall.Conn, request uintptr) bool {
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	some := false
	raw.Control(func(fd uintptr) {
		var n int32
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(unsafe.Pointer(&n)))
		some = errno == 0 && n > 0
	})
	return some
}

func gone(s syscall.Conn) bool {
	raw, err := s.SyscallConn()
	if err != nil {
		return true
	}
	state := byte(tcpClose)
	raw.Control(func(fd uintptr) { state = tcpState(int(fd)) })
	return state == tcpClose
}

// ended is false for a socket that we have closed.
func ended(s syscall.Conn) bool {
	switch stateOf(s) {
	case tcpTimeWait, tcpClose, tcpCloseWait, tcpLastAck, tcpClosing:
		return true
	}
	return false
}

// peerGoesOn is false, too, for a socket that we have closed.
func peerGoesOn(s syscall.Conn) bool {
	switch stateOf(s) {
	case tcpOpen, tcpFinWait1, tcpFinWait2:
		return true
	}
	return false
}

// stateOf is 0 for a socket that we have closed.
func stateOf(s syscall.Conn) (state byte) {
	if raw, err := s.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { state = tcpState(int(fd)) })
	}
	return state
}

// tcpState is the first byte of struct tcp_info, tcpClose if it cannot be had.
func tcpState(fd int) byte {
	info, err := syscall.GetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_INFO)
	if err != nil {
		return tcpClose
	}
	var b [4]byte
	binary.NativeEndian.PutUint32(b[:], uint32(info))
	return b[0]
}

func isSystemReset(error) bool { return false }
