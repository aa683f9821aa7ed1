package har

import (
	"fmt"
	"regexp"
	"strings"
)

// A Rule says what a Cleaner replaces besides what it knows.
type Rule struct {
	text string // as it was given
	kind string
	name string // of a field, parameter or member, in lower case
	path []string
	find *regexp.Regexp
}

// ruleKinds are the words before the colon of a rule.
const ruleKinds = "header, query, member, json, text or regexp"

// ParseRule reads a rule, which is one of
//
//	header:NAME    the value of that header or trailer field
//	query:NAME     a URL parameter, or a field of a form
//	member:NAME    JSON members of that name, at any depth
//	json:POINTER   the JSON value there (RFC 6901) in every body, event and line; * stands for any one name or index
//	text:LITERAL   these characters, wherever they stand
//	regexp:RE      what matches (Go's syntax), or its first group
//
// Names are compared without regard to case. Fields that frame a message or name its protocol are refused.
func ParseRule(s string) (Rule, error) {
	kind, rest, ok := strings.Cut(s, ":")
	r := Rule{text: s, kind: kind, name: strings.ToLower(rest)}
	switch {
	case !ok || rest == "":
		return r, fmt.Errorf("rule %q: want KIND:WHAT with a KIND of %s", s, ruleKinds)
	case kind == "header":
		if k := fieldKindOf([]byte(r.name)); k == namingField || k.frames() {
			return r, fmt.Errorf("rule %q: this field frames the message or names its protocol, and is never altered", s)
		}
	case kind == "json":
		if rest[0] != '/' {
			return r, fmt.Errorf("rule %q: want a JSON pointer, which begins with /", s)
		}
		for _, token := range strings.Split(rest[1:], "/") {
			r.path = append(r.path, strings.NewReplacer("~1", "/", "~0", "~").Replace(token))
		}
	case kind == "text":
		if len(rest) < textLeast {
			return r, fmt.Errorf("rule %q: want at least %d characters, or every text would be full of replacements", s, textLeast)
		}
		r.find = regexp.MustCompile(regexp.QuoteMeta(rest))
	case kind == "regexp":
		find, err := regexp.Compile(rest)
		if err != nil {
			return r, fmt.Errorf("rule %q: %w", s, err)
		}
		if find.MatchString("") {
			return r, fmt.Errorf("rule %q: it matches nothing at all, that is, everywhere", s)
		}
		r.find = find
	case kind != "query" && kind != "member":
		return r, fmt.Errorf("rule %q: want KIND:WHAT with a KIND of %s", s, ruleKinds)
	}
	return r, nil
}

const textLeast = 3

// ParseRules reads rules, one a line. Empty lines and those that begin with # say nothing.
func ParseRules(text string) ([]Rule, error) {
	var rules []Rule
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, "\r")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		r, err := ParseRule(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
		rules = append(rules, r)
	}
	return rules, nil
}
