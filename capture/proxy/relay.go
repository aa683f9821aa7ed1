package proxy

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcptap/mcptap/capture"
	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// Times bound what is left of a connection once one side has ended it. Nothing bounds a connection that both keep open.
type times struct {
	drainAnswer  time.Duration // for the client to take the last bytes before the server's reset is passed on
	drainRequest time.Duration // the same towards the server
	lateQuiet    time.Duration // behind the client's FIN and reset, the server is read until it is quiet for this long,
	lateMost     time.Duration // for this long in all; then the reset is passed on
	halfServer   time.Duration // silence of the server behind the client's FIN
	halfClient   time.Duration // silence of the client behind the server's FIN
	settle       time.Duration // at Close, for endings that have arrived to be read
	drainStopped time.Duration // at Close, for the client to take what there is of an unfinished response
	lastWords    time.Duration // at Close, for a server to end behind its client's FIN
	sweep        time.Duration // to read what had arrived when it was time to read no more
}

// usualTimes: Linux keeps a socket that was closed and whose peer has not ended for a minute, too.
var usualTimes = times{
	drainAnswer: time.Minute, drainRequest: time.Second, lateQuiet: time.Second, lateMost: 5 * time.Second,
	halfServer: 5 * time.Minute, halfClient: time.Minute, settle: time.Second,
	drainStopped: 250 * time.Millisecond, lastWords: 100 * time.Millisecond, sweep: 10 * time.Millisecond,
}

// maxSweeps is how often reading goes on behind its time because bytes had arrived: a server that never pauses has no end of them.
const maxSweeps = 5

// stuckAfter is from when on a write to the server is looked at.
const stuckAfter = 250 * time.Millisecond

// Sizes of the buffers that bytes are read into: large while the reads fill small.
const (
	smallRead = 16 << 10
	largeRead = 64 << 10
)

// A relay is one client connection and the connection to the server that belongs to it. It runs two goroutines, one for
// each direction.
type relay struct {
	door           *door
	id             uint64
	client, server *leg
	tape           *capture.Tape
	writing        atomic.Int64        // since when a write to the server has been going on, Unix nanoseconds; 0 if none is
	answered       chan struct{}       // closed when nothing more is passed on to the client
	ended          chan struct{}       // closed when nothing more is read
	refusing       func(origin string) // told of a request for another origin; nil: nobody is

	endpoints *endpointScan // looks at what the server sends; nil: nothing does

	mu     sync.Mutex // guards what follows, and makes the tape's order that of head
	head   headEditor
	fin    [2]bool   // by wire.Dir: who has ended by FIN
	shut   [2]bool   // whose FIN has been passed on
	reset  [2]bool   // who has reset
	late   bool      // response bytes came behind the client's FIN
	until  time.Time // valid iff fin and reset of the client: when to stop reading the server
	passed bool      // the last reset was passed on
	done   [2]bool   // by wire.Dir: whose source is no longer read
	closed bool      // breakOff ends the connections
	broken bool      // the client's by a reset
	turned bool      // a request for another origin was refused
}

func newRelay(d *door, id uint64, client, server *leg, t *capture.Tape, head headEditor) *relay {
	return &relay{door: d, id: id, client: client, server: server, tape: t, answered: make(chan struct{}), ended: make(chan struct{}), head: head}
}

// legs gives where bytes of direction d come from and where they go.
func (r *relay) legs(d wire.Dir) (src, dst *leg) {
	if d == wire.ToServer {
		return r.client, r.server
	}
	return r.server, r.client
}

// run carries bytes until both sides have ended.
func (r *relay) run() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.pump(wire.ToServer)
	}()
	r.pump(wire.ToClient)
	close(r.answered)
	<-done
	close(r.ended)
	r.mu.Lock()
	closed, owed := r.closed, r.reset[wire.ToServer] && !r.passed
	r.mu.Unlock()
	switch {
	case owed:
		r.passReset(wire.ToServer)
	case !closed:
		r.stop()
	}
}

