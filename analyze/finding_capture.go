package analyze

import (
	"slices"

	"github.com/mcptap/mcptap/har"
)

// findInCapture reports that a packet capture holds two copies of the same bytes of a connection, and not the same bytes in
// them: a retransmission that something on the way altered, or an attempt to show receivers and observers different bytes.
// Which copy a receiver takes RFC 9293 section 3.10.7.4 leaves to it.
func (a *analysis) findInCapture(f *facts) {
	if slices.Contains(f.notes, har.NoteConflict) {
		a.add(saying("capture-conflict"), "", f)
	}
}
