package main

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// capturedBytes is a capture of one MCP exchange on raw IP; without is left out of it.
func capturedBytes(without string) []byte {
	const (
		request  = "POST /mcp HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer 0123456789abcdef\r\nContent-Length: 40\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
		response = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 36\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"
	)
	var file bytes.Buffer
	for _, v := range []uint32{0xA1B2C3D4, 0x00020004, 0, 0, 0, 101} {
		binary.Write(&file, binary.BigEndian, v)
	}
	n := uint32(0)
	add := func(fromClient bool, seq, ack uint32, flags byte, data string) {
		n++
		if data != "" && data == without {
			return
		}
		ports, ends := []byte{0x9C, 0x41, 0x0B, 0xB8}, []byte{10, 0, 0, 1, 10, 0, 0, 2}
		if !fromClient {
			ports, ends = []byte{0x0B, 0xB8, 0x9C, 0x41}, []byte{10, 0, 0, 2, 10, 0, 0, 1}
		}
		size := 40 + len(data)
		p := append([]byte{0x45, 0, byte(size >> 8), byte(size), 0, 0, 0, 0, 64, 6, 0, 0}, ends...)
		p = append(p, ports...)
		p = binary.BigEndian.AppendUint32(p, seq)
		p = binary.BigEndian.AppendUint32(p, ack)
		p = append(append(p, 0x50, flags, 1, 0, 0, 0, 0, 0), data...)
		for _, v := range []uint32{1785240000, n * 1000, uint32(len(p)), uint32(len(p))} {
			binary.Write(&file, binary.BigEndian, v)
		}
		file.Write(p)
	}
	add(true, 0, 0, 2, "")
	add(false, 0, 1, 0x12, "")
	add(true, 1, 1, 0x10, request)
	add(false, 1, 1+uint32(len(request)), 0x10, response[:60])
	add(false, 61, 1+uint32(len(request)), 0x11, response[60:])
	add(true, 1+uint32(len(request)), 2+uint32(len(response)), 0x11, "")
	return file.Bytes()
}

// mcptap runs one command line and gives what it wrote.
func mcptap(t *testing.T, stdin []byte, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(args, bytes.NewReader(stdin), &out, &errs, nil)
	return code, out.String(), errs.String()
}

func TestImport(t *testing.T) {
	t.Chdir(t.TempDir())
	whole := capturedBytes("")
	if err := os.WriteFile("a.pcap", whole, 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := mcptap(t, nil, "import", "a.pcap", "--out", "a.mcptap", "--strict")
	if code != 0 || stdout != "" || !strings.Contains(stderr, "1 exchange, 1 whole") || !strings.Contains(stderr, "a.pcap: credentials are replaced, 1 range (--keep-secrets keeps them)") {
		t.Fatalf("exit %d\n%s%s", code, stdout, stderr)
	}
	code, stdout, _ = mcptap(t, nil, "show", "a.mcptap", "--json")
	for _, want := range []string{`"rpc_method":"ping"`, `"end":"fin"`, `"complete":true`, `"url":"http://10.0.0.2:3000/mcp"`, `"notes":[]`} {
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("show: want %s in %s", want, stdout)
		}
	}
	if _, stdout, _ := mcptap(t, nil, "show", "a.mcptap", "1", "--raw", "request"); strings.Contains(stdout, "0123456789abcdef") || !strings.Contains(stdout, "Authorization: Bearer ") {
		t.Errorf("the credentials were not replaced: %s", stdout)
	}
	if _, direct, _ := mcptap(t, nil, "show", "a.pcap", "--json"); direct != stdout {
		t.Errorf("show of the capture itself: %s", direct)
	}
	if _, direct, _ := mcptap(t, whole, "show", "-", "--json"); direct != stdout {
		t.Errorf("show of the capture on stdin: %s", direct)
	}
	if code, stdout, stderr := mcptap(t, nil, "analyze", "a.pcap"); code != 0 || !strings.Contains(stdout, "ping") {
		t.Errorf("analyze: exit %d\n%s%s", code, stdout, stderr)
	}
	if code, _, stderr := mcptap(t, nil, "import", "a.pcap", "--out", "a.mcptap"); code != 2 || !strings.Contains(stderr, "already exists") {
		t.Errorf("an existing file: exit %d, %s", code, stderr)
	}
}

