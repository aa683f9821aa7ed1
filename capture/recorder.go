// Package capture turns what a source saw ([har.Event]) into exchanges and keeps them in a cassette.
package capture

import (
	"time"

	"github.com/mcptap/mcptap/har"
)

// A Recorder turns events into exchanges, redacts them and writes them to a cassette, in a goroutine of its own.
type Recorder struct {
	Now     func() time.Time // for flushing; time.Now if nil
	OnError func(error)      // called once, when recording has failed; events are then dropped
}

// NewRecorder starts a recorder that writes to w. redact is nil to keep secrets.
func NewRecorder(w *har.Writer, redact *har.Redactor) *Recorder { panic("stub") }

// Record hands over one event. It copies e.Bytes, keeps the order of the calls, and waits only while more than the stated
// bound of bytes is queued. It may be called from many goroutines.
func (r *Recorder) Record(e har.Event) { panic("stub") }

// Close ends what is still open as capture-stopped, writes the end line and flushes.
func (r *Recorder) Close() error { panic("stub") }
