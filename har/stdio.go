package har

import (
	"bytes"
	"strings"

	"github.com/mcptap/mcptap/har/wire"
)

// StdioScheme begins the URL of every exchange over stdio, and of no other: "stdio:" and the command line, percent-encoded.
// Over stdio an exchange is one line that the client wrote to the server's stdin with the line that answers it by its id,
// or any other line of the server's stdout by itself.
const StdioScheme = "stdio:"

// maxStdioURL is how many bytes of a command line a URL holds.
const maxStdioURL = 1024

// StdioURL names a process by its command line, which holds no secrets any more (see [RedactCommand]).
func StdioURL(command []string) string {
	text := strings.ReplaceAll(strings.Join(command, " "), "%", "%25")
	if len(text) > maxStdioURL {
		text = text[:maxStdioURL]
	}
	return StdioScheme + printable(text)
}

// Stdio tells whether the exchange was over the pipes of a process.
func (x *Exchange) Stdio() bool { return strings.HasPrefix(x.URL, StdioScheme) }

// lineSpan is where the line's text is in raw: white space before it and the line end are left out. ended: there is one.
func lineSpan(raw []byte) (text wire.Span, ended bool) {
	ended = bytes.HasSuffix(raw, []byte("\n"))
	end := len(bytes.TrimRight(raw, "\r\n"))
	return wire.Span{Len: end}, ended
}

// viewStdio reads an exchange of two lines.
func (x *Exchange) viewStdio() *View {
	v := &View{X: x, Stdio: true}
	seen := x.Evidence()
	v.Late = len(x.Response.Raw) - len(seen)
	request, asked := lineSpan(x.Request.Raw)
	response, answered := lineSpan(seen)
	v.requestBody = content{done: true, bytes: x.Request.Raw[:request.Len]}
	v.responseBody = content{done: true, bytes: seen[:response.Len]}
	v.Complete, v.Why = v.completeStdio(asked, answered)
	return v
}

// completeStdio is complete for lines: each ends with a line end, and what asks for an answer has one.
func (v *View) completeStdio(asked, answered bool) (Tri, string) {
	x := v.X
	why := ""
	switch {
	case len(x.Request.Raw) > 0 && !asked:
		why = "the client's line is not ended"
	case len(x.Response.Raw)-v.Late > 0 && !answered:
		why = "the server's line is not ended"
	case len(x.Response.Raw)-v.Late == 0 && len(RequestIDs(v.requestBody.bytes)) > 0:
		why = "there is no reply"
	default:
		return True, ""
	}
	switch x.End {
	case EndStopped:
		return Unknown, why + ": the recording ended before"
	case EndUnknown, "":
		return Unknown, why + ", and how the exchange ended is not known"
	}
	return False, why
}

// RequestIDs gives the ids, as [IDKey] writes them, to which a line of a client wants replies: that of a request, of what
// would be one but for a fault, or of all requests of a batch.
func RequestIDs(line []byte) []string {
	rpc := wire.ParseRPC(line)
	if rpc.Kind == wire.Batch {
		var ids []string
		for i := range rpc.Items {
			if it := &rpc.Items[i]; asks(it) {
				ids = append(ids, IDKey(it.ID))
			}
		}
		return ids
	}
	if asks(&rpc) {
		return []string{IDKey(rpc.ID)}
	}
	return nil
}

func asks(rpc *wire.RPC) bool {
	return rpc.Kind == wire.Request || rpc.Kind == wire.Invalid && rpc.JSON && rpc.Method != "" && rpc.ID.Present() && !rpc.ID.Null()
}

// ReplyIDs gives the ids that a line of a server replies to: that of a result or an error, of what would be one but for a
// fault, or of all of a batch.
func ReplyIDs(line []byte) []string {
	rpc := wire.ParseRPC(line)
	if rpc.Kind == wire.Batch {
		var ids []string
		for i := range rpc.Items {
			if it := &rpc.Items[i]; replies(it) {
				ids = append(ids, IDKey(it.ID))
			}
		}
		return ids
	}
	if replies(&rpc) {
		return []string{IDKey(rpc.ID)}
	}
	return nil
}

func replies(rpc *wire.RPC) bool {
	if !rpc.ID.Present() || rpc.ID.Null() {
		return false
	}
	return rpc.Kind == wire.Result || rpc.Kind == wire.Error || rpc.Kind == wire.Invalid && rpc.JSON && rpc.Method == ""
}

// IDKey writes an id for comparison: strings unescaped behind a quotation mark, anything else as it was sent, so that 1, "1"
// and 1.0 are three ids.
func IDKey(id wire.Member) string {
	if s, ok := id.String(); ok {
		return `"` + s
	}
	return string(id.Raw)
}
