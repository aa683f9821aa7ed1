package proxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/elazarl/goproxy"

	"github.com/mcptap/mcptap/capture"
	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// A Forward is the forward door: an HTTP proxy. goproxy decides on each CONNECT and signs certificates; bytes are carried by
// the same relay as those of the reverse door, one connection to a server for each of a client. Fields are set before Serve.
//
//   - A tunnel (CONNECT) that begins with TLS is opened with a certificate by CA; one that begins with anything else is
//     relayed as it is. In neither are bytes changed.
//   - A request with an absolute http target is relayed to its server: the target loses its origin, Proxy-Authorization and
//     Proxy-Connection lines are not sent on, and a Host line that contradicts the target is made to agree (RFC 9112 section
//     3.2.2); all that is declared in Event.Edits. The origin of the first request is that of the connection; a request for
//     another one is answered in words.
//   - A tunnel to a host that is not in Only, and with Passthrough one that cannot be opened, is carried unread: of it there
//     is one exchange, the CONNECT request with the note "tunnel".
type Forward struct {
	CA          *Authority
	TLS         *tls.Config // who is trusted as a server; NextProtos is set to http/1.1
	Only        []string    // HOST or HOST:PORT, * for any part of it; none: every host
	Passthrough bool
	Record      func(har.Event)      // called in the order in which things were seen on each connection
	Offer       func(har.Event) bool // as in Reverse
	Notice      func(string)         // one sentence for a person, nil to drop; one that was just said is not repeated
	Dial        Dialer               // nil: straight
	Now         func() time.Time
	Conns       *atomic.Uint64 // the connections so far, shared by doors that record into one cassette; nil: a count of its own

	times times // usualTimes if zero
	once  sync.Once
	hall  hall
	proxy *goproxy.ProxyHttpServer
	sign  func(host string, ctx *goproxy.ProxyCtx) (*tls.Config, error)

	mu    sync.Mutex // guards what follows
	hosts map[string]hostKind
}

// maxHosts is of how many hosts it is remembered whether clients take our certificate.
const maxHosts = 1000

func (f *Forward) init() {
	f.once.Do(func() {
		f.hall.open(door{record: f.Record, offer: f.Offer, now: f.Now, times: f.times}, f.Conns, f.Notice)
		f.hosts = map[string]hostKind{}
		f.proxy = goproxy.NewProxyHttpServer()
		f.proxy.Logger = log.New(io.Discard, "", 0)
		f.proxy.CertStore = &leaves{now: f.hall.now, made: map[string]*tls.Certificate{}}
		if f.CA != nil {
			f.sign = goproxy.TLSConfigFromCA(&f.CA.cert)
		}
		f.proxy.OnRequest(goproxy.Not(goproxy.ReqConditionFunc(f.opens))).HandleConnectFunc(hijack(
			func(v *visit, _ *goproxy.ProxyCtx) { v.tunnel(nil) }))
		f.proxy.OnRequest().HandleConnectFunc(hijack(func(v *visit, ctx *goproxy.ProxyCtx) { v.tunnel(ctx) }))
	})
}

// hijack makes goproxy hand a tunnel over.
func hijack(to func(*visit, *goproxy.ProxyCtx)) func(string, *goproxy.ProxyCtx) (*goproxy.ConnectAction, string) {
	action := &goproxy.ConnectAction{Action: goproxy.ConnectHijack, Hijack: func(_ *http.Request, c net.Conn, ctx *goproxy.ProxyCtx) {
		to(c.(*visit), ctx)
	}}
	return func(host string, _ *goproxy.ProxyCtx) (*goproxy.ConnectAction, string) { return action, host }
}

// opens tells whether what goes to a request's host is to be read.
func (f *Forward) opens(r *http.Request, _ *goproxy.ProxyCtx) bool { return f.inOnly(r.URL) }

func (f *Forward) inOnly(u *url.URL) bool {
	host := strings.ToLower(u.Hostname())
	for _, pattern := range f.Only {
		pattern = strings.ToLower(pattern)
		name, port := pattern, ""
		if h, p, err := net.SplitHostPort(pattern); err == nil {
			name, port = h, p
		}
		matches, _ := path.Match(name, host)
		if (matches || name == host) && (port == "" || port == u.Port()) {
			return true
		}
	}
	return len(f.Only) == 0
}

