package har

const (
	jsonType  = "Content-Type: application/json\r\n"
	eventType = "Content-Type: text/event-stream\r\n"
	formType  = "Content-Type: application/x-www-form-urlencoded\r\n"
)

// A redactCase is one exchange and what redaction makes of it; an empty want means that nothing changes.
type redactCase struct {
	name              string
	req, resp         string
	wantReq, wantResp string
	kinds             string // of the ranges, in order
	url, wantURL      string
	uncut             bool // cuts change the result: a value stands before what makes it known
}

var redactCases = []redactCase{
	{
		name:    "bearer",
		req:     asPost("Authorization: Bearer s3cr3t-t0ken-value\r\n", "{}"),
		wantReq: asPost("Authorization: Bearer redactedxxxxxxxxxx\r\n", "{}"),
		kinds:   "authorization",
	},
	{
		name:    "bearer, lower case, no space, tab",
		req:     asPost("authorization:bearer\ts3cr3t-t0ken-value  \r\n", "{}"),
		wantReq: asPost("authorization:bearer\tredactedxxxxxxxxxx  \r\n", "{}"),
		kinds:   "authorization",
	},
	{
		name:    "upper case, no scheme",
		req:     asPost("AUTHORIZATION: s3cr3t-t0ken-value\r\n", "{}"),
		wantReq: asPost("AUTHORIZATION: redactedxxxxxxxxxx\r\n", "{}"),
		kinds:   "authorization",
	},
	{
		name:    "unknown scheme",
		req:     asPost("Authorization: Custom s3cr3t\r\n", "{}"),
		wantReq: asPost("Authorization: redact edxxxx\r\n", "{}"),
		kinds:   "authorization",
	},
	{
		name:    "space before the colon, bare LF",
		req:     "GET /mcp HTTP/1.1\nAuthorization : Bearer s3cr3t-t0ken\n\n",
		wantReq: "GET /mcp HTTP/1.1\nAuthorization : Bearer redactedxxxx\n\n",
		kinds:   "authorization",
	},
	{
		name:    "folded before the scheme, before and in the token",
		req:     "GET / HTTP/1.1\r\nAuthorization:\r\n\tBearer\r\n  s3cr3t-\r\n t0ken-value\r\nX: y\r\n\r\n",
		wantReq: "GET / HTTP/1.1\r\nAuthorization:\r\n\tBearer\r\n  redacte\r\n dxxxxxxxxxx\r\nX: y\r\n\r\n",
		kinds:   "authorization",
	},
	{
		name:     "password of Basic comes back",
		req:      asPost("Authorization: Basic dXNlcjpwYXNzd29yZC0xMjM=\r\n", "{}"),
		wantReq:  asPost("Authorization: Basic redactedxxxxxxxxxxxxxxxx\r\n", "{}"),
		resp:     asAnswer(jsonType, `{"user":"user","secret":"password-123","again":"dXNlcjpwYXNzd29yZC0xMjM="}`),
		wantResp: asAnswer(jsonType, `{"user":"user","secret":"redactedxxxx","again":"redactedxxxxxxxxxxxxxxxx"}`),
		kinds:    "authorization authorization authorization",
	},
	{
		name:    "digest",
		req:     asPost("Proxy-Authorization: Digest username=\"Mufasa\", response=\"6629fae4\"\r\n", "{}"),
		wantReq: asPost("Proxy-Authorization: Digest redactedx\"xxxxxx\"x xxxxxxxxx\"xxxxxxxx\"\r\n", "{}"),
		kinds:   "authorization",
	},
	{
		name:    "keys by field name",
		req:     asPost("X-API-Key: k1\r\nMy-Api-Key: abc\r\nX-Client-Secret: def\r\nX-Github-Token: ghi\r\nOcp-Apim-Subscription-Key: jkl\r\n", "{}"),
		wantReq: asPost("X-API-Key: re\r\nMy-Api-Key: red\r\nX-Client-Secret: red\r\nX-Github-Token: red\r\nOcp-Apim-Subscription-Key: red\r\n", "{}"),
		kinds:   "api-key api-key api-key api-key api-key",
	},
	{
		name: "fields that are no secrets",
		req: asPost("Mcp-Param-Token: abcdefghijk\r\nX-Progress-Token: 12345678\r\nX-Next-Page-Token: abcdefgh\r\nIdempotency-Key: 8e03978e-40d5\r\n"+
			"Last-Event-ID: eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl\r\n", "{}"),
		resp: asAnswer("WWW-Authenticate: Bearer resource_metadata=\"https://h.example/.well-known/oauth-protected-resource\", error=\"invalid_token\"\r\n", "{}"),
	},
	{
		name:     "cookies",
		req:      asPost("Cookie: sid=abc123def456; theme=dark; \"q\"=\"quoted12\";bare\r\n", "{}"),
		wantReq:  asPost("Cookie: sid=redactedxxxx; theme=reda; \"q\"=\"redacted\";reda\r\n", "{}"),
		resp:     asAnswer("Set-Cookie: sid=zyx987wvu654; Path=/mcp; Expires=Wed, 09 Jun 2027 10:18:14 GMT; HttpOnly\r\nSet-Cookie: gone=; Max-Age=0\r\n", "sid is zyx987wvu654"),
		wantResp: asAnswer("Set-Cookie: sid=redactedxxxx; Path=/mcp; Expires=Wed, 09 Jun 2027 10:18:14 GMT; HttpOnly\r\nSet-Cookie: gone=; Max-Age=0\r\n", "sid is redactedxxxx"),
		kinds:    "cookie cookie cookie cookie cookie cookie",
	},
	{
		name:    "parameters of the target",
		req:     "GET /cb?code=abc'd)ef&state=keep&access_token=a%2Fbcdefgh#x HTTP/1.1\r\n\r\n",
		wantReq: "GET /cb?code=redacted&state=keep&access_token=redactedxxx#x HTTP/1.1\r\n\r\n",
		kinds:   "query query",
		url:     "https://h.example/cb?code=abc'd)ef&state=keep&access_token=a%2Fbcdefgh#x",
		wantURL: "https://h.example/cb?code=redacted&state=keep&access_token=redactedxxx#x",
	},
	{
		name:    "names of parameters, encoded",
		req:     "GET /cb?Access%5FToken=abcdefgh&%73tate=keep&x%3Fcode=keep&session%49d=0b7d2f5e HTTP/1.1\r\n\r\n",
		wantReq: "GET /cb?Access%5FToken=redacted&%73tate=keep&x%3Fcode=keep&session%49d=sessio-1 HTTP/1.1\r\n\r\n",
		kinds:   "query session",
		url:     "https://h.example/cb?Access%5FToken=abcdefgh&%73tate=keep",
		wantURL: "https://h.example/cb?Access%5FToken=redacted&%73tate=keep",
	},
	{
		name: "arguments of tools that are named as secrets are",
		req: asPost(jsonType, `{"method":"tools/call","params":{"name":"log_in","arguments":{"user":"u","password":"open sesame",`+
			`"api_key":"k1k1k1k1","api\u004bey":"k2k2k2k2","code":"c1c1c1c1"}}}`),
	},
	{
		name:     "what a parameter held comes back decoded",
		req:      "GET /?api_key=a%2Fbcdefgh HTTP/1.1\r\n\r\n",
		wantReq:  "GET /?api_key=redactedxxx HTTP/1.1\r\n\r\n",
		resp:     asAnswer(jsonType, `["a/bcdefgh","a\/bcdefgh","a%2fbcdefgh"]`),
		wantResp: asAnswer(jsonType, `["redactedx","redactedxx","redactedxxx"]`),
		kinds:    "query query query query",
	},
	{
		name:    "userinfo",
		req:     "GET http://alice:wonder-land@h.example/mcp HTTP/1.1\r\nReferer: https://bob@h.example/\r\n\r\n",
		wantReq: "GET http://redac:redactedxxx@h.example/mcp HTTP/1.1\r\nReferer: https://bob@h.example/\r\n\r\n",
		url:     "http://alice:wonder-land@h.example/mcp",
		wantURL: "http://redac:redactedxxx@h.example/mcp",
		kinds:   "userinfo userinfo",
	},
	{
		name:    "userinfo in a body",
		req:     asPost(jsonType, `{"a":"https://u:p4ss@h/","b":"https:\/\/x-token-12345@h\/","c":"git+ssh://git@h/x","d":"me@h.example"}`),
		wantReq: asPost(jsonType, `{"a":"https://r:reda@h/","b":"https:\/\/redactedxxxxx@h\/","c":"git+ssh://git@h/x","d":"me@h.example"}`),
		kinds:   "userinfo userinfo userinfo",
	},
	{
		name:    "form",
		req:     asPost(formType, "client_secret=abcdefghi&grant_type=authorization_code&code=xyz&redirect_uri=http%3A%2F%2Flocalhost&refresh_token=r"),
		wantReq: asPost(formType, "client_secret=redactedx&grant_type=authorization_code&code=red&redirect_uri=http%3A%2F%2Flocalhost&refresh_token=r"),
		kinds:   "query query",
	},
	{
		name:     "a form's space comes back",
		req:      asPost(formType, "password=open+sesame%21"),
		wantReq:  asPost(formType, "password=redactedxxxxxx"),
		resp:     asAnswer("", "open sesame!"),
		wantResp: asAnswer("", "reda ctedxxx"),
		kinds:    "query query",
	},
	{
		name:     "token answer",
		resp:     asAnswer(jsonType, `{"access_token": "abc\"\/def","token_type":"Bearer","expires_in":3600,"refresh_token":"r1","id_token" :"i1","scope":"mcp"}`),
		wantResp: asAnswer(jsonType, `{"access_token": "redactedxx","token_type":"Bearer","expires_in":3600,"refresh_token":"re","id_token" :"re","scope":"mcp"}`),
		kinds:    "oauth oauth oauth",
	},
	{
		name:     "members in JSON within JSON",
		resp:     asAnswer(jsonType, `{"text":"{\"access_token\":\"abc\\\"d\",\"k\":\"{\\\"id_token\\\":\\\"xyz\\\"}\"}"}`),
		wantResp: asAnswer(jsonType, `{"text":"{\"access_token\":\"redacted\",\"k\":\"{\\\"id_token\\\":\\\"red\\\"}\"}"}`),
		kinds:    "oauth oauth",
	},
	{
		name:    "code beside a grant type",
		req:     asPost(jsonType, `{"code":"abc","grant_type":"authorization_code","code_verifier":"def"}`),
		wantReq: asPost(jsonType, `{"code":"red","grant_type":"authorization_code","code_verifier":"red"}`),
		kinds:   "oauth oauth",
	},
	{
		name: "members that are no secrets",
		req: asPost(jsonType, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"f","arguments":{"key":"abcdefghijkl","token":"abcdefghijkl",`+
			`"code":"print(1)","access_token":null,"url":"https://h.example/?q=1"},"_meta":{"progressToken":"tok-123456789"},"cursor":"eyJvZmZzZXQiOjEwfQ=="}}`),
		resp: asAnswer(jsonType, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Bearer of news, Bearer authentication required"},`+
			`"nextCursor":"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl","required":["access_token"],"access_token":{"type":"string"}}`),
	},
	{
		name:     "shapes in text",
		resp:     asAnswer("", "curl -H 'Authorization: Bearer abcd1234efgh' sk-proj-abcdefghij0123 ghp_abcdefghijklmnop0123 AKIAIOSFODNN7EXAMPLE eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.c2ln."),
		wantResp: asAnswer("", "curl -H 'Authorization: Bearer redactedxxxx' redactedxxxxxxxxxxxxxx redactedxxxxxxxxxxxxxxxx redactedxxxxxxxxxxxx redactedxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx."),
		kinds:    "bearer key key key jwt",
	},
	{
		name:     "more keys",
		resp:     asAnswer("", "github_pat_11ABCDEFG0123456_abc glpat-abcdefgh12345678 xoxb-123456789012-abc npm_abcdefghijklmnopqrstuvwxyz0123456789 AIzaSyA-abcdefghijklmnopqrstuvwxyz01234 hf_abcdefghijklmnopqrstuvwxyz01234567"),
		wantResp: asAnswer("", "redactedxxxxxxxxxxxxxxxxxxxxxxx redactedxxxxxxxxxxxxxx redactedxxxxxxxxxxxxx redactedxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx redactedxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx redactedxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
		kinds:    "key key key key key key",
	},
	{
		name: "words that look like keys",
		resp: asAnswer("", "task-list-of-things-to-do-1234567890 sk-learn-compatible-estimators npm_config_registry risk-assessment-2026-11-30 AKIA eyJ bearer tokens_are_documented_here."),
	},
	{
		name:     "private key in JSON",
		resp:     asAnswer(jsonType, `{"pem":"-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIB\nAAKCAQ==\n-----END RSA PRIVATE KEY-----\n","cert":"-----BEGIN CERTIFICATE-----\nMIIB"}`),
		wantResp: asAnswer(jsonType, `{"pem":"-----BEGIN RSA PRIVATE KEY-----redactedxxxxxxxxxxxxxx-----END RSA PRIVATE KEY-----\n","cert":"-----BEGIN CERTIFICATE-----\nMIIB"}`),
		kinds:    "private-key",
	},
	{
		name:     "private key in text",
		resp:     asAnswer("", "-----BEGIN PRIVATE KEY-----\r\nMIIEpAIB\r\nAAKCAQ==\r\n-----END PRIVATE KEY-----\r\n"),
		wantResp: asAnswer("", "-----BEGIN PRIVATE KEY-----\r\nredacted\r\nxxxxxxxx\r\n-----END PRIVATE KEY-----\r\n"),
		kinds:    "private-key",
	},
	{
		name:    "private key in a field",
		req:     "GET / HTTP/1.1\r\nX: -----BEGIN PRIVATE KEY-----\r\nY: -----BEGIN PRIVATE KEY-----MIIEpAIB\r\n AAKCAQ\r\nZ: z\r\n\r\n",
		wantReq: "GET / HTTP/1.1\r\nX: -----BEGIN PRIVATE KEY-----\r\nY: -----BEGIN PRIVATE KEY-----redacted\r\n xxxxxx\r\nZ: z\r\n\r\n",
		resp:    "HTTP/1.1 200 -----BEGIN PRIVATE KEY-----\r\n\r\n",
		kinds:   "private-key",
	},
	{
		name:     "session",
		req:      asPost("Mcp-Session-Id: 0b7d2f5e-6c1a-4f3e\r\n", "{}"),
		wantReq:  asPost("Mcp-Session-Id: session-1xxxxxxxxx\r\n", "{}"),
		resp:     asAnswer("mcp-session-id:0b7d2f5e-6c1a-4f3e\r\n", "0b7d2f5e-6c1a-4f3e is not 0b7d2f5e"),
		wantResp: asAnswer("mcp-session-id:session-1xxxxxxxxx\r\n", "session-1xxxxxxxxx is not 0b7d2f5e"),
		kinds:    "session session session",
	},
	{
		name:     "sessions, short and long, of digits, of a token",
		req:      "GET / HTTP/1.1\r\nMcp-Session-Id: 1234567\r\n\r\n",
		resp:     "HTTP/1.1 200 OK\r\nMcp-Session-Id: abcdefgh\r\nMcp-Session-Id: 12345678\r\nMcp-Session-Id: eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.c2ln\r\nContent-Length: 0\r\n\r\n",
		wantResp: "HTTP/1.1 200 OK\r\nMcp-Session-Id: sessio-1\r\nMcp-Session-Id: 90000002\r\nMcp-Session-Id: session-3xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\nContent-Length: 0\r\n\r\n",
		kinds:    "session session session",
	},
	{
		name:     "session of an HTTP+SSE endpoint, spelled in three ways",
		req:      "GET /sse HTTP/1.1\r\n\r\n",
		resp:     "HTTP/1.1 200 OK\r\n" + eventType + "\r\nevent: endpoint\ndata: /messages/?sessionId=ab%2Fcd%2Bef0123\n\ndata: {\"s\":\"ab\\/cd+ef0123\",\"t\":\"ab/cd+ef0123\"}\n\n",
		wantResp: "HTTP/1.1 200 OK\r\n" + eventType + "\r\nevent: endpoint\ndata: /messages/?sessionId=se%2Fss%2Bion-1x\n\ndata: {\"s\":\"se\\/ss+ion-1x\",\"t\":\"se/ss+ion-1x\"}\n\n",
		kinds:    "session session session",
	},
	{
		name:    "session in the target",
		req:     "POST /messages?session_id=0123456789abcdef&x=1 HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
		wantReq: "POST /messages?session_id=session-1xxxxxxx&x=1 HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
		url:     "http://h.example/messages?session_id=0123456789abcdef&x=1",
		wantURL: "http://h.example/messages?session_id=session-1xxxxxxx&x=1",
		kinds:   "session",
	},
	{
		name:     "in an event, data on two lines",
		resp:     "HTTP/1.1 200 OK\r\n" + eventType + "\r\n: hi\r\nid: 1\r\ndata: {\"access_token\":\r\ndata:  \"abcdefghi\"}\r\n\r\ndata: abcdefghi\r\n\r\n",
		wantResp: "HTTP/1.1 200 OK\r\n" + eventType + "\r\n: hi\r\nid: 1\r\ndata: {\"access_token\":\r\ndata:  \"redactedx\"}\r\n\r\ndata: redactedx\r\n\r\n",
		kinds:    "oauth oauth",
	},
	{
		name:     "private key in the lines of an event",
		resp:     "HTTP/1.1 200 OK\r\n" + eventType + "\r\ndata: -----BEGIN PRIVATE KEY-----\ndata: MIIEpAIB\ndata: AAKC\ndata: -----END PRIVATE KEY-----\n\ndata: -----BEGIN PRIVATE KEY-----\n\ndata: next\n\n",
		wantResp: "HTTP/1.1 200 OK\r\n" + eventType + "\r\ndata: -----BEGIN PRIVATE KEY-----\ndata: redacted\ndata: xxxx\ndata: -----END PRIVATE KEY-----\n\ndata: -----BEGIN PRIVATE KEY-----\n\ndata: next\n\n",
		kinds:    "private-key private-key",
	},
	{
		name:     "cut by chunks",
		resp:     asChunked(jsonType, `{"access_token":"abcdefghi","x":"Bearer 12345678-9"}`, 5, 18, 19, 21, 25, 40, 45),
		wantResp: asChunked(jsonType, `{"access_token":"redactedx","x":"Bearer redactedxx"}`, 5, 18, 19, 21, 25, 40, 45),
		kinds:    "oauth oauth oauth oauth oauth bearer bearer",
	},
	{
		name:     "trailer",
		resp:     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Auth-Token: abcdefghi\r\nMcp-Session-Id: sess-abcdef\r\n\r\n",
		wantResp: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Auth-Token: redactedx\r\nMcp-Session-Id: session-1xx\r\n\r\n",
		kinds:    "api-key session",
	},
	{
		name:     "interim response, late in the final one",
		resp:     "HTTP/1.1 103 Early Hints\r\nSet-Cookie: a=abcdefghi\r\n\r\n" + asAnswer("", "abcdefghi"),
		wantResp: "HTTP/1.1 103 Early Hints\r\nSet-Cookie: a=redactedx\r\n\r\n" + asAnswer("", "redactedx"),
		kinds:    "cookie cookie",
	},
	{
		name:     "bytes after the end",
		req:      "GET / HTTP/1.1\r\nX-Api-Key: abcdefghi\r\n\r\nGET /2 HTTP/1.1\r\nAuthorization: Basic xyz\r\n\r\n",
		wantReq:  "GET / HTTP/1.1\r\nX-Api-Key: redactedx\r\n\r\nGET /2 HTTP/1.1\r\nAuthorization: Basic red\r\n\r\n",
		resp:     asAnswer("", "{}") + "abcdefghi Bearer 1234567890",
		wantResp: asAnswer("", "{}") + "redactedx Bearer redactedxx",
		kinds:    "api-key authorization api-key bearer",
	},
	{
		name:     "tunnel",
		req:      "CONNECT h.example:443 HTTP/1.1\r\nProxy-Authorization: Basic dTpwYXNzd29yZDE=\r\n\r\n\x16\x03\x01 password1 \x00",
		wantReq:  "CONNECT h.example:443 HTTP/1.1\r\nProxy-Authorization: Basic redactedxxxxxxxx\r\n\r\n\x16\x03\x01 redactedx \x00",
		resp:     "HTTP/1.1 200 Connected\r\nContent-Length: 3\r\n\r\npassword1",
		wantResp: "HTTP/1.1 200 Connected\r\nContent-Length: 3\r\n\r\nredactedx",
		kinds:    "authorization authorization authorization",
	},
	{
		name:    "no HTTP",
		req:     "{\"method\":\"x\",\"access_token\":\"abc\"}\nAuthorization: Bearer xyz\n",
		wantReq: "{\"method\":\"x\",\"access_token\":\"red\"}\nAuthorization: Bearer red\n",
		kinds:   "oauth authorization",
	},
	{
		name:    "a head that never ends",
		req:     "GET /?token=abc HTTP/1.1\r\nAuthorization: Bearer xyz\r\nX-Api-Key: ab",
		wantReq: "GET /?token=red HTTP/1.1\r\nAuthorization: Bearer red\r\nX-Api-Key: re",
		kinds:   "query authorization api-key",
	},
	{
		name:     "what frames is not touched",
		req:      "GET /abcdefgh/h.example HTTP/1.1\r\nHost: abcdefgh\r\nX-Api-Key: abcdefgh\r\nX-Auth-Token: X-Api-Key\r\nX-Other: abcdefgh X-Api-Key\r\n\r\n",
		wantReq:  "GET /redacted/h.example HTTP/1.1\r\nHost: abcdefgh\r\nX-Api-Key: redacted\r\nX-Auth-Token: redactedx\r\nX-Other: redacted redactedx\r\n\r\n",
		resp:     "HTTP/1.1 200 abcdefgh\r\nContent-Type: abcdefgh\r\nContent-Length: 8;abcdefgh\r\n\r\n",
		wantResp: "HTTP/1.1 200 redacted\r\nContent-Type: abcdefgh\r\nContent-Length: 8;abcdefgh\r\n\r\n",
		url:      "http://abcdefgh/abcdefgh/h.example",
		wantURL:  "http://abcdefgh/redacted/h.example",
		kinds:    "api-key api-key api-key api-key api-key api-key",
		uncut:    true,
	},
	{
		name:    "JSON stays JSON",
		req:     asPost("X-Api-Key: 12345678\r\nCookie: a=nabcdefgh; b=uabcdefghij\r\n", `{"id":12345678,"other":123456789,"s":"\nabcdefgh \\nabcdefgh \uabcdefghij"}`),
		wantReq: asPost("X-Api-Key: redacted\r\nCookie: a=redactedx; b=redactedxxx\r\n", `{"id":11111111,"other":123456789,"s":"\nredacted \\redactedx \uabcdredact"}`),
		kinds:   "api-key cookie cookie api-key cookie cookie cookie",
	},
	{
		name: "no credentials after all",
		req:  asPost("Authorization: Bearer undefined\r\nX-Api-Key: null\r\nCookie: a=\r\n", `{"a":"undefined"}`),
	},
	{
		name:    "bytes that are no UTF-8 stay in a body",
		req:     asPost("X-Api-Key: \xe9abcdefgh\r\n", "{\"id_token\":\"caf\xe9 \u20ac\"}"),
		wantReq: asPost("X-Api-Key: redactedx\r\n", "{\"id_token\":\"red\xe9 act\"}"),
		kinds:   "api-key oauth",
	},
}
