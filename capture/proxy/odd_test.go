package proxy

import (
	"testing"

	"github.com/mcptap/mcptap/har/wire"
)

func TestOddDirect(t *testing.T) {
	for _, c := range oddCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			o := newOrigin(t, "http", false)
			client := newSide(t, newLeg(dial(t, o.Addr().String())), false)
			server := o.accept(t)
			c.play(t, client, server, o.Addr().String(), o.Addr().String())
			c.check(t, client, server, o.Addr().String())
		})
	}
}

func TestOddThroughRelay(t *testing.T) {
	for _, via := range []struct {
		name, scheme string
		bare         bool
	}{{"plain", "http", false}, {"tls", "https", false}, {"tls, FIN alone", "https", true}} {
		t.Run(via.name, func(t *testing.T) {
			for _, c := range oddCases(t) {
				t.Run(c.Name, func(t *testing.T) {
					t.Parallel()
					o := newOrigin(t, via.scheme, via.bare)
					c.relay(t, o)
				})
			}
		})
	}
}

// relay plays c through a reverse door and checks the wire on both sides.
func (c *oddCase) relay(t *testing.T, o *origin) {
	var w witness
	addr, stop := openDoor(t, &Reverse{To: o.url(), TLS: o.trust(), Record: w.record})
	client := newSide(t, newLeg(dial(t, addr)), false)
	server := o.accept(t)
	host := o.Addr().String()
	c.play(t, client, server, addr, host)
	c.check(t, client, server, host)
	stop()
	if got, want := w.joined(1, wire.ToServer, false), string(c.sent("client", addr)); got != want {
		t.Errorf("recorded requests\n%q, want\n%q", got, want)
	}
	if got, want := w.joined(1, wire.ToServer, true), string(c.sent("client", host)); got != want {
		t.Errorf("recorded requests, edited\n%q, want\n%q", got, want)
	}
	if got, want := w.joined(1, wire.ToClient, false), string(c.sent("server", host)); got != want {
		t.Errorf("recorded responses\n%q, want\n%q", got, want)
	}
}
