package replay

import (
	"cmp"
	"net"
	"net/url"
	"slices"

	"github.com/mcptap/mcptap/har"
)

// NameServers tells the servers of a recording apart that does not name them: by host and port, where their bytes went, each
// named HOST:PORT. It names the exchanges; of one server it names none, and gives none.
func NameServers(xs []*har.Exchange) []har.Server {
	byConn := map[uint64]string{}
	for _, x := range xs {
		if name := hostPort(x.URL); name != "" && byConn[x.Conn] == "" {
			byConn[x.Conn] = name
		}
	}
	of := func(x *har.Exchange) string { return cmp.Or(hostPort(x.URL), byConn[x.Conn], x.Server, "unknown") }
	var list []har.Server
	known := map[string]bool{}
	for _, x := range slices.SortedFunc(slices.Values(xs), func(a, b *har.Exchange) int { return cmp.Compare(a.N, b.N) }) {
		if name := of(x); !known[name] {
			known[name] = true
			list = append(list, har.Server{Name: name, To: x.URL})
		}
	}
	if len(list) < 2 {
		return nil
	}
	for _, x := range xs {
		x.Name = of(x)
	}
	return list
}

// hostPort is the host and port of a URL, "" if it has none.
func hostPort(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	port := u.Port()
	if port == "" && u.Scheme == "https" {
		port = "443"
	}
	return net.JoinHostPort(u.Hostname(), cmp.Or(port, "80"))
}

// Close ends all Players. The recording is loaded to its end first, since what was not asked for is known then.
func (l *Loading) Close() (err error) {
	for _, p := range l.Players {
		if e := p.Close(); err == nil {
			err = e
		}
	}
	return err
}

// Result joins the results of all Players. A fault is unused if it met no request of any server.
func (l *Loading) Result() (all Result) {
	for i, p := range l.Players {
		r := p.Result()
		all.Served += r.Served
		all.Repeated += r.Repeated
		all.Misses = append(all.Misses, r.Misses...)
		all.Unserved = append(all.Unserved, r.Unserved...)
		all.Patches = append(all.Patches, r.Patches...)
		all.Faults = append(all.Faults, r.Faults...)
		if i == 0 {
			all.Unused = r.Unused
			continue
		}
		all.Unused = slices.DeleteFunc(all.Unused, func(f Fault) bool {
			return !slices.ContainsFunc(r.Unused, func(g Fault) bool { return g.String() == f.String() })
		})
	}
	slices.SortStableFunc(all.Unserved, func(a, b *har.Exchange) int { return cmp.Compare(a.N, b.N) })
	return all
}

// nameOf names the recording of an exchange for people.
func (l *Loading) nameOf(x *har.Exchange) string { return l.Players[l.server(x)].ix.byN(x).name() }
