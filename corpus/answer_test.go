package corpus

import (
	"fmt"
	"strings"
	"time"

	"github.com/mcptap/mcptap/har"
)

// An answer is what a server sends for one request, and how the connection then goes on.
type answer struct {
	status    string // such as "200 OK"; "": nothing comes
	mediaType string // "": no Content-Type
	fields    string // further header lines
	body      string // $ID stands for the request's id
	events    []string
	open      bool   // an event stream that goes on
	sent      int    // of the body, this many bytes are sent; 0: all
	raw       string // instead of all these: what comes is not HTTP
	late      bool   // it comes after the client has left

	wire   []piece // instead of all these: the bytes themselves
	broken bool    // these are not a whole answer

	end  har.Ending    // "": the connection goes on
	wait time.Duration // until the client gives up; 0: patience
	note string        // why there is no answer
}

// A piece is bytes that a server writes at once, this long behind those before.
type piece struct {
	after time.Duration
	bytes string
}

func reply(status, mediaType, body string) answer {
	return answer{status: status, mediaType: mediaType, body: body}
}

// stream answers with an event stream that ends after these events.
func stream(events ...string) answer {
	return answer{status: "200 OK", mediaType: "text/event-stream", fields: "cache-control: no-store\r\n", events: events}
}

func message(data string) string { return "event: message\ndata: " + data + "\n\n" }

func unreached(note string) answer     { return answer{note: note} }
func silence() answer                  { return answer{end: har.EndClientFIN} }
func nothing(end har.Ending) answer    { return answer{end: end} }
func ok(body string) answer            { return reply("200 OK", "application/json", body) }
func accepted() answer                 { return reply("202 Accepted", "", "") }
func empty(status string) answer       { return reply(status, "", "") }
func rpc(status, body string) answer   { return reply(status, "application/json", body) }
func plain(status, body string) answer { return reply(status, "text/plain; charset=utf-8", body) }

func (a answer) with(fields string) answer { a.fields += fields; return a }

// cut sends only some bytes of the body before the connection ends.
func (a answer) cut(sent int, end har.Ending) answer { a.sent, a.end = sent, end; return a }

// ends gives the ending of a connection that does not go on.
func (a answer) ends(end har.Ending) answer { a.end = end; return a }

// staysOpen leaves an event stream open until the client gives up.
func (a answer) staysOpen() answer { a.open, a.end = true, har.EndClientFIN; return a }

func (a answer) tooLate() answer { a.late = true; return a }

// whole tells whether all of it comes, and in time.
func (a answer) whole() bool {
	if a.wire != nil {
		return !a.broken
	}
	return a.status != "" && a.sent == 0 && !a.open && !a.late && (a.end == "" || a.events == nil)
}

// page is the kind of page that nginx puts before a server that is not there.
func page(status string) answer {
	return reply(status, "text/html", "<html>\r\n<head><title>"+status+"</title></head>\r\n<body>\r\n<center><h1>"+status+
		"</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n")
}

// A server is how one kind of server writes its heads: the lines before and behind those of the answer, in which $DATE is
// filled in. $LEN or $CHUNKED stands where it declares the length.
type server struct{ head string }

var (
	// uvicorn's own fields come first; then those of the Python SDK.
	uvicorn = server{"date: $DATE\r\nserver: uvicorn\r\n$OWN$FRAMING"}
	// node adds its fields behind those of the TypeScript SDK.
	node = server{"$OWNDate: $DATE\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\n$FRAMING"}
	// nginx in front of an application.
	nginx = server{"Server: nginx\r\nDate: $DATE\r\n$OWN$FRAMINGConnection: keep-alive\r\n"}
)

// write gives the parts of an answer as the server writes them: head and body together, or each event by itself.
func (v server) write(a answer, session string, now time.Time, id string) []string {
	own := a.fields
	if a.mediaType != "" {
		own = "content-type: " + a.mediaType + "\r\n" + own
	}
	body := withID(a.body, id)
	framing := fmt.Sprintf("content-length: %d\r\n", len(body))
	if a.events != nil || a.mediaType == "text/event-stream" {
		framing = "transfer-encoding: chunked\r\n"
	}
	head := "HTTP/1.1 " + a.status + "\r\n" + strings.NewReplacer("$DATE", now.Format("Mon, 02 Jan 2006 15:04:05 GMT"),
		"$OWN", strings.ReplaceAll(own, "$SESSION", session), "$FRAMING", framing).Replace(v.head) + "\r\n"
	if a.sent > 0 {
		body = body[:a.sent]
	}
	if framing[0] != 't' {
		return []string{head + body}
	}
	parts := []string{head}
	for _, e := range a.events {
		parts = append(parts, chunk(withID(e, id)))
	}
	if !a.open && a.end == "" {
		parts[len(parts)-1] += "0\r\n\r\n"
	}
	return parts
}

func withID(text, id string) string { return strings.ReplaceAll(text, "$ID", id) }

func chunk(data string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(data), data) }
