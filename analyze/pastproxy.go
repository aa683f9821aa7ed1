package analyze

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/mcptap/mcptap/har"
)

// maxMetadata bounds a body in which URLs of OAuth are looked for, in bytes.
const maxMetadata = 256 << 10

// OAuthPastProxy gives the first URL of OAuth in a challenge (RFC 9728 section 5.1) or in metadata (RFC 8414, RFC 9728) that
// leads a client past the proxy it came through, and what names it; nil if none does. The client came through one if the host that
// its Host line names is not the server's.
func OAuthPastProxy(v *har.View) (name string, to *url.URL) {
	if v.Request == nil || v.Response == nil {
		return "", nil
	}
	host, server := v.Request.Get("Host"), hostIn(v.X.URL)
	if host == "" || server == "" || strings.EqualFold(host, server) {
		return "", nil
	}
	for _, u := range oauthURLs(v) {
		if to, err := url.Parse(u.url); err == nil && to.Host != "" && !strings.EqualFold(to.Host, host) {
			return u.name, to
		}
	}
	return "", nil
}

type namedURL struct{ name, url string }

// oauthURLs are the URLs of OAuth that an answer names.
func oauthURLs(v *har.View) (list []namedURL) {
	if v.Response.Status == 401 {
		if _, rest, ok := strings.Cut(v.Response.Get("WWW-Authenticate"), "resource_metadata="); ok {
			value, _, _ := strings.Cut(strings.TrimPrefix(rest, `"`), `"`)
			value, _, _ = strings.Cut(value, ",")
			list = append(list, namedURL{"resource_metadata", value})
		}
	}
	if !strings.Contains(v.Request.Target, "/.well-known/") {
		return list
	}
	var metadata struct {
		Servers       []string `json:"authorization_servers"`
		Issuer        string   `json:"issuer"`
		Authorization string   `json:"authorization_endpoint"`
		Token         string   `json:"token_endpoint"`
		Registration  string   `json:"registration_endpoint"`
	}
	body, err := v.ResponseBody()
	if err != nil || len(body) > maxMetadata || json.Unmarshal(body, &metadata) != nil {
		return list
	}
	for _, s := range metadata.Servers {
		list = append(list, namedURL{"authorization_servers", s})
	}
	return append(list, namedURL{"issuer", metadata.Issuer}, namedURL{"authorization_endpoint", metadata.Authorization},
		namedURL{"token_endpoint", metadata.Token}, namedURL{"registration_endpoint", metadata.Registration})
}
