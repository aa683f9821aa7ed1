package har

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"unicode/utf8"
)

// Bounds of what is decoded of one exchange.
const (
	viewDepth = 3         // readings on top of one another, as base64 in a string of JSON in base64
	viewMost  = 512 << 20 // bytes of all of them
)

// A deep is what a Cleaner looks for besides what a recorder does: it has the time.
type deep struct {
	fields, parameters, members map[string]bool
	paths                       [][]string
	finds                       []*regexp.Regexp
	strict                      bool
	numbers                     map[person]int
	counts                      [address + 1]int
	hosts                       [][]byte // that were seen, to be found where nothing says that they are hosts
	viewed                      int      // bytes of views of the exchange at hand
}

// secretNames are members whose strings are secrets in what is passed on, in lower case without - and _.
var secretNames = setOf("password", "passwd", "passphrase", "passcode", "pin", "secret", "secretkey", "secretaccesskey", "apikey", "apitoken",
	"apisecret", "accesskey", "accesskeyid", "accesstoken", "authtoken", "bearertoken", "refreshtoken", "idtoken", "sessiontoken",
	"clientsecret", "privatekey", "signingkey", "encryptionkey", "webhooksecret", "token", "authorization", "proxyauthorization", "cookie",
	"setcookie", "xapikey", "credential", "credentials", "connectionstring", "jwt", "otp")

func newDeep(rules []Rule, strict bool) *deep {
	d := &deep{fields: map[string]bool{}, parameters: map[string]bool{}, members: map[string]bool{}, strict: strict, numbers: map[person]int{}}
	for _, r := range rules {
		switch {
		case r.kind == "header":
			d.fields[r.name] = true
		case r.kind == "query":
			d.parameters[r.name] = true
		case r.kind == "member":
			d.members[plainName([]byte(r.name))] = true
		case r.path != nil:
			d.paths = append(d.paths, r.path)
		case r.find != nil:
			d.finds = append(d.finds, r.find)
		}
	}
	return d
}

// lookDeep reads the texts at hand in every way that is known, and adds what is found in them.
func (r *Redactor) lookDeep() {
	r.deep.viewed = 0
	depth := make([]int, len(r.regions))
	for i := 0; i < len(r.regions); i++ {
		reg := &r.regions[i]
		if reg.binary {
			continue
		}
		if reg.view != nil {
			r.scanText(i)
		}
		r.lookIn(i)
		r.deep.viewed += len(reg.text)
		if depth[i] == viewDepth || r.deep.viewed > viewMost {
			continue
		}
		r.unescaped(i, false)
		r.unescaped(i, true)
		r.decoded64(i)
		for len(depth) < len(r.regions) {
			depth = append(depth, depth[i]+1)
		}
	}
}

func (r *Redactor) lookIn(ri int) {
	d, t := r.deep, r.regions[ri].text
	r.namedMembers(ri, t)
	r.variables(ri, t)
	r.basicInText(ri, t)
	r.oauthStates(ri, t)
	if r.regions[ri].fields && len(d.fields) > 0 {
		r.ruledFields(ri, t)
	}
	if len(d.parameters) > 0 {
		r.ruledParameters(ri, t)
	}
	if len(d.paths) > 0 {
		r.pointed(ri)
	}
	for _, find := range d.finds {
		for _, at := range find.FindAllSubmatchIndex(t, -1) {
			if len(at) > 2 && at[2] >= 0 {
				at = at[2:]
			}
			r.clipped(ri, at[0], at[1], rule)
		}
	}
	if d.strict {
		r.persons(ri)
	}
}

// clipped adds a find as far as it may be replaced where it is.
func (r *Redactor) clipped(ri, off, end int, kind secretKind) {
	if reg := &r.regions[ri]; reg.fields && off < end {
		off, end = r.clip(reg, off, end, false)
	}
	r.add(ri, off, end, kind)
}

// plainName is a name in lower case without - and _: api_key, apiKey and API-Key are one.
func plainName(name []byte) string {
	out := make([]byte, 0, len(name))
	for _, c := range lower(nil, name) {
		if c != '-' && c != '_' {
			out = append(out, c)
		}
	}
	return string(out)
}

