// Package wire finds messages in bytes: HTTP/1.1 messages on a connection ([Slicer], RFC 9112), events in an event
// stream ([Splitter], WHATWG HTML section 9.2) and JSON-RPC 2.0 messages in a body ([ParseRPC]).
//
// It does no I/O and has no clock. Bytes go in, offsets come out; how the bytes were cut on their way in never changes
// what is found. Nothing is altered or repaired: what cannot be parsed is reported as opaque and keeps its place.
package wire

// A Dir is the way bytes went on a connection.
type Dir uint8

const (
	ToServer Dir = iota // from the client: requests
	ToClient            // from the server: responses
)

// String gives "request" for ToServer and "response" for ToClient, the words of the command line and of cassettes.
func (d Dir) String() string {
	if d == ToServer {
		return "request"
	}
	return "response"
}

// A Span is a run of bytes: [Off, Off+Len).
type Span struct{ Off, Len int }

// End is the offset behind the last byte.
func (s Span) End() int { return s.Off + s.Len }
