package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/mcptap/mcptap/har"
)

// cassetteStart is how a recording begins that stands in a text, such as the body of an issue.
const cassetteStart = `{"format":"mcptap-cassette/`

// textMost bounds the recording in a text, in bytes.
const textMost = 64 << 20

// hasCassette tells whether a text that begins so has a recording in it.
func hasCassette(head []byte) bool { return bytes.Contains(head, []byte(cassetteStart)) }

// noBreakSpace stands where editors and web pages put it in place of a blank.
const noBreakSpace = "\u00a0"

// What may stand around a line: quoting and indentation, a byte order mark, and spaces of no width.
const (
	beforeLine = " \t>\ufeff\u200b" + noBreakSpace
	behindLine = " \t\r\n\u200b" + noBreakSpace
)

// cassetteIn takes the first recording out of a text: its lines may be quoted ("> "), indented, in a fenced block, and end in CRLF.
// more is how many others there are.
func cassetteIn(text io.Reader) (lines []byte, more int, err error) {
	in := bufio.NewReaderSize(text, 64<<10)
	within, done := false, false
	for err == nil {
		var line []byte
		if line, err = boundedLine(in); err != nil && err != io.EOF {
			return nil, 0, err
		}
		line = bytes.TrimRight(bytes.TrimLeft(line, beforeLine), behindLine)
		switch {
		case bytes.HasPrefix(line, []byte(cassetteStart)):
			if done = done || within; done {
				within = false
				more++
				continue
			}
			within = true
		case len(line) == 0:
			continue
		case !within || line[0] != '{':
			done = done || within
			within = false
			continue
		}
		if lines = append(append(lines, line...), '\n'); len(lines) > textMost {
			return nil, 0, fmt.Errorf("a recording in a text has more than %d MiB", textMost>>20)
		}
	}
	return lines, more, nil
}

// boundedLine reads a line; io.EOF comes with the last one.
func boundedLine(in *bufio.Reader) (line []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if line = append(line, part...); len(line) > textMost {
			return nil, fmt.Errorf("a line of the text has more than %d MiB", textMost>>20)
		}
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
}

// importText imports the recording in a text, or a recording that is itself a text. Secrets are replaced as redact does.
func (a *app) importText(name string, in io.Reader, itself bool, o *importOptions) error {
	notice := a.noticeUnless(o.quiet)
	k, more, err := (*har.Cassette)(nil), 0, error(nil)
	if itself {
		k, err = har.Read(in, har.Limits{Held: maxInMemory})
	} else {
		var lines []byte
		if lines, more, err = cassetteIn(in); err != nil {
			return fileTrouble(name, err)
		}
		k, err = readLines(lines)
	}
	switch {
	case err != nil && itself:
		return fileTrouble(name, err)
	case err != nil:
		return &trouble{fmt.Errorf("%s: the recording in it: %w", name, err), "copy the whole block, each line of it as one line"}
	}
	if more > 0 {
		notice("%s: it holds %s; the first one is taken", name, count(more+1, "recording"))
	}
	if k.Cut != "" {
		notice("%s: the recording in it: %s; what is whole is taken", name, k.Cut)
	}
	already := ""
	if itself {
		already = ", which show, analyze and replay read as it is"
	}
	notice("%s: a recording with %s%s", name, count(len(k.Exchanges), "exchange"), already)
	if !o.keepSecrets {
		c := har.NewCleaner(nil, false)
		c.Clean(k)
		if len(c.Replaced()) > 0 {
			notice("%s: %s", name, replacedText(c.Replaced()))
		}
	}
	if !o.dryRun {
		f, err := a.createCassette(o.out)
		if err != nil {
			return err
		}
		if err := finish(f, func(w io.Writer) error { return writeCassette(w, k, false) }); err != nil {
			return fileTrouble(f.Name(), err)
		}
		notice("written to %s", f.Name())
	}
	if o.strict && k.Cut != "" {
		return exit(codeFailed)
	}
	return nil
}

// readLines reads a recording out of a text, in which all blanks may have become no-break spaces. Those of the recording itself
// are escaped where share wrote it; elsewhere the lengths in the recording tell.
func readLines(lines []byte) (*har.Cassette, error) {
	read := func(lines []byte) (*har.Cassette, error) {
		return har.Read(bytes.NewReader(lines), har.Limits{Held: maxInMemory})
	}
	if !bytes.Contains(lines, []byte(noBreakSpace)) {
		return read(lines)
	}
	k, err := read(lines)
	if err == nil && bytes.IndexByte(lines, ' ') >= 0 {
		return k, nil
	}
	if restored, err := read(bytes.ReplaceAll(lines, []byte(noBreakSpace), []byte(" "))); err == nil {
		return restored, nil
	}
	return k, err
}

// pasteable puts a recording's lines into a fenced block for an issue.
func pasteable(lines []byte) string {
	escaped := bytes.ReplaceAll(bytes.TrimSuffix(lines, []byte("\n")), []byte(noBreakSpace), []byte(`\u00a0`))
	return "```text\n" + string(escaped) + "\n```\n"
}
