// Package har holds what was recorded: [Event]s as they were seen, [Exchange]s as they were understood, and the cassette
// file that keeps them (docs/format.md). It also exports HAR 1.2 and replaces secrets.
package har

import (
	"io"
	"iter"
	"time"
)

// Format is the first member of every cassette.
const Format = "mcptap-cassette/1"

// A Header is a cassette's first line.
type Header struct {
	Tool        string    // such as "mcptap 0.1.0"
	Started     time.Time // UTC
	Mode        string    // "reverse", "forward", "stdio", "pcap", "har", "replay", "corpus"
	To          string    // what --to named, credentials removed
	KeepSecrets bool      // nothing was redacted
	Case        *Case     // corpus files only
}

// A Case is what a corpus file says of itself.
type Case struct {
	Name, Row, Story, Source string
	Expect                   []Expect
}

// An Expect is what a policy must say of one exchange.
type Expect struct {
	Policy, Verdict, Rule string
	Exchange              int
	Outcome               string // of the conversation, "" if not judged
	Finding               string // an ID that must be reported, "" if none
}

// An End is a cassette's last line; a file without one was cut.
type End struct {
	At        time.Time
	Exchanges int
	Conns     int
	Redacted  int    // ranges replaced
	Repaired  bool   // written by repair
	Error     string // why recording stopped early, "" if it did not
}

// A Writer appends to a cassette. What was flushed is readable whatever happens next. It is not safe for concurrent use.
type Writer struct{}

// NewWriter writes the header and flushes it. plain: JSON lines as they are, else checksummed zstd frames.
func NewWriter(w io.Writer, h Header, plain bool) (*Writer, error) { panic("stub") }

// Write writes an exchange's first line. An exchange whose End is "" goes on: Append continues it.
func (w *Writer) Write(x *Exchange) error { panic("stub") }

// Append continues an exchange that Write began: x has the same Conn and Seq, and in Request.Raw and Response.Raw only the
// bytes that are new. Redacted, Edits, Notes hold only what is new; all offsets count from the exchange's first byte. A
// non-empty End replaces an earlier one.
func (w *Writer) Append(x *Exchange) error { panic("stub") }

// Flush makes everything written so far readable.
func (w *Writer) Flush() error { panic("stub") }

// Close writes the end line and flushes. It does not close the underlying writer.
func (w *Writer) Close(e End) error { panic("stub") }

// Limits bound what a Reader takes from a file that nobody vouches for; zero fields mean the defaults.
type Limits struct {
	Line  int   // bytes of one line; 64 MiB
	Total int64 // bytes of all lines; 16 GiB
	Ratio int   // decompressed to compressed; 2000, checked beyond 64 MiB
}

// A FormatError says what a file has that the format forbids.
type FormatError struct {
	Line int // from 1
	Want string
	Err  error
}

// Error is the error's text without the file's name, which the caller knows.
func (e *FormatError) Error() string { panic("stub") }

// A Reader reads a cassette: zstd, gzip or plain lines.
type Reader struct{}

// NewReader reads the header.
func NewReader(r io.Reader, lim Limits) (*Reader, error) { panic("stub") }

// Header returns the first line.
func (r *Reader) Header() Header { panic("stub") }

// All gives the exchanges as they become final: when their connection has gone on or ended, or at the end of the file.
// Memory is bounded by the exchanges of open connections. After a *FormatError nothing more is given; a cut file is no error.
func (r *Reader) All() iter.Seq2[*Exchange, error] { panic("stub") }

// End returns the end line, nil if the file was cut, which Cut then describes.
func (r *Reader) End() *End { panic("stub") }

// Cut says how the file broke off, "" if it did not. Valid after All.
func (r *Reader) Cut() string { panic("stub") }

// A Cassette is a whole file in memory, its exchanges in order of N.
type Cassette struct {
	Header    Header
	Exchanges []*Exchange
	End       *End   // nil: the file was cut
	Cut       string // how it broke off
}

// Read reads a whole cassette. What was read before a *FormatError is returned with it.
func Read(r io.Reader, lim Limits) (*Cassette, error) { panic("stub") }

// Repair copies all that is whole in a torn or corrupt cassette to w and closes it with an end line that says so. It
// reports how many exchanges were kept and what had to be left.
func Repair(r io.Reader, w io.Writer, lim Limits) (kept int, left string, err error) { panic("stub") }
