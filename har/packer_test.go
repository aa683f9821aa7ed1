package har

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// TestFrames counts the frames of what was not flushed: one for each 128 lines, one for each line that is longer than a frame.
func TestFrames(t *testing.T) {
	for _, tt := range []struct{ exchanges, size, want int }{{10 * frameLines, 100, 10}, {10*frameLines - 1, 100, 10}, {5, frameBytes, 5}, {64, frameBytes / 8, 8}} {
		var b bytes.Buffer
		w, err := NewWriter(&b, Header{}, false)
		if err != nil {
			t.Fatal(err)
		}
		for n := 1; n <= tt.exchanges; n++ {
			raw := bytes.Repeat([]byte("a"), tt.size)
			if err := w.Write(&Exchange{N: n, Conn: uint64(n), Seq: 1, Started: noon, Response: Side{Raw: raw}, End: EndUnknown}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(End{}); err != nil {
			t.Fatal(err)
		}
		magic := binary.LittleEndian.AppendUint32(nil, zstdMagic)
		if n := bytes.Count(b.Bytes(), magic); n != tt.want && n != tt.want+1 { // the end line may need one more
			t.Errorf("%d exchanges of %d bytes: %d frames, want %d", tt.exchanges, tt.size, n, tt.want)
		}
	}
}

// TestRatio writes what packs very well, in short and in long lines, and reads it within the limits of a reader, also when
// gzip has packed it once more.
func TestRatio(t *testing.T) {
	for _, tt := range []struct{ exchanges, size int }{{25, 4 << 20}, {800, 128 << 10}, {2, 50 << 20}} {
		response := bytes.Repeat([]byte("A"), tt.size)
		var b bytes.Buffer
		w, err := NewWriter(&b, Header{}, false)
		if err != nil {
			t.Fatal(err)
		}
		for n := 1; n <= tt.exchanges; n++ {
			if err := w.Write(&Exchange{N: n, Conn: uint64(n), Seq: 1, Started: noon, Response: Side{Raw: response}, End: EndFIN, EndOff: tt.size}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(End{}); err != nil {
			t.Fatal(err)
		}
		if ratio := w.packer.total / int64(b.Len()); ratio > writeRatio {
			t.Errorf("%d of %d bytes: %d bytes out of each packed byte", tt.exchanges, tt.size, ratio)
		}
		var z bytes.Buffer
		g := gzip.NewWriter(&z)
		g.Write(b.Bytes())
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		for _, file := range [][]byte{b.Bytes(), z.Bytes()} {
			r, err := NewReader(bytes.NewReader(file), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range r.All() {
				if err != nil {
					t.Fatalf("%d of %d bytes: %v", tt.exchanges, tt.size, err)
				}
			}
			if r.End() == nil || r.End().Exchanges != tt.exchanges || r.Cut() != "" {
				t.Errorf("%d of %d bytes: end line %+v, cut %q", tt.exchanges, tt.size, r.End(), r.Cut())
			}
		}
	}
}
