package replay

import (
	"crypto/tls"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// The two sides of a connection, as events name them.
const (
	fromClient = wire.ToServer
	fromServer = wire.ToClient
)

func (c *conn) opened() {
	if c.p.Log == nil {
		return
	}
	client, server := "", ""
	if a := c.nc.RemoteAddr(); a != nil {
		client = a.String()
	}
	if a := c.nc.LocalAddr(); a != nil {
		server = a.String()
	}
	scheme := "http://"
	if _, ok := c.nc.(*tls.Conn); ok {
		scheme = "https://"
	}
	c.log(har.Event{Dir: fromClient, Open: &har.Conn{Client: client, Server: server, Name: c.p.Name, Base: scheme + server}})
}

func (c *conn) bytes(d wire.Dir, b []byte) {
	if c.p.Log != nil {
		c.log(har.Event{Dir: d, Bytes: b})
	}
}

func (c *conn) ended(d wire.Dir, end har.Ending) {
	if c.p.Log != nil {
		c.log(har.Event{Dir: d, End: end})
	}
}

func (c *conn) log(e har.Event) {
	now := time.Now
	if c.p.Now != nil {
		now = c.p.Now
	}
	e.Conn, e.At = c.id, now()
	c.p.Log(e)
}
