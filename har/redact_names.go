package har

import "strings"

// A fieldKind says what a header or trailer field holds.
type fieldKind uint8

const (
	plainField   fieldKind = iota
	namingField            // names what the message is about: altered by a Cleaner alone, which alters what it repeats too
	framingField           // frames the message or names its protocol: never altered
	lengthField
	transferField
	typeField
	encodingField
	credentialsField // a scheme and credentials
	secretField      // a secret, all of it
	cookieField
	setCookieField
	sessionField
)

// frames tells whether a field of that kind is never altered.
func (k fieldKind) frames() bool { return framingField <= k && k <= encodingField }

// fieldNames are the fields that are looked at by name, in lower case.
var fieldNames = map[fieldKind][]string{
	lengthField:      {"content-length"},
	transferField:    {"transfer-encoding"},
	typeField:        {"content-type"},
	encodingField:    {"content-encoding"},
	credentialsField: {"authorization", "proxy-authorization", "x-authorization", "x-forwarded-authorization", "x-original-authorization"},
	cookieField:      {"cookie"},
	setCookieField:   {"set-cookie"},
	sessionField:     {"mcp-session-id"},
	secretField: {
		"api-key", "apikey", "x-api-key", "x-apikey", "x-goog-api-key", "x-functions-key", "x-rapidapi-key", "x-auth-key",
		"ocp-apim-subscription-key", "x-amz-security-token", "x-auth-token", "x-access-token", "x-session-token",
		"private-token", "x-csrf-token", "x-xsrf-token", "x-auth", "x-secret", "x-password", "cf-access-jwt-assertion", "dpop",
	},
	namingField: {"host", "mcp-name", "last-event-id"},
	framingField: {
		"connection", "keep-alive", "te", "trailer", "upgrade", "expect", "accept", "accept-encoding", "date",
		"mcp-protocol-version", "mcp-method", "sec-websocket-accept", "sec-websocket-key", "sec-websocket-version",
		"sec-websocket-extensions",
	},
}

// secretSuffixes make a field one for secrets, unless an exemption is part of its name. MCP's own fields are exempt.
var (
	secretSuffixes = []string{
		"-api-key", "-apikey", "-token", "-secret", "-secret-key", "-access-key", "-auth-key", "-private-key", "-password",
		"-subscription-key",
	}
	suffixExempt = []string{"mcp-", "progress", "cursor", "page-", "next-", "continuation"}
)

// schemes are the words that may stand before credentials (the IANA registry of HTTP authentication schemes, and others
// in use), in lower case.
var schemes = setOf("basic", "bearer", "digest", "negotiate", "ntlm", "dpop", "gnap", "hoba", "mutual", "oauth", "vapid",
	"scram-sha-1", "scram-sha-256", "privatetoken", "concealed", "token", "apikey", "api-key", "key", "aws4-hmac-sha256",
	"sharedkey", "signature", "hawk", "jwt")

const longestScheme = len("aws4-hmac-sha256")

// secretParameters are URL parameters and form fields, in lower case.
var secretParameters = setOf("access_token", "token", "auth_token", "id_token", "refresh_token", "session_token",
	"id_token_hint", "login_token", "subject_token", "actor_token", "registration_access_token", "api_key", "apikey",
	"api-key", "key", "code", "code_verifier", "device_code", "user_code", "client_secret", "client_assertion", "assertion",
	"password", "passwd", "secret", "auth", "authorization", "jwt", "bearer", "sig", "signature", "x-amz-signature",
	"x-amz-credential", "x-amz-security-token", "x-goog-signature", "x-goog-credential", "awsaccesskeyid",
	"subscription-key", "x-api-key")

// sessionParameters are the URL parameters that hold a session id, in lower case: HTTP+SSE endpoints have them.
var sessionParameters = setOf("sessionid", "session_id", "session-id", "mcp-session-id")

// secretMembers are JSON members, by RFC 6749, 7591, 7636, 8628 and 8693.
var secretMembers = setOf("access_token", "refresh_token", "id_token", "client_secret", "registration_access_token",
	"code_verifier", "device_code", "subject_token", "actor_token", "client_assertion", "accessToken", "refreshToken",
	"idToken", "clientSecret")

// grantMembers are JSON members that hold secrets only in a text that has a `grant_type`: elsewhere their names are those
// of tools' arguments, which are kept.
var grantMembers = setOf("code", "password", "assertion", "api_key", "apiKey")

// cursorMembers hold what looks like a secret and is none: MCP's opaque positions and ids.
var cursorMembers = setOf("cursor", "nextCursor", "progressToken")

