package proxy

import (
	"io"
	"net"
	"os"
	"syscall"
)

const waits = true

// readRaw does what conn.Read does, with a buffer that is taken when there is something to read.
func (r *reader) readRaw() ([]byte, error) {
	if r.try == nil {
		r.try = r.look
	}
	err := r.raw.Read(r.try)
	switch {
	case err != nil:
		return nil, err
	case r.got.err != nil:
		return nil, &net.OpError{Op: "read", Net: "tcp", Source: r.conn.LocalAddr(), Addr: r.conn.RemoteAddr(), Err: os.NewSyscallError("read", r.got.err)}
	case r.got.n == 0:
		return nil, io.EOF
	}
	return (*r.buf)[:r.got.n], nil
}

// look reads what there is; false: nothing yet.
func (r *reader) look(fd uintptr) bool {
	if r.buf == nil {
		r.buf = getBuffer(r.size)
	}
	r.got.n, r.got.err = syscall.Read(int(fd), *r.buf)
	for r.got.err == syscall.EINTR {
		r.got.n, r.got.err = syscall.Read(int(fd), *r.buf)
	}
	if r.got.err == syscall.EAGAIN {
		r.release()
		return false
	}
	return true
}