func TestImportKeepsSecrets(t *testing.T) {
	t.Chdir(t.TempDir())
	if code, _, stderr := mcptap(t, capturedBytes(""), "import", "-", "--out", "a.mcptap", "--keep-secrets", "-q"); code != 0 || stderr != "" {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	if _, stdout, _ := mcptap(t, nil, "show", "a.mcptap", "1", "--raw", "request"); !strings.Contains(stdout, "0123456789abcdef") {
		t.Errorf("got %s", stdout)
	}
}

func TestImportSaysWhatIsMissing(t *testing.T) {
	t.Chdir(t.TempDir())
	whole := capturedBytes("")
	request := string(whole[bytes.Index(whole, []byte("POST")):])
	request = request[:strings.Index(request, "\"ping\"}")+7]
	tests := []struct {
		name string
		file []byte
		code int
		want []string
	}{
		{"cut", whole[:len(whole)-50], 1, []string{"the capture was cut at offset", "1 exchange, 1 whole"}},
		{"lost", capturedBytes(request), 1, []string{"bytes are missing from the capture", "1 exchange, 0 whole"}},
		{"not MCP", bytes.ReplaceAll(whole, []byte("jsonrpc"), []byte("JSONRPC")), 0, []string{"no MCP was found", "1 HTTP connections without MCP were left out"}},
		{"empty", whole[:24], 0, []string{"0 packets", "no MCP was found"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, _, stderr := mcptap(t, tt.file, "import", "-", "--strict", "--out", strings.ReplaceAll(tt.name, " ", "-")+".mcptap")
			if code != tt.code {
				t.Errorf("exit %d, want %d", code, tt.code)
			}
			for _, want := range tt.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("want %q in\n%s", want, stderr)
				}
			}
			if code, _, _ := mcptap(t, nil, "show", strings.ReplaceAll(tt.name, " ", "-")+".mcptap"); code != 0 {
				t.Errorf("show: exit %d", code)
			}
		})
	}
}

// --strict of a HAR file: something is there, and nothing of it is missing.
func TestImportHARStrict(t *testing.T) {
	t.Chdir(t.TempDir())
	const head, tail = `{"log":{"version":"1.2","entries":[`, `]}}`
	entry := func(response string) string {
		return `{"startedDateTime":"2026-07-28T12:00:00Z","request":{"method":"GET","url":"http://a.example/mcp"}` + response + `}`
	}
	for _, tt := range []struct {
		name, file string
		code       int
		want       string
	}{
		{"whole", head + entry(`,"response":{"status":200,"content":{"text":"{}"}}`) + tail, 0, "1 exchange from a HAR file"},
		{"empty", head + tail, 1, "it has no entries"},
		{"no response", head + entry("") + tail, 1, "1 exchange without a response, without all of a body"},
		{"response that never came", head + entry(`,"response":{"status":0,"_error":"net::ERR_ABORTED"}`) + tail, 1, "1 exchange without a response"},
		{"body that was left out", head + entry(`,"response":{"status":200,"content":{"size":5}}`) + tail, 1, "1 exchange without a response"},
		{"cut", head + entry(""), 1, "the HAR file was cut at offset"},
	} {
		for _, strict := range []bool{true, false} {
			args := []string{"import", "-", "--dry-run", "--strict"}
			code := tt.code
			if !strict {
				args, code = args[:3], 0
			}
			if got, _, stderr := mcptap(t, []byte(tt.file), args...); got != code || !strings.Contains(stderr, tt.want) {
				t.Errorf("%s, strict %t: exit %d, want %d and %q in\n%s", tt.name, strict, got, code, tt.want, stderr)
			}
		}
	}
}

