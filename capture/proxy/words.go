package proxy

import (
	"fmt"
	"io"
	"net"
	"time"

	"github.com/mcptap/mcptap/har"
)

// What a forward door says itself. A client can do nothing but show it to a person.
const (
	established  = "HTTP/1.1 200 Connection established\r\n\r\n"
	notUsable    = "400 Bad Request"
	notHere      = "421 Misdirected Request" // RFC 9110 section 15.5.20: may be tried again on another connection
	notReachable = "502 Bad Gateway"
)

// wordsFor is an HTTP response that says why a request was not passed on.
func wordsFor(status, why string) []byte {
	body := "mcptap: " + why + "\n"
	return fmt.Appendf(nil, "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		status, len(body), body)
}

// dismiss says words to a client and closes its connection. What the client still sends is read for a moment: a connection
// that is closed over unread bytes is reset, and the words may be lost.
func (d *door) dismiss(c net.Conn, words []byte) {
	defer c.Close()
	c.SetDeadline(time.Now().Add(d.lateQuiet))
	if _, err := c.Write(words); err != nil {
		return
	}
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
	io.Copy(io.Discard, c)
}

// refuse answers a request for another origin than the connection's in words, once the responses before it are whole, and
// ends both connections. The request is recorded; none of it was sent on.
func (r *relay) refuse() {
	r.mu.Lock()
	due := !r.turned && r.head.refused()
	r.turned = r.turned || due
	other := r.head.other
	r.mu.Unlock()
	if !due {
		return
	}
	r.tape.Last(har.Event{Conn: r.id, At: r.door.now(), End: har.EndUnknown, Note: noteOrigin})
	r.client.write(wordsFor(notHere, fmt.Sprintf("this connection is one to %s, and %s needs one of its own", r.head.authority, other)))
	r.client.closeWrite(har.EndFIN)
	r.client.sock.SetReadDeadline(time.Now().Add(r.door.lateQuiet))
	r.server.sock.Close()
	r.tape.Hand()
	if r.refusing != nil {
		r.refusing(other)
	}
}
