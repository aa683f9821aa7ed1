package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"unicode/utf8"

	"github.com/mcptap/mcptap/capture/pcap"
)

// unpacked takes gzip or zstd off what is read, and shows how the rest begins.
func unpacked(r io.Reader) (in io.Reader, head []byte, closer func(), err error) {
	u, closer, err := pcap.Unpacked(r)
	if err != nil {
		return nil, nil, nil, err
	}
	b := bufio.NewReaderSize(u, textStart)
	switch _, err := b.Peek(4); {
	case err == nil, err == io.EOF:
	case errors.Is(err, io.ErrUnexpectedEOF):
		closer()
		return nil, nil, nil, &pcap.DamageError{Want: "what is compressed", Cut: true}
	default:
		closer()
		return nil, nil, nil, err
	}
	head, _ = b.Peek(b.Buffered())
	if mayBeText(head) {
		head, _ = b.Peek(textStart)
	}
	return b, head, closer, nil
}

// textStart is how much of a text is looked at for the beginning of a recording.
const textStart = 256 << 10

// looksLikeHAR tells whether a file that begins so is a HAR log rather than a cassette.
func looksLikeHAR(head []byte) bool {
	head = bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF"))
	head = bytes.TrimLeft(head, " \t\r\n")
	rest, ok := bytes.CutPrefix(head, []byte("{"))
	return ok && bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(`"log"`))
}

// mayBeText tells whether a file that begins so may be a text rather than a cassette, a capture or anything packed.
func mayBeText(head []byte) bool {
	if len(head) == 0 || pcap.IsCapture(head) || bytes.HasPrefix(head, []byte(cassetteStart)) || bytes.HasPrefix(head, []byte(zstdMagic)) {
		return false
	}
	c := head[0]
	return c >= ' ' && c < 0x7f || c >= 0xC2 || c == '\n' || c == '\r' || c == '\t'
}

const zstdMagic = "\x28\xB5\x2F\xFD"

// notCapture is the error for a file that is none of what can be imported, and begins with head.
func notCapture(name string, head []byte, err error) error {
	var damage *pcap.DamageError
	if !errors.As(err, &damage) {
		return fileTrouble(name, err)
	}
	const wanted = "want pcap, pcapng or HAR 1.2, as it is or in gzip or zstd"
	if damage.Cut || damage.Offset > 0 || pcap.IsCapture(head) {
		return &trouble{fmt.Errorf("%s: %w", name, err), wanted}
	}
	is, hint := kindOf(head)
	return &trouble{fmt.Errorf("%s: %s", name, is), wanted + hint}
}

// kindOf says what a file is that can not be imported, and what there is for it.
func kindOf(head []byte) (is, hint string) {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF")), " \t\r\n")
	switch {
	case len(head) == 0:
		return "the file is empty", "; a capture has a header even before its first packet"
	case len(text) > 0 && (text[0] == '{' || text[0] == '['):
		return "JSON, but no HAR log: it does not begin with {\"log\":", "; a recording is read by show, analyze and replay"
	case !bytes.ContainsFunc(head, func(r rune) bool { return r == utf8.RuneError || r < ' ' && r != '\n' && r != '\r' && r != '\t' }):
		return "a text without a recording in it", ", or a text into which mcptap share --text was pasted"
	}
	return fmt.Sprintf("no capture: it begins with % x", head[:min(len(head), 4)]), ""
}

// converted gives a cassette of what r holds if that is a capture or a HAR file, else nil; in is then r from its beginning.
// The cassette is a temporary file, which is gone once it is closed.
func (a *app) converted(name string, r io.Reader) (f io.ReadCloser, in io.Reader, err error) {
	b := bufio.NewReaderSize(r, textStart)
	b.Peek(4)
	start, _ := b.Peek(b.Buffered())
	if mayBeText(start) {
		start, _ = b.Peek(textStart)
	}
	_, head, closer, err := unpacked(bytes.NewReader(start))
	if err != nil {
		return nil, b, nil
	}
	isHAR, isCapture := looksLikeHAR(head), pcap.IsCapture(head)
	isText := !isHAR && mayBeText(start) && hasCassette(head)
	closer()
	if !isHAR && !isCapture && !isText {
		return nil, b, nil
	}
	f, err = a.convert(name, b)
	return f, nil, err
}

// convert imports into a temporary cassette. Secrets are replaced as import does. What import has to say of a file is said once.
func (a *app) convert(name string, r io.Reader) (io.ReadCloser, error) {
	dir, err := os.MkdirTemp("", "mcptap-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := dir + "/capture.mcptap"
	within := *a
	within.stderr = silentOnFile{a.stderr}
	o := &importOptions{out: out, quiet: a.quiet || slices.Contains(a.converts, name)}
	a.converts = append(a.converts, name)
	if err := within.importFrom(name, io.NopCloser(r), o); err != nil {
		return nil, err
	}
	return os.Open(out) // its name goes with the folder
}

// A silentOnFile passes notices on but for the one that names the file written, which is a temporary one.
type silentOnFile struct{ io.Writer }

func (s silentOnFile) Write(p []byte) (int, error) {
	if bytes.HasPrefix(p, []byte("mcptap: written to ")) {
		return len(p), nil
	}
	return s.Writer.Write(p)
}

// keylog reads the key log of that name, without a name the one that SSLKEYLOGFILE names, if it is there.
func (a *app) keylog(name string) (*pcap.KeyLog, error) {
	keys := new(pcap.KeyLog)
	asked := name != ""
	if !asked {
		name = a.getenv("SSLKEYLOGFILE")
	}
	if name == "" {
		return keys, nil
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) && !asked {
		return keys, nil
	}
	if err != nil {
		return nil, fileTrouble(name, err)
	}
	defer f.Close()
	if err := keys.Add(f); err != nil {
		return nil, fileTrouble(name, err)
	}
	return keys, nil
}
