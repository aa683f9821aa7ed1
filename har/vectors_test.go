package har

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite what the vectors in testdata are expected to give")

// vectors returns the names and bytes of the files in testdata/kind.
func vectors(t testing.TB, kind string) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", kind, "*.mcptap"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no vectors in testdata/%s: %v", kind, err)
	}
	files := map[string][]byte{}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimSuffix(filepath.Base(name), ".mcptap")] = b
	}
	return files
}

// TestValid reads each valid vector and compares what it holds with the JSON beside it.
func TestValid(t *testing.T) {
	for name, b := range vectors(t, "valid") {
		t.Run(name, func(t *testing.T) {
			c, err := Read(bytes.NewReader(b), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if cut := strings.HasPrefix(name, "cut-"); cut != (c.Cut != "") || cut != (c.End == nil) {
				t.Errorf("cut %q, end line %v", c.Cut, c.End)
			}
			golden(t, filepath.Join("testdata", "valid", name+".json"), describe(t, c))
			sameAgain(t, c)
		})
	}
}

// TestNoStrays: nothing in testdata/valid describes a vector that is not there.
func TestNoStrays(t *testing.T) {
	files := vectors(t, "valid")
	described, err := filepath.Glob(filepath.Join("testdata", "valid", "*.json"))
	if err != nil || len(described) != len(files) {
		t.Errorf("%d vectors and %d descriptions: %v", len(files), len(described), err)
	}
}

// TestInvalid compares the error of each invalid vector with the table errors.txt.
func TestInvalid(t *testing.T) {
	var table strings.Builder
	files := vectors(t, "invalid")
	for _, name := range slices.Sorted(maps.Keys(files)) {
		_, err := Read(bytes.NewReader(files[name]), Limits{})
		if err == nil {
			t.Errorf("%s: no error", name)
		} else if _, ok := err.(*FormatError); !ok {
			t.Errorf("%s: %T, not a *FormatError: %v", name, err, err)
		}
		fmt.Fprintf(&table, "%s: %v\n", name, err)
	}
	golden(t, filepath.Join("testdata", "invalid", "errors.txt"), table.String())
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (rewrite with -update):\n%s", path, got)
	}
}

// describe gives a cassette as JSON that a reader in any language can be compared with: bytes in base64, times in µs.
func describe(t *testing.T, c *Cassette) string {
	type side struct {
		Raw    []byte     `json:"raw"`
		Writes [][2]int64 `json:"writes"`
	}
	type edit struct {
		Off int    `json:"off"`
		Len int    `json:"len"`
		New []byte `json:"new"`
	}
	type redaction struct {
		Side string `json:"side"`
		Off  int    `json:"off"`
		Len  int    `json:"len"`
		Kind string `json:"kind"`
	}
	type exchange struct {
		N         int         `json:"n"`
		Conn      uint64      `json:"conn"`
		Seq       int         `json:"seq"`
		Started   string      `json:"started"`
		Client    string      `json:"client"`
		Server    string      `json:"server"`
		Name      string      `json:"name,omitempty"`
		Method    string      `json:"method"`
		URL       string      `json:"url"`
		Status    int         `json:"status"`
		MediaType string      `json:"mediaType"`
		Request   side        `json:"request"`
		Response  side        `json:"response"`
		Off       int64       `json:"off,omitempty"`
		End       Ending      `json:"end"`
		EndAt     int64       `json:"endAt"`
		EndOff    int         `json:"endOff"`
		Edits     []edit      `json:"edits,omitempty"`
		Redacted  []redaction `json:"redacted,omitempty"`
		Notes     []string    `json:"notes,omitempty"`
	}
	sideOf := func(s *Side) side {
		out := side{Raw: append([]byte{}, s.Raw...), Writes: [][2]int64{}}
		for _, w := range s.Writes {
			out.Writes = append(out.Writes, [2]int64{w.At.Microseconds(), int64(w.Len)})
		}
		return out
	}
	var lines []string
	for _, x := range c.Exchanges {
		e := exchange{x.N, x.Conn, x.Seq, x.Started.Format(timeLayout), x.Client, x.Server, x.Name, x.Method, x.URL, x.Status, x.MediaType,
			sideOf(&x.Request), sideOf(&x.Response), x.Off, x.End, x.EndAt.Microseconds(), x.EndOff, nil, nil, x.Notes}
		for _, d := range x.Edits {
			e.Edits = append(e.Edits, edit{d.Off, d.Len, []byte(d.New)})
		}
		for _, r := range x.Redacted {
			e.Redacted = append(e.Redacted, redaction{r.Dir.String(), r.Off, r.Len, r.Kind})
		}
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	end := "null"
	if c.End != nil {
		end = strings.TrimSpace(string(appendEnd(nil, c.End)))
	}
	processes := ""
	for _, p := range c.Processes {
		exit := "null"
		if e := p.Exit; e != nil {
			exit = fmt.Sprintf("{\"code\":%d,\"signal\":%q,\"at\":%d}", e.Code, e.Signal, e.At.Microseconds())
		}
		raw, _ := json.Marshal(sideOf(&p.Stderr))
		command, _ := json.Marshal(p.Command)
		processes += fmt.Sprintf("\"process\":{\"conn\":%d,\"started\":%q,\"command\":%s,\"stderr\":%s,\"redacted\":%d,\"lost\":%d,\"exit\":%s},\n",
			p.Conn, p.Started.Format(timeLayout), command, raw, len(p.Redacted), p.Lost, exit)
	}
	return fmt.Sprintf("{\"header\":%s,\n%s\"exchanges\":[\n%s],\n\"end\":%s,\n\"cut\":%q}\n",
		bytes.TrimSpace(appendHeader(nil, &c.Header)), processes, strings.Join(lines, ",\n"), end, c.Cut)
}

// rewrite writes a cassette's exchanges in order of N.
func rewrite(t testing.TB, c *Cassette, plain bool) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, c.Header, plain)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range c.Processes {
		if err := w.Process(p); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range c.Exchanges {
		if err := w.Write(x); err != nil {
			t.Fatal(err)
		}
	}
	end := End{At: time.Unix(0, 0).UTC()}
	if c.End != nil {
		end = *c.End
	}
	if err := w.Close(end); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sameAgain writes what was read and reads it again: packed it must hold the same, plain it must also be the same bytes
// when written once more.
func sameAgain(t testing.TB, c *Cassette) {
	t.Helper()
	for _, plain := range []bool{false, true} {
		b := rewrite(t, c, plain)
		again, err := Read(bytes.NewReader(b), Limits{})
		if err != nil {
			t.Fatalf("plain %v: what was written cannot be read: %v\n%s", plain, err, b)
		}
		if !reflect.DeepEqual(again.Exchanges, c.Exchanges) || !reflect.DeepEqual(again.Header, c.Header) || !reflect.DeepEqual(again.Processes, c.Processes) {
			t.Fatalf("plain %v: read again, it differs", plain)
		}
		if plain && !bytes.Equal(b, rewrite(t, again, true)) {
			t.Fatal("written again, the bytes differ")
		}
	}
}
