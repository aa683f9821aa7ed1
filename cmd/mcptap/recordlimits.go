package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcptap/mcptap/har"
)

// maxRotate is how many files --rotate keeps at most.
const maxRotate = 1000

// limitOptions are the flags that bound what is kept.
type limitOptions struct {
	maxSize, maxExchange byteSize
	rotate               int
}

func (o *limitOptions) limitFlags(f *pflag.FlagSet) {
	f.Var(&o.maxSize, "max-size", "`SIZE` of the file, such as 100MB, from which on bodies are not kept, or a new file begins (--rotate)")
	f.IntVar(&o.rotate, "rotate", 0, "with --max-size, keep `N` full files beside the one being written: NAME.1.mcptap is the last one")
	f.Var(&o.maxExchange, "max-exchange", "`SIZE` of one exchange that is kept; the rest is counted")
}

func (o *limitOptions) checkLimits(c *cobra.Command, out string, stdio bool) error {
	switch {
	case o.rotate < 0 || o.rotate > maxRotate:
		return usage(c, "--rotate %d: want a number from 1 to %d", o.rotate, maxRotate)
	case o.rotate > 0 && o.maxSize == 0:
		return usage(c, "--rotate needs --max-size")
	case o.rotate > 0 && stdio:
		return usage(c, "--rotate and --stdio exclude one another: a process is recorded to one file")
	case out != "":
		return freeToRotate(out, o.rotate)
	}
	return nil
}

// A byteSize is a number of bytes: 4096, 64KB, 10MiB. Units are powers of 1024.
type byteSize int64

var sizeUnits = []struct {
	name  string
	bytes int64
}{{"gib", 1 << 30}, {"gb", 1 << 30}, {"g", 1 << 30}, {"mib", 1 << 20}, {"mb", 1 << 20}, {"m", 1 << 20},
	{"kib", 1 << 10}, {"kb", 1 << 10}, {"k", 1 << 10}, {"b", 1}, {"", 1}}

func (s *byteSize) Set(value string) error {
	text := strings.ToLower(strings.TrimSpace(value))
	for _, u := range sizeUnits {
		digits, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n < 1 || n > 1<<50/u.bytes {
			break
		}
		*s = byteSize(n * u.bytes)
		return nil
	}
	return errors.New("want a size such as 64KB, 100MB or 2GB")
}

func (s *byteSize) String() string {
	if *s == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*s), 10)
}

func (s *byteSize) Type() string { return "SIZE" }

// rotatedName is where the k-th file before the one being written stands: NAME.k.mcptap; with 0, that one itself.
func rotatedName(name string, k int) string {
	if k == 0 {
		return name
	}
	stem, ok := strings.CutSuffix(name, ".mcptap")
	if !ok {
		return fmt.Sprintf("%s.%d", name, k)
	}
	return fmt.Sprintf("%s.%d.mcptap", stem, k)
}

// freeToRotate refuses files that are in the way: none that was there before is overwritten.
func freeToRotate(name string, n int) error {
	for k := 1; k <= n; k++ {
		if _, err := os.Lstat(rotatedName(name, k)); !errors.Is(err, fs.ErrNotExist) {
			return fileTrouble(rotatedName(name, k), fs.ErrExist)
		}
	}
	return nil
}

// rotateTo moves the full files on by one, removes the oldest, and begins a new one under the name. It runs in the recorder's
// goroutine.
func (t *tape) rotateTo(n int) (*har.Writer, error) {
	if err := t.file.Close(); err != nil {
		return nil, err
	}
	os.Remove(rotatedName(t.name, n))
	for k := n; k > 0; k-- {
		err := os.Rename(rotatedName(t.name, k-1), rotatedName(t.name, k))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	f, err := create(t.name)
	if err != nil {
		return nil, err
	}
	t.file = f
	t.files++
	h := t.header
	h.Started = t.app.now().UTC().Truncate(time.Microsecond)
	return har.NewWriter(f, h, false)
}
