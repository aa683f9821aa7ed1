package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/analyze"
)

// maxChoices is how many choices of a client are put into words for one conversation.
const maxChoices = 5

// courseText says of each choice of a conversation's client what it did next, when, whether policies have it so, and
// what it cost. more is how many choices are left unsaid; those that a policy contradicts are said first.
func (d *document) courseText(c *analyze.Conversation) (sentences []string, more int) {
	order := make([]*analyze.Choice, 0, len(c.Course))
	for i := range c.Course {
		order = append(order, &c.Course[i])
	}
	slices.SortStableFunc(order, func(x, y *analyze.Choice) int { return cmp.Compare(rank(x), rank(y)) })
	said := order[:min(len(order), maxChoices)]
	slices.SortFunc(said, func(x, y *analyze.Choice) int { return cmp.Compare(x.Exchange, y.Exchange) })
	for _, x := range said {
		sentences = append(sentences, d.choiceText(x))
	}
	return sentences, len(order) - len(said)
}

// rank tells how much a choice has to say: 0 if it contradicts a policy, 1 if it agrees, 2 if nothing can be told.
func rank(c *analyze.Choice) int {
	best := 2
	for _, e := range c.Policies {
		switch {
		case e.Agrees != nil && !*e.Agrees:
			return 0
		case e.Agrees != nil:
			best = 1
		}
	}
	return best
}

// choiceText is one sentence, such as "the probe (exchange 1) burned 60.0 s without an answer, then the client sent
// nothing more; under recommended, rule probe/invalid-reply, it would have fallen back to initialize at once".
func (d *document) choiceText(c *analyze.Choice) string {
	parts := []string{d.whatHappened(c) + didText(c)}
	if s := saidSo(c); s != "" {
		parts[0] += ", " + s
	}
	parts = append(parts, wouldHave(c)...)
	if cost := choiceCost(c); cost != "" {
		parts = append(parts, "that cost "+cost)
	}
	return strings.Join(parts, "; ")
}

func (d *document) whatHappened(c *analyze.Choice) string {
	x := d.exchange(c.Exchange)
	if x == nil {
		return fmt.Sprintf("exchange %d", c.Exchange)
	}
	what := orDash(x.Observation().RPCMethod)
	switch {
	case x.Class == "probe":
		what = "the probe"
	case x.Class == "get-stream":
		what = "the GET stream"
	case x.Observation().RPCMethod == "":
		what = x.Class
	}
	wait := millisText(c.WaitedMS)
	switch o := x.Observation(); {
	case o.Transport == overStdio && o.Answer == "whole":
		return fmt.Sprintf("%s (exchange %d) took %s and was answered: %s", what, c.Exchange, wait, replyText(o))
	case o.Transport == overStdio:
		return fmt.Sprintf("%s (exchange %d) waited %s: %s", what, c.Exchange, wait, replyText(o))
	case o.Status == 0 && o.Answer == "unreachable":
		return fmt.Sprintf("%s (exchange %d) reached no server in %s", what, c.Exchange, wait)
	case o.Status == 0 && c.WaitedMS < 1000:
		return fmt.Sprintf("%s (exchange %d) ended after %s without an answer (%s)", what, c.Exchange, wait, o.End)
	case o.Status == 0:
		return fmt.Sprintf("%s (exchange %d) burned %s without an answer (%s)", what, c.Exchange, wait, o.End)
	}
	return fmt.Sprintf("%s (exchange %d) took %s and was answered %s", what, c.Exchange, wait, answerText(x.Observation()))
}

// didText says what the client did next, behind what happened.
func didText(c *analyze.Choice) string {
	after := "; " + millisText(c.AfterMS) + " later"
	switch c.Did {
	case analyze.Stop:
		return ", then the client sent nothing more"
	case analyze.NotSeen:
		return ", and what the client did then is not in the recording"
	case analyze.Initialize:
		return fmt.Sprintf("%s the client sent initialize (exchange %d)", after, c.Next)
	case analyze.Retry:
		return fmt.Sprintf("%s the client asked again (exchange %d)", after, c.Next)
	case analyze.Authorize:
		return fmt.Sprintf("%s the client looked for credentials (exchange %d)", after, c.Next)
	case analyze.Reconnect:
		return fmt.Sprintf("%s the client began anew (exchange %d)", after, c.Next)
	case analyze.Close:
		return fmt.Sprintf("%s the client ended the session (exchange %d)", after, c.Next)
	}
	return fmt.Sprintf("%s the client went on (exchange %d)", after, c.Next)
}

