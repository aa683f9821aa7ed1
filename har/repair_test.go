package har

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func repaired(t *testing.T, b []byte) (c *Cassette, out []byte, kept int, left string) {
	t.Helper()
	var w bytes.Buffer
	kept, left, err := Repair(bytes.NewReader(b), &w, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	c = mustRead(t, w.Bytes())
	if c.End == nil || !c.End.Repaired || c.Cut != "" {
		t.Fatalf("the repaired file has the end line %+v, cut %q", c.End, c.Cut)
	}
	return c, w.Bytes(), kept, left
}

// TestRepairPrefix repairs a file cut at every byte, a packed one at every seventh: it then holds what could be read of
// the cut one, and is whole.
func TestRepairPrefix(t *testing.T) {
	for _, plain := range []bool{true, false} {
		b, step := mixed(t, plain), 1
		if !plain {
			step = 7
		}
		for cut := 0; cut < len(b); cut += step {
			torn, err := Read(bytes.NewReader(b[:cut]), Limits{})
			if err != nil {
				continue
			}
			c, _, kept, left := repaired(t, b[:cut])
			if kept != len(torn.Exchanges) || !reflect.DeepEqual(c.Exchanges, torn.Exchanges) {
				t.Fatalf("plain %v, cut at byte %d: %d exchanges kept of %d, or they differ", plain, cut, kept, len(torn.Exchanges))
			}
			if left != torn.Cut {
				t.Fatalf("plain %v, cut at byte %d: left %q, cut %q", plain, cut, left, torn.Cut)
			}
		}
	}
}

// TestRepairKeepsLines copies lines as they stand, with what this version does not know.
func TestRepairKeepsLines(t *testing.T) {
	b := vectors(t, "valid")["unknown-members"]
	lines := bytes.SplitAfter(b, []byte("\n"))
	_, out, kept, left := repaired(t, bytes.Join(lines[:4], nil))
	if kept != 1 || left == "" {
		t.Errorf("kept %d, left %q", kept, left)
	}
	if !bytes.Contains(out, bytes.Join(lines[1:4], nil)) {
		t.Errorf("lines were changed:\n%s", out)
	}
}

// TestRepairCorrupt keeps what stands around damage, but for what may lack a part.
func TestRepairCorrupt(t *testing.T) {
	more := onConn(2, 2, 1, EndFIN)
	b := cassette(t, true, onConn(1, 1, 1, EndKeep), onConn(2, 2, 1, ""), onConn(3, 1, 2, EndKeep), onConn(4, 1, 3, EndKeep), onConn(5, 3, 1, EndFIN))
	lines := strings.SplitAfter(string(b), "\n") // the header, five exchanges, the end line
	continued := string(appendPart(nil, &part{x: more, more: true, response: more.Response, last: true}))
	for _, tt := range []struct {
		name string
		text string
		want string // N, place and ending of what is left
		left string
	}{
		{"the first line of one", strings.Join(replaced(lines, 3, lines[3][:40]+"\n"), ""), "1@1.1 keep, 2@2.1 unknown, 4@1.2 keep, 5@3.1 fin",
			"line 4: want the end of a string at byte 41; lost: exchange 3; cut short: exchange 2"},
		{"a line of one that goes on behind it", strings.Join(replaced(lines, 2, lines[2]+"x\n"+continued), ""), "1@1.1 keep, 2@2.1 unknown, 3@1.2 keep, 4@1.3 keep, 5@3.1 fin",
			"line 4: want an object at byte 1; cut short: exchange 2"},
		{"two, without an end line", strings.Join(replaced(lines[:5], 1, "{}}\n{}}\n"), ""), "2@2.1 unknown, 3@1.1 keep, 4@1.2 keep",
			"2 places are damaged, the first: line 2: want "},
		{"the end line", strings.Join(replaced(lines, 6, "{\"end\":false}\n"), ""), "1@1.1 keep, 2@2.1 unknown, 3@1.2 keep, 4@1.3 keep, 5@3.1 fin", "line 7: want "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, _, kept, left := repaired(t, []byte(tt.text))
			if got := placesOf(c); got != tt.want || kept != len(c.Exchanges) {
				t.Errorf("%d kept: %s\nwant %s", kept, got, tt.want)
			}
			if !strings.Contains(left, tt.left) {
				t.Errorf("left %q, want %q", left, tt.left)
			}
			for _, x := range c.Exchanges {
				if x.N == 2 && !slices.Contains(x.Notes, NoteCut+": the file is damaged") {
					t.Errorf("exchange 2 has the notes %q", x.Notes)
				}
				if lost := x.N == 4 && kept == 4 || x.N == 3 && kept == 3; lost != slices.Contains(x.Notes, NoteLost+": 1 exchange before it on its connection") {
					t.Errorf("exchange %d has the notes %q", x.N, x.Notes)
				}
			}
		})
	}
}

