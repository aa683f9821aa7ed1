package har

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/mcptap/mcptap/har/wire"
)

// correct sets the copied members that are there to what the exchange's bytes say, and notes which ones differed. The
// origin of URL stays: bytes do not say where they went.
func (x *Exchange) correct() {
	var differ []string
	if !x.requestAgrees() {
		differ = x.correctRequest(differ)
	}
	if !x.responseAgrees() {
		differ = x.correctResponse(differ)
	}
	if differ != nil {
		x.Notes = append(x.Notes, NoteCopy+": the file's copy of "+strings.Join(differ, ", ")+" differed from the bytes")
	}
}

func (x *Exchange) correctRequest(differ []string) []string {
	m, _ := wire.ParseRequest(x.Request.Raw)
	if m == nil {
		return differ
	}
	if x.Method != m.Method {
		x.Method, differ = m.Method, append(differ, "method")
	}
	scheme, rest, ok := strings.Cut(x.URL, "://")
	if !ok {
		return differ
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	if url := TargetURL(scheme+"://"+rest[:end], &m.Head); url != x.URL {
		x.URL, differ = url, append(differ, "url")
	}
	return differ
}

func (x *Exchange) correctResponse(differ []string) []string {
	_, m, _ := wire.ParseResponse(x.Response.Raw, x.Method, false)
	if m == nil {
		return differ
	}
	if x.Status != m.Status {
		differ = append(differ, "status")
	}
	if x.MediaType != MediaTypeOf(&m.Head) {
		differ = append(differ, "mimeType")
	}
	x.SetResponse(&m.Head)
	return differ
}

// requestAgrees tells by a look at the request line whether there is nothing to correct; false is a reason to parse it.
func (x *Exchange) requestAgrees() bool {
	if x.Method == "" && x.URL == "" {
		return true
	}
	rest, ok := bytes.CutPrefix(x.Request.Raw, []byte(x.Method+" "))
	target, _, whole := bytes.Cut(rest, []byte{' '})
	return ok && whole && x.Method != "" && bytes.HasPrefix(target, []byte{'/'}) && strings.HasSuffix(x.URL, string(target)) &&
		strings.Count(strings.TrimSuffix(x.URL, string(target)), "/") == 2
}

// responseAgrees tells by a look at the first head whether there is nothing to correct; false is a reason to parse it.
func (x *Exchange) responseAgrees() bool {
	if x.Status == 0 && x.MediaType == "" {
		return true
	}
	line, rest, _ := bytes.Cut(x.Response.Raw, []byte("\r\n"))
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 "+strconv.Itoa(x.Status)+" ")) {
		return false
	}
	const field = "Content-Type:"
	for len(rest) > 0 {
		if line, rest, _ = bytes.Cut(rest, []byte("\r\n")); len(line) == 0 {
			break
		}
		if len(line) > len(field) && strings.EqualFold(string(line[:len(field)]), field) {
			return mediaType(string(line[len(field):])) == x.MediaType
		}
	}
	return x.MediaType == ""
}
