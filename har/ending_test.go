package har

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"syscall"
	"testing"
	"time"
)

func TestReadEnding(t *testing.T) {
	wrapped := func(err error) error { return &net.OpError{Op: "read", Net: "tcp", Err: err} }
	for _, tt := range []struct {
		name string
		err  error
		want Ending
	}{
		{"end of file", io.EOF, EndFIN},
		{"end of file, wrapped", fmt.Errorf("reading: %w", io.EOF), EndFIN},
		{"broken off", io.ErrUnexpectedEOF, EndNoCloseNotify},
		{"reset", wrapped(syscall.ECONNRESET), EndRST},
		{"broken pipe", wrapped(syscall.EPIPE), EndRST},
		{"closed here", wrapped(net.ErrClosed), EndStopped},
		{"closed pipe", io.ErrClosedPipe, EndStopped},
		{"timeout", wrapped(syscall.ETIMEDOUT), EndUnknown},
		{"none", nil, EndUnknown},
	} {
		if got := ReadEnding(tt.err); got != tt.want {
			t.Errorf("%s: ReadEnding(%v) = %q, want %q", tt.name, tt.err, got, tt.want)
		}
	}
}

// tcpPair returns both ends of a loopback connection.
func tcpPair(t *testing.T) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if a, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if b, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

// above hides a connection as crypto/tls does.
type above struct{ net.Conn }

func (a above) NetConn() net.Conn { return a.Conn }

func TestResetLosesNothing(t *testing.T) {
	sent := bytes.Repeat([]byte("0123456789abcdef"), 4<<20/16)
	for _, hide := range []bool{false, true} {
		a, b := tcpPair(t)
		if hide {
			a = above{a}
		}
		done := make(chan error, 1)
		go func() {
			_, err := a.Write(sent)
			done <- errors.Join(err, Reset(a, 10*time.Second))
		}()
		got, err := io.ReadAll(b)
		if !bytes.Equal(got, sent) || ReadEnding(err) != EndRST {
			t.Errorf("hidden %v: read %d of %d bytes, then %v", hide, len(got), len(sent), err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// A reset leaves SIOCOUTQ as it was: waiting for it to become zero would take the whole time.
func TestDrainEndsWithTheConnection(t *testing.T) {
	a, b := tcpPair(t)
	a.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := a.Write(make([]byte, 64<<20)); err == nil {
		t.Fatal("the kernel took 64 MiB that nobody reads")
	}
	if err := Reset(b, 0); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { Drain(a, time.Hour); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("still draining a connection that was reset")
	}
}

func TestGone(t *testing.T) {
	a, b := tcpPair(t)
	b.(*net.TCPConn).CloseWrite()
	if _, err := a.Read(make([]byte, 1)); err != io.EOF || Gone(a) {
		t.Errorf("behind a FIN: read %v, gone %v, want EOF and not gone", err, Gone(a))
	}
	a, b = tcpPair(t)
	Reset(b, 0)
	if _, err := a.Read(make([]byte, 1)); ReadEnding(err) != EndRST || runtime.GOOS == "linux" && !Gone(a) {
		t.Errorf("behind a reset: read %v, gone %v", err, Gone(a))
	}
}

func TestResetClosesWhatCannotReset(t *testing.T) {
	a, b := net.Pipe()
	if err := Reset(a, time.Hour); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the other end reads %v, want EOF", err)
	}
}
