package pcap

import (
	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// A link is what is known of a connection above TCP.
type link struct {
	proto    proto
	client   int // index in conn.ends, -1 while it is not known
	inferred bool
	held     []occurrence // while undecided
	size     int
	prefix   [2][]byte // by sender: the first bytes, as far as they decide
	judged   [2]verdict
	met      [2]bool // by sender: its beginning was not seen

	origin  *origin
	open    har.Conn
	id      uint64 // the recorder's, 0 before the first event
	skipped bool   // events before now were dropped
	ended   bool
	tail    [2][]byte
	secure  *secure // of TLS
}

type proto uint8

const (
	undecided proto = iota
	speaksHTTP
	speaksTLS
	speaksOther
)

// A verdict is what the first bytes of one direction say.
type verdict uint8

const (
	open verdict = iota
	asks         // begins with a request
	answers
	clientHello
	serverHello
	neither
)

// prefixBytes is how many bytes of a direction are looked at.
const prefixBytes = 512

// judge says what bytes at the beginning of a direction are.
func judge(p []byte, mayAsk, mayAnswer bool) verdict {
	request, response := wire.No, wire.No
	if mayAsk {
		request = wire.BeginsRequest(p)
	}
	if mayAnswer {
		response = wire.BeginsResponse(p)
	}
	switch {
	case len(p) == 0:
		return open
	case request == wire.Yes:
		return asks
	case response == wire.Yes:
		return answers
	case len(p) >= 6 && p[0] == 0x16 && p[1] == 3 && p[5] == 1 && mayAsk:
		return clientHello
	case len(p) >= 6 && p[0] == 0x16 && p[1] == 3 && p[5] == 2 && mayAnswer:
		return serverHello
	case len(p) < 6 && p[0] == 0x16 && (len(p) < 2 || p[1] == 3):
		return open
	case (request == wire.Perhaps || response == wire.Perhaps) && len(p) < prefixBytes:
		return open
	}
	return neither
}

// decide holds o and finds out what the connection speaks.
func (m *Importer) decide(c *conn, l *link, o occurrence) {
	l.hold(o)
	switch o.kind {
	case gotLost:
		l.met[o.from] = true
		l.prefix[o.from], l.judged[o.from] = nil, open
		return
	case gotBytes:
		m.look(c, l, o.from, o.bytes)
	case gotEnd:
		m.giveUp(c, l)
	}
	if l.proto == undecided && (l.size > maxUndecided || len(l.held) > maxParts) {
		m.giveUp(c, l)
	}
}

// look judges the next bytes of a direction.
func (m *Importer) look(c *conn, l *link, from int, b []byte) {
	if l.judged[from] == neither && !l.met[from] {
		m.settle(c, l)
		return
	}
	if l.judged[from] == neither {
		l.prefix[from] = nil
	}
	l.prefix[from] = append(l.prefix[from], b[:min(len(b), prefixBytes-min(prefixBytes, len(l.prefix[from])))]...)
	v := judge(l.prefix[from], l.client < 0 || l.client == from, l.client < 0 || l.client != from)
	l.judged[from] = v
	client := from
	switch v {
	case asks, clientHello:
	case answers, serverHello:
		client = 1 - from
	default:
		m.settle(c, l)
		return
	}
	l.inferred = l.client < 0
	l.client = client
	if v == asks || v == answers {
		m.become(c, l, speaksHTTP)
	} else {
		m.become(c, l, speaksTLS)
	}
}

// settle gives up where both directions began, and neither with anything that is known.
func (m *Importer) settle(c *conn, l *link) {
	if l.judged[0] == neither && l.judged[1] == neither && !l.met[0] && !l.met[1] {
		m.giveUp(c, l)
	}
}

// giveUp decides without a beginning: by whether an end is known as a server of HTTP.
func (m *Importer) giveUp(c *conn, l *link) {
	for i, end := range c.ends {
		if o := m.origins[end]; o != nil && l.size > 0 && (l.client < 0 || l.client == 1-i) && (l.met[0] || l.met[1]) {
			l.inferred = l.client < 0
			l.client = 1 - i
			m.become(c, l, speaksHTTP)
			return
		}
	}
	m.become(c, l, speaksOther)
}

// become takes what was held in the light of what the connection speaks.
func (m *Importer) become(c *conn, l *link, p proto) {
	l.proto = p
	n := &m.Counters
	held := l.held
	l.held, l.prefix = nil, [2][]byte{}
	switch p {
	case speaksHTTP:
		n.HTTP++
		m.opened(c, l, "http", "")
	case speaksTLS:
		n.TLS++
	case speaksOther:
		if l.size > 0 {
			n.Other++
		}
		n.OtherData += int64(l.size)
		return
	}
	for i := range held {
		if p == speaksTLS {
			m.tls(c, l, &held[i])
		} else {
			m.pass(l, &held[i])
		}
	}
}

// opened begins a connection of an origin. host is what the client called the server, "" if it did not say.
func (m *Importer) opened(c *conn, l *link, scheme, host string) {
	client, server := c.ends[l.client], c.ends[1-l.client]
	o := m.origins[server]
	if o == nil {
		o = &origin{}
		m.origins[server] = o
	}
	o.conns++
	l.origin = o
	authority := server.String()
	if host != "" {
		authority = host
	}
	l.open = har.Conn{Client: client.String(), Server: server.String(), Base: scheme + "://" + authority}
	if l.inferred {
		l.open.Note = har.NoteInferred
	}
	m.send(l, har.Event{At: c.at, Open: &l.open})
}

// pass turns an occurrence of an HTTP connection into an event.
func (m *Importer) pass(l *link, o *occurrence) {
	e := har.Event{Dir: wire.ToClient, At: o.at}
	if o.from == l.client {
		e.Dir = wire.ToServer
	}
	switch o.kind {
	case gotBytes:
		e.Bytes = o.bytes
	case gotLost:
		if e.Lost, e.Note = o.lost, o.why; e.Note == "" {
			e.Note = har.NoteGap
		}
	case gotFIN:
		e.End = har.EndFIN
	case gotBareFIN:
		e.End = har.EndNoCloseNotify
	case gotRST:
		e.End = har.EndRST
	case gotNote:
		e.Note = o.why
	case gotEnd:
		e.End = har.EndStopped
	}
	m.send(l, e)
}
