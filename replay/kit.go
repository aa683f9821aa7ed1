package replay

import (
	"bytes"
	"fmt"
	"net"
	"net/url"
	"os"
	"sync"

	"github.com/mcptap/mcptap/har"
)

// A Kit is what a Server borrows for Expect, Observed and Record from packages that this one may not import: the recorder,
// the door and the analyzer. Package replay/testkit provides it, as a database driver provides itself.
type Kit struct {
	Assemble func(events []har.Event) ([]*har.Exchange, error)          // what was logged, as exchanges
	Observe  func(xs []*har.Exchange) (Observed, error)                 // what the client did
	Expect   func(xs []*har.Exchange, want string) error                // nil if that is what the client did
	Door     func(to *url.URL, l net.Listener, f *os.File) func() error // records into f what passes l, until the result is called
}

var kit *Kit

// Equip makes a Kit available to all Servers. It is called from init functions.
func Equip(k Kit) { kit = &k }

const howToEquip = `add import _ "github.com/mcptap/mcptap/replay/testkit" to the test`

// Observed is what a client was seen to do in one run.
type Observed struct {
	Outcome   string          // how its first connect ended: modern, legacy, failed, unknown
	Version   string          // the protocol version agreed on; "" if none was
	Findings  []string        // the IDs of what a person should read, in order
	Exchanges []*har.Exchange // what went over the wire, in order of requests
}

// maxEvents is how many bytes of one test's traffic are kept for Expect and Observed.
const maxEvents = 256 << 20

// events keeps what a Player logs.
type events struct {
	mu   sync.Mutex
	list []har.Event
	size int
	over bool
}

func (s *events) add(e har.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size += len(e.Bytes) + 128; s.size > maxEvents {
		s.over = true
		return
	}
	e.Bytes = bytes.Clone(e.Bytes)
	s.list = append(s.list, e)
}

func (s *events) all() ([]har.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil, fmt.Errorf("more than %d MiB of traffic in one test: it is not judged", maxEvents>>20)
	}
	return s.list, nil
}
