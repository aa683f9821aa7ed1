package har

import (
	"fmt"

	"github.com/mcptap/mcptap/har/wire"
)

// An extent is how much there is of an exchange so far.
type extent struct {
	request, response int // bytes
	edited            int // up to where in the request there are edits
}

// plus is the extent with what add brings, whose ranges must point at bytes that are there then.
func (e extent) plus(add *Exchange) (extent, error) {
	e.request += len(add.Request.Raw)
	e.response += len(add.Response.Raw)
	for _, d := range add.Edits {
		if d.Off < e.edited || !within(d.Off, d.Len, e.request) {
			return e, want(fmt.Sprintf("_edits in order within the %d bytes of the request", e.request), fmt.Sprintf("got %d at %d", d.Len, d.Off))
		}
		e.edited = d.Off + d.Len
	}
	for _, r := range add.Redacted {
		have := e.request
		if r.Dir == wire.ToClient {
			have = e.response
		}
		if !within(r.Off, r.Len, have) {
			return e, want(fmt.Sprintf("_redacted within the %d bytes of the %s", have, r.Dir), fmt.Sprintf("got %d at %d", r.Len, r.Off))
		}
	}
	if add.End.timed() && (add.EndOff < 0 || add.EndOff > e.response) {
		return e, want(fmt.Sprintf("_endOff within the %d bytes of the response", e.response), fmt.Sprintf("got %d", add.EndOff))
	}
	return e, nil
}

func within(off, length, size int) bool {
	return off >= 0 && length >= 0 && length <= size && off <= size-length
}

// adds tells whether the lengths of the writes are not 0 and add up to that of the bytes.
func (s *Side) adds() bool {
	rest := len(s.Raw)
	for _, w := range s.Writes {
		if w.Len <= 0 || w.Len > rest {
			return false
		}
		rest -= w.Len
	}
	return rest == 0
}
