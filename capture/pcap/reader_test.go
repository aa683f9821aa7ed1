package pcap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/iotest"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

type order interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// pcapHeader is the header of a pcap file.
func pcapHeader(o order, magic uint32, snaplen, link uint32) []byte {
	b := o.AppendUint32(nil, magic)
	b = o.AppendUint16(b, 2)
	b = o.AppendUint16(b, 4)
	b = append(b, make([]byte, 8)...)
	return o.AppendUint32(o.AppendUint32(b, snaplen), link)
}

func pcapRecord(o order, sec, frac, have, length uint32, data string) []byte {
	b := o.AppendUint32(nil, sec)
	b = o.AppendUint32(b, frac)
	b = o.AppendUint32(b, have)
	return append(o.AppendUint32(b, length), data...)
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// ngBlock is a block of a pcapng file.
func ngBlock(o order, kind uint32, body []byte) []byte {
	body = append(bytes.Clone(body), make([]byte, (4-len(body)%4)%4)...)
	n := uint32(len(body) + 12)
	b := o.AppendUint32(nil, kind)
	b = append(o.AppendUint32(b, n), body...)
	return o.AppendUint32(b, n)
}

func ngSection(o order) []byte {
	b := o.AppendUint32(nil, 0x1A2B3C4D)
	b = o.AppendUint16(b, 1)
	return ngBlock(o, sectionBlock, append(b, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF))
}

func ngOption(o order, code uint16, v []byte) []byte {
	b := o.AppendUint16(nil, code)
	b = append(o.AppendUint16(b, uint16(len(v))), v...)
	return append(b, make([]byte, (4-len(v)%4)%4)...)
}

func ngInterface(o order, link uint16, snaplen uint32, options ...[]byte) []byte {
	b := o.AppendUint16(nil, link)
	b = o.AppendUint16(b, 0)
	return ngBlock(o, interfaceBlock, append(o.AppendUint32(b, snaplen), join(options...)...))
}

func ngPacket(o order, id uint32, t uint64, data string, length uint32) []byte {
	b := o.AppendUint32(nil, id)
	b = o.AppendUint32(b, uint32(t>>32))
	b = o.AppendUint32(b, uint32(t))
	b = o.AppendUint32(b, uint32(len(data)))
	return ngBlock(o, enhancedBlock, append(o.AppendUint32(b, length), data...))
}

// packets reads a capture to its end, and says how that was.
func packets(r io.Reader) (got []string, end string) {
	c, err := NewReader(r)
	if err != nil {
		return nil, err.Error()
	}
	defer c.Close()
	for p := new(Packet); ; {
		if err := c.Next(p); err == io.EOF {
			return got, ""
		} else if err != nil {
			return got, err.Error()
		}
		got = append(got, fmt.Sprintf("%s %d %s/%d", p.At.Format("15:04:05.999999999"), p.Link, p.Data, p.Len))
	}
}

var le, be order = binary.LittleEndian, binary.BigEndian

// captures are files, what they hold and how they end.
func captures() map[string]struct {
	file []byte
	want []string
	end  string
} {
	type capture = struct {
		file []byte
		want []string
		end  string
	}
	all := map[string]capture{}
	for name, o := range map[string]order{"little": le, "big": be} {
		all["pcap µs "+name] = capture{join(pcapHeader(o, magicMicro, 65535, 1), pcapRecord(o, 1, 2, 3, 3, "abc"), pcapRecord(o, 3, 999999, 0, 9, "")),
			[]string{"00:00:01.000002 1 abc/3", "00:00:03.999999 1 /9"}, ""}
		all["pcap ns "+name] = capture{join(pcapHeader(o, magicNano, 0, 276), pcapRecord(o, 1, 2, 3, 2, "abc")), []string{"00:00:01.000000002 276 abc/3"}, ""}
		all["pcap modified "+name] = capture{join(pcapHeader(o, magicModified, 1, 1), pcapRecord(o, 1, 0, 3, 3, "\x01\x02\x03\x04\x05\x06\x07\x08abc")), []string{"00:00:01 1 abc/3"}, ""}
		all["ng "+name] = capture{join(ngSection(o), ngInterface(o, 1, 0), ngInterface(o, 101, 0, ngOption(o, 9, []byte{9})),
			ngPacket(o, 0, 5_000_001, "abcde", 7), ngBlock(o, 0x999, []byte("?")), ngBlock(o, 4, make([]byte, 8)), ngPacket(o, 1, 7_000_000_001, "x", 1)),
			[]string{"00:00:05.000001 1 abcde/7", "00:00:07.000000001 101 x/1"}, ""}
	}
	res := func(r byte, t uint64) []byte {
		return join(ngSection(le), ngInterface(le, 1, 0, ngOption(le, 9, []byte{r})), ngPacket(le, 0, t, "x", 1))
	}
	at := func(t string) []string { return []string{t + " 1 x/1"} }
	all["ng whole seconds"] = capture{res(0, 61), at("00:01:01"), ""}
	all["ng 10^-12"] = capture{res(12, 1_500_000_000_000), at("00:00:01.5"), ""}
	all["ng 10^-25"] = capture{res(25, 1e18), at("00:00:00.0000001"), ""}
	all["ng 2^-20"] = capture{res(0x80|20, 3<<19), at("00:00:01.5"), ""}
	all["ng 2^0"] = capture{res(0x80, 3), at("00:00:03"), ""}
	all["ng 2^-63"] = capture{res(0x80|63, 3<<62), at("00:00:01.5"), ""}
	all["ng 2^-64"] = capture{res(0x80|64, 1<<63), at("00:00:00.5"), ""}
	all["ng 2^-127"] = capture{res(0xFF, 1<<63), at("00:00:00"), ""}
	all["ng offset"] = capture{join(ngSection(be), ngInterface(be, 1, 0, ngOption(be, 14, be.AppendUint64(nil, 60))), ngPacket(be, 0, 1_000_000, "x", 1)), at("00:01:01"), ""}
	all["ng simple"] = capture{join(ngSection(le), ngInterface(le, 1, 2), ngPacket(le, 0, 1_000_000, "x", 1), ngBlock(le, simpleBlock, append(le.AppendUint32(nil, 5), "abcde"...))),
		[]string{"00:00:01 1 x/1", "00:00:01 1 ab/5"}, ""}
	obsolete := join(le.AppendUint16(nil, 0), le.AppendUint16(nil, 4), le.AppendUint32(nil, 0), le.AppendUint32(nil, 1_000_000), le.AppendUint32(nil, 1), le.AppendUint32(nil, 1), []byte("x"))
	all["ng obsolete"] = capture{join(ngSection(le), ngInterface(le, 1, 0), ngBlock(le, packetBlock, obsolete)), at("00:00:01"), ""}
	all["ng two sections"] = capture{join(ngSection(le), ngInterface(le, 1, 0), ngPacket(le, 0, 0, "x", 1), ngSection(be), ngInterface(be, 113, 0), ngPacket(be, 0, 1_000_000, "y", 1)),
		[]string{"00:00:00 1 x/1", "00:00:01 113 y/1"}, ""}

	all["no capture"] = capture{[]byte("GET / HTTP/1.1"), nil, "offset 0: want a pcap or pcapng file, it begins with 47 45 54 20"}
	all["empty"] = capture{nil, nil, "offset 0: want a pcap or pcapng file, it begins with "}
	all["cut header"] = capture{pcapHeader(le, magicMicro, 0, 1)[:20], nil, "the capture was cut at offset 0, inside the file header"}
	all["cut packet"] = capture{join(pcapHeader(le, magicMicro, 0, 1), pcapRecord(le, 0, 0, 1, 1, "x"), pcapRecord(le, 0, 0, 5, 5, "abcd")), at("00:00:00"), "the capture was cut at offset 41, inside a packet"}
	all["cut packet header"] = capture{join(pcapHeader(le, magicMicro, 0, 1), pcapRecord(le, 0, 0, 1, 1, "x"), []byte{1}), at("00:00:00"), "the capture was cut at offset 41, inside a packet's header"}
	all["lying length"] = capture{join(pcapHeader(le, magicMicro, 0, 1), pcapRecord(le, 0, 0, 0xFFFFFF00, 1, "x")), nil, "offset 24: want a packet, its header says 4294967040 bytes"}
	whole := join(ngSection(le), ngInterface(le, 1, 0), ngPacket(le, 0, 0, "x", 1))
	all["ng cut"] = capture{append(whole, ngPacket(le, 0, 0, "x", 1)[:30]...), at("00:00:00"), fmt.Sprintf("the capture was cut at offset %d, inside a block", len(whole))}
	all["ng cut unknown"] = capture{append(whole[:len(whole):len(whole)], ngBlock(le, 77, make([]byte, 400))[:30]...), at("00:00:00"), fmt.Sprintf("the capture was cut at offset %d, inside a block", len(whole))}
	all["ng bad length"] = capture{append(whole[:len(whole):len(whole)], 6, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0), at("00:00:00"), fmt.Sprintf("offset %d: want a block, its length is 3", len(whole))}
	all["ng no interface"] = capture{join(ngSection(le), ngPacket(le, 0, 0, "x", 1)), nil, "offset 28: want a block of type 6, it is too short or names what is not there"}
	bad := ngPacket(le, 0, 0, "x", 1)
	bad[len(bad)-1] = 1
	all["ng end differs"] = capture{append(whole[:len(whole):len(whole)], bad...), at("00:00:00"), fmt.Sprintf("offset %d: want a block that ends with its length, 36, it ends with 16777252", len(whole))}
	return all
}

func TestReader(t *testing.T) {
	for name, tt := range captures() {
		t.Run(name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{"whole": bytes.NewReader(tt.file), "byte by byte": iotest.OneByteReader(bytes.NewReader(tt.file)), "gzip": gzipped(tt.file), "zstd": zstded(tt.file)} {
				if how == "gzip" && len(tt.file) == 0 || how == "zstd" && len(tt.file) == 0 {
					continue
				}
				got, end := packets(r)
				if fmt.Sprint(got) != fmt.Sprint(tt.want) || end != tt.end {
					t.Errorf("%s: got %q, end %q\nwant %q, end %q", how, got, end, tt.want, tt.end)
				}
			}
		})
	}
}

