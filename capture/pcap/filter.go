package pcap

import (
	"net/netip"
	"slices"
)

// A Filter chooses connections by their ends. One is taken if an end has one of the ports, and an end is in one of the
// networks; without ports or without networks any will do.
type Filter struct {
	Ports []uint16
	Hosts []netip.Prefix
}

func (f *Filter) takes(s *segment) bool {
	if len(f.Ports) > 0 && !slices.Contains(f.Ports, s.src.Port()) && !slices.Contains(f.Ports, s.dst.Port()) {
		return false
	}
	holds := func(p netip.Prefix) bool { return p.Contains(s.src.Addr()) || p.Contains(s.dst.Addr()) }
	return len(f.Hosts) == 0 || slices.ContainsFunc(f.Hosts, holds)
}