// What is read without import says the same, once.
func TestReadersSayWhatIsMissing(t *testing.T) {
	t.Chdir(t.TempDir())
	whole := capturedBytes("")
	if err := os.WriteFile("cut.pcap", whole[:len(whole)-50], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"show", "cut.pcap"}, {"show", "cut.pcap", "1"}, {"analyze", "cut.pcap", "--fail-on", "never"}, {"har", "cut.pcap"}} {
		t.Run(args[0], func(t *testing.T) {
			code, _, stderr := mcptap(t, nil, args...)
			if code != 0 || strings.Count(stderr, "cut.pcap: the capture was cut at offset") != 1 || strings.Contains(stderr, "written to") {
				t.Errorf("exit %d, %s", code, stderr)
			}
		})
	}
}

func TestImportDryRun(t *testing.T) {
	t.Chdir(t.TempDir())
	code, _, stderr := mcptap(t, capturedBytes(""), "import", "-", "--dry-run")
	if left, _ := filepath.Glob("*"); code != 0 || left != nil || !strings.Contains(stderr, "1 exchange, 1 whole") {
		t.Errorf("exit %d, files %q, %s", code, left, stderr)
	}
}

func TestImportHAR(t *testing.T) {
	t.Chdir(t.TempDir())
	const har = `{"log":{"version":"1.2","entries":[{"startedDateTime":"2026-07-28T12:00:00Z","request":{"method":"POST","url":"http://a.example/mcp","headers":[{"name":"Authorization","value":"Bearer 0123456789abcdef"}],"postData":{"text":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"}},"response":{"status":200,"headers":[],"content":{"text":"{}"}}}]}}`
	if code, _, stderr := mcptap(t, []byte(har), "import", "-", "--out", "a.mcptap"); code != 0 || !strings.Contains(stderr, "1 exchange from a HAR file") || !strings.Contains(stderr, "credentials are replaced, 1 range") {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	code, stdout, _ := mcptap(t, nil, "show", "a.mcptap", "--json")
	for _, want := range []string{`"rpc_method":"ping"`, `"end":"unknown"`, `"complete":null`, `"url":"http://a.example/mcp"`, `"har: `} {
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("want %s in %s", want, stdout)
		}
	}
	if _, stdout, _ := mcptap(t, nil, "show", "a.mcptap", "1", "--raw", "request"); strings.Contains(stdout, "0123456789abcdef") {
		t.Errorf("the credentials were not replaced: %s", stdout)
	}
	if code, _, stderr := mcptap(t, []byte(har[:len(har)-3]), "import", "-", "--strict", "--dry-run"); code != 1 || !strings.Contains(stderr, "was cut at offset") {
		t.Errorf("a cut file: exit %d, %s", code, stderr)
	}
	if code, _, _ := mcptap(t, []byte(`{"log":{}}`), "import", "-", "--dry-run"); code != 2 {
		t.Errorf("not HAR: exit %d", code)
	}
}

