package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/capture/pcap"
	"github.com/mcptap/mcptap/har"
)

// plaintext says what a capture cannot show.
const plaintext = "recorded over TLS, written as plaintext"

// writePcapng writes a recording as packets.
func (a *app) writePcapng(w io.Writer, name string) error {
	k, err := a.inMemory(name)
	if err != nil {
		return err
	}
	for _, x := range k.Exchanges {
		if x.Stdio() {
			return &trouble{fmt.Errorf("%s: exchange %d was over the pipes of a process, which have no packets", name, x.N), "mcptap export --format perfetto, otlp-json and mcptap har take such recordings"}
		}
	}
	said := "made by mcptap export from a recording: handshakes, acknowledgements and sequence numbers are made up"
	if slices.ContainsFunc(k.Exchanges, overTLS) {
		said += "; " + plaintext
		a.notice("%s: %s", name, plaintext)
	}
	return pcap.Write(w, said, pcap.Dialogues(k.Exchanges, packetComment))
}

// overTLS tells whether the bytes of an exchange were read inside TLS.
func overTLS(x *har.Exchange) bool { return strings.HasPrefix(x.URL, "https:") }

// packetComment is what a packet cannot say of its exchange.
func packetComment(x *har.Exchange) string {
	said := []string{fmt.Sprintf("exchange %d", x.N)}
	if overTLS(x) {
		said = append(said, plaintext)
	}
	if n := len(x.Redacted); n > 0 {
		said = append(said, count(n, "redacted range"))
	}
	for _, n := range x.Notes {
		said = append(said, words(n))
	}
	if x.End != har.EndKeep {
		said = append(said, "end: "+words(string(x.End)))
	}
	return strings.Join(said, "; ")
}
