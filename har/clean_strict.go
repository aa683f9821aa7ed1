package har

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/har/wire"
)

// A person is what --strict gives a pseudonym: an e-mail address, the owner of a home, a host, an IP address.
type person struct {
	kind  secretKind
	value string
}

// personWords are what pseudonyms begin with.
var personWords = map[secretKind]string{email: "user", home: "user", host: "host", address: "ip"}

// instead gives the pseudonym of a person, of the same length and the same everywhere.
func (d *deep) instead(value string, kind secretKind) string {
	if kind == email {
		name, domain, _ := strings.Cut(value, "@")
		if domain = strings.ToLower(domain); !isPublicHost(domain) {
			domain = d.instead(domain, host)
		}
		return d.instead(name, home) + "@" + domain
	}
	if kind == host {
		value = strings.ToLower(value)
	}
	p := person{kind, value}
	n, ok := d.numbers[p]
	if !ok {
		d.counts[kind]++
		n = d.counts[kind]
		d.numbers[p] = n
		if kind == host && len(value) >= valueLeast/2 && strings.Contains(value, ".") {
			d.hosts = append(d.hosts, []byte(value))
		}
	}
	if kind == address && strings.Contains(value, ":") {
		return addressName(value, n)
	}
	return personName(personWords[kind], len(value), n)
}

// personName is WORD-N in size characters, filled up with x, the word cut where there is no room.
func personName(word string, size, n int) string {
	number := string(appendInt(nil, int64(n)))
	if len(number) >= size {
		number = number[len(number)-size+1:]
	}
	return fit(word[:min(len(word), size-1-len(number))]+"-"+number, size)
}

// isPersonName tells whether text is a pseudonym of that kind.
func isPersonName(text string, kind secretKind) bool {
	cut := strings.LastIndexByte(text, '-')
	if cut < 0 {
		return false
	}
	n := 0
	for _, c := range strings.TrimRight(text[cut+1:], "x") {
		if c < '0' || c > '9' || n > 1e6 {
			return false
		}
		n = n*10 + int(c-'0')
	}
	return text == personName(personWords[kind], len(text), n)
}

// addressName gives an IPv6 address of the same length, whose first group is 0 and whose last digits are n.
func addressName(value string, n int) string {
	out := []byte(value)
	first := strings.IndexByte(value, ':')
	for i := len(out) - 1; i >= 0; i-- {
		switch {
		case hexValue(out[i]) < 0:
		case i < first:
			out[i] = '0'
		default:
			out[i] = "0123456789abcdef"[n&15]
			n >>= 4
		}
	}
	return string(out)
}

// isPublicHost tells whether a name says nothing of whose it is: this computer, names for documentation (RFC 2606, RFC 6761)
// and the places of public specifications.
func isPublicHost(name string) bool {
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	for _, public := range publicHosts {
		if name == public || strings.HasSuffix(name, "."+public) {
			return true
		}
	}
	return name == "" || isPersonName(name, host)
}

var publicHosts = []string{"localhost", "test", "example", "invalid", "example.com", "example.net", "example.org", "json-schema.org",
	"modelcontextprotocol.io", "w3.org", "ietf.org", "rfc-editor.org", "schema.org", "jsonrpc.org", "spec.openapis.org"}

// persons finds e-mail addresses, homes, hosts and IP addresses in a region.
func (r *Redactor) persons(ri int) {
	t := r.regions[ri].text
	r.emails(ri, t)
	r.homes(ri, t)
	r.urlHosts(ri, t)
	if r.regions[ri].fields {
		r.hostField(ri, t)
	}
	r.addresses(ri, t)
	for _, name := range r.deep.hosts {
		for i := 0; ; i++ {
			n := bytes.Index(t[i:], name)
			if n < 0 {
				break
			}
			i += n
			if end := i + len(name); (i == 0 || class[t[i-1]]&letterOrDigit == 0) && (end == len(t) || class[t[end]]&letterOrDigit == 0) {
				r.person(ri, i, end, host)
			}
		}
	}
}

// person adds a find, in a head also where it stands in the field Host.
func (r *Redactor) person(ri, off, end int, kind secretKind) {
	reg := &r.regions[ri]
	if reg.fields {
		line := reg.text[lineStart(reg.text, off):]
		if len(line) < 5 || !equalFold(line[:5], "host:") {
			off, end = r.clip(reg, off, end, false)
		}
	}
	if off < end {
		if kind == host { // known from here on, also where the exchange says it in another place
			r.deep.instead(string(reg.text[off:end]), host)
		}
		r.addHit(hit{region: ri, off: off, end: end, kind: kind, spelling: -1})
	}
}

func isHostChar(c byte) bool { return class[c]&(letterOrDigit|dashChar) != 0 || c == '.' }

