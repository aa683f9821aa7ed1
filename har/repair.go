package har

import (
	"errors"
	"io"
	"strings"
	"time"
)

// Repair copies all whole lines of a torn or corrupt cassette to w, ends what they leave open, and closes it with an end
// line that says so. Plain lines stay plain. Lines behind a damaged one, or a damaged zstd frame, are kept but for those of exchanges
// that were under way there, which may lack a part. It reports how many exchanges were kept and what had to be left, "" if nothing.
func Repair(r io.Reader, w io.Writer, lim Limits) (kept int, left string, err error) {
	rd, err := NewReader(r, lim)
	if err != nil {
		return 0, "", err
	}
	out, err := NewWriter(w, rd.Header(), rd.src.packed == "")
	if err != nil {
		return 0, "", err
	}
	rd.keep, rd.salvage = out.copyLine, new(salvage)
	end := End{Repaired: true}
	for x, err := range rd.All() {
		if format := (*FormatError)(nil); errors.As(err, &format) {
			left = "everything from there: " + err.Error()
			break
		} else if err != nil {
			return 0, "", err
		}
		kept++
		end.At = latest(end.At, x)
		if rd.done && x.End == EndUnknown {
			out.endOpen(x)
		}
	}
	var lost []string
	if rd.salvage.first != nil {
		lost = append(lost, rd.salvage.String(rd.ledger))
	}
	for _, s := range []string{left, rd.Cut()} {
		if s != "" {
			lost = append(lost, s)
		}
	}
	left = strings.Join(lost, "; ")
	if e := rd.End(); e != nil {
		end.At, end.Error = e.At, e.Error
	}
	return kept, left, out.Close(end)
}

// endOpen continues an exchange whose lines stop without an ending by the one that its reader gave it.
func (w *Writer) endOpen(x *Exchange) {
	add := Exchange{Conn: x.Conn, Seq: x.Seq, End: x.End, Notes: x.Notes[len(x.Notes)-1:]}
	w.chunk.text = appendPart(w.chunk.text, &part{x: &add, more: true, last: true})
	w.emit(1)
}

// latest returns the later of at and the last thing that was seen of x.
func latest(at time.Time, x *Exchange) time.Time {
	last := x.EndAt
	for _, s := range []*Side{&x.Request, &x.Response} {
		if n := len(s.Writes); n > 0 {
			last = max(last, s.Writes[n-1].At)
		}
	}
	if t := x.Started.Add(last); t.After(at) {
		return t
	}
	return at
}
