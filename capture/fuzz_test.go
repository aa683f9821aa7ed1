package capture

import (
	"bytes"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// Whatever a source says it saw, the cassette takes it, loses no byte and invents none.
func FuzzRecorder(f *testing.F) {
	for _, secrets := range []bool{false, true} {
		for _, dialogue := range []string{
			"\x00" + ask + "\xff\x01" + answer + "\xff\x07",
			"\x00" + ask + ask + "\xff\x01" + answer + "\xff\x0b\xff\x01" + answer + "\xff\x02\xff\x07",
			"\x10" + ask + "\xff\x00" + ask[:20] + "\xff\x61" + stream + "data: 1\n\n\xff\x00" + ask[20:] + "\xff\x03\xff\x13\xff\x07",
			"\x08" + ask + "\xff\x41garbage\xff\x02\xff\x01late\xff\x04\xff\x07\xff\x00" + ask,
		} {
			f.Add([]byte(dialogue), secrets)
		}
	}
	f.Fuzz(func(t *testing.T, script []byte, secrets bool) {
		out := new(file)
		w, err := har.NewWriter(out, har.Header{Tool: "test", Mode: "reverse"}, true)
		if err != nil {
			t.Fatal(err)
		}
		var redact *har.Redactor
		if !secrets {
			redact = har.NewRedactor()
		}
		var b book
		b.init(w, redact)
		b.now = time.Unix(1_800_000_000, 0)
		at, sent := b.now, map[uint64]*[2][]byte{1: {}, 2: {}}
		place, next := [2]uint64{1, 2}, uint64(3)
		for step := range bytes.SplitSeq(script, []byte{0xff}) {
			if len(step) == 0 {
				continue
			}
			// Bit 0: direction; 1 and 2: what; 3: edit, or FIN in place of reset; 4: connection; 5 to 7: time.
			how := step[0]
			e := har.Event{Conn: place[how>>4&1], Dir: wire.Dir(how & 1), At: at}
			switch how >> 1 & 3 {
			case 0:
				e.Bytes = step[1:]
				if how&8 != 0 && e.Dir == wire.ToServer {
					e.Edits = []har.Edit{{Off: 0, Len: len(e.Bytes), New: "new"}}
				}
			case 1:
				if e.End = har.EndRST; how&8 != 0 {
					e.End = har.EndFIN
				}
			case 2:
				e.Note, e.End = "upstream: refused", har.EndUnknown
			default:
				e.End = har.EndStopped
			}
			s := sent[e.Conn]
			s[e.Dir] = append(s[e.Dir], e.Bytes...)
			if e.End == har.EndStopped || e.End == har.EndUnknown { // the last of this one
				place[how>>4&1] = next
				sent[next] = new([2][]byte)
				next++
			}
			q := new(queue)
			q.add(&e)
			b.takeAll(q)
			b.keepUp()
			step := time.Duration(how>>5) * 50 * time.Millisecond
			b.now, at = b.now.Add(step), at.Add(step-100*time.Millisecond)
		}
		b.close()
		if b.err != nil {
			t.Fatalf("recording failed: %v", b.err)
		}
		got := map[uint64]*[2][]byte{}
		for conn := range next {
			got[conn] = new([2][]byte)
		}
		for _, x := range out.read(t).Exchanges {
			g := got[x.Conn]
			g[0], g[1] = append(g[0], x.Request.Raw...), append(g[1], x.Response.Raw...)
			if x.End == "" {
				t.Errorf("exchange %d has no ending", x.N)
			}
		}
		for conn, s := range sent {
			for d := range s {
				if secrets && !bytes.Equal(got[conn][d], s[d]) || len(got[conn][d]) != len(s[d]) {
					t.Errorf("connection %d, %v: kept %q of %q", conn, wire.Dir(d), got[conn][d], s[d])
				}
			}
		}
	})
}