// A recording that went through HAR is the recording; a member of ours that cannot be right is said and not used.
func TestImportHAROfOurs(t *testing.T) {
	t.Chdir(t.TempDir())
	mcptap(t, capturedBytes(""), "import", "-", "--out", "a.mcptap")
	if code, _, stderr := mcptap(t, nil, "har", "a.mcptap", "--out", "a.har"); code != 0 {
		t.Fatal(stderr)
	}
	if code, _, stderr := mcptap(t, nil, "import", "a.har", "--out", "b.mcptap"); code != 0 || !strings.Contains(stderr, "1 exchange from a HAR file: bytes, cuts and endings are those in _mcptap") {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	_, before, _ := mcptap(t, nil, "show", "a.mcptap", "--json")
	_, after, _ := mcptap(t, nil, "show", "b.mcptap", "--json")
	if before = strings.ReplaceAll(before, "a.mcptap", "b.mcptap"); before != after {
		t.Errorf("got %s\nwant %s", after, before)
	}
	text, err := os.ReadFile("a.har")
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("cassette/1"), []byte("cassette/9"), 1)
	if code, _, stderr := mcptap(t, text, "import", "-", "--dry-run"); code != 0 || !strings.Contains(stderr, "_mcptap is not used: header: want") || !strings.Contains(stderr, "are not known") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

// How far the reading is stands on a terminal, and nowhere else.
func TestProgress(t *testing.T) {
	for _, tt := range []struct {
		at, size int64
		took     time.Duration
		want     string
	}{
		{50e6, 200e6, time.Second, "a.pcap: 25%, 50 MB/s, 3s left"},
		{200e6, 200e6, 4 * time.Second, "a.pcap: 100%, 50 MB/s, 0s left"},
		{300e6, 200e6, time.Second, "a.pcap: 100%, 300 MB/s, 0s left"}, // it grew
		{0, 0, 0, "a.pcap: 0%, 0 MB/s, 0s left"},
	} {
		if got := progressText("a.pcap", tt.at, tt.size, tt.took); got != tt.want {
			t.Errorf("%d of %d in %s: %q, want %q", tt.at, tt.size, tt.took, got, tt.want)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/a.pcap", capturedBytes(""), 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := os.Create(dir + "/stderr")
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	if code := run([]string{"import", dir + "/a.pcap", "--dry-run"}, nil, said, said, nil); code != 0 {
		t.Fatalf("exit %d", code)
	}
	if text, _ := os.ReadFile(dir + "/stderr"); len(text) == 0 || bytes.ContainsAny(text, "\r\x1b") {
		t.Errorf("a file got %q", text)
	}
}

func TestImportKeylog(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("keys", []byte("# none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		env  string
		args []string
		code int
	}{
		{"there", "", []string{"--keylog", "keys"}, 0},
		{"not there", "", []string{"--keylog", "nothing"}, 2},
		{"from the environment", "SSLKEYLOGFILE=keys", nil, 0},
		{"from the environment, not there", "SSLKEYLOGFILE=nothing", nil, 0},
	} {
		var stderr bytes.Buffer
		args := append([]string{"import", "-", "--dry-run"}, tt.args...)
		if code := run(args, bytes.NewReader(capturedBytes("")), &stderr, &stderr, []string{tt.env}); code != tt.code {
			t.Errorf("%s: exit %d, want %d: %s", tt.name, code, tt.code, &stderr)
		}
		if said := strings.Contains(stderr.String(), "keys: no TLS secrets are in it"); said != (tt.name == "there") {
			t.Errorf("%s: %s", tt.name, &stderr)
		}
	}
}

func TestImportFilters(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--port", "3000"}, 0, "1 exchange, 1 whole"},
		{[]string{"--port", "80,3000", "--host", "10.0.0.0/8"}, 0, "1 exchange, 1 whole"},
		{[]string{"--port", "80"}, 0, "6 packets were left out by --port or --host"},
		{[]string{"--host", "10.0.0.3"}, 0, "6 packets were left out by --port or --host"},
		{[]string{"--port", "http"}, 2, "--port http: want a number from 1 to 65535"},
		{[]string{"--host", "localhost"}, 2, "--host localhost: want an IP address"},
	} {
		code, _, stderr := mcptap(t, capturedBytes(""), append([]string{"import", "-", "--dry-run"}, tt.args...)...)
		if code != tt.code || !strings.Contains(stderr, tt.want) {
			t.Errorf("%q: exit %d, want %d and %q in\n%s", tt.args, code, tt.code, tt.want, stderr)
		}
	}
}

// What a capture that goes on has shown is in the cassette before it ends.
func TestImportLive(t *testing.T) {
	t.Chdir(t.TempDir())
	stdin, capture := io.Pipe()
	done := make(chan int)
	go func() {
		var out, errs bytes.Buffer
		done <- run([]string{"import", "-", "--out", "live.mcptap"}, stdin, &out, &errs, nil)
	}()
	if _, err := capture.Write(capturedBytes("")); err != nil {
		t.Fatal(err)
	}
	shown := ""
	for tries := time.Tick(20 * time.Millisecond); !strings.Contains(shown, `"rpc_method":"ping"`); <-tries {
		select {
		case code := <-done:
			t.Fatalf("import ended with %d", code)
		default:
			_, shown, _ = mcptap(t, nil, "show", "live.mcptap", "--json")
		}
	}
	capture.Close()
	if code := <-done; code != 0 {
		t.Errorf("exit %d", code)
	}
}
