package analyze

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// RulesMarkdown is docs/rules.md: every policy with its rules in order, those of a base only where they differ. A test
// holds the file against it.
func RulesMarkdown() string {
	var b strings.Builder
	b.WriteString(`# Rules

Generated from analyze/policies; do not edit. ` + "`mcptap rules`" + ` prints the same, ` + "`mcptap rules ID`" + ` one rule in full.

A policy is what one client, or one text, makes of what servers answer. Its rules are tried in order and the first whose
conditions all hold gives the verdict. A rule that hangs on bytes that were not captured gives ` + "`inconclusive`" + `; no rule at
all gives ` + "`unspecified`" + `. A rule's ID names a situation and lasts; policies may judge the same situation differently. Levels:
MUST, SHOULD, MAY are the specification's words; silent: it says nothing, and this is our choice; impl-measured: the client
was run against a scripted server; impl-source: read in its source; pr: from the text of a pull request.

Cases A, B and C are the rows of typescript-sdk #2571, qwen-code #12500 and gateway #20; the corpus has a recording for each.
`)
	for _, p := range Policies() {
		b.WriteString("\n## " + p.Name + "\n\n" + p.Title + ". " + p.About + "\n\n")
		rules := p.Rules
		if base := policies().byName[p.Base]; base != nil {
			fmt.Fprintf(&b, "As `%s`, but for these rules", p.Base)
			for _, from := range slices.Sorted(slices.Values(verdictWords)) {
				if to, ok := p.Turn[from]; ok {
					fmt.Fprintf(&b, " and with `%s` wherever that says `%s`", to, from)
				}
			}
			b.WriteString(":\n\n")
			rules = p.Own()
		}
		b.WriteString("| rule | when | verdict | why | level | source | cases |\n|---|---|---|---|---|---|---|\n")
		for i := range rules {
			b.WriteString(rules[i].markdown())
		}
	}
	return b.String()
}

// Own gives the rules that the base does not have in the same words; without a base, all.
func (p *Policy) Own() []Rule {
	base := policies().byName[p.Base]
	if base == nil {
		return p.Rules
	}
	var own []Rule
	for i := range p.Rules {
		x := &p.Rules[i]
		at := slices.IndexFunc(base.Rules, func(y Rule) bool { return y.ID == x.ID })
		if at < 0 {
			own = append(own, *x)
			continue
		}
		y := base.Rules[at]
		if v, ok := p.Turn[y.Verdict]; ok && x.Verdict == v {
			y.Verdict = v
		}
		if x.markdown() != y.markdown() {
			own = append(own, *x)
		}
	}
	return own
}

func (x *Rule) markdown() string {
	verdict := "`" + x.Verdict + "`"
	if x.Tentative {
		verdict += ", tentative"
	}
	why := x.Why
	if x.Error != "" {
		why += "; the caller gets: " + x.Error
	}
	cell := func(s string) string { return strings.ReplaceAll(s, "|", "\\|") }
	return fmt.Sprintf("| `%s` | %s | %s | %s | %s | %s | %s |\n", x.ID, cell(x.When.Words()), verdict, cell(why), x.Level, cell(x.Source), strings.Join(x.Cases, " "))
}

// Words puts the conditions into one line, in the order of the fields of When.
func (w *When) Words() string {
	text, err := json.Marshal(w)
	if err != nil {
		return ""
	}
	var parts []string
	dec := json.NewDecoder(strings.NewReader(string(text)))
	if _, err := dec.Token(); err != nil {
		return ""
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return ""
		}
		var value any
		if err := dec.Decode(&value); err != nil {
			return ""
		}
		parts = append(parts, conditionText(fmt.Sprint(name), value))
	}
	return strings.Join(parts, "; ")
}

func conditionText(name string, value any) string {
	name = strings.ReplaceAll(name, "_", " ")
	switch v := value.(type) {
	case bool:
		if v {
			return name
		}
		return "not " + name
	case []any:
		var words []string
		for _, x := range v {
			if n, ok := x.(float64); ok {
				x = int64(n)
			}
			words = append(words, fmt.Sprint(x))
		}
		return name + " " + strings.Join(words, ", ")
	case float64:
		return fmt.Sprintf("%s %d", name, int64(v))
	}
	return fmt.Sprintf("%s %v", name, value)
}
