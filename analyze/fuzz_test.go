package analyze

import (
	"encoding/json"
	"testing"

	"github.com/mcptap/mcptap/har"
)

// FuzzAnalyze holds that no bytes of a request, a response or a stream beside them make the analyzer panic, that each
// exchange gets a verdict of the list, and that evidence lies inside the bytes.
func FuzzAnalyze(f *testing.F) {
	if len(allRows) == 0 {
		f.Fatal("no rows to begin with")
	}
	for _, r := range allRows {
		last := r.scene[len(r.scene)-1]
		if len(last.resp) > 4096 {
			continue // inputs that long take minutes to minimize
		}
		f.Add([]byte(last.req), []byte(last.resp), []byte(open("event: endpoint\ndata: /mcp\n\n")), uint8(len(last.resp)))
	}
	ends := []har.Ending{har.EndKeep, har.EndFIN, har.EndNoCloseNotify, har.EndRST, har.EndClientFIN, har.EndClientRST, har.EndHang, har.EndStopped, har.EndUnknown}
	f.Fuzz(func(t *testing.T, req, resp, stream []byte, end uint8) {
		scene := []step{httpSSE(""), initializing(js("200 OK", success("0", initResult), session)), {req: string(req), resp: string(resp), end: ends[int(end)%len(ends)]}}
		xs := exchanges(scene)
		xs[0].Response = har.Side{Raw: stream, Writes: []har.Write{{At: 1, Len: len(stream)}}}
		if end%2 == 0 && len(resp) > 0 {
			xs[2].EndOff = int(end) % len(resp)
		}
		r, err := Analyze(sequence(xs), Options{Policies: []string{"all"}, AllHTTP: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Fatal(err)
		}
		if len(r.Exchanges) != len(scene) {
			t.Fatalf("%d exchanges, want %d", len(r.Exchanges), len(scene))
		}
		for _, f := range r.Findings {
			for _, e := range f.Evidence {
				raw := xs[e.Exchange-1].Response.Raw
				if e.Side == "request" {
					raw = xs[e.Exchange-1].Request.Raw
				}
				if e.Offset < 0 || e.Length <= 0 || e.Offset+e.Length > len(raw) {
					t.Fatalf("%s: evidence %+v lies outside %d bytes", f.ID, e, len(raw))
				}
			}
		}
	})
}
