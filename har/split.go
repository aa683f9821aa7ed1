package har

import (
	"slices"
	"unicode/utf8"
)

const (
	lineBytes  = 4 << 20 // bytes of an exchange that one line takes; longer ones are continued
	lineWrites = 1 << 16 // writes of each side that one line takes
)

// remains is what is still to be written of an exchange's bytes.
type remains struct{ request, response Side }

func newRemains(x *Exchange) remains {
	r := remains{x.Request, x.Response}
	if !r.fit() {
		r.request.Writes, r.response.Writes = slices.Clone(r.request.Writes), slices.Clone(r.response.Writes)
	}
	return r
}

// fit tells whether all of it goes on one line.
func (r *remains) fit() bool {
	return len(r.request.Raw)+len(r.response.Raw) <= lineBytes && max(len(r.request.Writes), len(r.response.Writes)) <= lineWrites
}

// next takes off both sides what one line holds. last: nothing is left.
func (r *remains) next() (request, response Side, last bool) {
	if r.fit() {
		return r.request, r.response, true
	}
	request = r.request.takeOff(lineBytes / 2)
	response = r.response.takeOff(lineBytes - len(request.Raw))
	return request, response, len(r.request.Raw)+len(r.response.Raw) == 0
}

// takeOff removes at most n bytes from the front, but at least one, not within a character, and returns them. It changes
// the list of writes.
func (s *Side) takeOff(n int) Side {
	if len(s.Writes) > lineWrites {
		total := 0
		for _, w := range s.Writes[:lineWrites] {
			total += w.Len
		}
		n = min(n, total)
	}
	if n >= len(s.Raw) {
		whole := *s
		*s = Side{}
		return whole
	}
	for back := 0; back < utf8.UTFMax-1 && n > 1 && !utf8.RuneStart(s.Raw[n]); back++ {
		n--
	}
	front := Side{Raw: s.Raw[:n:n]}
	s.Raw = s.Raw[n:]
	for n > 0 && len(s.Writes) > 0 {
		w := &s.Writes[0]
		if n < w.Len {
			front.Writes = append(front.Writes, Write{w.At, n})
			w.Len -= n
			break
		}
		front.Writes = append(front.Writes, *w)
		n -= w.Len
		s.Writes = s.Writes[1:]
	}
	return front
}
