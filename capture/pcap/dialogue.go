package pcap

import (
	"cmp"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// Dialogues makes of exchanges over TCP the connections that they were on, as the server saw them: edits are applied, cuts and
// times kept, endings as far as they are known. comment gives the words on the first packet of an exchange, "" for none. Names in
// place of addresses get addresses of 198.18.0.0/15 (RFC 2544) or 2001:db8::/32 (RFC 3849), one each, and connections between
// the same two ends get ports that tell them apart.
func Dialogues(xs []*har.Exchange, comment func(*har.Exchange) string) []Dialogue {
	byConn := map[uint64][]*har.Exchange{}
	var order []uint64
	for _, x := range xs {
		if len(byConn[x.Conn]) == 0 {
			order = append(order, x.Conn)
		}
		byConn[x.Conn] = append(byConn[x.Conn], x)
	}
	book := &addressBook{names: map[string]uint32{}, used: map[pair]bool{}}
	var all []Dialogue
	for _, id := range order {
		list := byConn[id]
		slices.SortFunc(list, func(x, y *har.Exchange) int { return cmp.Compare(x.Seq, y.Seq) })
		d := Dialogue{Opened: list[0].Started, Acts: acts(list, comment)}
		d.Client, d.Server = book.ends(list[0].Client, list[0].Server)
		all = append(all, d)
	}
	return all
}

// acts orders what happened on a connection. In each direction the order is that of the bytes, and no answer comes before its
// request has begun.
func acts(list []*har.Exchange, comment func(*har.Exchange) string) []Act {
	var ways [2][]Act
	var now [2]time.Time
	var ended [2]har.Ending
	add := func(a Act) {
		if a.At.Before(now[a.Dir]) {
			a.At = now[a.Dir]
		}
		now[a.Dir] = a.At
		ways[a.Dir] = append(ways[a.Dir], a)
	}
	for _, x := range list {
		words := comment(x)
		first := true
		note := func(a Act) {
			if first {
				a.Comment, first = words, false
			}
			add(a)
		}
		for _, a := range pieces(x, wire.ToServer, x.ServerLeg(), serverWrites(x)) {
			note(a)
		}
		now[wire.ToClient] = later(now[wire.ToClient], x.Started)
		from, how := ending(x)
		for _, a := range pieces(x, wire.ToClient, x.Response.Raw, x.Response.Writes) {
			note(a)
		}
		if how == "" || ended[from] == how || ended[from] == har.EndRST {
			continue
		}
		ended[from] = how
		add(Act{Dir: from, At: x.Started.Add(x.EndAt), End: how})
		if from == wire.ToServer && how == har.EndFIN && x.EndOff < len(x.Response.Raw) {
			// It left, and did not merely stop asking: bytes that come then are refused.
			at := later(now[wire.ToClient], now[wire.ToServer])
			add(Act{Dir: from, At: at, End: har.EndRST})
		}
	}
	return merged(ways)
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// pieces cuts the bytes of one direction at its writes.
func pieces(x *har.Exchange, d wire.Dir, raw []byte, writes []har.Write) []Act {
	var list []Act
	for _, w := range writes {
		n := min(w.Len, len(raw))
		if n > 0 {
			list = append(list, Act{Dir: d, At: x.Started.Add(w.At), Bytes: raw[:n]})
		}
		raw = raw[n:]
	}
	if len(raw) > 0 {
		list = append(list, Act{Dir: d, At: x.Started, Bytes: raw})
	}
	return list
}

// serverWrites are the request's cuts where edits have moved them.
func serverWrites(x *har.Exchange) []har.Write {
	if len(x.Edits) == 0 {
		return x.Request.Writes
	}
	var writes []har.Write
	at, before := 0, 0
	for i, w := range x.Request.Writes {
		at += w.Len
		here := movedTo(x.Edits, at)
		if i == len(x.Request.Writes)-1 {
			here = len(x.ServerLeg())
		}
		writes = append(writes, har.Write{At: w.At, Len: here - before})
		before = here
	}
	return writes
}

// movedTo is where an offset is once edits were made.
func movedTo(edits []har.Edit, at int) int {
	moved := at
	for _, e := range edits {
		switch {
		case e.Off+e.Len <= at:
			moved += len(e.New) - e.Len
		case e.Off < at:
			moved += min(at-e.Off, len(e.New)) - (at - e.Off)
		}
	}
	return moved
}

// ending is who ended the connection and how, as far as TCP shows it; "" where it does not.
func ending(x *har.Exchange) (from wire.Dir, how har.Ending) {
	switch x.End {
	case har.EndFIN, har.EndNoCloseNotify:
		return wire.ToClient, har.EndFIN
	case har.EndRST:
		return wire.ToClient, har.EndRST
	case har.EndClientFIN:
		return wire.ToServer, har.EndFIN
	case har.EndClientRST:
		return wire.ToServer, har.EndRST
	}
	return 0, ""
}

// merged brings both directions into one order by time, the client's first where times are equal, but a client's ending behind
// the answer.
func merged(ways [2][]Act) []Act {
	up, down := ways[wire.ToServer], ways[wire.ToClient]
	var all []Act
	for len(up)+len(down) > 0 {
		first := len(down) == 0 || len(up) > 0 && (up[0].At.Before(down[0].At) || up[0].At.Equal(down[0].At) && up[0].End == "")
		if first {
			all, up = append(all, up[0]), up[1:]
		} else {
			all, down = append(all, down[0]), down[1:]
		}
	}
	return all
}

// mostTries is how many ports are tried for a connection between ends that have one.
const mostTries = 64

// An addressBook gives connections their ends.
type addressBook struct {
	names map[string]uint32 // those that stand for addresses, numbered from 1
	used  map[pair]bool
}

func (b *addressBook) ends(client, server string) (c, s netip.AddrPort) {
	ch, cp := split(client, 40000)
	sh, sp := split(server, 80)
	ca, sa := literal(ch), literal(sh)
	six := ca.Is6() || sa.Is6()
	c, s = netip.AddrPortFrom(b.address(ca, "client "+ch, six), cp), netip.AddrPortFrom(b.address(sa, "server "+sh, six), sp)
	for tries := 0; b.used[pair{c, s}]; tries++ {
		if tries == mostTries { // many connections between the same ends: another client
			b.names["client "+ch] = uint32(len(b.used) + len(b.names) + 1)
			c = netip.AddrPortFrom(b.address(netip.Addr{}, "client "+ch, six), cp)
			continue
		}
		c = netip.AddrPortFrom(c.Addr(), max(c.Port()+1, 1024))
	}
	b.used[pair{c, s}] = true
	return c, s
}

// address is an address of the family that both ends have.
func (b *addressBook) address(a netip.Addr, name string, six bool) netip.Addr {
	if a.IsValid() && six {
		return netip.AddrFrom16(a.As16())
	}
	if a.IsValid() {
		return a
	}
	n, known := b.names[name]
	if !known {
		n = uint32(len(b.names) + 1)
		b.names[name] = n
	}
	if six {
		return netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 12: byte(n >> 24), 13: byte(n >> 16), 14: byte(n >> 8), 15: byte(n)})
	}
	return netip.AddrFrom4([4]byte{198, 18 + byte(n>>16&1), byte(n >> 8), byte(n)})
}

func literal(host string) netip.Addr {
	a, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	return a.WithZone("").Unmap()
}

// split takes host:port apart; other is the port where there is none.
func split(s string, other uint16) (host string, port uint16) {
	host, p, err := net.SplitHostPort(s)
	if err != nil {
		return s, other
	}
	n, err := strconv.ParseUint(p, 10, 16)
	if err != nil || n == 0 {
		return host, other
	}
	return host, uint16(n)
}
