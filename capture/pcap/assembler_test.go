package pcap

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

// c and s are segments from the client and the server. Sequence numbers count from isn.
func c(seq, ack uint32, flags, data string) *wireSegment {
	return &wireSegment{src: clientEnd, dst: serverEnd, seq: clientISN + seq, ack: serverISN + ack, flags: flags, data: data}
}

func s(seq, ack uint32, flags, data string) *wireSegment {
	return &wireSegment{src: serverEnd, dst: clientEnd, seq: serverISN + seq, ack: clientISN + ack, flags: flags, data: data}
}

// Both directions wrap within a few bytes.
const (
	clientISN = 0xFFFFFFFD
	serverISN = 0xFFFFFFFB
)

// at makes a segment that was captured so late.
func (w wireSegment) segment(at time.Duration) *segment {
	return &segment{at: epoch.Add(at), src: w.src, dst: w.dst, seq: w.seq, ack: w.ack, data: []byte(w.data),
		syn: strings.Contains(w.flags, "S"), fin: strings.Contains(w.flags, "F"), rst: strings.Contains(w.flags, "R"), has: strings.Contains(w.flags, "A")}
}

// A story writes what an assembler delivers, as "c:abc s:def c.FIN", bytes of one direction joined.
type story struct {
	words []string
	last  string
}

func (t *story) take(c *conn, o occurrence) {
	who := "c"
	if c.ends[o.from] == serverEnd {
		who = "s"
	}
	switch o.kind {
	case gotBytes:
		if t.last == who {
			t.words[len(t.words)-1] += string(o.bytes)
			return
		}
		t.words = append(t.words, who+":"+string(o.bytes))
		t.last = who
		return
	case gotLost:
		if o.lost < 0 {
			t.words = append(t.words, who+"?"+o.why)
			break
		}
		t.words = append(t.words, fmt.Sprintf("%s-%d%s", who, o.lost, strings.TrimPrefix(o.why, "gap")))
	case gotFIN:
		t.words = append(t.words, who+".FIN")
	case gotRST:
		t.words = append(t.words, who+".RST")
	case gotNote:
		t.words = append(t.words, o.why)
	case gotEnd:
		t.words = append(t.words, "end")
	}
	t.last = ""
}

// assembled gives the story of segments that came a millisecond apart.
func assembled(segments ...*wireSegment) string {
	var t story
	a := newAssembler(t.take)
	for i, w := range segments {
		if w == nil {
			continue
		}
		a.add(w.segment(time.Duration(i) * time.Millisecond))
	}
	a.close()
	if a.held != 0 || a.kept != 0 || len(a.watched) != 0 {
		panic(fmt.Sprintf("%d bytes held, %d kept, %d watched at the end", a.held, a.kept, len(a.watched)))
	}
	return strings.Join(t.words, " ")
}

// hands is a handshake.
func hands(rest ...*wireSegment) []*wireSegment {
	return append([]*wireSegment{c(0, 0, "S", ""), s(0, 1, "SA", ""), c(1, 1, "A", "")}, rest...)
}

