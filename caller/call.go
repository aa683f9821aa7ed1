// Package caller plays the client's side: it sends requests to a live server as the bytes they are, and takes down what
// comes back as exchanges. Resend sends what was recorded once more; Visit asks what a measured client would ask.
package caller

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// Bounds of a Caller.
const (
	MaxAnswer = 16 << 20  // bytes of one answer; behind them the call is left
	MaxTotal  = 256 << 20 // bytes of all answers; behind them nothing more is sent
)

// lingering is how long an ending that the server has announced is waited for.
const lingering = time.Second

// A Caller sends requests to one server. Its fields are set before the first call, and calls are sent by one goroutine.
type Caller struct {
	Dial   func() (net.Conn, error) // opens a connection
	Base   string                   // the server's origin, such as "http://127.0.0.1:3000"
	Now    func() time.Time         // time.Now if nil
	Answer int                      // bytes of one answer at most; MaxAnswer if 0

	mu    sync.Mutex // guards what follows
	n     int        // exchanges
	conns uint64
	total int
	calls map[*Call]bool // that have not ended
	over  bool           // Stop was called
	open  sync.WaitGroup
}

// ErrSpent tells that the answers so far were as many bytes as all may be.
var ErrSpent = errors.New("the answers so far hold as many bytes as all may (256 MiB): nothing more is sent")

// ErrStopped tells that Stop was called.
var ErrStopped = errors.New("stopped")

// A Call is one request that was sent, and what has come back so far.
type Call struct {
	done chan struct{}

	mu      sync.Mutex // guards what follows
	x       har.Exchange
	conn    net.Conn
	left    bool   // we have closed the connection
	trouble string // why the call was left, where that was not its caller's choice
	more    chan struct{}
}

// Send sends a request whole, on a connection of its own: on one that is used again, nobody could tell a server that answers by
// an ending from one that had ended the connection before, and a request that may have been carried out is not sent twice.
func (c *Caller) Send(request []byte) (*Call, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.over:
		return nil, ErrStopped
	case c.total >= MaxTotal:
		return nil, ErrSpent
	}
	c.n++
	call := &Call{done: make(chan struct{}), more: make(chan struct{})}
	call.x = har.Exchange{N: c.n, Started: c.now(), Server: serverOf(c.Base)}
	call.x.Request = har.Side{Raw: request, Writes: []har.Write{{Len: len(request)}}}
	if c.calls == nil {
		c.calls = map[*Call]bool{}
	}
	c.calls[call] = true
	c.open.Go(func() {
		defer close(call.done)
		c.run(call)
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.calls, call)
	})
	return call, nil
}

// Stop leaves all calls; further ones are refused. It may be called by any goroutine.
func (c *Caller) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	for call := range c.calls {
		call.Leave()
	}
}

// Close waits for all calls, which have ended or been left.
func (c *Caller) Close() { c.open.Wait() }

func (c *Caller) now() time.Time {
	now := time.Now
	if c.Now != nil {
		now = c.Now
	}
	return now().UTC().Truncate(time.Microsecond)
}

func serverOf(base string) string {
	_, at, _ := strings.Cut(base, "://")
	return at
}

// run brings one call to its end.
func (c *Caller) run(call *Call) {
	defer call.derive(c.Base)
	conn, err := c.Dial()
	if err != nil {
		call.unreachable()
		return
	}
	c.exchange(call, conn)
}

// exchange sends the request and reads until the answer is whole, the connection ends, the call is left, or there is too
// much.
func (c *Caller) exchange(call *Call, l net.Conn) {
	c.mu.Lock()
	c.conns++
	id := c.conns
	c.mu.Unlock()
	call.begin(l, id)
	var slicer wire.Slicer
	slicer.Feed(wire.ToServer, call.x.Request.Raw)
	wrote := make(chan struct{})
	go func() {
		l.Write(call.x.Request.Raw) // what fails here is seen by the reader
		close(wrote)
	}()
	defer func() {
		l.Close() // the server may have answered without reading
		<-wrote
	}()
	most := c.Answer
	if most == 0 {
		most = MaxAnswer
	}
	buf := make([]byte, 32<<10)
	for whole, ending := false, false; ; {
		n, err := l.Read(buf)
		if n > 0 {
			c.count(n)
			for _, p := range slicer.Feed(wire.ToClient, buf[:n]) {
				whole = whole || p.Done
			}
			call.add(buf[:n], c.now())
		}
		switch {
		case err != nil:
			if end := har.ReadEnding(err); end == har.EndFIN || end == har.EndNoCloseNotify {
				for _, p := range slicer.Close(wire.ToClient) {
					whole = whole || p.Done
				}
			}
			call.end(err, whole, c.now())
			return
		case len(call.x.Response.Raw) > most:
			call.leave("the answer is larger than " + size(most))
			call.end(net.ErrClosed, whole, c.now())
			return
		case whole && !ending:
			if call.keeps() {
				call.end(nil, true, c.now())
				return
			}
			ending = true
			l.SetReadDeadline(time.Now().Add(lingering))
		}
	}
}

