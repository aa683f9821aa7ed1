package har

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/mcptap/mcptap/har/wire"
)

// mixed is a recording with all that lines can do, flushed behind each of them: connections side by side, exchanges that
// are continued, pipelined, ended later, ended late.
func mixed(t testing.TB, plain bool) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, Header{Tool: "mcptap 0.1.0", Started: noon, Mode: "reverse", To: "http://a.example/mcp"}, plain)
	if err != nil {
		t.Fatal(err)
	}
	line := func(err error) {
		t.Helper()
		if err == nil {
			err = w.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	stream := parts(onConn(2, 2, 1, EndClientFIN), [2]int{10, 0}, [2]int{90, 0}, [2]int{0, 50})
	stream[len(stream)-1].EndOff = 60
	piped := parts(onConn(5, 3, 2, EndRST), [2]int{999, 0})
	line(w.Write(onConn(1, 1, 1, EndKeep)))
	line(w.Write(stream[0]))
	line(w.Write(onConn(3, 1, 2, EndKeep)))
	line(w.Append(stream[1]))
	line(w.Write(parts(onConn(4, 3, 1, EndKeep), [2]int{999, 0})[0]))
	line(w.Write(piped[0]))
	line(w.Append(parts(onConn(4, 3, 1, EndKeep), [2]int{999, 0})[1]))
	line(w.Append(stream[2]))
	line(w.Append(piped[1]))
	line(w.Append(&Exchange{Conn: 1, Seq: 2, End: EndNoCloseNotify, EndAt: time.Minute, EndOff: 87, Notes: []string{"gap: 1 byte"}}))
	line(w.Append(stream[3]))
	line(w.Close(End{At: noon}))
	return b.Bytes()
}

func packedGzip(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	for _, line := range bytes.SplitAfter(b, []byte("\n")) {
		if _, err := z.Write(line); err != nil {
			t.Fatal(err)
		}
		if err := z.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestPrefix is law 5: any prefix of a file reads back to a prefix of its exchanges. It cuts at every byte.
func TestPrefix(t *testing.T) {
	plain, packed := mixed(t, true), mixed(t, false)
	first := bytes.IndexByte(plain, '\n') + 1
	for _, tt := range []struct {
		name  string
		file  []byte
		whole int // from how many bytes on there is a header line
		lines bool
	}{{"plain", plain, len(`{"format":"mcptap-cassette/1"`), true}, {"zstd", packed, 0, false}, {"gzip", packedGzip(t, plain), 0, false}, {"zstd in gzip", packedGzip(t, packed), 0, false}} {
		t.Run(tt.name, func(t *testing.T) {
			all := mustRead(t, tt.file)
			readable := false
			for cut := range tt.file {
				c, err := Read(bytes.NewReader(tt.file[:cut]), Limits{})
				if err != nil {
					if readable || tt.lines && cut >= tt.whole {
						t.Fatalf("cut at byte %d: %v", cut, err)
					}
					continue
				}
				readable = true
				if c.Cut == "" && c.End == nil {
					t.Fatalf("cut at byte %d: nothing says that the file was cut", cut)
				}
				if tt.lines && cut >= first && c.Header.Tool != all.Header.Tool {
					t.Fatalf("cut at byte %d: header %+v", cut, c.Header)
				}
				for _, x := range c.Exchanges {
					if err := beginning(x, all.Exchanges[x.N-1]); err != nil {
						t.Fatalf("cut at byte %d, exchange %d: %v", cut, x.N, err)
					}
				}
			}
			if !readable {
				t.Error("no prefix could be read")
			}
		})
	}
}

// beginning tells how x is not the beginning of whole.
func beginning(x, whole *Exchange) error {
	switch {
	case !bytes.HasPrefix(whole.Request.Raw, x.Request.Raw), !bytes.HasPrefix(whole.Response.Raw, x.Response.Raw):
		return errors.New("the bytes are not the beginning of the bytes")
	case x.Conn != whole.Conn || x.Seq != whole.Seq || !x.Started.Equal(whole.Started):
		return fmt.Errorf("it is on connection %d, place %d", x.Conn, x.Seq)
	case x.End == whole.End && !reflect.DeepEqual(x, whole):
		return errors.New("it has its ending and not all else")
	case x.End == EndUnknown && !slices.Equal(x.Notes, []string{"cut: the file ends here"}):
		return fmt.Errorf("it ends %s with the notes %q", x.End, x.Notes)
	case x.End != whole.End && x.End != EndUnknown && x.End != EndKeep:
		return fmt.Errorf("it ends %s, not %s", x.End, whole.End)
	}
	return nil
}

// TestFinal gives exchanges as soon as nothing can follow on them.
func TestFinal(t *testing.T) {
	r, err := NewReader(bytes.NewReader(mixed(t, true)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := []struct{ line, n int }{{4, 1}, {8, 4}, {10, 5}, {11, 3}, {12, 2}}
	for x, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		if len(want) == 0 || x.N != want[0].n || r.src.line != want[0].line {
			t.Fatalf("exchange %d is given at line %d, want %v", x.N, r.src.line, want)
		}
		want = want[1:]
	}
	if len(want) > 0 {
		t.Errorf("not given: %v", want)
	}
}

// TestHeldIsBounded reads many connections one after another and sees that none is kept.
func TestHeldIsBounded(t *testing.T) {
	var list []*Exchange
	for n := 1; n <= 2000; n++ {
		list = append(list, onConn(n, uint64(n), 1, EndFIN))
	}
	r, err := NewReader(bytes.NewReader(cassette(t, false, list...)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for range r.All() {
		if len(r.ledger.open) > 0 || r.ledger.held > 2000*2*heldPerID {
			t.Fatalf("%d exchanges are open, %d bytes held", len(r.ledger.open), r.ledger.held)
		}
	}
}

func TestStopEarly(t *testing.T) {
	r, err := NewReader(bytes.NewReader(mixed(t, false)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for range r.All() {
		break
	}
	for range r.All() {
		t.Fatal("more is given behind a break")
	}
}

func TestOneByteAtATime(t *testing.T) {
	for name, b := range vectors(t, "valid") {
		want := mustRead(t, b)
		got, err := Read(iotest.OneByteReader(bytes.NewReader(b)), Limits{})
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: read byte by byte it differs: %v", name, err)
		}
	}
}

// TestReadFails tells a disk that cannot be read from a file that is wrong.
func TestReadFails(t *testing.T) {
	bad := errors.New("bad sector")
	for _, plain := range []bool{true, false} {
		b := mixed(t, plain)
		for cut := range b {
			_, err := Read(io.MultiReader(bytes.NewReader(b[:cut]), iotest.ErrReader(bad)), Limits{})
			if format := (*FormatError)(nil); !errors.Is(err, bad) || errors.As(err, &format) {
				t.Fatalf("plain %v, at byte %d: %v", plain, cut, err)
			}
		}
	}
}

// TestFlips changes bits of each byte of a packed file: it must be noticed, and no exchange may be given out that is not the
// beginning of what was written.
func TestFlips(t *testing.T) {
	b := mixed(t, false)
	want := mustRead(t, b)
	for i := 0; i < len(b)*8; i += 3 {
		b[i/8] ^= 1 << (i % 8)
		c, err := Read(bytes.NewReader(b), Limits{})
		switch {
		case c == nil:
		case err == nil && c.Cut == "" && !reflect.DeepEqual(c, want):
			t.Errorf("bit %d: a flip changes the cassette and is not noticed", i)
		case err != nil && len(c.Exchanges) > 0:
			t.Errorf("bit %d: %d exchanges of the damaged frame are given out: %v", i, len(c.Exchanges), err)
		default:
			for _, x := range c.Exchanges {
				if err := beginning(x, want.Exchanges[x.N-1]); err != nil {
					t.Errorf("bit %d, exchange %d: %v", i, x.N, err)
				}
			}
		}
		b[i/8] ^= 1 << (i % 8)
	}
}

// TestDamagedFrame changes the checksum of a file's last frame. That is no cut, though the end line is in it; the frame
// before it may be read.
func TestDamagedFrame(t *testing.T) {
	var list []*Exchange
	for n := 1; n <= frameLines+1; n++ {
		list = append(list, onConn(n, uint64(n), 1, EndFIN))
	}
	b := cassette(t, false, list...)
	b[len(b)-1] ^= 1
	const want = "line 130: want whole zstd data: damaged: the checksum of the zstd frame does not match"
	c, err := Read(bytes.NewReader(b), Limits{})
	if err == nil || err.Error() != want || c.Cut != "" || !reflect.DeepEqual(c.Exchanges, list[:frameLines]) {
		t.Errorf("%d exchanges, cut %q: %v", len(c.Exchanges), c.Cut, err)
	}
	c, _, kept, left := repaired(t, b)
	if kept != frameLines || !strings.Contains(left, want) || !reflect.DeepEqual(c.Exchanges, list[:frameLines]) {
		t.Errorf("%d exchanges kept, left %q", kept, left)
	}
}

// TestLongDamagedFrame is a frame of which more was given out than is held back: the error names its first line.
func TestLongDamagedFrame(t *testing.T) {
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true))
	if err != nil {
		t.Fatal(err)
	}
	for i, lines := range []string{"{\"format\":\"mcptap-cassette/1\"}\n", strings.Repeat("{\"x\":\""+strings.Repeat("0", 1<<20)+"\"}\n", maxUnchecked>>20+1)} {
		if i > 0 {
			z.Reset(&out)
		}
		z.Write([]byte(lines))
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	b := out.Bytes()
	b[len(b)-1] ^= 1
	if _, err := Read(bytes.NewReader(b), Limits{}); err == nil || !strings.HasSuffix(err.Error(), "what was read from line 2 on is of that frame and cannot be trusted") {
		t.Error(err)
	}
}

func TestLimits(t *testing.T) {
	long := onConn(1, 1, 1, EndFIN)
	long.Response = Side{Raw: bytes.Repeat([]byte("a"), 3000)}
	long.EndOff = 3000
	open := onConn(2, 2, 1, EndKeep)
	b := cassette(t, true, long, open)
	header := bytes.IndexByte(b, '\n')
	longest := 0
	for _, line := range bytes.Split(b, []byte("\n")) {
		longest = max(longest, len(line))
	}
	zeros := func(lines int) []byte {
		line := []byte(`{"x":"` + strings.Repeat("0", 1<<20) + `"}` + "\n")
		var out bytes.Buffer
		z, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
		if err != nil {
			t.Fatal(err)
		}
		z.Write([]byte(`{"format":"mcptap-cassette/1"}` + "\n"))
		for range lines {
			z.Write(line)
		}
		z.Write([]byte(`{"end":true}` + "\n"))
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	for _, tt := range []struct {
		name string
		file []byte
		lim  Limits
		want string
	}{
		{"line reached", b, Limits{Line: longest}, ""},
		{"line", b, Limits{Line: longest - 1}, "line 2: want a line of at most "},
		{"header line", b, Limits{Line: header - 1}, "line 1: want a line of at most "},
		{"long header line", []byte(`{"format":"mcptap-cassette/1","x":"` + strings.Repeat("x", maxHeader)), Limits{}, "line 1: want a line of at most 1048576 bytes"},
		{"total reached", b, Limits{Total: int64(len(b))}, ""},
		{"total", b, Limits{Total: int64(len(b)) - 1}, "want at most "},
		{"ratio not looked at below 64 MiB", zeros(60), Limits{Ratio: 2}, ""},
		{"ratio", zeros(70), Limits{}, "want at most 2000 bytes out of each packed byte"},
		{"ratio raised", zeros(70), Limits{Ratio: 1 << 30}, ""},
		{"held", b, Limits{Held: 900}, "line 3: want at most 900 bytes of exchanges"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Read(bytes.NewReader(tt.file), tt.lim)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	if _, err := Read(bytes.NewReader(cassette(t, true, long)), Limits{Held: 2000}); err == nil {
		t.Error("Read holds more than Held")
	}
}

// TestBeforeTheError gives all that was read before an error, then the error, then nothing.
func TestBeforeTheError(t *testing.T) {
	b := cassette(t, true, onConn(1, 1, 1, EndKeep), onConn(2, 2, 1, EndFIN), onConn(3, 3, 1, ""))
	b = append(b[:bytes.LastIndex(b, []byte(`{"end"`))], "{\"_n\":9}\n"...)
	c, err := Read(bytes.NewReader(b), Limits{})
	if format := (*FormatError)(nil); !errors.As(err, &format) || format.Line != 5 {
		t.Fatalf("got %v, want a *FormatError of line 5", err)
	}
	if len(c.Exchanges) != 3 || c.Exchanges[0].End != EndKeep || c.Exchanges[2].End != EndUnknown || len(c.Exchanges[2].Notes) != 1 {
		t.Errorf("got %d exchanges before the error", len(c.Exchanges))
	}
}

// TestNoEnding is an exchange of which an end line says that nothing more is to come.
func TestNoEnding(t *testing.T) {
	c := mustRead(t, cassette(t, true, onConn(1, 1, 1, "")))
	if x := c.Exchanges[0]; x.End != EndUnknown || !slices.Equal(x.Notes, []string{"cut: no ending was recorded"}) {
		t.Errorf("it ends %s with the notes %q", x.End, x.Notes)
	}
}

func TestServerLeg(t *testing.T) {
	x := onConn(1, 1, 1, EndFIN)
	if string(x.ServerLeg()) != string(x.Request.Raw) {
		t.Error("without edits the server's leg differs")
	}
	host := bytes.Index(x.Request.Raw, []byte("a.example"))
	x.Edits = []Edit{{Off: 5, New: "/v2"}, {Off: host, Len: 9, New: "b.example:8080"}, {Off: len(x.Request.Raw), New: "!"}}
	want := strings.Replace(strings.Replace(string(x.Request.Raw), "POST ", "POST /v2", 1), "a.example", "b.example:8080", 1) + "!"
	if got := string(x.ServerLeg()); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// FuzzReader: no bytes crash the reader or make it hold more than its bounds; what it reads can be written and read again.
func FuzzReader(f *testing.F) {
	for _, kind := range []string{"valid", "invalid"} {
		for _, b := range vectors(f, kind) {
			f.Add(b)
		}
	}
	f.Add(mixed(f, true))
	f.Fuzz(func(t *testing.T, b []byte) {
		lim := Limits{Line: 1 << 20, Total: 4 << 20, Held: 8 << 20}
		c, err := Read(bytes.NewReader(b), lim)
		if c == nil {
			return
		}
		if format := (*FormatError)(nil); err != nil && !errors.As(err, &format) {
			t.Fatalf("%T: %v", err, err)
		}
		for _, x := range c.Exchanges {
			for _, d := range []wire.Dir{wire.ToServer, wire.ToClient} {
				if !x.side(d).adds() {
					t.Fatalf("exchange %d: the lengths of its writes do not add up", x.N)
				}
			}
			x.View().ResponseBody()
			x.ServerLeg()
		}
		if err == nil {
			sameAgain(t, c)
		}
	})
}
