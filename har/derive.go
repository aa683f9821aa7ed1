package har

import (
	"strings"

	"github.com/mcptap/mcptap/har/wire"
)

// FillDerived sets Method, URL, Status and MediaType from the exchange's bytes. base is the origin that the requests went
// to, such as "https://server.example"; "" takes the Host field.
func FillDerived(x *Exchange, base string) {
	request, _ := wire.ParseRequest(x.Request.Raw)
	if request != nil {
		x.SetRequest(&request.Head, base)
	}
	_, response, _ := wire.ParseResponse(x.Response.Raw, x.Method, false)
	if response != nil {
		x.SetResponse(&response.Head)
	}
}

// SetRequest sets Method and URL from the request's head. base is as for FillDerived.
func (x *Exchange) SetRequest(h *wire.Head, base string) {
	x.Method, x.URL = h.Method, TargetURL(base, h)
}

// SetResponse sets Status and MediaType from the final response's head.
func (x *Exchange) SetResponse(h *wire.Head) { x.Status, x.MediaType = h.Status, MediaTypeOf(h) }

// TargetURL is where a request with that head went: the path and query of its target (RFC 9112 section 3.2) at the origin
// base, whatever origin the target or Host names; "/" for the asterisk and authority forms. It carries no user information.
// Without a base the origin is that of the target, or else the one that Host names.
func TargetURL(base string, h *wire.Head) string {
	origin, path := base, h.Target
	if scheme, rest, ok := strings.Cut(path, "://"); ok && !strings.HasPrefix(path, "/") {
		end := strings.IndexAny(rest, "/?#")
		if end < 0 {
			end = len(rest)
		}
		if path = rest[end:]; origin == "" {
			origin = scheme + "://" + rest[:end]
		}
	}
	if origin == "" {
		origin = "http://" + h.Get("Host")
	}
	if path == "*" || h.Method == "CONNECT" {
		path = ""
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return printable(withoutUser(origin) + path)
}

// withoutUser removes the user information of an origin, which may be a password (RFC 3986 section 3.2.1).
func withoutUser(origin string) string {
	scheme, authority, ok := strings.Cut(origin, "://")
	if !ok {
		return origin
	}
	return scheme + "://" + authority[strings.LastIndexByte(authority, '@')+1:]
}

// printable escapes bytes that no URL may hold (RFC 3986 section 2.1).
func printable(url string) string {
	clean := func(c byte) bool { return c > ' ' && c < 0x7F }
	for i := range len(url) {
		if clean(url[i]) {
			continue
		}
		const hex = "0123456789ABCDEF"
		var b strings.Builder
		for i := range len(url) {
			if c := url[i]; clean(c) {
				b.WriteByte(c)
			} else {
				b.Write([]byte{'%', hex[c>>4], hex[c&15]})
			}
		}
		return b.String()
	}
	return url
}

// MediaTypeOf is the type and subtype of a message's Content-Type, lower case, without parameters (RFC 9110 section 8.3.1).
func MediaTypeOf(h *wire.Head) string { return mediaType(h.Get("Content-Type")) }

func mediaType(contentType string) string {
	kind, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}
