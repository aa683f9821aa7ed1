package proxy

import (
	"cmp"
	"crypto/tls"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// A client closes a TLS connection in two steps: a close_notify, and later the socket. What the server sends and ends between the
// two is taken by the client's kernel; only the second step tells a client that has left from one that had half-closed.
func TestTLSClientClosesInTwoSteps(t *testing.T) {
	ca := authority(t)
	for _, tt := range []struct {
		name  string
		reads bool
		how   string // the server's ending
		want  []string
	}{
		{"it has left, the server closes", false, "fin", []string{"request fin", "response fin", "request rst"}},
		{"it had half-closed, the server closes", true, "fin", []string{"request fin", "response fin"}},
		{"it had half-closed, the server resets", true, "rst", []string{"request fin", "response rst"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := newOrigin(t, "https", false)
			var w witness
			addr, stop := openDoor(t, &Forward{CA: ca, TLS: o.trust(), Record: w.record})
			client := o.through(t, ca, addr)
			go client.conn.Write([]byte(ask)) // the handshake goes on when the server is there
			server := o.accept(t)
			server.await("request", func() bool { return string(server.got) == ask })
			client.conn.(*tls.Conn).CloseWrite()
			server.await("FIN", func() bool { return server.sees == "fin" })
			const answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
			server.send([]byte(answer))
			await(t, "the answer is not recorded", func() bool { return w.joined(1, wire.ToClient, false) == answer })
			server.end(tt.how)
			if tt.reads {
				if got, _ := io.ReadAll(client.conn); string(got) != answer {
					t.Errorf("the client reads %q", got)
				}
			} else {
				await(t, "the server's FIN is not passed on", func() bool { return har.Ended(client.sock) })
				<-time.After(20 * time.Millisecond) // within which the relay ends, if it does not wait for this client
			}
			client.sock.Close()
			await(t, "the connection goes on", func() bool { return slices.Contains(w.endings(1), "capture-stopped") })
			stop()
			if got, want := w.endings(1), append(tt.want, "capture-stopped"); !slices.Equal(got, want) {
				t.Errorf("endings %q, want %q", got, want)
			}
		})
	}
}

// The same while the door closes: the client is given the time for its second step.
func TestTLSClientClosesWhileTheDoorDoes(t *testing.T) {
	ca, o := authority(t), newOrigin(t, "https", false)
	patient := usualTimes
	patient.drainStopped = patience
	var w witness
	f := &Forward{CA: ca, TLS: o.trust(), Record: w.record, times: patient}
	addr, stop := openDoor(t, f)
	client := o.through(t, ca, addr)
	go client.conn.Write([]byte(ask))
	server := o.accept(t)
	server.await("request", func() bool { return string(server.got) == ask })
	client.conn.(*tls.Conn).CloseWrite()
	server.await("FIN", func() bool { return server.sees == "fin" })
	const answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	server.send([]byte(answer))
	await(t, "the answer is not recorded", func() bool { return w.joined(1, wire.ToClient, false) == answer })
	x := theRelay(&f.hall)
	go func() {
		<-f.hall.ctx.Done()
		<-x.ended // from where on nobody reads the client's leg
		client.sock.Close()
	}()
	stop()
	if got, want := w.endings(1), []string{"request fin", "request rst", "capture-stopped"}; !slices.Equal(got, want) {
		t.Errorf("endings %q, want %q", got, want)
	}
}

// A client's reset may meet the close_notify that it is sent: nothing else on the socket tells of it then.
func TestCloseNotifyMeetsTheReset(t *testing.T) {
	o := newOrigin(t, "https", false)
	sock := dial(t, o.Addr().String())
	client := tls.Client(sock, &tls.Config{RootCAs: o.pool, ServerName: "127.0.0.1"})
	client.SetDeadline(time.Now().Add(patience))
	shaken := make(chan error, 1)
	go func() { shaken <- client.Handshake() }()
	c, err := o.Accept()
	if err != nil {
		t.Fatal(err)
	}
	conn := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{o.cert}})
	if err := cmp.Or(conn.Handshake(), <-shaken); err != nil {
		t.Fatal(err)
	}
	l := &leg{conn: conn, sock: c}
	har.Reset(sock, 0)
	await(t, "the reset does not arrive", func() bool { return har.Gone(c) })
	l.closeWrite(har.EndFIN)
	if !l.wasReset() {
		t.Error("the reset is lost")
	}
}
