package main

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/capture"
	"github.com/mcptap/mcptap/capture/pcap"
	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// imported reads a capture as `mcptap import --all-http --keep-secrets` does.
func imported(name, keylog string) (map[pair]*talk, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r, err := pcap.NewReader(file)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	keys := new(pcap.KeyLog)
	r.Secrets = func(b []byte) { keys.Add(bytes.NewReader(b)) }
	if keylog != "" {
		log, err := os.ReadFile(keylog)
		if err != nil {
			return nil, err
		}
		keys.Add(bytes.NewReader(log))
	}
	cassette, err := os.CreateTemp("", "oracle-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(cassette.Name())
	defer cassette.Close()
	w, err := har.NewWriter(cassette, har.Header{Tool: "oracle", Mode: "pcap", KeepSecrets: true}, false)
	if err != nil {
		return nil, err
	}
	recorder := capture.NewRecorder(w, nil)
	m := &pcap.Importer{Record: recorder.Record, AllHTTP: true, Keys: keys}
	if err := m.Read(r); err != nil && !errors.As(err, new(*pcap.DamageError)) {
		return nil, err
	}
	m.Close()
	if err := recorder.Close(); err != nil {
		return nil, err
	}
	if _, err := cassette.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	c, err := har.Read(cassette, har.Limits{})
	if err != nil {
		return nil, err
	}
	return talksOf(c.Exchanges)
}

// talksOf sorts exchanges by the ends they were between.
func talksOf(all []*har.Exchange) (map[pair]*talk, error) {
	slices.SortFunc(all, func(a, b *har.Exchange) int {
		return cmp.Or(cmp.Compare(a.Conn, b.Conn), cmp.Compare(a.Seq, b.Seq))
	})
	talks := map[pair]*talk{}
	for _, x := range all {
		client, err := netip.ParseAddrPort(x.Client)
		if err != nil {
			return nil, err
		}
		server, err := netip.ParseAddrPort(x.Server)
		if err != nil {
			return nil, err
		}
		t := talks[pair{client, server}]
		if t == nil {
			t = &talk{}
			talks[pair{client, server}] = t
		}
		t.stream[wire.ToServer] = append(t.stream[wire.ToServer], x.Request.Raw...)
		t.stream[wire.ToClient] = append(t.stream[wire.ToClient], x.Response.Raw...)
		t.tls = strings.HasPrefix(x.URL, "https:")
		t.snapped = t.snapped || slices.Contains(x.Notes, har.NoteSnaplen)
		t.read(x)
	}
	return talks, nil
}

// read adds the messages of an exchange.
func (t *talk) read(x *har.Exchange) {
	v := x.View()
	if v.Request != nil {
		t.messages[wire.ToServer] = append(t.messages[wire.ToServer], message{what: v.Request.Method, body: v.Request.Payload(x.Request.Raw), unfinished: !v.Request.Complete})
	}
	seen := x.Evidence()
	for i := range v.Interim {
		t.messages[wire.ToClient] = append(t.messages[wire.ToClient], responseOf(&v.Interim[i], seen))
	}
	if v.Response != nil {
		t.messages[wire.ToClient] = append(t.messages[wire.ToClient], responseOf(v.Response, seen))
	}
}

func responseOf(m *wire.Message, raw []byte) message {
	return message{what: strconv.Itoa(m.Status), body: m.Payload(raw), unfinished: !m.Complete}
}