// notSecret are values that stand where a secret is expected and are none: what a program writes for want of one, and
// words of the protocols, which would be replaced everywhere if they were remembered.
var notSecret = setOf("undefined", "null", "none", "[object Object]", "true", "false", "accepted", "Accepted", "application/json",
	"text/event-stream", "keep-alive", "chunked", "initialize", "notifications/initialized", "notifications/cancelled",
	"notifications/progress", "server/discover", "tools/list", "tools/call", "resources/list", "resources/read",
	"resources/subscribe", "resources/templates/list", "prompts/list", "prompts/get", "completion/complete",
	"logging/setLevel", "sampling/createMessage", "elicitation/create", "roots/list", "subscriptions/listen",
	"protocolVersion", "capabilities", "clientInfo", "serverInfo", "arguments", "structuredContent", "description",
	"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")

const longestWord = 32

// Classes of characters.
const (
	lowerChar uint8 = 1 << iota
	upperChar
	digitChar
	dashChar
	underscoreChar
	bearerChar // what else a token68 has (RFC 9110 section 11.2): . ~ + /
	tokenChar  // a token (RFC 9110 section 5.6.2)
	plainChar  // unreserved in URLs (RFC 3986 section 2.3): spelled the same everywhere

	letterOrDigit = lowerChar | upperChar | digitChar
	base64URL     = letterOrDigit | dashChar | underscoreChar
	token68       = base64URL | bearerChar
)

var class = func() (t [256]uint8) {
	for c := byte('0'); c <= '9'; c++ {
		t[c] = digitChar | tokenChar | plainChar
	}
	for c := byte('a'); c <= 'z'; c++ {
		t[c] = lowerChar | tokenChar | plainChar
		t[c-'a'+'A'] = upperChar | tokenChar | plainChar
	}
	for _, c := range []byte("!#$%&'*+-.^_`|~") {
		t[c] |= tokenChar
	}
	for _, c := range []byte("-._~") {
		t[c] |= plainChar
	}
	for _, c := range []byte(".~+/") {
		t[c] |= bearerChar
	}
	t['-'] |= dashChar
	t['_'] |= underscoreChar
	return t
}()

func setOf(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, n := range names {
		set[n] = true
	}
	return set
}

// longestName is the length of the longest field or parameter name that is looked up.
const longestName = 63

// longestEncoded is the length of the longest parameter name that is looked up, percent-encoded.
const longestEncoded = 3 * longestName

// A namedField is a field that is looked at by name.
type namedField struct {
	name string
	kind fieldKind
}

// fieldsByEnd has the names and suffixes by their last two letters, which turn most names away.
var fieldsByEnd = func() (by [256]struct {
	names    []namedField
	suffixes []string
}) {
	for kind, names := range fieldNames {
		for _, n := range names {
			at := &by[lastLetters(n)]
			at.names = append(at.names, namedField{n, kind})
		}
	}
	for _, s := range secretSuffixes {
		at := &by[lastLetters(s)]
		at.suffixes = append(at.suffixes, s)
	}
	return by
}()

// lastLetters is the place in fieldsByEnd of names that end as name does.
func lastLetters[T string | []byte](name T) uint8 {
	n := len(name)
	return (name[n-1]|0x20)*7 ^ (name[n-2] | 0x20)
}

// fieldKindOf returns the kind of a field by its name as it stands before the colon.
func fieldKindOf(name []byte) fieldKind {
	for len(name) > 0 && (name[len(name)-1] == ' ' || name[len(name)-1] == '\t') {
		name = name[:len(name)-1]
	}
	if len(name) < 2 {
		return plainField
	}
	by := &fieldsByEnd[lastLetters(name)]
	for i := range by.names {
		if n := &by.names[i]; len(n.name) == len(name) && equalFold(name, n.name) {
			return n.kind
		}
	}
	for _, s := range by.suffixes {
		if len(s) < len(name) && equalFold(name[len(name)-len(s):], s) && !isExempt(name) {
			return secretField
		}
	}
	return plainField
}

func isExempt(name []byte) bool {
	low := string(lower(nil, name))
	for _, x := range suffixExempt {
		if strings.Contains(low, x) {
			return true
		}
	}
	return false
}

// equalFold tells whether b, of the same length, is low but for the case of ASCII letters. low has letters in lower case.
func equalFold(b []byte, low string) bool {
	for i := range b {
		c := b[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != low[i] {
			return false
		}
	}
	return true
}
