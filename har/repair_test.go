package har

import (
	"bytes"
	"errors"
	"reflect"
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

// TestRepairCorrupt keeps what is before the damage.
func TestRepairCorrupt(t *testing.T) {
	b := cassette(t, true, onConn(1, 1, 1, EndFIN), onConn(2, 2, 1, ""), onConn(3, 3, 1, EndFIN))
	b = bytes.Replace(b, []byte(`{"_n":3`), []byte(`{"_n":x`), 1)
	c, _, kept, left := repaired(t, b)
	if kept != 2 || !strings.Contains(left, "line 4: ") {
		t.Errorf("kept %d, left %q", kept, left)
	}
	if c.Exchanges[1].End != EndUnknown || !c.End.At.After(noon) {
		t.Errorf("the open exchange ends %s, the file at %v", c.Exchanges[1].End, c.End.At)
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
