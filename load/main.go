// Command load puts a built mcptap under load on loopback: many streams at once, with and without TLS, many short connections, a response of 1 GiB, a
// client that hardly reads, a server that never answers, half-open connections, 100,000 requests on one connection. It
// checks that every byte arrived at its client and stands in the cassette, and that the recording ends within 3 s of SIGTERM. Run
// it with `make load`, or `go run ./load N SCENARIO` for one in N of one scenario; it prints figures, and ends with exit code 1 if something is missing.
package main

import (
	"crypto/tls"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

func main() {
	only, scale := "", 1
	if len(os.Args) > 1 {
		scale, _ = strconv.Atoi(os.Args[1])
	}
	if len(os.Args) > 2 {
		only = os.Args[2]
	}
	if err := run(only, max(1, scale)); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(only string, scale int) error {
	dir, err := os.MkdirTemp("", "mcptap-load-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	mcptap := filepath.Join(dir, "mcptap")
	build := exec.Command("go", "build", "-o", mcptap, "./cmd/mcptap")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	failed, ran := 0, 0
	for _, s := range scenarios {
		if only != "" && only != s.name {
			continue
		}
		ran++
		line, err := measure(s, mcptap, dir, scale)
		if err != nil {
			failed++
			line = "FAILED: " + err.Error()
		}
		fmt.Printf("%-15s %s\n", s.name, line)
	}
	switch {
	case ran == 0:
		return fmt.Errorf("there is no scenario %q", only)
	case failed > 0:
		return fmt.Errorf("%d of %d scenarios failed", failed, ran)
	}
	return nil
}

// measure runs one scenario against a recording of its own.
func measure(s scenario, mcptap, dir string, scale int) (string, error) {
	ca := filepath.Join(dir, "origin.pem")
	var cert *tls.Certificate
	if s.legs.server {
		var err error
		if cert, err = makeCertificate(ca); err != nil {
			return "", err
		}
	}
	o, err := newOrigin(cert)
	if err != nil {
		return "", err
	}
	defer o.close()
	r, err := record(mcptap, dir, ca, s, o.url())
	if err != nil {
		return "", err
	}
	l := &load{recording: r, origin: o, legs: s.legs, scale: scale, want: ledger{}}
	figures, err := s.drive(l)
	peak := r.memory("VmHWM")
	took, e := r.stop()
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", figures, err)
	case e != nil:
		return "", e
	}
	exchanges, err := l.want.check(r.file)
	if err != nil {
		return "", err
	}
	size := int64(0)
	if st, err := os.Stat(r.file); err == nil {
		size = st.Size()
	}
	os.Remove(r.file)
	return fmt.Sprintf("%s; at most %d MiB of memory, cassette %d exchanges in %d KiB, ended in %d ms%s", figures, peak>>20, exchanges,
		size>>10, took.Round(time.Millisecond).Milliseconds(), r.slowed()), nil
}