// pump carries the bytes of one direction until their source ends, and passes the ending on.
func (r *relay) pump(d wire.Dir) {
	err := r.carry(d)
	r.mu.Lock()
	r.done[d] = true
	r.mu.Unlock()
	if err == nil {
		return
	}
	src, _ := r.legs(d)
	switch end := src.ending(err); {
	case end == har.EndStopped:
	case errors.Is(err, os.ErrDeadlineExceeded):
		r.quiet(d)
	case end == har.EndFIN, end == har.EndNoCloseNotify:
		r.sawFIN(d, end)
	case end == har.EndRST:
		r.sawReset(d)
	default:
		r.sawLoss(d, err)
	}
}

// carry reads, passes on and reports, until a read fails. It returns nil when the server has reset: that is for the other
// direction to find, behind what the server sent before.
func (r *relay) carry(d wire.Dir) error {
	src, dst := r.legs(d)
	in := newReader(src.conn)
	defer in.release()
	for sweeps := 0; ; {
		p, err := in.read()
		if n := len(p); n > 0 {
			out, wanted := r.saw(d, p)
			if d == wire.ToServer {
				r.tape.HandNow()
			}
			if wanted && len(out) > 0 {
				wanted = r.pass(d, dst, out)
			}
			r.tape.Hand()
			r.refuse()
			if d == wire.ToClient {
				r.endpoints.saw(p)
			}
			if !wanted && d == wire.ToServer {
				return nil
			}
			in.used(n)
		}
		switch {
		case err == nil:
		case sweeps < maxSweeps && errors.Is(err, os.ErrDeadlineExceeded) && har.Unread(src.sock):
			sweeps++
			src.sock.SetReadDeadline(time.Now().Add(r.door.sweep))
		default:
			return err
		}
	}
}

// saw gives bytes their place on the tape and returns what is to be passed on of them, if anybody still wants it.
func (r *relay) saw(d wire.Dir, p []byte) (out []byte, wanted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := har.Event{Conn: r.id, Dir: d, At: r.door.now(), Bytes: p}
	out, wanted = p, !r.reset[1-d]
	switch {
	case d == wire.ToClient:
		r.head.response(p)
		r.late = r.late || r.fin[wire.ToServer]
	case wanted:
		out, e.Edits = r.head.request(p)
	default:
		return nil, false
	}
	r.tape.Saw(e)
	if r.fin[1-d] {
		r.rearm(d)
	}
	return out, wanted
}

// pass writes to dst. It is false if dst's peer is gone.
func (r *relay) pass(d wire.Dir, dst *leg, out []byte) bool {
	if d == wire.ToServer {
		r.writing.Store(time.Now().UnixNano())
		defer r.writing.Store(0)
	}
	gone, err := dst.write(out)
	if err == nil {
		return true
	}
	r.mu.Lock()
	ended := r.fin[1-d]
	r.mu.Unlock()
	if gone && ended {
		r.sawReset(1 - d)
	}
	return false
}

// rearm sets how long the source of d may be silent now that the other side has ended. mu is held.
func (r *relay) rearm(d wire.Dir) {
	src, _ := r.legs(d)
	now := time.Now()
	at := now.Add(r.door.halfServer)
	switch {
	case r.passed, r.closed:
		return
	case d == wire.ToServer:
		at = now.Add(r.door.halfClient)
	case r.reset[wire.ToServer]:
		if at = now.Add(r.door.lateQuiet); r.until.Before(at) {
			at = r.until
		}
	}
	src.sock.SetReadDeadline(at)
}

// sawFIN passes a FIN on. While the other direction goes on, it waits for a reset behind the FIN.
func (r *relay) sawFIN(d wire.Dir, end har.Ending) {
	src, dst := r.legs(d)
	r.mu.Lock()
	r.tape.Saw(har.Event{Conn: r.id, Dir: d, At: r.door.now(), End: end})
	r.fin[d] = true
	both := r.fin[1-d]
	if !both {
		r.rearm(1 - d)
	}
	held := r.head.flush(d)
	r.mu.Unlock()
	if len(held) > 0 {
		dst.write(held)
	}
	dst.closeWrite(end)
	r.tape.Hand()
	switch {
	case both && r.refused(d, dst, r.door.drainRequest):
		r.sawReset(1 - d)
		r.passReset(1 - d)
	case r.shutBoth(d):
		r.stop()
	case src.awaitReset():
		r.sawReset(d)
	}
}

