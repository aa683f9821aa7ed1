package analyze

import (
	"fmt"
	"strings"
)

// ConformanceMarkdown is docs/conformance.md: how messages are held against the revisions of the specification, and the
// tables that this is done by. A test holds the file against it.
func ConformanceMarkdown() string {
	var b strings.Builder
	b.WriteString(`# Conformance

Generated from analyze/shapes; do not edit.

` + "`mcptap analyze`" + ` holds each JSON-RPC message against the message shapes of the revision that its exchange speaks, and each
exchange against the rules of that revision that can be seen on the wire. What breaks a shape is the finding
` + "`nonconforming-message`" + `, with the JSON pointer, what stands there, what was wanted, the revision and the section; what breaks a
rule is a finding of the rule's name. The fault is the sender's. A MUST that is broken is a warning, a SHOULD a note. What
another finding says of the same exchange is not said again: it gets the pointer. ` + "`mcptap rules conform/accept-post`" + ` prints one rule.

## Which revision

- Of a request with a version in its ` + "`_meta`" + ` (2026-07-28): that one. The server is held against it only once it has shown that
  it speaks it: by an answer to server/discover or by a result with a resultType.
- Of the request initialize: the one it asks for. Of everything behind it: the one of the answer. Where no initialize was
  recorded: that of MCP-Protocol-Version.
- Of a revision that is not in the tables, or where none is known, nothing is judged; nor is what was not received whole or
  could not be decoded. HTTP rules are those of Streamable HTTP, and not held against HTTP+SSE.

## What is not looked at

Members that the tables do not name are allowed everywhere, and so are methods. Formats of strings (URIs, times, Base64), JSON
Schemas inside messages, and whether a value makes sense are not checked. The id and the jsonrpc member of responses belong
to the findings on replies; the body of an error status without a jsonrpc member is no message. An Accept of ` + "`*/*`" + ` is
taken to list everything. Ids are compared within one session id only, since clients without one cannot be told apart. Messages
behind the reply on the same stream are not read. The answers in ` + "`inputResponses`" + ` do not name their type, so their members are not
checked.

## Real SDKs

The schemas of @modelcontextprotocol/sdk 1.32.2 and @modelcontextprotocol/core 2.4.0 are the oracle: a test gives them every message
shape with each member left out and changed, and fails on a verdict that differs and is not in
analyze/testdata/conform/sdk-differences.txt, which gives the reason of each. Sessions of the npm clients 1.32.2 and 2.4.0 and of the Go SDK
with server-everything have no finding of conformance.

## Rules

| rule | level | revisions | fault | section | finding |
|---|---|---|---|---|---|
`)
	for _, r := range conformanceRules() {
		fmt.Fprintf(&b, "| `%s`: %s | %s | %s | %s | %s | `%s` |\n", r.ID, cellText(r.Rule), r.Level, span(r.in), r.Fault, cellText(r.Section), r.FindingID())
	}
	b.WriteString(`
## Messages

Each row of analyze/shapes/messages.json: the method, who sends it, its members and those of its result, by the types below.

| method | from | params | result | revisions | section |
|---|---|---|---|---|---|
`)
	for _, m := range shapes().messages {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", m.Method, m.From, codes(m.Params), codes(strings.Fields(m.Result)), span(m.in), m.Section)
	}
	b.WriteString(`
## Types

Each type of analyze/shapes/types.json as the file writes it. ` + "`name? string`" + ` is a member that may be left out; ` + "`+Type`" + ` takes over that
type's members; ` + "`need a|b`" + ` wants one of these members; ` + "`by type`" + ` chooses among the lines that follow by the value of that
member, and ` + "`else`" + ` stands for all others. ` + "`[T]`" + ` is an array, ` + "`{T}`" + ` an object with values of T, ` + "`A|B`" + ` one or the other, ` + "`id`" + ` a string or an
integer, ` + "`unit`" + ` a number from 0 to 1. ` + "`from R`" + ` holds in revision R and later, ` + "`until R`" + ` before it.

` + "```json\n" + string(shapeFile("types.json")) + "```\n")
	return b.String()
}

func cellText(s string) string { return strings.ReplaceAll(s, "|", "\\|") }

func codes(list []string) string {
	var out []string
	for _, s := range list {
		out = append(out, "`"+cellText(s)+"`")
	}
	return strings.Join(out, "<br>")
}

// span says a set of revisions as from and until.
func span(in set) string {
	list := revisionsIn(in)
	switch {
	case in == allRevisions:
		return "all"
	case len(list) == 1:
		return list[0]
	case len(list) == 0:
		return "none"
	}
	return list[0] + " to " + list[len(list)-1]
}
