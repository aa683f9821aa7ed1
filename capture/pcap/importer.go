package pcap

import (
	"bytes"
	"errors"
	"io"
	"net/netip"
	"time"

	"github.com/mcptap/mcptap/har"
)

// Counters say what a capture held and what became of it. Bytes are those of TCP payloads unless said otherwise.
type Counters struct {
	Packets   int64  `json:"packets"`
	Bytes     int64  `json:"bytes"`     // of all packets, as captured
	Dropped   uint64 `json:"dropped"`   // packets that the capturing system says it lost
	Undecoded int64  `json:"undecoded"` // packets with headers that make no sense, or that were cut before the payload
	UnknownLn int64  `json:"unknown_link"`
	NotTCP    int64  `json:"not_tcp"`
	Filtered  int64  `json:"filtered"`       // TCP packets that the filter left out
	Fragments int64  `json:"lost_fragments"` // IP packets of which not all fragments were there

	Conns     int   `json:"connections"` // TCP connections
	HTTP      int   `json:"http"`        // those that spoke HTTP/1.1
	TLS       int   `json:"tls"`         // those that spoke TLS
	Other     int   `json:"other"`       // those that had bytes of neither
	Kept      int   `json:"kept"`        // connections of origins that are kept
	LeftOut   int   `json:"left_out"`    // HTTP connections of origins without MCP
	Payload   int64 `json:"payload"`
	Lost      int64 `json:"lost"`          // bytes that are known to be missing
	Snapped   int64 `json:"snapped"`       // bytes that a short snaplen left out
	Midstream int   `json:"midstream"`     // directions whose beginning was not seen
	Conflicts int   `json:"conflicts"`     // connections with copies of bytes that differ
	Stale     int   `json:"stale_resets"`  // resets that no receiver took
	Strays    int   `json:"stray"`         // segments far from where their connection was
	Late      int64 `json:"late"`          // bytes behind the end of their connection
	OtherData int64 `json:"other_payload"` // bytes of connections that are neither HTTP nor TLS
	TLSData   int64 `json:"tls_payload"`   // bytes of TLS connections that could not be read
	Early     int64 `json:"not_held"`      // bytes of an origin before its first MCP message that did not fit in memory
}

// Unexplained is how many bytes are in no exchange though they might belong to one, those that are missing included.
func (c *Counters) Unexplained() int64 {
	return c.OtherData + c.TLSData + c.Lost + c.Snapped + c.Late + c.Early + c.Undecoded + c.UnknownLn + c.Fragments
}

// An Importer turns the packets of captures into events. The exchanges of an origin (the server's address and port) are
// passed on once one of its connections has carried an MCP message, those before it included.
type Importer struct {
	Record  func(har.Event) // gets the events; Bytes are valid during the call
	Notice  func(string)    // gets a sentence about what a person should know; may be nil
	AllHTTP bool            // pass on all HTTP, not only MCP
	Filter  Filter          // what is looked at
	Keys    *KeyLog         // secrets of TLS; nil for none

	Counters Counters

	decoder   decoder
	assembler *assembler
	origins   map[netip.AddrPort]*origin
	heldBytes int
	conns     uint64
	unreadTLS map[string]*unreadTLS
}

// Bounds of what is held of connections before it is known what they are.
const (
	maxUndecided = 64 << 10 // bytes of one connection
	maxParts     = 512      // occurrences of one connection
	maxEarly     = 2 << 20  // bytes of one origin that has shown no MCP
	maxEarlyAll  = 16 << 20 // of all of them
	perEvent     = 160      // what an event costs beside its bytes
)

// Add takes one packet.
func (m *Importer) Add(p *Packet) {
	m.start()
	n := &m.Counters
	n.Packets++
	n.Bytes += int64(len(p.Data))
	s, what := m.decoder.decode(p)
	switch what {
	case isTCP:
		if !m.Filter.takes(s) {
			n.Filtered++
			return
		}
		n.Payload += int64(len(s.data))
		m.assembler.add(s)
	case isOther:
		n.NotTCP++
	case isBroken:
		n.Undecoded++
	case isUnknown:
		n.UnknownLn++
	}
}

func (m *Importer) start() {
	if m.assembler == nil {
		m.assembler = newAssembler(m.happened)
		m.origins = map[netip.AddrPort]*origin{}
		m.unreadTLS = map[string]*unreadTLS{}
	}
}

// Read takes all packets of a capture. The error is that of the reader; io.EOF is none.
func (m *Importer) Read(r *Reader) error {
	var p Packet
	for {
		if err := r.Next(&p); errors.Is(err, io.EOF) {
			m.Counters.Dropped += r.Drops()
			return nil
		} else if err != nil {
			m.Counters.Dropped += r.Drops()
			return err
		}
		m.Add(&p)
	}
}

// Close ends what is followed, and completes the counters.
func (m *Importer) Close() {
	m.start()
	m.assembler.close()
	n, a := &m.Counters, m.assembler
	n.Conns, n.Stale, n.Strays, n.Late = a.opened, a.stale, a.strays, a.late
	n.Fragments = int64(m.decoder.frags.lost + len(m.decoder.frags.parts))
	for _, o := range m.origins {
		if !o.mcp && !m.AllHTTP {
			n.LeftOut += o.conns
		}
	}
	m.reportTLS()
}

// Now is the time of the newest packet.
func (m *Importer) Now() time.Time {
	if m.assembler == nil {
		return time.Time{}
	}
	return m.assembler.now
}

// happened takes what the assembler delivers.
func (m *Importer) happened(c *conn, o occurrence) {
	l, _ := c.link.(*link)
	if l == nil {
		l = &link{client: c.client}
		c.link = l
	}
	if l.client < 0 {
		l.client = c.client
	}
	m.count(&o)
	switch l.proto {
	case undecided:
		m.decide(c, l, o)
	case speaksHTTP:
		m.pass(l, &o)
	case speaksTLS:
		m.tls(c, l, &o)
	case speaksOther:
		m.Counters.OtherData += int64(len(o.bytes))
	}
}

func (m *Importer) count(o *occurrence) {
	n := &m.Counters
	switch {
	case o.kind == gotNote:
		n.Conflicts++
	case o.kind != gotLost:
	case o.lost < 0:
		n.Midstream++
	case o.why == har.NoteSnaplen:
		n.Snapped += o.lost
	default:
		n.Lost += o.lost
	}
}

// hold keeps an occurrence until it is known what the connection speaks.
func (l *link) hold(o occurrence) {
	o.bytes = bytes.Clone(o.bytes)
	l.held = append(l.held, o)
	l.size += len(o.bytes)
}
