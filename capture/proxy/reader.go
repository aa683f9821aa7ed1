package proxy

import (
	"net"
	"syscall"
)

// A reader reads a connection for a relay. Where the system can tell when there is something to read, it holds a buffer only from
// then on until the bytes were used, so that an idle connection costs none.
type reader struct {
	conn net.Conn
	raw  syscall.RawConn // nil: conn is read, and there is always a buffer
	size int             // of the next buffer
	buf  *[]byte
	got  gotten
	try  func(fd uintptr) bool
}

// gotten is what the last look at the socket gave.
type gotten struct {
	n   int
	err error
}

func newReader(conn net.Conn) *reader { return &reader{conn: conn, size: smallRead} }

// read returns the next bytes, valid until used.
func (r *reader) read() ([]byte, error) {
	if r.raw == nil {
		r.raw = readable(r.conn)
	}
	if r.raw != nil {
		return r.readRaw()
	}
	if r.buf == nil {
		r.buf = getBuffer(r.size)
	}
	n, err := r.conn.Read(*r.buf)
	return (*r.buf)[:n], err
}

// used lets go of what the last read has returned.
func (r *reader) used(n int) {
	if r.buf == nil {
		return
	}
	r.buf = fitBuffer(r.buf, n)
	if r.size = len(*r.buf); r.raw != nil {
		r.release()
	}
}

func (r *reader) release() {
	if r.buf != nil {
		putBuffer(r.buf)
		r.buf = nil
	}
}

// readable is the socket of conn, if conn is one and nothing more, and the system lets us wait for it.
func readable(conn net.Conn) syscall.RawConn {
	if !waits {
		return nil
	}
	if r, ok := conn.(*resumed); ok && len(r.first) == 0 && r.err == nil {
		conn = r.Conn
	}
	return rawConn(conn)
}
