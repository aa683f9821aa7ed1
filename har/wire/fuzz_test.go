package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"unicode/utf8"
)

// dialogue makes steps of the two directions: each byte of plan takes up to 127 bytes of one of them, of the server's if
// its high bit is set; 0 and 128 end a direction. What the plan leaves over comes last.
func dialogue(request, response, plan []byte) []step {
	var steps []step
	rest := [2][]byte{request, response}
	for _, b := range plan {
		d := Dir(b >> 7)
		n := min(int(b&127), len(rest[d]))
		steps = append(steps, step{dir: d, bytes: string(rest[d][:n]), close: b&127 == 0})
		rest[d] = rest[d][n:]
	}
	return append(steps, to(string(rest[ToServer])), from(string(rest[ToClient])))
}

// recut cuts the steps' bytes at other places: each byte of cuts is the length of a part.
func recut(steps []step, cuts []byte) []step {
	if len(cuts) == 0 {
		cuts = []byte{1}
	}
	var out []step
	i := 0
	for _, st := range steps {
		if st.close {
			out = append(out, st)
			continue
		}
		for len(st.bytes) > 0 {
			n := min(int(cuts[i%len(cuts)])+1, len(st.bytes))
			i++
			out = append(out, step{dir: st.dir, bytes: st.bytes[:n]})
			st.bytes = st.bytes[n:]
		}
	}
	return out
}

func FuzzSlicer(f *testing.F) {
	for _, tt := range dialogues {
		var bytes [2]string
		var plan []byte
		for _, st := range tt.steps {
			bytes[st.dir] += st.bytes
			plan = append(plan, byte(st.dir)<<7|byte(min(len(st.bytes), 127)))
		}
		f.Add([]byte(bytes[ToServer]), []byte(bytes[ToClient]), plan, []byte{0}, uint16(tt.maxHead))
	}
	for _, tt := range responses {
		f.Add([]byte(tt.method+" / HTTP/1.1\r\n\r\n"), []byte(tt.raw), []byte{127, 255, 128}, []byte{3, 0, 7}, uint16(0))
	}
	f.Fuzz(func(t *testing.T, request, response, plan, cuts []byte, maxHead uint16) {
		steps := dialogue(request, response, plan)
		want := observe(t, int(maxHead), steps)
		for d, got := range observe(t, int(maxHead), recut(steps, cuts)) {
			if got.String() != want[d].String() || !slices.EqualFunc(got.heads, want[d].heads, sameHead) {
				t.Fatalf("%s:\n  cut %s\nwhole %s", Dir(d), got, want[d])
			}
		}
	})
}

func FuzzParseResponse(f *testing.F) {
	for i, tt := range responses {
		f.Add([]byte(tt.raw), tt.method, tt.closed, i)
	}
	f.Fuzz(func(t *testing.T, raw []byte, method string, closed bool, cut int) {
		switch method {
		case "", "GET", "HEAD", "CONNECT":
		default:
			method = "POST"
		}
		interim, final, tail := ParseResponse(raw, method, closed)
		at := 0
		for i := range interim {
			if interim[i].Off != at {
				t.Fatalf("interim response at %d, want %d", interim[i].Off, at)
			}
			at = interim[i].End
		}
		if final != nil {
			if final.Off != at {
				t.Fatalf("final response at %d, want %d", final.Off, at)
			}
			at = final.End
			checkSpans(t, raw, final)
			checkPlaces(t, string(raw), final)
		}
		if tail.Off != at || tail.End() != len(raw) {
			t.Fatalf("tail %v, want %d to %d", tail, at, len(raw))
		}
		cut = min(max(cut, 0), len(raw))
		agree(t, raw, method, closed, raw[:cut], raw[cut:])
	})
}

func FuzzParseRequest(f *testing.F) {
	for i, tt := range requests {
		f.Add([]byte(tt.raw), i)
	}
	f.Fuzz(func(t *testing.T, raw []byte, cut int) {
		m, tail := ParseRequest(raw)
		if m != nil {
			checkSpans(t, raw, m)
			checkPlaces(t, string(raw), m)
		}
		if tail.End() != len(raw) || m != nil && tail.Off != m.End || m == nil && tail.Off != 0 {
			t.Fatalf("tail %v of %d bytes", tail, len(raw))
		}
		cut = min(max(cut, 0), len(raw))
		agreeRequest(t, m, raw[:cut], raw[cut:])
	})
}

func FuzzSplitter(f *testing.F) {
	for i, tt := range streams {
		f.Add([]byte(tt.stream), i, uint8(i))
	}
	f.Fuzz(func(t *testing.T, stream []byte, cut int, maxEvent uint8) {
		cut = min(max(cut, 0), len(stream))
		whole := SplitEvents(stream)
		checkTiles(t, stream, whole)
		if got := split(new(Splitter), stream[:cut], stream[cut:]); !sameEvents(got, whole) {
			t.Fatalf("cut at byte %d: %+v, SplitEvents gives %+v", cut, got, whole)
		}
		bounded := split(&Splitter{MaxEvent: int(maxEvent)}, stream)
		checkTiles(t, stream, bounded)
		if got := split(&Splitter{MaxEvent: int(maxEvent)}, stream[:cut], stream[cut:]); !sameEvents(got, bounded) {
			t.Fatalf("at most %d, cut at byte %d: %+v, whole %+v", maxEvent, cut, got, bounded)
		}
		for _, e := range bounded {
			if maxEvent > 0 && e.Len > int(maxEvent) {
				t.Fatalf("event %v is longer than %d", e.Span, maxEvent)
			}
		}
	})
}

func sameEvents(a, b []Event) bool {
	return len(a) == len(b) && (len(a) == 0 || reflect.DeepEqual(a, b))
}

func FuzzRPC(f *testing.F) {
	for _, tt := range messages {
		if len(tt.text) < 1<<10 {
			f.Add([]byte(tt.text))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		rpc := ParseRPC(text)
		// encoding/json takes what is not UTF-8, and nests deeper.
		want := json.Valid(text) && utf8.Valid(text) && jsonDepth(text) <= MaxDepth
		if rpc.JSON != want {
			t.Fatalf("JSON is %v, want %v; %s", rpc.JSON, want, rpc.Why)
		}
		rpcText(t, text, &rpc)
		for _, name := range []string{"id", "error", ""} {
			m := Lookup(text, name)
			if checkMember(t, text, m); rpc.JSON {
				checkLookup(t, text, name, m)
			}
			Lookup(text, name, "code")
		}
		for _, m := range Elements(text) {
			checkMember(t, text, m)
			m.String()
		}
		Member{Raw: text}.String()
	})
}

// jsonDepth is how deep a valid JSON text nests.
func jsonDepth(text []byte) (deepest int) {
	dec := json.NewDecoder(bytes.NewReader(text))
	for depth := 0; ; {
		token, err := dec.Token()
		if err != nil {
			return deepest
		}
		if delim, ok := token.(json.Delim); ok && (delim == '{' || delim == '[') {
			depth++
			deepest = max(deepest, depth)
		} else if ok {
			depth--
		}
	}
}

// checkLookup checks that Lookup finds in valid JSON what encoding/json finds.
func checkLookup(t testing.TB, text []byte, name string, m Member) {
	t.Helper()
	var object map[string]json.RawMessage
	if json.Unmarshal(text, &object) != nil {
		object = nil
	}
	if want, ok := object[name]; ok != m.Present() || !bytes.Equal(bytes.TrimSpace(want), m.Raw) {
		t.Fatalf("Lookup of %q gives %q, encoding/json %q", name, m.Raw, want)
	}
}
