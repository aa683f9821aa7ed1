package analyze

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"strings"
	"time"

	"github.com/mcptap/mcptap/har"
	"github.com/mcptap/mcptap/har/wire"
)

// headFacts are what single header fields of an exchange say, for findings alone: no policy asks for them.
type headFacts struct {
	mediaAt, acceptAt, sessionAt, versionAt                  spanned // lines of the request
	answerMediaAt, issuedAt, challengeAt, locationAt, codeAt spanned // lines of the answer

	media    string // Content-Type of the request, without parameters
	origin   string // Origin of the request
	allowed  string // Access-Control-Allow-Origin of the answer, where the request has an Origin
	browser  bool   // the request is a browser's, from a page of another origin
	dateAt   spanned
	edge     string // who stands before the server, by its marks in the answer; "" if none does
	edgeAt   spanned
	barred   bool  // what stands before the server says that it is a page of its own, as Cloudflare does
	declared int64 // Content-Length of an answer that is an event stream; -1 if that does not frame it

	mismatch  *mismatch
	preflight *preflight
	cors      *corsFacts
	oauth     *oauthFacts
	past      pastFacts
}

// pastFacts name the URL of OAuth that leads past a proxy, by its origin; the zero value if none does.
type pastFacts struct{ name, origin string }

// A mismatch is a header field that says other than the body (revision 2026-07-28, Streamable HTTP, Server Validation).
type mismatch struct {
	header, sent, body string
	at, bodyAt         spanned
}

// A preflight is what an OPTIONS request asked and the answer allowed (Fetch standard, CORS-preflight fetch).
type preflight struct {
	method, headers                       string // asked for
	allowOrigin, allowMethods, allowHeads string
}

// corsFacts are what an answer to a browser allows.
type corsFacts struct{ allowOrigin, expose string }

// lineAt spans the line of a field within the raw bytes, its continuation lines included; the zero value if there is none.
func lineAt(raw []byte, m *wire.Message, name string) spanned {
	for i := range m.Fields {
		fd := &m.Fields[i]
		if !strings.EqualFold(fd.Name, name) {
			continue
		}
		from := m.Off + min(fd.At.Off, m.Len)
		from = m.Off + bytes.LastIndexByte(raw[m.Off:from], '\n') + 1
		to := m.Off + fd.At.End()
		if fd.At.Len == 0 {
			to = from + max(bytes.IndexAny(raw[from:m.Off+m.Len], "\r\n"), 0)
		}
		return spanned{from, to - from, to > from}
	}
	return spanned{}
}

// readRequestHead reads what findings ask of the request's head and of the body that it speaks of.
func (f *facts) readRequestHead(v *har.View) {
	m, raw := v.Request, v.X.Request.Raw
	h := f.head
	h.declared = -1
	if m == nil {
		return
	}
	f.reqFaults, f.reqHead = m.Faults, m.Len
	if len(m.Body) > 0 {
		from := m.Body[0].Off
		f.reqBody = spanned{from, m.Body[len(m.Body)-1].End() - from, true}
	}
	for _, p := range m.FaultsAt(raw) {
		f.reqFaultAt = append(f.reqFaultAt, faultAt{p.Name, spanned{p.At.Off, p.At.Len, true}})
	}
	h.origin = clip(m.Get("Origin"))
	site := m.Get("Sec-Fetch-Site")
	h.browser = h.origin != "" && (site == "cross-site" || site == "same-site")
	if m.Method == "OPTIONS" && h.origin != "" {
		if want := m.Get("Access-Control-Request-Method"); want != "" {
			h.preflight = &preflight{method: clip(want), headers: clip(strings.ToLower(m.Get("Access-Control-Request-Headers")))}
		}
	}
	if f.req.session != "" {
		h.sessionAt = lineAt(raw, m, "Mcp-Session-Id")
	}
	if f.req.header != "" {
		h.versionAt = lineAt(raw, m, "MCP-Protocol-Version")
	}
	h.acceptAt = lineAt(raw, m, "Accept")
	if m.Method == "POST" {
		h.media, _ = mediaOf(&m.Head)
		h.mediaAt = lineAt(raw, m, "Content-Type")
	}
}

// readMismatch compares the fields that repeat the body with the body.
func (f *facts) readMismatch(v *har.View, rpc *wire.RPC) {
	m, r := v.Request, &f.req
	if r.era() != eraModern || r.batch || rpc.Kind != wire.Request {
		return
	}
	body := v.RequestBody()
	compare := func(header, known string, text []byte, base int, path ...string) bool {
		sent, there := m.Lookup(header)
		if sent = plainField(sent); !there || sent == known && known != "" && len(known) < maxText {
			return false
		}
		member := wire.Lookup(text, path...)
		said, ok := member.String()
		if !ok || sent == said {
			return false
		}
		at, ok := v.At(wire.ToServer, wire.Span{Off: base + member.Off, Len: len(member.Raw)})
		f.head.mismatch = &mismatch{header, clip(sent), clip(said), lineAt(v.X.Request.Raw, m, header), spanned{at.Off, at.Len, ok && at.Len > 0}}
		return true
	}
	name := "name"
	switch rpc.Method {
	case "tools/call", "prompts/get":
	case "resources/read":
		name = "uri"
	default:
		name = ""
	}
	_ = compare("Mcp-Method", rpc.Method, body, 0, "method") || name != "" && compare("Mcp-Name", "", rpc.Params.Raw, rpc.Params.Off, name) ||
		compare("MCP-Protocol-Version", r.version, rpc.Params.Raw, rpc.Params.Off, "_meta", "io.modelcontextprotocol/protocolVersion")
}

