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
	if base == "" {
		base = "http://" + h.Get("Host")
	}
	x.Method, x.URL = h.Method, absoluteURL(base, h.Target)
}

// SetResponse sets Status and MediaType from the final response's head.
func (x *Exchange) SetResponse(h *wire.Head) {
	x.Status, x.MediaType = h.Status, mediaType(h.Get("Content-Type"))
}

// absoluteURL is the target URI of RFC 9112 section 3.3: an absolute target as it is, one in origin form behind base,
// base alone for the asterisk and authority forms. It carries no user information.
func absoluteURL(base, target string) string {
	switch {
	case strings.HasPrefix(target, "/"):
		return printable(withoutUser(base) + target)
	case strings.Contains(target, "://"):
		return printable(withoutUser(target))
	}
	return printable(withoutUser(base))
}

// withoutUser removes the user information of a URL, which may be a password (RFC 3986 section 3.2.1).
func withoutUser(url string) string {
	i := strings.Index(url, "://")
	if i < 0 {
		return url
	}
	authority := url[i+3:]
	if end := strings.IndexAny(authority, "/?#"); end >= 0 {
		authority = authority[:end]
	}
	at := strings.LastIndexByte(authority, '@')
	return url[:i+3] + url[i+3+at+1:]
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

// mediaType is the type and subtype of a Content-Type, lower case, without parameters (RFC 9110 section 8.3.1).
func mediaType(contentType string) string {
	kind, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}
