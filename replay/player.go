// Package replay serves recorded exchanges: the same bytes, cuts, gaps and endings.
package replay

import (
	"net"
	"time"

	"github.com/mcptap/mcptap/har"
)

// A Player serves the responses of recorded exchanges to a live client. Fields are set before Serve.
type Player struct {
	Exchanges []*har.Exchange
	Pace      float64         // recorded gaps are divided by it; 1 is as recorded; 0 means no gaps ("fast")
	Exact     bool            // refuse to patch ids: such a request is a miss
	Log       func(har.Event) // what happened, as events; nil to drop
	Notice    func(string)    // misses and patches in words, as they happen; nil to drop
	Now       func() time.Time
}

// A Miss is a request for which nothing recorded was left.
type Miss struct {
	Request string        // such as "POST /mcp tools/call"
	Nearest *har.Exchange // the nearest recording, never served; nil if there is none
	Differs string        // the first difference to it, in words
}

// A Patch is a change that was made to recorded bytes because the client chose another value.
type Patch struct {
	N        int // the exchange
	Off      int // in Response.Raw
	Old, New string
}

// A Result is what became of a replay.
type Result struct {
	Served   int
	Misses   []Miss
	Unserved []*har.Exchange
	Patches  []Patch
}

// Endpoint is the path and query of the recorded MCP endpoint, "/" if there is none.
func (p *Player) Endpoint() string { panic("stub") }

// Serve accepts connections until Close. It returns nil after Close.
func (p *Player) Serve(l net.Listener) error { panic("stub") }

// Close stops serving, ends all connections and waits for them.
func (p *Player) Close() error { panic("stub") }

// Result reports what was served, missed and left over so far.
func (p *Player) Result() Result { panic("stub") }
