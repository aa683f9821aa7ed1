package har

// A Redactor replaces secrets in exchanges by other bytes of the same length. One serves a whole recording: what it has
// once recognised as a secret it replaces wherever it appears later. It is not safe for concurrent use.
type Redactor struct{}

// NewRedactor returns a Redactor that knows no secrets yet.
func NewRedactor() *Redactor { panic("stub") }

// Pass redacts x in place from the offsets in from (request, response) on; what lies before has been stored. It appends to
// x.Redacted (also redacts x.URL) and returns up to which offsets the bytes may now be stored: all of them if final, else
// as far as no secret can be cut in two.
func (r *Redactor) Pass(x *Exchange, from [2]int, final bool) (upTo [2]int) { panic("stub") }