// Serve accepts connections until Close. It returns nil after Close.
func (f *Forward) Serve(l net.Listener) error {
	f.init()
	return f.hall.take(l, f.serve)
}

// Close does what [Reverse.Close] does.
func (f *Forward) Close() error {
	f.init()
	return f.hall.close()
}

// A visit is one client connection.
type visit struct {
	*resumed
	f     *Forward
	id    uint64
	sock  net.Conn
	tape  *capture.Tape
	stays func() bool // from now on Close does not close the connection
	at    time.Time   // when head was whole
	head  []byte      // of CONNECT
	to    *url.URL    // https://HOST:PORT of CONNECT
	host  string      // of to, as certificates have it
}

// serve is one connection from the client's connect to the last event.
func (f *Forward) serve(c net.Conn, id uint64) {
	v := &visit{resumed: &resumed{Conn: c}, f: f, id: id, sock: c, tape: f.hall.tape()}
	v.stays = context.AfterFunc(f.hall.ctx, func() { c.Close() })
	defer v.stays()
	line := v.requestLine()
	t, ok := parseTarget(line)
	switch {
	case len(line) == 0:
		c.Close()
	case line[0] == 0x16:
		f.hall.notice("a client speaks TLS to the proxy itself: give it a proxy URL that begins with http://, for https servers too")
		c.Close()
	case line[0] == 4 || line[0] == 5:
		f.hall.notice("a client speaks SOCKS: give it the URL as an HTTP proxy")
		c.Close()
	case ok && t.method == "CONNECT":
		v.connect()
	case ok && t.scheme == "http":
		v.plain(t)
	case ok && t.scheme != "":
		v.decline("", noteOrigin, notUsable, "a proxy is asked for a tunnel (CONNECT) to "+t.scheme+" servers")
	case ok:
		v.decline("", noteOrigin, notUsable, "this is an HTTP proxy: give its URL to the client as HTTP_PROXY and HTTPS_PROXY, not in place of the server's")
	default:
		v.decline("", noteOrigin, notUsable, "this is an HTTP proxy, and that was no request to one")
	}
}

// requestLine reads until the first line that is not empty is whole. What was read is kept for who reads next. It is as much
// of the line as there is if there is no more, or if it is too long.
func (v *visit) requestLine() []byte {
	for {
		line := bytes.TrimLeft(v.first, "\r\n")
		if end := bytes.IndexByte(line, '\n') + 1; end > 0 {
			return line[:end]
		}
		if len(line) > 0 && (line[0] < 0x20 || len(v.first) > maxStartLine) || !v.more() {
			return line
		}
	}
}

// more reads more of what the client sends.
func (v *visit) more() bool {
	p, err := readOnce(v.Conn)
	v.first = append(v.first, p...)
	return err == nil
}

// connect reads the rest of a CONNECT request's head and asks goproxy what is to be done.
func (v *visit) connect() {
	var slicer wire.Slicer
	for seen, size := 0, 0; size == 0; {
		for _, piece := range slicer.Feed(wire.ToServer, v.first[seen:]) {
			switch {
			case piece.Opaque && size == 0:
				v.decline("", noteOrigin, notUsable, "the request for a tunnel is malformed")
				return
			case piece.Head != nil:
				size = piece.Head.Len
			}
		}
		if seen = len(v.first); size == 0 && !v.more() {
			v.sock.Close()
			return
		}
		if size > 0 {
			v.head, v.first = v.first[:size:size], v.first[size:]
		}
	}
	v.at = v.f.hall.now()
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(bytes.TrimLeft(v.head, "\r\n"))))
	if err == nil {
		v.to, err = serverURL("https", r.URL.Host)
	}
	if err != nil {
		v.decline("", noteOrigin, notUsable, "want CONNECT HOST:PORT")
		return
	}
	v.host = strings.TrimSuffix(v.to.Hostname(), ".")
	r.URL.Host = v.to.Host
	v.f.proxy.ServeHTTP(answering{v}, r.WithContext(v.f.hall.ctx))
}

