package har

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/har/wire"
)

// FuzzRedact: whatever the bytes and however they grow, lengths are kept, all changes are listed, the structure stays, and
// redacting twice changes nothing.
func FuzzRedact(f *testing.F) {
	for _, tt := range redactCases {
		f.Add([]byte(tt.req), []byte(tt.resp), uint16(len(tt.req)/2), uint16(len(tt.req)+len(tt.resp)/2))
	}
	f.Fuzz(func(t *testing.T, req, resp []byte, a, b uint16) {
		x := &Exchange{Request: Side{Raw: bytes.Clone(req)}, Response: Side{Raw: bytes.Clone(resp)}}
		NewRedactor().Pass(x, [2]int{}, true)
		checkListed(t, x, string(req), string(resp))
		sameStructure(t, x, string(req), string(resp))
		y := &Exchange{Request: Side{Raw: bytes.Clone(x.Request.Raw)}, Response: Side{Raw: bytes.Clone(x.Response.Raw)}}
		NewRedactor().Pass(y, [2]int{}, true)
		sameBytes(t, "request, twice", string(y.Request.Raw), string(x.Request.Raw))
		sameBytes(t, "response, twice", string(y.Response.Raw), string(x.Response.Raw))

		n := len(req) + len(resp) + 1
		z, _ := grow(t, NewRedactor(), string(req), string(resp), min(int(a)%n, int(b)%n), max(int(a)%n, int(b)%n))
		checkListed(t, z, string(req), string(resp))
		sameStructure(t, z, string(req), string(resp))
	})
}

// FuzzPlanted: a secret in any of the places of plants, between any other bytes, is never given free.
func FuzzPlanted(f *testing.F) {
	for i := range plants {
		f.Add(uint8(i), uint8(i), []byte(planted), []byte("noise \" = @ -"), uint16(i), uint16(3*i))
	}
	f.Add(uint8('f'), uint8('u'), []byte("0"), []byte("00000"), uint16(163), uint16(103)) // an answer to half a head
	f.Fuzz(func(t *testing.T, place, echo uint8, secret, noise []byte, a, b uint16) {
		value := secretOf(secret)
		fill := strings.NewReplacer(planted, value).Replace
		p, e := plants[int(place)%len(plants)], echoes[int(echo)%len(echoes)]
		req, resp := fill(p.req), fill(p.resp)
		if p.resp == "" {
			resp = asAnswer("Content-Type: text/plain\r\n", string(noise)+value+string(noise))
		}
		r := NewRedactor()
		n := len(req) + len(resp) + 1
		x, stored := grow(t, r, req, resp, min(int(a)%n, int(b)%n), max(int(a)%n, int(b)%n))
		noSecret(t, p.name, value, stored[0], stored[1])
		checkListed(t, x, req, resp)
		sameStructure(t, x, req, resp)
		req, resp = fill(e.req), fill(e.resp)+string(noise)+value
		n = len(req) + len(resp) + 1
		_, stored = grow(t, r, req, resp, int(a)%n)
		noSecret(t, p.name+", "+e.name, value, stored[0], stored[1])
	})
}

// secretOf makes a secret as long as planted out of any bytes: of characters that need no escape anywhere, and so that it
// is neither a word nor a replacement.
func secretOf(b []byte) string {
	const chars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~"
	out := []byte("0q")
	for _, c := range b[:min(len(b), len(planted)-2)] {
		out = append(out, chars[int(c)%len(chars)])
	}
	return fit(string(out), len(planted))
}

// FuzzWalk: a walk finds the payload that package wire finds in messages without a fault.
func FuzzWalk(f *testing.F) {
	for _, tt := range redactCases {
		f.Add([]byte(tt.req), []byte(tt.resp))
	}
	f.Fuzz(func(t *testing.T, req, resp []byte) {
		r := NewRedactor()
		r.begin([2][]byte{req, resp})
		w := walk{r: r, d: wire.ToServer, final: true}
		w.run()
		method := ""
		if m, _ := wire.ParseRequest(req); m != nil {
			method = m.Method
			if len(m.Faults) == 0 && m.Framing != wire.Tunnel {
				samePayload(t, r, wire.ToServer, m, req)
			}
		}
		r.begin([2][]byte{req, resp})
		w = walk{r: r, d: wire.ToClient, final: true, method: methodOf(method)}
		w.run()
		interim, m, _ := wire.ParseResponse(resp, method, true)
		for i := range interim {
			if len(interim[i].Faults) > 0 {
				return
			}
		}
		if m != nil && len(m.Faults) == 0 {
			samePayload(t, r, wire.ToClient, m, resp)
		}
	})
}

func samePayload(t *testing.T, r *Redactor, d wire.Dir, m *wire.Message, raw []byte) {
	t.Helper()
	want := m.Payload(raw)
	var got []byte
	for i := range r.regions {
		if reg := &r.regions[i]; reg.begins {
			if reg.stream && reg.joined {
				return // data lines were joined
			}
			got = append(got, reg.text...)
		}
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%v: payload is %q, want %q", d, got, want)
	}
}
