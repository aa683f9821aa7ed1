package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
)

// A member of a zip file, and what its header says wrongly.
type member struct {
	name, text string
	alter      func(*zip.FileHeader)
}

// zipMembers makes a zip file whose headers may lie.
func zipMembers(t *testing.T, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, m := range members {
		var packed bytes.Buffer
		f, err := flate.NewWriter(&packed, flate.BestSpeed)
		if err == nil {
			_, err = io.WriteString(f, m.text)
		}
		if err == nil {
			err = f.Close()
		}
		h := &zip.FileHeader{Name: m.name, Method: zip.Deflate, CRC32: crc32.ChecksumIEEE([]byte(m.text)),
			CompressedSize64: uint64(packed.Len()), UncompressedSize64: uint64(len(m.text))}
		if strings.HasSuffix(m.name, "/") {
			h = &zip.FileHeader{Name: m.name}
		}
		if m.alter != nil {
			m.alter(h)
		}
		if err == nil {
			var w io.Writer
			if w, err = z.CreateRaw(h); err == nil && !strings.HasSuffix(m.name, "/") {
				_, err = w.Write(packed.Bytes())
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Whatever is wrong with a zip file or a member of it is said in words; names of members lead nowhere.
func TestZippedMembers(t *testing.T) {
	k := &har.Cassette{Header: har.Header{Tool: "a tool", Started: time.Unix(1e9, 0).UTC()}, End: &har.End{At: time.Unix(1e9, 0).UTC()}}
	lines := string(cassetteBytes(t, k, true))
	header := lines[:strings.IndexByte(lines, '\n')+1]
	whole := zipMembers(t, member{name: "a.mcptap", text: lines})
	for _, tt := range []struct {
		name string
		file []byte
		want string // in what is said; "": it opens
	}{
		{"one", whole, ""},
		{"beside other files", zipMembers(t, member{name: "report.html", text: "x"}, member{name: "in/a.mcptap", text: lines}, member{name: "summary.md", text: "y"}), ""},
		{"climbing", zipMembers(t, member{name: "../../../tmp/a.mcptap", text: lines}), ""},
		{"absolute", zipMembers(t, member{name: "/etc/a.mcptap", text: lines}), ""},
		{"backslashes", zipMembers(t, member{name: `..\..\C:\a.mcptap`, text: lines}), ""},
		{"what macOS adds", zipMembers(t, member{name: "a.mcptap", text: lines}, member{name: "__MACOSX/._a.mcptap", text: "\x00\x05\x16\x07"}), ""},
		{"a folder by that name", zipMembers(t, member{name: "b.mcptap/"}, member{name: "b.mcptap/a.mcptap", text: lines}), ""},
		{"a symbolic link", zipMembers(t, member{"a.mcptap", "/etc/passwd", func(h *zip.FileHeader) { h.SetMode(fs.ModeSymlink | 0o777) }}), `"a.mcptap" in the zip file is a symbolic link, not a recording`},
		{"a device", zipMembers(t, member{"a.mcptap", "", func(h *zip.FileHeader) { h.SetMode(fs.ModeDevice | 0o666) }}), `"a.mcptap" in the zip file is no file`},
		{"two", zipMembers(t, member{name: "a.mcptap", text: lines}, member{name: "b.mcptap", text: lines}), `want one recording in the zip file, got several, "a.mcptap" and "b.mcptap": unpack it first`},
		{"one name twice", zipMembers(t, member{name: "a.mcptap", text: lines}, member{name: "a.mcptap", text: lines}), `want one recording in the zip file, got "a.mcptap" twice`},
		{"none", zipMembers(t, member{name: "a.har", text: "{}"}), "want a recording (.mcptap or .mcptap.gz) in the zip file, got none"},
		{"empty", zipMembers(t), "want a recording (.mcptap or .mcptap.gz) in the zip file, got none"},
		{"encrypted", zipMembers(t, member{"a.mcptap", lines, func(h *zip.FileHeader) { h.Flags |= 1 }}), `"a.mcptap" in the zip file is encrypted: unpack it first`},
		{"packed in another way", zipMembers(t, member{"a.mcptap", lines, func(h *zip.FileHeader) { h.Method = 14 }}), `"a.mcptap" in the zip file is compressed in a way that is not known (14): unpack it first`},
		{"a wrong checksum", zipMembers(t, member{"a.mcptap", lines, func(h *zip.FileHeader) { h.CRC32++ }}), `"a.mcptap" in the zip file: zip: checksum error`},
		{"a wrong size", zipMembers(t, member{"a.mcptap", lines, func(h *zip.FileHeader) { h.UncompressedSize64 -= 9 }}), `"a.mcptap" in the zip file: `},
		{"cut in its directory", whole[:len(whole)-30], "want a zip file with a recording: zip: not a valid zip file"},
		{"zeros without end", zipMembers(t, member{name: "a.mcptap", text: strings.Repeat("\x00", 64<<20)}), "want a line of at most 1048576 bytes"},
		{"blanks without end", zipMembers(t, member{name: "a.mcptap", text: header + strings.Repeat(" ", 65<<20)}), "want a line of at most 67108864 bytes"},
		{"a zip file in it", zipMembers(t, member{name: "a.mcptap", text: string(whole)}), "want a cassette: it is a zip file: unpack it first"},
		{"a name that steers", zipMembers(t, member{"\x1b[2J.mcptap", lines, func(h *zip.FileHeader) { h.Flags |= 1 }}), `"\x1b[2J.mcptap" in the zip file is encrypted`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			if err := os.WriteFile("in.zip", tt.file, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, from := range []string{"in.zip", stdio} {
				code, stdout, stderr := mcptap(t, tt.file, "show", from, "--json")
				switch {
				case tt.want == "" && (code != 0 || stdout != ""):
					t.Errorf("%s: exit code %d\n%s%s", from, code, stdout, stderr)
				case tt.want != "" && (code != 2 || !strings.Contains(stderr, tt.want)):
					t.Errorf("%s: exit code %d, want %q in\n%s", from, code, tt.want, stderr)
				}
			}
			if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) != 1 {
				t.Errorf("files: %v", names)
			}
		})
	}
}
