package pcap

import (
	"bytes"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// An origin is a server's address and port. Until it has shown MCP, its events are held.
type origin struct {
	mcp   bool
	conns int
	held  []early
	size  int
	late  int64 // bytes that were dropped before it showed MCP
}

// An early event is one that is held.
type early struct {
	link  *link
	event har.Event
}

// send passes an event on, or holds it.
func (m *Importer) send(l *link, e har.Event) {
	o := l.origin
	if !o.mcp && !m.AllHTTP {
		if !l.mentions(e.Dir, e.Bytes) {
			m.hold(l, e)
			return
		}
		o.mcp = true
		m.Counters.Early += o.late
		held := o.held
		m.heldBytes -= o.size
		o.held, o.size = nil, 0
		for i := range held {
			m.record(held[i].link, held[i].event)
		}
	}
	m.record(l, e)
}

// record hands an event to the recorder. A connection whose beginning was dropped begins in its middle.
func (m *Importer) record(l *link, e har.Event) {
	if l.ended {
		return
	}
	if l.id == 0 {
		m.conns++
		m.Counters.Kept++
		l.id = m.conns
	}
	e.Conn = l.id
	if l.skipped {
		l.skipped = false
		m.Record(har.Event{Conn: l.id, At: e.At, Open: &l.open})
		for _, d := range []wire.Dir{wire.ToServer, wire.ToClient} {
			m.Record(har.Event{Conn: l.id, At: e.At, Dir: d, Lost: -1, Note: har.NoteStart})
		}
	}
	l.ended = e.End == har.EndStopped
	m.Record(e)
}

// hold keeps an event of an origin that has shown no MCP, and lets go of all that is held of it if that is too much.
func (m *Importer) hold(l *link, e har.Event) {
	o := l.origin
	if l.skipped {
		o.late += int64(len(e.Bytes))
		return
	}
	e.Bytes = bytes.Clone(e.Bytes)
	o.held = append(o.held, early{l, e})
	n := len(e.Bytes) + perEvent
	o.size += n
	m.heldBytes += n
	if o.size <= maxEarly && m.heldBytes <= maxEarlyAll {
		return
	}
	for i := range o.held {
		o.held[i].link.skipped = true
		o.late += int64(len(o.held[i].event.Bytes))
	}
	m.heldBytes -= o.size
	o.held, o.size = nil, 0
}

// What only MCP over HTTP has: a JSON-RPC message, or a field of the transport (2025-03-26 and later, "Session
// Management", "Protocol Version Header").
var (
	jsonRPC = []byte(`"jsonrpc"`)
	fields  = [][]byte{[]byte("\r\nmcp-session-id:"), []byte("\r\nmcp-protocol-version:"), []byte("\r\nmcp-method:")}
)

// overlap is how many bytes of a direction are kept so that a mark that is cut is found.
const overlap = 48

// mentions tells whether bytes of a connection, together with those before them, show MCP.
func (l *link) mentions(d wire.Dir, b []byte) bool {
	if len(b) == 0 {
		return false
	}
	seam := append(l.tail[d], b[:min(len(b), overlap)]...)
	found := shows(seam) || shows(b)
	if len(b) >= overlap {
		l.tail[d] = append(seam[:0], b[len(b)-overlap:]...)
	} else {
		l.tail[d] = append(seam[:0], seam[max(0, len(seam)-overlap):]...)
	}
	return found
}

func shows(b []byte) bool {
	for rest := b; ; {
		i := bytes.Index(rest, jsonRPC)
		if i < 0 {
			break
		}
		rest = bytes.TrimLeft(rest[i+len(jsonRPC):], " \t\r\n")
		if len(rest) > 0 && rest[0] == ':' {
			rest = bytes.TrimLeft(rest[1:], " \t\r\n")
			if bytes.HasPrefix(rest, []byte(`"2.0"`)) {
				return true
			}
		}
	}
	for at := 0; ; {
		i := bytes.Index(b[at:], []byte("\r\n"))
		if i < 0 {
			return false
		}
		at += i
		if len(b) > at+2 && b[at+2]|0x20 == 'm' {
			for _, f := range fields {
				if len(b) >= at+len(f) && bytes.EqualFold(b[at:at+len(f)], f) {
					return true
				}
			}
		}
		at += 2
	}
}
