package analyze

import (
	"fmt"
	"strings"
)

// authFindings are those of what is behind an auth wall, and of redirects, which many walls are made of.
var authFindings = []template{
	{"auth-credentials-refused", warning, byClient, "the credentials that {method} carried were refused with 401", "see error and error_description in WWW-Authenticate; get a new token for this server"},
	{"auth-scope-insufficient", warning, byClient, "{method} was answered 403: the token lacks a scope", "authorize again with the scope that WWW-Authenticate names"},
	{"oauth-metadata-missing", severe, byServer, "the client looked for the server's OAuth metadata and found none", "serve /.well-known/oauth-protected-resource (RFC 9728) and the authorization server's metadata (RFC 8414) as JSON, without asking for credentials"},
	{"oauth-metadata-invalid", severe, byServer, "{path} was answered {status} and is no OAuth metadata", "serve the metadata as a JSON object, not a page"},
	{"oauth-resource-differs", note, byServer, "the protected resource metadata names another resource than the client asked for; clients that compare the two stop there (RFC 9728 section 3.3)", "name the URL that clients use in resource"},
	{"oauth-past-proxy", warning, byCapture, "an answer names an OAuth URL at another address than the client came to: it goes there past the recording", "record with --forward"},
	{"oauth-step-refused", severe, byNobody, "a step of OAuth was refused", "see the error that the authorization server names"},
	{"redirect-drops-body", severe, byServer, "{method} was redirected with {status} to {location}, and the client followed with GET: the message was lost on the way", "redirect with 307 or 308, or give the client the redirect's target as the URL"},
	{"redirect-not-followed", severe, byServer, "{method} was redirected ({status}) to {location}, and the client did not follow", "give the client the redirect's target as the URL"},
	{"redirect-leaves-origin", warning, byServer, "{method} was redirected to another origin, {location}: clients do not take credentials and session ids there, or do not follow", "give the client the redirect's target as the URL"},
}

// findAuth reports what a refusal of credentials rests on.
func (a *analysis) findAuth(f *facts) {
	a.findOAuthPast(f)
	challenge := strings.ToLower(f.challenge)
	switch {
	case f.class == oauth:
		a.findOAuthStep(f)
	case f.status == 401 && f.req.auth != "":
		t := saying("auth-credentials-refused")
		if why := challengeError(f.challenge); why != "" {
			t.message += ": " + why
		}
		a.add(t, "", f, f.statusAt, f.head.challengeAt)
	case f.status == 403 && strings.Contains(challenge, "insufficient_scope"):
		t := saying("auth-scope-insufficient")
		t.message += ": " + challengeError(f.challenge)
		a.add(t, "", f, f.statusAt, f.head.challengeAt)
	}
}

// findOAuthPast reports a URL of OAuth that leads clients past the proxy that recorded the answer.
func (a *analysis) findOAuthPast(f *facts) {
	p := f.head.past
	if p.name == "" {
		return
	}
	t := saying("oauth-past-proxy")
	t.message = fmt.Sprintf("%s names %s, and the client had come through a proxy at another address: what it does there is not in this recording", p.name, excerpt(p.origin))
	if p.name == "resource_metadata" {
		a.add(t, "", f, f.head.challengeAt)
		return
	}
	a.add(t, "", f, f.bodyAt)
}

// blame tells of each exchange of OAuth which refusal of credentials it follows from: the last one of the same client that had
// come, unless the client has got through since.
func (a *analysis) blame() {
	walls := map[string]*facts{} // by client
	for _, f := range a.facts {
		wall := walls[f.client]
		switch {
		case f.class == oauth && wall != nil && !wall.until().After(f.started):
			f.cause = wall.n
		case f.class == oauth || f.class == other:
		case f.status == 401 || f.status == 403 && strings.Contains(strings.ToLower(f.challenge), "insufficient_scope"):
			walls[f.client] = f
		case f.status/100 == 2:
			delete(walls, f.client)
		}
	}
}

// challengeError gives error, error_description and scope of a challenge (RFC 6750 section 3).
func challengeError(challenge string) string {
	var parts []string
	for _, name := range []string{"error", "error_description", "scope"} {
		_, rest, ok := strings.Cut(challenge, name+"=")
		if !ok {
			continue
		}
		value, quoted := strings.CutPrefix(rest, `"`)
		if quoted {
			value, _, _ = strings.Cut(value, `"`)
		} else {
			value, _, _ = strings.Cut(value, ",")
		}
		parts = append(parts, strings.TrimSpace(value))
	}
	return excerpt(strings.Join(parts, ", "))
}

