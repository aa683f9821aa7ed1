package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/analyze"
)

// A selection is what --only leaves of a report: of findings those with one of the IDs, if there are any, and of all that
// has a place what is at one of the places, if there are any.
type selection struct {
	words         []string
	ids           []string
	exchanges     [][2]int // from, to
	conversations []int
}

// parseSelection reads the words of --only: N, N-M, cN or the ID of a finding.
func parseSelection(words []string) (*selection, error) {
	s := &selection{words: words}
	for _, w := range words {
		switch from, to, ok := parseRange(w); {
		case ok:
			s.exchanges = append(s.exchanges, [2]int{from, to})
			continue
		case slices.Contains(analyze.FindingIDs(), w):
			s.ids = append(s.ids, w)
			continue
		}
		id, err := strconv.Atoi(strings.TrimPrefix(w, "c"))
		if err != nil || id < 1 || !strings.HasPrefix(w, "c") {
			return nil, &trouble{fmt.Errorf("--only %s: want the ID of a finding, an exchange as 3, exchanges as 3-7 or a conversation as c1", w), nearID(w)}
		}
		s.conversations = append(s.conversations, id)
	}
	return s, nil
}

// parseRange reads "3" or "3-7".
func parseRange(w string) (from, to int, ok bool) {
	a, b, both := strings.Cut(w, "-")
	from, err := strconv.Atoi(a)
	if err != nil {
		return 0, 0, false
	}
	if to = from; both {
		to, err = strconv.Atoi(b)
	}
	return from, to, err == nil && from >= 1 && from <= to
}

// places tells whether the selection names places.
func (s *selection) places() bool { return len(s.exchanges)+len(s.conversations) > 0 }

// takes tells whether an exchange is at one of the places.
func (s *selection) takes(x *analyze.Exchange) bool {
	in := func(r [2]int) bool { return r[0] <= x.N && x.N <= r[1] }
	return !s.places() || slices.ContainsFunc(s.exchanges, in) || slices.Contains(s.conversations, x.Conversation)
}

// apply removes from the report what is not selected: findings, then the exchanges that neither a place nor a finding
// that is left names, then conversations without an exchange. Where nothing is left, the error says what there was.
func (s *selection) apply(r *analyze.Report) error {
	if !s.places() && len(s.ids) == 0 {
		return nil
	}
	had := s.holds(r)
	at := map[int]bool{}
	for i := range r.Exchanges {
		at[r.Exchanges[i].N] = s.takes(&r.Exchanges[i])
	}
	r.Findings = slices.DeleteFunc(r.Findings, func(f analyze.Finding) bool {
		wanted := len(s.ids) == 0 || slices.Contains(s.ids, f.ID)
		return !wanted || !slices.ContainsFunc(f.Exchanges, func(n int) bool { return at[n] })
	})
	named := map[int]bool{}
	for i := range r.Findings {
		for _, n := range r.Findings[i].Exchanges {
			named[n] = true
		}
	}
	used := map[int]bool{}
	r.Exchanges = slices.DeleteFunc(r.Exchanges, func(x analyze.Exchange) bool {
		keep := s.places() && at[x.N] || named[x.N]
		used[x.Conversation] = used[x.Conversation] || keep
		return !keep
	})
	r.Conversations = slices.DeleteFunc(r.Conversations, func(c analyze.Conversation) bool { return !used[c.ID] })
	left := func(n int) bool {
		return slices.ContainsFunc(r.Exchanges, func(x analyze.Exchange) bool { return x.N == n })
	}
	for i := range r.Conversations {
		c := &r.Conversations[i]
		c.Course = slices.DeleteFunc(c.Course, func(x analyze.Choice) bool { return !left(x.Exchange) })
	}
	if len(r.Exchanges) == 0 {
		return fmt.Errorf("--only %s: the report has nothing of that; it has %s", strings.Join(s.words, ","), had)
	}
	return nil
}

// holds says what a report has that can be selected.
func (s *selection) holds(r *analyze.Report) string {
	if len(r.Exchanges) == 0 {
		return "no exchanges"
	}
	words := fmt.Sprintf("exchange %d", r.Exchanges[0].N)
	if last := r.Exchanges[len(r.Exchanges)-1].N; len(r.Exchanges) > 1 {
		words = fmt.Sprintf("exchanges %d to %d", r.Exchanges[0].N, last)
	}
	switch n := len(r.Conversations); n {
	case 0:
	case 1:
		words += fmt.Sprintf(", conversation c%d", r.Conversations[0].ID)
	default:
		words += fmt.Sprintf(", conversations c%d to c%d", r.Conversations[0].ID, r.Conversations[n-1].ID)
	}
	var ids []string
	for i := range r.Findings {
		ids = append(ids, r.Findings[i].ID)
	}
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) == 0 {
		return words + " and no findings"
	}
	return words + " and the findings " + strings.Join(ids, ", ")
}