func gzipped(b []byte) io.Reader {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	z.Write(b)
	z.Close()
	return &out
}

func zstded(b []byte) io.Reader {
	z, _ := zstd.NewWriter(nil)
	return bytes.NewReader(z.EncodeAll(b, nil))
}

// Cut anywhere, a capture gives a prefix of its packets, and says that it was cut unless the cut is between two of them.
func TestReaderCutAnywhere(t *testing.T) {
	for name, tt := range captures() {
		if tt.end != "" {
			continue
		}
		for n := range tt.file {
			got, end := packets(bytes.NewReader(tt.file[:n]))
			if len(got) > len(tt.want) || fmt.Sprint(got) != fmt.Sprint(tt.want[:len(got)]) {
				t.Fatalf("%s cut at %d: got %q", name, n, got)
			}
			if len(got) == len(tt.want) && end != "" && name[:2] != "ng" {
				t.Errorf("%s cut at %d: all packets, and %q", name, n, end)
			}
		}
	}
}

func TestReaderSecretsAndDrops(t *testing.T) {
	key := "CLIENT_RANDOM 00 11\n"
	secret := join(le.AppendUint32(nil, 0x544C534B), le.AppendUint32(nil, uint32(len(key))), []byte(key))
	stats := func(n uint64) []byte {
		body := append(make([]byte, 12), join(ngOption(le, 5, le.AppendUint64(nil, n)), ngOption(le, 7, le.AppendUint64(nil, 2)))...)
		return ngBlock(le, statsBlock, body)
	}
	c, err := NewReader(bytes.NewReader(join(ngSection(le), ngBlock(le, secretsBlock, secret), ngInterface(le, 1, 0), stats(1), stats(5), ngSection(le), ngInterface(le, 1, 0), stats(1))))
	if err != nil {
		t.Fatal(err)
	}
	var got string
	c.Secrets = func(b []byte) { got += string(b) }
	if err := c.Next(new(Packet)); err != io.EOF {
		t.Fatalf("got %v, want the end", err)
	}
	if got != key {
		t.Errorf("secrets: got %q", got)
	}
	if c.Drops() != 10 {
		t.Errorf("drops: got %d, want 10", c.Drops())
	}
}

