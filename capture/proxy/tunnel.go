package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/elazarl/goproxy"

	"github.com/mcptap/mcptap/capture"
	"github.com/mcptap/mcptap/har"
)

// tunnel connects to the server, says so, and carries the tunnel. ctx is nil if it is not to be read.
func (v *visit) tunnel(ctx *goproxy.ProxyCtx) {
	h := &v.f.hall
	sock, err := h.dial(v.f.Dial, v.to.Host)
	switch {
	case h.ctx.Err() != nil:
		v.leave(sock)
		return
	case err != nil:
		f := explain(v.to.Host, err)
		v.decline(originOf(v.to), f.note, notReachable, f.words)
		return
	case h.isOurs(sock.RemoteAddr()):
		sock.Close()
		v.decline(originOf(v.to), noteUnreachable, notUsable, v.to.Host+" is this proxy itself")
		return
	}
	v.sock.Write([]byte(established))
	if ctx == nil {
		v.unread(v.resumed, sock, "not in --only")
		return
	}
	server, first := firstWords(v.resumed, sock)
	switch {
	case !beginsTLS(first):
		v.asIs(v.resumed, server, sock)
	case v.f.isClosed(v.host):
		v.unread(v.resumed, sock, "a client did not take our certificate for "+v.host)
	default:
		v.intercept(sock, ctx)
	}
}

// beginsTLS tells whether p may be the beginning of a ClientHello (RFC 8446 section 5.1).
func beginsTLS(p []byte) bool { return len(p) > 0 && p[0] == 0x16 && (len(p) == 1 || p[1] == 3) }

// asIs relays a tunnel that holds no TLS.
func (v *visit) asIs(client, server, sock net.Conn) {
	plain := *v.to
	plain.Scheme = "http"
	v.tape.Saw(v.opened(v.to.Host, originOf(&plain)))
	v.f.hall.relay(v.relay(&leg{conn: client, sock: v.sock}, &leg{conn: server, sock: sock}, v.tape, headEditor{}))
}

// unread carries a tunnel of which only the request for it and its ending are recorded.
func (v *visit) unread(client, sock net.Conn, why string) {
	v.f.hall.notice(v.to.Host + ": passed on unread: " + why)
	v.asked(v.to.Host, originOf(v.to), har.NoteTunnel+": "+why)
	ending := &capture.Tape{Record: func(e har.Event) {
		if e.End != "" {
			v.f.hall.record(e)
		}
	}}
	v.f.hall.relay(v.relay(&leg{conn: client, sock: v.sock}, newLeg(sock), ending, headEditor{}))
}

// A meeting is the TLS handshakes of one tunnel: the server's takes place inside the client's, so that the client gets what
// the server has chosen.
type meeting struct {
	*visit
	ctx    *goproxy.ProxyCtx
	sock   net.Conn // to the server
	try    *trial
	server *leg   // nil before the server's handshake, and if that failed
	err    error  // why it did
	unread string // why the tunnel is to be carried unread
	odd    string // what the client asks that cannot be recorded
}

// errUnread ends the client's handshake before it has begun.
var errUnread = errors.New("the tunnel is to be carried unread")

// intercept opens a tunnel that begins with TLS.
func (v *visit) intercept(sock net.Conn, ctx *goproxy.ProxyCtx) {
	m := &meeting{visit: v, ctx: ctx, sock: sock, try: &trial{Conn: v.resumed}}
	floor := &floor{Conn: m.try}
	conn := tls.Server(floor, &tls.Config{GetConfigForClient: m.meet})
	limit, cancel := context.WithTimeout(v.f.hall.ctx, 2*connectTimeout)
	defer cancel()
	err := conn.HandshakeContext(limit)
	client := &leg{conn: conn, sock: v.sock, floor: floor}
	switch {
	case v.f.hall.ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded):
		v.leave(sock)
	case m.unread != "":
		m.goUnread()
	case !m.try.isOn():
		v.asIs(m.try.rewound(), sock, sock)
	case err != nil:
		m.clientFailed(err)
	case m.err != nil:
		f := explain(v.to.Host, m.err)
		v.f.hall.notice(f.words)
		v.tape.Saw(v.opened(v.to.Host, originOf(v.to)))
		v.f.hall.turnAway(conn, v.id, v.tape, f)
	default:
		v.f.take(v.host)
		v.tape.Saw(v.opened(v.to.Host, originOf(v.to)))
		v.f.hall.relay(v.relay(client, m.server, v.tape, headEditor{}))
	}
}

