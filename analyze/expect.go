package analyze

import (
	"fmt"
	"slices"
	"strings"
)

// deedWords are the verdicts that name something a client does, without versions. What is missing of policies' verdicts
// says that nothing is known; "modern" is an outcome.
var deedWords = func() (words []string) {
	for _, v := range verdictWords {
		if word, _, _ := strings.Cut(v, "@"); word != "modern" && word != "unspecified" && word != "inconclusive" {
			words = append(words, word)
		}
	}
	return words
}()

var outcomeWords = []string{string(Modern), string(Legacy), string(Failed)}

// Expectable tells whether Expect knows the word.
func Expectable(want string) error {
	word, _, _ := strings.Cut(want, "@")
	if strings.HasSuffix(want, "@") {
		return fmt.Errorf("%q is no expectation: want a version behind @, or none", want)
	}
	if slices.Contains(outcomeWords, word) || slices.Contains(deedWords, word) || slices.Contains(FindingIDs(), want) {
		return nil
	}
	return fmt.Errorf("%q is no expectation: want %s, one of the verdicts %s, or the ID of a finding", want,
		strings.Join(outcomeWords, ", "), strings.Join(deedWords, ", "))
}

// Expect compares what clients did with an expectation and says in words how they differ; nil if they agree. It is by
// deeds, not by what a policy predicts:
//
//	modern, modern@VERSION, legacy, failed    how the first connect of each conversation ended
//	legacy-fallback                           a probe, then initialize, and a legacy connection
//	corrective-retry, corrective-retry@V      a probe once more with a version that the server named
//	auth-error, network-error, timeout, negotiation-error
//	                                          an answer of that verdict (recommended), and the connect failed
//	reinitialize                              an answer of that verdict, then initialize
//	reinitialize+retry-once                   the same, then the request once more
//	resume                                    an answer of that verdict, then a GET with Last-Event-ID
//	keep-connected                            an answer of that verdict, then a further request
//	disconnect                                an answer of that verdict, then none
//	post-only, pass-through, clean-close, delivered
//	                                          an answer of that verdict
//
// Any other word is the ID of a finding that must be there. A word that is none of these is an error, too.
func (r *Report) Expect(want string) error {
	if err := Expectable(want); err != nil {
		return err
	}
	if len(r.Conversations) == 0 {
		return fmt.Errorf("want %s, and the client sent nothing that is MCP", want)
	}
	word, version, _ := strings.Cut(want, "@")
	switch {
	case slices.Contains(outcomeWords, word):
		return r.expectOutcome(Outcome(word), version)
	case slices.Contains(deedWords, word):
		return r.expectVerdict(word, version)
	}
	var have []string
	for _, f := range r.Findings {
		have = append(have, f.ID)
	}
	if slices.Contains(have, want) {
		return nil
	}
	return fmt.Errorf("want the finding %s, have %s", want, listed(have))
}

func listed(words []string) string {
	if len(words) == 0 {
		return "none"
	}
	slices.Sort(words)
	return strings.Join(slices.Compact(words), ", ")
}

func (r *Report) expectOutcome(want Outcome, version string) error {
	for i := range r.Conversations {
		c := &r.Conversations[i]
		if o := c.Observed; o.Outcome != want || version != "" && o.Version != version {
			return fmt.Errorf("want %s, and the client's connect was %s", at(string(want), version), r.course(c))
		}
	}
	return nil
}

func at(word, version string) string {
	if version == "" {
		return word
	}
	return word + "@" + version
}

// course says in words how a conversation's first connect went.
func (r *Report) course(c *Conversation) string {
	text := at(string(c.Observed.Outcome), c.Observed.Version)
	var steps []string
	for i := range r.Exchanges {
		x := &r.Exchanges[i]
		if x.Conversation != c.ID || len(steps) == 6 {
			continue
		}
		answer := x.Observation().End
		if x.Observation().Status > 0 {
			answer = fmt.Sprint(x.Observation().Status)
		}
		steps = append(steps, fmt.Sprintf("%s %s", x.Class, answer))
	}
	return text + " (" + strings.Join(steps, ", ") + ")"
}

// expectVerdict looks for a conversation in which that was done.
func (r *Report) expectVerdict(word, version string) error {
	why := ""
	for i := range r.Conversations {
		c := &r.Conversations[i]
		var mine []*Exchange
		for j := range r.Exchanges {
			if r.Exchanges[j].Conversation == c.ID {
				mine = append(mine, &r.Exchanges[j])
			}
		}
		missing := deed(word, version, c.Observed, mine)
		if missing == "" {
			return nil
		}
		if why == "" {
			why = missing + "; the client's connect was " + r.course(c)
		}
	}
	return fmt.Errorf("want %s: %s", at(word, version), why)
}

// deed says what is missing of a deed in one conversation's exchanges, "" if it was done.
func deed(word, version string, o Observed, xs []*Exchange) (missing string) {
	switch word {
	case "legacy-fallback":
		switch i := slices.IndexFunc(xs, func(x *Exchange) bool { return x.Class == "probe" }); {
		case i < 0:
			return "the client sent no probe"
		case !slices.ContainsFunc(xs[i:], func(x *Exchange) bool { return x.Class == "initialize" }):
			return "the client did not go on with initialize"
		case o.Outcome != Legacy:
			return "initialize did not connect it"
		}
		return ""
	case "corrective-retry":
		if !slices.ContainsFunc(xs, func(x *Exchange) bool {
			return x.Class == "probe" && x.Observation().Retry && (version == "" || x.Observation().Version == version)
		}) {
			return "the client sent no second probe of that kind"
		}
		return ""
	}
	missing = "no answer of that verdict was served"
	for i, x := range xs {
		if x.Verdicts[Recommended].Verdict != word {
			continue
		}
		if missing = consequence(word, o, xs[i+1:]); missing == "" {
			break
		}
	}
	return missing
}

// consequence says what the client should have done behind an answer of that verdict and has not.
func consequence(word string, o Observed, then []*Exchange) (missing string) {
	has := func(what func(*Exchange) bool) bool { return slices.ContainsFunc(then, what) }
	asks := func(x *Exchange) bool { return x.Class == "request" || x.Class == "optional-method" }
	switch word {
	case "auth-error", "network-error", "timeout", "negotiation-error":
		if o.Outcome != Failed {
			return "the client connected all the same"
		}
	case "reinitialize", "reinitialize+retry-once":
		if !has(func(x *Exchange) bool { return x.Class == "initialize" }) {
			return "the client did not initialize again"
		}
		if word == "reinitialize+retry-once" && !has(func(x *Exchange) bool { return x.Observation().Retry }) {
			return "the client did not send its request again"
		}
	case "resume":
		if !has(func(x *Exchange) bool { return x.Class == "resume" }) {
			return "the client did not resume the stream"
		}
	case "keep-connected":
		if !has(asks) {
			return "no request came behind it"
		}
	case "disconnect":
		if has(asks) {
			return "the client went on with requests"
		}
	}
	return ""
}
