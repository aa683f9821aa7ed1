package analyze

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// An UnknownError says that nothing has the name that was asked for.
type UnknownError struct {
	Kind, Name string
	Want       string   // what would do
	Near       []string // names that are like it, the nearest first; none if nothing is
}

// Error names what was asked for and what would do.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("no %s %q; want %s", e.Kind, e.Name, e.Want)
}

// Near lists those of names, at most three, that a person may have meant by name: those it is a part of, and those that
// one or two changes make of it; of longer names, a third of their letters may differ.
func Near(name string, names []string) []string {
	type candidate struct {
		name string
		far  int
	}
	var found []candidate
	lower := strings.ToLower(name)
	if lower == "" || len(lower) > 100 {
		return nil
	}
	for _, n := range names {
		far := distance(lower, strings.ToLower(n))
		switch {
		case strings.Contains(strings.ToLower(n), lower):
			far = min(far, 1)
		case far > max(2, (len(n)+2)/3):
			continue
		}
		found = append(found, candidate{n, far})
	}
	slices.SortStableFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(len(a.name), len(b.name)))
	})
	var near []string
	for _, c := range found[:min(len(found), 3)] {
		near = append(near, c.name)
	}
	return near
}

// distance is the number of letters to insert, delete or replace on the way from a to b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
