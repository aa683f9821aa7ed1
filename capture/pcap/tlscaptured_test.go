package pcap

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/capture"
	"github.com/mcptap/mcptap/har"
)

// Sessions of OpenSSL as tcpdump saw them, with the secrets that editcap put into the files (testdata/tls/make.py).
func TestCapturedTLS(t *testing.T) {
	files, err := filepath.Glob("testdata/tls/*.pcapng")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	said := map[string]string{
		"tls12-untrusted": "(mcp.test), TLS 1.2: it holds no data, the client sent an alert unknown_ca, ended by the client's RST (connections: 1; bytes sent: 186 by clients, 1178 by servers)",
		"tls13-no-keys":   "(mcp.test), TLS 1.3: there is no secret for it, ended by the server's FIN (connections: 1; bytes sent: 466 by clients, 1974 by servers)",
	}
	rounds := map[string]int{"tls12-gcm-resumed": 2, "tls13-resumed": 2, "tls13-key-update": 3, "tls12-untrusted": 0, "tls13-no-keys": 0}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".pcapng")
		t.Run(name, func(t *testing.T) {
			xs, m, notices := importedFile(t, file)
			want, ok := rounds[name]
			if !ok {
				want = 1
			}
			if len(xs) != want {
				t.Fatalf("%d exchanges, want %d; %+v", len(xs), want, m.Counters)
			}
			for i, x := range xs {
				ask, answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i+1), fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, i+1)
				if !bytes.HasSuffix(x.Request.Raw, []byte("\r\n\r\n"+ask)) || !bytes.HasSuffix(x.Response.Raw, []byte("\r\n\r\n"+answer)) || len(x.Notes) > 0 || x.View().Complete != har.True {
					t.Errorf("%q\n%q\n%q", x.Request.Raw, x.Response.Raw, x.Notes)
				}
			}
			if all := strings.Join(notices, "\n"); !strings.HasSuffix(all, said[name]) {
				t.Errorf("said %q, want %q", all, said[name])
			}
			if (m.Counters.Unexplained() == 0) != (name != "tls13-no-keys") {
				t.Errorf("counters %+v", m.Counters)
			}
		})
	}
}

// importedFile imports a capture with its own secrets.
func importedFile(t *testing.T, name string) ([]*har.Exchange, *Importer, []string) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return importedFrom(t, r)
}

func importedFrom(t *testing.T, r *Reader) ([]*har.Exchange, *Importer, []string) {
	t.Helper()
	keys := new(KeyLog)
	r.Secrets = func(b []byte) { keys.Add(bytes.NewReader(b)) }
	var cassette bytes.Buffer
	w, err := har.NewWriter(&cassette, har.Header{Tool: "test", KeepSecrets: true}, true)
	if err != nil {
		t.Fatal(err)
	}
	recorder := capture.NewRecorder(w, nil)
	var notices []string
	m := &Importer{Record: recorder.Record, Keys: keys, Notice: func(s string) { notices = append(notices, s) }}
	if err := m.Read(r); err != nil {
		t.Fatal(err)
	}
	m.Close()
	if err := recorder.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := har.Read(&cassette, har.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(c.Exchanges, func(a, b *har.Exchange) int { return a.N - b.N })
	return c.Exchanges, m, notices
}

// Records of AES-CBC that were changed or cut, anywhere, are not opened.
func TestCBCRefuses(t *testing.T) {
	server := serverHelloFacts{version: tls12, suite: 0xC027}
	for _, etm := range []bool{false, true} {
		server.etm = etm
		made, err := cipher12(&server, make([]byte, 48), [32]byte{1}, 0)
		if err != nil {
			t.Fatal(err)
		}
		head := []byte{recordData, 3, 3, 0, 0}
		for n := range 200 {
			if plain, err := made.open(head, make([]byte, n)); err == nil {
				t.Errorf("etm %v: %d zero bytes gave %q", etm, n, plain)
			}
		}
	}
}

func FuzzRecord(f *testing.F) {
	for _, id := range []uint16{0x1301, 0x1303, 0xC02F, 0xCCA8, 0x002F, 0xC028} {
		f.Add(id, uint16(tls12), true, make([]byte, 64))
		f.Add(id, uint16(tls10), false, make([]byte, 21))
	}
	f.Fuzz(func(t *testing.T, id, version uint16, etm bool, body []byte) {
		made, err := cipher12(&serverHelloFacts{version: version, suite: id, etm: etm}, make([]byte, 48), [32]byte{1}, 1)
		if err != nil {
			return
		}
		if len(body) > maxRecord {
			body = body[:maxRecord]
		}
		head := []byte{recordData, byte(version >> 8), byte(version), byte(len(body) >> 8), byte(len(body))}
		for range 2 { // an AEAD's tag and a MAC are not to be guessed
			if plain, err := made.open(head, body); err == nil {
				t.Fatalf("opened as %q", plain)
			}
		}
	})
}
