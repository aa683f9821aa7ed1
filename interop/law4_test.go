package interop_test

import (
	"bufio"
	"cmp"
	"crypto/tls"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
)

// Law 4, live: what tcpdump sees of a recorded run on the server's leg, imported, is the recording but for times and cuts.
// Every scenario is played with TLS on that leg, too: the server writes the key log. It needs tcpdump and the right to use it,
// so `make law4` asks for it by MCPTAP_LAW4.
func TestCaptureOfALiveRun(t *testing.T) {
	if os.Getenv("MCPTAP_LAW4") == "" {
		t.Skip("make law4 runs it, as root and with tcpdump")
	}
	for _, name := range append([]string{goClient}, npmClients...) {
		c := startClient(t, name)
		for _, s := range scenarios {
			if !s.tls {
				t.Run(name+"/"+s.name, func(t *testing.T) { alsoCaptured(t, c, s) })
				s.tls, s.name = true, s.name+"-over-tls"
			}
			t.Run(name+"/"+s.name, func(t *testing.T) { alsoCaptured(t, c, s) })
		}
	}
}

func alsoCaptured(t *testing.T, c *client, s scenario) {
	dir := t.TempDir()
	capture, recorded, imported := filepath.Join(dir, "run.pcap"), filepath.Join(dir, "recorded.mcptap"), filepath.Join(dir, "imported.mcptap")
	recordArgs := []string{"record", "--keep-secrets", "--out", recorded}
	importArgs := []string{"import", capture, "--keep-secrets", "--all-http", "--strict", "--out", imported}
	var conf *tls.Config
	if s.tls {
		pemFile, cert := certificate(t)
		keys, err := os.Create(filepath.Join(dir, "keys.log"))
		if err != nil {
			t.Fatal(err)
		}
		defer keys.Close()
		conf = &tls.Config{Certificates: []tls.Certificate{*cert}, KeyLogWriter: keys}
		recordArgs, importArgs = append(recordArgs, "--ca-file", pemFile), append(importArgs, "--keylog", keys.Name())
	}
	server := startServer(t, s, conf)
	u, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	stop := tcpdump(t, capture, u.Port())
	record := startTap(t, append(recordArgs, "--to", server.URL())...)
	c.visit(t, record.url)
	stop() // before record closes what the client has left open
	if code := record.stop(); code != 0 {
		t.Fatalf("record ended with %d: %s", code, record.stderr)
	}
	if code, _, stderr := run(t, importArgs...); code != 0 {
		t.Fatalf("import ended with %d: %s", code, stderr)
	}
	if d := diff(endings(readCassette(t, imported)), endings(readCassette(t, recorded))); d != "" {
		t.Errorf("the capture gives another recording%s", d)
	}
}

// tcpdump captures what goes over loopback to and from a port, until stop has been called and all of it is written.
func tcpdump(t *testing.T, file, port string) (stop func()) {
	t.Helper()
	cmd := exec.Command("tcpdump", "-i", "lo", "--immediate-mode", "-U", "-B", "65536", "-s", "0", "-w", file, "tcp port "+port)
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("tcpdump: %v", err)
	}
	lines := bufio.NewScanner(said)
	for lines.Scan() && !strings.Contains(lines.Text(), "listening on") {
	}
	go func() {
		for lines.Scan() {
		}
	}()
	return func() {
		quiet(t, file)
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
	}
}

// quiet waits until a file has not grown for a while: tcpdump does not say that it has written all that has passed.
func quiet(t *testing.T, file string) {
	t.Helper()
	size, still := int64(-1), 0
	for range time.Tick(50 * time.Millisecond) {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if still++; info.Size() != size {
			size, still = info.Size(), 0
		}
		if still == 6 {
			return
		}
	}
}

// endings lists what a recording says of the server's leg, and how each exchange ended as packets can show it: silence and
// the end of the recording look alike.
func endings(xs []*har.Exchange) []string {
	wire := onWireUnsorted(xs)
	for i, x := range xs {
		end := x.End
		if end == har.EndHang || end == har.EndUnknown {
			end = har.EndStopped
		}
		wire[i] += fmt.Sprintf(" => %s, %s", end, cmp.Or(strings.Join(x.Notes, ", "), "no notes"))
	}
	slices.Sort(wire)
	return wire
}
