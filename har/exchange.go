package har

import (
	"time"

	"github.com/mcptap/mcptap/har/wire"
)

// An Exchange is one HTTP request and all that came back for it. Bytes are the truth; View derives the rest.
type Exchange struct {
	N       int       // place by arrival of the request's first byte, from 1; fixed at that moment
	Conn    uint64    // the connection it was on, from 1
	Seq     int       // its place on that connection, from 1
	Started time.Time // the first byte, UTC, microseconds

	Client, Server string // host:port
	Name           string // which of Header.Servers it was with; "" where there was one
	Method         string // copied from the request for readers that do not parse; "" if unparseable
	URL            string // absolute: where the bytes went; "" if unparseable
	Status         int    // of the final response; 0 if none
	MediaType      string // of the final response, lower case, without parameters

	Request, Response Side // Response: interim responses, the final one, and bytes after its end

	End    Ending
	EndAt  time.Duration // since Started; valid iff End is neither EndKeep nor EndUnknown
	EndOff int           // response bytes that had come when the ending was seen; what lies behind came too late

	Off int64 // stdio: how many bytes the server had written to its stdout before Response

	Edits    []Edit      // in Request as the client sent it; applying them gives the server's leg
	Redacted []Redaction // ranges whose bytes were replaced before they were stored
	Notes    []string    // such as "upstream: refused"; the words are listed in docs/format.md
}

// A Side is the bytes of one direction of an exchange, as they were on the wire but for redaction.
type Side struct {
	Raw    []byte
	Writes []Write // how they were cut; lengths add up to len(Raw)
}

// ServerLeg is the request as the server got it: Request.Raw with Edits applied.
func (x *Exchange) ServerLeg() []byte {
	if len(x.Edits) == 0 {
		return x.Request.Raw
	}
	var out []byte
	at := 0
	for _, e := range x.Edits {
		out = append(out, x.Request.Raw[at:e.Off]...)
		out = append(out, e.New...)
		at = e.Off + e.Len
	}
	return append(out, x.Request.Raw[at:]...)
}

func (x *Exchange) side(d wire.Dir) *Side {
	if d == wire.ToServer {
		return &x.Request
	}
	return &x.Response
}

// A Write is one run of bytes that was seen at one instant.
type Write struct {
	At  time.Duration // since Started, microseconds; never negative
	Len int
}

// A Redaction is a range that was replaced by other bytes of the same length.
type Redaction struct {
	Dir  wire.Dir
	Off  int
	Len  int
	Kind string // such as "authorization", "session", "body-encoded"
}

// A Tri is true, false, or cannot tell (the zero value).
type Tri int8

const (
	Unknown Tri = 0
	True    Tri = 1
	False   Tri = -1
)