func TestAssembler(t *testing.T) {
	tests := []struct {
		name     string
		segments []*wireSegment
		want     string
	}{
		{"in order", hands(c(1, 1, "A", "abc"), s(1, 4, "A", "de"), c(4, 3, "AF", ""), s(3, 5, "AF", "")), "c:abc s:de c.FIN s.FIN end"},
		{"out of order", hands(c(4, 1, "A", "def"), c(1, 1, "A", "abc")), "c:abcdef end"},
		{"retransmitted", hands(c(1, 1, "A", "abc"), c(1, 1, "A", "abc"), c(1, 1, "A", "abcdef"), c(2, 1, "A", "b")), "c:abcdef end"},
		{"overlapping", hands(c(3, 1, "A", "cde"), c(5, 1, "A", "efg"), c(1, 1, "A", "abcdefgh")), "c:abcdefgh end"},
		{"conflict behind", hands(c(1, 1, "A", "abc"), c(1, 1, "A", "aXc")), "c:abc conflict end"},
		{"conflict in the queue", hands(c(3, 1, "A", "cd"), c(2, 1, "A", "bXd"), c(1, 1, "A", "a")), "conflict c:abcd end"},
		{"keep-alive", hands(c(1, 1, "A", "abc"), c(3, 1, "A", "\x00"), s(1, 4, "A", ""), c(3, 1, "A", "")), "c:abc end"},
		{"data with the SYN", []*wireSegment{c(0, 0, "S", "ab"), s(0, 3, "SA", ""), c(3, 1, "A", "c")}, "c:abc end"},
		{"cause before effect", hands(s(1, 4, "A", "de"), c(1, 1, "A", "abc")), "c:abc s:de end"},
		{"a gap that was acknowledged", hands(c(1, 1, "A", "abc"), nil, c(6, 1, "A", "f"), s(1, 7, "A", "x")), "c:abc c-2 c:f s:x end"},
		{"a lost request", hands(s(1, 4, "A", "x")), "c-3 s:x end"},
		{"a lost end", hands(c(1, 1, "A", "abc"), s(1, 9, "A", "x")), "c:abc c-5 s:x end"},
		{"a lost end without more", hands(c(1, 1, "A", "abc"), s(1, 9, "A", "")), "c:abc c-5 end"},
		{"a gap before FIN", hands(c(1, 1, "A", "abc"), c(9, 1, "AF", "")), "c:abc c-5 c.FIN end"},
		{"a gap before RST", hands(c(1, 1, "A", "abc"), c(9, 1, "R", "")), "c:abc c-5 c.RST end"},
		{"a lost FIN", hands(c(1, 1, "A", "abc"), s(1, 5, "A", "x")), "c:abc s:x end"},
		{"RST", hands(c(1, 1, "A", "abc"), s(1, 4, "RA", "")), "c:abc s.RST end"},
		{"RST ahead of data", hands(c(4, 1, "R", ""), c(1, 1, "A", "abc")), "c:abc c.RST end"},
		{"stale RST", hands(c(1, 1, "A", "abc"), c(2, 1, "R", ""), c(4, 1, "A", "d")), "c:abcd end"},
		{"RST behind FIN", hands(c(1, 1, "AF", "abc"), c(5, 1, "R", "")), "c:abc c.FIN c.RST end"},
		{"bytes behind a forged RST", hands(c(1, 1, "R", ""), c(1, 1, "A", "abc")), "c.RST c:abc end"},
		{"half-close", hands(c(1, 1, "AF", "a"), s(1, 3, "A", "bc"), s(3, 3, "AF", "")), "c:a c.FIN s:bc s.FIN end"},
		{"FIN twice", hands(c(1, 1, "AF", "a"), c(1, 1, "AF", "a"), c(2, 1, "AF", "")), "c:a c.FIN end"},
		{"refused", []*wireSegment{c(0, 0, "S", ""), {src: serverEnd, dst: clientEnd, ack: clientISN + 1, flags: "RA"}}, "s?start s.RST end"},
		{"no SYN", []*wireSegment{c(5, 9, "A", "abc"), s(9, 8, "A", "de")}, "c?start s?start c:abc s:de end"},
		{"no SYN, swapped", []*wireSegment{c(8, 9, "A", "def"), c(5, 9, "A", "abc")}, "c?start c:abcdef end"},
		{"one direction", []*wireSegment{c(0, 0, "S", ""), c(1, 1, "A", "abc"), c(4, 9, "A", "d")}, "c:abcd end"},
		{"SYN last", []*wireSegment{c(1, 1, "A", "abc"), s(0, 1, "SA", ""), c(0, 0, "S", "")}, "c:abc end"},
		{"no SYN of the server", []*wireSegment{c(0, 0, "S", ""), c(1, 1, "A", "a"), s(1, 2, "A", "b")}, "c:a s:b end"},
		{"port reuse", append(hands(c(1, 1, "A", "abc"), s(1, 4, "RA", "")), &wireSegment{src: clientEnd, dst: serverEnd, seq: 5000, flags: "S"},
			&wireSegment{src: serverEnd, dst: clientEnd, seq: 9000, ack: 5001, flags: "SA"}, &wireSegment{src: clientEnd, dst: serverEnd, seq: 5001, ack: 9001, flags: "A", data: "new"}),
			"c:abc s.RST end c:new end"},
		{"SYN twice", append([]*wireSegment{c(0, 0, "S", "")}, hands(c(1, 1, "A", "a"))...), "c:a end"},
		{"waiting for one another", hands(c(1, 9, "A", "a"), s(1, 9, "A", "b")), "c:a c-7 s:b s-7 end"},
		{"nonsense ahead", hands(c(1<<31, 1, "A", "a"), c(1, 1, "A", "b")), "c:b end"},
		{"behind FIN", hands(c(1, 1, "AF", ""), c(2, 1, "A", "late")), "c.FIN end"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := assembled(tt.segments...); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// dialog is a short conversation: two requests, two answers, both ends close.
func dialog() (segments []*wireSegment, want string) {
	return []*wireSegment{c(0, 0, "S", ""), s(0, 1, "SA", ""), c(1, 1, "A", "ab"), s(1, 3, "A", "wx"), c(3, 3, "A", "cd"), s(3, 5, "A", "yz"), c(5, 5, "AF", ""), s(5, 6, "AF", "")},
		"c:ab s:wx c:cd s:yz c.FIN s.FIN end"
}

// Every order of the packets of a short conversation gives the same story.
func TestEveryOrder(t *testing.T) {
	segments, want := dialog()
	failed := 0
	permute(segments, 0, func() {
		if got := assembled(segments...); got != want && failed < 5 {
			failed++
			t.Errorf("order %s:\ngot  %s\nwant %s", names(segments), got, want)
		}
	})
}

func permute(list []*wireSegment, k int, yield func()) {
	if k == len(list) {
		yield()
		return
	}
	for i := k; i < len(list); i++ {
		list[k], list[i] = list[i], list[k]
		permute(list, k+1, yield)
		list[k], list[i] = list[i], list[k]
	}
}

func names(segments []*wireSegment) string {
	var b strings.Builder
	for _, w := range segments {
		if w != nil {
			who := "c"
			if w.src == serverEnd {
				who = "s"
			}
			fmt.Fprintf(&b, " %s%s%q", who, w.flags, w.data)
		}
	}
	return b.String()
}

// Whatever is lost or comes twice, in many orders: each direction's bytes are those that were sent, or it is said how many
// are missing, or that the beginning was not seen; and a FIN is told only behind what was said.
func TestEveryLoss(t *testing.T) {
	segments, _ := dialog()
	rng := rand.New(rand.NewPCG(3, 4))
	for set := range 1 << len(segments) {
		var kept []*wireSegment
		for i, w := range segments {
			if set&(1<<i) != 0 {
				kept = append(kept, w)
				if rng.IntN(4) == 0 {
					kept = append(kept, w)
				}
			}
		}
		for round := range 40 {
			if round > 0 {
				rng.Shuffle(len(kept), func(i, j int) { kept[i], kept[j] = kept[j], kept[i] })
			}
			got := assembled(kept...)
			for who, sent := range map[string]string{"c": "abcd", "s": "wxyz"} {
				if why := told(got, who, sent); why != "" {
					t.Fatalf("from%s:\n%s: %s: %s", names(kept), got, who, why)
				}
			}
		}
	}
}

// told checks one direction of a story against what was sent; "" means that it is true.
func told(story, who, sent string) string {
	at, beginning := 0, true
	for _, w := range strings.Fields(story) {
		switch {
		case w == who+"?start":
			if !beginning {
				return "a beginning in the middle"
			}
			beginning = false
			at = -1
		case strings.HasPrefix(w, who+"-"):
			var n int
			fmt.Sscanf(w[2:], "%d", &n)
			if at >= 0 {
				at += n
			}
		case strings.HasPrefix(w, who+":"):
			b := w[2:]
			if at < 0 {
				if at = strings.Index(sent, b); at < 0 {
					return "bytes that were not sent"
				}
			}
			if !strings.HasPrefix(sent[min(at, len(sent)):], b) {
				return fmt.Sprintf("%q at %d", b, at)
			}
			at += len(b)
		case w == who+".FIN" && at >= 0 && at != len(sent):
			return fmt.Sprintf("the end at %d of %d", at, len(sent))
		}
	}
	return ""
}

// Long conversations in random order, with loss and duplication, tell the truth too.
func TestRandomLong(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var all []*wireSegment
		sent := [2]string{}
		all = append(all, hands()...)
		for range 300 {
			n := 1 + rng.IntN(9)
			data := make([]byte, n)
			for i := range data {
				data[i] = "abcdefghijklmnopqrstuvwxyz0123456789"[rng.IntN(36)]
			}
			cs, ss := uint32(len(sent[0])+1), uint32(len(sent[1])+1)
			if rng.IntN(2) == 0 {
				all = append(all, c(cs, ss, "A", string(data)))
				sent[0] += string(data)
			} else {
				all = append(all, s(ss, cs, "A", string(data)))
				sent[1] += string(data)
			}
		}
		all = append(all, c(uint32(len(sent[0])+1), uint32(len(sent[1])+1), "AF", ""), s(uint32(len(sent[1])+1), uint32(len(sent[0])+2), "AF", ""))
		loss := seed%3 == 0
		mixed := slices.Clone(all)
		for i := len(mixed) - 1; i >= 0; i-- {
			if loss && rng.IntN(20) == 0 {
				mixed = slices.Delete(mixed, i, i+1)
			} else if rng.IntN(10) == 0 {
				mixed = append(mixed, mixed[i])
			}
		}
		if seed%2 == 0 {
			rng.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		} else {
			for i := range mixed {
				if j := i + rng.IntN(8); j < len(mixed) {
					mixed[i], mixed[j] = mixed[j], mixed[i]
				}
			}
		}
		got := assembled(mixed...)
		for i, who := range []string{"c", "s"} {
			if why := told(got, who, sent[i]); why != "" {
				t.Fatalf("seed %d: %s: %s", seed, who, why)
			}
			if !loss && joinedBytes(got, who) != sent[i] {
				t.Fatalf("seed %d: %s: not all bytes came, though none was lost", seed, who)
			}
		}
	}
}

func joinedBytes(story, who string) (b string) {
	for _, w := range strings.Fields(story) {
		if rest, ok := strings.CutPrefix(w, who+":"); ok {
			b += rest
		}
	}
	return b
}

// As time passes in the capture, what was acknowledged and did not come is given up, and what was not is waited for.
func TestPatience(t *testing.T) {
	var got story
	a := newAssembler(got.take)
	says := func(want string) {
		t.Helper()
		if s := strings.Join(got.words, " "); s != want {
			t.Errorf("got %q, want %q", s, want)
		}
	}
	for _, w := range hands(c(5, 1, "A", "e"), s(1, 1, "A", "")) {
		a.add(w.segment(0))
	}
	a.add(c(5, 1, "A", "e").segment(10 * time.Second))
	says("")
	a.add(s(1, 6, "A", "").segment(11 * time.Second))
	says("c-4 c:e")
	a.add(c(6, 1, "AF", "").segment(12 * time.Second))
	a.add(s(1, 7, "AF", "").segment(12 * time.Second))
	other := *c(0, 0, "S", "")
	other.src = netip.AddrPortFrom(clientEnd.Addr(), 5)
	a.add(other.segment(14 * time.Second))
	says("c-4 c:e c.FIN s.FIN end")
	if n := len(a.conns); n != 2 {
		t.Errorf("%d connections are known, want 2: the ended one is remembered", n)
	}
	a.add(c(6, 1, "A", "late").segment(14 * time.Second))
	a.add(other.segment(200 * time.Second))
	if n := len(a.conns); n != 1 {
		t.Errorf("%d connections are known, want 1", n)
	}
}

// Whatever peers send, what waits is bounded; past the bounds a gap is told.
func TestHeldIsBounded(t *testing.T) {
	var lost int64
	a := newAssembler(func(_ *conn, o occurrence) { lost += max(o.lost, 0) })
	data := strings.Repeat("x", 1<<16)
	for port := range uint16(100) {
		for i := range uint32(20) {
			w := c(100+i*(1<<16), 0, "A", data)
			w.src = netip.AddrPortFrom(clientEnd.Addr(), port+1)
			if i == 0 {
				w.seq, w.flags, w.data = 1, "S", ""
			}
			a.add(w.segment(0))
		}
		if a.held > maxHeld+1<<16 {
			t.Fatalf("%d bytes wait", a.held)
		}
	}
	for i := range uint32(2 * maxHeldParts) {
		a.add(c(10+2*i, 0, "A", "x").segment(0))
	}
	for _, conn := range a.conns {
		if conn.parts > maxHeldParts || conn.held > maxHeldConn {
			t.Fatalf("%d segments with %d bytes wait on a connection", conn.parts, conn.held)
		}
	}
	for i := range uint32(maxConns + 100) {
		w := c(0, 0, "S", "")
		w.src = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 1)
		a.add(w.segment(0))
	}
	if len(a.conns) > maxConns {
		t.Errorf("%d connections are followed", len(a.conns))
	}
	a.close()
	if lost == 0 || a.held != 0 {
		t.Errorf("%d bytes were said to be lost, %d are held at the end", lost, a.held)
	}
}

func FuzzAssembler(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x01\x01\x00\x01\x02\x00\x01\x01\x00abc"))
	f.Add([]byte{0, 0, 0, 1, 0, 1, 0, 1, 17, 0, 0, 1, 1, 16, 3, 1, 1, 1, 16, 2, 0, 4, 16, 5})
	f.Fuzz(func(t *testing.T, b []byte) {
		a := newAssembler(func(*conn, occurrence) {})
		for at := time.Duration(0); len(b) >= 4; b = b[4:] {
			w := c(uint32(b[1]), uint32(b[2]), "", strings.Repeat("x", int(b[3]&15)))
			if b[0]&1 != 0 {
				w = s(uint32(b[1]), uint32(b[2]), "", strings.Repeat("x", int(b[3]&15)))
			}
			g := w.segment(at)
			g.syn, g.fin, g.rst, g.has = b[0]&2 != 0, b[0]&4 != 0, b[0]&8 != 0, b[0]&16 != 0
			g.cut = int(b[3] >> 6)
			if b[0]&32 != 0 {
				g.seq += 1 << 30
			}
			if b[0]&64 != 0 {
				g.ack += 1 << 31
			}
			at += time.Duration(b[3]) * time.Millisecond
			a.add(g)
		}
		a.close()
		if a.held != 0 || a.kept != 0 || len(a.conns) != 0 {
			t.Fatalf("%d bytes held, %d kept, %d connections at the end", a.held, a.kept, len(a.conns))
		}
	})
}
