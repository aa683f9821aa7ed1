package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// However long a capture is, import takes less than 100 MiB and counts all of it. `make long` asks by MCPTAP_LONG, in MiB, for
// one of more than 4 GiB, whose sequence numbers wrap.
func TestImportOfALongCapture(t *testing.T) {
	const most = 100 << 10 // KiB
	size := int64(48 << 20)
	if s := os.Getenv("MCPTAP_LONG"); s != "" {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		size = n << 20
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, arg := range map[string]string{"counted": "--dry-run", "written": "--out=" + filepath.Join(t.TempDir(), "long.mcptap")} {
		t.Run(name, func(t *testing.T) {
			var said bytes.Buffer
			cmd := exec.Cmd{Path: self, Args: []string{"mcptap", "import", "-", "--strict", arg}, Stderr: &said}
			in, err := cmd.StdinPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			calls, err := writeLongCapture(in, size)
			used := peakMemory(t, cmd.Process.Pid)
			in.Close()
			if e := cmd.Wait(); err != nil || e != nil {
				t.Fatalf("%v, %v: %s", err, e, &said)
			}
			for _, want := range []string{fmt.Sprintf("%d exchanges, %d whole, on 1 connection\n", calls, calls), " 0 bytes or packets unexplained\n"} {
				if !strings.Contains(said.String(), want) {
					t.Errorf("want %q in\n%s", want, &said)
				}
			}
			if used == 0 || used > most {
				t.Errorf("%d KiB were used, want at most %d", used, most)
			}
			t.Logf("%d bytes, %d calls: %d KiB", size, calls, used)
		})
	}
}

// peakMemory is the most that a process has had in memory, in KiB. It is asked while the process waits for input: what wait4
// tells of a child begins with what its parent had.
func peakMemory(t *testing.T, pid int) (kib int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	fmt.Sscan(rest, &kib)
	return kib
}

// writeLongCapture writes a pcap file of raw IP of at least that size: one connection, with a call every millisecond that is answered
// in one large segment.
func writeLongCapture(to io.Writer, size int64) (calls int, err error) {
	w := bufio.NewWriterSize(to, 1<<20)
	binary.Write(w, binary.BigEndian, []uint32{0xA1B2C3D4, 0x00020004, 0, 0, 262144, 101})
	const request = "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 40\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
	body := `{"jsonrpc":"2.0","id":1,"result":{"text":"` + strings.Repeat("some words of an answer, ", 2500) + `"}}`
	response := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	up := longPacket([]byte{10, 0, 0, 1, 10, 0, 0, 2}, []byte{0x9C, 0x41, 0x0B, 0xB8}, request)
	down := longPacket([]byte{10, 0, 0, 2, 10, 0, 0, 1}, []byte{0x0B, 0xB8, 0x9C, 0x41}, response)
	synUp, synDown := longPacket(up[12:20], up[20:24], ""), longPacket(down[12:20], down[20:24], "")
	var written int64
	put := func(p []byte, seq, ack uint32, flags byte) {
		binary.BigEndian.PutUint32(p[24:], seq)
		binary.BigEndian.PutUint32(p[28:], ack)
		p[33] = flags
		var head [16]byte
		binary.BigEndian.PutUint32(head[:], 1785240000+uint32(calls/1000))
		binary.BigEndian.PutUint32(head[4:], uint32(calls%1000*1000))
		binary.BigEndian.PutUint32(head[8:], uint32(len(p)))
		binary.BigEndian.PutUint32(head[12:], uint32(len(p)))
		w.Write(head[:])
		_, err = w.Write(p)
		written += int64(len(head) + len(p))
	}
	seq, ack := uint32(0), uint32(0)
	put(synUp, seq, 0, 2)
	put(synDown, ack, 1, 0x12)
	for seq, ack = 1, 1; written < size && err == nil; calls++ {
		put(up, seq, ack, 0x10)
		seq += uint32(len(request))
		put(down, ack, seq, 0x10)
		ack += uint32(len(response))
	}
	put(synUp, seq, ack, 0x11)
	put(synDown, ack, seq+1, 0x11)
	if err == nil {
		err = w.Flush()
	}
	return calls, err
}

// longPacket is an IPv4 packet with a TCP segment, but for what changes from one to the next.
func longPacket(ends, ports []byte, data string) []byte {
	size := 40 + len(data)
	p := append([]byte{0x45, 0, byte(size >> 8), byte(size), 0, 0, 0, 0, 64, 6, 0, 0}, ends...)
	p = append(append(p, ports...), make([]byte, 8)...)
	return append(append(p, 0x50, 0, 1, 0, 0, 0, 0, 0), data...)
}
