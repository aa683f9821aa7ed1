package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is no capture is named for what it is, with what to do instead, and leaves no file.
func TestImportOfOtherFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("folder", 0o700); err != nil {
		t.Fatal(err)
	}
	whole := capturedBytes("")
	write := func(name string, data []byte) {
		t.Helper()
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(whole)
	z.Close()
	write("a.pcap", whole)
	mcptap(t, nil, "import", "a.pcap", "--out", "recording", "-q")
	mcptap(t, nil, "share", "recording", "--out", "shared.zip")
	for name, data := range map[string]string{
		"empty": "", "json": `{"a":1}`, "list": " [1,2]", "text": "hello, caf\u00e9\n", "binary": "\x01\x02\x03\x04\x05",
		"har": `{"log":{"creator":{}`, "changed": changed(packed.Bytes(), packed.Len()-5), "garbled": changed(packed.Bytes(), 10), "start": packed.String()[:14],
		"short": string(whole[:10]), "cut": packed.String()[:packed.Len()/2], "stub": packed.String()[:5],
	} {
		write(name, []byte(data))
	}
	for _, tt := range []struct {
		name string
		code int
		want []string
	}{
		{"empty", 2, []string{"empty: the file is empty", "want pcap, pcapng or HAR 1.2"}},
		{"json", 2, []string{"json: JSON, but no HAR log", "show, analyze and replay"}},
		{"list", 2, []string{"list: JSON, but no HAR log"}},
		{"text", 2, []string{"text: a text without a recording in it", "mcptap share --text"}},
		{"binary", 2, []string{"binary: no capture: it begins with 01 02 03 04", "want pcap, pcapng or HAR 1.2"}},
		{"short", 2, []string{"short: the capture was cut at offset 0, inside the file header"}},
		{"stub", 2, []string{"stub: the capture was cut at offset 0, inside the header of gzip"}},
		{"cut", 1, []string{"cut: the capture was cut at offset "}},
		{"har", 2, []string{"har: the HAR file was cut at offset 20"}},
		{"changed", 1, []string{"changed: offset 598: want intact gzip, gzip: invalid checksum; what stands before it was used", "1 exchange, 1 whole"}},
		{"garbled", 2, []string{"garbled: offset 0: want intact gzip, flate: corrupt input"}},
		{"start", 2, []string{"start: the capture was cut at offset 0, inside what is compressed"}},
		{"folder", 2, []string{"folder: it is a folder", "name a file in it"}},
		{"recording", 0, []string{"recording: a recording with 1 exchange, which show, analyze and replay read as it is"}},
		{"shared.zip", 0, []string{"shared.zip: a recording with 1 exchange, which show, analyze and replay read as it is"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := mcptap(t, nil, "import", tt.name, "--strict", "--out", tt.name+".out")
			if code != tt.code || stdout != "" {
				t.Errorf("exit %d, want %d; stdout %q", code, tt.code, stdout)
			}
			for _, want := range tt.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("want %q in %s", want, stderr)
				}
			}
			if left, _ := filepath.Glob(tt.name + ".out"); (left != nil) != (code != 2) {
				t.Errorf("files left: %q", left)
			}
		})
	}
}

// changed inverts a byte.
func changed(b []byte, at int) string {
	b = bytes.Clone(b)
	b[at] ^= 0xFF
	return string(b)
}
