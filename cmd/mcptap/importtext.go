package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/mcptap/mcptap/har"
)

// cassetteStart is how a recording begins that stands in a text, such as the body of an issue.
const cassetteStart = `{"format":"mcptap-cassette/`

// textMost bounds the recording in a text, in bytes.
const textMost = 64 << 20

// hasCassette tells whether a text that begins so has a recording in it.
func hasCassette(head []byte) bool { return bytes.Contains(head, []byte(cassetteStart)) }

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
		line = bytes.TrimRight(bytes.TrimLeft(line, " \t>"), " \t\r\n")
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
	more := 0
	if !itself {
		lines, others, err := cassetteIn(in)
		if err != nil {
			return fileTrouble(name, err)
		}
		in, more = bytes.NewReader(lines), others
	}
	k, err := har.Read(in, har.Limits{Held: maxInMemory})
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

// pasteable puts a recording's lines into a fenced block for an issue.
func pasteable(lines []byte) string {
	return "```text\n" + strings.TrimSuffix(string(lines), "\n") + "\n```\n"
}