func TestReaderFailure(t *testing.T) {
	broken := errors.New("broken pipe")
	file := join(pcapHeader(le, magicMicro, 0, 1), pcapRecord(le, 0, 0, 1, 1, "x"))
	c, err := NewReader(io.MultiReader(bytes.NewReader(file), iotest.ErrReader(broken)))
	if err != nil {
		t.Fatal(err)
	}
	p := new(Packet)
	if err := c.Next(p); err != nil {
		t.Fatal(err)
	}
	if err := c.Next(p); !errors.Is(err, broken) {
		t.Errorf("got %v, want the reader's own error", err)
	}
	packed, _ := io.ReadAll(gzipped(file))
	if _, err := NewReader(io.MultiReader(bytes.NewReader(packed[:len(packed)/2]), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("in gzip: got %v, want the reader's own error", err)
	}
}

func FuzzReader(f *testing.F) {
	seeds := captures()
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		f.Add(s.file)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := NewReader(bytes.NewReader(b))
		if err != nil {
			return
		}
		defer c.Close()
		for p, n := new(Packet), 0; c.Next(p) == nil; n++ {
			if p.Len < len(p.Data) || p.At.Before(time.Unix(0, 0)) || p.At.Year() > 9999 || n > len(b) && b[0] != 0x1F && b[0] != 0x28 {
				t.Fatalf("packet %d: %v, %d of %d bytes", n, p.At, len(p.Data), p.Len)
			}
		}
	})
}
