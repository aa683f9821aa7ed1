package proxy

import (
	"bytes"
	"slices"
	"testing"

	"github.com/mcptap/mcptap/capture"
	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

func TestOddDirect(t *testing.T) {
	for _, c := range oddCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			o := newOrigin(t, "http", false)
			client := newSide(t, newLeg(dial(t, o.Addr().String())), false)
			server := o.accept(t)
			c.play(t, client, taken(server), o.Addr().String(), o.Addr().String())
			c.check(t, client, server, o.Addr().String())
		})
	}
}

func TestOddThroughRelay(t *testing.T) {
	for _, via := range []struct {
		name, scheme string
		bare         bool
	}{{"plain", "http", false}, {"tls", "https", false}, {"tls, FIN alone", "https", true}} {
		t.Run(via.name, func(t *testing.T) {
			for _, c := range oddCases(t) {
				t.Run(c.Name, func(t *testing.T) {
					t.Parallel()
					o := newOrigin(t, via.scheme, via.bare)
					c.relay(t, o)
				})
			}
		})
	}
}

// relay plays c through a reverse door and checks the wire on both sides, the events and the cassette.
func (c *oddCase) relay(t *testing.T, o *origin) {
	var w witness
	var file bytes.Buffer
	rec := newRecorder(t, &file, har.NewRedactor()) // there are no secrets in the cases
	addr, stop := openDoor(t, &Reverse{To: o.url(), TLS: o.trust(), Record: func(e har.Event) { w.record(e); rec.Record(e) }})
	client := newSide(t, newLeg(dial(t, addr)), false)
	server := o.accept(t)
	host := o.Addr().String()
	c.play(t, client, taken(server), addr, host)
	c.check(t, client, server, host)
	stop()
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	c.checkRecord(t, &w, &file, o, c.sent("client", addr))
}

// checkRecord holds the events and the recorded exchanges against what was sent, by the client to the door.
func (c *oddCase) checkRecord(t *testing.T, w *witness, file *bytes.Buffer, o *origin, sent []byte) {
	t.Helper()
	host := o.Addr().String()
	if got, want := w.joined(1, wire.ToServer, false), string(sent); got != want {
		t.Errorf("recorded requests\n%q, want\n%q", got, want)
	}
	if got, want := w.joined(1, wire.ToServer, true), string(c.sent("client", host)); got != want {
		t.Errorf("recorded requests, edited\n%q, want\n%q", got, want)
	}
	if got, want := w.joined(1, wire.ToClient, false), string(c.sent("server", host)); got != want {
		t.Errorf("recorded responses\n%q, want\n%q", got, want)
	}
	tape, err := har.Read(file, har.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var request, leg, response []byte
	var ends []har.Ending
	for i, x := range tape.Exchanges {
		request = append(request, x.Request.Raw...)
		leg = append(leg, x.ServerLeg()...)
		response = append(response, x.Response.Raw...)
		ends = append(ends, x.End)
		if x.N != i+1 || x.Seq != i+1 || x.Conn != 1 {
			t.Errorf("exchange %d is number %d, place %d of connection %d", i+1, x.N, x.Seq, x.Conn)
		}
	}
	if !bytes.Equal(request, sent) {
		t.Errorf("the cassette's requests\n%q, want\n%q", request, sent)
	}
	if want := c.sent("client", host); !bytes.Equal(leg, want) {
		t.Errorf("the cassette's requests on the server's leg\n%q, want\n%q", leg, want)
	}
	if want := c.sent("server", host); !bytes.Equal(response, want) {
		t.Errorf("the cassette's responses\n%q, want\n%q", response, want)
	}
	want := slices.Clone(c.Ends)
	for i := range want {
		if o.bare && want[i] == har.EndFIN {
			want[i] = har.EndNoCloseNotify
		}
	}
	if !slices.Equal(ends, want) {
		t.Errorf("the cassette's endings are %q, want %q", ends, want)
	}
}

func newRecorder(t testing.TB, file *bytes.Buffer, redact *har.Redactor) *capture.Recorder {
	t.Helper()
	w, err := har.NewWriter(file, har.Header{Tool: "test", Mode: "reverse", KeepSecrets: redact == nil}, true)
	if err != nil {
		t.Fatal(err)
	}
	return capture.NewRecorder(w, redact)
}
