package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/mcptap/mcptap/har"
)

// bypass says which URL of OAuth, in a challenge (RFC 9728 section 5.1) or in metadata (RFC 8414, RFC 9728), leads a client of the
// reverse door past it, "" if none does. The client asked for the host that its Host line names, which the door replaced.
func bypass(x *har.Exchange, v *har.View) string {
	if len(x.Edits) == 0 || v.Request == nil || v.Response == nil {
		return ""
	}
	host := v.Request.Get("Host")
	for _, u := range oauthURLs(v) {
		if to, err := url.Parse(u.url); err == nil && to.Host != "" && !strings.EqualFold(to.Host, host) {
			return fmt.Sprintf("%s names %s: clients go there past this recording; record --forward has that too", u.name, safeURL(to))
		}
	}
	return ""
}

type namedOAuthURL struct{ name, url string }

// oauthURLs are the URLs of OAuth that an answer names.
func oauthURLs(v *har.View) (list []namedOAuthURL) {
	if v.Response.Status == 401 {
		if _, rest, ok := strings.Cut(v.Response.Get("WWW-Authenticate"), "resource_metadata="); ok {
			value, _, _ := strings.Cut(strings.TrimPrefix(rest, `"`), `"`)
			value, _, _ = strings.Cut(value, ",")
			list = append(list, namedOAuthURL{"resource_metadata", value})
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
	if err != nil || len(body) > liveBytes || json.Unmarshal(body, &metadata) != nil {
		return list
	}
	for _, s := range metadata.Servers {
		list = append(list, namedOAuthURL{"authorization_servers", s})
	}
	return append(list, namedOAuthURL{"issuer", metadata.Issuer}, namedOAuthURL{"authorization_endpoint", metadata.Authorization},
		namedOAuthURL{"token_endpoint", metadata.Token}, namedOAuthURL{"registration_endpoint", metadata.Registration})
}
