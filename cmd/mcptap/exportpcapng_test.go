package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/capture"
	"github.com/mcptap/mcptap/capture/pcap"
	"github.com/mcptap/mcptap/corpus"
	"github.com/mcptap/mcptap/har"
)

// readBack imports a capture and returns its exchanges.
func readBack(t *testing.T, file []byte) []*har.Exchange {
	t.Helper()
	r, err := pcap.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var lines bytes.Buffer
	w, err := har.NewWriter(&lines, har.Header{Tool: "mcptap", Started: time.Unix(0, 0), KeepSecrets: true}, true)
	if err != nil {
		t.Fatal(err)
	}
	rec := capture.NewRecorder(w, nil)
	m := &pcap.Importer{AllHTTP: true, Record: rec.Record}
	if err := m.Read(r); err != nil {
		t.Fatal(err)
	}
	m.Close()
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	if n := m.Counters; n.Lost+n.Undecoded+n.TLSData+int64(n.Conflicts)+int64(n.Stale) != 0 {
		t.Errorf("counters %+v", n)
	}
	in, err := har.NewReader(&lines, har.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var xs []*har.Exchange
	for x, err := range in.All() {
		if err != nil {
			t.Fatal(err)
		}
		copied := *x
		xs = append(xs, &copied)
	}
	slices.SortFunc(xs, func(x, y *har.Exchange) int { return x.N - y.N })
	return xs
}

// Every case over HTTP comes back from packets: the same exchanges, bytes, cuts and endings.
func TestPcapngRoundTrip(t *testing.T) {
	cases, err := corpus.List()
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, k := range cases {
		t.Run(k.Name, func(t *testing.T) {
			c, err := corpus.Open(k.Name)
			if err != nil {
				t.Fatal(err)
			}
			if c.Exchanges[0].Stdio() {
				code, _, stderr := mcptap(t, nil, "export", corpusName+k.Name, "--format", "pcapng")
				if code != 2 || !strings.Contains(stderr, "no packets") {
					t.Errorf("exit code %d: %s", code, stderr)
				}
				return
			}
			want := slices.Clone(c.Exchanges)
			got := readBack(t, exported(t, "pcapng", corpusName+k.Name))
			if len(got) != len(want) {
				t.Fatalf("%d exchanges, want %d", len(got), len(want))
			}
			for i, x := range want {
				sameAsPackets(t, got[i], x)
			}
			compared++
		})
	}
	if compared < 100 {
		t.Errorf("only %d cases were compared", compared)
	}
}

// inPackets is what an ending becomes that TCP does not show.
var inPackets = map[har.Ending]har.Ending{har.EndHang: har.EndStopped, har.EndUnknown: har.EndStopped, har.EndNoCloseNotify: har.EndFIN}

func sameAsPackets(t *testing.T, got, want *har.Exchange) {
	t.Helper()
	if !bytes.Equal(got.Request.Raw, want.ServerLeg()) || !bytes.Equal(got.Response.Raw, want.Response.Raw) {
		t.Errorf("exchange %d: request %q\nand response %q\nwant %q\nand %q", want.N, got.Request.Raw, got.Response.Raw, want.ServerLeg(), want.Response.Raw)
	}
	end := want.End
	if other, ok := inPackets[end]; ok {
		end = other
	}
	if got.End != end || end != har.EndStopped && got.End != har.EndKeep && got.EndOff != want.EndOff {
		t.Errorf("exchange %d: end %s at %d, want %s at %d", want.N, got.End, got.EndOff, end, want.EndOff)
	}
	if g, w := atOnce(got.Response.Writes), atOnce(want.Response.Writes); !slices.Equal(g, w) {
		t.Errorf("exchange %d: cut %v, want %v", want.N, g, w)
	}
}

// atOnce joins writes of one instant: bytes behind the end of a message are a write of their own where they are recorded late.
func atOnce(writes []har.Write) []har.Write {
	var list []har.Write
	for _, w := range writes {
		if n := len(list); n > 0 && list[n-1].At == w.At {
			list[n-1].Len += w.Len
			continue
		}
		list = append(list, w)
	}
	return list
}

// What tshark reads: as many requests as were recorded, checksums that hold, nothing malformed.
func TestPcapngInTshark(t *testing.T) {
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("no tshark here")
	}
	file := filepath.Join(t.TempDir(), "a.pcapng")
	if err := os.WriteFile(file, exported(t, "pcapng", corpusName+"probe-error-id-null"), 0o600); err != nil {
		t.Fatal(err)
	}
	for filter, want := range map[string]int{
		"http.request":  5,
		"http.response": 5,
		"_ws.malformed || ip.checksum.status == 0 || tcp.checksum.status == 0 || tcp.analysis.flags": 0,
		"tcp.flags.fin == 1": 1,
	} {
		out, err := exec.Command("tshark", "-r", file, "-d", "tcp.port==8080,http", "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-Y", filter).Output()
		if n := bytes.Count(out, []byte("\n")); err != nil || n != want {
			t.Errorf("%s: %v, %d packets, want %d\n%s", filter, err, n, want, out)
		}
	}
}

// Addresses of either family and none, edits, bytes that no packet holds, and TLS.
func TestPcapngForms(t *testing.T) {
	at := time.Unix(1e9, 0).UTC()
	large := "HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n" + strings.Repeat("x", 200_000)
	for name, ends := range map[string][2]string{
		"IPv4": {"192.0.2.1:50000", "192.0.2.2:80"}, "IPv6": {"[2001:db8::5]:50000", "[::1]:443"}, "mixed": {"192.0.2.1:50000", "[::1]:443"},
		"names": {"here:1", "there:2"}, "zone": {"[fe80::1%eth0]:9", "h.example"}, "none": {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			k := &har.Cassette{Header: har.Header{Tool: "mcptap", Started: at}}
			for n := range 3 {
				x := &har.Exchange{N: n + 1, Conn: uint64(n + 1), Seq: 1, Started: at.Add(time.Duration(n) * time.Second), Client: ends[0], Server: ends[1], Method: "POST", URL: "https://h.example/mcp",
					Request: har.Side{Raw: []byte(message("POST /mcp HTTP/1.1", "Host: a\r\n", plainCall))}, Response: har.Side{Raw: []byte(large)},
					End: har.EndFIN, EndAt: time.Millisecond, EndOff: len(large), Edits: []har.Edit{{Off: 26, Len: 1, New: "longer.example"}}}
				if got := string(x.Request.Raw[26:27]); got != "a" {
					t.Fatalf("the edit is at %q", got)
				}
				k.Exchanges = append(k.Exchanges, x)
			}
			file := filepath.Join(t.TempDir(), "a.mcptap")
			if err := os.WriteFile(file, cassetteBytes(t, k, true), 0o600); err != nil {
				t.Fatal(err)
			}
			packets := exported(t, "pcapng", file)
			if n := bytes.Count(packets, []byte(plaintext)); n != 4 {
				t.Errorf("%d comments speak of TLS, want 4", n)
			}
			got := readBack(t, packets)
			if len(got) != 3 {
				t.Fatalf("%d exchanges, want 3", len(got))
			}
			for i, x := range k.Exchanges {
				if g := got[i]; !bytes.Equal(g.Request.Raw, x.ServerLeg()) || !bytes.Equal(g.Response.Raw, x.Response.Raw) || g.End != har.EndFIN {
					t.Errorf("exchange %d: %d and %d bytes, end %s", x.N, len(g.Request.Raw), len(g.Response.Raw), g.End)
				}
			}
		})
	}
}
