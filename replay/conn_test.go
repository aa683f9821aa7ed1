package replay

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

func TestKeepAliveAndPipelining(t *testing.T) {
	var xs []*har.Exchange
	var asked, answered strings.Builder
	for i := range 3000 { // more than one slicer is given
		end := []har.Ending{har.EndKeep, har.EndClientFIN, har.EndStopped, har.EndHang, har.EndUnknown}[i%5]
		q := post(call("1", "tools/call", fmt.Sprintf(`{"n":%d}`, i)))
		a := ok(fmt.Sprintf(`{"n":%d}`, i))
		xs = append(xs, taped(i+1, q, end, a))
		asked.WriteString(q)
		answered.WriteString(a)
	}
	requests, answers := asked.String(), answered.String()
	for _, size := range []int{len(requests), 100, 1000} {
		p := &Player{Exchanges: xs}
		addr, _ := play(t, p)
		c := dial(t, addr)
		go func() {
			for at := 0; at < len(requests); at += size {
				io.WriteString(c, requests[at:min(at+size, len(requests))])
			}
		}()
		c.expect(answers)
		if r := p.Result(); r.Served != len(xs) || len(r.Misses) != 0 {
			t.Errorf("in pieces of %d: served %d, misses %+v", size, r.Served, r.Misses)
		}
	}
}

// Empty lines between two requests are no request (RFC 9112 section 2.2).
func TestEmptyLinesBetweenRequests(t *testing.T) {
	q := post(call("1", "tools/list", ""))
	p := &Player{Exchanges: []*har.Exchange{taped(1, q, har.EndKeep, ok("1")), taped(2, q, har.EndKeep, ok("2")), taped(3, q, har.EndKeep, ok("3"))}}
	addr, _ := play(t, p)
	c := dial(t, addr)
	c.send(q + "\r\n\r\n")
	c.expect(ok("1"))
	c.send(q + "\r\n" + q)
	c.expect(ok("2") + ok("3"))
}