func (r *Redactor) emails(ri int, t []byte) {
	for i := 0; ; i++ {
		n := bytes.IndexByte(t[i:], '@')
		if n < 0 {
			return
		}
		i += n
		off, end := i, i+1
		for off > 0 && i-off < 64 && (isHostChar(t[off-1]) || t[off-1] == '_' || t[off-1] == '+') {
			off--
		}
		for end < len(t) && end-i < 254 && isHostChar(t[end]) {
			end++
		}
		for end > i+1 && (t[end-1] == '.' || t[end-1] == '-') {
			end--
		}
		if off > 1 && t[off-1] == '/' && t[off-2] == '/' {
			continue // user information of a URL
		}
		name, domain := string(t[off:i]), string(t[i+1:end])
		dot := strings.LastIndexByte(domain, '.')
		if name == "" || dot < 1 || len(domain)-dot < 3 || strings.Trim(strings.ToLower(domain[dot+1:]), "abcdefghijklmnopqrstuvwxyz") != "" ||
			isPublicHost(domain) {
			continue
		}
		r.person(ri, off, end, email)
	}
}

// homes finds the names of users in paths of homes on Linux, macOS and Windows.
func (r *Redactor) homes(ri int, t []byte) {
	for _, before := range []string{"/home/", "/Users/", `\Users\`, `\\Users\\`} {
		for i := 0; ; {
			n := bytes.Index(t[i:], []byte(before))
			if n < 0 {
				break
			}
			i += n + len(before)
			end := i
			for end < len(t) && (class[t[end]]&base64URL != 0 || t[end] == '.') {
				end++
			}
			if name := string(t[i:end]); end > i && !isPersonName(name, home) && name != "Shared" && name != "Public" {
				r.person(ri, i, end, home)
			}
		}
	}
}

// urlHosts finds the hosts of URLs.
func (r *Redactor) urlHosts(ri int, t []byte) {
	for i := 0; ; {
		n := bytes.Index(t[i:], []byte("://"))
		if n < 0 {
			return
		}
		i += n + 3
		off := i
		if end := bytes.IndexAny(t[i:min(len(t), i+1024)], "/?# \"'<>\\\r\n"); end >= 0 {
			if at := bytes.LastIndexByte(t[i:i+end], '@'); at >= 0 {
				off += at + 1
			}
		}
		r.hostAt(ri, off)
	}
}

// hostAt adds the host that begins at off.
func (r *Redactor) hostAt(ri, off int) {
	t := r.regions[ri].text
	end := off
	for end < len(t) && isHostChar(t[end]) {
		end++
	}
	name := string(t[off:end])
	if _, err := netip.ParseAddr(name); err == nil || isPublicHost(name) || len(name) < 2 {
		return
	}
	r.person(ri, off, end, host)
}

// hostField finds the host in the field Host and in the targets of CONNECT.
func (r *Redactor) hostField(ri int, t []byte) {
	if r.regions[ri].d == wire.ToServer && bytes.HasPrefix(t, []byte("CONNECT ")) {
		r.hostAt(ri, len("CONNECT "))
	}
	for i := 0; i < len(t); i += lineLen(t[i:]) {
		if len(t)-i > 5 && equalFold(t[i:i+5], "host:") {
			off, _ := trimSpace(t, i+5, i+lineLen(t[i:]))
			r.hostAt(ri, off)
		}
	}
}

// addresses finds IP addresses but for those of this computer and of documentation (RFC 5737, RFC 3849).
func (r *Redactor) addresses(ri int, t []byte) {
	isAddress := func(c byte) bool { return hexValue(c) >= 0 || c == '.' || c == ':' }
	for i := 0; i < len(t); i++ {
		if !isAddress(t[i]) {
			continue
		}
		off := i
		for i < len(t) && isAddress(t[i]) {
			i++
		}
		if off > 0 && (class[t[off-1]]&(letterOrDigit|dashChar|underscoreChar) != 0) || i < len(t) && class[t[i]]&letterOrDigit != 0 {
			continue
		}
		text := bytes.TrimRight(t[off:i], ".:")
		if colon := bytes.IndexByte(text, ':'); colon > 0 && bytes.Count(text[:colon], []byte(".")) == 3 {
			text = text[:colon] // a port
		}
		a, err := netip.ParseAddr(string(text))
		if err == nil && a.Is4In6() {
			mapped := bytes.LastIndexByte(text, ':') + 1
			a, off, text = a.Unmap(), off+mapped, text[mapped:]
		}
		if err == nil && isSomebodys(a, string(text)) {
			r.person(ri, off, off+len(text), address)
		}
	}
}

var documentation = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("2001:db8::/32")}

// isSomebodys tells whether an address is one of a person or a place. What ends in .0.0.0 is a version, as browsers have it.
func isSomebodys(a netip.Addr, text string) bool {
	if a.IsLoopback() || a.IsUnspecified() || slices.ContainsFunc(documentation, func(p netip.Prefix) bool { return p.Contains(a) }) {
		return false
	}
	if a.Is4() {
		return !strings.HasSuffix(text, ".0.0.0")
	}
	return strings.TrimLeft(text, "0")[0] != ':' // a pseudonym begins with 0
}