// refused tells, behind dst's FIN, whether dst has answered the last bytes with a reset: it had not half-closed but left. A client
// that closes a TLS connection sends a close_notify before: it is given the time to do the rest.
func (r *relay) refused(d wire.Dir, dst *leg, rest time.Duration) bool {
	r.mu.Lock()
	late := d == wire.ToClient && r.late
	r.mu.Unlock()
	if late {
		har.Drain(dst.conn, r.door.drainRequest)
		har.AwaitEnd(dst.conn, rest)
	}
	return dst.wasReset()
}

// shutBoth notes that the FIN of d has been passed on and tells whether that was the second one.
func (r *relay) shutBoth(d wire.Dir) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shut[d] = true
	return r.shut[1-d]
}

// sawReset passes a reset on: the server's when the client has taken all that came before it, the client's when what the
// server has sent was read; behind the client's FIN, also what still comes.
func (r *relay) sawReset(d wire.Dir) {
	if d == wire.ToClient && r.refused(d, r.client, r.door.sweep) {
		r.sawReset(wire.ToServer)
	}
	r.mu.Lock()
	if r.reset[d] {
		r.mu.Unlock()
		return
	}
	r.reset[d] = true
	r.tape.Saw(har.Event{Conn: r.id, Dir: d, At: r.door.now(), End: har.EndRST})
	waits := true
	switch {
	case d == wire.ToServer && r.fin[d]:
		r.until = time.Now().Add(r.door.lateMost)
		r.rearm(wire.ToClient)
	case d == wire.ToServer && !r.done[wire.ToClient]:
		r.server.sock.SetReadDeadline(past)
	default:
		waits = false
	}
	r.mu.Unlock()
	r.tape.Hand()
	if !waits {
		r.passReset(d)
	}
}

// sawLoss passes on, as a reset, that a connection broke in another way, such as by a TLS alert or a timeout. A server that
// complains of how the client has left is not lost: the client ended the connection.
func (r *relay) sawLoss(d wire.Dir, err error) {
	r.mu.Lock()
	left := r.fin[wire.ToServer]
	r.mu.Unlock()
	if d == wire.ToClient && !left {
		r.tape.Last(har.Event{Conn: r.id, Dir: d, At: r.door.now(), End: har.EndUnknown, Note: explain("", err).note})
	}
	r.sawReset(d)
}

// passReset resets the leg that bytes of direction d went to, and ends the relay.
func (r *relay) passReset(d wire.Dir) {
	src, dst := r.legs(d)
	r.mu.Lock()
	again := r.passed
	r.passed = true
	dst.sock.SetReadDeadline(past) // what it still sends can no longer be passed on
	r.mu.Unlock()
	if again {
		return
	}
	src.sock.Close()
	atMost := r.door.drainRequest
	if d == wire.ToClient {
		atMost = r.door.drainAnswer
	}
	har.Reset(dst.sock, atMost)
	r.stop()
}

// quiet ends a direction that has been silent for too long behind the other side's end.
func (r *relay) quiet(d wire.Dir) {
	r.mu.Lock()
	passed, gone, closed := r.passed, r.reset[1-d], r.closed
	r.mu.Unlock()
	switch {
	case passed:
	case gone:
		r.passReset(1 - d)
	case closed:
	default:
		r.stop()
	}
}

// stuck tells whether a write to the server has been waiting for a while.
func (r *relay) stuck(now time.Time) bool {
	since := r.writing.Load()
	return since != 0 && now.Sub(time.Unix(0, since)) >= stuckAfter
}

// lookForReset passes on a reset by a client whose connection nobody reads at the moment.
func (r *relay) lookForReset() {
	if har.Gone(r.client.sock) && r.client.wasReset() {
		r.sawReset(wire.ToServer)
	}
}
