package proxy

import (
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// unseen tells whether a side has ended and nobody has read that yet.
func (r *relay) unseen() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for d, src := range [...]*leg{wire.ToServer: r.client, wire.ToClient: r.server} {
		if !r.fin[d] && !r.reset[d] && har.Ended(src.sock) {
			return true
		}
	}
	return false
}

// breakOff is stop where nobody has ended the connection: what has arrived is passed on first. A client in the middle of a
// response is sent a reset, behind what there is of the response: a FIN would say that it is whole.
func (r *relay) breakOff() {
	until := time.Now().Add(r.door.drainStopped)
	r.mu.Lock()
	r.closed = true
	r.client.sock.SetReadDeadline(past)
	if r.fin[wire.ToServer] && !r.passed {
		r.server.sock.SetReadDeadline(time.Now().Add(r.door.lastWords))
	} else {
		r.server.sock.SetReadDeadline(past)
	}
	r.mu.Unlock()
	r.waitUntil(r.ended, until)
	r.lookBehindFIN(until)
	r.mu.Lock()
	r.tape.Last(har.Event{Conn: r.id, At: r.door.now(), End: har.EndStopped})
	r.broken = r.reset[wire.ToClient] || !r.fin[wire.ToClient] && !r.head.slicer.Idle(wire.ToClient)
	broken := r.broken
	r.mu.Unlock()
	r.stop()
	if broken {
		r.waitUntil(r.answered, until)
		har.Reset(r.client.sock, time.Until(until))
	}
}

func (r *relay) waitUntil(done chan struct{}, until time.Time) {
	most := time.NewTimer(time.Until(until))
	defer most.Stop()
	select {
	case <-done:
	case <-most.C:
	}
}

// lookBehindFIN waits for what the client makes of bytes that came behind its FIN: a reset if it has left.
func (r *relay) lookBehindFIN(until time.Time) {
	select {
	case <-r.ended:
	default:
		return
	}
	r.mu.Lock()
	late := r.late
	r.mu.Unlock()
	if !late {
		return
	}
	har.Drain(r.client.conn, time.Until(until))
	har.AwaitEnd(r.client.conn, time.Until(until))
	if r.client.wasReset() {
		r.sawReset(wire.ToServer)
	}
}

// stop ends both connections, whatever state they are in, and the tape.
func (r *relay) stop() {
	r.mu.Lock()
	r.tape.Last(har.Event{Conn: r.id, At: r.door.now(), End: har.EndStopped})
	broken := r.broken
	r.mu.Unlock()
	if !broken {
		r.client.sock.Close()
	}
	r.server.sock.Close()
	r.tape.Hand()
}
