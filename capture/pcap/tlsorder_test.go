package pcap

import (
	"crypto/tls"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mcptap/mcptap/har"
)

// Whatever the order of the packets of a TLS connection, and however often they come, it is read as it was; of packets that
// were lost nothing is made up.
func TestTLSInAnyOrder(t *testing.T) {
	for name, version := range map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13} {
		segments, keylog := talk(t, &tls.Config{MinVersion: version, MaxVersion: version}, notified)
		for seed := range uint64(400) {
			rng := rand.New(rand.NewPCG(seed, 5))
			mixed := slices.Clone(segments)
			for _, w := range segments {
				if rng.IntN(3) == 0 {
					mixed = append(mixed, w)
				}
			}
			rng.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
			if got := exchangesOf(t, mixed, &Importer{Keys: keysOf(t, keylog)}); len(got) != 1 || !isTLSCall(got[0]) || len(got[0].Notes) > 0 {
				t.Fatalf("%s, seed %d: %d exchanges, from%s", name, seed, len(got), names(mixed))
			}
			lost := slices.DeleteFunc(mixed, func(*wireSegment) bool { return rng.IntN(12) == 0 })
			for _, x := range exchangesOf(t, lost, &Importer{Keys: keysOf(t, keylog)}) {
				if x.View().Complete == har.True && !isTLSCall(x) {
					t.Fatalf("%s, seed %d: called complete: %q %q, from%s", name, seed, x.Request.Raw, x.Response.Raw, names(lost))
				}
				if !strings.Contains(tlsRequest, string(x.Request.Raw)) || !strings.Contains(tlsResponse, string(x.Response.Raw)) {
					t.Fatalf("%s, seed %d: made up: %q %q, from%s", name, seed, x.Request.Raw, x.Response.Raw, names(lost))
				}
			}
		}
	}
}

func isTLSCall(x *har.Exchange) bool {
	return string(x.Request.Raw) == tlsRequest && string(x.Response.Raw) == tlsResponse
}