func (c *Caller) count(n int) {
	c.mu.Lock()
	c.total += n
	c.mu.Unlock()
}

func (c *Call) begin(l net.Conn, id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn = l
	c.x.Conn, c.x.Seq = id, 1
	if a := l.LocalAddr(); a != nil {
		c.x.Client = a.String()
	}
	if c.left {
		l.Close()
	}
}

func (c *Call) unreachable() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.x.End, c.x.Notes = har.EndRST, []string{har.NoteUpstream + ": unreachable"}
}

func (c *Call) derive(base string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	har.FillDerived(&c.x, base)
}

func (c *Call) add(p []byte, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	side := &c.x.Response
	side.Raw = append(side.Raw, p...)
	side.Writes = append(side.Writes, har.Write{At: max(0, at.Sub(c.x.Started)), Len: len(p)})
	close(c.more)
	c.more = make(chan struct{})
}

// keeps tells whether the server goes on with the connection behind a whole answer (RFC 9112 section 9.3).
func (c *Call) keeps() bool {
	_, m, tail := wire.ParseResponse(c.x.Response.Raw, c.method(), false)
	return m != nil && m.Proto == "HTTP/1.1" && m.Framing != wire.Tunnel && tail.Len == 0 &&
		!strings.Contains(strings.ToLower(m.Get("Connection")), "close")
}

func (c *Call) method() string {
	word, _, _ := strings.Cut(string(c.x.Request.Raw[:min(len(c.x.Request.Raw), 32)]), " ")
	return word
}

// end takes note of how the connection ended; err nil: it goes on.
func (c *Call) end(err error, whole bool, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := &c.x
	x.EndAt, x.EndOff = max(0, at.Sub(x.Started)), len(x.Response.Raw)
	switch {
	case err == nil:
		x.End, x.EndAt, x.EndOff = har.EndKeep, 0, 0
	case c.left:
		x.End = har.EndClientFIN
	default:
		if x.End = har.ReadEnding(err); x.End == har.EndUnknown || x.End == har.EndStopped {
			x.End = har.EndClientFIN // the server announced an end that did not come
		}
	}
}

// Leave closes the connection, unless the call has ended.
func (c *Call) Leave() { c.leave("") }

func (c *Call) leave(why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended() {
		return
	}
	c.left, c.trouble = true, why
	if c.conn != nil {
		c.conn.Close()
	}
}

func (c *Call) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// Exchange is what became of a call that has ended, nil before.
func (c *Call) Exchange() *har.Exchange {
	if !c.ended() {
		return nil
	}
	return &c.x
}

// SoFar is a copy of the exchange as far as it has come.
func (c *Call) SoFar() *har.Exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.x
	x.Response.Raw = x.Response.Raw[:len(x.Response.Raw):len(x.Response.Raw)]
	return &x
}

// Trouble says why a call was left that nobody wanted to leave, "" if it was not.
func (c *Call) Trouble() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.trouble
}

// Whole waits until the call has ended. After that long it is left, and false returned.
func (c *Call) Whole(atMost time.Duration) bool {
	t := time.NewTimer(atMost)
	defer t.Stop()
	select {
	case <-c.done:
		return true
	case <-t.C:
		c.Leave()
		<-c.done
		return false
	}
}

// looksApart is the time between two looks at a stream that is being waited for, so that many small writes cost little.
const looksApart = 20 * time.Millisecond

// Until waits until what has come satisfies enough, or the call has ended, at most that long. It does not leave.
func (c *Call) Until(atMost time.Duration, enough func(*har.Exchange) bool) bool {
	t := time.NewTimer(atMost)
	defer t.Stop()
	for {
		c.mu.Lock()
		more := c.more
		c.mu.Unlock()
		if enough(c.SoFar()) {
			return true
		}
		select {
		case <-c.done:
			return enough(&c.x)
		case <-t.C:
			return false
		case <-more:
		}
		select {
		case <-c.done:
		case <-time.After(looksApart):
		}
	}
}

// Headed tells whether the head of the final response has come.
func Headed(x *har.Exchange) bool {
	_, m, _ := wire.ParseResponse(x.Response.Raw, x.Method, false)
	return m != nil
}

func size(n int) string {
	if n < 1<<20 {
		return strconv.Itoa(n) + " bytes"
	}
	return strconv.Itoa(n>>20) + " MiB"
}
