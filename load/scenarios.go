package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A scenario is one kind of load on one recording. drive says in words what was measured; the bytes that clients saw are in the
// ledger, and the cassette must have the same.
type scenario struct {
	name  string
	drive func(l *load) (figures string, err error)
	legs  legs
}

// Legs says which of the two legs have TLS. Clients speak it through the CONNECT door, else they take the reverse door.
type legs struct{ client, server bool }

// A load is a scenario at work.
type load struct {
	*recording
	origin *origin
	legs   legs
	scale  int // 1 is the whole load, more a part of it

	mu   sync.Mutex // guards what follows
	want ledger
}

var scenarios = []scenario{
	{name: "streams", drive: (*load).streams},
	{name: "streams-server", drive: (*load).streams, legs: legs{server: true}},
	{name: "streams-both", drive: (*load).streams, legs: legs{client: true, server: true}},
	{name: "short", drive: (*load).short},
	{name: "big", drive: (*load).big},
	{name: "slow-client", drive: (*load).slowClient},
	{name: "silent", drive: (*load).silent},
	{name: "half-open", drive: (*load).halfOpen},
	{name: "one-connection", drive: (*load).oneConnection},
	{name: "stopped", drive: (*load).stopped},
}

// A client is a connection whose bytes are noted.
type client struct {
	net.Conn
	in *bufio.Reader
	t  *traffic
}

func (l *load) client() (*client, error) {
	c, err := l.dial()
	if err == nil && l.legs.client {
		c, err = throughTunnel(c, l.origin.l.Addr().String())
	}
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	addr := c.LocalAddr().String()
	t := l.want[addr]
	if t == nil { // else the port was that of a connection before, whose bytes stand before these
		t = newTraffic()
		l.want[addr] = t
	}
	return &client{Conn: c, in: bufio.NewReaderSize(c, 512), t: t}, nil
}

func (c *client) ask(p []byte) error {
	c.t.send(p)
	_, err := c.Write(p)
	return err
}

// expect reads exactly these bytes.
func (c *client) expect(want []byte) error {
	got := make([]byte, len(want))
	n, err := io.ReadFull(c.in, got)
	c.t.get(got[:n])
	switch {
	case err != nil:
		return fmt.Errorf("after %d of %d bytes: %w", n, len(want), err)
	case !bytes.Equal(got, want):
		return fmt.Errorf("got %.80q, want %.80q", got, want)
	}
	return nil
}