// namedMembers finds the strings, and by rule the numbers, that are values of members named like secrets.
func (r *Redactor) namedMembers(ri int, t []byte) {
	for i := 0; ; i++ {
		n := bytes.IndexByte(t[i:], ':')
		if n < 0 {
			return
		}
		i += n
		end := i
		for end > 0 && isSpace(t[end-1]) {
			end--
		}
		if end == 0 || t[end-1] != '"' && t[end-1] != '\'' {
			continue
		}
		quote := t[end-1]
		for end--; end > 0 && t[end-1] == '\\'; end-- {
		}
		off := end
		for off > 0 && end-off <= longestName && class[t[off-1]]&base64URL != 0 {
			off--
		}
		if off == 0 || off == end || t[off-1] != quote {
			continue
		}
		name := plainName(t[off:end])
		byRule := r.deep.members[name]
		if !byRule && !secretNames[name] {
			continue
		}
		kind := member
		if byRule {
			kind = rule
		}
		if from, depth, quote := stringAfterName(t, end); from >= 0 {
			r.clipped(ri, from, stringEnd(t, from, depth, quote), kind)
		} else if byRule {
			r.number(ri, i+1)
		}
	}
}

// number adds the JSON number that stands at i behind white space.
func (r *Redactor) number(ri, i int) {
	t := r.regions[ri].text
	for i < len(t) && (isSpace(t[i]) || t[i] == '-') {
		i++
	}
	if end := run(t, i, digitChar); end > i {
		r.clipped(ri, i, end, rule)
	}
}

// variables finds what is assigned to variables that are named like secrets, as DB_PASSWORD=x in a file of settings.
func (r *Redactor) variables(ri int, t []byte) {
	for i := 0; ; i++ {
		n := bytes.IndexByte(t[i:], '=')
		if n < 0 {
			return
		}
		i += n
		off := i
		for off > 0 && i-off <= longestName && class[t[off-1]]&(upperChar|digitChar|underscoreChar) != 0 {
			off--
		}
		if off == i || off > 0 && class[t[off-1]]&letterOrDigit != 0 || !secretName(string(t[off:i])) {
			continue
		}
		from := i + 1
		for from < len(t) && (t[from] == '"' || t[from] == '\'' || t[from] == '\\') {
			from++
		}
		end := from
		for end < len(t) && t[end] > ' ' && t[end] != '"' && t[end] != '\'' && t[end] != '\\' && t[end] != '<' {
			end++
		}
		r.clipped(ri, from, end, member)
	}
}

// basicInText finds the word Basic and credentials behind it: base64 of text with a colon (RFC 7617).
func (r *Redactor) basicInText(ri int, t []byte) {
	const word = "basic "
	for i := 0; ; i++ {
		n := bytes.IndexByte(t[i:], ' ')
		if n < 0 {
			return
		}
		i += n
		off := i + 1
		if i < len(word)-1 || !bytes.EqualFold(t[off-len(word):off], []byte(word)) {
			continue
		}
		end := run(t, off, token68)
		plain, err := base64.RawStdEncoding.DecodeString(string(t[off:end]))
		if err != nil || !utf8.Valid(plain) || hasControl(plain) || bytes.IndexByte(plain, ':') < 0 {
			continue
		}
		for end < len(t) && t[end] == '=' {
			end++
		}
		if _, password, ok := basicCredentials(t[off:end]); ok {
			if !isReplacement(t[off:end], false) {
				r.values.add(password, basicText, nil)
			}
		}
		r.clipped(ri, off, end, basicText)
	}
}

// ruledFields finds the fields that a rule names.
func (r *Redactor) ruledFields(ri int, t []byte) {
	for i := 0; i < len(t); {
		next := i + lineLen(t[i:])
		if colon := bytes.IndexByte(t[i:next], ':'); colon > 0 && r.deep.fields[string(lower(nil, bytes.TrimRight(t[i:i+colon], " \t")))] {
			off, end := i+colon+1, next
			for end < len(t) && (t[end] == ' ' || t[end] == '\t') { // continued
				end += lineLen(t[end:])
			}
			off, end = trimSpace(t, off, end)
			r.add(ri, off, end, rule)
		}
		i = next
	}
}

// ruledParameters finds the URL parameters and form fields that a rule names.
func (r *Redactor) ruledParameters(ri int, t []byte) {
	target := r.regions[ri].target
	for i := 0; ; i++ {
		n := bytes.IndexByte(t[i:], '=')
		if n < 0 {
			return
		}
		i += n
		off := i
		for off > 0 && i-off <= longestEncoded && (class[t[off-1]]&plainChar != 0 || t[off-1] == '%') {
			off--
		}
		if off > 0 && bytes.IndexByte([]byte("?&#;\n"), t[off-1]) < 0 || !r.deep.parameters[string(lower(nil, percentDecode(t[off:i])))] {
			continue
		}
		end := i + 1
		for end < len(t) && !endsParameter(t[end], target[0] <= i && i < target[1]) {
			end++
		}
		r.clipped(ri, i+1, end, rule)
	}
}