// saidSo names the policies that have it so.
func saidSo(c *analyze.Choice) string {
	yes := policiesWhere(c, func(e analyze.Expected) bool { return e.Agrees != nil && *e.Agrees })
	open := policiesWhere(c, func(e analyze.Expected) bool { return e.Agrees == nil })
	switch {
	case len(yes) > 0:
		return "as " + grouped(yes) + " " + have(len(yes)) + " it (" + ruleOf(c.Policies[yes[0]]) + ")"
	case len(open) == len(c.Policies) && len(open) > 0:
		return "which shows neither that the client did as " + grouped(open) + " " + have(len(open)) + " it (" + ruleOf(c.Policies[open[0]]) + ") nor that it did not"
	}
	return ""
}

// maxOthers is how many different things are said of what other policies would have done.
const maxOthers = 3

// wouldHave says what policies that the client contradicted would have had it do, each thing once.
func wouldHave(c *analyze.Choice) []string {
	no := policiesWhere(c, func(e analyze.Expected) bool { return e.Agrees != nil && !*e.Agrees })
	by := map[string][]string{}
	var order []string
	for _, p := range no {
		e := c.Policies[p]
		key := e.Verdict + " " + e.Rule
		if by[key] == nil {
			order = append(order, key)
		}
		by[key] = append(by[key], p)
	}
	var said []string
	for i, key := range order {
		if i == maxOthers {
			said = append(said, fmt.Sprintf("%d more verdicts are others", len(order)-i))
			break
		}
		e := c.Policies[by[key][0]]
		rule := ""
		if e.Rule != "" {
			rule = ", rule " + e.Rule + ","
		}
		said = append(said, fmt.Sprintf("under %s%s it would have %s", grouped(by[key]), rule, wouldText(e)))
	}
	return said
}

func policiesWhere(c *analyze.Choice, is func(analyze.Expected) bool) []string {
	return slices.DeleteFunc(policyNames(c.Policies), func(p string) bool { return !is(c.Policies[p]) })
}

// grouped lists names, of more than three the first two and how many there are besides.
func grouped(names []string) string {
	if len(names) > 3 {
		return fmt.Sprintf("%s and %d other policies", strings.Join(names[:2], ", "), len(names)-2)
	}
	return strings.Join(names, " and ")
}

func have(n int) string {
	if n == 1 {
		return "has"
	}
	return "have"
}

func ruleOf(e analyze.Expected) string {
	return strings.TrimSuffix(e.Verdict+", "+e.Rule, ", ")
}

// would says what a client with a verdict does, behind "it would have".
var would = map[string]string{
	"legacy-fallback": "fallen back to initialize at once", "auth-error": "asked for credentials", "network-error": "given up with a network error",
	"timeout": "waited until its timeout and given up", "negotiation-error": "given up with a negotiation error",
	"keep-connected": "kept the connection", "disconnect": "disconnected", "post-only": "gone on without the stream",
	"reinitialize": "initialized anew", "reinitialize+retry-once": "initialized anew and repeated the call once",
	"pass-through": "handed the error to its caller and kept the connection", "clean-close": "closed", "resume": "resumed the stream",
	"delivered": "gone on",
}

func wouldText(e analyze.Expected) string {
	word, version, _ := strings.Cut(e.Verdict, "@")
	switch {
	case word == "legacy-fallback" && strings.HasPrefix(e.Rule, "initialize"): // a handshake was refused
		return "gone on to HTTP+SSE"
	case word == "modern":
		return "connected with " + version + ", without a handshake"
	case word == "corrective-retry":
		return "asked once more, with " + version
	}
	return cmp.Or(would[word], "come to "+e.Verdict)
}

// choiceCost puts the consequence into words, "" if there is none worth them.
func choiceCost(c *analyze.Choice) string {
	var words []string
	if c.WaitedMS >= 1000 {
		words = append(words, millisText(c.WaitedMS)+" waited")
	}
	if c.Repeated > 0 {
		words = append(words, count(c.Repeated, "request")+" repeated")
	}
	if c.Connections > 0 {
		words = append(words, count(c.Connections, "connection")+" opened")
	}
	return strings.Join(words, ", ")
}

// millisText writes milliseconds as people read them.
func millisText(ms int64) string {
	if ms < 1000 {
		return fmt.Sprintf("%d ms", ms)
	}
	return fmt.Sprintf("%.1f s", float64(ms)/1000)
}