// each runs n clients, at most width at once, and returns their errors.
func (l *load) each(n, width int, run func(i int, c *client) error) error {
	var next atomic.Int64
	errs := make([]error, width)
	var wg sync.WaitGroup
	for w := range width {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				c, err := l.client()
				if err == nil {
					err = run(i, c)
				}
				if err != nil {
					errs[w] = fmt.Errorf("client %d: %w", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// idleMost is what an idle stream may cost in plain HTTP, idleTLS what each leg with TLS may add: crypto/tls keeps a record it has read.
const (
	idleMost = 24 << 10
	idleTLS  = 56 << 10
)

// idle is what an idle stream may cost here.
func (w legs) idle() int64 {
	most := int64(idleMost)
	for _, secure := range [...]bool{w.client, w.server} {
		if secure {
			most += idleTLS
		}
	}
	return most
}

// streams opens 1,000 event streams at once, weighs them while they are idle, and ends them.
func (l *load) streams() (string, error) {
	n := 1000 / l.scale
	err := l.each(n/10, 16, func(i int, c *client) error { // what the first connections cost once is not counted
		defer c.Close()
		if err := c.ask(callRequest(i)); err != nil {
			return err
		}
		return c.expect(callAnswer(i))
	})
	if err != nil {
		return "", err
	}
	time.Sleep(settle)
	before := l.memory("VmRSS")
	all := make([]*client, n)
	err = l.each(n, 16, func(i int, c *client) error {
		all[i] = c
		if err := c.ask(getRequest("stream", i)); err != nil {
			return err
		}
		return c.expect([]byte(streamHead + streamEvent(i, 1)))
	})
	if err != nil {
		return "", err
	}
	time.Sleep(settle)
	per := (l.memory("VmRSS") - before) / int64(n)
	l.origin.release()
	for i, c := range all {
		if err := c.expect([]byte(streamEvent(i, 2))); err != nil {
			return "", fmt.Errorf("stream %d: %w", i, err)
		}
		if _, err := c.in.ReadByte(); err != io.EOF {
			return "", fmt.Errorf("stream %d: want its end, got %v", i, err)
		}
		c.Close()
	}
	figures := fmt.Sprintf("%d streams at once, %.1f KiB each while idle", n, float64(per)/1024)
	if per > l.legs.idle() && l.scale == 1 {
		return figures, fmt.Errorf("%s: more than %d KiB", figures, l.legs.idle()>>10)
	}
	return figures, nil
}

// settle is how long a weighed process is left alone first.
const settle = 1500 * time.Millisecond

// short makes connections of one call each, at 2,000 a second if the machine can.
func (l *load) short() (string, error) {
	const rate = 2000
	n := 3 * rate / l.scale
	began := time.Now()
	err := l.each(n, 64, func(i int, c *client) error {
		defer c.Close()
		time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / rate)))
		if err := c.ask(callRequest(i)); err != nil {
			return err
		}
		return c.expect(callAnswer(i))
	})
	took := time.Since(began)
	return fmt.Sprintf("%d connections, %.0f a second", n, float64(n)/took.Seconds()), err
}

// big takes a response of 1 GiB.
func (l *load) big() (string, error) {
	n := 1 << 30 / l.scale
	c, err := l.client()
	if err != nil {
		return "", err
	}
	defer c.Close()
	began := time.Now()
	if err := c.ask(getRequest("bytes", n)); err != nil {
		return "", err
	}
	err = c.takeBytes(n)
	return fmt.Sprintf("%d MiB, %.0f MiB/s", n>>20, float64(n>>20)/time.Since(began).Seconds()), err
}

// takeBytes reads the response to a request for n bytes.
func (c *client) takeBytes(n int) error {
	if err := c.expect([]byte(bytesHead(n))); err != nil {
		return err
	}
	buf := make([]byte, blockSize)
	for k := 0; n > 0; k++ {
		b := block(buf, k)[:min(n, blockSize)]
		if err := c.expect(b); err != nil {
			return fmt.Errorf("block %d: %w", k, err)
		}
		n -= len(b)
	}
	return nil
}

// slowClient reads a byte a second for a while; meanwhile others are served.
func (l *load) slowClient() (string, error) {
	const n = 32 << 20
	c, err := l.client()
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.ask(getRequest("bytes", n)); err != nil {
		return "", err
	}
	seconds := max(1, 5/l.scale)
	head := []byte(bytesHead(n))
	for i := range seconds {
		if err := c.expect(head[i : i+1]); err != nil {
			return "", err
		}
		began := time.Now()
		err := l.each(20, 4, func(i int, c *client) error {
			defer c.Close()
			if err := c.ask(callRequest(i)); err != nil {
				return err
			}
			return c.expect(callAnswer(i))
		})
		if err != nil {
			return "", err
		}
		time.Sleep(time.Until(began.Add(time.Second)))
	}
	if err := c.expect(head[seconds:]); err != nil {
		return "", err
	}
	buf := make([]byte, blockSize)
	for k := range n / blockSize {
		if err := c.expect(block(buf, k)); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d s at a byte a second, then %d MiB at once", seconds, n>>20), nil
}

// silent waits for a server that never answers, and leaves.
func (l *load) silent() (string, error) {
	n := 200 / l.scale
	err := l.each(n, 64, func(i int, c *client) error {
		defer c.Close()
		if err := c.ask(getRequest("never", i)); err != nil {
			return err
		}
		c.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
		if _, err := c.in.ReadByte(); err == nil || err == io.EOF {
			return fmt.Errorf("an answer from a server that gives none: %v", err)
		}
		return nil
	})
	return fmt.Sprintf("%d clients left without an answer", n), err
}

// halfOpen leaves connections open that say nothing, or half a head, while others are served.
func (l *load) halfOpen() (string, error) {
	n := 400 / l.scale
	open := make([]*client, n)
	err := l.each(n, 32, func(i int, c *client) error {
		open[i] = c
		if i%2 == 0 {
			return c.ask(callRequest(i)[:20])
		}
		return nil
	})
	if err == nil {
		err = l.each(200, 8, func(i int, c *client) error {
			defer c.Close()
			if err := c.ask(callRequest(i)); err != nil {
				return err
			}
			return c.expect(callAnswer(i))
		})
	}
	for i, c := range open {
		if i%4 == 0 && err == nil { // some go on after all
			if err = c.ask(callRequest(i)[20:]); err == nil {
				err = c.expect(callAnswer(i))
			}
		}
	}
	return fmt.Sprintf("%d half-open connections", n), err
}

// oneConnection makes 100,000 requests on one connection.
func (l *load) oneConnection() (string, error) {
	n := 100_000 / l.scale
	c, err := l.client()
	if err != nil {
		return "", err
	}
	defer c.Close()
	began := time.Now()
	const together = 50 // are sent before the first of them is answered
	for i := 0; i < n; i += together {
		for k := range together {
			if err := c.ask(callRequest(i + k)); err != nil {
				return "", err
			}
		}
		for k := range together {
			if err := c.expect(callAnswer(i + k)); err != nil {
				return "", fmt.Errorf("request %d: %w", i+k, err)
			}
		}
	}
	return fmt.Sprintf("%d requests on one connection, %.0f a second", n, float64(n)/time.Since(began).Seconds()), nil
}

// stopped leaves streams, half a request and an unread response behind for SIGTERM.
func (l *load) stopped() (string, error) {
	n := 200 / l.scale
	err := l.each(n, 16, func(i int, c *client) error {
		if err := c.ask(getRequest("stream", i)); err != nil {
			return err
		}
		return c.expect([]byte(streamHead + streamEvent(i, 1)))
	})
	return fmt.Sprintf("SIGTERM over %d open streams", n), err
}
