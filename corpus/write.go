package corpus

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/har"
)

// Write writes a cassette of plain lines, as those of the corpus are: the header, what is known of processes, exchanges in
// order of their endings (over stdio in order of N), and the end line.
func Write(w io.Writer, h har.Header, processes []*har.Process, xs []*har.Exchange) error {
	out, err := har.NewWriter(w, h, true)
	if err != nil {
		return err
	}
	end := har.End{At: h.Started, Exchanges: len(xs)}
	conns := map[uint64]bool{}
	for _, x := range xs {
		conns[x.Conn] = true
	}
	end.Conns = len(conns)
	for _, p := range processes {
		if !conns[p.Conn] {
			continue
		}
		if err := out.Process(p); err != nil {
			return err
		}
	}
	for _, x := range inOrderOfEnding(xs) {
		if err := out.Write(x); err != nil {
			return err
		}
		end.Redacted += len(x.Redacted)
		if at := ended(x); at.After(end.At) {
			end.At = at
		}
	}
	return out.Close(end)
}

// inOrderOfEnding is the order of a recording's lines. Over stdio it is that of beginning: one connection carries exchanges
// side by side. On one connection places grow.
func inOrderOfEnding(xs []*har.Exchange) []*har.Exchange {
	list := slices.SortedStableFunc(slices.Values(xs), func(a, b *har.Exchange) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.N, b.N))
	})
	last := map[uint64]time.Time{} // of a connection
	at := map[*har.Exchange]time.Time{}
	for _, x := range list {
		t := ended(x)
		if x.Stdio() {
			t = x.Started
		}
		if t.Before(last[x.Conn]) {
			t = last[x.Conn]
		}
		last[x.Conn], at[x] = t, t
	}
	slices.SortStableFunc(list, func(a, b *har.Exchange) int { return at[a].Compare(at[b]) })
	return list
}

// ended is when an exchange ended.
func ended(x *har.Exchange) time.Time {
	at := x.EndAt
	for _, w := range x.Response.Writes {
		at = max(at, w.At)
	}
	return x.Started.Add(at)
}

// marked notes what has been altered: what is left is no longer what was on the wire.
func marked(xs, originals []*har.Exchange) {
	for i, x := range xs {
		j := slices.IndexFunc(originals, func(o *har.Exchange) bool { return o.N == x.N })
		same := len(x.Request.Raw) == len(originals[j].Request.Raw) && len(x.Response.Raw) == len(originals[j].Response.Raw)
		if same || slices.ContainsFunc(x.Notes, func(n string) bool { return strings.HasPrefix(n, har.NoteMinimized) }) {
			continue
		}
		xs[i].Notes = append(slices.Clone(x.Notes), har.NoteMinimized)
	}
}
