// Package proxy sits between a client and a server, passes every byte on, and reports what it saw as events.
package proxy

import (
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"time"

	"github.com/mcptap/mcptap/har"
)

// A Reverse is the reverse door: clients are given its address in place of the server's. Each client connection gets one
// connection to the server. The only bytes it changes are the values of Host lines, which it declares in Event.Edits.
type Reverse struct {
	To     *url.URL        // http or https; the path is not used
	TLS    *tls.Config     // for https: who is trusted; NextProtos is set to http/1.1
	Record func(har.Event) // called in the order in which things were seen on each connection
	Notice func(string)    // one sentence for a person, nil to drop
	Dial   func(ctx context.Context, network, addr string) (net.Conn, error)
	Now    func() time.Time
}

// Serve accepts connections until Close. It returns nil after Close.
func (r *Reverse) Serve(l net.Listener) error { panic("stub") }

// Close stops accepting, ends all connections, and waits until the last event has been recorded.
func (r *Reverse) Close() error { panic("stub") }