// serverURL is the URL of a server, its port included.
func serverURL(scheme, authority string) (*url.URL, error) {
	u, err := url.Parse(scheme + "://" + authority)
	switch {
	case err != nil:
		return nil, err
	case u.Hostname() == "" || u.Host != authority:
		return nil, fmt.Errorf("%q: want HOST:PORT", authority)
	}
	u.Host = hostPort(u)
	return u, nil
}

// originOf is u without its path and the port that goes without saying.
func originOf(u *url.URL) string {
	usual := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
	return u.Scheme + "://" + strings.TrimSuffix(u.Host, usual)
}

// answering is the http.ResponseWriter that goproxy takes the connection from.
type answering struct{ v *visit }

func (a answering) Header() http.Header         { return http.Header{} }
func (a answering) Write(p []byte) (int, error) { return len(p), nil }
func (a answering) WriteHeader(int)             {}

// Hijack gives the connection with what the client has sent behind its CONNECT.
func (a answering) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return a.v, bufio.NewReadWriter(bufio.NewReaderSize(a.v, 16), nil), nil
}

// plain relays requests with absolute http targets.
func (v *visit) plain(asked target) {
	h := &v.f.hall
	to, err := serverURL("http", asked.authority)
	if err != nil {
		v.decline("", noteOrigin, notUsable, "want a target such as http://HOST:PORT/PATH")
		return
	}
	sock, err := h.dial(v.f.Dial, to.Host)
	switch {
	case h.ctx.Err() != nil:
		v.leave(sock)
		return
	case err == nil && h.isOurs(sock.RemoteAddr()):
		sock.Close()
		v.decline(originOf(to), noteUnreachable, notUsable, to.Host+" is this proxy itself")
		return
	}
	t := v.tape
	if !v.f.inOnly(to) {
		h.notice(to.Host + ": passed on unread, for it is not in --only")
		t = &capture.Tape{}
	}
	t.Saw(v.opened(to.Host, originOf(to)))
	if err != nil {
		f := explain(to.Host, err)
		h.notice(f.words)
		h.turnAway(v.resumed, v.id, t, f)
		return
	}
	x := v.relay(&leg{conn: v.resumed, sock: v.sock}, newLeg(sock), t, headEditor{authority: asked.authority, forward: true})
	x.refusing = func(other string) {
		h.notice(fmt.Sprintf("a request for %s on a connection to %s was answered with 421: one origin per connection", other, asked.authority))
	}
	h.relay(x)
}

// leave ends the visit without a word: the door is closing, which says nothing of the server. sock may be nil.
func (v *visit) leave(sock net.Conn) {
	v.sock.Close()
	if sock != nil {
		sock.Close()
	}
}

// relay makes the relay of the visit, which Close ends from now on.
func (v *visit) relay(client, server *leg, t *capture.Tape, head headEditor) *relay {
	v.stays()
	return newRelay(&v.f.hall.door, v.id, client, server, t, head)
}

// opened is the first event of a connection.
func (v *visit) opened(server, base string) har.Event {
	return har.Event{Conn: v.id, At: v.f.hall.now(), Open: &har.Conn{Client: v.sock.RemoteAddr().String(), Server: server, Base: base}}
}

// asked records the CONNECT request, or what else the client has sent: none of it was sent on.
func (v *visit) asked(server, base, note string) {
	p, at := v.head, v.at
	if p == nil {
		p, at = v.first, v.f.hall.now()
	}
	v.tape.Saw(v.opened(server, base))
	v.tape.Saw(har.Event{Conn: v.id, Dir: wire.ToServer, At: at, Bytes: p, Edits: []har.Edit{{Len: len(p)}}, Note: note})
	v.tape.Hand()
}

// decline records a request that cannot be passed on, and answers it in words.
func (v *visit) decline(base, note, status, why string) {
	server := ""
	if v.to != nil {
		server = v.to.Host
	}
	v.asked(server, base, note)
	v.tape.Last(har.Event{Conn: v.id, Dir: wire.ToClient, At: v.f.hall.now(), End: har.EndUnknown})
	v.tape.Hand()
	v.f.hall.notice(why)
	v.f.hall.dismiss(v.sock, wordsFor(status, why))
}
