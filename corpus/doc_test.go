package corpus

import (
	"fmt"
	"strings"
)

const docHead = `# The corpus

%d small cassettes, one for each wire shape of the rules that mcptap judges by. Each is a file of plain JSON lines
(docs/format.md) under ` + "`corpus/cases`" + `, whose header carries its story and what policies must say of it. They are part of the
program:

    mcptap corpus list
    mcptap corpus show probe-error-id-null
    mcptap analyze corpus:probe-error-id-null
    mcptap replay corpus:probe-error-id-null

Rows A1 to A25 are those of typescript-sdk #2571 (what the answer to a ` + "`server/discover`" + ` probe proves), B1 to B39 those of
qwen-code #12500 (a missing optional method is not a dead server), C1 to C7 those of gateway #20 (an expired session means
initialize again). Rows named ` + "`field`" + ` are wire shapes that public bug reports tell of, retyped
from their words; rows named ` + "`lab`" + ` are answers that released clients were served, to a probe and behind it, one for each that any policy tells
from the others, with the measured ends of their connects. The requests are written as the released clients write them; hosts, sessions and times are made up. The client does what the policy ` + "`recommended`" + ` asks for, but where the story says otherwise.

Rows named ` + "`finding`" + ` are the smallest recordings that one finding each stands for (docs/findings.md); ` + "`corpus run`" + ` leaves them out.

This page is written by ` + "`go test ./corpus -update`" + `.

| name | row | story | source | policy | exchange | verdict | rule | finding |
|---|---|---|---|---|---|---|---|---|
`

// corpusDoc is docs/corpus.md: a row for each case, with what its first policy must say.
func corpusDoc(all []entry) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, docHead, len(all))
	for _, e := range all {
		x, finding := e.expect[0], ""
		if x.Finding != "" {
			finding = "`" + x.Finding + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %d | `%s` | `%s` | %s |\n", e.name, e.row, e.story, e.source, x.Policy, x.Exchange, x.Verdict, x.Rule, finding)
	}
	return []byte(b.String())
}