// plainField undoes the encoding of a value that no header field may hold as it is (revision 2026-07-28).
func plainField(s string) string {
	if inner, ok := strings.CutPrefix(s, "=?base64?"); ok && strings.HasSuffix(inner, "?=") {
		if b, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(inner, "?=")); err == nil {
			return string(b)
		}
	}
	return s
}

// readAnswerHead reads what findings ask of the answer's head.
func (f *facts) readAnswerHead(v *har.View) {
	m, raw := v.Response, v.X.Response.Raw
	h := f.head
	if m == nil {
		return
	}
	for _, p := range m.FaultsAt(raw) {
		f.faultAt = append(f.faultAt, faultAt{p.Name, spanned{p.At.Off, p.At.Len, true}})
	}
	h.answerMediaAt = lineAt(raw, m, "Content-Type")
	if m.Framing == wire.ByLength && f.media == mediaStream {
		h.declared = m.Length
	}
	if f.issued != "" {
		h.issuedAt = lineAt(raw, m, "Mcp-Session-Id")
	}
	if f.challenge != "" {
		h.challengeAt = lineAt(raw, m, "WWW-Authenticate")
	}
	if f.location != "" {
		h.locationAt = lineAt(raw, m, "Location")
	}
	if f.encoding != "" {
		h.codeAt = lineAt(raw, m, "Content-Encoding")
	}
	if f.media == mediaStream || f.status >= 400 {
		f.readEdge(raw, m)
		value, _ := m.Lookup("cf-mitigated")
		h.barred = value != ""
	}
	if f.media == mediaStream || f.req.requests > 0 {
		f.readDate(raw, m)
	}
	if h.origin != "" {
		h.allowed = clip(m.Get("Access-Control-Allow-Origin"))
	}
	if p := h.preflight; p != nil {
		p.allowOrigin, p.allowMethods = clip(m.Get("Access-Control-Allow-Origin")), clip(strings.ToUpper(m.Get("Access-Control-Allow-Methods")))
		p.allowHeads = clip(strings.ToLower(m.Get("Access-Control-Allow-Headers")))
	} else if h.browser {
		h.cors = &corsFacts{clip(m.Get("Access-Control-Allow-Origin")), clip(strings.ToLower(m.Get("Access-Control-Expose-Headers")))}
	}
}

// readDate reads when the server, by its clock, made the answer. Apache dates an answer when the request came.
func (f *facts) readDate(raw []byte, m *wire.Message) {
	date := m.Get("Date")
	if date == "" || strings.HasPrefix(m.Get("Server"), "Apache") {
		return
	}
	at, err := http.ParseTime(date)
	if err != nil {
		return
	}
	f.date = at
	if d, ok := f.behindDate(); ok && d.Abs() > 2*time.Second {
		f.head.dateAt = lineAt(raw, m, "Date")
		f.readEdge(raw, m)
	}
}

// edges are the marks of what stands before servers: a field, how its value begins, and whose mark it is.
var edges = []struct{ field, begins, who string }{
	{"CF-RAY", "", "Cloudflare"}, {"Server", "cloudflare", "Cloudflare"}, {"X-Amz-Cf-Id", "", "CloudFront"}, {"Server", "cloudfront", "CloudFront"},
	{"Server", "awselb", "an AWS load balancer"}, {"apigw-requestid", "", "an AWS API gateway"}, {"x-amz-apigw-id", "", "an AWS API gateway"},
	{"Server", "akamaighost", "Akamai"}, {"X-Azure-Ref", "", "Azure Front Door"}, {"Server", "google frontend", "Google's front end"},
	{"X-Vercel-Id", "", "Vercel"}, {"Fly-Request-Id", "", "Fly.io"}, {"Server", "envoy", "Envoy"}, {"X-Varnish", "", "Varnish"},
	{"Server", "varnish", "Varnish"}, {"Server", "openresty", "OpenResty"}, {"Server", "nginx", "nginx"}, {"Server", "haproxy", "HAProxy"},
	{"Server", "caddy", "Caddy"}, {"Server", "traefik", "Traefik"}, {"Server", "kong", "Kong"}, {"Server", "squid", "Squid"},
	{"Server", "bigip", "BIG-IP"}, {"X-Served-By", "cache-", "Fastly"}, {"Via", "", "a proxy (Via)"},
}

func (f *facts) readEdge(raw []byte, m *wire.Message) {
	for _, e := range edges {
		value, ok := m.Lookup(e.field)
		if ok && len(value) >= len(e.begins) && strings.EqualFold(value[:len(e.begins)], e.begins) {
			f.head.edge, f.head.edgeAt = e.who, lineAt(raw, m, e.field)
			return
		}
	}
}

// oauthFacts are what the JSON body of a step of OAuth says.
type oauthFacts struct {
	resource, issuer, err, description string
	registration, servers              bool // registration_endpoint, authorization_servers are there
	json                               bool
}

func (f *facts) readOAuth(v *har.View) {
	if f.class != oauth || f.answer != whole {
		return
	}
	o := &oauthFacts{}
	f.head.oauth = o
	body, err := v.ResponseBody()
	if err != nil || !wire.ParseRPC(body).JSON {
		return
	}
	text := func(name string) string {
		s, _ := wire.Lookup(body, name).String()
		return clip(s)
	}
	o.json = true
	o.resource, o.issuer, o.err, o.description = text("resource"), text("issuer"), text("error"), text("error_description")
	o.registration, o.servers = wire.Lookup(body, "registration_endpoint").Present(), wire.Lookup(body, "authorization_servers").Present()
}
