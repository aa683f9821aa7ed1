package har

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A salvage is what a Reader that reads on behind damage keeps account of. A line that was lost may have been any: the first of an
// exchange, so that the next one of its connection has another _seq than the format asks for, or one in the middle, so that what
// follows of an exchange stands in the wrong place. So exchanges that were under way are given no more lines, and those that begin
// behind the damage are numbered anew on their connection.
type salvage struct {
	lines   int   // that were left out as damaged, or frames of them
	dropped int   // that hang on those
	first   error // the first damage

	placed map[place]int  // the new _seq of what began behind the last damage, by its place in the file; Seq 0: a process
	shift  map[uint64]int // by how much the _seq of a connection are less now
	cut    []int          // exchanges that were under way
	wanted int            // exchanges that the end line counts, 0 if it does not
}

// moved is how a line's place differs from that in the file.
type moved struct {
	seq  bool
	note string // "" for none
}

// damaged takes note of damage.
func (s *salvage) damaged(err error, l *ledger) {
	if s.first == nil {
		s.first = err
		s.placed, s.shift = map[place]int{}, map[uint64]int{}
	}
	s.lines++
	l.held -= heldPerID * int64(len(s.placed))
	clear(s.placed)
}

// place gives a line its place in what is left. It tells whether it has one.
func (s *salvage) place(l *line, led *ledger) (m moved, ok bool) {
	if s.first == nil {
		return m, true
	}
	switch l.kind {
	case firstLine:
		was := place{l.x.Conn, l.x.Seq}
		next := led.last[was.conn].seq + 1
		if lost := was.seq - s.shift[was.conn] - next; lost > 0 {
			s.shift[was.conn] += lost
			m.note = fmt.Sprintf("%s: %s before it on its connection", NoteLost, exchangesWord(lost))
		}
		l.x.Seq -= s.shift[was.conn]
		m.seq = l.x.Seq != was.seq
		s.put(was, l.x.Seq, led)
	case moreLine:
		seq, here := s.placed[place{l.x.Conn, l.x.Seq}]
		if !here {
			s.dropped++
			return m, false
		}
		m.seq = seq != l.x.Seq
		l.x.Seq = seq
	case processLine:
		at := place{l.process.Conn, 0}
		if _, here := s.placed[at]; !here && led.processes[at.conn] != nil {
			s.dropped++
			return m, false
		}
		s.put(at, 0, led)
	}
	return m, true
}

func (s *salvage) put(at place, seq int, led *ledger) {
	if _, here := s.placed[at]; !here {
		led.held += heldPerID
	}
	s.placed[at] = seq
}

// String says what was lost.
func (s *salvage) String(l *ledger) string {
	text := s.first.Error()
	if s.lines > 1 {
		text = fmt.Sprintf("%d places are damaged, the first: %s", s.lines, text)
	}
	missing, some := l.missing()
	switch n := s.wanted - l.seen; {
	case n > len(missing) || some && n > 0:
		text += "; lost: " + exchangesWord(n)
	case len(missing) > 0:
		text += "; lost: " + numbersWord(missing)
	}
	if len(s.cut) > 0 {
		text += "; cut short: " + numbersWord(s.cut)
	}
	return text
}

// maxNumbers is how many exchanges are named by number.
const maxNumbers = 20

// missing are the numbers between the first exchange and the last that no exchange has. more: there are others.
func (l *ledger) missing() (list []int, more bool) {
	pages := make([]int, 0, len(l.numbers))
	for page := range l.numbers {
		pages = append(pages, page)
	}
	slices.Sort(pages)
	last := 0
	for _, page := range pages {
		for bit := range 64 {
			if l.numbers[page]&(1<<bit) == 0 {
				continue
			}
			n := page*64 + bit
			for last++; last < n && n-last < 1<<20 && l.seen > 0; last++ {
				if len(list) == maxNumbers {
					return list, true
				}
				list = append(list, last)
			}
			last = n
		}
	}
	return list, false
}

func exchangesWord(n int) string {
	if n == 1 {
		return "1 exchange"
	}
	return strconv.Itoa(n) + " exchanges"
}

func numbersWord(list []int) string {
	words := make([]string, 0, len(list))
	for _, n := range list[:min(len(list), maxNumbers)] {
		words = append(words, strconv.Itoa(n))
	}
	if len(list) > maxNumbers {
		words = append(words, "…")
	}
	if len(list) == 1 {
		return "exchange " + words[0]
	}
	return "exchanges " + strings.Join(words, ", ")
}