// meet has read the client's ClientHello: it speaks TLS with the server and says how to go on with the client.
func (m *meeting) meet(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	name, offered := m.host, hello.SupportedProtos
	if hello.ServerName != "" {
		name = hello.ServerName
	}
	protocols := []string{http11}
	switch {
	case len(offered) == 0:
		protocols = nil
	case !slices.Contains(offered, http11):
		m.odd = "the client speaks " + strings.Join(offered, ", ") + " only, not http/1.1"
	}
	if m.odd == "" {
		m.server, m.err = m.f.hall.secure(m.sock, m.f.TLS, name, protocols)
	}
	switch {
	case m.f.Passthrough && m.odd != "":
		m.unread = m.odd
	case m.f.Passthrough && isNoProtocol(m.err):
		m.unread = "the server does not speak http/1.1"
	}
	if m.unread != "" {
		return nil, errUnread
	}
	if m.server != nil && m.server.conn.(*tls.Conn).ConnectionState().NegotiatedProtocol == "" {
		protocols = nil
	}
	signed, err := m.f.sign(name, m.ctx)
	m.try.goOn()
	if err != nil {
		m.odd = fmt.Sprintf("no certificate can be made for %q: %v", name, err)
		return nil, err
	}
	return &tls.Config{Certificates: signed.Certificates, NextProtos: protocols, SessionTicketsDisabled: true}, nil
}

// goUnread carries the tunnel unread, on a new connection if the one there was has been used.
func (m *meeting) goUnread() {
	if m.err != nil {
		sock, err := m.f.hall.dial(m.f.Dial, m.to.Host)
		if err != nil {
			m.sock.Close()
			m.clientFailed(err)
			return
		}
		m.sock = sock
	}
	m.visit.unread(m.try.rewound(), m.sock, m.unread)
}

// clientFailed ends a tunnel whose client's handshake has failed.
func (m *meeting) clientFailed(err error) {
	why, note := m.odd, har.NoteTunnel+": "+m.odd
	switch {
	case m.err != nil:
		f := explain(m.to.Host, m.err)
		why, note = f.words, f.note
	case m.odd == "" && withoutAlert(err) && m.f.isTaken(m.host):
		why = "a client left during the TLS handshake for " + m.host
		note = har.NoteTunnel + ": " + why
	case m.odd == "":
		what := fmt.Sprintf("the client did not take our certificate for %s (%v)", m.host, err)
		why, note = what+": it must trust mcptap's CA, see mcptap ca install-hint", har.NoteTunnel+": "+what
		if m.f.Passthrough {
			m.f.close(m.host)
			why += "; the next tunnels to it are passed on unread"
		}
	}
	m.f.hall.notice(why)
	m.asked(m.to.Host, originOf(m.to), note)
	m.sock.Close()
	m.visit.sock.Close()
	m.tape.Last(har.Event{Conn: m.id, At: m.f.hall.now(), End: har.EndUnknown})
	m.tape.Hand()
}

// withoutAlert tells whether a handshake ended without the other side saying why (RFC 8446 section 6): it left, or does not say
// that it does not trust.
func withoutAlert(err error) bool {
	var said *net.OpError
	return !errors.As(err, &said) || said.Op != "remote error"
}

// A hostKind is what is known of how clients take our certificate for a host.
type hostKind uint8

const (
	_          hostKind = iota
	hostTaken           // some client took it
	hostClosed          // one did not: with Passthrough, tunnels to it are not opened any more
)

// isTaken tells whether a client has taken our certificate for the host, and none refused it.
func (f *Forward) isTaken(host string) bool { return f.known(host) == hostTaken }

// isClosed tells whether tunnels to the host cannot be opened.
func (f *Forward) isClosed(host string) bool { return f.known(host) == hostClosed }

func (f *Forward) known(host string) hostKind {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hosts[host]
}

func (f *Forward) take(host string)  { f.learn(host, hostTaken) }
func (f *Forward) close(host string) { f.learn(host, hostClosed) }

// learn keeps what was seen of the host, for as many as there is room for. What is closed stays closed.
func (f *Forward) learn(host string, kind hostKind) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, is := f.hosts[host]; is || len(f.hosts) < maxHosts {
		f.hosts[host] = max(f.hosts[host], kind)
	}
}
