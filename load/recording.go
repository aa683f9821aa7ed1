package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mcptap/mcptap/har"
)

// stopWithin is how long a recording may take to end behind SIGTERM.
const stopWithin = 3 * time.Second

// A recording is one run of mcptap record.
type recording struct {
	cmd    *exec.Cmd
	addr   string // host:port for clients
	file   string
	stderr bytes.Buffer
}

// record begins one before the server, whose certificate is in the file ca.
func record(mcptap, dir, ca string, s scenario, to string) (*recording, error) {
	r := &recording{file: filepath.Join(dir, s.name+".mcptap")}
	args := []string{"record", "--out", r.file}
	if s.legs.client {
		args = append(args, "--forward")
	} else {
		args = append(args, "--to", to)
	}
	if s.legs.server {
		args = append(args, "--ca-file", ca)
	}
	r.cmd = exec.Command(mcptap, args...)
	r.cmd.Env = append(os.Environ(), "MCPTAP_HOME="+filepath.Join(dir, "home"))
	r.cmd.Stderr = &r.stderr
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		r.cmd.Process.Kill()
		return nil, fmt.Errorf("mcptap record: %w: %s", err, &r.stderr)
	}
	r.addr = strings.TrimPrefix(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(url), "/")), "http://")
	r.addr, _, _ = strings.Cut(r.addr, "/")
	return r, nil
}

// stop sends SIGTERM and waits for a clean end.
func (r *recording) stop() (took time.Duration, err error) {
	began := time.Now()
	r.cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(5*stopWithin, func() { r.cmd.Process.Kill() })
	defer late.Stop()
	err = r.cmd.Wait()
	took = time.Since(began)
	switch {
	case err != nil:
		return took, fmt.Errorf("mcptap record: %w: %s", err, tail(r.stderr.String()))
	case took > stopWithin:
		return took, fmt.Errorf("it took %v to end, more than %v", took, stopWithin)
	case strings.Contains(r.stderr.String(), "recording failed"):
		return took, errors.New(tail(r.stderr.String()))
	}
	return took, nil
}

func tail(s string) string { return s[max(0, len(s)-500):] }

// notices are what mcptap said but for the lines of exchanges.
func (r *recording) slowed() string {
	for line := range strings.SplitSeq(r.stderr.String(), "\n") {
		if _, words, ok := strings.Cut(line, "recording slowed the traffic "); ok {
			return ", slowed " + words
		}
	}
	return ""
}

// memory is what the process holds, now or at its peak (VmRSS, VmHWM), in bytes; 0 where that cannot be told.
func (r *recording) memory(what string) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.SplitSeq(string(b), "\n") {
		if rest, ok := strings.CutPrefix(line, what+":"); ok {
			n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n << 10
		}
	}
	return 0
}

// A ledger knows what each connection sent and got.
type ledger map[string]*traffic

type traffic struct {
	sent, got hash.Hash
	bytes     [2]int64
}

func newTraffic() *traffic { return &traffic{sent: sha256.New(), got: sha256.New()} }

func (t *traffic) send(p []byte) {
	t.sent.Write(p)
	t.bytes[0] += int64(len(p))
}

func (t *traffic) get(p []byte) {
	t.got.Write(p)
	t.bytes[1] += int64(len(p))
}

// check reads the cassette and compares each connection's bytes with those of its client.
func (want ledger) check(file string) (exchanges int, err error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	r, err := har.NewFollower(f, har.Limits{Total: 1 << 40})
	if err != nil {
		return 0, err
	}
	client, have := map[uint64]string{}, ledger{}
	err = r.Lines(func(x *har.Exchange, more bool) {
		if !more {
			exchanges++
			client[x.Conn] = x.Client
		}
		t := have[client[x.Conn]]
		if t == nil {
			t = newTraffic()
			have[client[x.Conn]] = t
		}
		t.send(x.Request.Raw)
		t.get(x.Response.Raw)
	})
	switch {
	case err != nil:
		return exchanges, err
	case r.End() == nil:
		return exchanges, fmt.Errorf("%s has no end line: %s", file, r.Cut())
	}
	for addr, w := range want {
		h := have[addr]
		if h == nil && w.bytes[0] == 0 {
			continue
		}
		if h == nil {
			return exchanges, fmt.Errorf("the connection of %s is not in the cassette", addr)
		}
		if h.bytes != w.bytes || !bytes.Equal(h.sent.Sum(nil), w.sent.Sum(nil)) || !bytes.Equal(h.got.Sum(nil), w.got.Sum(nil)) {
			return exchanges, fmt.Errorf("the cassette has %d and %d bytes of the connection of %s, or others than its %d and %d", h.bytes[0], h.bytes[1], addr, w.bytes[0], w.bytes[1])
		}
	}
	return exchanges, nil
}

// dial connects to the recording.
func (r *recording) dial() (net.Conn, error) { return net.Dial("tcp", r.addr) }
