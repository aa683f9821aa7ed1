package pcap

import (
	"fmt"
	"maps"
	"slices"
)

// A secure connection is one that speaks TLS.
type secure struct {
	hello bool
}

// tls takes an occurrence of a TLS connection.
func (m *Importer) tls(c *conn, l *link, o *occurrence) {
	if l.secure == nil {
		l.secure = new(secure)
	}
	m.Counters.TLSData += int64(len(o.bytes))
}

// reportTLS says which TLS connections could not be read.
func (m *Importer) reportTLS() {
	if m.Notice == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m.sawTLS)) {
		m.Notice(fmt.Sprintf("%s: %d connections were not read", name, m.sawTLS[name]))
	}
}
