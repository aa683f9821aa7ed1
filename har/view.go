package har

import "github.com/mcptap/mcptap/har/wire"

// A View is what can be read from an exchange's bytes. What came after the client had left is not looked at.
type View struct {
	X                         *Exchange
	Request                   *wire.Message // nil without a whole request head
	Interim                   []wire.Message
	Response                  *wire.Message // the final response; nil without a whole head
	RequestTail, ResponseTail wire.Span     // bytes that belong to no message
	Late                      int           // response bytes that came after the client had left
	Complete                  Tri           // True: both whole by their own framing; False: known cut or no response
	Why                       string        // for Complete that is not True

	// unexported: memoised bodies
}

// View parses the exchange. The result refers to the exchange's bytes.
func (x *Exchange) View() *View { panic("stub") }

// RequestBody returns the request's payload with Content-Encoding undone.
func (v *View) RequestBody() []byte { panic("stub") }

// ResponseBody returns the final response's payload with Content-Encoding undone as far as it goes. err says what was
// left undone: an unknown or corrupt encoding, or a limit.
func (v *View) ResponseBody() ([]byte, error) { panic("stub") }

// SSE tells whether the final response is an event stream.
func (v *View) SSE() bool { panic("stub") }

// Events returns the events of an event-stream response; offsets are within ResponseBody.
func (v *View) Events() []wire.Event { panic("stub") }

// At maps a span of a body to a span of the exchange's raw bytes. ok is false where the body was encoded.
func (v *View) At(d wire.Dir, body wire.Span) (raw wire.Span, ok bool) { panic("stub") }

// DecodeContent undoes a Content-Encoding (gzip, deflate, br, zstd, identity, or a list of these) for reading. It gives
// what could be decoded together with an error, and at most max bytes.
func DecodeContent(encoding string, body []byte, max int) ([]byte, error) { panic("stub") }
