// Package proxy sits between a client and a server, passes every byte on, and reports what it saw as events.
//
// Nothing waits to be reported before it is forwarded, and all is reported in the order in which it was seen. Each client connection gets one
// connection to the server; how one of them ends (FIN, reset, over TLS a FIN with or without close_notify) is passed on to
// the other. Nothing is sent that did not come from one of the two sides, but for what a forward proxy has to say itself:
// the answer to CONNECT, and words where a request cannot be passed on.
package proxy

import (
	"crypto/tls"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcptap/mcptap/har"
)

// A Reverse is the reverse door: clients are given its address in place of the server's. Each client connection gets one
// connection to the server, dialled as soon as the client has connected. The only bytes it changes are the values of Host
// lines, which it declares in Event.Edits. Fields are set before Serve.
//
// The last event of every connection has End EndStopped, or EndUnknown where the server could not be reached.
type Reverse struct {
	To     *url.URL             // http or https; the path is not used
	TLS    *tls.Config          // for https: who is trusted; NextProtos is set to http/1.1
	Record func(har.Event)      // called in the order in which things were seen on each connection
	Offer  func(har.Event) bool // Record, but false if that would have to wait; nil: it always would. Keeps requests of all connections in order
	Notice func(string)         // one sentence for a person, nil to drop; one that was just said is not repeated
	Dial   Dialer               // nil: straight
	Now    func() time.Time
	Name   string         // which of several servers it is, for the recording; "" for one
	Conns  *atomic.Uint64 // the connections so far, shared by doors that record into one cassette; nil: a count of its own

	times     times // usualTimes if zero
	once      sync.Once
	hall      hall
	endpoints endpointWatch
}

func (r *Reverse) init() {
	r.once.Do(func() {
		r.hall.open(door{record: r.Record, offer: r.Offer, now: r.Now, times: r.times}, r.Conns, r.Notice)
		r.endpoints.own, r.endpoints.say = r.hall.isOwn, r.hall.notice
	})
}

// Serve accepts connections until Close. It returns nil after Close.
func (r *Reverse) Serve(l net.Listener) error {
	r.init()
	return r.hall.take(l, r.serve)
}

// Close stops accepting, ends all connections, and waits until the last event has been recorded. What a peer had ended
// before is recorded as that. A client in the middle of a response sees a reset, any other a FIN.
func (r *Reverse) Close() error {
	r.init()
	return r.hall.close()
}

// serve is one connection from the client's connect to the last event.
func (r *Reverse) serve(c net.Conn, id uint64) {
	h := &r.hall
	up, dialled, err := r.connect()
	t := h.tape()
	base := r.To.Scheme + "://" + r.To.Host
	t.Saw(har.Event{Conn: id, At: h.now(), Open: &har.Conn{Client: c.RemoteAddr().String(), Server: dialled, Name: r.Name, Base: base}})
	switch {
	case h.ctx.Err() != nil:
		c.Close()
		if up != nil {
			up.sock.Close()
		}
	case err != nil:
		f := explain(dialled, err)
		h.notice(f.words)
		h.turnAway(c, id, t, f)
	default:
		y := newRelay(&h.door, id, newLeg(c), up, t, headEditor{authority: r.To.Host})
		y.endpoints = r.endpoints.scan()
		h.relay(y)
	}
}

// connect opens the connection to the server. dialled is its host:port.
func (r *Reverse) connect() (up *leg, dialled string, err error) {
	dialled = hostPort(r.To)
	sock, err := r.hall.dial(r.Dial, dialled)
	if err != nil {
		return nil, dialled, err
	}
	if r.To.Scheme != "https" {
		return newLeg(sock), dialled, nil
	}
	up, err = r.hall.secure(sock, r.TLS, r.To.Hostname(), []string{http11})
	return up, dialled, err
}
