package analyze

import (
	"bytes"
	"strings"

	"github.com/mcptap/mcptap/har"
)

// unreachableBy says in words what the note of an exchange with a server that was never reached stands for.
var unreachableBy = []struct{ note, message, fix string }{
	{"refused", "mcptap could not reach the server: connection refused", "start the server, or correct the host and port that mcptap was given"},
	{"tls", "mcptap could not make a TLS connection to the server: it did not trust the server's certificate, or the server does not speak TLS and HTTP/1.1 there",
		"name the certificate's authority with --ca-file, or correct the scheme and port of the server's URL"},
	{"dns", "mcptap could not reach the server: the server's name was not found", "correct the host in the server's URL"},
	{"timeout", "mcptap could not reach the server: it did not answer when mcptap connected", "check that the server runs, and that nothing before it drops connections"},
	{"", "mcptap could not reach the server", "check that the server runs, and the network to it"},
}

// unreached is the finding of an exchange whose server was never reached, whatever the exchange was for.
func (f *facts) unreached() template {
	t := saying("server-unreachable")
	for _, note := range f.notes {
		word, cause, _ := strings.Cut(note, ":")
		if word != har.NoteUpstream {
			continue
		}
		cause = strings.TrimSpace(cause)
		for _, u := range unreachableBy {
			if u.note == cause || u.note == "" {
				t.message, t.fix = u.message, u.fix
				return t
			}
		}
	}
	return t
}

// findUnread reports an answer of which no head could be read, by the bytes that came in its place, and one that never
// began because the server was not reached. Where it does, what a rule would stand for is not the cause.
func (a *analysis) findUnread(rule string, f *facts) bool {
	var t template
	switch {
	case f.answer == unreachable:
		t = f.unreached()
	case f.status != 0 || f.headless.len == 0:
		return false
	case f.answer == malformed:
		t = notHTTPBy[f.alien]
		if f.class == probe {
			t.id = "probe-not-http"
		}
	case f.answer == silence:
		t = saying("answer-head-unfinished")
	case f.answer == nothing:
		t = headBrokenOff
	default:
		return false
	}
	x := a.add(t, rule, f, f.headless)
	x.Cost = Cost{MS: f.finished.Sub(f.started).Milliseconds(), Requests: 1}
	return true
}

// headBrokenOff is answer-head-unfinished where the server ended it.
var headBrokenOff = template{"answer-head-unfinished", severe, byServer, "the head of the answer to {method} had {bytes} bytes and was not whole when the connection ended: {ending}", "find what breaks the connection"}

// An alien is what bytes that are no HTTP/1.1 look like.
type alien uint8

const (
	alienUnknown alien = iota
	alienTLS
	alienHTTP2
)

// notHTTPBy are the forms of answer-not-http.
var notHTTPBy = [...]template{
	alienUnknown: {"answer-not-http", severe, byServer, "{method} was answered with {bytes} bytes that are no HTTP/1.1", "answer with HTTP/1.1, or use the URL of the MCP endpoint"},
	alienTLS:     {"answer-not-http", severe, byClient, "{method} was answered with a TLS record, not with HTTP/1.1: the server speaks TLS on this port", "give the server's URL with https://"},
	alienHTTP2:   {"answer-not-http", severe, byServer, "{method} was answered with HTTP/2 frames, not with HTTP/1.1: the server speaks only HTTP/2", "let the server speak HTTP/1.1, too"},
}

// requestNotHTTPBy are the forms of request-not-http.
var requestNotHTTPBy = [...]template{
	alienTLS:   {"request-not-http", severe, byClient, "the client began TLS where HTTP/1.1 is spoken", "give the client the URL with http://"},
	alienHTTP2: {"request-not-http", severe, byClient, "the client began HTTP/2 where only HTTP/1.1 is spoken", "let the client speak HTTP/1.1"},
}

// alienOf guesses by the first bytes of a connection's direction: a TLS record of a handshake or an alert (RFC 8446
// section 5.1), the preface of an HTTP/2 client, or a SETTINGS or GOAWAY frame (RFC 9113 sections 3.4 and 4.1).
func alienOf(raw []byte) alien {
	switch {
	case len(raw) >= 3 && (raw[0] == 0x15 || raw[0] == 0x16) && raw[1] == 3 && raw[2] <= 4:
		return alienTLS
	case bytes.HasPrefix(raw, []byte("PRI * HTTP/2.0\r\n")):
		return alienHTTP2
	case len(raw) >= 9 && raw[0] == 0 && (raw[3] == 4 && raw[4] <= 1 || raw[3] == 7 && raw[4] == 0) && bytes.Equal(raw[5:9], []byte{0, 0, 0, 0}):
		return alienHTTP2
	}
	return alienUnknown
}

// findRequestNotHTTP reports a client that speaks another protocol to the door.
func (a *analysis) findRequestNotHTTP(f *facts) {
	if f.requestAlien == alienUnknown {
		return
	}
	x := a.add(requestNotHTTPBy[f.requestAlien], "", f)
	x.Evidence = append(x.Evidence, Evidence{f.n, "request", 0, min(f.reqBytes, maxAlien)})
}

// maxAlien is how many bytes of another protocol stand as evidence.
const maxAlien = 24