func replaced(lines []string, i int, by string) []string {
	lines = slices.Clone(lines)
	lines[i] = by
	return lines
}

func placesOf(c *Cassette) string {
	var words []string
	for _, x := range c.Exchanges {
		words = append(words, fmt.Sprintf("%d@%d.%d %s", x.N, x.Conn, x.Seq, x.End))
	}
	return strings.Join(words, ", ")
}

// TestRepairDamagedFrame flips a byte anywhere in the second of three zstd frames: the exchanges of the others are kept as they are.
func TestRepairDamagedFrame(t *testing.T) {
	var xs []*Exchange
	for n := 1; n <= 300; n++ {
		xs = append(xs, onConn(n, 1, n, EndKeep))
	}
	b := cassette(t, false, xs...)
	magic := []byte{0x28, 0xB5, 0x2F, 0xFD}
	second := 1 + bytes.Index(b[1:], magic)
	third := second + 1 + bytes.Index(b[second+1:], magic)
	if third < second+100 {
		t.Fatalf("frames begin at %d and %d", second, third)
	}
	for at := second + 4; at < third; at += 97 {
		bad := bytes.Clone(b)
		bad[at] ^= 0x55
		c, _, kept, left := repaired(t, bad)
		if kept != 300-128 && kept != 300 || !strings.Contains(left, "; lost: 128 exchanges") {
			t.Fatalf("byte %d of %d to %d: kept %d, left %q", at, second, third, kept, left)
		}
		for _, x := range c.Exchanges {
			was := xs[x.N-1]
			if !bytes.Equal(x.Request.Raw, was.Request.Raw) || !bytes.Equal(x.Response.Raw, was.Response.Raw) || x.End != was.End {
				t.Fatalf("byte %d: exchange %d differs: %+v", at, x.N, x)
			}
		}
	}
}

// TestRepairWhole leaves nothing of a whole file, in the packing of the file.
func TestRepairWhole(t *testing.T) {
	for name, b := range vectors(t, "valid") {
		if strings.HasPrefix(name, "cut-") {
			continue
		}
		c, out, kept, left := repaired(t, b)
		want := mustRead(t, b)
		if left != "" || kept != len(want.Exchanges) || !reflect.DeepEqual(c.Exchanges, want.Exchanges) {
			t.Errorf("%s: kept %d, left %q", name, kept, left)
		}
		if !want.End.At.IsZero() && !c.End.At.Equal(want.End.At) || c.End.Error != want.End.Error {
			t.Errorf("%s: end line %+v, want %+v", name, c.End, want.End)
		}
		if plain := b[0] == '{' || b[0] == ' '; plain != (out[0] == '{') {
			t.Errorf("%s: packed otherwise than before", name)
		}
	}
}

func TestRepairFails(t *testing.T) {
	if _, _, err := Repair(strings.NewReader("hello\n"), &bytes.Buffer{}, Limits{}); err == nil {
		t.Error("what is no cassette is repaired")
	}
	for room := range 40 {
		if _, _, err := Repair(bytes.NewReader(mixed(t, true)), &fullDisk{room * 10}, Limits{}); !errors.Is(err, errFull) {
			t.Fatalf("room for %d bytes: %v", room*10, err)
		}
	}
}