func (a *analysis) findOAuthStep(f *facts) {
	o := f.head.oauth
	if o == nil || f.answer != whole {
		return
	}
	known := strings.Contains(f.path(), "/.well-known/")
	switch {
	case known && f.status/100 == 2 && !o.json:
		a.add(saying("oauth-metadata-invalid"), "", f, f.statusAt, f.bodyAt)
	case f.httpMethod == "POST" && f.status >= 400:
		t := saying("oauth-step-refused")
		t.message = fmt.Sprintf("POST %s was answered %d", excerpt(f.path()), f.status)
		if o.err != "" {
			t.message += ": " + excerpt(strings.TrimSuffix(o.err+", "+o.description, ", "))
		}
		if o.err == "invalid_grant" || o.err == "invalid_client" || o.err == "invalid_scope" || o.err == "invalid_redirect_uri" {
			t.fault = byClient
		}
		a.add(t, "", f, f.statusAt, f.bodyAt)
	case known && o.resource != "" && f.connect != nil && !strings.HasPrefix(pathFrom(f.connect.endpoint), pathFrom(o.resource)):
		t := saying("oauth-resource-differs")
		t.message = fmt.Sprintf("the protected resource metadata names %s, and the client asked for %s; clients that compare the two stop there (RFC 9728 section 3.3)", excerpt(o.resource), excerpt(f.connect.endpoint))
		a.add(t, "", f, f.bodyAt)
	}
}

// pathFrom is a URL's path without a slash at its end: behind a proxy its origin may rightly be another one.
func pathFrom(url string) string {
	return strings.TrimSuffix(strings.TrimPrefix(url, originOf(url)), "/")
}

// findMetadata reports a client that was asked for credentials and found nowhere to get them.
func (a *analysis) findMetadata(c *connect) {
	var wall *facts
	var tried []*facts
	for _, f := range c.all {
		switch {
		case f.class != oauth && f.status == 401 && wall == nil:
			wall = f
		case f.class == oauth && strings.Contains(f.path(), "/.well-known/"):
			if f.status/100 == 2 && f.head.oauth != nil {
				return // there it is, or oauth-metadata-invalid says that it is none
			}
			if f.answer == whole && f.status/100 != 3 {
				tried = append(tried, f)
			}
		case f.class == oauth:
			return
		}
	}
	if wall == nil || len(tried) == 0 {
		return
	}
	last := tried[len(tried)-1]
	t := saying("oauth-metadata-missing")
	t.message = fmt.Sprintf("%s was answered 401, the client looked for OAuth metadata at %d places and found none (the last: %s, HTTP %d): it cannot authorize", wall.what(), len(tried), excerpt(last.path()), last.status)
	x := a.add(t, "", wall, wall.statusAt, wall.head.challengeAt)
	x.Exchanges = append(x.Exchanges, numbersOf(tried[:min(len(tried), maxExchanges-1)])...)
	x.Cost = Cost{MS: last.finished.Sub(wall.started).Milliseconds(), Requests: len(tried)}
}

// findRedirects reports redirects that lose something on the way.
func (a *analysis) findRedirects(f *facts) {
	if f.status/100 != 3 || f.location == "" || f.class == oauth {
		return
	}
	from, to := originOf(f.url), originOf(f.location)
	leaves := to != "" && from != to
	switch {
	case leaves && f.class == probe && f.followed == nil: // probe-redirect says so
		return
	case f.lostBody != nil:
		x := a.add(saying("redirect-drops-body"), "", f, f.statusAt, f.head.locationAt)
		x.Exchanges = append(x.Exchanges, f.lostBody.n)
		x.Cost.Requests = 2
	case f.followed == nil && f.class != probe && !leaves:
		t := saying("redirect-not-followed")
		if strings.TrimSuffix(f.location, "/") == strings.TrimSuffix(f.url, "/") {
			t.message += "; only a slash at the end differs"
		}
		a.add(t, "", f, f.statusAt, f.head.locationAt)
	}
	if leaves {
		t := saying("redirect-leaves-origin")
		if f.followed == nil {
			t.severity = severe
			t.message += "; this client did not follow"
		}
		if strings.TrimPrefix(from, "http") == strings.TrimPrefix(to, "https") {
			t.message = f.say("{method} was redirected from http to https, {location}: the message went out in clear first, and clients do not take credentials along, or do not follow")
		}
		a.add(t, "", f, f.statusAt, f.head.locationAt)
	}
}
