package main

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
)

// plain takes out of a secret what keys do not have in them.
func plain(secret string) string {
	return strings.NewReplacer(".", "", "~", "", "-", "").Replace(secret)
}

// more plants forms of credentials that have rules or shapes of their own.
func (p *planting) more() {
	s := p.secret
	// Schemes with parameters.
	p.request(`Authorization: Digest username="u", realm="r", nonce="n", uri="/mcp", response="`+s("digest")+`", cnonce="`+s("a digest's cnonce")+"\"\r\n", plainCall)
	p.request("Proxy-Authorization: Digest username=\"u\",\r\n response=\""+s("a folded digest of a proxy")+"\"\r\n", plainCall)
	p.request("Authorization: AWS4-HMAC-SHA256 Credential=AKID/20261101/r/s/aws4_request, SignedHeaders=host, Signature="+s("an AWS signature")+"\r\n", plainCall)
	p.response(jsonField+"Set-Cookie: __Host-sid=\""+s("a cookie with attributes")+"\"; Max-Age=60; Path=/; Secure; HttpOnly; SameSite=Lax\r\n", tool(""))
	// OAuth.
	p.exchange("GET /cb?code="+s("a code")+"&state="+s("a state")+"&iss=x HTTP/1.1\r\nHost: h\r\n\r\n", message("HTTP/1.1 302 Found", "Location: /\r\n", ""))
	p.response("Location: https://h.example/authorize?response_type=code&client_id=c&state="+s("a state that is sent")+"&code_challenge=x\r\n", "")
	p.exchange(message("POST /token HTTP/1.1", "Host: h\r\nContent-Type: application/x-www-form-urlencoded\r\n",
		"client_id=c&client_secret="+s("client_secret in a form")+"&code_verifier="+s("a verifier")+"&grant_type=authorization_code"), message("HTTP/1.1 400 No", "", ""))
	p.response(jsonField, tool("open https://h.example/cb?x=1&amp;code="+s("a code in text")+", please"))
	p.response(jsonField, tool("next="+url.QueryEscape(url.QueryEscape("https://h.example/?access_token="+s("percent-encoded twice")))))
	p.response(jsonField, tool(everyEscaped("https://h.example/?client_secret="+s("a URL in escapes"), `\u%04x`)))
	p.response(jsonField, tool(base64.RawURLEncoding.EncodeToString([]byte(`??>{"client_secret":"`+s("base64 for URLs")+`"}`))))
	// Private keys.
	pems := ""
	for _, kind := range []string{"RSA ", "EC ", "ENCRYPTED ", "OPENSSH "} {
		pems += `-----BEGIN ` + kind + `PRIVATE KEY-----\n` + s("a key of kind "+kind) + `\n-----END ` + kind + `PRIVATE KEY-----\n`
	}
	p.response(jsonField, `{"pems":"`+pems+`"}`)
	p.response(jsonField, tool(`{\"k\":\"-----BEGIN PRIVATE KEY-----\\n`+s("a key in JSON in JSON")+`\\n-----END PRIVATE KEY-----\"}`))
	p.response(jsonField, tool(`-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n`+s("an OpenPGP key")+`\n-----END PGP PRIVATE KEY BLOCK-----`))
	// Providers' keys.
	keys := ""
	for _, prefix := range []string{"AKIA", "ghp_", "github_pat_", "glpat-", "glrt-", "xoxb-1234-", "xapp-1-A1-", "xoxe.xoxp-1-", "sk-ant-api03-", "AIza", "ya29.", "GOCSPX-",
		"sk_live_", "rk_test_", "whsec_", "npm_", "pypi-", "hvs.", "dckr_pat_"} {
		body := plain(s("a key that begins with "+prefix)) + strings.Repeat("0a1b2c3d4e", 4)
		if prefix == "AKIA" {
			body = strings.ToUpper(body)
		}
		keys += ` \n` + prefix + body
	}
	p.response(jsonField, tool(keys))
	// A token that chunks cut.
	claims := base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"` + s("a JWT in chunks") + `"}`))
	body, chunks := tool("eyJhbGciOiJIUzI1NiJ9."+claims+".c2lnbmF0dXJl"), ""
	for len(body) > 0 {
		n := min(len(body), 7)
		chunks += fmt.Sprintf("%x\r\n%s\r\n", n, body[:n])
		body = body[n:]
	}
	p.exchange(message("POST /mcp HTTP/1.1", "", plainCall), "HTTP/1.1 200 OK\r\n"+jsonField+"Transfer-Encoding: chunked\r\n\r\n"+chunks+"0\r\n\r\n")
}