func TestManyClients(t *testing.T) {
	var xs []*har.Exchange
	const clients, calls = 16, 50
	for i := range clients * calls {
		xs = append(xs, taped(i+1, post(call(fmt.Sprint(i), "tools/call", fmt.Sprintf(`{"n":%d}`, i))), har.EndKeep, ok(result(fmt.Sprint(i), fmt.Sprint(i)))))
	}
	p := &Player{Exchanges: xs}
	addr, _ := play(t, p)
	var wg sync.WaitGroup
	for n := range clients {
		c := dial(t, addr)
		wg.Go(func() {
			for i := n; i < len(xs); i += clients {
				if _, err := c.Write(xs[i].Request.Raw); err != nil {
					t.Error(err)
					return
				}
				got := make([]byte, len(xs[i].Response.Raw))
				if _, err := io.ReadFull(c, got); err != nil || string(got) != string(xs[i].Response.Raw) {
					t.Errorf("call %d: got %q, %v", i, got, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if r := p.Result(); r.Served != len(xs) || len(r.Unserved) != 0 || len(r.Misses) != 0 || len(r.Patches) != 0 {
		t.Errorf("served %d of %d, %d misses, %d patches", r.Served, len(xs), len(r.Misses), len(r.Patches))
	}
}

// A request for a tunnel that was not opened went to the proxy: clients of the replay do not make it.
func TestTunnelsAreNotMissing(t *testing.T) {
	tunnel := taped(1, "CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n", har.EndUnknown)
	tunnel.Notes = []string{har.NoteTunnel + ": not in --only"}
	p := &Player{Exchanges: []*har.Exchange{tunnel, taped(2, post(call("1", "ping", "{}")), har.EndKeep, ok(result("1", "1")))}}
	play(t, p)
	if r := p.Result(); len(r.Unserved) != 1 || r.Unserved[0].N != 2 {
		t.Errorf("not asked for: %d exchanges", len(r.Unserved))
	}
}

// Bytes that are no HTTP request are answered by what was recorded for such bytes.
func TestNotHTTP(t *testing.T) {
	hello := "\x16\x03\x01\x00\x05hello"
	for _, tt := range []struct {
		name  string
		sends []string
		want  string
		miss  bool
	}{
		{"as recorded", []string{hello}, "HTTP/1.0 400 Bad Request\r\n\r\n", false},
		{"in pieces", []string{hello[:3], hello[3:]}, "HTTP/1.0 400 Bad Request\r\n\r\n", false},
		{"with more behind", []string{hello + "\x00"}, "HTTP/1.0 400 Bad Request\r\n\r\n", false},
		{"others", []string{"\x16\x03\x03"}, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &Player{Exchanges: []*har.Exchange{taped(1, hello, har.EndFIN, "HTTP/1.0 400 Bad Request\r\n\r\n")}}
			addr, _ := play(t, p)
			c := dial(t, addr)
			for _, s := range tt.sends {
				c.send(s)
			}
			got, end := c.rest()
			if tt.miss {
				if !strings.HasPrefix(got, "HTTP/1.1 501 ") || len(p.Result().Misses) != 1 {
					t.Errorf("got %q, result %+v", got, p.Result())
				}
			} else if got != tt.want || len(p.Result().Unserved) != 0 {
				t.Errorf("got %q, result %+v", got, p.Result())
			}
			if end != har.EndFIN {
				t.Errorf("ended by %s", end)
			}
		})
	}
}

// A request whose end its head leaves unknown is refused behind that, also where nothing follows.
func TestUnknownEnd(t *testing.T) {
	for _, fields := range []string{"Content-Length: -1", "Content-Length: 1\r\nContent-Length: 2", "Transfer-Encoding: gzip"} {
		p := &Player{Exchanges: []*har.Exchange{taped(1, post("{}"), har.EndKeep, ok("1"))}}
		addr, _ := play(t, p)
		c := dial(t, addr)
		c.send("POST /mcp HTTP/1.1\r\n" + fields + "\r\n\r\n")
		if got, end := c.rest(); !strings.HasPrefix(got, "HTTP/1.1 501 ") || end != har.EndFIN || len(p.Result().Misses) != 1 {
			t.Errorf("%s: got %q, %s, %d misses", fields, got, end, len(p.Result().Misses))
		}
	}
}

// A client that left in the middle of its request did so in the recording.
func TestAbandonedRequest(t *testing.T) {
	whole := post(call("1", "tools/list", ""))
	p := &Player{Exchanges: []*har.Exchange{taped(1, whole[:len(whole)-9], har.EndClientFIN), taped(2, whole[:9], har.EndClientFIN)}}
	addr, _ := play(t, p)
	for _, n := range []int{len(whole) - 9, 9} {
		c := dial(t, addr)
		c.send(whole[:n])
		c.Conn.(*net.TCPConn).CloseWrite()
		if got, end := c.rest(); got != "" || end != har.EndFIN {
			t.Errorf("got %q, %s", got, end)
		}
	}
	if r := p.Result(); r.Served != 2 || len(r.Misses) != 0 {
		t.Errorf("result: %+v", r)
	}
}

// The server was never reached: the client is reset.
func TestUpstreamRefused(t *testing.T) {
	x := taped(1, post(call("1", "tools/list", "")), har.EndUnknown)
	x.Notes = []string{"upstream: refused"}
	addr, _ := play(t, &Player{Exchanges: []*har.Exchange{x}})
	c := dial(t, addr)
	c.send(string(x.Request.Raw))
	if got, end := c.rest(); got != "" || end != har.EndRST {
		t.Errorf("got %q, %s", got, end)
	}
}

// Behind an answer that never ends, a request that was left without an answer too is as recorded, with its ending.
func TestSilenceBehindSilence(t *testing.T) {
	first := taped(1, post(call("1", "tools/list", "")), har.EndHang, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab")
	second := taped(2, post(call("2", "prompts/list", "")), har.EndRST)
	third := taped(3, post(call("3", "resources/list", "")), har.EndKeep, ok("{}"))
	p := &Player{Exchanges: []*har.Exchange{first, second, third}}
	addr, _ := play(t, p)
	c := dial(t, addr)
	c.send(string(first.Request.Raw))
	c.expect(string(first.Response.Raw))
	c.send(string(second.Request.Raw))
	if got, end := c.rest(); got != "" || end != har.EndRST {
		t.Errorf("got %q, %s", got, end)
	}
	if r := p.Result(); len(r.Unserved) != 1 || r.Unserved[0] != third {
		t.Errorf("result: %+v", r)
	}
}

func TestAbsoluteURLs(t *testing.T) {
	var notices []string
	p := &Player{Notice: func(s string) { notices = append(notices, s) }, Exchanges: []*har.Exchange{
		taped(1, post(call("1", "a", "")), har.EndKeep, "HTTP/1.1 302 Found\r\nLocation: http://elsewhere.example:81/mcp\r\nContent-Length: 0\r\n\r\n"),
		taped(2, post(call("1", "b", "")), har.EndKeep, "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer resource_metadata=\"https://auth.example/.well-known/x\", scope=\"y\"\r\nContent-Length: 0\r\n\r\n"),
		taped(3, post(call("1", "c", "")), har.EndKeep, "HTTP/1.1 302 Found\r\nLocation: http://elsewhere.example:81/other\r\nContent-Length: 0\r\n\r\n"),
		taped(4, openStream, har.EndKeep, sse, chunk("event: endpoint\ndata: http://third.example/message\n\n"), "0\r\n\r\n"),
		taped(5, "GET /.well-known/oauth HTTP/1.1\r\n\r\n", har.EndKeep, ok(`{"a":["https://fourth.example"]}`)),
		taped(6, post(call("1", "d", "")), har.EndKeep, "HTTP/1.1 302 Found\r\nLocation: /relative\r\nLink: <http://no.example>\r\nContent-Length: 0\r\n\r\n"),
	}}
	var requests []string
	for _, x := range p.Exchanges {
		requests = append(requests, string(x.Request.Raw))
	}
	each(t, p, requests...)
	want := []string{
		"exchange 1: the response names http://elsewhere.example:81, which leads the client past this replay",
		"exchange 2: the response names https://auth.example, which leads the client past this replay",
		"exchange 4: the response names http://third.example, which leads the client past this replay",
		"exchange 5: the response names https://fourth.example, which leads the client past this replay",
	}
	if strings.Join(notices, "\n") != strings.Join(want, "\n") {
		t.Errorf("notices %q\nwant %q", notices, want)
	}
}

func TestClose(t *testing.T) {
	p := &Player{Exchanges: []*har.Exchange{taped(1, post(call("1", "a", "")), har.EndHang)}}
	addr, log := play(t, p)
	idle, hung, half := dial(t, addr), dial(t, addr), dial(t, addr)
	hung.send(string(p.Exchanges[0].Request.Raw))
	half.send("POST /mcp")
	for served := 0; served == 0; served = p.Result().Served {
		time.Sleep(time.Millisecond)
	}
	if err := p.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	for _, c := range []*client{idle, hung, half} {
		if _, err := io.ReadAll(c); errors.Is(err, io.EOF) {
			t.Errorf("reading: %v", err)
		}
	}
	for id := range uint64(3) {
		if _, end, by := log.side(id+1, wire.ToServer); end != har.EndStopped || by != wire.ToClient {
			t.Errorf("connection %d: ended by %s from the %s side", id+1, end, by)
		}
	}
	if err := p.Close(); err != nil {
		t.Errorf("Close again: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Serve(l); err != nil {
		t.Errorf("Serve after Close: %v", err)
	}
}

// Nothing in a cassette is trusted: not lengths, not times, not offsets.
func TestHostileRecording(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(x *har.Exchange)
		want  string // "" for the recorded response
	}{
		{"writes that are too long", func(x *har.Exchange) { x.Response.Writes[0].Len = 1 << 40 }, ""},
		{"writes that are too short", func(x *har.Exchange) { x.Response.Writes[0].Len = 3 }, ""},
		{"negative lengths", func(x *har.Exchange) { x.Response.Writes[0].Len = -1 << 40 }, ""},
		{"no writes", func(x *har.Exchange) { x.Response.Writes, x.Request.Writes = nil, nil }, ""},
		{"negative times", func(x *har.Exchange) {
			x.Response.Writes[0].At, x.Request.Writes[0].At, x.EndAt = -1<<62, -1<<62, -1<<62
		}, ""},
		{"an end behind the bytes", func(x *har.Exchange) { x.End, x.EndOff = har.EndClientFIN, 1<<40 }, ""},
		{"an end before the bytes", func(x *har.Exchange) { x.End, x.EndOff, x.EndAt = har.EndClientFIN, -5, time.Hour }, " "},
		{"redactions out of range", func(x *har.Exchange) {
			for _, off := range []int{-5, 0, 7, 1 << 40, 1<<63 - 5, 5} {
				x.Redacted = append(x.Redacted, har.Redaction{Off: off, Len: 1<<63 - 3})
				x.Redacted = append(x.Redacted, har.Redaction{Off: off, Len: 1 << 40}, har.Redaction{Off: off, Len: -3}, har.Redaction{Off: off, Len: 9})
			}
		}, ""},
		{"an unknown ending", func(x *har.Exchange) { x.End = "exploded" }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := taped(1, post(call("1", "tools/list", "")), har.EndKeep, "HTTP/1.1 200 OK\r\n", "Content-Length: 2\r\n\r\n{}")
			tt.spoil(x)
			p := &Player{Exchanges: []*har.Exchange{x}, Pace: 1}
			addr, _ := play(t, p)
			c := dial(t, addr)
			c.send(string(x.Request.Raw))
			c.Conn.(*net.TCPConn).CloseWrite()
			want := string(x.Response.Raw)
			if tt.want != "" {
				want = strings.TrimSpace(tt.want)
			}
			if got, end := c.rest(); got != want || end != har.EndFIN {
				t.Errorf("got %q, %s", got, end)
			}
		})
	}
}

func TestRequestTooLarge(t *testing.T) {
	for _, tt := range []struct{ name, head string }{
		{"as it says", "POST /mcp HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n"},
		{"as it turns out", "POST /mcp HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffffff\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &Player{}
			addr, _ := play(t, p)
			c := dial(t, addr)
			c.send(tt.head)
			if strings.Contains(tt.head, "chunked") {
				if testing.Short() {
					t.Skip("sends 80 MiB")
				}
				go func() {
					block := make([]byte, 1<<20)
					for range 80 {
						if _, err := c.Write(block); err != nil {
							return
						}
					}
				}()
			}
			if got, end := c.rest(); got != "" || end != har.EndFIN {
				t.Errorf("got %q, %s", got, end)
			}
			if m := p.Result().Misses; len(m) != 1 || m[0].Request != "POST /mcp" {
				t.Errorf("misses: %+v", m)
			}
			c.Close()
			p.Close()
			if n := p.held.Load(); n != 0 {
				t.Errorf("%d bytes are still counted as held", n)
			}
		})
	}
}

func certificate(t *testing.T) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// Over TLS the three endings differ: a close_notify before the FIN, a FIN alone, a reset.
func TestTLSEndings(t *testing.T) {
	cert := certificate(t)
	for _, end := range []har.Ending{har.EndFIN, har.EndNoCloseNotify, har.EndRST} {
		t.Run(string(end), func(t *testing.T) {
			x := taped(1, post(call("1", "a", "")), end, ok("{}"))
			tcp, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			tp := &tape{}
			p := &Player{Exchanges: []*har.Exchange{x}, Log: tp.log, Pace: 1}
			go p.Serve(tls.NewListener(tcp, &tls.Config{Certificates: []tls.Certificate{cert}}))
			defer p.Close()
			raw := dial(t, tcp.Addr().String())
			seen := &keep{Conn: raw}
			c := tls.Client(seen, &tls.Config{InsecureSkipVerify: true})
			c.Write(x.Request.Raw)
			got, err := io.ReadAll(c)
			if string(got) != string(x.Response.Raw) {
				t.Errorf("got %q, %v", got, err)
			}
			raw.Close()
			p.Close()
			switch {
			case end == har.EndRST && har.ReadEnding(err) != har.EndRST:
				t.Errorf("reading ended with %v", err)
			// crypto/tls says io.EOF of both FINs.
			case end != har.EndRST && seen.closeNotify() != (end == har.EndFIN):
				t.Errorf("close_notify: %v (%v)", seen.closeNotify(), err)
			}
			if _, logged, by := tp.side(1, wire.ToClient); logged != end || by != wire.ToClient {
				t.Errorf("logged %s from the %s side", logged, by)
			}
		})
	}
}

// keep keeps the bytes that were read.
type keep struct {
	net.Conn
	got []byte
}

func (k *keep) Read(b []byte) (int, error) {
	n, err := k.Conn.Read(b)
	k.got = append(k.got, b[:n]...)
	return n, err
}

// closeNotify tells whether the last record of TLS 1.3 (RFC 8446 section 5.2) was an alert: two bytes, their type and a
// tag of 16 bytes.
func (k *keep) closeNotify() bool {
	size := 0
	for at := 0; at+5 <= len(k.got); at += 5 + size {
		size = int(k.got[at+3])<<8 | int(k.got[at+4])
	}
	return size == 2+1+16
}

// What a replay logs is the recording again: the same bytes, cuts of the response and endings.
func TestLogIsTheRecording(t *testing.T) {
	for _, tt := range odd {
		request := tt.request
		if request == "" {
			request = post(call("1", "tools/list", ""))
		}
		x := taped(1, request, tt.end, tt.response...)
		p := &Player{Exchanges: []*har.Exchange{x}}
		addr, log := play(t, p)
		c := dial(t, addr)
		c.send(request)
		if x.End != har.EndFIN && x.End != har.EndRST && x.End != har.EndNoCloseNotify {
			c.expect(string(x.Response.Raw))
			c.Conn.(*net.TCPConn).CloseWrite()
		}
		c.rest()
		c.Close()
		p.Close()
		var writes []string
		for _, e := range log.events {
			if e.Dir == wire.ToClient && len(e.Bytes) > 0 {
				writes = append(writes, string(e.Bytes))
			}
		}
		if strings.Join(writes, "\x00") != strings.Join(tt.response, "\x00") {
			t.Errorf("%s: logged writes %q", tt.name, writes)
		}
		if log.events[0].Open == nil || log.events[0].Open.Client == "" || !strings.HasPrefix(log.events[0].Open.Base, "http://127.0.0.1:") {
			t.Errorf("%s: the first event is %+v", tt.name, log.events[0])
		}
	}
}

// FuzzPlayer serves recordings of any shape to any bytes, without a gap.
func FuzzPlayer(f *testing.F) {
	for _, tt := range odd[:20] {
		x := taped(1, post(call("1", "tools/list", "")), tt.end, tt.response...)
		b, err := json.Marshal(x)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, []byte(post(call("77", "tools/list", ""))))
	}
	b, err := json.Marshal(older()[0])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b, []byte(openStream))
	f.Fuzz(func(t *testing.T, recorded, sent []byte) {
		var x har.Exchange
		if json.Unmarshal(recorded, &x) != nil {
			t.Skip()
		}
		again := x
		again.N, again.Conn = x.N+1, x.Conn+1
		p := &Player{Exchanges: []*har.Exchange{&x, &again}}
		p.index()
		p.start()
		ours, theirs := net.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			newConn(p, theirs, 1).run()
		}()
		go io.Copy(io.Discard, ours)
		ours.SetDeadline(time.Now().Add(time.Second))
		ours.Write(sent)
		ours.Close()
		<-done
		p.Result()
	})
}

// FuzzKey reads any request; its key does not depend on how the JSON is spelled.
func FuzzKey(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"b":[1,{"x":"\u00e9"}],"a":null}}`))
	f.Add([]byte(`[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","method":"n"}]`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"progressToken":1}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		h := &wire.Head{Method: "POST", Target: "/"}
		a := newAsk(h, body, MatchParams)
		if !a.mcp {
			return
		}
		var spaced []byte
		quoted := false
		for i, b := range body {
			if b == '"' && (i == 0 || !escaped(body[:i])) {
				quoted = !quoted
			}
			if !quoted && strings.IndexByte("{}[]:,", b) >= 0 {
				spaced = append(append(append(spaced, ' '), b), '\n')
			} else {
				spaced = append(spaced, b)
			}
		}
		b := newAsk(h, spaced, MatchParams)
		if a.key != b.key || a.loose != b.loose || !a.values.equal(b.values) {
			t.Errorf("keys differ:\n%q\n%q", a.key, b.key)
		}
	})
}
