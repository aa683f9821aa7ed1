package replay

import (
	"bytes"
	"net/url"
	"strings"

	"github.com/mcptap/mcptap/har/wire"
)

// absolute finds the absolute URLs that a client is meant to follow: a redirection's Location, the OAuth metadata that
// WWW-Authenticate names (RFC 9728 section 5.1), the endpoint event of HTTP+SSE, and OAuth metadata themselves.
func (r *recording) absolute() (found []*url.URL) {
	raw := r.x.Response.Raw[:r.end]
	head := raw
	if i := bytes.Index(raw, []byte("\r\n\r\n")); i >= 0 {
		head = raw[:i]
	}
	metadata := r.ask != nil && strings.Contains(r.ask.target, "/.well-known/")
	if !r.streams && !metadata && !bytes.Contains(head, []byte("://")) {
		return nil
	}
	v := r.x.View()
	if v.Response == nil {
		return nil
	}
	texts := []string{v.Response.Get("Location"), v.Response.Get("WWW-Authenticate")}
	if body, _ := v.ResponseBody(); metadata && len(body) <= 1<<20 {
		texts = append(texts, string(body))
	}
	if r.streams {
		texts = append(texts, endpointOf(v.Events()))
	}
	for _, t := range texts {
		for range 32 {
			u, rest := cutURL(t)
			if t = rest; u == nil {
				break
			}
			found = append(found, u)
		}
	}
	return found
}

// endpointOf is the data of the first endpoint event, "" if there is none.
func endpointOf(events []wire.Event) string {
	for i := range events {
		if events[i].Type == "endpoint" {
			return string(events[i].Data)
		}
	}
	return ""
}

// cutURL finds the first absolute http or https URL in a text, and what stands behind it.
func cutURL(text string) (u *url.URL, rest string) {
	for {
		i := strings.Index(text, "://")
		if i < 0 {
			return nil, ""
		}
		begin := i
		for begin > 0 && 'a' <= text[begin-1]|0x20 && text[begin-1]|0x20 <= 'z' {
			begin--
		}
		end := len(text)
		if n := strings.IndexAny(text[i:], " \t\r\n\"'<>,;"); n >= 0 {
			end = i + n
		}
		u, err := url.Parse(text[begin:end])
		if text = text[end:]; err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") {
			return u, text
		}
	}
}
